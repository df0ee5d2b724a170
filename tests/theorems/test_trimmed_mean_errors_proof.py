"""The page of proofs on errors of trimmed means, attacked by enumeration of whole laws."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from smoothdp.noise import StudentT
from smoothdp.noise.calibration.pure import pure_shift
from smoothdp.paper_bounds import (
    bun_steinke_proposition_39,
    bun_steinke_proposition_39_improved,
)
from smoothdp.queries import TrimmedMean

Law = dict[int, Fraction]


def samples(law: Law, n: int) -> Iterator[tuple[Fraction, list[int]]]:
    """Yield every sorted sample of a small law with its probability."""
    values = sorted(law)
    for counts in itertools.product(range(n + 1), repeat=len(values) - 1):
        if sum(counts) <= n:
            weight = Fraction(math.factorial(n))
            x: list[int] = []
            for value, count in zip(values, (*counts, n - sum(counts)), strict=True):
                weight *= law[value] ** count / math.factorial(count)
                x += [value] * count
            yield weight, x


def mean_and_variance(law: Law) -> tuple[Fraction, Fraction]:
    mean = sum((v * p for v, p in law.items()), Fraction(0))
    return mean, sum((p * (v - mean) ** 2 for v, p in law.items()), Fraction(0))


def random_law(rng: random.Random) -> Law:
    size = rng.choice([2, 2, 3])
    weights = [rng.randrange(1, 40) for _ in range(size)]
    values = rng.sample(range(-10, 11), size)
    return {v: Fraction(w, sum(weights)) for v, w in zip(values, weights, strict=True)}


# ---- statements 1 and 2 --------------------------------------------------------------------------


def test_variance_and_bias_in_exact_rationals() -> None:
    """Windows that leave out any numbers on both sides; symmetric ones by Proposition 39 too."""
    rng = random.Random(39)
    spread = bias = 0.0
    for _ in range(250):
        n = rng.randrange(1, 9)
        low = rng.randrange(n)
        high = low if 2 * low < n and rng.random() < 0.5 else rng.randrange(n - low)
        law = random_law(rng)
        mean, variance = mean_and_variance(law)
        width = n - low - high
        first = second = Fraction(0)
        for weight, x in samples(law, n):
            y = sum(x[low : n - high]) - width * mean
            first += weight * y
            second += weight * y * y
        most = Fraction(n - 1, n) * max(low * (n - low), high * (n - high)) * variance
        assert second - first**2 <= n * variance
        assert first**2 <= most
        if low == high:
            assert second <= (n + low * (n - low)) * variance
        if low + high:
            spread = max(spread, float((second - first**2) / (n * variance)))
            bias = max(bias, float(first**2 / most) if most else 0.0)
    assert spread > 0.8
    assert bias > 0.5
    # Draws that are not independent: copies of one sign, n = 9, m = 1. Var Y = 49 > 9.
    copies = [sum([sign] * 9) - 2 * sign for sign in (1, -1)]
    assert sum(y * y for y in copies) / 2 > 9


def test_no_smaller_constant() -> None:
    """Ones with probability .95 m / n: .9 m in the place of m is refuted, m is not."""
    n, m = 10**6, 2000
    p = 0.95 * m / n
    error = p * p * float(stats.binom.cdf(m, n, p))
    variance = p * (1 - p)
    assert error > n * (1 + 0.9 * m) / (n - 2 * m) ** 2 * variance
    assert error <= bun_steinke_proposition_39_improved(n, trim=m) * variance
    for n, m in ((3, 1), (10, 0), (10, 4), (1001, 1), (10_000, 200)):
        best = bun_steinke_proposition_39_improved(n, trim=m)
        assert best <= n * (1 + m) / (n - 2 * m) ** 2 * (1 + 1e-12)
        assert best <= n * (1 + math.sqrt(8) * m) / (n - 2 * m) ** 2 * (1 + 1e-12)
        assert best <= bun_steinke_proposition_39(n, trim=m)


# ---- statement 3 ---------------------------------------------------------------------------------


def trimmed(x: Sequence[float], m: int) -> float:
    return sum(sorted(x)[m : len(x) - m]) / (len(x) - 2 * m)


def two_point(n: int, p: float) -> Iterator[tuple[float, int]]:
    """Yield how many ones of n there are, with the probability, where it is above 1e-18."""
    for ones, weight in enumerate(stats.binom.pmf(np.arange(n + 1), n, p).tolist()):
        if weight > 1e-18:
            yield weight, ones


@pytest.mark.parametrize("p", [0.03, 0.5])
@pytest.mark.parametrize(("n", "m", "t"), [(7, 1, 0.2), (25, 3, 0.5), (40, 8, 0.05)])
def test_theorem_51_in_full(n: int, m: int, t: float, p: float) -> None:
    """Ones and zeros, outputs in [-1, 2], Var[Z]/s^2 = 20; the noise alone breaks the last line."""
    query = TrimmedMean(m, bounds=(-1, 2), truncate="output")
    variance, ratio = p * (1 - p), 20.0
    error = noise = 0.0
    for weight, ones in two_point(n, p):
        x = [1.0] * ones + [0.0] * (n - ones)
        value = min(max(trimmed(x, m), -1.0), 2.0)
        assert query.value(x) == pytest.approx(value)
        error += weight * (value - p) ** 2
        noise += weight * query.smooth_sensitivity(x, smoothing=str(t)) ** 2
    kept = n - 2 * m
    square = 2 * n * variance / kept**2 + math.exp(-2 * t * m) * 9
    assert noise <= square
    assert error <= (n + m * (n - m)) / kept**2 * variance
    bound = (n + m * (n - m)) / kept**2 * variance + square * ratio
    assert error + noise * ratio <= bound


# ---- statement 4 ---------------------------------------------------------------------------------


def test_four_ends_are_not_enough() -> None:
    """The numbers reached from 0: how many, how large, and that each map moves d by at most 1."""

    def neighbours(x: Fraction) -> list[Fraction]:
        found = []
        for sign in (1, -1):
            found += [2 * x + sign, x / 2 + sign, (x - sign) / 2, 2 * (x - sign)]
        return found

    distance = {Fraction(0): 0}
    layer = [Fraction(0)]
    for k in range(1, 6):
        layer = sorted({y for x in layer for y in neighbours(x)} - set(distance))
        distance.update(dict.fromkeys(layer, k))
        assert len(layer) <= 8**k
        assert max(layer) <= 2 ** (k + 1)
        assert layer == sorted(-x for x in layer)
    for x, k in distance.items():
        assert x.denominator & (x.denominator - 1) == 0
        for y in neighbours(x):
            assert x in neighbours(y)
            assert k == 5 or abs(distance[y] - k) <= 1
    # Its second moment is finite: 8^k numbers, 4^(k + 1) at most each, e^(-4 k).
    assert 8 * 4 * math.exp(-4) < 1


# ---- statement 5 ---------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["0.01", "0.3", "1", "7", "100"])
def test_the_noise_of_the_corollaries_is_private(epsilon: str) -> None:
    """s = sqrt(3) epsilon / 4 at t = epsilon / 6 is below the exact shift of Student's T(3)."""
    claim = pure_shift(StudentT(3), epsilon, Fraction(epsilon) / 6)
    assert float(claim.exact_shift) >= math.sqrt(3) / 4 * float(epsilon) * (1 - 1e-12)


