"""End to end: releases at neighbours, both ways, against what the guarantee allows.

With n draws at each of two neighbours, an event E that refutes e^-epsilon P(E) <= Q(E) is looked
for among cells and tails of the released value. Exact binomial bounds; false-alarm rate 1e-7 a
test, fixed seeds. A release with too little noise is refuted by the same test.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import smoothdp as sd
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.mechanisms import BoughtSize, SkewedNoise, SumNoise
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.queries import ClampedMean, Count, Median, SkewedMean, Sum, Variance

LEVEL = 1e-7
N_CELLS = 24
PILOT = 300
Release = Callable[[list[float], SeededRandom], float]


def refuted(release: Release, x: list[float], y: list[float], epsilon: float, draws: int) -> bool:
    """Whether some event has P > e^epsilon Q for certain, in either direction."""
    one, two = (
        np.array([release(rows, SeededRandom(10**5 * place + k)) for k in range(draws)])
        for place, rows in enumerate((x, y))
    )
    # The events are fixed by draws of their own.
    pilot = [release(rows, SeededRandom(10**6 + k)) for rows in (x, y) for k in range(PILOT)]
    inner = np.quantile(pilot, np.linspace(0, 1, N_CELLS + 1)[1:-1])
    edges = np.unique([-math.inf, *inner, math.inf])
    counts = [np.histogram(values, edges)[0] for values in (one, two)]
    events = [[*c, *np.cumsum(c)[:-1], *np.cumsum(c[::-1])[:-1]] for c in counts]
    share = LEVEL / (4 * len(events[0]))
    for hits, others in (events, events[::-1]):
        low = [0.0 if h == 0 else stats.beta.ppf(share, h, draws - h + 1) for h in hits]
        high = [1.0 if h == draws else stats.beta.isf(share, h + 1, draws - h) for h in others]
        if any(p > math.exp(epsilon) * q for p, q in zip(low, high, strict=True)):
            return True
    return False


def claim(epsilon: object) -> sd.PureDP:
    return sd.PureDP(epsilon, neighbours="add_remove")  # type: ignore[arg-type]


def sums(query: Any) -> Callable[[object], Release]:
    def made(epsilon: object) -> Release:
        mechanism = SumNoise(query, claim(epsilon))
        return lambda rows, rng: float(mechanism.release(rows, rng=rng).value)

    return made


def skewed(epsilon: object) -> Release:
    mechanism = SkewedNoise(SkewedMean((0, 100)), claim(epsilon))
    return lambda rows, rng: float(mechanism.release(rows, rng=rng).value)


def bought(epsilon: object) -> Release:
    request = ReleaseRequest.read(Median((0, 100)), guarantee=claim(epsilon))
    mechanism = BoughtSize(request, Fraction(1, 2))
    return lambda rows, rng: float(mechanism.release(rows, rng=rng).value)


SUMS = [
    (sums(Count()), [], [1.0]),
    (sums(Sum((-1, 3), grid="1/4")), [2.0], [2.0, 3.0]),
    (sums(ClampedMean((0, 1))), [0.0] * 2, [0.0] * 2 + [1.0]),
    (sums(Variance((0, 1))), [0.0] * 2, [0.0] * 2 + [1.0]),
]


@pytest.mark.parametrize(("make", "x", "y"), SUMS, ids=["count", "sum", "mean", "variance"])
def test_sums_keep_their_guarantee(
    make: Callable[[object], Release], x: list[float], y: list[float]
) -> None:
    assert not refuted(make(1), x, y, 1.0, 4000)


@pytest.mark.parametrize(("make", "x", "y"), SUMS[:3], ids=["count", "sum", "mean"])
def test_too_little_noise_is_noticed(
    make: Callable[[object], Release], x: list[float], y: list[float]
) -> None:
    """Noise for epsilon = 4 does not pass as epsilon = 1."""
    assert refuted(make(4), x, y, 1.0, 4000)


@pytest.mark.slow
@pytest.mark.parametrize("make", [skewed, bought], ids=["skewed mean", "median, n bought"])
def test_releases_in_two_parts(make: Callable[[object], Release]) -> None:
    x, y = [0.0] * 3, [0.0] * 3 + [100.0]
    assert not refuted(make("1/2"), x, y, 0.5, 2000)
    assert refuted(make(30), x, y, 0.5, 600)
