"""Several quantiles by one exponential mechanism over the reals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import PureDP
from smoothdp.claims.release import Release, library_version
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.mechanisms.quantiles.joint.arguments import read_levels, read_pure
from smoothdp.mechanisms.quantiles.joint.cells import Cells
from smoothdp.mechanisms.quantiles.joint.expected_error import expected_mean_square
from smoothdp.mechanisms.quantiles.joint.sized_exponential import SizedExponentialQuantiles
from smoothdp.mechanisms.quantiles.joint.window_rule import rank
from smoothdp.mechanisms.release.grid import read_step
from smoothdp.queries.read_arguments import Bounds, read_bounds, read_values
from smoothdp.sources import Source


@dataclass(frozen=True, init=False)
class JointExponentialQuantiles:
    """Quantiles of one column under pure DP: points v_1 <= ... <= v_m in one exponential draw.

    Density proportional to exp(-epsilon / 4 sum_j |#{v_j <= x < v_(j+1)} - n (q_(j+1) - q_j)|)
    on [a, b]; exact, floats and all. Its error in ranks grows like the square root of m, and it
    needs no smoothness: it serves where n epsilon is too small for joint PolyPlace noise, and 20
    levels or more. A cell that holds k of the points counts with length^k / k!; without the 1/k!
    it is not private. No error bars.

    Source: proofs/joint-quantiles#6, #7, #8.

    Args:
        levels: q_1 < ... < q_m between 0 and 1, as many as 1000; a float is its shortest decimal.
        bounds: (a, b), a < b; values are clamped to them. Fixed without looking at the data.
        guarantee: PureDP about replacing one record; the number of records is public.

    Raises:
        InvalidParameter: an argument outside its domain.
        IncompatibleClaims: a guarantee about adding or removing a record.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> quarters = [0.25, 0.5, 0.75]
    >>> quartiles = JointExponentialQuantiles(quarters, bounds=(0, 100), guarantee=PureDP(1))
    >>> ages = [20 + i % 50 for i in range(1001)]
    >>> quartiles.release(ages, round_to=1, rng=SeededRandom(1)).value
    (31, 45, 57)
    >>> round(quartiles.rmse(ages), 2)
    0.65
    """

    source: ClassVar[Source] = Source("gillenwater-joseph-kulesza", "Algorithm 1, with 1/k!")
    levels: tuple[Fraction, ...]
    bounds: Bounds
    promise: PureDP

    def __init__(self, levels: object, *, bounds: object, guarantee: Guarantee) -> None:
        object.__setattr__(self, "levels", read_levels(levels))
        object.__setattr__(self, "bounds", read_bounds(bounds))
        object.__setattr__(self, "promise", read_pure(guarantee))

    @property
    def guarantee(self) -> Guarantee:
        """What is promised for all levels together."""
        return self.promise

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of one release of all levels: that of the guarantee."""
        return self.promise.profile()

    def release(
        self, data: object, *, round_to: Parameter | None = None, rng: Entropy | None = None
    ) -> Release[tuple[float | int, ...]]:
        """Return one value for each level, rising, and the guarantee.

        Args:
            data: one column of numbers; how many there are is public.
            round_to: a step for the values, such as 1; None: as fine as floats in the bounds.
            rng: `SystemRandom()` (default), or `SeededRandom`, marked not private.

        Raises:
            InvalidData: no column of finite numbers. Nothing is released then.
            OutOfReach: so many records and levels that floats do not bound the weights.
        """
        source, values = read_rng(rng), read_values(data)
        step = None if round_to is None else read_step(round_to)
        mechanism = self._sized(len(values), step)
        value = mechanism.release(values, rng=source)
        common = (source.is_private, library_version(), (self.source,))
        return Release(value, self.guarantee, mechanism.describe(), *common)

    def rmse(self, public_data: object, *, target: object = None) -> float:
        """Return the root of the mean over all levels of E (v_j - target_j)^2, at public data.

        The sum over all choices of cells, not a simulation; the result is as private as the data.

        Args:
            public_data: one column of numbers that need no protection, such as simulated ones.
            target: one number for each level; None: the quantile of the data, clamped, of rank
                floor(q (n - 1) + 1/2) + 1.

        Raises:
            InvalidData: no column of finite numbers. InvalidParameter: another target.
        """
        values = read_values(public_data)
        mechanism = self._sized(len(values), None)
        cells = Cells.of(values, self.bounds)
        aims = self._read_aims(target, cells)
        square = expected_mean_square(
            cells, targets=mechanism.targets, rate=mechanism.rate, aims=aims
        )
        return math.sqrt(square)

    def _sized(self, n_records: int, step: Fraction | None) -> SizedExponentialQuantiles:
        return SizedExponentialQuantiles.calibrate(
            self.levels,
            bounds=self.bounds,
            guarantee=self.guarantee,
            n_records=n_records,
            step=step,
        )

    def _read_aims(self, target: object, cells: Cells) -> list[float]:
        if target is None:
            return [float(cells.end(rank(q, cells.n_records))) for q in self.levels]
        given = list(target) if isinstance(target, list | tuple) else []
        if len(given) != len(self.levels):
            raise InvalidParameter(
                expected=f"one target for each of {len(self.levels)} levels, as a list",
                got=f"{len(given)} numbers" if given else f"target={target!r}",
                remedy="Leave it out for the quantiles of the data",
            )
        return [float(exact_fraction(value, name="target")) for value in given]
