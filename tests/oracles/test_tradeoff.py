"""Trade-off curves against Neyman and Pearson in exact rationals, at any depth."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import accumulate, pairwise, product

import mpmath
import numpy as np
import pytest

from smoothdp import ZCDP, ApproxDP, GaussianDP, Pair, PureDP, TradeoffFunction
from smoothdp.claims import Guarantee
from smoothdp.claims.curves.atoms import Atoms, log_cumulative

F = Fraction
Law = list[Fraction]


def log_of(value: Fraction) -> float:
    with mpmath.workdps(40):
        return float(mpmath.log(mpmath.mpf(value.numerator)) - mpmath.log(value.denominator))


def pair_of(p: Law, q: Law) -> Pair:
    """Return the pair; the logarithms are rounded, which ``error`` declares."""
    logs = [[log_of(v) if v else -math.inf for v in law] for law in (p, q)]
    largest = max(abs(v) for law in logs for v in law if math.isfinite(v))
    return Pair(*logs, error=largest * 2.0**-52)


def neyman_pearson(p: Law, q: Law) -> list[tuple[Fraction, Fraction]]:
    """Return the knots (alpha, power) of the most powerful tests of q against p."""
    order = sorted(range(len(p)), key=lambda i: -p[i] / q[i] if q[i] else -math.inf)
    alphas = accumulate((q[i] for i in order), initial=F(0))
    powers = accumulate((p[i] for i in order), initial=F(0))
    return list(zip(alphas, powers, strict=True))


def power_at(knots: list[tuple[Fraction, Fraction]], alpha: Fraction) -> Fraction:
    """Return the concave curve through the knots, the larger power where alphas repeat."""
    best = max((y for x, y in knots if x == alpha), default=F(-1))
    for (x1, y1), (x2, y2) in pairwise(knots):
        if x1 < alpha < x2:
            best = max(best, y1 + (y2 - y1) * (alpha - x1) / (x2 - x1))
    return best


def random_law(rng: random.Random, size: int) -> Law:
    """Return a law with some atoms far below the others."""
    weights = [F(rng.randint(1, 99), 10 ** rng.choice([0, 0, 1, 6, 30])) for _ in range(size)]
    return [w / sum(weights) for w in weights]


def boolean_sum(n: int, expected: Fraction, ones: int) -> tuple[Law, Law]:
    """Return the two laws of the shuffled sum of n bits, by exact convolution."""
    flip = expected / (2 * n)

    def binomial(k: int, p: Fraction) -> Law:
        return [math.comb(k, j) * p**j * (1 - p) ** (k - j) for j in range(k + 1)]

    others = [F(0)] * n
    first, second = binomial(ones, 1 - flip), binomial(n - 1 - ones, flip)
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            others[i + j] += a * b
    shifted = [F(0), *others]
    others = [*others, F(0)]
    return (
        [(1 - flip) * a + flip * b for a, b in zip(others, shifted, strict=True)],
        [flip * a + (1 - flip) * b for a, b in zip(others, shifted, strict=True)],
    )


@pytest.mark.parametrize("seed", range(40))
def test_curve_is_neyman_pearson(seed: int) -> None:
    rng = random.Random(seed)
    size = rng.randint(2, 8)
    p, q = random_law(rng, size), random_law(rng, size)
    knots = neyman_pearson(p, q)
    curve = pair_of(p, q).tradeoff()
    for alpha in [0.0, 1e-25, 1e-7, 0.1, 0.5, 0.9, 1 - 1e-9, 1.0, *map(float, q)]:
        truth = power_at(knots, F(alpha))
        assert F(curve(alpha)) <= 1 - truth
        assert F(curve.power(alpha)) >= truth
        # Not loose either, up to one part in 1e11 of each small side.
        beside = F(alpha) + min(F(alpha), 1 - F(alpha)) / 10**11
        near = power_at(knots, beside)
        assert F(curve.power(alpha)) <= near * (1 + F(1, 10**11)) + F(1, 10**300)
        assert F(curve(alpha)) >= (1 - near) * (1 - F(1, 10**11))


@pytest.mark.parametrize("seed", range(10))
def test_tensor_product_is_the_product_experiment(seed: int) -> None:
    rng = random.Random(100 + seed)
    laws = [(random_law(rng, 3), random_law(rng, 4)) for _ in range(2)]
    joint = [[a * b for a, b in product(*side)] for side in laws]
    knots = neyman_pearson(*joint)
    parts = [pair_of(laws[0][i], laws[1][i]).tradeoff() for i in range(2)]
    curve = parts[0].compose(parts[1])
    for alpha in (1e-30, 1e-8, 0.03, 0.4, 0.95):
        truth = power_at(knots, F(alpha))
        assert F(curve.power(alpha)) >= truth
        assert float(curve.power(alpha)) == pytest.approx(float(truth), rel=1e-11)


# Paper 5 at lambda expected random users, all other users at 0; largest over the knots.
BOOLEAN_SUMS = [(100, 58, 0.111388), (100, 30, 0.312252), (100, 5, 1.463753)]


@pytest.mark.parametrize(("n", "expected", "mu"), BOOLEAN_SUMS)
def test_gaussian_mu_is_decided_in_the_far_tails(n: int, expected: int, mu: float) -> None:
    """The binding knots have masses down to 1e-160: 1 - power and 1 - alpha must survive."""
    p, q = boolean_sum(n, F(expected), 0)
    knots = neyman_pearson(p, q)[1:-1]
    with mpmath.workdps(200):
        root = mpmath.sqrt(2)

        def quantile(mass: Fraction) -> mpmath.mpf:
            """Newton's method on ln of the tail, from the safe side of small masses."""
            tail = min(mass, 1 - mass)
            goal = mpmath.log(mpmath.mpf(tail.numerator) / tail.denominator)
            x = mpmath.sqrt(-2 * goal)
            for _ in range(60):
                survival = mpmath.erfc(x / root) / 2
                step = (mpmath.log(survival) - goal) * survival / mpmath.npdf(x)
                x += step
                if abs(step) < mpmath.mpf(10) ** -40:
                    break
            return x if mass > F(1, 2) else -x

        truth = float(max(quantile(power) - quantile(alpha) for alpha, power in knots))
    assert truth == pytest.approx(mu, abs=6e-7)
    found = pair_of(p, q).tradeoff().gaussian_mu()
    assert truth <= found <= truth * (1 + 1e-9)


