"""Many draws from one binomial law at once, exactly, by inversion of random words.

A uniform word decides the draw unless it falls between the bounds of a cumulated probability,
a chance of about 1e-9; then more bits and balls decide. The error of the table is bounded in
comments here: checked, not proved (proofs/the-released-number#8). See `samplers` for one draw at a
time, which is.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb

from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF, exp_lower, exp_upper
from smoothdp.exact.probabilities.points import binomial_point
from smoothdp.exact.random.entropy import Entropy
from smoothdp.exact.random.random_words import WORD_BITS, random_words
from smoothdp.exact.random.samplers import binomial
from smoothdp.types import IntArray, WordArray

_FEW = 64
_MOST_BITS = 1 << 14
_SCALE = 2.0**WORD_BITS
# Beyond, less than 2^-64 of the mass is left on each side: those words go the slow way.
_SPREADS = 9.5
_LARGEST_TABLE = 1 << 22


def binomial_draws(n_trials: int, probability: Fraction, count: int, rng: Entropy) -> IntArray:
    """Return ``count`` independent draws of Bin(n_trials, probability), exactly in law.

    Domain: n_trials < 2^53.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> binomial_draws(10, Fraction(1, 2), 1000, SeededRandom(1)).shape
    (1000,)
    """
    spread = math.sqrt(n_trials * probability * (1 - probability))
    if count < _FEW or probability in (0, 1) or 2 * _SPREADS * spread > _LARGEST_TABLE:
        return np.array([binomial(n_trials, probability, rng) for _ in range(count)], np.int64)
    first, complete, lower, upper = _table(n_trials, probability)
    words = random_words(count, rng)
    ranks = np.searchsorted(lower, words, side="right")
    # At rank 0 the last entry, 0, is compared with: no word is below it.
    doubtful = words < np.append(upper, 0)[ranks - 1].astype(np.uint64)
    if first > 0:
        doubtful |= words == 0
    if not complete:
        doubtful |= ranks == lower.size
    draws = (ranks + first).astype(np.int64)
    for index in np.flatnonzero(doubtful).tolist():
        draws[index] = _invert(int(words[index]), int(draws[index]), n_trials, probability, rng)
    return draws


@lru_cache(maxsize=32)
def _table(n: int, p: Fraction) -> tuple[int, bool, WordArray, WordArray]:
    """Return the first k, whether the table reaches n, and integers around 2^64 P(K <= k).

    They begin with the first k and end before the last. By Bernstein's inequality less than
    2^-64 of the mass lies below the table, and as little above.
    """
    mode = min(n, (n + 1) * p.numerator // p.denominator)
    reach = math.ceil(_SPREADS * math.sqrt(n * p * (1 - p))) + 60
    first, last = max(0, mode - reach), min(n, mode + reach)
    odds = float(p / (1 - p))
    up = np.arange(mode, last, dtype=np.float64)
    down = np.arange(mode, first, -1, dtype=np.float64)
    rising = np.multiply.accumulate((n - up) / (up + 1.0) * odds)
    falling = np.multiply.accumulate(down / ((n - down + 1.0) * odds))
    anchor = binomial_point(mode, n, p.numerator, p.denominator - p.numerator)
    # P(K <= k) below the mode from the left, P(K > k) from the right.
    left = np.cumsum(np.append(1.0, falling)[::-1])
    right = np.cumsum(rising[::-1])[::-1]
    # A term d steps from the mode has 4 d roundings, a sum of m terms m more; one unit is
    # added for what lies outside of the table.
    error = UNIT_ROUNDOFF * (8 * reach + 64) + 4 * LIBM_ERROR
    low, high = exp_lower(anchor.lower) * (1 - error), exp_upper(anchor.upper) * (1 + error)
    lower = [max(0, math.floor(low * x * _SCALE) - 1) for x in left.tolist()]
    upper = [math.ceil(high * x * _SCALE) + 2 for x in left.tolist()]
    whole = 1 << WORD_BITS
    lower += [whole - math.ceil(high * x * _SCALE) - 2 for x in right[1:].tolist()]
    upper += [whole - math.floor(low * x * _SCALE) + 1 for x in right[1:].tolist()]
    top = whole - 1
    return (
        first,
        last == n,
        np.array([min(top, max(0, x)) for x in lower], np.uint64),
        np.array([min(top, x) for x in upper], np.uint64),
    )


def _invert(word: int, guess: int, n: int, p: Fraction, rng: Entropy) -> int:
    """Return the k with P(K < k) <= U < P(K <= k), U uniform with the first bits of a word."""
    brackets = [(-1, n), (max(-1, guess - 3), min(n, guess + 2))]
    drawn, bits = WORD_BITS, 256
    while bits <= _MOST_BITS:
        low, high = brackets[-1]
        if len(brackets) == 2 and not _brackets(word, low, high, n, p, drawn, bits):
            brackets.pop()
            continue
        decided = True
        # P(K <= low) <= U < P(K <= high) throughout.
        while high - low > 1 and decided:
            middle = (low + high) // 2
            side = _side(word, middle, n, p, drawn, bits)
            low, high = (middle, high) if side > 0 else (low, middle)
            decided = side != 0
        if decided:
            return high
        word, drawn, bits = (word << 64) | rng.bits(64), drawn + 64, bits + 128
    raise ArithmeticError("8000 bits did not tell a uniform number from a cumulated probability")


def _brackets(word: int, low: int, high: int, n: int, p: Fraction, drawn: int, bits: int) -> bool:
    above = low < 0 or _side(word, low, n, p, drawn, bits) > 0
    return above and (high == n or _side(word, high, n, p, drawn, bits) < 0)


def _side(word: int, k: int, n: int, p: Fraction, drawn: int, bits: int) -> int:
    """Return 1 if U >= P(K <= k), -1 if U < P(K <= k), 0 if the bits do not decide."""
    with precision(bits):
        cumulated = _cumulated(k, n, p) * arb(2) ** drawn
        if cumulated >= word + 1:
            return -1
        return 1 if cumulated <= word else 0


def _cumulated(k: int, n: int, p: Fraction) -> arb:
    """Enclose P(K <= k), by a sum of balls over the smaller tail."""
    mean = n * p
    if k < mean:
        return _tail_below(k, n, p)
    return 1 - _tail_below(n - k - 1, n, 1 - p) if k < n else arb(1)


def _tail_below(k: int, n: int, p: Fraction) -> arb:
    """Enclose P(K <= k) for k not above the mean: terms fall at least geometrically."""
    odds = ball((1 - p) / p)
    term = arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma()
    term = (term + k * ball(p).log() + (n - k) * ball(1 - p).log()).exp()
    total = arb(0)
    for j in range(k, -1, -1):
        total += term
        ratio = j * odds / (n - j + 1)
        term *= ratio
        if j and term < arb(2) ** -240 * total:
            # The rest is below term / (1 - ratio).
            rest = term / (1 - ratio)
            return total + arb(0).union(rest)
    return total
