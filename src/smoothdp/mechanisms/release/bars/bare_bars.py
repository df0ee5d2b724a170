"""A value whose interval is that of its bounds: where bars would cost more than they give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.release import Release
from smoothdp.exact.parameters.numbers import float_bounds
from smoothdp.exact.random.entropy import Entropy
from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.bars.interval_release import IntervalRelease
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.queries.statistic import Statistic
from smoothdp.sources import Source


@dataclass(frozen=True, slots=True)
class BareBars:
    """A release at smooth sensitivity with the interval [a, b], which holds whatever is asked for.

    A released count may call for a smoothing above epsilon / 5. A refusal would then come after
    something was released; the whole guarantee goes to the value instead.

    Source: proofs/quantile-bars#2 (theta is in [a, b]).

    Attributes:
        inner: the release of the value. coverage: of the interval.
    """

    source: ClassVar[Source] = Source("own", "proofs/quantile-bars#2")
    inner: SmoothNoise
    coverage: Coverage

    @property
    def guarantee(self) -> Guarantee:
        """What is promised."""
        return self.inner.guarantee

    @property
    def query(self) -> Statistic:
        """The statistic."""
        return self.inner.query

    @property
    def n_records(self) -> int | None:
        """n where it is public."""
        return self.inner.n_records

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of one release."""
        return self.inner.profile()

    def read(self, data: object) -> object:
        """Return the data as `release` takes them, checked."""
        return self.inner.read(data)

    def describe(self) -> str:
        """Return the mechanism and its public parameters in words."""
        return f"{self.inner.describe()}; the interval is that of the bounds"

    def release(self, data: object, *, rng: Entropy | None = None) -> Release[float | int]:
        """Return the value with noise, and the bounds as its interval.

        Args:
            data: one column. rng: `SystemRandom()` (default), or `SeededRandom`, marked not
                private.
        """
        released = self.inner.release(data, rng=rng)
        low, high = self.query.bounds
        return IntervalRelease(
            released.value,
            released.guarantee,
            self.describe(),
            released.is_private,
            released.library_version,
            released.sources,
            (float_bounds(low)[0], float_bounds(high)[1]),
            self.coverage.confidence,
            self.coverage.words(self.query, self.n_records),
            self.coverage.target,
        )