def test_slack_is_spent_and_not_overspent() -> None:
    """delta_f <= max(delta_mu, slack) at the mu that is returned, and not 0.1% below."""
    curve = pair_of(*boolean_sum(100, F(58), 0)).tradeoff()
    for slack in (1e-3, 1e-6, 1e-9):
        mu = curve.gaussian_mu(slack)
        enough, short = GaussianDP(mu).profile(), GaussianDP(mu * 0.999).profile()
        grid = [place / 2000 for place in range(1400)]
        assert all(curve.delta(e) <= max(enough.delta(e), slack) for e in grid)
        assert any(curve.delta(e) > max(short.delta(e), slack) * (1 + 1e-9) for e in grid)


def test_no_finite_mu() -> None:
    """Mass of one law where the other has none, at either end."""
    assert TradeoffFunction([0.0, 0.5], [1e-300, 0.6]).gaussian_mu() == math.inf
    assert TradeoffFunction([0.5, 0.9], [0.8, 1.0]).gaussian_mu() == math.inf
    assert TradeoffFunction([0.5], [0.5]).gaussian_mu() < 1e-12


@pytest.mark.parametrize(
    "claim",
    [PureDP("1e-9"), PureDP(1), PureDP(30), ApproxDP("0.5", delta="0.01"), GaussianDP("0.01")],
    ids=repr,
)
def test_curve_of_a_profile_is_safe_and_lossless(claim: Guarantee) -> None:
    """Its own profile is not below the profile it came from, and at the grid not above."""
    profile = claim.profile()
    curve = profile.tradeoff()
    last = min(profile.epsilon("1e-15"), 700.0)
    for share in (0.0, 0.17, 0.5, 0.83, 0.999):
        epsilon = share * last
        assert curve.delta(epsilon) >= profile.delta_bounds(epsilon)[0] * (1 - 1e-15)
    assert curve.delta(0) == pytest.approx(profile.delta(0), rel=1e-6)
    # Both directions are covered: the curve is its own inverse.
    for alpha in (1e-12, 0.01, 0.3):
        beta = curve(alpha)
        assert curve(beta) == pytest.approx(alpha, rel=1e-3, abs=1e-12)


