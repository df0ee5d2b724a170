"""Discrete Laplace and Gaussian mechanisms against sums of their laws, to 50 digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import mpmath as mp
import pytest

import smoothdp as sd
from smoothdp.exact.balls.balls import precision
from smoothdp.exact.probabilities import gaussian_sums
from smoothdp.mechanisms.additive.whole_laws import DiscreteGaussianLaw, DiscreteLaplaceLaw

EPSILONS = ["0", "0.1", "0.25", "0.5", "1", "1.5", "3", "10", "ln(2)"]
Weight = Callable[[int], mp.mpf]


def real(text: str) -> mp.mpf:
    return mp.log(2) if text.startswith("ln") else mp.mpf(text)


def laplace(scale: Fraction) -> Weight:
    return cache(lambda z: mp.exp(-mp.mpf(abs(z) * scale.denominator) / scale.numerator))


def gaussian(variance: Fraction) -> Weight:
    return cache(lambda z: mp.exp(-mp.mpf(z * z * variance.denominator) / (2 * variance.numerator)))


def stick(weight: Weight, far: int, epsilon: mp.mpf, reach: int) -> mp.mpf:
    """E_P (1 - e^(epsilon - L))_+, by summing every output."""
    growth = mp.exp(epsilon)
    gains = (weight(z - far) - growth * weight(z) for z in range(-reach, reach + 1))
    return mp.fsum(gain for gain in gains if gain > 0) / whole_weight(weight, reach + far)


@cache
def whole_weight(weight: Weight, reach: int) -> mp.mpf:
    return mp.fsum(weight(z) for z in range(-reach, reach + 1))


CASES = [
    *(("laplace", Fraction(b), d) for b in ("1/3", "2", "7", "15/2") for d in (1, 2, 3, 5)),
    *(("gaussian", Fraction(v), d) for v in ("1/20", "1/2", "3", "40") for d in (1, 2, 7)),
]


def mechanism(
    kind: str, parameter: Fraction, far: int
) -> sd.DiscreteLaplaceMechanism | sd.DiscreteGaussianMechanism:
    if kind == "laplace":
        return sd.DiscreteLaplaceMechanism(parameter, far)
    return sd.DiscreteGaussianMechanism(parameter, far)


@pytest.mark.parametrize(("kind", "parameter", "far"), CASES, ids=str)
def test_profiles_are_those_of_the_laws(kind: str, parameter: Fraction, far: int) -> None:
    made = mechanism(kind, parameter, far)
    with mp.workdps(60):
        weight = laplace(parameter) if kind == "laplace" else gaussian(parameter)
        for text in EPSILONS:
            lower, upper = made.profile().delta_bounds(text)
            truth = stick(weight, far, real(text), 400)
            if truth < mp.mpf(10) ** -40:
                # Below what the sum of 801 outputs tells.
                assert upper < 1e-39
                continue
            assert lower <= truth <= upper
            assert upper - lower <= 2e-13 * truth
            # A smaller shift is no worse.
            assert stick(weight, max(1, far - 1), real(text), 400) <= upper


def test_the_laplace_profile_ends_where_its_claim_does() -> None:
    made = sd.DiscreteLaplaceMechanism(4, 6)
    assert made.profile().delta("1.5") == 0
    assert made.profile().delta("1.4999") > 0
    assert made.guarantee.profile().delta(1) > made.profile().delta(1)
    one = sd.DiscreteLaplaceMechanism(3)
    for epsilon in ("0", "0.1", "0.3"):
        claimed = one.guarantee.profile().delta_bounds(epsilon)
        assert one.profile().delta_bounds(epsilon) == pytest.approx(claimed, rel=1e-13)


@pytest.mark.parametrize("variance", [Fraction(1000), Fraction(10**5), Fraction(10**7, 3)])
@pytest.mark.parametrize("bits", [64, 128, 256])
def test_two_ways_to_sum(variance: Fraction, bits: int) -> None:
    """Term by term, and by Euler and Maclaurin: both enclose the same number."""
    for start in (0, 1, 5, 100, 3000):
        with precision(bits):
            reach = math.ceil(2 * variance * (bits + 10))
            n_terms = reach // (start + math.isqrt(start * start + reach)) + 2
            plain = gaussian_sums._term_by_term(variance, start, n_terms)
            quick = gaussian_sums._euler_maclaurin(variance, start)
            assert plain.overlaps(quick)
            # At 3,000 the smallest variance leaves a hundredth of the digits to each.
            if start * start <= 100 * variance:
                assert min(plain.rel_accuracy_bits(), quick.rel_accuracy_bits()) >= bits - 32
            # A wrong sum is told apart.
            assert not plain.overlaps(quick + 1e-6)


def test_huge_noise_is_nearly_normal() -> None:
    """sigma = 2^30 and D = 2^30: within 1e-8 of the Gaussian mechanism's profile."""
    made = sd.DiscreteGaussianMechanism(2**60, 2**30).profile()
    normal = sd.GaussianDP(1).profile()
    for epsilon in ("0", "0.5", "2", "8"):
        assert made.delta(epsilon) == pytest.approx(normal.delta(epsilon), rel=1e-7)
    deep = sd.DiscreteGaussianMechanism(2**60).profile().log_delta_bounds(Fraction(1, 2))
    assert deep.upper - deep.lower <= 1e3
    assert deep.upper == pytest.approx(-(2.0**60) / 8, rel=1e-6)


