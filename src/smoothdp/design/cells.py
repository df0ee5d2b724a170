"""Public cells of a table, by stratum: what is read, and which are the smallest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.mechanisms.sampling.counts import LARGEST_COUNT, read_counts

MOST_CELLS = 1_000_000
"""More are not read; 10,000 take a few hundredths of a second."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: its label, its number of records, and its stratum if there are any.

    >>> Cell("Nurse", 12, "North").name
    'North: Nurse'
    """

    label: str
    count: int
    stratum: str | None = None

    @property
    def name(self) -> str:
        """The label, after the name of the stratum if there is one."""
        return self.label if self.stratum is None else f"{self.stratum}: {self.label}"


@dataclass(frozen=True)
class Stratum:
    """The cells that are sampled together; all cells where there are no strata.

    >>> Stratum(None, (Cell("a", 7), Cell("b", 2), Cell("c", 5))).merged(2).counts
    (7, 7)
    """

    name: str | None
    cells: tuple[Cell, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """The numbers of records, in order."""
        return tuple(cell.count for cell in self.cells)

    @cached_property
    def n_records(self) -> int:
        """How many records the stratum has."""
        return sum(self.counts)

    @cached_property
    def by_size(self) -> tuple[Cell, ...]:
        """The cells, the smallest first; equal ones as they came."""
        return tuple(sorted(self.cells, key=lambda cell: cell.count))

    @property
    def binding(self) -> tuple[Cell, ...]:
        """The cells that decide: those of 0 or 1 record if there are any, else the two smallest.

        delta(x) is T/n where a count is at most 1, and else a function of the two smallest
        (proofs/designer#1).
        """
        pinned = tuple(cell for cell in self.by_size if cell.count <= 1)
        return pinned or self.by_size[:2]

    def merged(self, n_cells: int) -> Stratum:
        """Return the stratum with its so many smallest cells as one; two cells are left at least.

        The merged cell comes last.
        """
        n_merged = min(n_cells, len(self.cells) - 1)
        if n_merged < 2:
            return self
        small = self.by_size[:n_merged]
        joined = Cell(f"the {n_merged} smallest cells", sum(c.count for c in small), self.name)
        gone = {cell.label for cell in small}
        kept = tuple(cell for cell in self.cells if cell.label not in gone)
        return Stratum(self.name, (*kept, joined))


def read_strata(counts: Any, strata: Any) -> tuple[Stratum, ...]:
    """Return the strata of the counts, one without a name if there are none.

    Args:
        counts: {label: records}, or records in order (then "cell 1", "cell 2", ...), or
            {stratum: {label: records}}.
        strata: the stratum of every cell, in the order of the counts or by label; None: none.

    Raises:
        InvalidData: counts that are no whole numbers >= 0, fewer than two cells or records in
            a stratum, a label twice.
        InvalidParameter: strata that do not fit the counts.
    """
    named = _read_named(counts, strata)
    if sum(map(len, named.values())) > MOST_CELLS:
        raise InvalidData(
            expected=f"at most {MOST_CELLS} cells",
            got=f"{sum(map(len, named.values()))}",
            remedy="Merge cells first",
        )
    read = tuple(_stratum(name, cells) for name, cells in named.items())
    # Results go by these names: "A" with "B: C" and "A: B" with "C" would be one.
    _refuse_twice((cell.name for one in read for cell in one.cells), "every cell")
    return read


def _read_named(counts: Any, strata: Any) -> dict[str | None, list[tuple[str, Any]]]:
    if isinstance(counts, Mapping) and any(isinstance(v, Mapping) for v in counts.values()):
        if strata is not None:
            raise InvalidParameter(
                expected="strata, or counts that are by stratum already",
                got="both",
                remedy="Leave strata out",
            )
        if not all(isinstance(v, Mapping) for v in counts.values()):
            raise InvalidData(
                expected="counts by label in every stratum",
                got="a number beside them",
                remedy="Give {stratum: {label: records}} throughout",
            )
        _refuse_twice((_text(name) for name in counts), "every stratum")
        return {_text(name): _labelled(cells) for name, cells in counts.items()}
    cells = _labelled(counts)
    if strata is None:
        return {None: cells}
    named: dict[str | None, list[tuple[str, Any]]] = {}
    for cell, name in zip(cells, _stratum_names(cells, strata), strict=True):
        named.setdefault(_text(name), []).append(cell)
    return named


def _labelled(counts: Any) -> list[tuple[str, Any]]:
    if isinstance(counts, Mapping):
        return [(_text(label), count) for label, count in counts.items()]
    if isinstance(counts, str | bytes) or not isinstance(counts, Iterable):
        raise InvalidData(
            expected="counts as {label: records}, or as a sequence of numbers",
            got=type(counts).__name__,
            remedy="Give one count per cell, 0 for the cells that nobody is in",
        )
    return [(f"cell {place}", count) for place, count in enumerate(counts, 1)]


def _stratum_names(cells: Sequence[tuple[str, Any]], strata: Any) -> list[object]:
    if isinstance(strata, Mapping):
        by_label = {_text(label): name for label, name in strata.items()}
        missing = [label for label, _ in cells if label not in by_label]
        if missing:
            raise InvalidParameter(
                expected="strata with a name for every cell",
                got=f"none for {missing[0]!r}",
                remedy="Name the stratum of each cell",
            )
        return [by_label[label] for label, _ in cells]
    names = [] if isinstance(strata, str | bytes) else list(strata)
    if len(names) != len(cells):
        raise InvalidParameter(
            expected=f"strata with one name for each of {len(cells)} cells",
            got=f"{len(names)} names",
            remedy="Name the stratum of each cell, in the order of the counts",
        )
    return names


def _refuse_twice(names: Iterable[str], what: str) -> None:
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InvalidData(
            expected=f"{what} once",
            got=f"{twice[0]!r} twice",
            remedy="Add its rows up, or give them names of their own",
        )


def _stratum(name: str | None, cells: Sequence[tuple[str, Any]]) -> Stratum:
    where = "" if name is None else f" of stratum {name!r}"
    # Counts may be numpy's, or floats without a fraction; their sum is not known beforehand.
    checked = []
    for label, count in cells:
        (value, _) = read_counts([count, 0], total=_whole(count), name=f"the count{where}")
        checked.append(Cell(label, value, name))
    _refuse_twice((cell.label for cell in checked), f"every cell{where}")
    total = sum(cell.count for cell in checked)
    if len(checked) < 2 or not 2 <= total < LARGEST_COUNT:
        raise InvalidData(
            expected=f"at least two cells{where} and 2 to 2^50 - 1 records",
            got=f"{len(checked)} cells with {total} records",
            remedy="Add the cells that nobody is in as zeros, or join strata",
        )
    return Stratum(name, tuple(checked))


def _whole(count: Any) -> int:
    try:
        return int(count)
    except (TypeError, ValueError, OverflowError):
        return 0


def _text(label: object) -> str:
    if isinstance(label, tuple):
        return ", ".join(map(str, label))
    return str(label)
