"""Exact samplers of geometric laws whose ratio is e^-rate, for a rational rate.

No exponential is ever computed: a coin of probability e^-x comes from coins of rational
probabilities, by the alternating series of e^-x (Forsythe, von Neumann).

Source: Canonne, Kamath, Steinke (2020), Algorithms 1 and 2; proofs/the-released-number#6.
"""

from __future__ import annotations

from fractions import Fraction

from smoothdp.exact.random.entropy import Entropy
from smoothdp.exact.random.samplers import bernoulli


def bernoulli_exp(rate: Fraction, rng: Entropy) -> bool:
    """Return True with probability e^-rate, exactly, for a rational rate >= 0.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> bernoulli_exp(Fraction(0), SeededRandom(1))
    True
    """
    whole = rate.numerator // rate.denominator
    # e^-rate = e^-1 ... e^-1 e^-(rate - whole): the first failure ends it.
    for _ in range(whole):
        if not _bernoulli_exp_fraction(Fraction(1), rng):
            return False
    return _bernoulli_exp_fraction(rate - whole, rng)


def _bernoulli_exp_fraction(rate: Fraction, rng: Entropy) -> bool:
    """The same for rate in [0, 1].

    k - 1 successes, of probabilities rate / 1, ..., rate / (k - 1), come before the first
    failure with probability rate^(k-1) / (k-1)! - rate^k / k!: k is odd with e^-rate.
    """
    k = 1
    while bernoulli(rate / k, rng):
        k += 1
    return k % 2 == 1


def geometric(rate: Fraction, rng: Entropy) -> int:
    """Return k >= 0 with probability (1 - q) q^k, q = e^-rate, exactly, for a rate > 0.

    With rate = s / t: u + t v has the law of rate 1 / t (u below t, accepted with e^-(u/t);
    v of rate 1), and its quotient by s that of rate s / t. The cost does not depend on t.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> geometric(Fraction(1000), SeededRandom(1))
    0
    """
    s, t = rate.numerator, rate.denominator
    while True:
        u = rng.below(t)
        if bernoulli_exp(Fraction(u, t), rng):
            break
    v = 0
    while bernoulli_exp(Fraction(1), rng):
        v += 1
    return (u + t * v) // s


def two_sided_geometric(rate: Fraction, rng: Entropy, *, lowest: int | None = None) -> int:
    """Return a whole number z >= lowest with weight e^(-rate |z|), exactly.

    Args:
        rate: a rational number > 0.
        rng: the source of bits.
        lowest: at most 0, or None for all whole numbers. Smaller values are drawn again:
            at most one draw in two is.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> two_sided_geometric(Fraction(1, 2), SeededRandom(1), lowest=0) >= 0
    True
    """
    while True:
        negative = bool(rng.bits(1))
        size = geometric(rate, rng)
        if negative and size == 0:
            # 0 would be met from both sides.
            continue
        value = -size if negative else size
        if lowest is None or value >= lowest:
            return value
