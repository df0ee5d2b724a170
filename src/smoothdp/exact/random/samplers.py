"""Exact samplers of the Bernoulli, binomial and hypergeometric laws.

The output has exactly the ideal law, given uniform bits: probabilities are rational, and
a comparison that floats cannot decide is decided by balls and more bits. A draw costs a
few evaluations of one probability, whatever the number of trials.

Method: both laws are log-concave with a known mode m, so
P(m + x) <= P(m) min(1, e^(1 - P(m) |x|)) (Devroye 1987). Each side of the mode is cut into
blocks of width w >= 1 / P(m); block j has at most P(m) 2^-(j-1), which is sampled by coin
flips, and a uniform point of the block is accepted with the exact remaining probability
(proofs/the-released-number#7).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from flint import arb

from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.logspace.bounds import LIBM_ERROR
from smoothdp.exact.probabilities.scalar_pmf import binomial_log_pmf, hypergeometric_log_pmf
from smoothdp.exact.random.entropy import Entropy

_FIRST_BITS = 64


class _Law(NamedTuple):
    """A log-concave law on lowest..highest with its mode and probability function.

    ``log_pmf`` returns a float and its error; ``ball_log_pmf`` a ball at the present
    precision.
    """

    lowest: int
    highest: int
    mode: int
    log_pmf: Callable[[int], tuple[float, float]]
    ball_log_pmf: Callable[[int], arb]


def bernoulli(probability: Fraction, rng: Entropy) -> bool:
    """Return True with a rational probability in [0, 1], exactly."""
    return rng.below(probability.denominator) < probability.numerator


def binomial(n_trials: int, probability: Fraction, rng: Entropy) -> int:
    """Return the number of successes in n_trials >= 0 trials, exactly in law.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> 0 <= binomial(10**9, Fraction(1, 3), SeededRandom(1)) <= 10**9
    True
    """
    if n_trials == 0 or probability == 0:
        return 0
    if probability == 1:
        return n_trials
    return _sample(*_binomial_law(n_trials, probability), rng)


def hypergeometric(n_draws: int, count_a: int, count_b: int, rng: Entropy) -> int:
    """Return how many of category a are among n_draws without replacement, exactly in law.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> hypergeometric(3, 3, 0, SeededRandom(1))
    3
    """
    lowest, highest = max(0, n_draws - count_b), min(count_a, n_draws)
    if lowest == highest:
        return lowest
    return _sample(*_hypergeometric_law(n_draws, count_a, count_b), rng)


def multivariate_hypergeometric(
    n_draws: int, counts: Sequence[int], rng: Entropy
) -> tuple[int, ...]:
    """Return the histogram of n_draws records drawn without replacement from counts."""
    left, rest, drawn = n_draws, sum(counts), []
    for count in counts:
        rest -= count
        taken = hypergeometric(left, count, rest, rng)
        drawn.append(taken)
        left -= taken
    return tuple(drawn)


def multinomial(n_draws: int, counts: Sequence[int], rng: Entropy) -> tuple[int, ...]:
    """Return the histogram of n_draws records drawn with replacement from counts."""
    left, rest, drawn = n_draws, sum(counts), []
    for count in counts:
        taken = binomial(left, Fraction(count, rest), rng) if rest else 0
        drawn.append(taken)
        left -= taken
        rest -= count
    return tuple(drawn)


@lru_cache(maxsize=256)
def _binomial_law(n: int, p: Fraction) -> tuple[_Law, int, float, float]:
    hit, miss = p.numerator, p.denominator - p.numerator

    def ball_log_pmf(k: int) -> arb:
        log_p = arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma()
        return (
            log_p + k * ball(hit).log() + (n - k) * ball(miss).log() - n * ball(p.denominator).log()
        )

    mode = min(n, (n + 1) * p.numerator // p.denominator)
    return _with_block(_Law(0, n, mode, lambda k: binomial_log_pmf(k, n, hit, miss), ball_log_pmf))


@lru_cache(maxsize=256)
def _hypergeometric_law(n_draws: int, a: int, b: int) -> tuple[_Law, int, float, float]:
    def ball_log_pmf(k: int) -> arb:
        log_p = arb(a + 1).lgamma() + arb(b + 1).lgamma() + arb(n_draws + 1).lgamma()
        log_p += arb(a + b - n_draws + 1).lgamma() - arb(a + b + 1).lgamma()
        log_p -= arb(k + 1).lgamma() + arb(a - k + 1).lgamma()
        return log_p - arb(n_draws - k + 1).lgamma() - arb(b - n_draws + k + 1).lgamma()

    lowest, highest = max(0, n_draws - b), min(a, n_draws)
    mode = min(highest, max(lowest, (n_draws + 1) * (a + 1) // (a + b + 2)))
    law = _Law(
        lowest, highest, mode, lambda k: hypergeometric_log_pmf(k, n_draws, a, b), ball_log_pmf
    )
    return _with_block(law)


def _with_block(law: _Law) -> tuple[_Law, int, float, float]:
    """Return the law, the block width (as a power of two), and ln P(mode) with its error."""
    log_mode, error = law.log_pmf(law.mode)
    least = math.exp(log_mode - error) * (1 - LIBM_ERROR)
    return law, max(0, math.ceil(-math.log2(least) + 1e-9)), log_mode, error


def _sample(law: _Law, width_bits: int, log_mode: float, mode_error: float, rng: Entropy) -> int:
    while True:
        # Blocks 0, 1, 2, 3, ... of a side have weights 1, 1, 1/2, 1/4, ...: block 0 with
        # probability 1/3, else 1 plus the number of heads before the first tail.
        block = 0
        if rng.below(3):
            block = 1
            while rng.bits(1):
                block += 1
        distance = (block << width_bits) + rng.bits(width_bits)
        k = law.mode + distance if rng.bits(1) else law.mode - 1 - distance
        if not law.lowest <= k <= law.highest:
            continue
        if k == law.mode:
            return k
        if _accept(law, k, max(0, block - 1), log_mode, mode_error, rng):
            return k


def _accept(
    law: _Law, k: int, halvings: int, log_mode: float, mode_error: float, rng: Entropy
) -> bool:
    """Return True with probability P(k) 2^halvings / P(mode), exactly."""
    log_p, error = law.log_pmf(k)
    log_ratio = log_p - log_mode + halvings * math.log(2.0)
    uncertain = error + mode_error + 1e-14 * (1 + abs(log_p) + abs(log_mode) + halvings)
    uniform, drawn = rng.bits(_FIRST_BITS), _FIRST_BITS
    # U lies in [uniform, uniform + 1] / 2^drawn.
    above = math.log((uniform + 1) / 2.0**drawn) + 1e-14
    if above <= log_ratio - uncertain:
        return True
    if uniform and math.log(uniform / 2.0**drawn) - 1e-14 * 45 >= log_ratio + uncertain:
        return False
    bits = 256
    while True:
        with precision(bits):
            ratio = law.ball_log_pmf(k) - law.ball_log_pmf(law.mode) + halvings * arb(2).log()
            scale = drawn * arb(2).log()
            if (ball(uniform + 1).log() - scale) <= ratio:
                return True
            if uniform and (ball(uniform).log() - scale) >= ratio:
                return False
        uniform, drawn = (uniform << 64) | rng.bits(64), drawn + 64
        bits += 128
