"""Convolution by transforms against whole numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from smoothdp.exact.logspace.convolution import convolve
from smoothdp.types import FloatArray

_ROOM = 1 << 1100


def exact_convolution(first: FloatArray, second: FloatArray) -> list[Fraction]:
    """By whole multiples of 2^-1100."""
    a, b = ([int(Fraction(v) * _ROOM) for v in part.tolist()] for part in (first, second))
    out = [0] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            out[i + j] += x * y
    return [Fraction(value, _ROOM * _ROOM) for value in out]


def bell(size: int) -> FloatArray:
    places = np.linspace(-9.0, 9.0, size)
    return np.exp(-0.5 * places**2)


RNG = np.random.default_rng(5)
CASES = [
    (bell(256), bell(300)),
    (np.diff(bell(301)), bell(256)),
    (RNG.normal(size=256), RNG.normal(size=257)),
    (RNG.normal(size=260) * np.exp(RNG.uniform(-200, 0, 260)), np.ones(256)),
    ((-1.0) ** np.arange(256), (-1.0) ** np.arange(256)),
    (np.full(256, 1e-90), np.full(256, 1e90)),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_every_entry_is_within_its_error(case: int) -> None:
    first, second = CASES[case]
    found, error = convolve(first, second)
    truth = exact_convolution(first, second)
    assert found.size == len(truth)
    assert error > 0.0
    for value, exact in zip(found.tolist(), truth, strict=True):
        assert abs(Fraction(value) - exact) <= Fraction(error)
    # A bound that says something: far below the largest entry.
    assert error < 1e-11 * float(max(map(abs, truth)))


def test_short_arrays_are_summed_directly() -> None:
    first, second = np.array([1.0, 2.0, 3.0]), np.arange(1000.0)
    found, error = convolve(first, second)
    assert error == 0.0
    assert found.tolist() == np.convolve(first, second).tolist()
    assert convolve(second, first)[0].tolist() == found.tolist()


@pytest.mark.parametrize("scale", [0.0, 1e-300, 1e300])
def test_extreme_scales_are_summed_directly(scale: float) -> None:
    first, second = np.full(256, scale), np.full(256, 1e-8)
    found, error = convolve(first, second)
    assert error == 0.0
    assert found.tolist() == np.convolve(first, second).tolist()
