"""Several quantiles, released under one guarantee."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.release import Release
from smoothdp.queries.many.quantiles import level_text
from smoothdp.sources import Source


@dataclass(frozen=True, slots=True)
class QuantilesRelease(Release[tuple[float | int, ...]]):
    """Quantiles with noise in increasing order, and the guarantee of all of them together.

    Attributes:
        value: a value for each level, sorted and within the bounds.
        levels: in increasing order.
        interval: (lower, upper) for each level, made from its own value before sorting; None
            where no confidence was asked for. It may not hold the sorted value beside it.
        confidence: the least probability with which each interval covers, for itself; or all of
            them together, as `covers` says.
        covers: what the intervals cover, in words.

    Raises:
        InvalidParameter: a guarantee that is no `Guarantee`.

    >>> import smoothdp as sd
    >>> wages = [20 + i % 50 for i in range(1000)]
    >>> query = sd.queries.Quantiles([0.25, 0.5, 0.75], bounds=(0, 120))
    >>> released = sd.release(wages, query, guarantee=sd.ZCDP("1/2"))
    >>> len(released.value), released.value == tuple(sorted(released.value))
    (3, True)
    """

    source: ClassVar[Source] = Source("own", "proofs/half-shift#2")
    levels: tuple[Fraction, ...]
    interval: tuple[tuple[float, float], ...] | None = None
    confidence: Fraction | None = None
    covers: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The levels as short text, such as 0.9."""
        return tuple(level_text(level) for level in self.levels)
