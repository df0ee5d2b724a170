"""Powers of polynomials with whole coefficients, rounded down: laws of sums that never exceed."""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpz_poly

from smoothdp.exact.parameters.numbers import exact_int


def floor_power(masses: Sequence[int], count: int, *, bits: int, length: int) -> list[int]:
    """Return at most the coefficients of (sum of masses_j x^j / 2^bits)^count, times 2^bits.

    The first ``length`` of them. Products are exact and then rounded down, so each one is at
    most the true coefficient, and all together less by at most 2 count length 2^-bits, if the
    masses add up to at most 2^bits.

    >>> floor_power([8, 8], 2, bits=4, length=3)
    [4, 8, 4]
    """
    left = exact_int(count, name="count", minimum=1)
    power = fmpz_poly([int(mass) for mass in masses[:length]])
    result: fmpz_poly | None = None
    while True:
        if left & 1:
            result = power if result is None else _product(result, power, bits, length)
        left >>= 1
        if not left:
            break
        power = _product(power, power, bits, length)
    assert result is not None
    found = [int(value) for value in result.coeffs()]
    return found + [0] * (length - len(found))


def _product(first: fmpz_poly, second: fmpz_poly, bits: int, length: int) -> fmpz_poly:
    return fmpz_poly([int(value) >> bits for value in (first * second).coeffs()[:length]])
