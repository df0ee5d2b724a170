"""Numbers of [0, 1] as whole numbers of 0 .. R: R x, rounded at random with the right mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from smoothdp.exact.random.entropy import Entropy
from smoothdp.exact.random.random_words import random_words
from smoothdp.exact.random.samplers import binomial
from smoothdp.shuffle.users.user_data import UNIT, read_bits, read_units, whole_and_fraction
from smoothdp.types import IntArray

_REST_BITS = 62
_WORDS_AT_ONCE = 1 << 20


def read_data(data: Iterable[object], resolution: int) -> IntArray:
    """Return data in multiples of 2^-62; with a resolution of 1 they must be bits.

    >>> read_data([0, 1], 1) // 2**62
    array([0, 1])
    """
    if resolution == 1:
        return read_bits(data).astype(np.int64) * UNIT
    return read_units(data)


def rounded_total(units: IntArray, resolution: int, rng: Entropy) -> int:
    """Return the sum of all R x, each rounded at random to a whole number of that mean, exactly.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> rounded_total(read_data([0.5, 1.0], 2), 2, SeededRandom(1))
    3
    """
    total = 0
    for start in range(0, units.size, _WORDS_AT_ONCE):
        whole, fraction = whole_and_fraction(units[start : start + _WORDS_AT_ONCE], resolution)
        words = random_words(whole.size, rng) >> np.uint64(64 - _REST_BITS)
        total += int(whole.sum()) + int(np.count_nonzero(words < fraction.astype(np.uint64)))
    return total


def rounded_counts(counts: Sequence[tuple[int, int]], resolution: int, rng: Entropy) -> int:
    """Return the same for pairs (number in multiples of 2^-62, users), without a draw per user.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> rounded_counts([(2**61, 10), (2**62, 1)], 2, SeededRandom(1))
    12
    """
    total = 0
    for unit, users in counts:
        whole, fraction = divmod(unit * resolution, UNIT)
        total += users * whole + binomial(users, Fraction(fraction, UNIT), rng)
    return total
