"""The mean of skewed data: a height by smooth sensitivity, then two sums below it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.parts import part_of
from smoothdp.claims.release import Release
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import exact_text
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.mechanisms.fixed.arguments import check_arguments
from smoothdp.mechanisms.fixed.sum_noise import SumNoise
from smoothdp.mechanisms.release.bars.interval_release import IntervalRelease
from smoothdp.mechanisms.release.defaults import LARGEST_SMOOTHING, Rule
from smoothdp.mechanisms.release.request import MOST_RECORDS, ReleaseRequest
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.queries.fixed.clamped_mean import ClampedMean
from smoothdp.queries.fixed.skewed_mean import SkewedMean
from smoothdp.queries.private_size.read_rows import read_rows
from smoothdp.queries.read_arguments import Values
from smoothdp.sources import Source

HEIGHT_SHARE = Fraction(7, 10)
"""What of the guarantee the height gets."""
_RANK, _WIDTH, _SMOOTHING = 20, Fraction(3, 5), Fraction(1, 5)


@dataclass(frozen=True, slots=True)
class SkewedNoise:
    """The mechanism: h is released with 7/10 of the guarantee, then the mean clipped at h.

    With e1 the epsilon of the first part (sqrt(2 rho) for concentrated claims) the window lies
    r = 20 / e1 ranks from the top and is .6 r ranks wide, with smoothing .2 e1 (less where
    truncated CDP needs it). None of it
    knows n. Given h the second part is a fixed query, so both compose in sequence.

    Source: proofs/private-sums#7.

    Attributes:
        query: the statistic. guarantee: what is promised of both parts together.
        step, confidence: as of `SumNoise`.

    Raises:
        InvalidParameter, IncompatibleClaims: no noise keeps a part of the guarantee, or it is
            about other neighbours.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> from smoothdp.claims import PureDP
    >>> promise = PureDP(1, neighbours="add_remove")
    >>> mechanism = SkewedNoise(SkewedMean((0, 10**9)), promise)
    >>> 450 < mechanism.release(list(range(1000)), rng=SeededRandom(1)).value < 550
    True
    """

    source: ClassVar[Source] = Source("own", "proofs/private-sums#7")
    query: SkewedMean
    guarantee: Guarantee
    step: Fraction | None = None
    confidence: Fraction | None = None

    def __post_init__(self) -> None:
        self.query.check_neighbours(self.guarantee.neighbours)
        if self.rank > MOST_RECORDS:
            raise InvalidParameter(
                expected="an epsilon of at least 3e-11 for the mean of skewed data",
                got=f"{self.guarantee!r}",
                remedy="Raise epsilon or rho, or use ClampedMean",
            )
        # Both refuse here, before any data: what noise is needed does not depend on the height.
        self.height_mechanism()
        self.mean_mechanism(self.query.clipped_at(Fraction(1)))

    @classmethod
    def of_request(cls, request: ReleaseRequest) -> SkewedNoise:
        """Return the mechanism that a request asks for."""
        query = request.query
        assert isinstance(query, SkewedMean)
        check_arguments(request, query)
        coverage = request.coverage
        confidence = None if coverage is None else coverage.confidence
        return cls(query, request.guarantee, request.step, confidence)

    @property
    def rank(self) -> Fraction:
        """r: how many ranks from the top the height is looked for."""
        return _short(_RANK / self._strength)

    @property
    def _strength(self) -> float:
        return Rule.of(part_of(self.guarantee, HEIGHT_SHARE)).epsilon

    def height_mechanism(self) -> SmoothNoise:
        """Return the mechanism of the logarithm of h."""
        rule = Rule.of(part_of(self.guarantee, HEIGHT_SHARE))
        smoothing = min(min(float(_SMOOTHING), rule.most) * rule.epsilon, LARGEST_SMOOTHING)
        request = ReleaseRequest.read(
            self.query.height_window(rank=self.rank, width=_WIDTH * self.rank),
            guarantee=part_of(self.guarantee, HEIGHT_SHARE),
            smoothing=_short(smoothing),
            clamp=True,
        )
        return SmoothNoise.of_request(request, n_records=None)

    def mean_mechanism(self, query: ClampedMean) -> SumNoise:
        """Return the mechanism of the mean below a height."""
        rest = part_of(self.guarantee, 1 - HEIGHT_SHARE)
        return SumNoise(query, rest, self.step, self.confidence)

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of one release: that of the guarantee."""
        return self.guarantee.profile()

    def describe(self) -> str:
        """Return the mechanism and its public parameters in words."""
        return (
            f"{self.query.describe()}; {exact_text(HEIGHT_SHARE)} of the guarantee buys the height "
            f"h, {float(self.rank):.4g} ranks from the top; then the mean of values clipped at h, "
            "from two sums"
        )

    def read(self, data: object) -> Values:
        """Return the numbers of the column; no row is refused."""
        return read_rows(data)

    def release(self, data: object, *, rng: Entropy | None = None) -> Release[float | int]:
        """Return the mean of clipped values with noise, and the guarantee of both parts.

        Args:
            data: one column. rng: `SystemRandom()` (default), or `SeededRandom`, marked not
                private.
        """
        source = read_rng(rng)
        values = self.read(data)
        height_mechanism = self.height_mechanism()
        first = height_mechanism.release(self.query.logarithms(values), rng=source)
        height = self.query.height(Fraction(first.value))
        mean_mechanism = self.mean_mechanism(self.query.clipped_at(height))
        sums = mean_mechanism.draw(values, source)
        released = mean_mechanism.release_of(sums, source)
        above = f"values above {float(self.query.bounds[0] + height):.6g} count as that"
        words = f"{self.describe()}; {above}"
        if sum(sums) < 2 * self.rank * ClampedMean.parts:
            words += (
                f"; the rule for the height wants about {2 * float(self.rank):.4g} rows, and "
                f"there are about {max(0.0, float(Fraction(sum(sums), ClampedMean.parts))):.4g}: "
                "expect an error of the order of the bounds"
            )
        if isinstance(released, IntervalRelease):
            covers = f"{released.covers}: the mean of clipped values, not the plain one"
            released = replace(released, covers=covers, target="window")
        return replace(
            released,
            guarantee=self.guarantee,
            mechanism=words,
            sources=(self.source, *first.sources, *released.sources),
        )


def _short(value: float) -> Fraction:
    return Fraction(f"{value:.4g}")
