"""Pointer chasing and multi-party pointer jumping by support identification (paper 3, 3.3).

Both problems hide a support of few records in a huge universe; whoever knows the support
reads off the answer. A record is coded as a bin number, so that the histogram applies.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import InvalidData, OutOfReach
from smoothdp.exact.parameters.numbers import Parameter, exact_int
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.shuffle.histogram.histogram import Histogram
from smoothdp.shuffle.users.honest_share import DEFAULT_HONEST_SHARE
from smoothdp.sources import Source

Permutation = tuple[int, ...]


@dataclass(frozen=True, init=False)
class PointerChasing:
    """PC(k, l): two permutations a, b of 1..l; find the k-th of a(1), b(a(1)), a(b(a(1))), ...

    Samples are the records (1, a) and (2, b), equally likely: a universe of 2 l!. Source:
    Definition 3.5 of paper 3.

    Args:
        n_steps: k >= 1. length: l >= 1.

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> problem = PointerChasing(2, length=3)
    >>> problem.answer((2, 3, 1), (3, 1, 2))
    1
    >>> problem.decode(problem.encode(2, (3, 1, 2)))
    (2, (3, 1, 2))
    """

    source: ClassVar[Source] = Source("balcer-cheu", "Section 3.3, Definition 3.5")
    n_steps: int
    length: int

    def __init__(self, n_steps: int, *, length: int) -> None:
        object.__setattr__(self, "n_steps", exact_int(n_steps, name="n_steps", minimum=1))
        object.__setattr__(self, "length", exact_int(length, name="length", minimum=1))

    @cached_property
    def universe_size(self) -> int:
        """2 l!, the number of records there are."""
        return 2 * math.factorial(self.length)

    @property
    def support_size(self) -> int:
        """2: the records of one instance."""
        return 2

    def protocol(
        self,
        n_users: int,
        *,
        guarantee: Guarantee,
        honest_share: Parameter = DEFAULT_HONEST_SHARE,
    ) -> Histogram:
        """Return the calibrated histogram over the universe."""
        return Histogram.calibrate(
            n_users,
            n_bins=self.universe_size,
            guarantee=guarantee,
            honest_share=honest_share,
        )

    def random_instance(self, *, rng: Entropy | None = None) -> tuple[Permutation, Permutation]:
        """Return two uniform permutations of 1..l."""
        source = read_rng(rng)
        first, second = (_random_permutation(self.length, source) for _ in range(2))
        return first, second

    def encode(self, side: int, permutation: Sequence[int]) -> int:
        """Return the bin of the record (side, permutation): (side - 1) l! + Lehmer rank.

        Raises:
            InvalidData: another side than 1 and 2, or no permutation of 1..l.
        """
        values = self._read(permutation)
        if side not in (1, 2):
            raise InvalidData(
                expected="side 1 or 2",
                got="another",
                remedy="Give 1 for the first permutation, 2 for the second",
            )
        left, rank = sorted(values), 0
        for value in values:
            position = left.index(value)
            rank = rank * len(left) + position
            left.pop(position)
        return (side - 1) * math.factorial(self.length) + rank

    def decode(self, record: int) -> tuple[int, Permutation]:
        """Return (side, permutation) of a bin.

        Raises:
            InvalidData: a bin outside the universe.
        """
        _check_record(record, self.universe_size)
        side, rank = divmod(record, math.factorial(self.length))
        digits = []
        for base in range(1, self.length + 1):
            rank, digit = divmod(rank, base)
            digits.append(digit)
        left, values = list(range(1, self.length + 1)), []
        for digit in reversed(digits):
            values.append(left.pop(digit))
        return side + 1, tuple(values)

    def sample(
        self,
        first: Sequence[int],
        second: Sequence[int],
        n_users: int,
        *,
        rng: Entropy | None = None,
    ) -> list[int]:
        """Return n records, each of the two with probability 1/2."""
        source = read_rng(rng)
        records = (self.encode(1, first), self.encode(2, second))
        return [records[source.bits(1)] for _ in range(n_users)]

    def answer(self, first: Sequence[int], second: Sequence[int]) -> int:
        """Return the k-th integer of the chase."""
        sides, value = (self._read(first), self._read(second)), 1
        for step in range(self.n_steps):
            value = sides[step % 2][value - 1]
        return value

    def solve(self, support: Iterable[int]) -> int | None:
        """Return the answer from the bins that are not empty; None if one side is missing."""
        known = dict(self.decode(record) for record in support)
        if len(known) < 2:
            return None
        return self.answer(known[1], known[2])

    def _read(self, permutation: Sequence[int]) -> Permutation:
        values = tuple(permutation)
        if sorted(values) != list(range(1, self.length + 1)):
            raise InvalidData(
                expected=f"a permutation of 1..{self.length}",
                got="another list",
                remedy=f"List each of the numbers 1..{self.length} once",
            )
        return values


@dataclass(frozen=True, init=False)
class MultiPartyPointerJumping:
    """MPJ(s, h): labels 0..s-1 on levels 1..h of a complete s-ary tree; find the path they name.

    Samples are the records (i, labels of level i), equally likely: level i has s^(i-1) nodes,
    the universe the sum of s^(s^(i-1)) records. Source: Definition 3.6 of paper 3.

    Args:
        n_children: s >= 1. height: h >= 1.

    Raises:
        InvalidParameter: a parameter outside these domains.
        OutOfReach: more than 1e6 nodes on a level, or 40 levels.

    >>> problem = MultiPartyPointerJumping(2, height=3)
    >>> problem.universe_size, problem.answer(((1,), (0, 1), (0, 0, 0, 1)))
    (22, (1, 1, 1))
    """

    source: ClassVar[Source] = Source("balcer-cheu", "Section 3.3, Definition 3.6")
    n_children: int
    height: int

    def __init__(self, n_children: int, *, height: int) -> None:
        s = exact_int(n_children, name="n_children", minimum=1)
        h = exact_int(height, name="height", minimum=1)
        if h > 40 or s ** (h - 1) > 10**6:
            raise OutOfReach(
                expected="at most 1e6 nodes on a level and 40 levels",
                got=f"n_children={s}, height={h}",
                remedy="Take a smaller tree: lower n_children or height",
            )
        object.__setattr__(self, "n_children", s)
        object.__setattr__(self, "height", h)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first bin of each level, and the number of bins at the end."""
        starts = [0]
        for level in range(self.height):
            starts.append(starts[-1] + self.n_children ** (self.n_children**level))
        return tuple(starts)

    @property
    def universe_size(self) -> int:
        """The number of records there are."""
        return self.starts[-1]

    @property
    def support_size(self) -> int:
        """h: the records of one instance."""
        return self.height

    def protocol(
        self,
        n_users: int,
        *,
        guarantee: Guarantee,
        honest_share: Parameter = DEFAULT_HONEST_SHARE,
    ) -> Histogram:
        """Return the calibrated histogram over the universe."""
        return Histogram.calibrate(
            n_users,
            n_bins=self.universe_size,
            guarantee=guarantee,
            honest_share=honest_share,
        )

    def random_instance(self, *, rng: Entropy | None = None) -> tuple[tuple[int, ...], ...]:
        """Return uniform labels of each level."""
        source = read_rng(rng)
        return tuple(
            tuple(source.below(self.n_children) for _ in range(self.n_children**level))
            for level in range(self.height)
        )

    def encode(self, level: int, labels: Sequence[int]) -> int:
        """Return the bin of the record (level, labels), levels from 1.

        Raises:
            InvalidData: no such level, or labels that are not one of 0..s-1 for every node.
        """
        if not 1 <= level <= self.height:
            raise InvalidData(
                expected=f"a level in 1..{self.height}",
                got=f"{level}",
                remedy="Number the levels from the root, 1, downwards",
            )
        if len(labels) != self.n_children ** (level - 1) or not all(
            0 <= label < self.n_children for label in labels
        ):
            raise InvalidData(
                expected=f"{self.n_children ** (level - 1)} labels in 0..{self.n_children - 1}",
                got="others",
                remedy="Label every node of the level",
            )
        rank = 0
        for label in labels:
            rank = rank * self.n_children + label
        return self.starts[level - 1] + rank

    def decode(self, record: int) -> tuple[int, tuple[int, ...]]:
        """Return (level, labels) of a bin.

        Raises:
            InvalidData: a bin outside the universe.
        """
        _check_record(record, self.universe_size)
        level = next(i for i in range(1, self.height + 1) if record < self.starts[i])
        rank, labels = record - self.starts[level - 1], []
        for _ in range(self.n_children ** (level - 1)):
            rank, label = divmod(rank, self.n_children)
            labels.append(label)
        return level, tuple(reversed(labels))

    def sample(
        self,
        instance: Sequence[Sequence[int]],
        n_users: int,
        *,
        rng: Entropy | None = None,
    ) -> list[int]:
        """Return n records, each level equally likely."""
        source = read_rng(rng)
        records = [self.encode(i + 1, labels) for i, labels in enumerate(instance)]
        return [records[source.below(self.height)] for _ in range(n_users)]

    def answer(self, instance: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """Return the labels along the path from the root."""
        node, path = 0, []
        for labels in instance:
            path.append(labels[node])
            node = node * self.n_children + labels[node]
        return tuple(path)

    def solve(self, support: Iterable[int]) -> tuple[int, ...] | None:
        """Return the path from the bins that are not empty; None if a level is missing."""
        known = dict(self.decode(record) for record in support)
        if len(known) < self.height:
            return None
        return self.answer([known[level] for level in range(1, self.height + 1)])


def _check_record(record: int, universe_size: int) -> None:
    if not 0 <= record < universe_size:
        raise InvalidData(
            expected=f"a record in 0..{universe_size - 1}",
            got="another number",
            remedy="Give a bin that encode() returns for this problem",
        )


def _random_permutation(length: int, rng: Entropy) -> Permutation:
    values = list(range(1, length + 1))
    for last in range(length - 1, 0, -1):
        drawn = rng.below(last + 1)
        values[last], values[drawn] = values[drawn], values[last]
    return tuple(values)
