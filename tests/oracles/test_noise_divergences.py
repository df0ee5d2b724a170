"""Divergences of noise laws against literal integrals in mpmath, and where floats end."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from smoothdp.noise import (
    Gaussian,
    GeneralizedCauchy,
    Laplace,
    LaplaceLogNormal,
    NoiseDistribution,
    PolyPlace,
    StudentT,
)
from smoothdp.noise.divergences.divergences import Direction
from smoothdp.types import FloatArray
from tests.oracles.noise_law_formulas import Formulas, formulas, law_cases

# order, shift, dilation, direction
PLACES: list[tuple[str, str, str, Direction]] = [
    ("1", "0.5", "0.1", "forward"),
    ("1", "0.7", "0", "reverse"),
    ("1.5", "0", "0.3", "reverse"),
    ("2", "0.6", "-0.2", "forward"),
    ("7.5", "-0.4", "0.05", "reverse"),
]
RUNGS = [mp.mpf(10) ** -k for k in range(1, 13)]


class Pair:
    """The densities of Z and e^t Z + s, P and Q of the asked direction."""

    def __init__(self, law: NoiseDistribution, s: str, t: str, direction: Direction) -> None:
        self.formulas: Formulas = formulas(law)
        self.s, self.growth = mp.mpf(s), mp.exp(mp.mpf(t))
        self.forward = direction == "forward"

    def densities(self, x: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
        f = self.formulas.density
        own, copy = f(abs(x)), f(abs(x - self.s) / self.growth) / self.growth
        return (own, copy) if self.forward else (copy, own)

    def survivals(self, x: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
        def survival(y: mp.mpf) -> mp.mpf:
            tail = self.formulas.tail(abs(y))
            return tail if y >= 0 else 1 - tail

        own, copy = survival(x), survival((x - self.s) / self.growth)
        return (own, copy) if self.forward else (copy, own)

    def integral(self, function: Callable[[mp.mpf, mp.mpf], mp.mpf]) -> mp.mpf:
        """Return the integral of function(p, q), in ln of the distance in the tails."""
        kinks = [0, self.s, *(v for k in self.formulas.kinks for v in (k, -k))]
        kinks += [
            self.s + v * self.growth for k in self.formulas.kinks for v in (1, -1) for v in (v * k,)
        ]
        ladder = [v for size in (0.4, 2, 6, 16) for v in (size, -size)]
        # Mixtures over scales bend beside the middle of each law.
        rungs = [v for size in RUNGS for v in (size, -size, self.s + size, self.s - size)]
        edges = sorted({mp.mpf(e) for e in (*kinks, *ladder, *rungs)})

        def near(x: mp.mpf) -> mp.mpf:
            return function(*self.densities(x))

        def far(v: mp.mpf) -> mp.mpf:
            return mp.exp(v) * (near(mp.exp(v)) + near(-mp.exp(v)))

        rule = "gauss-legendre"
        total = mp.fsum(mp.quad(near, [a, b], method=rule) for a, b in pairwise(edges))
        return total + mp.quad(far, [mp.log(16), 5, 9, 20, 90], method=rule)


@pytest.mark.parametrize("law", law_cases())
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_renyi(law: NoiseDistribution, place: tuple[str, str, str, Direction]) -> None:
    order, s, t, direction = place
    lower, upper = law.renyi_bounds(order, shift=s, dilation=t, direction=direction)
    if upper == math.inf:
        assert isinstance(law, Laplace | Gaussian)
        assert lower == math.inf
        return
    with mp.workdps(20):
        pair, a = Pair(law, s, t, direction), mp.mpf(order)
        if a == 1:
            truth = pair.integral(lambda p, q: p * mp.log(p / q))
        else:
            truth = mp.log(pair.integral(lambda p, q: p * (p / q) ** (a - 1))) / (a - 1)
        assert lower <= truth * (1 + 1e-14)
        assert upper >= truth * (1 - 1e-14)
    assert upper - lower <= 2e-11 * upper
    assert law.renyi(order, shift=s, dilation=t, direction=direction) == upper


# epsilon, shift, dilation, direction
HOCKEY: list[tuple[str, str, str, Direction]] = [
    ("0", "0.5", "0", "forward"),
    ("0.1", "0.5", "0", "reverse"),
    ("0.3", "0.5", "0.1", "reverse"),
    ("0.2", "0", "0.3", "forward"),
    ("1", "0.4", "-0.25", "forward"),
    ("ln(5/4)", "3", "0.5", "forward"),
]


def _literal_delta(pair: Pair, epsilon: mp.mpf) -> mp.mpf:
    """Sum P - e^epsilon Q over the intervals between sign changes, found on a fine grid."""
    growth = mp.exp(epsilon)

    def gap(x: float) -> float:
        p, q = pair.densities(mp.mpf(x))
        return float(mp.log(p / q) - epsilon)

    wings = np.exp(np.linspace(-8, 40, 200))
    grid = np.unique(np.concatenate([-wings, wings, float(pair.s) + wings, float(pair.s) - wings]))
    values = [gap(x) for x in grid]
    edges: list[mp.mpf] = []
    for (a, fa), (b, fb) in pairwise(zip(grid.tolist(), values, strict=True)):
        if fa * fb < 0:
            low, high = mp.mpf(a), mp.mpf(b)
            for _ in range(60):
                middle = (low + high) / 2
                p, q = pair.densities(middle)
                if (mp.log(p / q) - epsilon) * fa > 0:
                    low = middle
                else:
                    high = middle
            edges.append(low)
    ends = [(mp.mpf(1), mp.mpf(1)), *(pair.survivals(x) for x in edges), (mp.mpf(0), mp.mpf(0))]
    pieces = (p - p2 - growth * (q - q2) for (p, q), (p2, q2) in pairwise(ends))
    return mp.fsum(max(piece, mp.mpf(0)) for piece in pieces)


@pytest.mark.parametrize("law", law_cases())
@pytest.mark.parametrize("place", HOCKEY, ids=str)
def test_delta(law: NoiseDistribution, place: tuple[str, str, str, Direction]) -> None:
    epsilon, s, t, direction = place
    lower, upper = law.delta_bounds(epsilon, shift=s, dilation=t, direction=direction)
    with mp.workdps(30):
        exact = mp.log(mp.mpf(5) / 4) if epsilon.startswith("ln") else mp.mpf(epsilon)
        truth = _literal_delta(Pair(law, s, t, direction), exact)
    assert lower <= truth * (1 + 1e-13)
    assert upper >= truth * (1 - 1e-13)
    assert upper - lower <= 1e-12 * upper
    assert law.delta(epsilon, shift=s, dilation=t, direction=direction) == upper


@pytest.mark.parametrize("sigma", ["0.3", "0.8", "1.5"])
def test_laplace_log_normal_against_sums(sigma: str) -> None:
    """In floats, by trapezoidal sums over the factor and over x = sinh(u)."""
    law, s, t = LaplaceLogNormal(sigma), 0.6, 0.15
    y = np.arange(-9, 9, 1 / 16)
    weights = np.exp(-y * y / 2) / math.sqrt(2 * math.pi) / 16
    rates = np.exp(-float(sigma) * y)

    def density(x: FloatArray) -> FloatArray:
        return np.asarray(np.exp(-np.abs(x)[:, None] * rates) @ (weights * rates) / 2)

    # Gauss-Legendre on pieces that end at the kinks, finer towards them.
    nodes, shares = np.polynomial.legendre.leggauss(30)
    ladder = np.exp(np.arange(-40, 17, 0.5))
    edges = np.concatenate([-ladder, ladder, s - ladder, s + ladder, [0, s]])
    edges = np.unique(edges[np.abs(edges) < 1e6])
    half = np.diff(edges)[:, None] / 2
    x = ((edges[:-1, None] + half) + half * nodes).ravel()
    dx = (half * shares).ravel()
    p, q = density(x), density((x - s) * math.exp(-t)) * math.exp(-t)
    keep = (p > 1e-200) & (q > 1e-200)
    p, q, dx = p[keep], q[keep], dx[keep]
    place: dict[str, Any] = {"shift": s, "dilation": t}
    for left, right, direction in ((p, q, "forward"), (q, p, "reverse")):
        kl = float(np.sum(dx * left * np.log(left / right)))
        square = math.log(float(np.sum(dx * left * left / right)))
        tv = float(np.sum(dx * np.maximum(left - right, 0)))
        excess = float(np.sum(dx * np.maximum(left - math.exp(0.2) * right, 0)))
        way: Direction = "forward" if direction == "forward" else "reverse"
        assert math.isclose(law.renyi(1, direction=way, **place), kl, rel_tol=1e-9)
        assert math.isclose(law.renyi(2, direction=way, **place), square, rel_tol=1e-9)
        # Sums over a corner are less accurate.
        assert math.isclose(law.delta(0, direction=way, **place), tv, rel_tol=1e-3)
        assert math.isclose(law.delta("0.2", direction=way, **place), excess, rel_tol=1e-3)


@pytest.mark.parametrize("law", law_cases(LaplaceLogNormal("0.5")))
@pytest.mark.parametrize("place", [("0.5", "0"), ("0.3", "0.1"), ("1", "-0.2"), ("0", "0.1")])
def test_max_divergence(law: NoiseDistribution, place: tuple[str, str]) -> None:
    s, t = place
    lower, upper = law.max_divergence_bounds(shift=s, dilation=t)
    assert law.max_divergence(shift=s, dilation=t) == upper
    power_tail = isinstance(law, StudentT | GeneralizedCauchy | PolyPlace)
    if upper == math.inf:
        assert not power_tail
        assert lower == math.inf
        return
    wings = np.exp(np.linspace(-12, 30 if power_tail else 9, 3000))
    x = np.concatenate([-wings, wings, np.linspace(-20, 20, 100_001)])
    growth = math.exp(float(t))
    # The slower law is looked at in fewer places.
    x = x[:: 20 if isinstance(law, LaplaceLogNormal) else 1]
    loss = law.log_density(x) - law.log_density((x - float(s)) / growth) + float(t)
    seen = float(np.max(np.abs(loss)))
    assert seen <= upper * (1 + 1e-9)
    # The grid misses the maximum by little.
    assert seen >= lower * (1 - 1e-3)
    assert upper - lower <= 1e-12 * upper


@pytest.mark.parametrize("d", ["1", "2.5", "30"])
@pytest.mark.parametrize(("s", "t"), [("0.5", "0.1"), ("3", "0.4"), ("0.01", "0"), ("0", "0.2")])
def test_student_closed_form(d: str, s: str, t: str) -> None:
    """The reverse loss is the larger: (d+1)/2 ln r - t, r + e^(2t)/r = 1 + e^(2t) + s^2/d."""
    with mp.workdps(30):
        n, square, growth = mp.mpf(d), mp.mpf(s) ** 2, mp.exp(2 * mp.mpf(t))
        b = 1 + growth + square / n
        r = (b + mp.sqrt(b * b - 4 * growth)) / 2
        truth = float((n + 1) / 2 * mp.log(r) - mp.mpf(t))
    lower, upper = StudentT(d).max_divergence_bounds(shift=s, dilation=t)
    assert lower * (1 - 1e-15) <= truth <= upper * (1 + 1e-15)
    assert upper - lower < 1e-15 * upper