def test_curve_of_randomised_response_has_its_corner() -> None:
    mu = PureDP(1).profile().tradeoff().gaussian_mu()
    with mpmath.workdps(30):
        share = mpmath.e / (1 + mpmath.e)
        exact = float(2 * mpmath.sqrt(2) * mpmath.erfinv(2 * share - 1))
    assert exact <= mu <= exact * (1 + 1e-12)


def test_gaussian_curve_at_depth() -> None:
    """Type I errors of 1e-12 and 1 - 1e-9: below the truth, and within a part in 1000."""
    curve = GaussianDP(1).profile().tradeoff()
    with mpmath.workdps(60):
        for alpha in (1e-12, 1e-6, 0.2, 0.999, 1 - 1e-9):
            x = mpmath.erfinv(1 - 2 * mpmath.mpf(alpha)) * mpmath.sqrt(2)
            power = float(mpmath.ncdf(1 - x))
            beta = float(mpmath.ncdf(x - 1))
            assert power <= curve.power(alpha) <= power * 1.001
            assert beta * 0.999 <= curve(alpha) <= beta


def test_huge_claims_leave_nothing() -> None:
    assert ZCDP(1000).profile().tradeoff()(1e-9) == 0.0


@pytest.mark.parametrize("seed", range(10))
def test_running_sums_of_logarithms(seed: int) -> None:
    rng = np.random.default_rng(seed)
    logs = rng.uniform(-3000, 0, size=300)
    if seed % 2:
        logs.sort()
    logs[rng.integers(0, 300, size=5)] = -math.inf
    found, error = log_cumulative(logs)
    with mpmath.workdps(40):
        total = mpmath.mpf(0)
        for value, running in zip(logs.tolist(), found.tolist(), strict=True):
            total += mpmath.exp(mpmath.mpf(value)) if math.isfinite(value) else 0
            truth = float(mpmath.log(total)) if total else -math.inf
            assert running == truth or abs(running - truth) <= error
    assert error < 1e-10


@pytest.mark.parametrize("seed", range(20))
def test_excess_at_any_depth(seed: int) -> None:
    """The sum of (p - e^epsilon q)_+ of arbitrary log-masses, against 60 digits."""
    rng = random.Random(300 + seed)
    scale = rng.choice([1, 30, 2000])
    p = [-scale * rng.random() - 1 for _ in range(12)]
    q = [a + rng.choice([-1e-9, 0.0, 0.3, -2.0, 40.0]) - 50 for a in p]
    for epsilon in (F(0), F(50), F("50.3"), F("12.34"), F(-3)):
        bounds = Atoms(np.array(p), np.array(q), 0.0).log_excess(epsilon)
        with mpmath.workdps(60):
            growth = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
            gains = (mpmath.exp(a) - growth * mpmath.exp(b) for a, b in zip(p, q, strict=True))
            total = mpmath.fsum(gain for gain in gains if gain > 0)
            truth = mpmath.log(total) if total else -mpmath.inf
            assert bounds.lower <= truth
            assert min(mpmath.mpf(0), truth) <= bounds.upper


def test_excess_covers_the_declared_error() -> None:
    """Masses off by factors e^(+-h): the truth may lie at either end, even at a tie."""
    h = 1e-7
    p, q = np.array([-0.7, -1.1, -3.0]), np.array([-1.0, -1.4, -0.5])
    for epsilon in (F(0), F("0.3"), F("0.29999999")):
        bounds = Atoms(p, q, h).log_excess(epsilon)
        for sign in (1, -1):
            moved = Atoms(p + sign * h, q - sign * h, 0.0).log_excess(epsilon)
            assert bounds.lower <= moved.upper
            assert moved.lower <= bounds.upper


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.3", "0.01"), ("20", "1e-12")])
def test_curve_of_a_claim_whose_delta_never_reaches_zero(epsilon: str, delta: str) -> None:
    """Against the closed form max(0, 1 - delta - e^eps alpha, e^-eps (1 - delta - alpha))."""
    curve = ApproxDP(epsilon, delta=delta).profile().tradeoff()
    e, d = float(epsilon), float(delta)
    for alpha in (0.0, 1e-9, 1e-3, 0.05, 0.2, 0.5, 0.9, 1 - 2 * d):
        true = max(0.0, 1 - d - math.exp(e) * alpha, math.exp(-e) * (1 - d - alpha))
        found = curve(alpha)
        assert found <= true + 1e-15
        # The last line stands where ln delta is within 1e-9 of its floor.
        assert found >= true - 1e-12 - 2e-9 * d
