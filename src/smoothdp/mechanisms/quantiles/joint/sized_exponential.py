"""The joint exponential mechanism for one number of records and one grid."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import PureDP
from smoothdp.claims.sealed import Sealed
from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.exact.parameters.numbers import exact_int, exact_text
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.mechanisms.quantiles.joint.arguments import (
    check_size,
    epsilon_below,
    read_levels,
    read_pure,
)
from smoothdp.mechanisms.quantiles.joint.cells import Cells
from smoothdp.mechanisms.quantiles.joint.chain_tables import largest_slack
from smoothdp.mechanisms.quantiles.joint.exponential_draws import quantile_draws
from smoothdp.mechanisms.release.grid import OutputGrid, step_below
from smoothdp.queries.read_arguments import Values, bounds_text, read_bounds, read_values
from smoothdp.sources import Source

_MOST_SLACK = 10.0


@dataclass(frozen=True, slots=True)
class SizedExponentialQuantiles:
    """Points v_1 <= ... <= v_m of [a, b] with density proportional to exp(-epsilon / 4 D(v)).

    D(v) = sum_{j=0..m} |#{i : v_j <= x_i < v_(j+1)} - n (q_(j+1) - q_j)|: a replaced record moves
    two counts by one, so D by at most 2 at every v, and the density is epsilon-DP. Drawn exactly.

    Source: proofs/joint-quantiles#6, #8, #9.

    Attributes:
        levels: q_1 < ... < q_m.
        promise: the guarantee.
        n_records: n, public.
        grid: the values that can come out.

    Raises:
        InvalidParameter: levels that do not rise, another guarantee, a grid without bounds.
        OutOfReach: so many records and levels that floats do not bound the weights.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> quartiles = SizedExponentialQuantiles.calibrate(
    ...     ["1/4", "1/2", "3/4"], bounds=(0, 100), guarantee=PureDP(1), n_records=1001, step=1
    ... )
    >>> quartiles.release([i % 101 for i in range(1001)], rng=SeededRandom(1))
    (25, 50, 75)
    """

    source: ClassVar[Source] = Source("gillenwater-joseph-kulesza", "Algorithm 1, with 1/k!")
    levels: tuple[Fraction, ...]
    promise: PureDP
    n_records: int
    grid: OutputGrid

    def __post_init__(self) -> None:
        read_levels(self.levels)
        read_pure(self.promise)
        exact_int(self.n_records, name="n_records", minimum=1)
        if self.grid.bounds is None:
            raise InvalidParameter(
                expected="a grid within bounds, between which the points are drawn",
                got="bounds=None",
                remedy="Use SizedExponentialQuantiles.calibrate",
            )
        slack = largest_slack(self.n_records, len(self.levels), float(self.rate))
        if not slack <= _MOST_SLACK:
            raise OutOfReach(
                expected="n, epsilon and levels at which floats bound the weights of all data "
                "(n = 1e5 with 99 levels, n = 1e6 with 50, at epsilon = 1)",
                got=f"n={self.n_records}, epsilon={self.promise.epsilon:g}, "
                f"{len(self.levels)} levels",
                remedy="Ask for fewer levels at once",
            )

    def __reduce__(self) -> tuple[type[SizedExponentialQuantiles], tuple[object, ...]]:
        # The constructor reads a pickle, and compares the fields with each other.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @classmethod
    def calibrate(
        cls,
        levels: object,
        *,
        bounds: object,
        guarantee: Guarantee,
        n_records: int,
        step: Fraction | int | None = None,
    ) -> SizedExponentialQuantiles:
        """Return the mechanism.

        Args:
            levels: rising, between 0 and 1; floats are their shortest decimals.
            bounds: (a, b), a < b; values are clamped to them.
            guarantee: PureDP about replacing one record.
            n_records: n >= 1, public.
            step: of the output's grid, > 0; None: as fine as floats within the bounds.

        Raises:
            InvalidParameter: an argument outside its domain.
            IncompatibleClaims: a guarantee about adding or removing a record.
            OutOfReach: as the constructor.
        """
        limits = read_bounds(bounds)
        width = step_below(limits, None) if step is None else Fraction(step)
        whole = step is not None and width.denominator == 1
        grid = OutputGrid(width, limits, whole)
        return cls(read_levels(levels), read_pure(guarantee), n_records, grid)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised for all levels together, before any data are seen."""
        return self.promise

    @property
    def rate(self) -> Fraction:
        """epsilon / 4, where epsilon is rational; else a rational just below."""
        return epsilon_below(self.promise) / 4

    @property
    def targets(self) -> tuple[Fraction, ...]:
        """n q_j, exactly: how many values should lie below each point."""
        return tuple(self.n_records * q for q in self.levels)

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of one release of all levels: that of the guarantee."""
        return self.guarantee.profile()

    def read(self, data: object) -> Values:
        """Return the data as `release` takes them, checked: n_records finite numbers."""
        values = read_values(data)
        check_size(len(values), self.n_records)
        return values

    def release(self, data: object, *, rng: Entropy | None = None) -> tuple[float | int, ...]:
        """Return one value for each level, rising.

        Args:
            data: one column of n_records numbers.
            rng: `SystemRandom()` (default), or `SeededRandom`, for tests only.

        Raises:
            InvalidData: no column of n_records finite numbers. Nothing is released then.
        """
        source, values = read_rng(rng), self.read(data)
        assert self.grid.bounds is not None
        cells = Sealed(Cells.of(values, self.grid.bounds))
        draws = quantile_draws(cells, targets=self.targets, rate=self.rate)
        found = draws.draw(source, step=self.grid.step, limits=self.grid.limits())
        return tuple(self.grid.number(index) for index in found)

    def describe(self) -> str:
        """Return the mechanism and its public parameters in words."""
        assert self.grid.bounds is not None
        return (
            f"quantiles {', '.join(f'{float(q):g}' for q in self.levels)} by the joint exponential "
            f"mechanism on {bounds_text(self.grid.bounds)}, density exp(-{exact_text(self.rate)} "
            f"times the ranks missed); {self.grid.describe()}"
        )
