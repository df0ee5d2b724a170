"""Statements of proofs/gaussian-dp: against exact curves of finite laws, and mpmath alone."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from mpmath import mp, mpf

import smoothdp as sd
from smoothdp.claims.excess import pure_of_mu
from smoothdp.claims.guarantees.parts import part_of
from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.probabilities import discrete_gaussian_mu as module
from smoothdp.exact.probabilities.discrete_gaussian_mu import (
    discrete_gaussian_mu,
    sigma_squared_of_mu,
)
from smoothdp.mechanisms.additive.integer_noise import whole_law
from smoothdp.mechanisms.additive.whole_laws import DiscreteGaussianLaw
from smoothdp.queries import ClampedMean, Count, Sum, Variance

NORMAL = NormalDist()


def corners(p: np.ndarray, q: np.ndarray) -> list[tuple[float, float]]:
    """Levels and powers of the best tests of p against q, by falling likelihood ratio."""
    with np.errstate(divide="ignore"):
        order = np.argsort(-(np.log(q) - np.log(p)), kind="stable")
    return list(zip(np.cumsum(p[order]), np.cumsum(q[order]), strict=True))


def excess(p: np.ndarray, q: np.ndarray, mu: float) -> float:
    """The most by which a best test beats K_mu, in standard deviations; at levels floats tell."""
    worst = -math.inf
    for level, power in corners(p, q):
        if level > 1e-9 and power < 1 - 1e-9:
            worst = max(worst, NORMAL.inv_cdf(power) - NORMAL.inv_cdf(level) - mu)
    return worst


def upper_quantile(tail: mpf) -> mpf:
    """The x with P(N(0, 1) > x) = tail <= 1/2, by Newton on the logarithm."""
    x = mp.sqrt(max(mpf(0), -2 * mp.log(2 * tail)))
    for _ in range(200):
        value = mp.erfc(x / mp.sqrt(2)) / 2
        slope = -mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi) / value
        step = (mp.log(value) - mp.log(tail)) / slope
        x -= step
        if abs(step) < mpf(10) ** (10 - mp.dps):
            return x
    raise AssertionError("no root")


def steps(sigma_squared: Fraction, last: int) -> list[mpf]:
    """d_0, ..., d_last of the discrete Gaussian, by sums of its weights."""
    v = mpf(sigma_squared.numerator) / sigma_squared.denominator
    reach = last + 10 + math.ceil(30 * math.sqrt(sigma_squared))
    weights = [mp.exp(-mpf(z * z) / (2 * v)) for z in range(reach + 1)]
    whole = 2 * mp.fsum(weights) - 1
    tails = list(itertools.accumulate(reversed(weights)))[::-1]
    q = [upper_quantile(tails[c] / whole) for c in range(1, last + 2)]
    return [2 * q[0], *(b - a for a, b in itertools.pairwise(q))]


@pytest.mark.parametrize("mu", ["0.01", "0.5", "1", "3", "8"])
def test_pure_claims_imply_mu(mu: str) -> None:
    exact = Fraction(mu)
    epsilon = float(pure_of_mu(exact))
    with mp.workdps(40):
        tail = mp.erfc(mpf(mu) / mp.sqrt(8)) / 2
        truth = mp.log((1 - tail) / tail)
        assert truth * (1 - mpf(2) ** -50) <= mpf(epsilon) <= truth * (1 + mpf(2) ** -52)
    assert sd.PureDP(pure_of_mu(exact)).implies(sd.GaussianDP(exact))
    assert not sd.PureDP(pure_of_mu(exact) * Fraction(1001, 1000)).implies(sd.GaussianDP(exact))
    draw = random.Random(5)
    for _ in range(40):
        weights = np.array([draw.random() for _ in range(5)])
        losses = np.array([draw.choice((-1, 1)) * draw.random() ** 0.2 for _ in range(5)]) * epsilon
        p, q = weights, weights * np.exp(losses)
        p, q = p / p.sum(), q / q.sum()
        most = np.abs(np.log(q / p)).max()
        if most <= epsilon:
            assert excess(p, q, float(mu)) <= 1e-9
    v = 1 / (1 + math.exp(epsilon))
    answers = np.array([v, 1 - v])
    if v > 1e-6:
        assert abs(excess(answers, answers[::-1], float(mu))) < 1e-6
        assert excess(answers, answers[::-1], float(mu) * 0.99) > 0


@pytest.mark.parametrize(
    ("law", "smoothing"),
    [
        (sd.noise.Gaussian(), "0"),
        (sd.noise.Laplace(), "0"),
        (sd.noise.PolyPlace(8), "0.05"),
        pytest.param(sd.noise.StudentT(3), "0.1", marks=pytest.mark.slow),
        pytest.param(sd.noise.GeneralizedCauchy(4), "0.05", marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_a_calibrated_law_lies_below_the_curve(
    law: sd.noise.NoiseDistribution, smoothing: str
) -> None:
    promise = sd.GaussianDP(1)
    made = law.calibrate(promise, smoothing=smoothing)
    assert made.label == "proved"
    assert made.guarantee == promise
    for epsilon in ("0", "0.5"):
        assert made.profile().delta_bounds(epsilon)[0] <= promise.profile().delta(epsilon)
    # The worst pairs themselves: shifts and dilations, both directions.
    for dilation in {0.0, float(smoothing)}:
        for way in ("forward", "reverse"):
            for level in (0.0, 0.4):
                one = law.delta(level, shift=made.shift, dilation=dilation, direction=way)
                assert one <= promise.profile().delta(level) * (1 + 1e-9)


def test_a_law_without_a_proof_is_refused() -> None:
    for law in (sd.noise.ArsinhNormal("0.4"), sd.noise.Gaussian(), sd.noise.Laplace()):
        with pytest.raises(sd.errors.InvalidParameter, match="proved mu"):
            law.calibrate(sd.GaussianDP(1), smoothing="0.05")
    with pytest.raises(sd.errors.InvalidParameter, match='method="exact"'):
        sd.noise.PolyPlace(8).calibrate(sd.GaussianDP(1), smoothing="0.05", method="paper")


def test_squares_add_up() -> None:
    first, rest = Fraction(1, 10), Fraction(9, 10)
    for mu in ("1", "0.3"):
        parts = [part_of(sd.GaussianDP(mu), share).exact_mu for share in (first, rest)]  # type: ignore[attr-defined]
        total = sum(part**2 for part in parts)
        assert Fraction(mu) ** 2 * (1 - Fraction(1, 2**60)) < total <= Fraction(mu) ** 2
    # Randomised response beside discrete Gaussian noise, each at its own mu: the joint curve.
    v = 1 / (1 + math.exp(float(pure_of_mu(Fraction(3, 4)))))
    answers = np.array([v, 1 - v])
    noise = shifted(Fraction(2), 1)
    both = math.hypot(0.75, float(discrete_gaussian_mu(Fraction(2))))
    p, q = np.outer(answers, noise[0]).ravel(), np.outer(answers[::-1], noise[1]).ravel()
    assert excess(p, q, both) <= 1e-9
    assert excess(p, q, 0.75) > 0.1


def shifted(sigma_squared: Fraction, by: int) -> tuple[np.ndarray, np.ndarray]:
    """Discrete Gaussian noise, and the same moved by so many steps."""
    reach = abs(by) + math.ceil(9 * math.sqrt(sigma_squared))
    z = np.arange(-reach, reach + 1)
    p = np.exp(-(z**2) / (2 * float(sigma_squared)))
    q = np.exp(-((z - by) ** 2) / (2 * float(sigma_squared)))
    return p / p.sum(), q / q.sum()


@pytest.mark.parametrize("text", ["1/50", "1/4", "1/2", "1", "2", "4", "25", "300"])
def test_mu_of_the_discrete_gaussian(text: str) -> None:
    sigma_squared = Fraction(text)
    mu = discrete_gaussian_mu(sigma_squared)
    with mp.workdps(60):
        every = steps(sigma_squared, 4 + math.ceil(7 * math.sqrt(sigma_squared)))
        largest = max(every)
        found = mpf(mu.numerator) / mu.denominator
        assert largest <= found <= largest * (1 + mpf(10) ** -7)
        if sigma_squared <= 25:
            assert found <= largest * (1 + mpf(2) ** -50)
        # Never 1 / sigma: not for a first step, nor for those far out.
        assert every[0] > 1 / mp.sqrt(mpf(sigma_squared.numerator) / sigma_squared.denominator)
    known = {"1/2": 1.1019, "1": 1.0458, "4": 1.0107, "25": 1.0017}
    if text in known:
        assert float(mu) * math.sqrt(sigma_squared) == pytest.approx(known[text], abs=6e-5)
    p, q = shifted(sigma_squared, 1)
    assert excess(p, q, float(mu)) <= 1e-7
    if Fraction(1, 4) <= sigma_squared <= 4:
        assert excess(p, q, 1 / math.sqrt(sigma_squared)) > 1e-3


@pytest.mark.parametrize("mu", ["1/1000000", "1/10", "1", "5", "40", "100000"])
def test_noise_for_a_mu(mu: str) -> None:
    target = Fraction(mu)
    sigma_squared = sigma_squared_of_mu(target)
    assert discrete_gaussian_mu(sigma_squared) <= target
    if target < 100:
        assert discrete_gaussian_mu(sigma_squared * (1 - Fraction(1, 10**6))) > target
        assert sigma_squared * target**2 >= 1


def test_too_little_noise_has_no_mu() -> None:
    with pytest.raises(sd.errors.OutOfReach, match="more noise"):
        discrete_gaussian_mu(Fraction(1, 20000))


def test_curvature_rises() -> None:
    def curvature(y: float, width: float) -> float:
        start = Fraction(y) - Fraction(width) / 2
        with precision(4000):
            return float(module._curvature(ball(start), ball(Fraction(width))))

    draw = random.Random(8)
    for _ in range(40):
        tau, s = draw.uniform(0, 3), draw.uniform(0.001, 2)
        width = math.sqrt(8 * s)
        here = curvature(2 * tau / width, width)
        assert here <= width**2
        assert curvature(-2 * tau / width, width) == pytest.approx(here, rel=1e-9)
        assert curvature(2.2 * tau / width, width) >= here * (1 - 1e-12)
        wider = 1.05 * width
        assert curvature(2 * tau / wider, wider) > here
    # The third central moment behind it, and its sign for the other side as a control.
    v = np.linspace(-1, 1, 20001)
    for _ in range(50):
        theta, s = draw.uniform(0.01, 6), draw.uniform(0, 3)
        p = np.exp(theta * v - s * v * v)
        mean = (p * v).sum() / p.sum()
        assert (p * (v - mean) ** 3).sum() <= 1e-9 * p.sum()
        assert (p * (-v + mean) ** 3).sum() > 0


def test_a_width_that_is_enough() -> None:
    for text in ("1", "3", "9", "1000", "1000000"):
        sigma_squared = Fraction(text)
        with precision(400):
            width = module._width(sigma_squared)
            first = 2 * module._quantile(sigma_squared, 1)
            gap = float(ball(width) / first - 1)
        assert 0 <= gap <= 1 / (900 * float(sigma_squared) ** 2) + 2**-57
    assert float(module._width(Fraction(1))) == pytest.approx(1.046674, abs=1e-6)


def test_several_numbers_at_once() -> None:
    mu = Fraction(3, 2)
    law = whole_law(sd.GaussianDP(mu), total=4, square=16)
    assert isinstance(law, DiscreteGaussianLaw)
    for moves in ((4, 0), (3, 1), (2, 2), (1, 3)):
        pairs = [shifted(law.sigma_squared, move) for move in moves]
        p = np.outer(pairs[0][0], pairs[1][0]).ravel()
        q = np.outer(pairs[0][1], pairs[1][1]).ravel()
        assert excess(p, q, float(mu)) <= 1e-6
    # With the variance of continuous noise it would not be so.
    little = Fraction(1, 4)
    p, q = shifted(little, 1)
    assert excess(p, q, 1 / math.sqrt(little)) > 0.4


@pytest.mark.parametrize("neighbours", ["replace_one", "add_remove"])
@pytest.mark.parametrize(
    "query", [Count(), Sum((-3, 7)), ClampedMean((0, 10)), Variance((0, 10))], ids=repr
)
def test_sums_get_enough_noise(query: object, neighbours: str) -> None:
    if isinstance(query, Count) and neighbours == "replace_one":
        return
    promise = sd.GaussianDP("0.7", neighbours=neighbours)
    from smoothdp.mechanisms.fixed.sum_noise import SumNoise

    mechanism = SumNoise(query, promise)  # type: ignore[arg-type]
    reach = mechanism.query.reach(promise.neighbours)
    law = mechanism.law
    assert isinstance(law, DiscreteGaussianLaw)
    assert discrete_gaussian_mu(law.sigma_squared) ** 2 * reach.square <= promise.exact_mu**2
    assert mechanism.release([1, 2, 3], rng=sd.SeededRandom(1)).guarantee == promise
