"""Random bits: from the operating system for releases, seeded for tests."""

from __future__ import annotations

import random
from typing import Protocol, runtime_checkable

from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import exact_int


@runtime_checkable
class Entropy(Protocol):
    """A source of uniform bits. Every sampler of the library draws from one."""

    @property
    def is_private(self) -> bool:
        """True only if the bits cannot be reproduced by anyone."""

    def bits(self, n: int) -> int:
        """Return a uniform integer of n bits, n >= 0."""

    def below(self, n: int) -> int:
        """Return a uniform integer in [0, n), exactly, n >= 1."""


class SystemRandom:
    """Bits of the operating system: for everything that is released.

    The source holds no state, so it is safe after fork and under threads.

    >>> 0 <= SystemRandom().below(6) < 6
    True
    """

    __slots__ = ("_source",)

    def __init__(self) -> None:
        self._source = random.SystemRandom()

    @property
    def is_private(self) -> bool:
        """True: nobody can reproduce the bits."""
        return True

    def bits(self, n: int) -> int:
        """Return a uniform integer of n bits."""
        return self._source.getrandbits(n) if n else 0

    def below(self, n: int) -> int:
        """Return a uniform integer in [0, n), exactly (by rejection)."""
        return self._source.randrange(n)

    def __repr__(self) -> str:
        return "SystemRandom()"


class SeededRandom:
    """Reproducible bits, for tests and simulation only: a release from them is not private.

    Args:
        seed: a whole number >= 0.

    Raises:
        InvalidParameter: another seed.

    >>> SeededRandom(7).bits(32) == SeededRandom(7).bits(32)
    True
    """

    __slots__ = ("_seed", "_source")

    def __init__(self, seed: int) -> None:
        self._seed = exact_int(seed, name="seed", minimum=0)
        self._source = random.Random(self._seed)

    @property
    def is_private(self) -> bool:
        """False: whoever knows the seed knows the noise."""
        return False

    def bits(self, n: int) -> int:
        """Return a pseudo-random integer of n bits."""
        return self._source.getrandbits(n) if n else 0

    def below(self, n: int) -> int:
        """Return a pseudo-random integer in [0, n)."""
        return self._source.randrange(n)

    def __repr__(self) -> str:
        return f"SeededRandom({self._seed})  # not private"


def read_rng(rng: object) -> Entropy:
    """Return a source of bits, the operating system's for None.

    Raises:
        InvalidParameter: something else, such as a seed.

    >>> read_rng(None)
    SystemRandom()
    """
    if rng is None:
        return SystemRandom()
    # The library's own first: a protocol is asked slowly, and users are read one by one.
    if isinstance(rng, SystemRandom | SeededRandom):
        return rng
    if isinstance(rng, Entropy) and not isinstance(rng, type):
        return rng
    raise InvalidParameter(
        expected="rng as SystemRandom() or SeededRandom(seed)",
        got=f"rng={rng!r}",
        remedy="Leave rng out for a release, or write SeededRandom(seed) for tests",
    )
