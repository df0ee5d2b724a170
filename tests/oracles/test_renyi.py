"""Renyi divergences of finite pairs against mpmath, at every kind of order."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import mpmath
import pytest

from smoothdp import Pair


def truth(p: list[float], q: list[float], order: str) -> mpmath.mpf:
    """Return D_order of the laws that these logarithms are, normalised."""
    masses = [[mpmath.exp(mpmath.mpf(v)) for v in law] for law in (p, q)]
    one, two = ([m / mpmath.fsum(law) for m in law] for law in masses)
    a = mpmath.mpf(order)
    if a == 1:
        return mpmath.fsum(x * mpmath.log(x / y) for x, y in zip(one, two, strict=True))
    total = mpmath.fsum(x**a * y ** (1 - a) for x, y in zip(one, two, strict=True))
    return mpmath.log(total) / (a - 1)


@pytest.mark.parametrize("seed", range(12))
def test_renyi_is_above_the_truth_and_close(seed: int) -> None:
    rng = random.Random(seed)
    spread = rng.choice([0.01, 1.0, 50.0])
    logs = []
    for _ in range(2):
        raw = [spread * rng.random() for _ in range(6)]
        total = math.log(math.fsum(math.exp(v) for v in raw))
        logs.append([v - total for v in raw])
    pair = Pair(*logs, error=1e-14)
    with mpmath.workdps(60):
        for order in ("1", "1.000000001", "1.0003", "1.5", "2", "17.25", "1e6", "1e13"):
            exact = float(truth(logs[0], logs[1], order))
            found = pair.renyi(order)
            assert found >= exact * (1 - 1e-15)
            # The declared error of the masses enters with order / (order - 1).
            factor = 1 if order.startswith("1.0") else min(3.0, 4 / (float(order) - 1 or 1) + 2)
            assert found <= exact * (1 + 1e-9) + 1e-12 * factor
        worst = max(a - b for a, b in zip(*logs, strict=True))
        assert worst <= pair.renyi(math.inf) <= worst + 1e-12


def test_renyi_grows_with_the_order() -> None:
    pair = Pair([math.log(0.9), math.log(0.1)], [math.log(0.2), math.log(0.8)])
    orders = [1, 1 + 1e-12, 1.01, 1.33, 1.34, 2, 9, 1e5, 1e12, 1e200, math.inf]
    values = [pair.renyi(order) for order in orders]
    assert all(b >= a - 1e-12 for a, b in pairwise(values))


def test_mass_off_the_support() -> None:
    pair = Pair([math.log(0.5), math.log(0.5)], [0.0, -math.inf])
    assert pair.renyi(1) == pair.renyi(math.inf) == math.inf
    assert pair.reverse().renyi(math.inf) == pytest.approx(math.log(2))
