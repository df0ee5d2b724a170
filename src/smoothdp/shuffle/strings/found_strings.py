"""What a collection of strings found: strings with counts, bars, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.shuffle.histogram.estimate import HistogramEstimate
from smoothdp.sources import Source

Prefix = tuple[int, ...]
_BYTE = 256


@dataclass(frozen=True, slots=True)
class StringBars:
    """Where the true counts of the last level's strings lie, all at once.

    Attributes:
        confidence: at least so often all bars are right.
        below, above: how far a true count is below or above its estimate, at most.
        unlisted: users of a string that was a candidate at the last level and is not listed.
        listed: string -> (least, most) users.
    """

    confidence: float
    below: float
    above: float
    unlisted: int
    listed: Mapping[Prefix, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class FoundStrings:
    """Frequent strings with their estimated counts.

    Attributes:
        counts: string, a tuple of symbols -> estimated users.
        n_dropped: at each level, prefixes above the threshold that were not kept, because there
            were more than the most candidates.
        last: the estimate of the last level's histogram. prefixes: of its bins, in order.
        fan_out: symbols.
    """

    source: ClassVar[Source] = Source("balcer-cheu", "Section 3.2, a variant of ours")
    counts: Mapping[Prefix, float]
    n_dropped: tuple[int, ...]
    last: HistogramEstimate
    prefixes: tuple[Prefix, ...]
    fan_out: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", MappingProxyType(dict(self.counts)))

    def top(self, k: int) -> list[tuple[Prefix, float]]:
        """Return the k most frequent strings with their estimates, the most frequent first."""
        return sorted(self.counts.items(), key=lambda entry: (-entry[1], entry[0]))[:k]

    def texts(self) -> dict[str, float]:
        """Return the counts by text, of strings of bytes: UTF-8 without the zeros at the end.

        Every string has a text of its own: bytes that are no UTF-8 become lone surrogates, which
        ``text.encode(errors="surrogateescape")`` turns back into them.

        Raises:
            InvalidParameter: symbols of more than a byte.
        """
        if self.fan_out > _BYTE:
            raise InvalidParameter(
                expected=f"strings of bytes, fan_out={_BYTE}, to be read as texts",
                got=f"fan_out={self.fan_out}",
                remedy="Use counts, whose keys are the symbols",
            )
        return {
            bytes(string).rstrip(b"\0").decode(errors="surrogateescape"): count
            for string, count in self.counts.items()
        }

    def bars(self, confidence: Parameter) -> StringBars:
        """Return where the true counts of the last level lie, as `HistogramEstimate.bars` does."""
        bars = self.last.bars(confidence)
        listed = {
            string_of(index, self.prefixes, self.fan_out): ends
            for index, ends in bars.listed.items()
            if index < len(self.prefixes) * self.fan_out
        }
        return StringBars(bars.confidence, bars.below, bars.above, bars.unlisted, listed)


def string_of(bin_index: int, prefixes: Sequence[Prefix], fan_out: int) -> Prefix:
    """Return the prefix that a bin counts: a surviving one and one symbol more.

    >>> string_of(5, [(0,), (2,)], 4)
    (2, 1)
    """
    place, symbol = divmod(bin_index, fan_out)
    return (*prefixes[place], symbol)