def test_it_is_not_gaussian_dp_with_the_same_deviation() -> None:
    made = sd.DiscreteGaussianMechanism("1/20")
    claim = sd.GaussianDP(math.sqrt(20))
    assert made.profile().delta_bounds(0)[0] > claim.profile().delta(0) + 0.02
    for epsilon in ("0", "1", "5", "20"):
        assert made.profile().delta(epsilon) <= made.guarantee.profile().delta(epsilon)
    curve = made.tradeoff()
    assert curve(0.1) <= 1 - made.profile().delta_bounds(0)[0]


@pytest.mark.parametrize(("kind", "parameter", "far"), CASES[5:7] + CASES[-5:-2], ids=str)
def test_curves_are_those_of_the_laws(kind: str, parameter: Fraction, far: int) -> None:
    """Powers at the knots, and between them, by Neyman and Pearson; never below the truth."""
    weight = laplace(parameter) if kind == "laplace" else gaussian(parameter)
    curve = mechanism(kind, parameter, far).tradeoff()
    with mp.workdps(40):
        whole = mp.fsum(weight(z) for z in range(-300, 301))
        for k in range(-4, far + 5):
            alpha = mp.fsum(weight(z) for z in range(k, 301)) / whole
            beta = 1 - mp.fsum(weight(z - far) for z in range(k, 301)) / whole
            if 1e-9 < alpha < 1 - 1e-9:
                assert curve(float(alpha)) == pytest.approx(float(beta), rel=1e-9, abs=1e-9)
                assert curve(float(alpha)) <= beta + 1e-15


def test_the_mu_of_a_discrete_gaussian_is_its_own() -> None:
    """The largest over the knots, and above 1 / sigma."""
    for variance in (Fraction(1, 4), Fraction(4), Fraction(25)):
        found = sd.DiscreteGaussianMechanism(variance).tradeoff().gaussian_mu(delta="1e-12")
        assert found > 1 / math.sqrt(variance)
        weight = gaussian(variance)
        with mp.workdps(40):
            whole = mp.fsum(weight(z) for z in range(-300, 301))

            def quantile(k: int, weight: Weight = weight, whole: mp.mpf = whole) -> mp.mpf:
                """The x with P(N > x) = P(Z >= k)."""
                tail = mp.fsum(weight(z) for z in range(k, 301)) / whole
                return mp.sqrt(2) * mp.erfinv(1 - 2 * tail)

            reach = int(5 * math.sqrt(variance)) + 1
            knots = [quantile(k) - quantile(k - 1) for k in range(1 - reach, reach + 1)]
            assert found == pytest.approx(float(max(knots)), rel=1e-4)
            assert found >= max(knots) * (1 - mp.mpf(10) ** -6)


@pytest.mark.parametrize(("kind", "parameter", "far"), CASES[5:7] + CASES[-5:-2], ids=str)
def test_composition_is_that_of_the_laws(kind: str, parameter: Fraction, far: int) -> None:
    """Two releases: the law of both outputs, summed."""
    weight = laplace(parameter) if kind == "laplace" else gaussian(parameter)
    made = mechanism(kind, parameter, far)
    box = range(-60, 61)
    with mp.workdps(40):
        whole = mp.fsum(weight(z) for z in range(-200, 201))
        p = [weight(z - far) / whole for z in box]
        q = [weight(z) / whole for z in box]
        for text in ("0.3", "1"):
            e = mp.exp(real(text))
            truth = mp.fsum(
                max(mp.mpf(0), a * c - e * b * d)
                for a, b in zip(p, q, strict=True)
                for c, d in zip(p, q, strict=True)
            )
            lower, upper = sd.compose([(made, 2)]).delta_bounds(text)
            assert lower - 1e-12 <= truth <= upper + 1e-9
            assert upper <= truth + 1e-7


def test_many_atoms_leave_it_to_the_profile() -> None:
    wide = sd.DiscreteLaplaceMechanism(10**6, 10**6)
    assert wide.loss_laws() is None
    assert sd.DiscreteGaussianMechanism(10**8).loss_laws() is None
    lower, upper = sd.compose([(wide, 3)]).delta_bounds(1)
    near = sd.compose([(sd.LaplaceMechanism(1), 3)]).delta(1)
    assert upper == pytest.approx(near, rel=1e-3)
    assert lower <= upper


@pytest.mark.parametrize(
    "law",
    [
        DiscreteLaplaceLaw(Fraction(1, 3)),
        DiscreteLaplaceLaw(Fraction(13, 2)),
        DiscreteGaussianLaw(Fraction(1, 9)),
        DiscreteGaussianLaw(Fraction(30)),
    ],
)
@pytest.mark.parametrize("count", [1, 2])
def test_the_reach_is_the_least(law: DiscreteLaplaceLaw | DiscreteGaussianLaw, count: int) -> None:
    weight = (
        laplace(law.scale) if isinstance(law, DiscreteLaplaceLaw) else gaussian(law.sigma_squared)
    )
    with mp.workdps(40):
        whole = mp.fsum(weight(z) for z in range(-500, 501))
        for miss in (Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**6)):
            z = law.reach(miss, count=count)
            inside = [mp.fsum(weight(k) for k in range(-r, r + 1)) / whole for r in (z, z - 1)]
            wanted = 1 - mp.mpf(miss.numerator) / miss.denominator
            assert inside[0] ** count >= wanted
            assert z == 0 or inside[1] ** count < wanted


def test_deviations() -> None:
    for scale in ("1/500", "1/2", "1", "40"):
        law = DiscreteLaplaceLaw(Fraction(scale))
        weight = laplace(law.scale)
        whole = mp.fsum(weight(z) for z in range(-2000, 2001))
        square = mp.fsum(z * z * weight(z) for z in range(-2000, 2001)) / whole
        assert law.deviation == pytest.approx(float(mp.sqrt(square)), rel=1e-9, abs=1e-60)