@pytest.mark.parametrize(
    ("epsilon", "n", "p"), [(1.0, 170, 0.5), (0.5, 330, 0.5), (1.0, 190, 0.05)]
)
def test_corollary_52_with_constants(epsilon: float, n: int, p: float) -> None:
    """Ones and zeros, outputs in [0, 1]."""
    spread = math.sqrt(p * (1 - p))
    log = math.log(2 + n / spread)
    m = math.ceil(6 * log / epsilon)
    assert n >= 4 * m
    t = Fraction(epsilon) / 6

    def parts(trim: int) -> tuple[float, float]:
        query = TrimmedMean(trim, bounds=(0, 1), truncate="output")
        error = noise = 0.0
        for weight, ones in two_point(n, p):
            x = [1.0] * ones + [0.0] * (n - ones)
            error += weight * (trimmed(x, trim) - p) ** 2
            noise += weight * query.smooth_sensitivity(x, smoothing=t) ** 2
        return error, noise

    error, noise = parts(m)
    assert error <= 4 * (1 + m) * spread**2 / n
    assert noise <= 9 * spread**2 / n
    total = error + noise * 16 / epsilon**2
    assert total <= spread**2 / n * (8 + 24 * log / epsilon + 144 / epsilon**2)
    # With next to no trimming the noise is far beyond that.
    assert parts(1)[1] > 9 * spread**2 / n


def test_corollary_52_is_false_for_large_epsilon() -> None:
    """Normal laws with means 1/sqrt n and -1/sqrt n: the best answer of all, by its posterior."""
    z = np.linspace(-12, 12, 200_001)
    first, second = stats.norm.pdf(z, 1), stats.norm.pdf(z, -1)
    # z = sqrt n times the average; errors times n.
    answer = (first - second) / (first + second)
    risk = float(np.trapezoid(((answer - 1) ** 2 * first + (answer + 1) ** 2 * second) / 2, z))
    assert risk >= 2 * float(stats.norm.cdf(-1)) > 0.31
    for constant in (1.0, 1e3, 1e6):
        n, epsilon = 100, 100 * constant
        log = math.log(2 * math.sqrt(n))
        assert n >= constant * log / epsilon
        assert constant * (log / epsilon + 1 / epsilon**2) < risk


# ---- statements 6 and 7 --------------------------------------------------------------------------


