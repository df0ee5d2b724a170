"""A released value with a confidence interval, under one guarantee."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.release import Release
from smoothdp.sources import Source


@dataclass(frozen=True, slots=True)
class IntervalRelease(Release[float | int]):
    """A release with private error bars: the guarantee covers value and interval together.

    Source: ln S moves by at most t between neighbours (paper 2, Definition 14), so that it is
    released with noise of its own.

    Attributes:
        interval: (lower, upper), within the bounds of the statistic.
        confidence: the least probability with which the interval covers, over the noise; for a
            figure of the population over noise and sample, and nominally for means.
        covers: what the interval contains, and how surely, in a sentence.
        target: the same in a word: "quantile", "population", "window" or "mean".

    Raises:
        InvalidParameter: a guarantee that is no `Guarantee`.

    >>> from smoothdp.mechanisms.release.release import release
    >>> from smoothdp.claims import PureDP
    >>> from smoothdp.queries import Median
    >>> ages = [20 + i % 50 for i in range(1000)]
    >>> released = release(ages, Median((0, 120)), guarantee=PureDP(1), confidence="0.95")
    >>> released.interval[0] <= released.interval[1], str(released.confidence)
    (True, '19/20')
    """

    source: ClassVar[Source] = Source("bun-steinke-averages", "Definition 14")
    interval: tuple[float, float]
    confidence: Fraction
    covers: str
    target: str = "window"
