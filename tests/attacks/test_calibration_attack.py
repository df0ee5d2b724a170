"""Attacks on calibrated noise: the largest loss on a grid of dilations, from own densities."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import smoothdp as sd

Density = Callable[[Any], Any]


def poly_place(alpha: float) -> Density:
    norm = alpha / (2 * (2 * (1 - 1 / alpha) ** alpha + alpha - 1))
    return lambda x: np.where(
        np.abs(x) < 1 / alpha,
        np.log(norm * (alpha - 1)) + (alpha - 1) * np.log1p(-np.minimum(np.abs(x), 1 / alpha)),
        np.log(norm * (alpha + 1))
        + alpha * np.log1p(-1 / alpha**2)
        - (alpha + 1) * np.log1p(np.abs(x)),
    )


def student_t(degrees: float) -> Density:
    start = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)
    start -= math.log(degrees * math.pi) / 2
    return lambda x: start - (degrees + 1) / 2 * np.log1p(x * x / degrees)


def generalized_cauchy(power: float) -> Density:
    start = math.log(power * math.sin(math.pi / power) / (2 * math.pi))
    return lambda x: start - np.log1p(np.abs(x) ** power)


LAWS: dict[str, tuple[Callable[[str], Any], Callable[[float], Density]]] = {
    "PolyPlace": (sd.noise.PolyPlace, poly_place),
    "StudentT": (sd.noise.StudentT, student_t),
    "GeneralizedCauchy": (sd.noise.GeneralizedCauchy, generalized_cauchy),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("has_smoothing", [True, False])
def test_the_largest_loss_is_within_epsilon(name: str, has_smoothing: bool) -> None:
    rng = random.Random(name)
    make, density_of = LAWS[name]
    for _ in range(8):
        epsilon = float(f"{10 ** rng.uniform(-1.5, 1):.3g}")
        smoothing = float(f"{epsilon * rng.uniform(0.02, 0.25):.3g}") if has_smoothing else 0.0
        shape = f"{rng.uniform(2.1, 0.9 * epsilon / smoothing if smoothing else 9):.3f}"
        log_density = density_of(float(shape))
        found = make(shape).calibrate(sd.PureDP(epsilon), smoothing=smoothing)
        shift = found.shift
        far = 10 ** np.linspace(-4, 8, 3001)
        grid = np.concatenate([-far, far, shift + far, shift - far, np.linspace(-4, 4, 8001)])
        for dilation in np.linspace(0, smoothing, 9):
            moved = log_density((grid - shift) / math.exp(dilation)) - dilation
            worst = float(np.abs(log_density(grid) - moved).max())
            assert worst <= epsilon * (1 + 1e-9) + 1e-11, (name, shape, epsilon, dilation)


@pytest.mark.parametrize("smoothing", ["0", "0.05"])
def test_renyi_divergences_are_within_rho(smoothing: str) -> None:
    width = 0.85
    grid = np.sinh(np.linspace(-13, 13, 60001)) * 0.05

    def log_density(x: Any) -> Any:  # sinh(width Y) / width
        return (
            -((np.arcsinh(width * x) / width) ** 2) / 2
            - math.log(2 * math.pi) / 2
            - np.log1p((width * x) ** 2) / 2
        )

    guarantee = sd.ZCDP("0.1")
    shift = sd.noise.ArsinhNormal("0.85").calibrate(guarantee, smoothing=smoothing).shift
    weights = np.gradient(grid)
    for dilation in np.linspace(0, float(smoothing), 4):
        p = log_density(grid)
        q = log_density((grid - shift) / math.exp(dilation)) - dilation
        for one, other in ((p, q), (q, p)):
            for order in (1.01, 1.5, 3, 10, 40):
                total = np.sum(weights * np.exp(np.minimum(600, order * one + (1 - order) * other)))
                assert math.log(total) / (order - 1) <= order * 0.1 * (1 + 1e-3)


def test_a_mechanism_without_smoothing_refuses_a_statistic_that_needs_it() -> None:
    """Moved to a median by `replace`, the noise of a mean would be n times too small."""
    import dataclasses

    mean = sd.mechanisms.SmoothNoise.calibrate(
        sd.queries.Mean((0, 120)), guarantee=sd.PureDP(1), n_records=1000
    )
    with pytest.raises(sd.errors.SmoothdpError):
        dataclasses.replace(mean, query=sd.queries.Median((0, 120))).release([50.0] * 1000)


@pytest.mark.parametrize("change", ["guarantee", "smoothing", "exact_shift", "label"])
def test_a_calibration_that_says_more_is_refused(change: str) -> None:
    import dataclasses

    found = sd.noise.PolyPlace(10).calibrate(sd.PureDP(1), smoothing="0.1")
    more: dict[str, Any] = {
        "guarantee": sd.PureDP("0.99"),
        "smoothing": Fraction(1, 5),
        "exact_shift": found.exact_shift * Fraction(10**12 + 1, 10**12),
        "label": "true",
    }
    with pytest.raises(sd.errors.SmoothdpError):
        dataclasses.replace(found, **{change: more[change]})
