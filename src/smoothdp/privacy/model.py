"""A model of the data: the set of distributions that records may come from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, TypeVar

from smoothdp.errors import InvalidData, InvalidParameter, explain
from smoothdp.exact.parameters import Parameter, exact_fraction, exact_int, exact_text
from smoothdp.sources import Source

_TOLERANCE = Fraction(1, 10**12)


@dataclass(frozen=True, init=False)
class DataModel:
    """The set Pi of smoothed DP, by its vertices: distributions over one universe.

    Records are independent; each may follow any distribution of the convex hull of the
    vertices (Proposition 7 of paper 1). Fix the model without the private data.

    Args:
        vertices: sequences of probabilities, all over the same atoms; each sums to 1
            within 1e-12 and is then normalised exactly.

    Raises:
        InvalidParameter: an empty model, vertices of different lengths, probabilities that
            are negative, not finite or do not sum to 1.

    >>> model = DataModel([(0.3, 0.7), (0.6, 0.4)])
    >>> model.n_vertices, model.n_atoms
    (2, 2)
    """

    source: ClassVar[Source] = Source("liu-wang-xia", "Definition 3")
    vertices: tuple[tuple[Fraction, ...], ...]

    def __init__(self, vertices: Iterable[Sequence[Parameter]]) -> None:
        read = tuple(
            _read_vertex(vertex, place) for place, vertex in enumerate(_listed(vertices), start=1)
        )
        if not read:
            raise InvalidParameter(
                explain("at least one distribution", "an empty model", "Add a vertex")
            )
        lengths = sorted({len(vertex) for vertex in read})
        if len(lengths) > 1:
            raise InvalidParameter(
                explain(
                    "distributions over the same number of values",
                    f"lengths {lengths}",
                    "Give every vertex one probability per value",
                )
            )
        object.__setattr__(self, "vertices", tuple(dict.fromkeys(read)))

    @classmethod
    def from_counts(cls, rows: Iterable[Sequence[int]]) -> DataModel:
        """Return the model whose vertices are the shares of public rows of counts.

        >>> DataModel.from_counts([(3, 1)]).vertices
        ((Fraction(3, 4), Fraction(1, 4)),)
        """
        vertices = []
        for place, row in enumerate(rows, start=1):
            counts = [exact_int(v, name=f"a count of row {place}", minimum=0) for v in row]
            total = sum(counts)
            if total == 0:
                raise InvalidParameter(
                    explain("rows with at least one record", f"row {place} empty", "Drop the row")
                )
            vertices.append([Fraction(count, total) for count in counts])
        return cls(vertices)

    @property
    def n_vertices(self) -> int:
        """The number of distinct distributions given."""
        return len(self.vertices)

    @property
    def n_atoms(self) -> int:
        """The number of values a record may take."""
        return len(self.vertices[0])

    def hull(self) -> DataModel:
        """Return a model with the same convex hull and, for two values, only its two ends.

        Smoothed DP over both is the same (Proposition 7 of paper 1). With three or more
        values every distinct vertex is kept, which is safe.

        >>> DataModel([(0.3, 0.7), (0.5, 0.5), (0.6, 0.4)]).hull().n_vertices
        2
        """
        if self.n_atoms > 2:
            return self
        ends = (max(self.vertices), min(self.vertices))
        return DataModel(dict.fromkeys(ends))

    def __or__(self, other: DataModel) -> DataModel:
        """Return the model that allows the distributions of both."""
        return DataModel((*self.vertices, *other.vertices))

    @classmethod
    def from_json(cls, text: str) -> DataModel:
        """Return the model that `to_json` wrote.

        Raises:
            InvalidData: text that is not such a model.
        """
        try:
            return cls(json.loads(text))
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidData(
                explain("a model as JSON", f"other text ({error})", "Use to_json()")
            ) from None

    def to_json(self) -> str:
        """Return the model as JSON, exactly."""
        return json.dumps([[exact_text(p) for p in vertex] for vertex in self.vertices])


_Item = TypeVar("_Item")


def _listed(values: Iterable[_Item]) -> list[_Item]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidParameter(
            explain(
                "a list of distributions, each a list of probabilities",
                repr(values),
                "Write [(0.3, 0.7)] for one distribution",
            )
        )
    return list(values)


def _read_vertex(vertex: Sequence[Parameter], place: int) -> tuple[Fraction, ...]:
    name = f"a probability of vertex {place}"
    values = tuple(exact_fraction(p, name=name) for p in _listed(vertex))
    negative = next((value for value in values if value < 0), None)
    if negative is not None:
        raise InvalidParameter(
            explain("probabilities >= 0", f"{float(negative)} in vertex {place}", "Mend the vertex")
        )
    total = sum(values, Fraction(0))
    if len(values) < 2 or abs(total - 1) > _TOLERANCE:
        raise InvalidParameter(
            explain(
                "at least two probabilities that sum to 1 within 1e-12",
                f"{len(values)} with sum {float(total)!r} in vertex {place}",
                "Mend the vertex",
            )
        )
    return tuple(value / total for value in values)
