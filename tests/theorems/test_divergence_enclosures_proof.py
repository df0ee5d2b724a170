"""Each statement of docs/proofs/divergence-enclosures.md: exact rationals, mpmath, balls."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate

from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.balls.gauss_legendre import log_error_factor, nodes_and_weights
from smoothdp.noise import (
    ArsinhNormal,
    Gaussian,
    Laplace,
    LaplaceLogNormal,
    Log1pNormal,
    PolyPlace,
    StudentT,
    UniformLogNormal,
)
from smoothdp.noise.divergences.excess import RELATIVE_ERROR, log_psi, slope_bound
from smoothdp.noise.divergences.loss_integral import _Arrays, _Table
from smoothdp.noise.divergences.offset import Offset
from smoothdp.noise.divergences.panel_ends import end_cell, gap_cell
from smoothdp.noise.divergences.panels import Panel
from smoothdp.noise.divergences.regions import Left, Middle, Region, Right
from smoothdp.noise.law import NoiseDistribution
from smoothdp.testing.smooth_quadrature import renyi

F = Fraction


def psi(loss: mp.mpf, b: mp.mpf) -> mp.mpf:
    return (mp.expm1(b * loss) / b if b else loss) + mp.expm1(-loss)


# ---- the excess ----------------------------------------------------------------------------------


def test_facts_of_the_excess() -> None:
    rng = random.Random(1)
    with mp.workdps(30):
        for _ in range(200):
            b, loss = mp.mpf(rng.choice([0, 0.01, 1, 3, 40])), mp.mpf(rng.uniform(-4, 4))
            k = max(b, mp.mpf(1))
            value = psi(loss, b)
            assert value >= 0
            assert abs(loss * (mp.exp(b * loss) - mp.exp(-loss))) <= (2 + k * abs(loss)) * value
            assert value <= mp.exp(k * loss) + mp.exp(-loss)
            z = mp.mpc(rng.uniform(-2, 2), rng.uniform(-2, 2))
            size = abs(psi(z, b))
            assert size <= abs(z) * (1 + mp.exp(b * z.real)) + mp.exp(-z.real) + 1
            assert size <= abs(z) ** 2 / 2 * (b * mp.exp(b * abs(z)) + mp.exp(abs(z)))
        # Not with 1.5 in the place of 2.
        small, loss = mp.mpf(1), mp.mpf("0.001")
        slope = loss * (mp.exp(loss) - mp.exp(-loss))
        assert slope > (mp.mpf("1.5") + loss) * psi(loss, small)


def test_divergence_from_the_excess() -> None:
    """1 + b I_b = E e^(b L), in exact rationals."""
    rng = random.Random(2)
    for _ in range(50):
        n, b = rng.randint(2, 5), rng.randint(1, 6)
        weights = [[F(rng.randint(1, 9)) for _ in range(n)] for _ in range(2)]
        p, q = ([x / sum(law) for x in law] for law in weights)
        ratios = [x / y for x, y in zip(p, q, strict=True)]
        excess = sum(x * ((r**b - 1) / b + 1 / r - 1) for x, r in zip(p, ratios, strict=True))
        assert 1 + b * excess == sum(x * r**b for x, r in zip(p, ratios, strict=True))


# ---- cells ---------------------------------------------------------------------------------------


def coordinate(region: Region, y: float, s: float) -> float:
    if isinstance(region, Left):
        return -math.exp(y)
    return s / (1 + math.exp(-y)) if isinstance(region, Middle) else s + math.exp(y)


@pytest.mark.parametrize("law", [PolyPlace(4), StudentT(3), Log1pNormal("0.5")], ids=repr)
def test_cells_at_ends_and_gaps(law: NoiseDistribution) -> None:
    s, t, b = 0.75, 0.2, 1.5

    def integrand(x: float) -> float:
        loss = law.log_density(x) - law.log_density((x - s) * math.exp(-t)) + t
        return law.density(x) * (math.expm1(b * loss) / b + math.expm1(-loss))

    with precision(96):
        offset = Offset(law, ball(F(3, 4)), ball(F(1, 5)))
        for region in (Left(offset.shift), Middle(offset.shift), Right(offset.shift)):
            cells = [(gap_cell(offset, region, y, y + 0.01), (y, y + 0.01)) for y in (-1.0, 0.3)]
            cells.append((end_cell(offset, region, -6.0, upper=False), (-40.0, -6.0)))
            if isinstance(region, Middle):
                cells.append((end_cell(offset, region, 6.0, upper=True), (6.0, 40.0)))
            for cell, (low, high) in cells:
                ends = sorted(coordinate(region, y, s) for y in (low, high))
                truth = integrate.quad(integrand, *ends, epsabs=0, epsrel=1e-9)[0]
                least, most = cell.log_excess(b)
                assert least <= math.log(truth) + 1e-7
                assert math.log(truth) <= most + 1e-7


# ---- the quadrature ------------------------------------------------------------------------------


def test_error_of_the_rule() -> None:
    """F = 1 / (c - x), whose pole is just outside the ellipse; far from it, the bound is loose."""
    assert 4 + 4 / (48**2 - 1) < 64 / 15
    with mp.workdps(60), precision(200):
        rule = [
            (mp.mpf(str(x.mid().str(55, radius=False))), mp.mpf(str(w.mid().str(55, radius=False))))
            for x, w in nodes_and_weights(200)
        ]
        for beyond in ("0.001", "0.1", "1"):
            c = mp.sqrt(2) + mp.mpf(beyond)
            error = abs(mp.fsum(w / (c - x) for x, w in rule) - mp.log((c + 1) / (c - 1)))
            most = mp.exp(log_error_factor()) / (c - mp.sqrt(2))
            assert 0 < error <= most
        inside = mp.mpf("1.2")
        error = abs(mp.fsum(w / (inside - x) for x, w in rule) - mp.log(mp.mpf(11)))
        # sup |F| on [-1, 1] alone, or on a part of the ellipse, bounds nothing.
        assert error > mp.exp(log_error_factor()) * 5


LogDensity = Callable[[mp.mpc], mp.mpc]
"""ln f(e^v), continued."""

SIGMA = mp.mpf("0.6")


def arsinh_normal(v: mp.mpc) -> mp.mpc:
    w = mp.asinh(SIGMA * mp.exp(v))
    return -w * w / (2 * SIGMA**2) - mp.log(mp.cosh(w)) - mp.log(2 * mp.pi) / 2


def log1p_normal(v: mp.mpc) -> mp.mpc:
    w = mp.log(1 + SIGMA * mp.exp(v))
    return -w * w / (2 * SIGMA**2) - w - mp.log(2 * mp.pi) / 2


def student(v: mp.mpc) -> mp.mpc:
    constant = mp.gamma(2) / (mp.sqrt(3 * mp.pi) * mp.gamma(mp.mpf(3) / 2))
    return mp.log(constant) - 2 * mp.log(1 + mp.exp(2 * v) / 3)


def uniform_log_normal(v: mp.mpc) -> mp.mpc:
    return SIGMA**2 / 2 + mp.log(mp.erfc((SIGMA + v / SIGMA) / mp.sqrt(2)) / 4)


@pytest.mark.parametrize(
    ("law", "log_f"),
    [
        (ArsinhNormal("0.6"), arsinh_normal),
        (Log1pNormal("0.6"), log1p_normal),
        (StudentT(3), student),
        (UniformLogNormal("0.6"), uniform_log_normal),
    ],
    ids=["arsinh", "log1p", "student", "uniform"],
)
def test_bounds_on_the_ellipse(law: NoiseDistribution, log_f: LogDensity) -> None:
    """ln of the weight plus k Re L, and |L|, at points of the ellipse, by the formulas."""
    s, t, half = mp.mpf(3) / 4, mp.mpf("0.2"), F(1, 8)
    seen = 0
    tight = 0.0
    with precision(96), mp.workdps(20):
        offset = Offset(law, ball(F(3, 4)), ball(F(1, 5)))
        for region in (Left(offset.shift), Middle(offset.shift), Right(offset.shift)):
            for center in (F(-2), F(0), F(1)):
                panel = Panel(offset, region, center, half)
                if not panel.analytic:
                    continue
                table = _Table(_Arrays([panel]), 2.0)
                size = float(table._loss_size()[0])
                bounds = {k: float(table._exponent(k)[0]) for k in (-1.0, 0.0, 2.0)}
                for angle in np.linspace(0, 2 * math.pi, 9)[:-1].tolist():
                    reach = mp.mpc(mp.sqrt(2) * math.cos(angle), math.sin(angle)) * mp.mpf(0.125)
                    y = mp.mpf(int(center)) + reach
                    if isinstance(region, Left):
                        v, w, jacobian = y, mp.log(mp.exp(y) + s), y
                    elif isinstance(region, Right):
                        v, w, jacobian = mp.log(mp.exp(y) + s), y, y
                    else:
                        rise, fall = mp.log(1 + mp.exp(-y)), mp.log(1 + mp.exp(y))
                        v, w = mp.log(s) - rise, mp.log(s) - fall
                        jacobian = mp.log(s) - rise - fall
                    weight = log_f(v) + jacobian
                    loss = log_f(v) - log_f(w - t) + t
                    assert abs(loss) <= size * (1 + 1e-9)
                    for k, bound in bounds.items():
                        assert (weight + k * loss).real <= bound + 1e-9
                    tight = max(tight, float(abs(loss)) / size)
                    seen += 1
    assert seen > 30
    assert tight > 0.3


def test_factors_in_the_complex_plane() -> None:
    with mp.workdps(30):

        def elasticity(v: mp.mpc) -> mp.mpc:
            return -mp.diff(uniform_log_normal, v)

        for x in (-2.0, 0.0, 1.0):
            for share in (0.2, 0.6, 1.1, 1.3):
                y = mp.mpf(share) * SIGMA
                theta = y * y / (2 * SIGMA**2)
                g = mp.exp(uniform_log_normal(mp.mpc(x, y)) - uniform_log_normal(mp.mpf(x)))
                chi = g * mp.exp(1j * y * elasticity(mp.mpf(x)) - theta)
                assert abs(chi - 1) <= theta
                assert abs(chi - 1) > 1e-6
            for share in (0.3, 0.6):
                z = mp.mpc(x, mp.mpf(share) * SIGMA)
                assert abs(elasticity(z) - elasticity(mp.mpf(x))) <= 6 / SIGMA
        angles = np.linspace(0, math.pi / 2, 91)
        q = 0.72 * np.sin(angles) ** 2
        most = 0.72 * np.cos(angles) ** 2 + 1.44 * np.sin(angles) * np.cos(angles)
        assert (most + q - np.log1p(-q)).max() < 3.5


# ---- closed forms, hockey sticks, rounding -------------------------------------------------------


@pytest.mark.parametrize("law", [Gaussian(), Laplace()], ids=repr)
@pytest.mark.parametrize("t", ["0", "0.2", "-0.1"])
def test_closed_forms(law: NoiseDistribution, t: str) -> None:
    s, u = mp.mpf("0.7"), mp.mpf(t)
    with mp.workdps(20):

        def log_p(x: mp.mpf) -> mp.mpf:
            gaussian = isinstance(law, Gaussian)
            return -x * x / 2 - mp.log(2 * mp.pi) / 2 if gaussian else -abs(x) - mp.log(2)

        def loss(x: mp.mpf) -> mp.mpf:
            return log_p(x) - log_p((x - s) * mp.exp(-u)) + u

        ends = [-60, -20, -5, -1, 0, s, 3, 8, 30, 60]
        for order in ("1", "1.5", "4"):
            b = mp.mpf(order) - 1
            if b:
                moment = mp.quad(lambda x, b=b: mp.exp(log_p(x) + b * loss(x)), ends)
                truth = mp.log(moment) / b
            else:
                truth = mp.quad(lambda x: mp.exp(log_p(x)) * loss(x), ends)
            low, high = law.renyi_bounds(order, shift="0.7", dilation=t)
            assert low * (1 - 1e-9) <= truth <= high * (1 + 1e-9)
            assert high - low <= 1e-12


@pytest.mark.parametrize("law", [StudentT(3), ArsinhNormal("0.6"), PolyPlace(8)], ids=repr)
def test_hockey_sticks_of_the_library(law: NoiseDistribution) -> None:
    x = np.linspace(-400, 400, 4_000_001)
    p, q = law.density(x), law.density((x - 0.5) * math.exp(-0.2)) * math.exp(-0.2)
    for e in (0.0, 0.3):
        truth = float(np.maximum(p - math.exp(e) * q, 0).sum()) * 800 / 4_000_000
        low, high = law.delta_bounds(repr(e), shift="0.5", dilation="0.2")
        assert low <= truth + 2e-7
        assert truth <= high + 2e-7
        assert high - low < 1e-9


def test_rounding_of_the_excess() -> None:
    rng = random.Random(5)
    with mp.workdps(60):
        for _ in range(300):
            b = rng.choice([0.0, 10 ** rng.uniform(-6, 3)])
            loss = rng.choice([-1, 1]) * 10 ** rng.uniform(-9, 1)
            truth = mp.log(psi(mp.mpf(loss), mp.mpf(b)))
            found = float(log_psi(np.array([loss]), b)[0])
            assert abs(found - truth) <= RELATIVE_ERROR + mp.mpf(4e-16) * abs(truth)
            share = rng.uniform(-0.25, 0.25)
            moved = mp.log(psi(mp.mpf(loss) * (1 + mp.mpf(share)), mp.mpf(b)))
            most = 2 * abs(share) * float(slope_bound(np.array([loss]), b)[0])
            assert abs(moved - truth) <= most


@pytest.mark.parametrize(
    "law", [StudentT("2.5"), Log1pNormal("0.5"), PolyPlace(4), LaplaceLogNormal("0.5")], ids=repr
)
def test_divergences_lie_between_their_bounds(law: NoiseDistribution) -> None:
    for order in (1.3, 6.0):
        for reverse in (False, True):
            low, high = law.renyi_bounds(
                repr(order),
                shift="0.6",
                dilation="0.15",
                direction="reverse" if reverse else "forward",
            )
            assert low <= high <= low * (1 + 1e-9)
            assert renyi(law, order, 0.6, 0.15, reverse=reverse) == pytest.approx(low, rel=1e-7)


def test_the_rectangle_contains_the_ellipse() -> None:
    with precision(64):
        box = special.rectangle(ball(F(1, 2)), 1.4143, 1.0001)
    assert float(special.imaginary_reach(box)) >= 1
    assert math.sqrt(2) <= 1.4143
