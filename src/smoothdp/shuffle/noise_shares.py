"""Shares of geometric noise: what one user adds so that m0 users together hide everybody.

NB(r, p) has P(k) = Gamma(k + r) / (Gamma(r) k!) p^k (1 - p)^r. Independent NB(r, p) and NB(s, p)
add up to NB(r + s, p), and NB(1, p) is geometric: so the shares NB(1 / m0, p) of m0 users are one
geometric number together.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.random.entropy import Entropy
from smoothdp.exact.random.geometric import geometric
from smoothdp.exact.random.inversion import Ladder

_FEW_DRAWS = 16
_FIRST_BITS = 64
_MANY = 64
_RUNGS = 128


def negative_binomial_share(shape: Fraction, rate: Fraction, rng: Entropy) -> int:
    """Return a draw of NB(shape, e^-rate), exactly, for rational numbers above 0.

    A geometric number g is NB(r) + NB(1 - r). Given g, the first part has the law of an urn: with
    x successes so far, draw i = 0, ..., g - 1 is one with probability (r + x) / (1 + i)
    (proofs/split-sums#1, proofs/paired-counts#7). A shape above 1 adds a geometric number for each
    whole part.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> rng = SeededRandom(1)
    >>> shares = [negative_binomial_share(Fraction(1, 50), Fraction(1, 4), rng) for _ in range(50)]
    >>> max(shares.count(0), 45) == shares.count(0)   # few users carry the noise
    True
    """
    whole = shape.numerator // shape.denominator
    total = geometric_sum(whole, rate, rng)
    rest = shape - whole
    return total + (urn_draw(geometric(rate, rng), rest, rng) if rest else 0)


def geometric_sum(count: int, rate: Fraction, rng: Entropy) -> int:
    """Draw the sum of so many geometric numbers; many of them by inversion, all at once.

    A number that reaches the last rung begins anew there: geometric numbers have no memory.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> 900 < geometric_sum(1000, Fraction(693, 1000), SeededRandom(1)) < 1100
    True
    """
    if count < _MANY:
        return sum(geometric(rate, rng) for _ in range(count))
    total, left = 0, count
    while left:
        reached = _ladder(rate).draw(left, rng)
        total += int(reached.sum())
        left = int((reached == _RUNGS).sum())
    return total


@lru_cache(maxsize=8)
def _ladder(rate: Fraction) -> Ladder:
    """P(g < 1), P(g < 2), ...: 1 - p^j."""
    return Ladder(_RUNGS, lambda j: -(-(j + 1) * ball(rate)).expm1())


def urn_draw(n_draws: int, weight: Fraction, rng: Entropy) -> int:
    """Return how many of ``n_draws`` draws from the urn of a weight in (0, 1) are successes.

    The law is C(g, x) r^(x) (1 - r)^(g - x) / g!, rising powers. Where the weight is small, the
    first success is mostly nowhere, or far: it is found at once.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> urn_draw(10**9, Fraction(1, 10**12), SeededRandom(1))
    0
    """
    successes = start = 0
    if n_draws > _FEW_DRAWS:
        start = _first_success(n_draws, weight, rng) + 1
        successes = 1 if start <= n_draws else 0
    top, bottom = weight.numerator, weight.denominator
    for draw in range(start, n_draws):
        if rng.below(bottom * (draw + 1)) < top + bottom * successes:
            successes += 1
    return successes


def _first_success(n_draws: int, weight: Fraction, rng: Entropy) -> int:
    """Return the index of the urn's first success, or ``n_draws`` if there is none.

    It is at least j with probability (1 - r)(2 - r) ... (j - r) / j!: one uniform number, of as
    many bits as it takes, is compared with these.
    """
    drawn, bits = rng.bits(_FIRST_BITS), _FIRST_BITS
    # The number is below the probability at ``low`` and not below that at ``high``.
    low, high = 0, n_draws + 1
    while high - low > 1:
        middle = n_draws if high > n_draws else (low + high) // 2
        below = _is_below(drawn, bits, middle, weight)
        if below is None:
            drawn, bits = drawn << bits | rng.bits(bits), 2 * bits
        elif below:
            low = middle
        else:
            high = middle
    return low


def _is_below(drawn: int, bits: int, index: int, weight: Fraction) -> bool | None:
    """Whether [drawn, drawn + 1] 2^-bits lies below the probability; None: undecided."""
    with precision(2 * bits + 2 * index.bit_length()):
        chance = ball(index + 1 - weight).lgamma() - ball(1 - weight).lgamma()
        chance = (chance - ball(index + 1).lgamma()).exp() * ball(1 << bits)
        if ball(drawn + 1) <= chance:
            return True
        return False if ball(drawn) >= chance else None
