"""The estimated histogram of cancelling pairs: its counts may be below 0, and have bars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, float_bounds, proper_probability
from smoothdp.shuffle.histogram.estimate import HistogramEstimate, require_bin
from smoothdp.shuffle.paired.accuracy import LeftNoise, PairedBars
from smoothdp.sources import Source


@dataclass(frozen=True, slots=True)
class PairedEstimate(HistogramEstimate):
    """Estimated counts, whole numbers that may be negative; a bin that is not listed has 0.

    Attributes:
        noise: what is left of the noise. n_users: those who answered.
        hidden: estimates up to it are reported as 0; 0 where nothing is hidden.
    """

    source: ClassVar[Source] = Source("own", "proofs/paired-counts#4")
    noise: LeftNoise | None = field(default=None, repr=False, compare=False, kw_only=True)
    n_users: int = field(default=0, repr=False, kw_only=True)
    hidden: int = field(default=0, repr=False, kw_only=True)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the counts as a dictionary."""
        return _rebuilt, (self.n_bins, dict(self.counts), self.noise, self.n_users, self.hidden)

    def bars(self, confidence: Parameter, *, bin: int | None = None) -> PairedBars:
        """Return where the true counts lie, all at once: the same width for every bin.

        All who answered follow the protocol; each liar moves a bin by up to K + 1.

        Args:
            confidence: in (0, 1).
            bin: one bin, chosen before the data were seen, alone: narrower.

        Raises:
            InvalidParameter: another confidence or bin; an estimate that no protocol made.

        >>> from fractions import Fraction
        >>> noise = LeftNoise(Fraction(10, 9), Fraction(2, 5), Fraction(0))
        >>> estimate = PairedEstimate(100, {7: 41.0}, noise=noise, n_users=10_000)
        >>> bars = estimate.bars("0.95")
        >>> bars[7], bars[8]
        ((22, 60), (0, 19))
        """
        remedy = "Choose 0.95, for example"
        exact = proper_probability(confidence, name="confidence", remedy=remedy)
        noise = self.noise
        if noise is None:
            raise InvalidParameter(
                expected="an estimate that a protocol made",
                got="one made by hand",
                remedy="Ask the estimate that analyze, release or simulate returned",
            )
        shown = self.counts
        if bin is not None:
            try:
                chosen = require_bin(bin, self.n_bins)
            except InvalidData as error:
                raise error.said_as(InvalidParameter) from None
            shown = {chosen: self.counts[chosen]} if chosen in self.counts else {}
        reach = noise.reach(1 - exact, n_bins=self.n_bins if bin is None else 1)
        listed = {
            place: (max(0, int(value) - reach), max(0, min(self.n_users, int(value) + reach)))
            for place, value in shown.items()
        }
        least = float_bounds(exact)[0]
        unlisted = min(self.n_users, self.hidden + reach)
        return PairedBars(least, float(reach), float(reach), unlisted, listed, self.n_bins)


def _rebuilt(
    n_bins: int, counts: Mapping[int, float], noise: LeftNoise | None, n_users: int, hidden: int
) -> PairedEstimate:
    return PairedEstimate(n_bins, counts, noise=noise, n_users=n_users, hidden=hidden)
