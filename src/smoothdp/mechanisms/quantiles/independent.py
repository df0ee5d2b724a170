"""Several quantiles as so many releases of one, with equal parts of the budget."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Protocol

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.parts import part_of
from smoothdp.claims.neighbours import Neighbours
from smoothdp.claims.release import Release, library_version
from smoothdp.claims.sealed import Sealed
from smoothdp.exact.parameters.numbers import exact_text
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.mechanisms.additive.integer_noise import whole_law
from smoothdp.mechanisms.additive.whole_laws import WholeLaw
from smoothdp.mechanisms.fixed.draws import noisy_sums
from smoothdp.mechanisms.private_size.bought_size import DEFAULT_SHARE, low_end
from smoothdp.mechanisms.private_size.tried import check_some_size, mechanism_near
from smoothdp.mechanisms.quantiles.quantiles_release import QuantilesRelease
from smoothdp.mechanisms.release.bars.interval_release import IntervalRelease
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.queries import Quantiles
from smoothdp.queries.many.quantiles import level_text
from smoothdp.queries.private_size.read_rows import read_rows
from smoothdp.sources import Source


class Single(Protocol):
    """The mechanism of one quantile."""

    def describe(self) -> str:
        """Return the mechanism and its public parameters in words."""

    def release(self, data: object, *, rng: Entropy | None = None) -> Release[float | int]:
        """Return the quantile with noise."""


class SingleMaker(Protocol):
    """Makes the mechanism of one quantile."""

    def __call__(self, request: ReleaseRequest, *, n_records: int | None = None) -> Single:
        """Return the mechanism for a request."""


@dataclass(frozen=True, slots=True)
class IndependentQuantiles:
    """Several quantiles, each released for itself with an equal part of the guarantee.

    The parts compose to the guarantee. Where the number of records is private and no guess of it
    is given, one count is bought for all. The values are published in increasing order, within
    the bounds.

    Source: proofs/private-sums#1, #8.

    Attributes:
        request: what is asked for; its query is `Quantiles`. n_records: n where it is public.
        share: of the guarantee, for a count; 0: no count.
        single: makes the mechanism of one quantile from a request.

    Raises:
        InvalidParameter, IncompatibleClaims: no noise keeps a part of the guarantee.

    >>> import smoothdp as sd
    >>> query = sd.queries.Quantiles([0.25, 0.75], bounds=(0, 100))
    >>> released = sd.release(
    ...     [i % 91 for i in range(1001)], query, guarantee=sd.PureDP(2), rng=sd.SeededRandom(1)
    ... )
    >>> 15 < released.value[0] < 30 < 60 < released.value[1] < 75
    True
    """

    source: ClassVar[Source] = Source("own", "proofs/private-sums#8")
    request: ReleaseRequest
    n_records: int | None
    share: Fraction
    single: SingleMaker

    def __post_init__(self) -> None:
        if self.share:
            check_some_size(self.singles)
        else:
            self.singles()

    @classmethod
    def of_request(
        cls, request: ReleaseRequest, *, n_records: int | None, single: SingleMaker
    ) -> IndependentQuantiles:
        """Return the mechanism that a request asks for."""
        is_private = request.guarantee.neighbours is Neighbours.ADD_REMOVE
        buys = is_private and request.n_guess is None
        share = (request.n_share or DEFAULT_SHARE) if buys else Fraction(0)
        return cls(request, n_records, share, single)

    @property
    def query(self) -> Quantiles:
        """What is released."""
        assert isinstance(self.request.query, Quantiles)
        return self.request.query

    @property
    def guarantee(self) -> Guarantee:
        """What is promised of all values together, and of the count."""
        return self.request.guarantee

    @property
    def law(self) -> WholeLaw:
        """The noise of the count."""
        return whole_law(part_of(self.guarantee, self.share), total=1, square=1)

    def singles(self, n_guess: Fraction | None = None) -> tuple[Single, ...]:
        """Return the mechanism of each quantile, for a guess of a private n."""
        m = len(self.query)
        part = part_of(self.guarantee, (1 - self.share) / m)
        coverage = self.request.coverage
        if coverage is not None and self.request.simultaneous:
            coverage = replace(coverage, confidence=1 - (1 - coverage.confidence) / m)
        asked = replace(
            self.request, guarantee=part, coverage=coverage, clamp=True, simultaneous=False
        )
        if n_guess is not None:
            asked = replace(asked, n_guess=n_guess, n_share=None)
        return tuple(
            self.single(replace(asked, query=query), n_records=self.n_records)
            for query in self.query.singles
        )

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of one release: that of the guarantee."""
        return self.guarantee.profile()

    def describe(self) -> str:
        """Return the mechanism and its public parameters in words."""
        words = f"{self.query.describe()}; each released for itself with an equal part"
        if not self.share:
            first = self.singles()[0].describe()
            return f"{words} of the guarantee, the first by: {first}"
        return (
            f"{words} of what a count leaves; {exact_text(self.share)} of the guarantee buys it, "
            f"with {self.law.describe()}, and its low end chooses windows and noise"
        )

    def read(self, data: object) -> object:
        """Return the numbers of the column; where n is private no row is refused."""
        if self.guarantee.neighbours is Neighbours.ADD_REMOVE:
            return read_rows(data)
        return self.query.read(data)

    def release(self, data: object, *, rng: Entropy | None = None) -> QuantilesRelease:
        """Return the values with noise, and the guarantee of all of them together.

        Args:
            data: one column. rng: `SystemRandom()` (default), or `SeededRandom`, marked not
                private.
        """
        source = read_rng(rng)
        values = self.read(data)
        if self.share:
            (count,) = noisy_sums(Sealed((len(read_rows(data)),)), self.law, source)
            made = mechanism_near(self.singles, low_end(count, self.law.deviation))
        else:
            made = self.singles()
        released = [single.release(values, rng=source) for single in made]
        return self._together(released, source)

    def _together(self, released: list[Release[float | int]], source: Entropy) -> QuantilesRelease:
        with_bars = [one for one in released if isinstance(one, IntervalRelease)]
        intervals = [one.interval for one in with_bars]
        simultaneous = self.request.simultaneous
        if simultaneous:
            lows, highs = sorted(low for low, _ in intervals), sorted(h for _, h in intervals)
            intervals = list(zip(lows, highs, strict=True))
        coverage = self.request.coverage
        covered = "; ".join(
            f"{level_text(level)}: {one.covers}"
            for level, one in zip(self.query.levels, with_bars, strict=False)
        )
        how = "all of them together" if simultaneous else "each for itself"
        return QuantilesRelease(
            tuple(sorted(one.value for one in released)),
            self.guarantee,
            f"{self.describe()}",
            source.is_private,
            library_version(),
            tuple(dict.fromkeys(s for one in released for s in one.sources)),
            self.query.levels,
            None if coverage is None else tuple(intervals),
            None if coverage is None else coverage.confidence,
            f"{how}, {covered}" if with_bars else "",
        )
