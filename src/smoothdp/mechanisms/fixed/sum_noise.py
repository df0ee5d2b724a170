"""Statistics that are functions of sums, with discrete noise on each sum."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.release import Release, library_version
from smoothdp.exact.parameters.numbers import exact_text, float_bounds
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.mechanisms.additive.integer_noise import whole_law
from smoothdp.mechanisms.additive.whole_laws import WholeLaw
from smoothdp.mechanisms.fixed.arguments import check_arguments
from smoothdp.mechanisms.fixed.draws import noisy_sums
from smoothdp.mechanisms.release.bars.interval_release import IntervalRelease
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.queries.fixed.clamped_mean import ClampedMean
from smoothdp.queries.fixed.fixed_statistic import Sums
from smoothdp.sources import Source

_LARGEST = Fraction(sys.float_info.max)


@dataclass(frozen=True, slots=True)
class SumNoise:
    """The mechanism: sums of whole numbers, an exact draw added to each, then a public function.

    The scale comes from the guarantee and the statistic alone, so the guarantee is known before
    any data are seen, whatever n is. What follows the noise is a function of the noisy sums.

    Source: proofs/private-sums#1, #2, #3.

    Attributes:
        query: the statistic. guarantee: what is promised.
        step: of the output, if the caller gave one.
        confidence: of the interval beside the value; None: no interval.

    Raises:
        InvalidParameter: a statistic without error bars, a guarantee that allows no loss.
        IncompatibleClaims: a guarantee of another kind, or about other neighbours.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> from smoothdp.claims import PureDP
    >>> from smoothdp.queries import Count
    >>> promise = PureDP("0.5", neighbours="add_remove")
    >>> SumNoise(Count(), promise).release([1, 2, 3], rng=SeededRandom(4)).value
    4
    """

    source: ClassVar[Source] = Source("own", "proofs/private-sums#1")
    query: Sums
    guarantee: Guarantee
    step: Fraction | None = None
    confidence: Fraction | None = None

    def __post_init__(self) -> None:
        self.query.check_neighbours(self.guarantee.neighbours)
        # Both refuse here, before any data.
        law = self.law
        if self.confidence is not None:
            self.query.covers()
            law.reach(1 - self.confidence, count=self.query.n_sums)

    @classmethod
    def of_request(cls, request: ReleaseRequest) -> SumNoise:
        """Return the mechanism that a request asks for."""
        query = request.query
        assert isinstance(query, Sums)
        check_arguments(request, query)
        coverage = request.coverage
        confidence = None if coverage is None else coverage.confidence
        return cls(query, request.guarantee, request.step, confidence)

    @property
    def law(self) -> WholeLaw:
        """The law of the noise on each sum."""
        reach = self.query.reach(self.guarantee.neighbours)
        return whole_law(self.guarantee, total=reach.total, square=reach.square)

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of one release: that of the guarantee."""
        return self.guarantee.profile()

    def describe(self) -> str:
        """Return the mechanism and its public parameters in words."""
        each = "" if self.query.n_sums == 1 else " on each, where a row adds 1 in all"
        text = f"{self.query.describe()}; plus {self.law.describe(self.query.unit)}{each}"
        if self.step is not None:
            text += f"; rounded to a multiple of {exact_text(self.step)}"
        return text

    def read(self, data: object) -> object:
        """Return the data as `release` takes them, checked."""
        return self.query.read(data, self.guarantee.neighbours)

    def release(self, data: object, *, rng: Entropy | None = None) -> Release[float | int]:
        """Return the statistic with noise, and the guarantee; with bars an `IntervalRelease`.

        Args:
            data: one column. Where n is private no row is refused.
            rng: `SystemRandom()` (default), or `SeededRandom`, marked not private.
        """
        source = read_rng(rng)
        return self.release_of(self.draw(self.read(data), source), source)

    def draw(self, values: object, source: Entropy) -> tuple[int, ...]:
        """Return the sums of what `read` returned, with noise."""
        return noisy_sums(self.query.private_sums(values), self.law, source)

    def release_of(self, sums: tuple[int, ...], source: Entropy) -> Release[float | int]:
        """Return the release that noisy sums make: a public function of them."""
        value = rounded(self.query.result(sums), self.step, is_whole=self._is_whole)
        common = (
            self.guarantee,
            self.describe(),
            source.is_private,
            library_version(),
            (self.source, self.query.source),
        )
        if self.confidence is None:
            return Release(value, *common)
        size = self.law.reach(1 - self.confidence, count=self.query.n_sums)
        low, high = self.query.bars(sums, size)
        interval = (
            -math.inf if low < -_LARGEST else float_bounds(_within_floats(low))[0],
            math.inf if high > _LARGEST else float_bounds(_within_floats(high))[1],
        )
        words = (
            f"contains {self.query.covers()}, with probability at least "
            f"{float(self.confidence):.15g}, whatever the records are"
        )
        target = "mean" if isinstance(self.query, ClampedMean) else "window"
        return IntervalRelease(value, *common, interval, self.confidence, words, target)

    @property
    def _is_whole(self) -> bool:
        step = self.query.unit if self.step is None else self.step
        return step.denominator == 1


def rounded(value: Fraction, step: Fraction | None, *, is_whole: bool) -> float | int:
    """Return a number on a grid: an int if all its points are whole, else the nearest float.

    >>> rounded(Fraction(22, 7), Fraction(1, 4), is_whole=False)
    3.25
    """
    if step is not None:
        value = math.floor(value / step + Fraction(1, 2)) * step
    return int(value) if is_whole else float(_within_floats(value))


def _within_floats(value: Fraction) -> Fraction:
    """Return a number, or the largest float on its side: a sum may lie beyond floats."""
    return min(max(value, -_LARGEST), _LARGEST)
