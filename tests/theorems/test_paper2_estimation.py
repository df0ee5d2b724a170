"""Paper 2 (Bun, Steinke): Lemmas 8, 12 and 27, and mean estimation (section 6.1)."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

from smoothdp.queries import TrimmedMean


def renyi(p: list[float], q: list[float], order: float) -> float:
    return math.log(sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))) / (
        order - 1
    )


def random_law(rng: random.Random, size: int) -> list[float]:
    weights = [rng.expovariate(1) ** 3 + 1e-9 for _ in range(size)]
    return [w / sum(weights) for w in weights]


# ---- section 2 --------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1.01, 1.5, 2.0, 7.0])
@pytest.mark.parametrize(("mean", "sigma"), [(1.0, 1.0), (-2.0, 1.5), (0.3, 0.2)])
def test_lemma_8_gaussians(order: float, mean: float, sigma: float) -> None:
    """The integral of p^order q^(1 - order), by the trapezoidal rule, which is spectral here."""
    centre = order * mean
    x = centre + sigma * np.linspace(-14, 14, 20_001)
    log_p, log_q = (
        -((x - m) ** 2) / (2 * sigma**2) - math.log(sigma * math.sqrt(2 * math.pi))
        for m in (mean, 0.0)
    )
    whole = float(np.trapezoid(np.exp(order * log_p + (1 - order) * log_q), x))
    assert math.log(whole) / (order - 1) == pytest.approx(
        order * mean**2 / (2 * sigma**2), rel=1e-9
    )


def test_lemma_12_triangle_like_inequality() -> None:
    """2000 random triples of laws and orders; it is attained in the limit, so not by slack."""
    rng = random.Random(12)
    closest = 0.0
    for _ in range(2000):
        p, q, r = (random_law(rng, rng.choice([2, 3, 5])) for _ in range(3))
        size = min(len(p), len(q), len(r))
        p, q, r = ([v / sum(law[:size]) for v in law[:size]] for law in (p, q, r))
        beta, gamma = (1 + rng.expovariate(1) for _ in range(2))
        alpha = beta * gamma / (beta + gamma - 1)
        left = renyi(p, q, alpha)
        right = gamma / (gamma - 1) * renyi(p, r, beta) + renyi(r, q, gamma)
        assert left <= right * (1 + 1e-9) + 1e-12
        closest = max(closest, left / right)
    assert closest > 0.5


@pytest.mark.parametrize("sigma", [0.3, 1.0, 2.0])
def test_lemma_27_change_of_variables(sigma: float) -> None:
    """g(x) = arsinh(sigma x) / sigma: f_Y(g(x)) g'(x) is the slope of P(Y <= g(x))."""
    step = 1e-5
    for x in np.linspace(-3, 3, 13):
        slope = (_normal_cdf(math.asinh(sigma * (x + step)) / sigma)
                 - _normal_cdf(math.asinh(sigma * (x - step)) / sigma)) / (2 * step)  # fmt: skip
        y = math.asinh(sigma * x) / sigma
        density = math.exp(-(y**2) / 2) / math.sqrt(2 * math.pi) / math.hypot(1, sigma * x)
        assert slope == pytest.approx(density, rel=1e-6)


def _normal_cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


# ---- section 6.1: all databases of a small symmetric law ----------------------------------------

# Values, probabilities, standard deviation, and a sigma for which the law is subgaussian: a sign
# is 1-subgaussian, a law on [-2, 2] 2-subgaussian (paper, section 2.3).
LAWS = [
    ((-1.0, 1.0), (0.5, 0.5), 1.0, 1.0),
    ((-2.0, 0.0, 2.0), (0.1, 0.8, 0.1), math.sqrt(0.8), 2.0),
]
SIZES = [(3, 0), (3, 1), (5, 1), (5, 2)]
WINDOWS = [(-0.5, 0.5), (-0.9, 0.3), (-1.5, 1.5), (-3.0, 2.5)]


def databases(law: int, n: int) -> list[tuple[float, tuple[float, ...]]]:
    values, chances, _, _ = LAWS[law]
    found = []
    for places in itertools.product(range(len(values)), repeat=n):
        found.append((math.prod(chances[i] for i in places), tuple(values[i] for i in places)))
    return found


def trimmed(x: tuple[float, ...], m: int) -> float:
    return sum(sorted(x)[m : len(x) - m]) / (len(x) - 2 * m)


def clamped(x: tuple[float, ...], a: float, b: float) -> tuple[float, ...]:
    return tuple(min(max(v, a), b) for v in x)


def tails(a: float, b: float, sigma: float) -> float:
    return math.exp(-(b**2) / (2 * sigma**2)) + math.exp(-(a**2) / (2 * sigma**2))


def proposition_42(n: int, m: int, a: float, b: float, spread: float, sigma: float) -> float:
    kept = n - 2 * m
    second = math.sqrt(sigma**2 / spread**2 * 2 * n**2 / kept * tails(a, b, sigma))
    return spread**2 / n * (1 + 2 * m / kept + second) ** 2


@pytest.mark.parametrize("law", [0, 1])
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_lemma_43_clamping(law: int, n: int, m: int) -> None:
    sigma = LAWS[law][3]
    for a, b in WINDOWS:
        moved = sum(
            chance * (trimmed(clamped(x, a, b), m) - trimmed(x, m)) ** 2
            for chance, x in databases(law, n)
        )
        assert moved <= 2 * n / (n - 2 * m) * sigma**2 * tails(a, b, sigma)


@pytest.mark.parametrize("law", [0, 1])
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_proposition_42_error(law: int, n: int, m: int) -> None:
    """The first two displays are one number; both bound the error."""
    _, _, spread, sigma = LAWS[law]
    for a, b in WINDOWS:
        error = sum(chance * trimmed(clamped(x, a, b), m) ** 2 for chance, x in databases(law, n))
        kept = n - 2 * m
        first = math.sqrt(n * spread**2 / kept**2)
        second = math.sqrt(2 * n * sigma**2 / kept * tails(a, b, sigma))
        bound = proposition_42(n, m, a, b, spread, sigma)
        assert (first + second) ** 2 == pytest.approx(bound, rel=1e-12)
        assert error <= bound


def test_proposition_42_last_line_needs_some_trimming() -> None:
    """1 + O(m/n) is 1 at m = 0, and the second term is not 0 then."""
    assert proposition_42(100, 0, -7, 7, 1, 1) > 1.0001 / 100


@pytest.mark.parametrize("law", [0, 1])
@pytest.mark.parametrize(("n", "m"), [(3, 1), (5, 1), (5, 2)])
@pytest.mark.parametrize("t", ["0.1", "0.5"])
def test_theorem_46_error(law: int, n: int, m: int, t: str) -> None:
    """E (M - mu)^2 = the error of the clamped trimmed mean + E S^2 Var[Z] / s^2, at both terms."""
    _, _, spread, sigma = LAWS[law]
    variance_over_s2 = 3.0
    for a, b in ((-3, 3), (-4, 5)):
        query = TrimmedMean(m, bounds=(a, b))
        total = 0.0
        for chance, x in databases(law, n):
            scale = float(query.smooth_sensitivity(list(x), smoothing=t))
            noise = scale**2 * variance_over_s2
            total += chance * (trimmed(clamped(x, a, b), m) ** 2 + noise)
        noise_bound = 8 * sigma**2 * math.log(2 * n) + math.exp(-2 * m * float(t)) * (b - a) ** 2
        bound = proposition_42(n, m, a, b, spread, sigma)
        assert total <= bound + noise_bound / (n - 2 * m) ** 2 * variance_over_s2
