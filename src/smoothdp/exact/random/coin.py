"""A coin whose probability is known as a ball: ratio times a power of e."""

from __future__ import annotations

from fractions import Fraction

from flint import arb, fmpz

from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.random.entropy import Entropy

_FIRST_BITS = 64


def exponential_coin(ratio: Fraction, exponent: Fraction, rng: Entropy) -> bool:
    """Return True with probability ratio e^exponent, exactly.

    A uniform number is compared with the probability; both get more bits until it is decided.

    Args:
        ratio: a rational number > 0. exponent: any rational number; the product is at most 1.

    Raises:
        ArithmeticError: the product is above 1, which is no probability.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> tosses = [exponential_coin(Fraction(1), Fraction(-2), SeededRandom(k)) for k in range(999)]
    >>> 100 < sum(tosses) < 170   # 999 e^-2 = 135
    True
    """
    drawn, bits = rng.bits(_FIRST_BITS), _FIRST_BITS
    while True:
        with precision(2 * bits):
            # Logarithms, as the power may be far beyond floats.
            chance = ball(ratio).log() + ball(exponent)
            if chance > 0:
                raise ArithmeticError("a probability above 1")
            scale = arb(fmpz(bits)) * arb(2).log()
            if ball(drawn + 1).log() - scale <= chance:
                return True
            if drawn and ball(drawn).log() - scale >= chance:
                return False
        drawn, bits = drawn << bits | rng.bits(bits), 2 * bits
