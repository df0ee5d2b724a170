"""The shuffler: it forgets who sent which message, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from smoothdp.exact.random.entropy import Entropy, SystemRandom
from smoothdp.exact.random.words import uniform_order
from smoothdp.sources import Source
from smoothdp.types import IntArray

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class UniformShuffler:
    """Put messages in a uniformly random order, exactly, with the system's randomness.

    >>> sorted(UniformShuffler().shuffle([3, 1, 2]))
    [1, 2, 3]
    """

    source: ClassVar[Source] = Source("chen-long", "Section 1, the shuffled model")

    def shuffle(self, messages: Sequence[Item], *, rng: Entropy | None = None) -> list[Item]:
        """Return the messages in a uniform order, as a list."""
        order = uniform_order(len(messages), SystemRandom() if rng is None else rng)
        return [messages[place] for place in order.tolist()]

    def shuffle_array(self, messages: IntArray, *, rng: Entropy | None = None) -> IntArray:
        """Return an array of messages in a uniform order."""
        return messages[uniform_order(messages.size, SystemRandom() if rng is None else rng)]