def errors_of_signs(
    n: int, m: int, bounds: tuple[Fraction, Fraction], t: Fraction
) -> tuple[float, float]:
    """Return E F^2 and E S^2 for signs, which are 1-subgaussian."""
    query = TrimmedMean(m, bounds=bounds)
    low, high = (float(b) for b in bounds)
    error = noise = 0.0
    for weight, ones in two_point(n, 0.5):
        x = [1.0] * ones + [-1.0] * (n - ones)
        error += weight * trimmed([min(max(v, low), high) for v in x], m) ** 2
        noise += weight * query.smooth_sensitivity(x, smoothing=t) ** 2
    return error, noise


@pytest.mark.parametrize("r", ["1/2", "3"])
@pytest.mark.parametrize(("n", "m", "t"), [(9, 1, "0.1"), (30, 4, "0.5"), (60, 3, "1")])
def test_clamped_inputs_of_signs(n: int, m: int, t: str, r: str) -> None:
    size, kept = Fraction(r), n - 2 * m
    error, noise = errors_of_signs(n, m, (-size - 1, size), Fraction(t))
    outside = math.exp(-(float(size + 1) ** 2) / 2) + math.exp(-(float(size) ** 2) / 2)
    second = math.sqrt(2 * n * outside / kept)
    assert error <= (math.sqrt(n) / kept + second) ** 2
    full = float(2 * size + 1)
    top = 8 * math.log(2 * n) + math.exp(-2 * float(t) * m) * full**2
    assert noise <= top / kept**2
    # Bounds that are nearer than R on one side: the bias remains.
    if n == 60 and size == 3:
        error, _ = errors_of_signs(n, m, (Fraction(-1, 5), size), Fraction(t))
        assert error > (math.sqrt(n) / kept + second) ** 2


def least_subgaussian(values: Sequence[float], chances: Sequence[float]) -> float:
    """Return about the least tau^2 with ln E e^(l X) <= l^2 tau^2 / 2, mean 0."""
    rates = np.geomspace(1e-3, 1e3, 4001)
    rates = np.concatenate([-rates, rates])
    logs = np.logaddexp.reduce(
        np.log(chances)[:, None] + np.outer(np.asarray(values), rates), axis=0
    )
    return float(np.max(2 * logs / rates**2)) * (1 + 1e-6)


def test_maximum_of_subgaussian_draws() -> None:
    """E max (X_i - mu)^2 <= 2 tau^2 ln(2n), by laws of two and three values, not all symmetric."""
    rng = np.random.default_rng(45)
    closest = 0.0
    for _ in range(300):
        size = int(rng.integers(2, 4))
        chances = rng.dirichlet(np.full(size, 0.3)) * (1 - 1e-9) + 1e-9 / size
        values = rng.normal(size=size) * 3
        values -= chances @ values
        tau2 = least_subgaussian(values.tolist(), chances.tolist())
        squares = values**2
        for n in (1, 2, 5, 30, 1000):
            levels = np.sort(squares)
            below = np.array([float(chances[squares <= v].sum()) ** n for v in levels])
            maximum = float(levels @ np.diff(np.concatenate([[0.0], below])))
            assert maximum <= 2 * tau2 * math.log(2 * n)
            closest = max(closest, maximum / (2 * tau2 * math.log(2 * n)))
    assert closest > 0.7
    # Not so around another point: a constant 10 is subgaussian for every tau.
    assert 2 * math.log(2 * 50) < 10.0**2


@pytest.mark.parametrize(("width", "lowest", "highest"), [(1000, 1.0, 1.0), (2, 0.5, 2.0)])
def test_corollaries_47_and_48_with_constants(width: int, lowest: float, highest: float) -> None:
    epsilon = 1.0
    log = math.log(2 + (width + highest) / lowest)
    m = math.ceil(6 * log / epsilon)
    n = 4 * m
    reach = Fraction(highest * math.sqrt(8 * math.log(2 * n)))
    # The mean, 0, at the left end of where it may be.
    bounds = (-reach, width + reach)
    error, noise = errors_of_signs(n, m, bounds, Fraction(epsilon) / 6)
    assert error <= 1 / n + (12 * m + 2) / n**2
    assert noise <= 4 * (72 * math.log(2 * n) + 2) / n**2
    bracket = 14 + 72 * log / epsilon + 7010 * math.log(n) / epsilon**2
    assert error + 16 * noise <= 1 / n + bracket / n**2
    if width == 1000:
        _, noise = errors_of_signs(n, 1, bounds, Fraction(epsilon) / 6)
        assert noise > 4 * (72 * math.log(2 * n) + 2) / n**2


def test_the_logarithm_has_to_be_positive() -> None:
    """Corollary 47 at (b - a) / sigma = e^-K: the right side is negative, whatever the constant."""
    n, epsilon = 10, 0.5
    for constant in (1.0, 100.0):
        k = 1000.0
        right = 1 / n + constant / n**2 * (-k / epsilon + math.log(n) / epsilon**2)
        assert right < 0
