"""Each statement of docs/proofs/dilated-divergences.md: exact rationals for step densities, else
plain sums over a fine grid."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate

from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball, precision, round_down, round_up
from smoothdp.noise import (
    ArsinhNormal,
    Gaussian,
    GeneralizedCauchy,
    Laplace,
    LaplaceLogNormal,
    Log1pNormal,
    PolyPlace,
    StudentT,
    UniformLogNormal,
)
from smoothdp.noise.calibration.approximate.envelope import log_envelope
from smoothdp.noise.calibration.concentrated.promise import forward_tail, reverse_tail
from smoothdp.noise.divergences.offset import Offset
from smoothdp.noise.divergences.panel_ends import Tail
from smoothdp.noise.divergences.regions import Left, Middle, Region, Right
from smoothdp.noise.law import NoiseDistribution
from smoothdp.testing.smooth_quadrature import renyi
from smoothdp.types import FloatArray

F = Fraction
LAWS: list[NoiseDistribution] = [
    Laplace(),
    Gaussian(),
    StudentT("2.5"),
    GeneralizedCauchy("3.5"),
    PolyPlace(4),
    ArsinhNormal("0.6"),
    Log1pNormal("0.5"),
    LaplaceLogNormal("0.5"),
    UniformLogNormal("0.8"),
]
each_law = pytest.mark.parametrize("law", LAWS, ids=repr)
GROWTHS = (F(1, 2), F(1), F(11, 10), F(3))

# ---- step densities: mixtures of uniform laws, in exact rationals --------------------------------

Steps = list[tuple[Fraction, Fraction, Fraction]]
"""(from, to, density)."""


def hump(rng: random.Random) -> Steps:
    """A symmetric unimodal step density."""
    halves = [F(rng.randint(1, 12), rng.randint(1, 4)) for _ in range(rng.randint(1, 4))]
    shares = [F(rng.randint(1, 9)) for _ in halves]
    return [(-h, h, share / sum(shares) / (2 * h)) for h, share in zip(halves, shares, strict=True)]


def moved(steps: Steps, scale: Fraction, shift: Fraction) -> Steps:
    """The law of scale * Z + shift."""
    return [(a * scale + shift, b * scale + shift, f / scale) for a, b, f in steps]


def hockey_stick(p: Steps, q: Steps, growth: Fraction) -> Fraction:
    ends = sorted({end for a, b, _ in p + q for end in (a, b)})
    total = F(0)
    for low, high in itertools.pairwise(ends):
        middle = (low + high) / 2
        values = [sum((f for a, b, f in law if a < middle < b), F(0)) for law in (p, q)]
        total += max(F(0), values[0] - growth * values[1]) * (high - low)
    return total


def test_pairs_of_a_release() -> None:
    rng = random.Random(1)
    for _ in range(40):
        steps, unit = hump(rng), F(rng.randint(1, 9), 4)
        scale = F(rng.randint(1, 9), 3)
        other = scale * F(rng.randint(10, 20), 10)
        value = F(rng.randint(-9, 9))
        moved_value = value + scale * F(rng.randint(-10, 10), 10)
        here = moved(steps, scale / unit, value)
        there = moved(steps, other / unit, moved_value)
        shift = unit * (moved_value - value) / scale
        assert abs(shift) <= unit
        copy = moved(steps, other / scale, shift)
        for growth in GROWTHS:
            assert hockey_stick(here, there, growth) == hockey_stick(steps, copy, growth)
            assert hockey_stick(there, here, growth) == hockey_stick(copy, steps, growth)


def test_hockey_sticks_of_steps_rise_with_the_shift() -> None:
    rng = random.Random(2)
    rises = 0
    for _ in range(40):
        steps, scale = hump(rng), F(rng.randint(1, 8), 4)
        shifts = sorted(F(rng.randint(0, 40), 4) for _ in range(4))
        for growth in GROWTHS:
            copies = [moved(steps, scale, s) for s in shifts]
            for values in (
                [hockey_stick(steps, copy, growth) for copy in copies],
                [hockey_stick(copy, steps, growth) for copy in copies],
            ):
                assert values == sorted(values)
                rises += values[0] < values[-1]
            assert hockey_stick(steps, moved(steps, scale, -shifts[-1]), growth) == hockey_stick(
                steps, copies[-1], growth
            )
    assert rises > 100


def test_two_humps_break_the_rise() -> None:
    humps = [(F(1), F(2), F(1, 2)), (F(-2), F(-1), F(1, 2))]
    assert hockey_stick(humps, moved(humps, F(1), F(3, 2)), F(1)) == 1
    assert hockey_stick(humps, moved(humps, F(1), F(3)), F(1)) == F(1, 2)


def test_duality_of_steps() -> None:
    rng = random.Random(3)
    unlike = 0
    for _ in range(40):
        steps, scale = hump(rng), F(rng.randint(1, 8), 4)
        shift = F(rng.randint(0, 20), 4)
        for growth in GROWTHS:
            reverse = hockey_stick(moved(steps, scale, shift), steps, growth)
            assert reverse == hockey_stick(steps, moved(steps, 1 / scale, shift / scale), growth)
            unlike += reverse != hockey_stick(steps, moved(steps, 1 / scale, shift), growth)
    # The shift must be divided too.
    assert unlike > 40


# ---- convexity in the dilation -------------------------------------------------------------------


def line(reach: float, n: int = 400_001) -> tuple[FloatArray, float]:
    x = np.linspace(-reach, reach, n)
    return x, float(x[1] - x[0])


def test_a_law_without_convexity_breaks_it() -> None:
    def log_f(x: FloatArray) -> FloatArray:
        wide = -x * x / 2e4 - math.log(100)
        return np.logaddexp(-x * x / 2, wide) - math.log(2) - math.log(2 * math.pi) / 2

    x, step = line(4000.0)
    log_p = log_f(x)
    values = []
    for u in (1.0, 2.0, 3.0):
        loss = log_p - log_f(x * math.exp(-u)) + u
        values.append(math.log(float(np.exp(log_p + loss).sum()) * step))
    assert values == pytest.approx([0.6535, 1.5396, 2.3160], abs=2e-4)
    assert values[1] > (values[0] + values[2]) / 2
    v = np.linspace(-5, 8, 400)
    assert np.any(np.diff(-log_f(np.exp(v)), 2) < -1e-4)


def test_hockey_sticks_are_not_convex() -> None:
    values = []
    for u in (0.5, 1.5, 2.5):
        root = math.sqrt(2 * u / -math.expm1(-2 * u))  # |x| at which both densities agree
        values.append(math.erf(root / math.sqrt(2)) - math.erf(root * math.exp(-u) / math.sqrt(2)))
    assert values[1] > (values[0] + values[2]) / 2


def hockey_stick_on(law: NoiseDistribution, e: float, s: float, u: float, reach: float) -> float:
    x, step = line(reach)
    p, q = law.density(x), law.density((x - s) * math.exp(-u)) * math.exp(-u)
    return float(np.maximum(p - math.exp(e) * q, 0).sum()) * step


@pytest.mark.parametrize("law", [Gaussian(), PolyPlace(8), ArsinhNormal("0.6")], ids=repr)
@pytest.mark.parametrize("shift", [F(0), F(1, 2)])
@pytest.mark.parametrize("reverse", [False, True])
def test_envelope_is_above_its_interval(
    law: NoiseDistribution, shift: Fraction, reverse: bool
) -> None:
    low, high, s = F(1, 10), F(3, 10), float(shift)
    for e in (F(0), F(1, 5)):
        bound = log_envelope(law, shift, (low, high), e, reverse=reverse, target=-1e9).upper
        most = 0.0
        for u in np.linspace(float(low), float(high), 5):
            shorter = s * math.exp(-u) if reverse else s
            signed = -float(u) if reverse else float(u)
            most = max(most, hockey_stick_on(law, float(e), shorter, signed, 60.0))
        assert most <= math.exp(bound) * (1 + 1e-4) + 1e-6


@pytest.mark.parametrize("shift", [F(0), F(1, 2)])
def test_a_narrow_envelope_is_the_hockey_stick(shift: Fraction) -> None:
    """At shift 0 both halves of the line count."""
    law, low = Gaussian(), F(3, 10)
    narrow = (low, low + F(1, 10**6))
    for reverse in (False, True):
        bound = log_envelope(law, shift, narrow, F(1, 10), reverse=reverse, target=-40.0)
        exact = law.log_delta_bounds(
            F(1, 10), shift=shift, dilation=low, direction="reverse" if reverse else "forward"
        )
        assert bound.upper >= exact.lower - 1e-9


# ---- the loss as a gap times an elasticity -------------------------------------------------------


def point(region: Region, u: float, s: float) -> float:
    if isinstance(region, Left):
        return -math.exp(u)
    return s / (1 + math.exp(-u)) if isinstance(region, Middle) else s + math.exp(u)


@each_law
@pytest.mark.parametrize("dilation", [F(-1, 5), F(0), F(1, 4)])
def test_ranges_of_losses(law: NoiseDistribution, dilation: Fraction) -> None:
    rng = np.random.default_rng(4)
    s, t = 0.75, float(dilation)
    with precision(96):
        offset = Offset(law, ball(F(3, 4)), ball(dilation))
        for region in (Left(offset.shift), Middle(offset.shift), Right(offset.shift)):
            for _ in range(3):
                low = float(rng.uniform(-4, 1))
                high = low + float(rng.choice([0.01, 0.3, 1.5]))
                least, most, *_ = offset.loss_range(region, low, high)
                x = np.array([point(region, u, s) for u in np.linspace(low, high, 40)])
                loss = law.log_density(x) - law.log_density((x - s) * math.exp(-t)) + t
                assert round_down(least) <= loss.min() + 1e-9
                assert loss.max() <= round_up(most) + 1e-9
            if region.has_tail:
                least, most = offset.tail_loss(region, 0.5)
                x = np.array([point(region, u, s) for u in np.linspace(0.5, 3.5, 60)])
                loss = law.log_density(x) - law.log_density((x - s) * math.exp(-t)) + t
                assert not round_down(least) > loss.min() + 1e-9
                assert not round_up(most) < loss.max() - 1e-9


@pytest.mark.parametrize(
    ("law", "b"),
    [(ArsinhNormal("0.6"), 3.0), (Log1pNormal("0.5"), 2.0), (UniformLogNormal("0.8"), 2.0)],
    ids=repr,
)
@pytest.mark.parametrize("dilation", [F(-1, 5), F(1, 4)])
def test_moments_of_tails(law: NoiseDistribution, b: float, dilation: Fraction) -> None:
    s, t, start = 0.75, float(dilation), 3.0
    finite = 0
    with precision(96):
        offset = Offset(law, ball(F(3, 4)), ball(dilation))
        for region in (Left(offset.shift), Right(offset.shift)):
            bound = Tail(offset, region, start).log_moment_upper(b)
            u = np.linspace(start, start + 25, 200_001)
            x = -np.exp(u) if isinstance(region, Left) else s + np.exp(u)
            log_p = law.log_density(x)
            loss = log_p - law.log_density((x - s) * math.exp(-t)) + t
            truth = integrate.trapezoid(np.exp(log_p + b * loss + u), u)
            assert math.log(truth) <= bound + 1e-9
            finite += math.isfinite(bound) and bound < math.log(truth) + 3
    assert finite


# ---- what shift and dilation cost ----------------------------------------------------------------


@pytest.mark.parametrize("law", [law for law in LAWS if law.growth().score is not None], ids=repr)
def test_costs_of_shift_and_dilation(law: NoiseDistribution) -> None:
    shift, dilation = F(1, 2), F(1, 4)
    forward, reverse = (tail(law, shift, dilation) for tail in (forward_tail, reverse_tail))
    assert forward is not None
    for order in (1.01, 2.0, 12.0):
        a = F(repr(order))
        bound = forward.constant + forward.slope * a
        assert renyi(law, order, 0.5, 0.25) <= float(bound)
        if reverse is not None:
            bound = reverse.constant + reverse.slope * a + reverse.spread / (a - 1)
            assert renyi(law, order, 0.5, 0.25, reverse=True) <= float(bound)


def test_a_dilation_by_itself_in_both_directions() -> None:
    """max(1, sup A - 1) |t| is the largest loss, and nothing below it is a bound."""
    laws: list[tuple[NoiseDistribution, float]] = [
        (StudentT("2.5"), 2.5),
        (StudentT("0.5"), 1.0),
        (GeneralizedCauchy("3.5"), 2.5),
        (PolyPlace(4), 4.0),
    ]
    for law, slope in laws:
        for t in (F(1, 4), F(-1, 4)):
            low, high = law.max_divergence_bounds(shift=0, dilation=t)
            assert low <= slope * 0.25 * (1 + 1e-12)
            assert high >= slope * 0.25 * (1 - 1e-9)


def test_orders_without_a_finite_divergence() -> None:
    for law, k in ((Laplace(), 1), (Gaussian(), 2)):
        limit = 1 / -math.expm1(-k * 0.25)
        for shift in (F(0), F(1, 2)):
            pairs = ((F(repr(limit * 0.99)), True), (F(repr(limit * (1 + 1e-9))), False))
            for order, finite in pairs:
                value = law.renyi(order, shift=shift, dilation=F(1, 4), direction="reverse")
                assert math.isfinite(value) == finite


# ---- every law -----------------------------------------------------------------------------------


@each_law
def test_facts_of_every_law(law: NoiseDistribution) -> None:
    v = np.linspace(-8, 4, 481)
    h = 1e-5
    psi: Callable[[FloatArray], FloatArray] = lambda y: -law.log_density(np.exp(y))  # noqa: E731
    slope = (psi(v + h) - psi(v - h)) / (2 * h)
    with precision(96):
        stated = np.array([float(law._ball_elasticity(special.number(float(y)))) for y in v])
        limit = law._elasticity_limit()
        bounds = [law._elasticity_slope(special.number(float(y))) for y in v]
    assert np.all(stated >= 0)
    assert np.all(np.diff(stated) >= -1e-15)
    assert np.all(np.abs(slope - stated) <= 1e-4 * (1 + stated))
    if limit is not None:
        assert stated[-1] <= float(limit) <= stated[-1] * 1.7
    score = law.growth().score
    if score is not None:
        rate = stated / np.exp(v)
        assert rate.max() <= float(score) * (1 + 1e-12)
        assert rate.max() >= 0.97 * float(score)
    rise = np.diff(stated) / np.diff(v)
    for place, bound in enumerate(bounds[:-1]):
        if not bound.is_nan():
            assert rise[place:].max() <= float(bound) * (1 + 1e-9)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("u", [0.01, 0.4, 2.0])
def test_stretched_laws(sigma: float, u: float) -> None:
    y = np.linspace(1e-3, 6, 4001)
    arsinh = np.arcsinh(math.exp(u) * np.sinh(sigma * y)) / sigma
    log1p = np.log1p(math.exp(u) * np.expm1(sigma * y)) / sigma
    for g in (arsinh, log1p):
        assert np.all((g >= y) & (g - y <= u / sigma * (1 + 1e-12)))
        assert np.all(np.diff(g) >= np.diff(y) * (1 - 1e-9))
        # Half of u / sigma would not do.
        assert (g - y).max() > 0.51 * u / sigma


def test_the_score_of_the_arsinh_normal_law_is_rounded_up() -> None:
    z = np.linspace(0, 5, 100_001)
    most = float((z / np.cosh(z)).max())
    assert 0.66274 < most < 0.66275
    assert math.sqrt(1 + 0.66275**2) > math.asinh(1 / 0.66275)
    assert math.sqrt(1 + 0.66274**2) < math.asinh(1 / 0.66274)
