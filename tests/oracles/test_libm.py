"""The assumption under all stated bounds: exp, log, log1p and expm1 are within 4 ulp.

Both numpy's vectorised functions and Python's, on 100,000 points in all, against ball
arithmetic. numpy may use other code for long arrays than for short ones: long ones here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flint import arb

from smoothdp.exact.balls.balls import precision

POINTS = 12_500


def points(name: str) -> np.ndarray:
    rng = np.random.default_rng(2026)
    magnitude = 10.0 ** rng.uniform(-18, 2.6, POINTS)
    signed = magnitude * rng.choice([-1.0, 1.0], POINTS)
    choices: dict[str, np.ndarray] = {
        "exp": np.clip(signed, -700, 700),
        "expm1": np.clip(signed, -700, 700),
        "log": 10.0 ** rng.uniform(-300, 300, POINTS),
        "log1p": np.where(signed > -1, signed, magnitude / 1e3 - 0.999999),
    }
    return choices[name]


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[float], float]]] = {
    "exp": (np.exp, math.exp),
    "expm1": (np.expm1, math.expm1),
    "log": (np.log, math.log),
    "log1p": (np.log1p, math.log1p),
}


def largest_error(values: np.ndarray, results: list[float], name: str) -> float:
    """Return the largest error in units in the last place of the result."""
    worst = 0.0
    with precision(160):
        for x, y in zip(values.tolist(), results, strict=True):
            truth = getattr(arb(x), name)()
            gap = abs(float(truth - arb(y)))
            worst = max(worst, gap / math.ulp(y))
    return worst


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("route", ["numpy", "math"])
def test_within_four_ulp(name: str, route: str) -> None:
    values = points(name)
    vectorised, scalar = FUNCTIONS[name]
    if route == "numpy":
        results = vectorised(values).tolist()
    else:
        results = [scalar(x) for x in values.tolist()]
    assert largest_error(values, results, name) <= 4.0


def test_the_check_can_fail() -> None:
    """exp(x) - 1 in place of expm1 is far outside."""
    values = points("expm1")
    assert largest_error(values, (np.exp(values) - 1.0).tolist(), "expm1") > 4.0
