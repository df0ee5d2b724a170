"""Each statement of docs/proofs/zcdp-certificates.md: exact rationals, mpmath, plain quadrature."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate

from smoothdp.noise import (
    ArsinhNormal,
    Gaussian,
    Laplace,
    Log1pNormal,
    PolyPlace,
    StudentT,
    UniformLogNormal,
)
from smoothdp.noise.calibration.approximate.delta_cover import covered
from smoothdp.noise.calibration.concentrated import certificate
from smoothdp.noise.calibration.concentrated.certificate import certify
from smoothdp.noise.calibration.concentrated.orders import (
    Curve,
    chord_proves,
    interpolated,
    unproved,
)
from smoothdp.noise.calibration.concentrated.promise import OrderTail, Promise
from smoothdp.noise.law import NoiseDistribution
from smoothdp.noise.laws.arsinh_normal import symmetrised_is_convex
from smoothdp.testing.smooth_quadrature import hockey_stick, renyi

F = Fraction
LAWS: list[NoiseDistribution] = [
    ArsinhNormal("0.6"),
    Log1pNormal("0.5"),
    UniformLogNormal("0.8"),
    StudentT("2.5"),
    PolyPlace(4),
]
each_law = pytest.mark.parametrize("law", LAWS, ids=repr)


@each_law
def test_forward_dilations_bind_at_the_ends(law: NoiseDistribution) -> None:
    rng = np.random.default_rng(1)
    for _ in range(3):
        order, s, t = 1 + rng.exponential(1), rng.uniform(0.05, 1.0), rng.uniform(0.05, 0.4)
        ends = max(renyi(law, order, s, 0.0), renyi(law, order, s, t))
        for share in (0.25, 0.5, 0.75):
            for smaller in (0.5, 1.0):
                assert renyi(law, order, smaller * s, share * t) <= ends * (1 + 1e-7)


@each_law
def test_theorem_a_and_its_stretch(law: NoiseDistribution) -> None:
    rng = np.random.default_rng(2)
    for _ in range(3):
        order, s = 1 + rng.exponential(1), rng.uniform(0.05, 1.5)
        ends = np.concatenate([[0.0], np.sort(rng.uniform(0.02, 0.25, 3))])
        bound = renyi(law, order, s, 0.0)
        for low, high in itertools.pairwise(ends.tolist()):
            stretched = renyi(law, order, s * math.exp(high - low), high, reverse=True)
            bound = max(bound, stretched)
            assert stretched >= renyi(law, order, s, high, reverse=True)
        for u in np.linspace(0, ends[-1], 7).tolist():
            assert renyi(law, order, s, u, reverse=True) <= bound * (1 + 1e-7)


# ---- Theorems B and B' ---------------------------------------------------------------------------


def test_symmetrised_potential_of_random_mixtures() -> None:
    """H is convex where all lambda >= s^2, and N < 0 somewhere if one is far below."""
    rng = np.random.default_rng(3)
    v = np.linspace(-4, 4, 801)
    for _ in range(40):
        s = rng.uniform(0.1, 2)
        rates, weights = s * s * rng.uniform(1, 5, 4), rng.uniform(0, 2, 4)
        plus, minus = (
            (weights[:, None] * np.log1p((np.exp(v) + side) ** 2 / rates[:, None])).sum(axis=0)
            for side in (s, -s)
        )
        assert np.all(np.diff(plus + minus, 2) >= -1e-9)
        assert np.all(np.diff(plus, 2) >= -1e-9)
        for b in (0.1, 1.0, 20.0):
            assert np.all(np.diff(np.logaddexp(b * plus, b * minus), 2) >= -1e-9)
        close = np.log1p((np.exp(v) + s) ** 2 / (0.3 * s * s))
        close += np.log1p((np.exp(v) - s) ** 2 / (0.3 * s * s))
        assert np.any(np.diff(close, 2) < -1e-7)


def test_symmetrised_polynomial() -> None:
    rng = random.Random(4)
    for _ in range(100):
        s, rate, y = (F(rng.randint(1, 30), rng.randint(1, 9)) for _ in range(3))
        product = (1 + (y + s) ** 2 / rate) * (1 + (y - s) ** 2 / rate)
        q = y * y
        assert product == (q * q + 2 * (rate - s * s) * q + (rate + s * s) ** 2) / rate**2


@pytest.mark.parametrize("x", [0.1, 1.0, 7.0])
def test_integral_of_the_squared_arsinh(x: float) -> None:
    """With theta = 1 - r^2, which takes the root away."""
    value, _ = integrate.quad(
        lambda r: np.log1p((1 - r * r) * x * x) / (1 - r * r) if r < 1 else x * x, 0, 1
    )
    assert value == pytest.approx(math.asinh(x) ** 2, rel=1e-10)


@pytest.mark.parametrize("sigma", ["0.05", "0.5", "2"])
def test_theorem_b_prime_step_by_step(sigma: str) -> None:
    """The derivatives, the two bounds of the far range, and M itself, in 30 digits."""
    with mp.workdps(30):
        shape, square = mp.mpf(sigma), mp.mpf(sigma) ** 2

        def psi(x: mp.mpf) -> mp.mpf:
            return mp.asinh(x) ** 2 / (2 * square) + mp.log(mp.cosh(mp.asinh(x)))

        for x in (mp.mpf("0.3"), mp.mpf("1.2"), mp.mpf(9)):
            w, c = mp.asinh(x), mp.sqrt(1 + x * x)
            t = x / c
            first, n = (w / square + t) / c, 1 / square + 1 / c**2 - w * t / square - t * t
            slope = -4 * t / c**2 - (t + w / c**2) / square
            third = (slope - 2 * t * n) / c**3
            for order, stated in ((1, first), (2, n / c**2), (3, third)):
                assert mp.almosteq(mp.diff(psi, x, order), stated, 1e-10)
            assert x * first + x * x * n / c**2 >= t * t / square
            assert x * x * n / c**2 >= -(w / square + 1)

        def whole(x: mp.mpf, s: mp.mpf) -> mp.mpf:
            total = mp.mpf(0)
            for y in (x + s, x - s):
                w, c = mp.asinh(y), mp.sqrt(1 + y * y)
                t = y / c
                n = 1 / square + 1 / c**2 - w * t / square - t * t
                total += x * (w / square + t) / c + x * x * n / c**2
            return total

        limit = mp.findroot(lambda x: mp.diff(psi, x, 2), 1.3)
        assert 1 < limit < 1.52
        inside, outside = limit - mp.mpf("0.01"), limit + mp.mpf("0.01")
        assert symmetrised_is_convex(F(sigma), F(mp.nstr(inside, 10)))
        assert not symmetrised_is_convex(F(sigma), F(mp.nstr(outside, 10)))
        for exponent in range(-30, 60):
            assert whole(mp.mpf(10) ** (mp.mpf(exponent) / 10), inside) > 0
        assert whole(mp.mpf("0.001"), outside) < 0
        assert shape > 0


# ---- orders --------------------------------------------------------------------------------------


def test_large_orders() -> None:
    rng = random.Random(5)
    for _ in range(50):
        slope, constant, spread = (F(rng.randint(0, 9), 10) for _ in range(3))
        rho = slope + F(rng.randint(1, 20), 10)
        b = OrderTail(slope, constant, spread).first_excess(rho)
        assert b is not None
        for factor in (1, F(11, 10), 7, 10**6):
            a = 1 + F(b) * factor
            assert a * slope + constant + spread / (a - 1) <= a * rho


class Atoms:
    """P and Q on a few points with rational ratios: E_P e^(b L) is rational at whole b."""

    def __init__(self, rng: random.Random) -> None:
        p = [F(rng.randint(1, 9)) for _ in range(4)]
        q = [F(rng.randint(1, 9)) for _ in range(4)]
        self.p = [x / sum(p) for x in p]
        self.ratios = [x / (y / sum(q)) for x, y in zip(self.p, q, strict=True)]

    def moment(self, b: int) -> Fraction:
        return sum((x * r**b for x, r in zip(self.p, self.ratios, strict=True)), F(0))

    def log_moment(self, b: float) -> mp.mpf:
        pairs = zip(self.p, self.ratios, strict=True)
        terms = (
            mp.mpf(x.numerator) / x.denominator * (mp.mpf(r.numerator) / r.denominator) ** mp.mpf(b)
            for x, r in pairs
        )
        return mp.log(mp.fsum(terms))


def lagrange(nodes: list[int], values: list[Fraction], b: int) -> Fraction:
    total = F(0)
    for i, value in enumerate(values):
        for j, other in enumerate(nodes):
            if j != i:
                value *= F(b - other, nodes[i] - other)
        total += value
    return total


def test_interpolation_in_exact_rationals() -> None:
    """Above in the first, third, ... gap, below in the others; an odd number says nothing."""
    rng = random.Random(6)
    strict = below = 0
    for _ in range(60):
        pair, n = Atoms(rng), rng.choice([2, 4, 6])
        tilt = F(rng.randint(1, 12), rng.randint(1, 6))
        nodes = [4 * i for i in range(n)]
        values = [pair.moment(b) / tilt**b for b in nodes]
        for b in range(nodes[-1]):
            truth = pair.moment(b) / tilt**b
            above = lagrange(nodes, values, b)
            assert (above >= truth) if (b // 4) % 2 == 0 else (above <= truth)
            strict += above != truth
        odd = [*nodes, nodes[-1] + 4]
        other = lagrange(odd, [*values, pair.moment(odd[-1]) / tilt ** odd[-1]], 1)
        below += other < pair.moment(1) / tilt
    assert strict > 300
    assert 0 < below < 60


def test_interpolation_in_floats() -> None:
    """What is computed is an upper bound of K, from bounds as narrow as one unit."""
    rng = random.Random(7)
    close = 0
    with mp.workdps(40):
        for _ in range(30):
            pair = Atoms(rng)
            step = rng.choice([1e-3, 0.3, 2.0])

            def bounds(b: float, pair: Atoms = pair) -> tuple[float, float]:
                value = float(pair.log_moment(b) / mp.mpf(b))
                return max(0.0, math.nextafter(value, 0.0)), math.nextafter(value, math.inf)

            curve = Curve(bounds)
            for i in range(1, 7):
                curve.at(i * step)
            for low in (0, 2, 4):
                here = np.array([(low + share) * step for share in (0.1, 0.5, 0.9)])
                for window in curve.windows(low * step if low else 0.0, (low + 1) * step):
                    upper = interpolated(curve, window, here)
                    if upper is None:
                        continue
                    for b, value in zip(here.tolist(), upper.tolist(), strict=True):
                        truth = pair.log_moment(b)
                        assert truth <= value
                        close += value < truth * (1 + mp.mpf("1e-3"))
    assert close > 100


def test_chords_in_exact_rationals() -> None:
    rng = random.Random(8)
    proved = refused = 0
    for _ in range(300):
        rho = F(rng.randint(0, 8), 4)
        low = F(rng.randint(0, 8), 4)
        high = low + F(rng.randint(1, 12), 4)
        ends = [rho * b * (1 + b) + F(rng.randint(-3, 1), 8) for b in (low, high)]
        said = chord_proves(rho, (low, ends[0]), (high, ends[1]))
        truth = all(
            ends[0] + (ends[1] - ends[0]) * F(k, 200) <= rho * b * (1 + b)
            for k in range(201)
            for b in (low + (high - low) * F(k, 200),)
        )
        assert truth or not said
        proved, refused = proved + said, refused + (not truth)
        if not said and truth:
            # Between two points of the grid: by hardly anything.
            place = ((ends[1] - ends[0]) / (high - low) - rho) / (2 * rho)
            assert low < place < high
    assert min(proved, refused) > 20


def test_a_bad_order_is_noticed() -> None:
    """A curve that exceeds the promise near one order, between those that are looked at first."""
    rho = F(1, 2)

    def bounds(b: float) -> tuple[float, float]:
        value = 0.3 * (1 + b) + 0.35 * math.exp(-((b - 1.7) ** 2) * 8)
        return value, value

    assert bounds(1.7)[0] < 0.5 * 2.7
    assert unproved(Curve(bounds), rho, [(0.0, 8.0)]) == []

    def higher(b: float) -> tuple[float, float]:
        value = 0.499 * (1 + b) + 0.05 * math.exp(-((b - 1.7) ** 2) * 8)
        return value, value

    assert unproved(Curve(higher), rho, [(0.0, 8.0)])


# ---- infinite order, certificates, covers --------------------------------------------------------


@pytest.mark.parametrize("law", [StudentT("2.5"), PolyPlace(4), Laplace()], ids=repr)
def test_infinite_order_binds_at_the_ends(law: NoiseDistribution) -> None:
    s, t = F(1, 2), F(3, 10)
    for way in ("forward", "reverse"):
        if way == "reverse" and isinstance(law, Laplace):
            continue
        upper = [
            law.renyi_bounds("inf", shift=s, dilation=t * k / 4, direction=way) for k in range(5)
        ]
        most = max(upper[0][1], upper[4][1])
        assert all(low <= most for low, _ in upper)
        values = [low for low, _ in upper]
        assert np.all(np.diff(values, 2) >= -1e-9)
        assert law.renyi(5, shift=s, dilation=t, direction=way) <= upper[4][1]


@pytest.mark.parametrize(
    ("law", "shift"),
    [(StudentT(13), "1.08"), (Log1pNormal("0.5"), "0.9"), (ArsinhNormal("0.356"), "1.06")],
    ids=repr,
)
def test_certified_shifts_against_other_quadrature(law: NoiseDistribution, shift: str) -> None:
    promise = Promise(F(1, 2), None, F(1, 10))
    assert certify(law, promise, F(shift)).holds
    for order in (1.001, 1.3, 2.0, 4.0, 12.0):
        for u in (0.0, 0.05, 0.1):
            for share in (0.7, 1.0):
                for reverse in (False, True):
                    value = renyi(law, order, share * float(shift), u, reverse=reverse)
                    assert value <= order / 2 * (1 + 1e-7)


def test_truncated_promises_end_at_omega() -> None:
    """Gaussian noise has no finite divergence from 1 / (1 - e^(-2t)) = 5.5 on."""
    law, t = Gaussian(), F(1, 10)
    assert certify(law, Promise(F(1, 2), F(3), t), F("0.6")).holds
    assert not certify(law, Promise(F(1, 2), F(6), t), F("0.6")).holds
    assert not certify(law, Promise(F(1, 2), None, t), F("0.6")).holds


def test_a_cover_of_one_order_that_fails_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    law, promise = Log1pNormal("0.5"), Promise(F(1, 2), None, F(1, 10))
    assert certificate.cover(law, promise, F("0.8"))
    real = unproved
    dilations: list[float] = []

    def unproved_in_the_middle(
        curve: Curve, rho: Fraction, intervals: list[tuple[float, float]]
    ) -> list[tuple[float, float]]:
        dilations.append(0.0)
        return intervals if len(dilations) > 1 else real(curve, rho, intervals)

    monkeypatch.setattr(certificate, "stretch", lambda *_: 0.03)
    monkeypatch.setattr(certificate, "unproved", unproved_in_the_middle)
    assert certificate.cover(law, promise, F("0.8")) is None


@pytest.mark.parametrize("law", [Gaussian(), ArsinhNormal("0.6"), PolyPlace(8)], ids=repr)
def test_cover_of_hockey_sticks(law: NoiseDistribution) -> None:
    shift, t, e = F(1, 2), F(1, 5), F(3, 10)
    worst = max(
        hockey_stick(law, 0.3, share * 0.5, u, reverse=reverse)
        for u in (0.0, 0.05, 0.1, 0.15, 0.2)
        for share in (0.6, 1.0)
        for reverse in (False, True)
    )
    assert covered(law, shift, t, e, math.log(worst * 0.99)) is None
    assert covered(law, shift, t, e, math.log(worst * 1.02)) is not None
