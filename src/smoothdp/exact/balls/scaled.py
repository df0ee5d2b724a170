"""Arrays of nonnegative numbers far beyond the range of floats: mantissa times 2^exponent.

Sums and products keep the relative accuracy of floats, however small the numbers are, where
sums of logarithms would lose it in proportion to their size.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from flint import arb

from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF
from smoothdp.types import FloatArray, IntArray

# Of zeros: below any exponent that occurs, and far from overflow.
_ZERO_EXPONENT = -(1 << 60)
# A shift by more leaves nothing of a float.
_LARGEST_SHIFT = 2000
_LOG_2 = 0.69314718055994530942


class Scaled(NamedTuple):
    """mantissa * 2^exponent, each mantissa in [1/2, 1) or 0."""

    mantissa: FloatArray
    exponent: IntArray

    def times(self, other: Scaled) -> Scaled:
        """Return the products: one rounding each."""
        return _normal(self.mantissa * other.mantissa, self.exponent + other.exponent)

    def plus(self, other: Scaled) -> Scaled:
        """Return the sums: one rounding each (what underflows is below 2^-1000 of the sum)."""
        exponent = np.maximum(self.exponent, other.exponent)
        mantissa = _shifted(self, exponent) + _shifted(other, exponent)
        return _normal(mantissa, exponent)

    def logs(self) -> tuple[FloatArray, float]:
        """Return the natural logarithms, -inf for 0, and an absolute bound of their error.

        The product with ln 2 has two roundings, the sum one; ln of a mantissa is below 0.7.
        """
        with np.errstate(divide="ignore"):
            values = np.where(
                self.mantissa > 0, np.log(self.mantissa) + self.exponent * _LOG_2, -np.inf
            )
        return values, 4 * UNIT_ROUNDOFF * (_largest(values) + 1) + LIBM_ERROR


def scaled_from_logs(logs: FloatArray) -> tuple[Scaled, float]:
    """Return e^logs, and a bound of their relative error.

    The part left after the power of two is below 0.7 and carries the two roundings of the
    product with ln 2 and its own; then exp.
    """
    finite = np.isfinite(logs)
    exponent = np.floor(np.where(finite, logs, 0.0) / _LOG_2)
    rest = np.where(finite, logs - exponent * _LOG_2, -np.inf)
    result = _normal(np.exp(rest), exponent.astype(np.int64))
    return result, 4 * UNIT_ROUNDOFF * (_largest(logs) + 1) + 2 * LIBM_ERROR


@lru_cache(maxsize=256)
def scaled_exp(value: Fraction) -> Scaled:
    """Return e^value, with a relative error of at most two units of roundoff.

    >>> logs, error = scaled_exp(Fraction(-5000)).logs()
    >>> abs(float(logs) + 5000) <= error
    True
    """
    bits = 128
    while True:
        with precision(bits):
            number = ball(value).exp()
            if number.rel_accuracy_bits() >= 64:
                return _rounded(number)
        bits *= 2


def _rounded(number: arb) -> Scaled:
    mantissa, exponent = (int(part) for part in number.mid().man_exp())
    size = mantissa.bit_length()
    return _normal(np.array(mantissa / (1 << size)), np.array(exponent + size))


def _shifted(number: Scaled, exponent: IntArray) -> FloatArray:
    shift = np.maximum(number.exponent - exponent, -_LARGEST_SHIFT).astype(np.int32)
    shifted: FloatArray = np.ldexp(number.mantissa, shift)
    return shifted


def _normal(mantissa: FloatArray, exponent: IntArray) -> Scaled:
    parts, shift = np.frexp(mantissa)
    return Scaled(parts, np.where(parts > 0, exponent + shift, _ZERO_EXPONENT))


def _largest(values: FloatArray) -> float:
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
