"""Noise laws written literally in mpmath, and bits that are recorded as they are drawn."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from mpmath import mp, mpf

from smoothdp.exact.random.lazy import FIRST_BITS
from smoothdp.noise import (
    ArsinhNormal,
    Gaussian,
    GeneralizedCauchy,
    Laplace,
    LaplaceLogNormal,
    Log1pNormal,
    NoiseDistribution,
    PolyPlace,
    StudentT,
    UniformLogNormal,
)

DIGITS = 400

LAWS: list[NoiseDistribution] = [
    Laplace(),
    Gaussian(),
    LaplaceLogNormal("1/2"),
    UniformLogNormal("3/4"),
    ArsinhNormal("2/5"),
    Log1pNormal("1/2"),
    StudentT(3),
    StudentT("1/2"),
    PolyPlace(5),
    PolyPlace("1001/1000"),
    PolyPlace(10**6),
    GeneralizedCauchy(4),
    GeneralizedCauchy("3/2"),
]


class Recorded:
    """Scripted bits first, seeded ones after; what was asked for is kept."""

    def __init__(self, seed: int, script: Sequence[int] = ()) -> None:
        self._source, self._script = random.Random(seed), list(script)
        self.asked: list[tuple[int, int]] = []

    @property
    def is_private(self) -> bool:
        return False

    def bits(self, n: int) -> int:
        value = self._script.pop(0) if self._script else self._source.getrandbits(n)
        assert 0 <= value < 1 << n
        self.asked.append((n, value))
        return value

    def below(self, n: int) -> int:
        raise AssertionError(f"not used here: {n}")


def exact(value: Fraction) -> Any:
    return mpf(value.numerator) / value.denominator


def attempts(asked: Sequence[tuple[int, int]], count: int) -> Iterator[tuple[bool, list[Any]]]:
    """Yield each set of uniform numbers behind a draw, every bit that was drawn included.

    What was never drawn is continued by a pattern that is neither 0 nor 1 for long.
    """
    parts = list(asked)
    while parts:
        size, first = parts.pop(0)
        assert size == count * FIRST_BITS + 1
        mask = (1 << FIRST_BITS) - 1
        numbers = [(first >> 1) >> (FIRST_BITS * i) & mask for i in range(count)]
        bits = FIRST_BITS
        while parts and parts[0][0] != count * FIRST_BITS + 1:
            more = [parts.pop(0) for _ in range(count)]
            assert all(size == bits for size, _ in more)
            numbers = [
                number << bits | value for number, (_, value) in zip(numbers, more, strict=True)
            ]
            bits *= 2
        yield bool(first & 1), [(3 * number + 1) / (mpf(3) * 2**bits) for number in numbers]


def literal_draw(law: NoiseDistribution, asked: Sequence[tuple[int, int]]) -> Any:
    """Return Z of the recorded bits, at mpmath's precision."""
    found = [
        z
        for positive, u in attempts(asked, law.lazy().n_uniforms)
        if (z := literal(law, positive, *u)) is not None
    ]
    assert len(found) == 1
    return found[0]


def literal(law: NoiseDistribution, positive: bool, *u: Any) -> Any:
    """Return Z as a function of uniform numbers, None if they are rejected."""
    sign = 1 if positive else -1
    match law:
        case Laplace():
            return -sign * mp.log(u[0])
        case Gaussian():
            return normal(*u)
        case LaplaceLogNormal(exact_sigma=sigma):
            return -sign * mp.log(u[2]) * mp.exp(exact(sigma) * normal(u[0], u[1]))
        case UniformLogNormal(exact_sigma=sigma):
            return sign * u[2] * mp.exp(exact(sigma) * normal(u[0], u[1]))
        case ArsinhNormal(exact_sigma=sigma):
            return mp.sinh(exact(sigma) * normal(*u)) / exact(sigma)
        case Log1pNormal(exact_sigma=sigma):
            return sign * (mp.exp(exact(sigma) * abs(normal(*u))) - 1) / exact(sigma)
        case StudentT(exact_degrees=degrees):
            d = exact(degrees)
            return mp.sqrt(d * (u[0] ** (-2 / d) - 1)) * mp.cos(mp.pi * u[1])
        case PolyPlace(exact_alpha=alpha):
            return sign * poly_place(exact(alpha), u[0] / 2)
        case GeneralizedCauchy(exact_power=power):
            return generalized_cauchy(exact(power), sign, *u)
    raise AssertionError(f"no literal form of {law}")


def normal(u: Any, v: Any) -> Any:
    return mp.sqrt(-2 * mp.log(u)) * mp.cos(mp.pi * v)


def poly_place(a: Any, q: Any) -> Any:
    """The quantile at scale 1; q is the tail (proofs/the-released-number#4)."""
    k = (1 - 1 / a) ** a
    d = 2 * k + a - 1
    if q <= (a + 1) * k / (2 * d):
        return (1 - 1 / a**2) * ((a + 1) / (2 * d * q)) ** (1 / a) - 1
    return 1 - (1 - 2 * d * (mpf(1) / 2 - q) / (a - 1)) ** (1 / a)


def generalized_cauchy(c: Any, sign: int, u: Any, v: Any) -> Any:
    """Propose from the density proportional to min(1, y^-c); keep with the ratio of the two."""
    if u < (c - 1) / c:
        y = u * c / (c - 1)
        envelope = mpf(1)
    else:
        y = (c * u - (c - 1)) ** (-1 / (c - 1))
        envelope = y**-c
    return sign * y if v * envelope < 1 / (1 + y**c) else None
