"""A share of the guarantee buys a guess of a private number of records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.parts import part_of
from smoothdp.claims.release import Release
from smoothdp.claims.sealed import Sealed
from smoothdp.exact.parameters.numbers import exact_text
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.mechanisms.additive.integer_noise import whole_law
from smoothdp.mechanisms.additive.whole_laws import WholeLaw
from smoothdp.mechanisms.fixed.draws import noisy_sums
from smoothdp.mechanisms.private_size.tried import check_some_size, mechanism_near
from smoothdp.mechanisms.quantiles.exponential.exponential_quantile import ExponentialQuantile
from smoothdp.mechanisms.release.bars.bare_bars import BareBars
from smoothdp.mechanisms.release.bars.pair_noise import PairNoise
from smoothdp.mechanisms.release.by_ranks import by_ranks, draws_by_ranks
from smoothdp.mechanisms.release.request import MOST_RECORDS, ReleaseRequest
from smoothdp.mechanisms.release.smooth_mechanism import smooth_mechanism
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.queries.private_size.read_rows import read_rows
from smoothdp.queries.read_arguments import Values
from smoothdp.sources import Source

DEFAULT_SHARE = Fraction(1, 10)
"""What of the guarantee a count gets, unless said."""
LOW_END = 2
"""A released count enters a rule less so many deviations: too few is safer than too many."""


def low_end(count: int, deviation: float) -> Fraction:
    """Return a guess of n from a released count, of two digits; from 1 to `MOST_RECORDS`.

    >>> low_end(1000, 14.1)
    Fraction(970, 1)
    """
    most = float(MOST_RECORDS)
    return Fraction(f"{min(max(1.0, min(count, MOST_RECORDS) - LOW_END * deviation), most):.2g}")


@dataclass(frozen=True, slots=True)
class BoughtSize:
    """A statistic whose window and noise are chosen by a count that is released beside it.

    The count gets a share of the guarantee and discrete noise, the statistic the rest: together
    they keep the guarantee, in sequence. The rules see the low end of the count, never n.

    Source: proofs/private-sums#1, #8.

    Attributes:
        request: what is asked for, without a guess of n. share: of the guarantee, for the count.

    Raises:
        InvalidParameter, IncompatibleClaims: no noise keeps a part of the guarantee, or a
            statistic that is not released where n is private.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> from smoothdp.claims import PureDP
    >>> from smoothdp.queries import Median
    >>> request = ReleaseRequest.read(
    ...     Median((0, 100)), guarantee=PureDP(1, neighbours="add_remove")
    ... )
    >>> 40 < BoughtSize(request).release([40, 50, 60] * 300, rng=SeededRandom(1)).value < 60
    True
    """

    source: ClassVar[Source] = Source("own", "proofs/private-sums#8")
    request: ReleaseRequest
    share: Fraction = DEFAULT_SHARE

    def __post_init__(self) -> None:
        check_some_size(self.mechanism)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised of count and statistic together."""
        return self.request.guarantee

    @property
    def law(self) -> WholeLaw:
        """The noise of the count."""
        return whole_law(part_of(self.guarantee, self.share), total=1, square=1)

    def mechanism(
        self, n_guess: Fraction
    ) -> SmoothNoise | PairNoise | BareBars | ExponentialQuantile:
        """Return the mechanism of the statistic for a guess of n: a draw by ranks of few."""
        rest = part_of(self.guarantee, 1 - self.share)
        request = replace(self.request, guarantee=rest, n_guess=n_guess, is_guess_released=True)
        if draws_by_ranks(request, n_guess):
            return by_ranks(request)
        return smooth_mechanism(request, n_records=None)

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of one release: that of the guarantee."""
        return self.guarantee.profile()

    def describe(self) -> str:
        """Return the mechanism and its public parameters in words."""
        return (
            f"{self.request.query.describe()}; {exact_text(self.share)} of the guarantee buys a "
            f"count with {self.law.describe()}, whose low end chooses window and noise"
        )

    def read(self, data: object) -> Values:
        """Return the numbers of the column; no row is refused."""
        return read_rows(data)

    def release(self, data: object, *, rng: Entropy | None = None) -> Release[float | int]:
        """Return the statistic with noise, and the guarantee of count and statistic together.

        Args:
            data: one column. rng: `SystemRandom()` (default), or `SeededRandom`, marked not
                private.
        """
        source = read_rng(rng)
        values = self.read(data)
        (count,) = noisy_sums(Sealed((len(values),)), self.law, source)
        guess = low_end(count, self.law.deviation)
        released = mechanism_near(self.mechanism, guess).release(values, rng=source)
        words = (
            f"{released.mechanism}; chosen for {float(guess):g} records, the low end of a count "
            f"with {self.law.describe()}, which took {exact_text(self.share)} of the guarantee"
        )
        return replace(
            released,
            guarantee=self.guarantee,
            mechanism=words,
            sources=(*released.sources, self.source),
        )
