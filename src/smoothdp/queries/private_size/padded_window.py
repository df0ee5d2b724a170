"""The mean of a window around q n, where n is private: its value and its smooth sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.neighbours import Neighbours
from smoothdp.claims.sealed import Sealed
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.parameters.numbers import (
    Parameter,
    exact_fraction,
    exact_int,
    exact_text,
    float_bounds,
)
from smoothdp.queries.private_size.cells import PaddedCells
from smoothdp.queries.private_size.known_column import KnownCells, KnownColumn
from smoothdp.queries.private_size.positions import Positions
from smoothdp.queries.private_size.read_rows import read_rows
from smoothdp.queries.private_size.search import Search
from smoothdp.queries.read_arguments import Values, bounds_text, read_bounds, read_smoothing
from smoothdp.queries.sensitivity.curve import SensitivitySummary
from smoothdp.queries.statistic import PrivateSummary, Statistic
from smoothdp.queries.windows.selected import first_reach
from smoothdp.sources import Source

_HALF = Fraction(1, 2)
_MOST_RANKS = 1 << 40
_FINEST_LEVEL, _FINEST_RANKS = 10**6, 10**30


@dataclass(frozen=True)
class PaddedWindow(Statistic):
    """The mean of w ranks around q n + c, beyond the data the bounds; n is private.

    f(x) = (1/w) times the integral of X over [q n + c - w/2, q n + c + w/2], where X(u) is the
    ceil(u)-th smallest value, a for u <= 0 and b for u > n. So f is defined for every n, 0
    included. Neighbours add or remove one record. `Median`, `Quantile` and `TrimmedMean` are
    released by it under a guarantee about such neighbours.

    Rows are dropped or clamped one by one, and never refused: see
    `smoothdp.queries.private_size.read_rows`. Methods that take data and are no release are as
    private as the data.

    Source: proofs/private-size#3, #4.

    Args:
        level: q in [0, 1].
        bounds: (a, b), a < b, fixed without looking at the data; values are clamped to them.
        width: w > 0, in ranks; any real number. The wider, the less it moves.
        offset: c, in ranks. At q = 1 and c = -r the window lies r ranks from the top.
        name: the statistic that it stands for, in words.

    Raises:
        InvalidParameter: an argument outside these domains.

    >>> window = PaddedWindow("1/2", bounds=(0, 10), width="3/2")
    >>> window.value([3]), window.value([])
    (3.6666666666666665, 5.0)
    >>> window.local_bound([3], distance=0)
    2.8333333333333335
    """

    source: ClassVar[Source] = Source("own", "proofs/private-size#3")
    level: Fraction
    width: Fraction
    offset: Fraction
    name: str

    def __init__(
        self,
        level: Parameter,
        *,
        bounds: object,
        width: Parameter,
        offset: Parameter = 0,
        name: str = "",
    ) -> None:
        q = exact_fraction(level, name="level")
        if not 0 <= q <= 1:
            raise InvalidParameter(
                expected="level between 0 and 1",
                got=f"level={level}",
                remedy="Give 0.9 for the 90% quantile",
            )
        w = exact_fraction(width, name="width")
        if w <= 0:
            raise InvalidParameter(
                expected="a window of more than 0 ranks",
                got=f"width={width}",
                remedy="Give a positive number",
            )
        c = exact_fraction(offset, name="offset")
        if max(w, abs(c)) > _MOST_RANKS:
            raise InvalidParameter(
                expected="a window and an offset of at most 2^40 ranks",
                got=f"width={width}, offset={offset}"[:80],
                remedy="Give a smaller number",
            )
        ranks = math.lcm(w.denominator, c.denominator)
        if q.denominator > _FINEST_LEVEL or ranks > _FINEST_RANKS:
            # Levels very near to each other tie the search; positions are whole units.
            raise InvalidParameter(
                expected="a level with a denominator of at most 1e6, and ranks with one of 1e30",
                got=f"level={level}, width={width}, offset={offset}"[:80],
                remedy="Round them to fewer digits",
            )
        object.__setattr__(self, "level", q)
        object.__setattr__(self, "bounds", read_bounds(bounds))
        object.__setattr__(self, "width", w)
        object.__setattr__(self, "offset", c)
        object.__setattr__(self, "name", name or f"quantile {exact_text(q)}")

    @property
    def step(self) -> Fraction:
        """M = max(q, 1 - q): how far one record moves an end of the window, at most."""
        return max(self.level, 1 - self.level)

    @property
    def stands_for_quantile(self) -> bool:
        """Whether it is the window of a median or of another quantile, by its name."""
        named = self.name in ("median", f"quantile {exact_text(self.level)}")
        return named and self.offset == 0

    # ---- for public data ---------------------------------------------------------------------

    def value(self, data: object) -> float:
        """Return f(x), correctly rounded from its exact value."""
        return float(self._value(*self._placed(read_rows(data))))

    def local_bound(self, data: object, distance: int = 0) -> float:
        """Return B_k(x), which the local sensitivity at distance k does not exceed; rounded up.

        For q = 1/2, c = 0 and w >= 1 it is that sensitivity.
        """
        k = exact_int(distance, name="distance", minimum=0)
        return float_bounds(self._search(read_rows(data)).at(k) / self.width)[1]

    def smooth_sensitivity(self, data: object, *, smoothing: Parameter) -> float:
        """Return S(x) = max over k of e^(-k t) B_k(x), t > 0, rounded up."""
        return self.summary(data, smoothing=smoothing).smooth_sensitivity()

    def log_smooth_sensitivity(self, data: object, *, smoothing: Parameter) -> float:
        """Return ln S(x), rounded up; also where S is smaller than floats are."""
        return self.summary(data, smoothing=smoothing).log_smooth_sensitivity()

    def summary(self, data: object, *, smoothing: Parameter) -> SensitivitySummary:
        """Return the exact value and the exact smooth sensitivity for one smoothing t > 0."""
        rate = read_smoothing(smoothing)
        search = self._search(self.read(data))
        distance, gain = search.largest(rate)
        value = self._value(search.cells, search.positions)
        n_records = search.positions.n_records
        return SensitivitySummary(n_records, value, rate, ((distance, gain / self.width),))

    # ---- what a release asks for -------------------------------------------------------------

    def describe(self) -> str:
        """Return the statistic in words."""
        around = f"{exact_text(self.level)} n"
        if self.offset:
            around += f" {'+' if self.offset > 0 else '-'} {exact_text(abs(self.offset))}"
        return (
            f"{self.name} (mean of {float(self.width):.4g} ranks around {around}, beyond the data "
            f"the bounds; n is private), values clamped to {bounds_text(self.bounds)}"
        )

    def relation(self) -> Neighbours:
        """Return add-remove: n is private."""
        return Neighbours.ADD_REMOVE

    def record(self) -> str:
        """Return "one record"."""
        return "one record"

    def read(self, data: object) -> Values | KnownColumn:
        """Return the numbers of the column; no row is refused."""
        return data if isinstance(data, KnownColumn) else read_rows(data)

    def size(self, data: object) -> int | None:
        """Return None: n is private."""
        del data
        return None

    def check_size(self, n_records: int | None) -> None:
        """Accept every n: there is a value for each."""
        del n_records

    def fixed_sensitivity(self, n_records: int | None) -> Fraction | None:
        """Return None: the sensitivity depends on the data."""
        del n_records
        return None

    def log_least_sensitivity(self, smoothing: Fraction, n_records: int | None) -> float | None:
        """Return None: with n, the least sensitivity is private."""
        del smoothing, n_records
        return None

    def private_summary(self, data: object, *, smoothing: Fraction) -> PrivateSummary:
        """Return value and smooth sensitivity at private data: sealed, for a sampler."""
        exact = self.summary(data, smoothing=smoothing)
        ((distance, difference),) = exact.candidates
        return PrivateSummary(
            None, Sealed(exact.value), Sealed((difference, distance * exact.smoothing))
        )

    # ---- at one database -----------------------------------------------------------------------

    def _placed(self, values: Values | KnownColumn) -> tuple[PaddedCells, Positions]:
        """Return cells and window for a level of 1/2 at least: below it, of the mirror image."""
        mirror = self.level < _HALF
        level, offset, bounds = self.level, self.offset, self.bounds
        if mirror:
            level, offset, bounds = 1 - level, -offset, (-bounds[1], -bounds[0])
        if isinstance(values, KnownColumn):
            cells: PaddedCells = KnownCells(values, bounds, mirror=mirror)
        else:
            cells = PaddedCells(-values if mirror else values, bounds)
        return cells, Positions.of(cells.n_records, level, width=self.width, offset=offset)

    def first_ranks(self, n_records: int, *, smoothing: Fraction) -> tuple[int, int]:
        """Return the first and the last of the ranks that a search reads at first, from 1.

        Of a column of n records; ranks below 1 or above n are pads.
        """
        mirror = self.level < _HALF
        level, offset = (1 - self.level, -self.offset) if mirror else (self.level, self.offset)
        places = Positions.of(n_records, level, width=self.width, offset=offset)
        reach = min(first_reach(max(2, n_records), smoothing), places.furthest)
        ranges = places.reached(reach)
        first, last = min(start for start, _ in ranges) + 1, max(stop for _, stop in ranges) + 1
        return (n_records + 1 - last, n_records + 1 - first) if mirror else (first, last)

    def _value(self, cells: PaddedCells, positions: Positions) -> Fraction:
        cells.arrange(*positions.reached(0))
        mean = cells.integral(positions.start, positions.stop) / self.width
        return mean if self.level >= _HALF else -mean

    def _search(self, values: Values | KnownColumn) -> Search:
        cells, positions = self._placed(values)
        log_range = log_bounds(self.bounds[1] - self.bounds[0]).upper
        return Search(cells, positions, log_range)
