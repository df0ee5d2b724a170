"""Few steps of training: the subsampled Gaussian against literal integration, at any depth."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import acb, arb
from mpmath import mpf

import smoothdp as sd
from smoothdp.claims.curves.profile_curve import curve_of_profile
from smoothdp.composition.laws.oscillation import Waves, damped_sums, short_step
from smoothdp.composition.laws.product import tilt_at, tilt_rank
from smoothdp.exact.balls.balls import precision
from smoothdp.exact.balls.gauss_legendre import gauss_legendre
from smoothdp.training_runs.gaussian_step.subsampled_law import SubsampledGaussianLaw

Excess = Callable[[mpf], mpf]


class Step:
    """One step, by the definitions: hockey sticks as functions of the growth E, of any size."""

    def __init__(self, rate: str, noise: str) -> None:
        self.q, self.m = mpf(rate), 1 / mpf(noise)

    def ratio(self, y: mpf) -> mpf:
        return 1 - self.q + self.q * mpmath.exp(self.m * y - self.m**2 / 2)

    def place(self, growth: mpf) -> mpf:
        """Return y with G(y) = E; -inf if there is none."""
        inner = (growth - 1 + self.q) / self.q
        return (mpmath.log(inner) + self.m**2 / 2) / self.m if inner > 0 else -mpmath.inf

    def far(self, growth: mpf) -> mpf:
        """Return a y beyond which little is left of what a large loss adds."""
        return max(mpf(24), self.place(growth) + 14) + 20 * self.m

    def tail(self, y: mpf) -> mpf:
        return mpmath.erfc(y / mpmath.sqrt(2)) / 2

    def mixture(self, growth: mpf) -> mpf:
        y, q = self.place(growth), self.q
        if y == -mpmath.inf:
            return 1 - growth
        return q * self.tail(y - self.m) + (1 - q - growth) * self.tail(y)

    def base(self, growth: mpf) -> mpf:
        y, q = self.place(1 / growth), self.q
        if y == -mpmath.inf:
            return mpf(0)
        low, shifted = self.tail(-y), self.tail(self.m - y)
        return low - growth * ((1 - q) * low + q * shifted)

    def symmetric(self, growth: mpf) -> mpf:
        return (
            self.mixture(growth) if growth >= 1 else 1 - growth + growth * self.mixture(1 / growth)
        )

    def and_mixture(self, before: Excess, growth: mpf) -> mpf:
        """Return D of one more step, the mixture first."""

        def part(y: mpf) -> mpf:
            return mpmath.npdf(y) * self.ratio(y) * before(growth / self.ratio(y))

        return integral(part, -24, self.far(growth), self.place(growth / (1 - self.q)))

    def and_base(self, before: Excess, growth: mpf) -> mpf:
        kink = self.place(1 / (growth * (1 - self.q)))
        return integral(lambda y: mpmath.npdf(y) * before(growth * self.ratio(y)), -30, 24, kink)

    def and_symmetric(self, before: Excess, growth: mpf) -> mpf:
        def part(y: mpf) -> mpf:
            g = self.ratio(y)
            return mpmath.npdf(y) * (g * before(growth / g) + before(growth * g))

        q, half = self.q, self.m / 2
        at_zero = 1 - (2 - q) * self.tail(half) - q * self.tail(-half)
        return at_zero * before(growth) + integral(part, half, self.far(growth), self.place(growth))


def integral(part: Callable[[mpf], mpf], low: Any, high: Any, kink: mpf) -> mpf:
    """Integrate over panels that shrink towards a point where all derivatives vanish or jump."""
    n = 1 + int((high - low) * 2)
    edges = {mpf(low), mpf(high), *(low + (high - low) * mpf(i) / n for i in range(n + 1))}
    if kink > -mpmath.inf:
        near = (kink + sign * mpf(2) ** -i for i in range(30) for sign in (-1, 1))
        edges |= {point for point in (kink, *near) if low < point < high}
    # mpmath stops by absolute errors: in units of about the largest value.
    unit = max(abs(part(edge)) for edge in edges) or mpf(1)
    return unit * mpmath.quad(
        lambda y: part(y) / unit, sorted(edges), method="gauss-legendre", maxdegree=5
    )


def contains(bounds: Any, truth: mpf, width: float) -> None:
    log_truth = mpmath.log(truth)
    assert bounds.lower <= log_truth <= bounds.upper
    assert bounds.upper - bounds.lower <= width


@pytest.mark.parametrize(
    ("rate", "noise", "epsilon", "width"),
    [
        ("0.01", "1", "0.05", 1e-9),
        ("0.01", "2", "0.1", 2e-7),
        pytest.param("0.3", "0.8", "1.5", 1e-8, marks=pytest.mark.slow),
        # Heavy tails, far out: by the number of large losses.
        pytest.param("0.01", "2", "1", 1e-8, marks=pytest.mark.slow),
        pytest.param("0.01", "5", "0.5", 2e-3, marks=pytest.mark.slow),
        ("0.01", "5", "2", 2e-4),
    ],
)
def test_two_steps(rate: str, noise: str, epsilon: str, width: float) -> None:
    step = Step(rate, noise)
    with mpmath.workdps(40):
        growth = mpmath.exp(mpf(epsilon))
        forward = step.and_mixture(step.mixture, growth)
        backward = step.and_base(step.base, growth)
        item = sd.SubsampledGaussian(rate, noise_multiplier=noise)
        found = sd.compose([(item, 2)]).log_delta_bounds(Fraction(epsilon))
        contains(found, max(forward, backward), width)


def test_two_steps_at_an_epsilon_that_leaves_the_floats() -> None:
    """e^epsilon / rate is beyond floats, by the rate: this was an OverflowError."""
    step = Step("1e-5", "0.6")
    found = sd.compose([(sd.SubsampledGaussian("1e-5", noise_multiplier="0.6"), 2)])
    with mpmath.workdps(40):
        top = (750 - mpmath.log(step.q) + step.m**2 / 2) / step.m

        def part(y: mpf) -> mpf:
            density = mpmath.npdf(y) * step.ratio(y)
            return density * step.mixture(mpmath.exp(1500) / step.ratio(y))

        truth = mpmath.quad(part, [top + offset for offset in (-40, -20, -9, 0, 9, 20, 40)])
        contains(found.log_delta_bounds(Fraction(1500)), truth, math.inf)
        assert (
            found.log_delta_bounds(Fraction(1500)).upper
            < found.log_delta_bounds(Fraction(1100)).upper
        )


@pytest.mark.parametrize(
    ("rate", "noise", "epsilon", "width"),
    [
        ("0.02", "1", "0.05", 1e-3),
        pytest.param("0.2", "0.7", "1", 1e-4, marks=pytest.mark.slow),
        pytest.param("0.01", "2", "1", 1e-6, marks=pytest.mark.slow),
    ],
)
def test_two_steps_without_replacement(rate: str, noise: str, epsilon: str, width: float) -> None:
    step = Step(rate, noise)
    with mpmath.workdps(40):
        truth = step.and_symmetric(step.symmetric, mpmath.exp(mpf(epsilon)))
        item = sd.SubsampledGaussian(rate, noise_multiplier=noise, sampling="without_replacement")
        found = sd.compose([(item, 2)]).log_delta_bounds(Fraction(epsilon))
        contains(found, truth, width)


@pytest.mark.parametrize("epsilon", ["0.05", "0.4", "1.5"])
def test_three_steps_by_a_grid_of_points(epsilon: str) -> None:
    """Two of the losses on a grid of Gauss points in doubles, the third in closed form."""
    q, m = 0.3, 0.5
    nodes, weights = gauss_legendre(24)
    middles = np.arange(-11.5, 15, 1.0)
    y = np.add.outer(middles, 0.5 * nodes).ravel()
    w = np.tile(0.5 * weights, middles.size) * np.exp(-0.5 * y * y) / math.sqrt(2 * math.pi)
    g = 1 - q + q * np.exp(m * y - m * m / 2)
    growth = math.exp(float(epsilon)) / np.multiply.outer(g, g)
    inner = (growth - 1 + q) / q
    tail = np.vectorize(lambda x: 0.5 * math.erfc(x / math.sqrt(2)))
    place = (np.log(np.maximum(inner, 1e-300)) + m * m / 2) / m
    excess = q * tail(place - m) + (1 - q - growth) * tail(place)
    truth = float((w * g) @ np.where(inner > 0, excess, 1 - growth) @ (w * g))
    item = sd.SubsampledGaussian("0.3", noise_multiplier=2)
    composed = sd.compose([(item, 3)])
    lower, upper = composed.accountant.sides(0)[0].upper.log_bounds(Fraction(epsilon))
    assert lower - 1e-9 <= math.log(truth) <= upper + 1e-9
    assert upper - lower < 1e-8


# The mixture is the whole of which head and tail are the parts.
@pytest.mark.parametrize(
    "view",
    [pytest.param("mixture", marks=pytest.mark.slow), "base", "symmetric", "head", "tail"],
)
def test_transform_far_out_and_decay(view: str) -> None:
    """Beyond t = 64 the line leaves the real one: against a quadrature on a line of its own."""
    q, m = Fraction(1, 20), Fraction(1)
    whole = SubsampledGaussianLaw(q, m, view if view in ("base", "symmetric") else "mixture")  # type: ignore[arg-type]
    law: Any = whole
    low, high = mpf(-14), mpf(40)
    if view in ("head", "tail"):
        split = whole.split(0.5)
        assert split is not None
        law = split.head if view == "head" else split.tail
        cut = mpf(law.below if view == "head" else law.above)
        low, high = (low, cut) if view == "head" else (cut, high)
    if view == "symmetric":
        low = mpf(1) / 2
    share = mpf(1) / 20

    def ratio(y: mpmath.mpc) -> mpmath.mpc:
        return 1 - share + share * mpmath.exp(y - mpf(1) / 2)

    def moved(power: mpmath.mpc, height: float) -> mpmath.mpc:
        """Integrate N G^power along the line, joined to the ends of the interval."""
        s = mpmath.mpc(0, height)

        def part(y: mpmath.mpc) -> mpmath.mpc:
            return mpmath.exp(-y * y / 2) / mpmath.sqrt(2 * mpmath.pi) * ratio(y) ** power

        n = int(high - low) + 1
        places = [low + s + (high - low) * mpf(i) / n for i in range(n + 1)]
        total = mpmath.quad(part, places, method="gauss-legendre")
        steps = [mpf(2) ** -i for i in range(12, -1, -1)]
        for end, sign in ((low, 1), (high, -1)):
            if abs(end) < 13:
                rungs = [end, *(end + s * x for x in steps)]
                total += sign * mpmath.quad(part, rungs, method="gauss-legendre")
        return total

    with mpmath.workdps(22):
        half = mpf(1) / 2
        at_zero = 1 - (2 - share) * mpmath.ncdf(-half) - share * mpmath.ncdf(half)

        def truth(z: mpmath.mpc, height: float) -> mpmath.mpc:
            if view == "base":
                return moved(-z, -height)
            if view == "symmetric":
                return moved(z + 1, height) + moved(-z, -height) + at_zero
            return moved(z + 1, height)

        for tilt, t in ((2.0, 100.0), (9.0, 900.0)):
            here = truth(mpmath.mpc(tilt, 0), 0.0).real
            moments = law.moments(tilt)
            assert abs(mpmath.log(here) - moments.log_mgf) < moments.error
            step = short_step(t)
            sums = law.transform(tilt, step=step, count=3, budget=1e-16)
            for place in (1, 2):
                exact = truth(mpmath.mpc(tilt, place * step), 1.1) / here
                exact *= mpmath.expj(-place * step * sums.centre)
                gap = abs(exact - mpmath.mpmathify(complex(sums.values[place])))
                assert gap < float(sums.error[place]) < 1e-12
                assert abs(exact) < law.decay(tilt, place * step) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_damped_sums(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 800))
    waves = Waves(
        np.log(rng.dirichlet(np.ones(n))),
        rng.normal(0.0, 20.0, n),
        rng.normal(0.0, 2.0, n),
        rng.exponential(0.01, n),
    )
    step = short_step(float(rng.uniform(0.1, 3.0)))
    found = damped_sums(waves, first=50, step=step, count=100, budget=1e-9)
    with precision(120):
        for place in (0, 1, 37, 99):
            t = arb(step) * (50 + place)
            total = acb(0)
            for size, phase, x, damping in zip(*(part.tolist() for part in waves), strict=True):
                total += acb(arb(size) - t * arb(damping), arb(phase) + t * arb(x)).exp()
            gap = abs(total - acb(complex(found.values[place])))
            assert gap < found.constant + found.slope * step * (50 + place)


def test_arctan2() -> None:
    """Within 4 ulp, as assumed for arguments of the likelihood ratio."""
    rng = np.random.default_rng(3)
    x, y = np.exp(rng.uniform(-3, 60, 5000)), np.exp(rng.uniform(-60, 60, 5000))
    angles = np.arctan2(y, x)
    with precision(128):
        for a, b, angle in zip(x.tolist(), y.tolist(), angles.tolist(), strict=True):
            exact = (arb(b) / arb(a)).atan()
            assert abs(exact - arb(angle)) <= 4 * 2.0**-52 * exact


def test_ranks_of_tilts() -> None:
    for rank in range(-3000, 2000, 7):
        assert tilt_rank(tilt_at(rank)) == rank
        assert tilt_at(rank) < tilt_at(rank + 1) <= tilt_at(rank) * (1 + 1 / 63)


ITEMS: list[Any] = [
    [(sd.SubsampledGaussian("0.01", noise_multiplier=1), 100)],
    [
        (sd.SubsampledGaussian("0.01", noise_multiplier=2), 100),
        sd.PureDP("0.1", neighbours="add_remove"),
    ],
    [(sd.PureDP("0.1"), 400), (sd.PureDP("0.03"), 400), sd.LaplaceMechanism("2")],
    [sd.GaussianDP("0.3"), (sd.PureDP("0.05"), 40)],
    [sd.ZCDP("0.1"), (sd.PureDP("0.05"), 40)],
]


@pytest.mark.parametrize("items", ITEMS, ids=range(len(ITEMS)))
def test_bounds_do_not_depend_on_what_was_asked_before(items: Any) -> None:
    asked = [Fraction(e) for e in ("0.1", "1", "0.11", "0.5", "2", "0.101", "0")]
    used = sd.compose(items)
    used.epsilon_bounds("1e-7")
    found = [used.log_delta_bounds(epsilon) for epsilon in asked]
    for epsilon, bounds in zip(asked, found, strict=True):
        assert sd.compose(items).log_delta_bounds(epsilon) == bounds


@pytest.mark.parametrize("noise", ["1", "2"])
def test_few_steps_are_sharp(noise: str) -> None:
    """They had nothing better than ln of (1 - q)^-100."""
    step = sd.SubsampledGaussian("0.01", noise_multiplier=noise)
    lower, upper = sd.compose([(step, 100)]).epsilon_bounds("1e-6")
    assert lower <= upper <= lower * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", ["2", "4"])
def test_deep_deltas_of_few_steps(epsilon: str) -> None:
    step = sd.SubsampledGaussian("0.01", noise_multiplier=5)
    found = sd.compose([(step, 100)]).log_delta_bounds(Fraction(epsilon))
    assert found.upper - found.lower < 1e-4
    assert found.upper < -500


def test_a_curve_of_few_steps() -> None:
    """Where delta is never 0 that is known, and not searched for."""
    step = sd.SubsampledGaussian("0.01", noise_multiplier=1)
    composed = sd.compose([(step, 100)])
    assert composed.epsilon_bounds(0) == (1e15, math.inf)
    curve = curve_of_profile(composed, n_lines=20)
    assert 0.8 < curve(0.1) < 1 - 0.1 - composed.delta_bounds(0)[0] / 2
    bounded = sd.compose([(sd.PureDP("0.125"), 4), sd.LaplaceMechanism(2)])
    assert bounded.epsilon(0) == pytest.approx(1.0, rel=1e-12)
