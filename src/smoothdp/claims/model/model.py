"""A model of the data: the set of distributions that records may come from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, TypeVar

from smoothdp.claims.model.hull import hull_vertices, is_mixture
from smoothdp.claims.model.neighbourhood import within_divergence, within_total_variation
from smoothdp.claims.model.push import RecordFunction, pushed_vertices
from smoothdp.claims.model.quantized import quantized_laplace, quantized_normal
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction, exact_int, exact_text
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
            _read_vertex(vertex, number) for number, vertex in enumerate(_listed(vertices), start=1)
        )
        if not read:
            raise InvalidParameter(
                expected="at least one distribution", got="an empty model", remedy="Add a vertex"
            )
        lengths = sorted({len(vertex) for vertex in read})
        if len(lengths) > 1:
            raise InvalidParameter(
                expected="distributions over the same number of values",
                got=f"lengths {lengths}",
                remedy="Give every vertex one probability per value",
            )
        object.__setattr__(self, "vertices", tuple(dict.fromkeys(read)))

    @classmethod
    def from_counts(cls, rows: Iterable[Sequence[int]]) -> DataModel:
        """Return the model whose vertices are the shares of public rows of counts.

        Raises:
            InvalidParameter: no rows, an empty one, rows of different lengths or of fewer than
                two counts, counts that are negative or not whole.

        >>> DataModel.from_counts([(3, 1)]).vertices
        ((Fraction(3, 4), Fraction(1, 4)),)
        """
        vertices = []
        for number, row in enumerate(_listed(rows), start=1):
            counts = [
                exact_int(v, name=f"a count of row {number}", minimum=0) for v in _listed(row)
            ]
            total = sum(counts)
            if total == 0:
                raise InvalidParameter(
                    expected="rows with at least one record",
                    got=f"row {number} empty",
                    remedy="Drop the row",
                )
            vertices.append([Fraction(count, total) for count in counts])
        return cls(vertices)

    @property
    def n_vertices(self) -> int:
        """The number of distinct distributions in the list."""
        return len(self.vertices)

    @property
    def n_atoms(self) -> int:
        """The number of values a record may take."""
        return len(self.vertices[0])

    def hull(self) -> DataModel:
        """Return a model with the same convex hull, without distributions inside it.

        Smoothed DP over both is the same (Proposition 7 of paper 1). With two values the two
        ends are left; with more a distribution goes only if it is exactly a mixture of
        others.

        >>> DataModel([(0.3, 0.7), (0.5, 0.5), (0.6, 0.4)]).hull().n_vertices
        2
        """
        return DataModel(hull_vertices(self.vertices))

    def contains(self, distribution: Sequence[Parameter]) -> bool:
        """Whether a distribution is certainly in the convex hull of the vertices.

        >>> DataModel([(0.3, 0.7), (0.6, 0.4)]).contains((0.5, 0.5))
        True
        """
        point = DataModel([distribution]).vertices[0]
        if len(point) != self.n_atoms:
            return False
        return is_mixture(point, self.vertices)

    def widened(
        self,
        *,
        total_variation: Parameter | None = None,
        kl_divergence: Parameter | None = None,
    ) -> DataModel:
        """Return a model that holds whatever lies within a radius of this one.

        A figure over the wider model is true of records from any such distribution: the answer
        to "what if the model is wrong".

        Args:
            total_variation: r in [0, 1]: every q with sum |q - p| / 2 <= r for some p of the
                model, exactly; or
            kl_divergence: r >= 0, in nats: every q with KL(q, p) <= r for some vertex p,
                and some others.

        Raises:
            InvalidParameter: neither or both, or a radius outside its domain.
            OutOfReach: more than 12 values.

        >>> wide = DataModel([(0.5, 0.5)]).widened(total_variation=0.1)
        >>> wide == DataModel([(0.6, 0.4), (0.4, 0.6)])
        True
        """
        if (total_variation is None) == (kl_divergence is None):
            raise InvalidParameter(
                expected="either total_variation or kl_divergence",
                got="both or neither",
                remedy="Name one of them, such as total_variation=0.1",
            )
        if total_variation is not None:
            radius = exact_fraction(total_variation, name="total_variation")
            largest, near = Fraction(1), within_total_variation
        else:
            assert kl_divergence is not None
            radius = exact_fraction(kl_divergence, name="kl_divergence")
            largest, near = Fraction(10**6), within_divergence
        if not 0 <= radius <= largest:
            raise InvalidParameter(
                expected=f"0 <= radius <= {largest}",
                got=f"radius={float(radius)}",
                remedy="Lower the radius",
            )
        return DataModel(q for vertex in self.vertices for q in near(vertex, radius))

    def push(self, record_function: RecordFunction, *, n_atoms: int | None = None) -> DataModel:
        """Return the model of f(X) for X from this model: f(pi) for every vertex pi.

        Smoothed DP of M over f(Pi) is smoothed DP of M after f over Pi, if f acts on each record
        by itself (Proposition 6 of paper 1, which leaves that out: f(x) = (x1, ..., x1) copies
        one record n times, and is refused here by its type). f must be fixed without the data.

        Source: Liu, Wang, Xia, Proposition 6, corrected.

        Args:
            record_function: for each atom 0, ..., n_atoms - 1 the atom that it becomes: a
                function, a mapping or a list.
            n_atoms: how many atoms the result is over, >= 2; default the largest image + 1. An
                atom that no record becomes has probability 0, which makes smoothed delta that of
                ordinary DP: name none.

        Raises:
            InvalidParameter: not a function of one atom: it has another number of values, or
                one that is not an atom number.

        >>> DataModel([("0.2", "0.3", "0.5")]).push([0, 1, 1]) == DataModel([("0.2", "0.8")])
        True
        """
        return DataModel(pushed_vertices(self.vertices, record_function, n_atoms=n_atoms))

    def same_hull(self, other: DataModel) -> bool:
        """Whether both models allow the same distributions (Proposition 7 of paper 1).

        >>> DataModel([("0.2", "0.8")]).same_hull(DataModel([("0.2", "0.8"), ("0.2", "0.8")]))
        True
        """
        if self == other:
            return True
        return set(self.hull().vertices) == set(other.hull().vertices)

    @classmethod
    def quantized_normal(
        cls, means: Iterable[Parameter], *, std: Parameter, bits: int = 8
    ) -> DataModel:
        """Return normal distributions on a grid of 2^bits values (see `quantized_normal`)."""
        return cls(quantized_normal(means, std=std, bits=bits))

    @classmethod
    def quantized_laplace(
        cls, means: Iterable[Parameter], *, std: Parameter, bits: int = 8
    ) -> DataModel:
        """Return Laplace distributions on a grid of 2^bits values (see `quantized_laplace`)."""
        return cls(quantized_laplace(means, std=std, bits=bits))

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
                expected="a model as JSON", got=f"other text ({error})", remedy="Use to_json()"
            ) from None

    def to_json(self) -> str:
        """Return the model as JSON, exactly."""
        return json.dumps([[exact_text(p) for p in vertex] for vertex in self.vertices])


_Item = TypeVar("_Item")


def _listed(values: Iterable[_Item]) -> list[_Item]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidParameter(
            expected="a list of lists of numbers",
            got=repr(values),
            remedy="Write [(0.3, 0.7)] for one distribution, [(3, 7)] for one row of counts",
        )
    return list(values)


def _read_vertex(vertex: Sequence[Parameter], number: int) -> tuple[Fraction, ...]:
    name = f"a probability of vertex {number}"
    values = tuple(exact_fraction(p, name=name) for p in _listed(vertex))
    negative = next((value for value in values if value < 0), None)
    if negative is not None:
        raise InvalidParameter(
            expected="probabilities >= 0",
            got=f"{float(negative)} in vertex {number}",
            remedy="Give the value no probability, 0, if no record has it",
        )
    total = sum(values, Fraction(0))
    if len(values) < 2 or abs(total - 1) > _TOLERANCE:
        raise InvalidParameter(
            expected="at least two probabilities that sum to 1 within 1e-12",
            got=f"{len(values)} with sum {float(total)!r} in vertex {number}",
            remedy='Write ratios such as "1/3", or whole counts with from_counts()',
        )
    return tuple(value / total for value in values)
