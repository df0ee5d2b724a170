"""Statements of docs/proofs/tilted-contour.md, for laws of a few atoms, by mpmath."""

from __future__ import annotations

import random

import mpmath
import pytest
from mpmath import mpc, mpf

Law = list[tuple[mpf, mpf]]


def random_law(seed: int) -> Law:
    """Atoms (mass, loss), one far out; the masses need not add up to 1."""
    rng = random.Random(seed)
    losses = [rng.uniform(-2, 2) for _ in range(4)] + [rng.uniform(3, 5)]
    masses = [rng.random() for _ in losses]
    whole = sum(masses) * rng.uniform(1, 1.2)
    return [(mpf(m) / whole, mpf(loss)) for m, loss in zip(masses, losses, strict=True)]


def delta(law: Law, e: mpf) -> mpf:
    return sum(p * (1 - mpmath.exp(e - loss)) for p, loss in law if loss > e) + mpf(0)


def term(law: Law, e: mpf, z: mpc) -> mpc:
    return sum(p * mpmath.exp(z * (loss - e)) for p, loss in law) / (z * (z + 1))


def aliases(law: Law, e: mpf, c: mpf, period: mpf, m_from: int, m_to: int) -> mpf:
    return sum(
        mpmath.exp(c * m * period) * delta(law, e + m * period) for m in range(m_from, m_to) if m
    ) + mpf(0)


@pytest.mark.parametrize("seed", range(3))
def test_the_sum_is_that_of_the_aliases(seed: int) -> None:
    """Statements 1 and 2. The tail of the sum falls like 1 / t^2: the rest is bounded by that."""
    law, e, c, period = random_law(seed), mpf("0.4"), mpf("0.7"), mpf(5)
    step, count = 2 * mpmath.pi / period, 6000
    total = term(law, e, mpc(c)).real / 2
    for j in range(1, count):
        total += term(law, e, mpc(c, j * step)).real
    total *= step / mpmath.pi
    size = sum(p * mpmath.exp(c * (loss - e)) for p, loss in law)
    rest = size / (mpmath.pi * step * (count - 1))
    truth = delta(law, e) + aliases(law, e, c, period, -12, 3)
    assert abs(total - truth) <= rest
    # Without the aliases it is false: both the rest and they are visible.
    assert abs(total - delta(law, e)) > 10 * rest


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("spread", ["0.05", "0.4"])
def test_smoothing_lies_on_its_side(seed: int, spread: str) -> None:
    """Statement 4: smoothed sums of a finite length, whose rest is below 1e-20."""
    rng = random.Random(seed)
    law, e, c, s = random_law(seed), mpf(rng.uniform(-1, 3)), mpf(rng.uniform(0.2, 2)), mpf(spread)
    period = mpf(30) / min(c, 1)
    step = 2 * mpmath.pi / period

    def gauss(z: mpc) -> mpc:
        return mpmath.exp(s * s * z * z / 2)

    above, below = mpf(0), mpf(0)
    for j in range(int(mpf(10) / s / step) + 2):
        z = mpc(c, j * step)
        value = term(law, e, z) * (step / mpmath.pi) / (2 if j == 0 else 1)
        above += (value * mpmath.exp(s * s * (z + z * z) / 2)).real
        below += (value * ((1 + z) * gauss(z) - z * gauss(z + 1))).real
    truth = delta(law, e)
    assert below - aliases(law, e, c, period, -6, 3) <= truth + mpf("1e-13")
    assert truth <= above + mpf("1e-13")
    assert above - below < 4 * s * s * (1 + c) ** 2 + s
