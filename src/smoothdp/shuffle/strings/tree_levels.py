"""The levels of a prefix tree: which bin a string is in, what survives, and how levels run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from numbers import Integral
from typing import Any

from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.parameters.numbers import exact_int
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.shuffle.histogram.estimate import HistogramEstimate
from smoothdp.shuffle.histogram.low_communication import LowCommunicationHistogram
from smoothdp.shuffle.strings.found_strings import FoundStrings, Prefix, string_of

BYTE = 256


@lru_cache(maxsize=256)
def _histogram_of_level(
    n_users: int,
    n_bins: int,
    gamma: Fraction,
    false_positive: Fraction,
    honest_share: Fraction,
    n_slots: int,
) -> LowCommunicationHistogram:
    """Return the histogram of a level: every user of it asks for the same one."""
    return LowCommunicationHistogram(
        n_users,
        n_bins=n_bins,
        noise_probability=gamma,
        false_positive=false_positive,
        honest_share=honest_share,
        n_slots=n_slots,
        catch_all=True,
    )


class TreeLevels:
    """One histogram a level, of the extensions of the prefixes that survived the level before.

    What is found, and what is listed falsely: proofs/honest-users#7.
    """

    n_users: int
    n_levels: int
    fan_out: int
    noise_probability: Fraction
    most_candidates: int
    false_positive: Fraction
    n_slots: int
    honest_share: Fraction

    @property
    def most_bins(self) -> int:
        """The most bins of a level: F symbols after each candidate, and one for other strings."""
        return self.most_candidates * self.fan_out + 1

    def round(self, level: int, survivors: Sequence[Sequence[int]]) -> LowCommunicationHistogram:
        """Return the histogram of a level, of the extensions of the survivors and of all others.

        Args:
            level: from 1 to L.
            survivors: the prefixes that survived the level before, of level - 1 symbols each;
                of level 1 nothing.

        Raises:
            InvalidParameter: another level, other prefixes, one twice or more than candidates.
        """
        return self._level(len(self._read_survivors(level, survivors)) * self.fan_out + 1)

    def bin_of(self, string: object, level: int, survivors: Sequence[Sequence[int]]) -> int:
        """Return the bin of a user's string at a level; the last for all that have no bin."""
        prefixes = self._read_survivors(level, survivors)
        symbols = self.symbols_of(string)
        if symbols is None or symbols[: level - 1] not in prefixes:
            return len(prefixes) * self.fan_out
        return prefixes.index(symbols[: level - 1]) * self.fan_out + symbols[level - 1]

    def randomize(
        self,
        string: object,
        *,
        level: int,
        survivors: Sequence[Sequence[int]],
        rng: Entropy | None = None,
    ) -> tuple[int, ...]:
        """Return the K slots of a user at a level; no string is refused."""
        bin_index = self.bin_of(string, level, survivors)
        return self.round(level, survivors).randomize(bin_index, rng=rng)

    def survivors(
        self,
        level: int,
        survivors: Sequence[Sequence[int]],
        estimate: HistogramEstimate,
    ) -> tuple[tuple[Prefix, ...], int]:
        """Return the prefixes that a level's estimate lists, and how many more were dropped.

        The most frequent are kept, at most ``most_candidates``, in the order of the bins.
        """
        prefixes = self._read_survivors(level, survivors)
        last = len(prefixes) * self.fan_out
        found = [entry for entry in estimate.counts.items() if entry[0] < last]
        found.sort(key=lambda entry: (-entry[1], entry[0]))
        kept = sorted(bin_index for bin_index, _ in found[: self.most_candidates])
        strings = tuple(string_of(bin_index, prefixes, self.fan_out) for bin_index in kept)
        return strings, max(0, len(found) - self.most_candidates)

    def _level(self, n_bins: int) -> LowCommunicationHistogram:
        return _histogram_of_level(
            self.n_users,
            n_bins,
            self.noise_probability,
            self.false_positive / self.n_levels,
            self.honest_share,
            self.n_slots,
        )

    def _read_survivors(self, level: int, survivors: Sequence[Sequence[int]]) -> tuple[Prefix, ...]:
        number = exact_int(level, name="level", minimum=1)
        prefixes = tuple(tuple(prefix) for prefix in survivors) if number > 1 else ((),)
        fits = number <= self.n_levels and len(prefixes) <= self.most_candidates
        right = all(
            len(prefix) == number - 1 and all(0 <= symbol < self.fan_out for symbol in prefix)
            for prefix in prefixes
        )
        if not fits or not right or len(set(prefixes)) < len(prefixes):
            raise InvalidParameter(
                expected=f"a level from 1 to {self.n_levels}, and up to {self.most_candidates} "
                "different prefixes of one symbol less",
                got=f"level={number} and {len(prefixes)} prefixes",
                remedy="Give what survivors() of the level before returned",
            )
        return prefixes

    def symbols_of(self, string: object) -> Prefix | None:
        """Return the L symbols of a string; None if it is none of the tree's, so that it is other.

        A text is its UTF-8 bytes, and bytes are padded by zeros, both with F = 256.

        >>> from smoothdp.shuffle import PrefixTree
        >>> PrefixTree(9, n_levels=3, noise_probability="1/4").symbols_of("ab")
        (97, 98, 0)
        """
        if self.fan_out == BYTE and isinstance(string, str):
            # A surrogate that UTF-8 does not know makes another string, not an error.
            string = string.encode(errors="surrogatepass")
        if self.fan_out == BYTE and isinstance(string, bytes):
            string = string.ljust(self.n_levels, b"\0")
        if not isinstance(string, bytes | tuple | list) or len(string) != self.n_levels:
            return None
        whole = (isinstance(symbol, Integral) and not isinstance(symbol, bool) for symbol in string)
        if not all(whole) or not all(0 <= symbol < self.fan_out for symbol in string):
            return None
        return tuple(int(symbol) for symbol in string)

    # ---- run --------------------------------------------------------------------------

    def run_messages(self, data: Sequence[object], *, rng: Entropy | None = None) -> FoundStrings:
        """Run all levels message by message: every user randomises, in every level."""
        source = read_rng(rng)
        self._tally(self._counted(data))

        def ask(level: int, prefixes: tuple[Prefix, ...]) -> HistogramEstimate:
            bins = [self.bin_of(string, level, prefixes) for string in data]
            return self.round(level, prefixes).run_messages(bins, rng=source)

        return self.climb(ask)

    def _counted(self, data: Iterable[object]) -> Counter[Prefix | None]:
        if isinstance(data, str | bytes) or not isinstance(data, Iterable):
            raise InvalidData(
                expected="one string per user",
                got=f"{type(data).__name__}",
                remedy="Give a list of strings",
            )
        return Counter(map(self.symbols_of, data))

    def _run(self, tally: Mapping[Prefix | None, int], rng: Entropy) -> FoundStrings:
        def ask(level: int, prefixes: tuple[Prefix, ...]) -> HistogramEstimate:
            bins: Counter[int] = Counter()
            for string, users in tally.items():
                bins[self.bin_of(string, level, prefixes)] += users
            return self.round(level, prefixes).release(counts=dict(bins), rng=rng).value

        return self.climb(ask)

    def climb(self, ask: Callable[[int, tuple[Prefix, ...]], HistogramEstimate]) -> FoundStrings:
        """Run all levels: ``ask(level, survivors)`` returns the estimate of a level's histogram."""
        prefixes: tuple[Prefix, ...] = ((),)
        dropped = []
        for level in range(1, self.n_levels + 1):
            parents, estimate = prefixes, ask(level, prefixes)
            prefixes, more = self.survivors(level, parents, estimate)
            dropped.append(more)
        place = {string_of(i, parents, self.fan_out): i for i in range(len(parents) * self.fan_out)}
        counts = {string: estimate.counts[place[string]] for string in prefixes}
        return FoundStrings(counts, tuple(dropped), estimate, parents, self.fan_out)

    def _tally(self, counts: object) -> dict[Prefix | None, int]:
        """Return users by string, those of no string under None, or raise InvalidData."""
        if not isinstance(counts, Mapping) or not all(map(_is_count, counts.values())):
            raise InvalidData(
                expected="counts as {string: users}, whole numbers >= 0",
                got="others",
                remedy="Give the number of users of each string",
            )
        tally: Counter[Prefix | None] = Counter()
        for string, users in counts.items():
            tally[self.symbols_of(string)] += int(users)
        if sum(tally.values()) != self.n_users:
            raise InvalidData(
                expected=f"strings of n_users={self.n_users} users",
                got="another number",
                remedy="Give one string per user, or build the tree for this number",
            )
        return dict(tally)


def _is_count(users: Any) -> bool:
    return isinstance(users, Integral) and not isinstance(users, bool) and int(users) >= 0
