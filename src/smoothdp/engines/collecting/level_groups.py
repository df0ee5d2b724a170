"""One level a user: the users are drawn into equal groups, and each group answers one level.

What `plan_collect` calls "PrefixTree, one level a user". A user is in the group of one level, so
no levels compose; who is in which group is drawn whatever anybody holds. The groups are as equal
as they can be: those of the ranks of one keyed word a user, found by two passes of counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import add
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from smoothdp.engines.codes import LEVEL_BITS
from smoothdp.engines.collecting.marked_rows import MarkedRows
from smoothdp.engines.collecting.string_levels import CountLevel, level_name
from smoothdp.engines.job import Job, Partition, Run
from smoothdp.engines.keyed_random import keyed_words
from smoothdp.engines.randomized_counts import MarkedCounts
from smoothdp.errors import InvalidData
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.shuffle import HistogramEstimate, LowCommunicationHistogram, PrefixTree
from smoothdp.shuffle.strings.found_strings import FoundStrings, Prefix, StringBars
from smoothdp.shuffle.strings.tree_levels import BYTE
from smoothdp.sources import Source
from smoothdp.types import BoolArray, IntArray, WordArray

_SHIFT = np.uint64(64 - LEVEL_BITS)


@dataclass(frozen=True, slots=True)
class GroupedStrings:
    """Frequent strings that users in groups answered level by level, each user one level.

    Attributes:
        counts: string, a tuple of symbols -> estimated users, of all: those of the last group,
            times all users over its users. Whom the draw put into the group is an error of its
            own, which ``plan_collect(...).recommended.error`` counts.
        n_groups: L.
        last: what the last group found among its own users.
    """

    source: ClassVar[Source] = Source("balcer-cheu", "Section 3.2, a variant of ours")
    counts: Mapping[Prefix, float]
    n_groups: int
    last: FoundStrings

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", MappingProxyType(dict(self.counts)))

    def top(self, k: int) -> list[tuple[Prefix, float]]:
        """Return the k most frequent strings with their estimates, the most frequent first."""
        return sorted(self.counts.items(), key=lambda entry: (-entry[1], entry[0]))[:k]

    def texts(self) -> dict[str, float]:
        """Return the counts by text, as `FoundStrings.texts` has them."""
        scaled = FoundStrings(
            self.counts, self.last.n_dropped, self.last.last, self.last.prefixes, self.last.fan_out
        )
        return scaled.texts()

    def bars(self, confidence: Parameter) -> StringBars:
        """Return where the true counts lie among the users of the last group, not of all."""
        return self.last.bars(confidence)


@dataclass(frozen=True)
class Groups:
    """Who answers which level.

    Attributes:
        key, name: what the words of users are derived from.
        starts: the least word of each group; the first is 0.
        sizes: users of each group.
    """

    key: bytes
    name: bytes
    starts: tuple[int, ...]
    sizes: tuple[int, ...]

    def of(self, users: Sequence[Any]) -> IntArray:
        """Return the group of each user."""
        words = keyed_words(users, key=self.key, collection=self.name)
        starts = np.array(self.starts[1:], dtype=np.uint64)
        return np.searchsorted(starts, words, side="right").astype(np.int64)


@dataclass(frozen=True)
class _Answers:
    groups: Groups
    level: int

    def __call__(self, users: Sequence[Any]) -> BoolArray:
        asked: BoolArray = self.groups.of(users) == self.level - 1
        return asked


@dataclass(frozen=True)
class _CountWords:
    key: bytes
    name: bytes

    def __call__(self, columns: Partition) -> IntArray:
        words = keyed_words(columns[0].tolist(), key=self.key, collection=self.name)
        return np.bincount((words >> _SHIFT).astype(np.int64), minlength=1 << LEVEL_BITS)


@dataclass(frozen=True)
class _CollectWords:
    key: bytes
    name: bytes
    cells: tuple[int, ...]

    def __call__(self, columns: Partition) -> WordArray:
        words = keyed_words(columns[0].tolist(), key=self.key, collection=self.name)
        return words[np.isin((words >> _SHIFT).astype(np.int64), self.cells)]


def drawn_groups(run: Run, rows: MarkedRows[PrefixTree], n_groups: int) -> Groups:
    """Return groups whose sizes differ by one at most, drawn by the ranks of keyed words.

    Equal words, which are rarer than 1 in 10^7 among 10^6 users, stay together.
    """
    key, name = rows.marks.key, rows.noise_name("groups")
    n_users = rows.protocol.n_users
    counts = run(Job(_CountWords(key, name), add))
    below = np.concatenate([[0], np.cumsum(counts)])
    ranks = [group * n_users // n_groups for group in range(1, n_groups)]
    cells = [int(np.searchsorted(below, rank, side="right")) - 1 for rank in ranks]
    words = np.sort(run(Job(_CollectWords(key, name, tuple(sorted(set(cells)))), _together)))
    starts, firsts = [0], [0]
    for rank, cell in zip(ranks, cells, strict=True):
        inside = words[(words >> _SHIFT) == np.uint64(cell)]
        start = inside[rank - int(below[cell])]
        starts.append(int(start))
        firsts.append(int(below[cell]) + int(np.searchsorted(inside, start)))
    sizes = np.diff([*firsts, n_users])
    return Groups(key, name, tuple(starts), tuple(sizes.tolist()))


def _together(a: WordArray, b: WordArray) -> WordArray:
    return np.concatenate([a, b])


def tree_of_groups(
    one: LowCommunicationHistogram, *, n_users: int, n_levels: int, honest_share: Fraction
) -> PrefixTree:
    """Return the tree whose levels groups answer: as many candidates as their histogram has bins.

    Its own promise would be that of users who answer all levels: it has none.
    """
    return PrefixTree(
        n_users,
        n_levels=n_levels,
        noise_probability=one.noise_probability,
        most_candidates=(one.n_bins - 1) // BYTE,
        n_slots=one.n_slots,
        honest_share=honest_share,
    )


def histogram_of_group(
    one: LowCommunicationHistogram, n_users: int, *, n_bins: int
) -> LowCommunicationHistogram:
    """Return the histogram of a group: noise, envelope and honest users as they were calibrated.

    Raises:
        InvalidData: a group of fewer users than the promise counts on.
    """
    if n_users < one.honest_assumed:
        raise InvalidData(
            expected=f"groups of at least {one.honest_assumed} honest users, as the promise needs",
            got=f"one of {n_users} users",
            remedy="Wait for more users; next time, plan for fewer than you expect",
        )
    return LowCommunicationHistogram(
        n_users,
        n_bins=n_bins,
        noise_probability=one.noise_probability,
        false_positive=one.false_positive,
        honest_share=Fraction(one.honest_assumed, n_users),
        n_slots=one.n_slots,
        catch_all=True,
    )


def grouped_strings(
    run: Run, rows: MarkedRows[PrefixTree], one: LowCommunicationHistogram
) -> GroupedStrings:
    """Return what groups of users find, each user answering one level.

    Args:
        rows: marked for `tree_of_groups`.
        one: the histogram of one group, as it was calibrated.
    """
    tree, n_levels = rows.protocol, rows.protocol.n_levels
    # Before the passes: the smallest group keeps the promise.
    histogram_of_group(one, tree.n_users // n_levels, n_bins=one.n_bins)
    groups = drawn_groups(run, rows, n_levels)

    def ask(level: int, prefixes: tuple[Prefix, ...]) -> HistogramEstimate:
        n_bins = len(prefixes) * tree.fan_out + 1
        histogram = histogram_of_group(one, groups.sizes[level - 1], n_bins=n_bins)
        name = level_name(rows, level, prefixes, f"groups={n_levels}")
        job = CountLevel(histogram, rows.marks, name, level, prefixes, _Answers(groups, level))
        found: MarkedCounts = run(Job(job, add))
        rows.require_same(found.rows.data_mark)
        return histogram.estimate_counts(found.messages)

    last = tree.climb(ask)
    scale = tree.n_users / groups.sizes[-1]
    return GroupedStrings({s: count * scale for s, count in last.counts.items()}, n_levels, last)


def words_of_groups(one: LowCommunicationHistogram, tree: PrefixTree) -> tuple[str, str]:
    """Return the mechanism, and what its promise rests on, in words."""
    n_levels = tree.n_levels
    smallest = histogram_of_group(one, tree.n_users // n_levels, n_bins=one.n_bins)
    mechanism = (
        f"prefix tree of {tree.n_users} users in {n_levels} groups, each user answering one "
        f"level: {smallest.describe()}"
    )
    condition = (
        f"{smallest.condition()}, in each of the {n_levels} groups of users, into which users are "
        "drawn at random whatever they hold"
    )
    return mechanism, condition
