"""What is known of a design: the fields of its result."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any

from smoothdp.claims.model.model import DataModel
from smoothdp.design.cells import Cell
from smoothdp.design.noise_option import NoiseOption
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Real


@dataclass(frozen=True, slots=True)
class Merge:
    """What one cell of the k smallest (in every stratum) buys.

    Attributes:
        n_cells: k; labels: the names of the cells that become one; n_merged: their records.
        n_draws, rate: the largest sample then. binding: the cells that decide then.
    """

    n_cells: int
    labels: tuple[str, ...]
    n_merged: int
    n_draws: int
    rate: Fraction
    binding: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class StratumDesign:
    """A stratum of a design.

    Attributes:
        name, n_records: of the stratum. n_draws: T at the shared rate.
        largest_draws: how many it could lend by itself; undecided: the numbers beyond of which
            it is not known whether they meet the target.
        log_delta: around ln delta(x) of the stratum at n_draws. binding: the cells that decide.
    """

    name: str | None
    n_records: int
    n_draws: int
    largest_draws: int
    undecided: range
    log_delta: LogBounds
    binding: tuple[Cell, ...]


@dataclass(frozen=True)
class DesignFacts:
    """The fields of a `RateDesign`; see there."""

    epsilon: Real
    target: Fraction
    n_records: int
    n_draws: int
    rate: Fraction
    log_delta: LogBounds
    is_largest: bool
    undecided: range
    binding: tuple[Cell, ...]
    merges: tuple[Merge, ...]
    noise: tuple[NoiseOption, ...]
    sampling_errors: Mapping[str, float]
    cells: tuple[Cell, ...]
    strata: tuple[StratumDesign, ...] = ()
    model: DataModel | None = None
    method: str = "exact, by the two smallest cells"

    @property
    def pinned(self) -> bool:
        """Whether a cell of 0 or 1 record pins delta(x) to T/n."""
        return self.model is None and any(cell.count <= 1 for cell in self.binding)

    @property
    def ordinary_delta(self) -> Fraction:
        """delta of ordinary DP: the largest share that is drawn of a stratum."""
        if not self.strata:
            return Fraction(self.n_draws, self.n_records)
        return max(Fraction(one.n_draws, one.n_records) for one in self.strata)


def sorted_merges(merges: Iterable[Merge]) -> tuple[Merge, ...]:
    """Return merges, the largest gain first; of equal ones that with fewer cells."""
    return tuple(sorted(merges, key=lambda one: (-one.rate, one.n_cells)))


_NEAR = 1e-9


def differing(stated: Any, found: Any) -> str | None:
    """Return the name of a field that two results do not have in common, or None.

    Floats that are as near as those of two machines count as equal.
    """
    for one in fields(type(found)):
        if not one.name.startswith("_"):
            first, second = getattr(stated, one.name), getattr(found, one.name)
            if not _agree(first, second):
                return one.name
    return None


def _agree(stated: Any, found: Any) -> bool:
    if stated is found:
        return True
    if isinstance(found, float):
        return isinstance(stated, float) and (
            stated == found or math.isclose(stated, found, rel_tol=_NEAR, abs_tol=_NEAR)
        )
    if isinstance(found, Mapping):
        return (
            isinstance(stated, Mapping)
            and stated.keys() == found.keys()
            and all(_agree(stated[name], value) for name, value in found.items())
        )
    if type(stated) is not type(found):
        return False
    if isinstance(found, tuple):
        return len(stated) == len(found) and all(map(_agree, stated, found))
    if is_dataclass(found) and not hasattr(found, "vertices"):
        return differing(stated, found) is None
    return bool(stated == found)
