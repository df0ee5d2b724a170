"""Few steps without replacement against exact recursions; guesses where one loss rules.

D_(j+1)(E) = p0 D_j(E) + int_(m/2)^inf N(y) [G D_j(E / G) + D_j(E G)] dy, with
D_j(E) = 1 - E + E D_j(1 / E) below 1: the only kink is where G(y) = E.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from mpmath import ncdf

import smoothdp as sd
from smoothdp.composition.epsilon_ends import Guess, ends_beside, ends_near
from smoothdp.composition.routes.contour import Nearby
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.types import FloatArray

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def tail(x: FloatArray) -> FloatArray:
    """P(N(0, 1) > x)."""
    return np.array([0.5 * math.erfc(each / math.sqrt(2)) for each in np.ravel(x)]).reshape(x.shape)


class Steps:
    """D of one, two and three steps, as functions of arrays of E >= 1."""

    def __init__(self, rate: str, noise: str) -> None:
        self.q, self.m = float(Fraction(rate)), float(1 / Fraction(noise))
        q, m = self.q, self.m
        self.still = float(1 - (2 - q) * ncdf(-m / 2) - q * ncdf(m / 2))

    def ratio(self, y: FloatArray) -> FloatArray:
        return np.asarray(1 + self.q * np.expm1(self.m * y - self.m**2 / 2))

    def place(self, growth: FloatArray) -> FloatArray:
        return np.asarray(np.log1p((growth - 1) / self.q) / self.m + self.m / 2)

    def one(self, growth: FloatArray) -> FloatArray:
        y = self.place(growth)
        return self.q * tail(y - self.m) + (1 - self.q - growth) * tail(y)

    def points(self, kink: float) -> tuple[FloatArray, FloatArray]:
        """Return points and weights of N dy over y > m / 2, panels split at the kink."""
        ends = sorted({self.m / 2, kink, max(kink, self.m / 2) + 2, self.m + 11, self.m + kink + 9})
        edges = np.concatenate(
            [np.linspace(a, b, 5)[:-1] for a, b in itertools.pairwise(ends)] + [np.array(ends[-1:])]
        )
        half = 0.5 * np.diff(edges)[:, np.newaxis]
        y = (0.5 * (edges[1:] + edges[:-1])[:, np.newaxis] + half * _NODES).ravel()
        return y, (half * _WEIGHTS).ravel() * np.exp(-y * y / 2) / math.sqrt(2 * math.pi)

    def next(self, steps: int, growth: float) -> float:
        """Return D after one step more than some."""
        y, weights = self.points(float(self.place(np.array([growth]))[0]))
        ratio = self.ratio(y)
        lower = growth / ratio
        turned = self.at(steps, np.maximum(lower, 1 / lower))
        before = np.where(lower >= 1, turned, 1 - lower + lower * turned)
        moved = float(weights @ (ratio * before + self.at(steps, growth * ratio)))
        return self.still * float(self.at(steps, np.array([growth]))[0]) + moved

    def at(self, steps: int, growth: FloatArray) -> FloatArray:
        if steps == 1:
            return self.one(growth)
        return np.array([self.next(steps - 1, float(each)) for each in growth])


@lru_cache(maxsize=8)
def composed(rate: str, noise: str, count: int) -> sd.ComposedProfile:
    step = sd.SubsampledGaussian(rate, noise_multiplier=noise, sampling="without_replacement")
    return sd.compose([(step, count)])


@pytest.mark.parametrize(
    ("rate", "noise"),
    [("1/100", "1"), ("1/100", "5"), ("1/10", "2"), ("1/2", "1/2"), ("9/10", "3")],
)
def test_two_steps_by_an_integral(rate: str, noise: str) -> None:
    """Brackets hold the truth, are narrow, and do not hold that of a rate that is 1e-5 larger."""
    steps, other = (
        Steps(rate, noise),
        Steps(str(Fraction(rate) * Fraction(100_001, 100_000)), noise),
    )
    scale = math.sqrt(math.expm1(steps.m**2)) * steps.q
    for epsilon in (0.0, 0.3 * scale, 2 * scale, 4 * scale):
        bounds = composed(rate, noise, 2).log_delta_bounds(Fraction(epsilon))
        truth = math.log(steps.next(1, math.exp(epsilon)))
        assert bounds.lower - 1e-9 <= truth <= bounds.upper + 1e-9
        assert bounds.upper - bounds.lower < 2e-6
        assert math.log(other.next(1, math.exp(epsilon))) > bounds.upper


@pytest.mark.parametrize(("rate", "noise"), [("1/100", "1"), ("1/5", "2")])
def test_three_steps_by_two_integrals(rate: str, noise: str) -> None:
    steps = Steps(rate, noise)
    epsilon = 2 * math.sqrt(math.expm1(steps.m**2)) * steps.q
    bounds = composed(rate, noise, 3).log_delta_bounds(Fraction(epsilon))
    truth = math.log(steps.next(2, math.exp(epsilon)))
    assert bounds.lower - 1e-8 <= truth <= bounds.upper + 1e-8
    assert bounds.upper - bounds.lower < 2e-6


@pytest.mark.parametrize("count", [2, 5, 10])
def test_ends_of_few_steps(count: int) -> None:
    """The lower end was 0 where the curve is steep at 0: both are close, and certain."""
    whole = composed("1/100", "5", count)
    lower, upper = whole.epsilon_bounds("1e-6")
    assert 0 < lower <= upper <= lower * (1 + 1e-6)
    assert whole.delta_bounds(upper)[1] <= 1e-6 <= whole.delta_bounds(lower)[0]


def test_two_kinds_of_few_steps() -> None:
    """Where laws differ, the split goes over all of them: as good as one law at equal settings."""
    rate = Fraction(1, 50)
    steps = [
        sd.SubsampledGaussian(rate, noise_multiplier=1, sampling="without_replacement")
        for _ in range(3)
    ]
    apart = sd.compose(steps).log_delta_bounds(Fraction(1, 2))
    together = sd.compose([(steps[0], 3)]).log_delta_bounds(Fraction(1, 2))
    assert max(apart.lower, together.lower) <= min(apart.upper, together.upper)
    assert apart.upper - apart.lower < 1e-5


def test_a_guess_that_is_wrong_is_no_end() -> None:
    """Ends come from the certain bounds alone: where what is quick lies, there is none."""

    def certain(epsilon: object) -> LogBounds:
        return LogBounds(-float(epsilon) - 1e-9, -float(epsilon) + 1e-9)  # type: ignore[arg-type]

    goal, guess = LogBounds(-2.0, -2.0), Guess(1.9, 1.0)

    def says(offset: float) -> tuple[float | None, float | None]:
        def quick(e: float) -> Nearby:
            return Nearby(LogBounds(offset - e - 1e-9, offset - e + 1e-9), -1.0, 0.0)

        return ends_beside(certain, goal, guess, lambda _: quick)

    lower, upper = says(0.0)
    assert lower is not None
    assert upper is not None
    assert 2 - 3e-9 < lower < 2 < upper < 2 + 3e-9
    assert says(1e-6)[0] is None
    assert says(-1e-6)[1] is None


@pytest.mark.parametrize("far", [2e-9, 4e-9, 6e-9])
def test_an_end_is_certain_though_bounds_are_wider_beside_the_root(far: float) -> None:
    """What is certain at the root says nothing of the ends: each is asked for by itself."""

    def certain(epsilon: object) -> LogBounds:
        at = float(epsilon)  # type: ignore[arg-type]
        width = 1e-9 if at < 2 + 5e-10 else far
        return LogBounds(-at - width, -at + width)

    goal = LogBounds(-2.0, -2.0)
    lower, upper = ends_near(certain, goal, Guess(1.9, 1.0))
    assert lower is not None
    assert upper is not None
    assert certain(upper).upper <= goal.lower
    assert certain(lower).lower >= goal.upper


@pytest.mark.slow
def test_one_large_loss_among_a_million() -> None:
    """The saddle point says 5.7 here, the one loss that is large .03."""
    step = sd.SubsampledGaussian(Fraction(1, 10**6), noise_multiplier="0.6")
    whole = sd.compose([(step, 10**6)])
    lower, upper = whole.epsilon_bounds("1e-8")
    assert 0.0306 < lower < upper < 0.0307
    assert whole.delta_bounds(upper)[1] <= 1e-8 <= whole.delta_bounds(lower)[0]


def test_many_deltas_of_one_curve() -> None:
    """Ends do not depend on what was asked before, and hold by the profile itself."""
    targets = [Fraction(1, 10**i) for i in (3, 5, 8, 12)]
    step = sd.SubsampledGaussian(Fraction(256, 60000), noise_multiplier="1.1")
    whole = sd.compose([(step, 3516)])
    for target in targets:
        fresh = sd.SubsampledGaussian(Fraction(256, 60000), noise_multiplier="1.1")
        lower, upper = whole.epsilon_bounds(target)
        assert (lower, upper) == sd.compose([(fresh, 3516)]).epsilon_bounds(target)
        assert whole.delta_bounds(upper)[1] <= target <= whole.delta_bounds(lower)[0]
        assert upper - lower < 1e-7
