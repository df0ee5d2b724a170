"""Paper 4 (Smooth Sensitivity Revisited): one test per claim about noise."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate

import smoothdp as sd
from smoothdp.errors import InvalidParameter
from smoothdp.noise.calibration.paper import paper_shift
from smoothdp.noise.calibration.pure import pure_shift
from smoothdp.noise.laws.generalized_cauchy import GeneralizedCauchy
from smoothdp.noise.laws.laplace import Laplace
from smoothdp.noise.laws.poly_place import PolyPlace
from smoothdp.noise.laws.student_t import StudentT, best_degrees
from smoothdp.paper_bounds import hladik_tetek as paper
from smoothdp.paper_bounds.bun_steinke import bun_steinke_theorem_34 as theorem_34
from tests.theorems import paper_noise as laws

ALPHAS = [1.2, 2.0, 3.0, 10.0, 60.0]


def scaled(alpha: float, s: float) -> laws.LogDensity:
    """Return ln f_(s, alpha)."""
    unit = laws.poly_place(alpha)
    return lambda x: unit(x / s) - math.log(s)


def deviation(law: PolyPlace | StudentT | GeneralizedCauchy, epsilon: str, t: Fraction) -> float:
    """Return the standard deviation at the exact calibration, S = 1."""
    return law.standard_deviation / float(pure_shift(law, epsilon, t).exact_shift)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_definition_6_and_lemma_7(alpha: float) -> None:
    """With alpha (not alpha^2, as the text reads) in N the density integrates to 1 and is C^1."""
    log_f = laws.poly_place(alpha)

    def density(x: float) -> float:
        return float(np.exp(log_f(np.array([x])))[0])

    inner = integrate.quad(density, 0, 1 / alpha)[0]
    outer = integrate.quad(
        lambda v: density(math.exp(v)) * math.exp(v), -math.log(alpha), 80, limit=500
    )[0]
    assert 2 * (inner + outer) == pytest.approx(1, abs=1e-8)
    assert 2 * alpha * (inner + outer) > 1.1
    k, h = 1 / alpha, 1e-6 / alpha
    near = (log_f(np.array([k])) - log_f(np.array([k - h])))[0] / h
    far = (log_f(np.array([k + h])) - log_f(np.array([k])))[0] / h
    assert near == pytest.approx(far, rel=1e-4)
    assert near == pytest.approx(-alpha, rel=1e-4)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("s", [0.4, 3.0])
def test_lemma_10_derivatives(alpha: float, s: float) -> None:
    for x in (0.3 * s / alpha, -0.6 * s / alpha, 1.5 * s / alpha, -4.0 * s):
        h, point = 1e-6 * abs(x), np.array([x])
        slope = (scaled(alpha, s)(point + h) - scaled(alpha, s)(point - h))[0] / (2 * h)
        growth = (
            scaled(alpha, s * math.exp(1e-6))(point) - scaled(alpha, s * math.exp(-1e-6))(point)
        )[0]
        growth /= 2e-6 * s
        if abs(x) < s / alpha:
            assert slope == pytest.approx(
                math.copysign(1, x) * (alpha - 1) / (abs(x) - s), rel=1e-5
            )
            expected = -1 / s + (alpha - 1) * abs(x) / (s * (s - abs(x)))
        else:
            assert slope == pytest.approx(
                -math.copysign(1, x) * (alpha + 1) / (abs(x) + s), rel=1e-5
            )
            expected = -1 / s + (alpha + 1) * abs(x) / (s * (s + abs(x)))
        assert growth == pytest.approx(expected, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize(("gamma", "epsilon"), [(0.1, 1.0), (0.7, 1.0), (0.02, 0.5)])
def test_lemma_12_identity(gamma: float, epsilon: float) -> None:
    alpha, s = epsilon / gamma, 1 / gamma
    for x in (0.2 * s / alpha, 0.9 * s / alpha, 1.1 * s / alpha, 7 * s):
        h, point = 1e-6 * x, np.array([x])
        slope = (scaled(alpha, s)(point + h) - scaled(alpha, s)(point - h))[0] / (2 * h)
        wide, narrow = s * math.exp(1e-6 * gamma), s * math.exp(-1e-6 * gamma)
        growth = (scaled(alpha, wide)(point) - scaled(alpha, narrow)(point))[0] / 2e-6
        assert abs(slope) + abs(growth) == pytest.approx(epsilon, rel=1e-5)


def loss(alpha: float, s: float, u: float, apart: float) -> float:
    """Return the largest loss of PolyPlace(1/s) at 0 and PolyPlace(e^u/s) at ``apart``."""
    x = np.sinh(np.linspace(-40, 40, 60_001)) / 30
    first, second = scaled(alpha, 1 / s)(x), scaled(alpha, math.exp(u) / s)(x - apart)
    return float(np.abs(first - second).max())


@pytest.mark.parametrize(
    ("epsilon", "t"), [("1", "0.1"), ("1", "0.6"), ("3", "0.2"), ("0.2", "0.1")]
)
def test_theorem_8_and_lemma_9(epsilon: str, t: str) -> None:
    e, gamma = float(epsilon), float(t)
    claim = paper_shift(PolyPlace(Fraction(epsilon) / Fraction(t)), sd.PureDP(epsilon), Fraction(t))
    assert claim.exact_shift == Fraction(t)
    worst = 0.0
    for u in np.linspace(-gamma, gamma, 9).tolist():
        for share in (1.0, -1.0, 0.5, 0.0):
            worst = max(worst, loss(e / gamma, gamma, u, share * min(1, math.exp(u))))
    assert worst <= e * (1 + 1e-9)
    # The supremum is in the tails, for a dilation by gamma.
    assert worst >= e * (1 - 1e-6)


@pytest.mark.parametrize(("epsilon", "gamma"), [(1.0, 0.3), (2.0, 1.7)])
def test_equations_1_to_8_of_the_proof_of_lemma_9(epsilon: float, gamma: float) -> None:
    """Both sides of each step, at random neighbours: smooth sensitivities S and S', answers r
    apart. 1: scaling. 2, 3: the ratio of the densities. 4 to 6: its logarithm is the integral of
    the weighted derivatives. 7: the weights are at most 1. 8: so it is at most epsilon."""
    rng = np.random.default_rng(9)
    alpha = epsilon / gamma

    def log_f(s: float, x: float) -> float:
        return float(scaled(alpha, s)(np.array([x]))[0])

    for _ in range(40):
        here, ratio = float(rng.uniform(0.5, 3)), float(rng.uniform(-1, 1))
        there = here * math.exp(ratio * gamma)
        apart = float(rng.uniform(-1, 1)) * min(here, there)
        x = float(rng.normal(0, 4 / epsilon)) * here
        c = float(rng.uniform(0.2, 5))
        assert log_f(2.0, x) == pytest.approx(math.log(c) + log_f(2 * c, c * x), abs=1e-10)
        loss = log_f(there / gamma, x + apart) - log_f(here / gamma, x)
        z, shift = x / here, apart / here

        def at(t: float, z: float = z, shift: float = shift, ratio: float = ratio) -> float:
            return log_f(math.exp(ratio * gamma * t) / gamma, z + shift * t)

        assert loss == pytest.approx(at(1) - at(0), abs=1e-10)
        weights, total = [], 0.0
        steps = 400
        for k in range(steps):
            t, h = (k + 0.5) / steps, 1e-6
            y = math.exp(-ratio * gamma * t) * (z + shift * t)
            if abs(y) < 1e-4:
                continue
            wide = (
                log_f(math.exp(h * gamma) / gamma, y) - log_f(math.exp(-h * gamma) / gamma, y)
            ) / (2 * h)
            slope = (log_f(1 / gamma, y + h) - log_f(1 / gamma, y - h)) / (2 * h)
            weights += [ratio, math.exp(-ratio * gamma * t) * shift]
            total += (weights[-2] * wide + weights[-1] * slope) / steps
            assert abs(wide) + abs(slope) == pytest.approx(epsilon, rel=1e-4)
        assert loss == pytest.approx(total, abs=2e-2 * epsilon)
        assert max(map(abs, weights)) <= 1 + 1e-12
        assert loss <= epsilon * (1 + 1e-12)


def test_lemma_9_needs_the_smaller_of_the_two_scales() -> None:
    """With a full shift while the scale shrinks the loss is above epsilon."""
    assert loss(1 / 0.7, 0.7, -0.7, 1.0) > 1.25
    assert loss(1 / 0.7, 0.7, -0.7, math.exp(-0.7)) <= 1 + 1e-9


@pytest.mark.parametrize("alpha", ["1.5", "4", "9"])
def test_theorem_8_for_every_smaller_alpha(alpha: str) -> None:
    """Its proof covers s = epsilon / alpha for alpha <= epsilon / t."""
    claim = paper_shift(PolyPlace(alpha), sd.PureDP(1), Fraction(1, 10))
    s = float(claim.exact_shift)
    assert s == pytest.approx(1 / float(alpha))
    for u in (-0.1, -0.05, 0.0, 0.05, 0.1):
        assert loss(float(alpha), s, u, min(1, math.exp(u))) <= 1 + 1e-9
    with pytest.raises(InvalidParameter, match="alpha \\* smoothing <= epsilon"):
        paper_shift(PolyPlace("10.01"), sd.PureDP(1), Fraction(1, 10))


@pytest.mark.parametrize("rho", ["0.5", "0.02"])
def test_theorem_8_through_proposition_10(rho: str) -> None:
    """epsilon-DP is epsilon^2/2-zCDP; equality alpha t = epsilon is decided exactly."""
    epsilon = {"0.5": Fraction(1), "0.02": Fraction(1, 5)}[rho]
    t = epsilon / 10
    assert paper_shift(PolyPlace(10), sd.ZCDP(rho), t).exact_shift == t
    s = float(t)
    for u in (-s, 0.0, s):
        worst = laws.worst_zcdp_epsilon(laws.poly_place(10.0), s * min(1, math.exp(u)), u)
        assert worst <= float(epsilon)


@pytest.mark.parametrize("t", ["0.001", "0.1", "0.4", "0.9"])
def test_theorem_8_is_loose_by_e_to_t_over_4(t: str) -> None:
    claim = pure_shift(PolyPlace(1 / Fraction(t)), 1, Fraction(t))
    s = float(claim.exact_shift)
    assert s == pytest.approx(2 * math.expm1(float(t) / 2), rel=1e-15)
    assert s / float(t) == pytest.approx(math.exp(float(t) / 4), rel=0.01)


@pytest.mark.parametrize("alpha", [2.1, 3.0, 5.5, 20.0])
def test_lemma_13_variance(alpha: float) -> None:
    log_f = laws.poly_place(alpha)

    def moment(v: float) -> float:
        return math.exp(3 * v + float(log_f(np.array([math.exp(v)]))[0]))

    kink = -math.log(alpha)
    value = 2 * integrate.quad(moment, -60, kink, limit=500)[0]
    value += 2 * integrate.quad(moment, kink, 400, limit=2000)[0]
    assert paper.hladik_tetek_lemma_13(alpha) == pytest.approx(value, rel=1e-6)
    assert paper.hladik_tetek_lemma_13(alpha, scale=3) == pytest.approx(9 * value, rel=1e-6)
    # As printed, the first power being -a.
    k, c = (1 - 1 / alpha) ** alpha, (1 + 1 / alpha) ** alpha
    first = (19 * alpha**2 + 5) * (1 - 1 / alpha**2) ** alpha
    printed = 2 / c * (first + (alpha - 2) * (alpha - 1) ** 2 * c)
    printed /= (2 * k + alpha - 1) * (alpha**4 - 5 * alpha**2 + 4)
    assert printed == pytest.approx(value, rel=1e-6)


def test_corollary_14_expansion() -> None:
    """Var = 2 / epsilon^2 + 2 (17 - 3e) gamma / (e epsilon^3) + O(gamma^2)."""
    slope = -2 * (3 * math.e - 17) / math.e
    assert slope == pytest.approx(6.5079, abs=1e-4)
    for epsilon in (0.5, 1.0):
        values = []
        for gamma in (1e-4, 1e-5):
            ratio = Fraction(str(epsilon)) / Fraction(str(gamma))
            variance = paper.hladik_tetek_lemma_13(ratio) / gamma**2
            values.append((variance - 2 / epsilon**2) / gamma)
        assert values[1] == pytest.approx(slope / epsilon**3, rel=1e-3)
        assert abs(values[1] - slope / epsilon**3) < 0.2 * abs(values[0] - slope / epsilon**3)


def test_lemma_15_converges_to_laplace() -> None:
    x = np.linspace(-10, 10, 401)
    for epsilon, a in ((1.0, 1.0), (0.4, 2.0)):
        limit = epsilon / (2 * a) * np.exp(-epsilon * np.abs(x) / a)
        errors = [
            float(np.abs(np.exp(scaled(epsilon / g, a / g)(x)) - limit).max())
            for g in (1e-2, 1e-3, 1e-4)
        ]
        assert errors[2] < errors[1] / 8 < errors[0] / 64


def test_theorem_8_variance_against_laplace() -> None:
    assert paper.hladik_tetek_theorem_8(1, smoothing="1e-6") == pytest.approx(
        math.sqrt(2), rel=1e-5
    )
    assert Laplace().variance == 2
    with pytest.raises(InvalidParameter, match="epsilon / 2"):
        paper.hladik_tetek_theorem_8(1, smoothing="0.5")


# ---- appendix B ------------------------------------------------------------------------


@pytest.mark.parametrize(("c", "t"), [("4", "0.1"), ("3.5", "0.01"), ("6", "0.05")])
def test_claim_16(c: str, t: str) -> None:
    """The formula is right for the scaling it cites; that scaling is loose."""
    law = GeneralizedCauchy(c)
    cited = (float(c) + 1) / (1 - float(t) * (float(c) + 1))
    value = paper.hladik_tetek_claim_16(c, epsilon=1, smoothing=t)
    assert value == pytest.approx(cited * law.standard_deviation, rel=1e-12)
    assert deviation(law, "1", Fraction(t)) < value / 1.5
    assert law.variance == pytest.approx(1 / (1 + 2 * math.cos(2 * math.pi / float(c))), rel=1e-12)


@pytest.mark.parametrize(("d", "t"), [("3", "0.1"), ("2.5", "0.2"), ("9", "0.01")])
def test_claim_17(d: str, t: str) -> None:
    law = StudentT(d)
    cited = (float(d) + 1) / (2 * math.sqrt(float(d)) * (1 - float(t) * (float(d) + 1)))
    value = paper.hladik_tetek_claim_17(d, epsilon=1, smoothing=t)
    assert value == pytest.approx(cited * law.standard_deviation, rel=1e-12)
    assert deviation(law, "1", Fraction(t)) < value


def test_claims_16_and_17_ranges_are_artefacts() -> None:
    """Finite variance reaches every smoothing below epsilon / 2, not epsilon / 4 and / 3."""
    for t in (Fraction(3, 10), Fraction(2, 5), Fraction(49, 100)):
        cauchy = GeneralizedCauchy(3 + (1 / t - 2) / 2)
        assert math.isfinite(deviation(cauchy, "1", t))
        assert math.isfinite(deviation(StudentT(best_degrees(1, t)), "1", t))
    with pytest.raises(InvalidParameter, match="smoothing < epsilon / 5"):
        paper.hladik_tetek_claim_16(4, epsilon=1, smoothing="0.2")
    with pytest.raises(InvalidParameter, match="smoothing < epsilon / 4"):
        paper.hladik_tetek_claim_17(3, epsilon=1, smoothing="0.25")


def test_introduction_older_noise_beyond_half_epsilon() -> None:
    """ "The previously used distributions all required gamma < epsilon / 2": T(1) does not."""
    assert pure_shift(StudentT(1), 1, Fraction(9, 10)).exact_shift > Fraction(7, 10)
    assert pure_shift(GeneralizedCauchy("1.5"), 1, Fraction(9, 10)).exact_shift > 0


def laplace_delta(epsilon: float, s: float, t: float) -> float:
    """Return sup P(e^t X + s in E) - e^epsilon P(X in E) by a fine sum."""
    x = np.linspace(-400, 400, 800_001)
    p = np.exp(-np.abs(x - s) * math.exp(-t) - t) / 2
    q = np.exp(-np.abs(x) + epsilon) / 2
    return float(np.maximum(p - q, 0).sum() * (x[1] - x[0]))


@pytest.mark.parametrize(
    ("epsilon", "t", "delta"), [("1", "0.05", "1e-5"), ("0.5", "0.01", "1e-3"), ("1", "0.2", "0.1")]
)
def test_claim_18_for_small_epsilon(epsilon: str, t: str, delta: str) -> None:
    value = paper.hladik_tetek_claim_18(delta, epsilon=epsilon, smoothing=t)
    s = float(epsilon) - float(t) * math.log(2 / float(delta))
    assert value == pytest.approx(math.sqrt(2) / s, rel=1e-12)
    assert theorem_34(delta, shift=s, dilation=t) <= float(epsilon)
    assert laplace_delta(float(epsilon), s, float(t)) <= float(delta)


def test_claim_18_is_false_for_large_epsilon() -> None:
    """The loss that it cites, |t| ln(2/delta) + |s|, is no bound: delta = 1e-6, t = 1."""
    s = 0.1
    epsilon = math.log(2e6) + s
    assert 14.6 < epsilon < 14.61
    assert math.isfinite(paper.hladik_tetek_claim_18("1e-6", epsilon=epsilon, smoothing=1))
    assert laplace_delta(epsilon, s, 1.0) > 5e-5


def test_claim_18_printed_range_is_too_wide() -> None:
    """Between epsilon / ln(2/delta) and epsilon / ln(1/delta) the deviation is negative."""
    delta, t = 1e-5, 0.085
    assert t < 1 / math.log(1 / delta)
    assert 1 - t * math.log(2 / delta) < 0
    with pytest.raises(InvalidParameter, match="2/delta"):
        paper.hladik_tetek_claim_18("1e-5", epsilon=1, smoothing="0.085")


# ---- figure 1 and the introduction ------------------------------------------------------


@pytest.mark.parametrize(
    ("t", "cauchy", "student", "poly", "tight"),
    [
        ("0.001", 4.736, 1.743, 1.4165, 1.4162),
        ("0.05", 6.526, 2.354, 1.5391, 1.5199),
        ("0.1", 10.00, 3.305, 1.6875, 1.6457),
        ("0.2", 52.2, 8.246, 2.0916, 1.9887),
    ],
)
def test_figure_1(t: str, cauchy: float, student: float, poly: float, tight: float) -> None:
    """Best shapes of Claims 16 and 17, Theorem 8, and PolyPlace calibrated exactly."""
    gamma = Fraction(t)

    def best(function: object, least: float) -> float:
        assert callable(function)
        top = min(1 / float(t) - 1, 60.0)
        shapes = np.linspace(least, top, 3000)[1:-1]
        return min(float(function(round(float(v), 6), epsilon=1, smoothing=t)) for v in shapes)

    assert best(paper.hladik_tetek_claim_16, 3.0) == pytest.approx(cauchy, rel=1e-3)
    assert best(paper.hladik_tetek_claim_17, 2.0) == pytest.approx(student, rel=1e-3)
    assert paper.hladik_tetek_theorem_8(1, smoothing=t) == pytest.approx(poly, abs=1e-4)
    assert deviation(PolyPlace(1 / gamma), "1", gamma) == pytest.approx(tight, abs=1e-4)


def test_introduction_arbitrarily_large_factors() -> None:
    """Against Student's T calibrated exactly: 1.2 to 1.5 up to .3, but unbounded near .5."""

    def factor(t: Fraction) -> float:
        top = min(1 / t, Fraction(60))
        student = min(
            deviation(StudentT(2 + (top - 2) * Fraction(j, 200)), "1", t) for j in range(1, 200)
        )
        return student / deviation(PolyPlace(1 / t), "1", t)

    assert 1.2 < factor(Fraction(1, 20)) < factor(Fraction(3, 10)) < 1.5
    assert factor(Fraction(49, 100)) == pytest.approx(5.0, abs=0.6)
    assert factor(Fraction(499, 1000)) > 12


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: paper.hladik_tetek_lemma_13(2), "alpha > 2"),
        (lambda: paper.hladik_tetek_lemma_13(3, scale=0), "scale > 0"),
        (lambda: paper.hladik_tetek_claim_16(3, epsilon=1, smoothing="0.1"), "power > 3"),
        (lambda: paper.hladik_tetek_claim_17(2, epsilon=1, smoothing="0.1"), "degrees > 2"),
        (lambda: paper.hladik_tetek_claim_18(0, epsilon=1, smoothing="0.1"), "delta > 0"),
        (lambda: paper.hladik_tetek_claim_18(1, epsilon=1, smoothing="0.1"), "delta < 1"),
        (lambda: paper.hladik_tetek_theorem_8(1, smoothing=math.inf), "finite smoothing"),
        (lambda: paper.hladik_tetek_theorem_8("ln(3)", smoothing="0.1"), "rational epsilon"),
    ],
)
def test_bad_parameters(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(InvalidParameter, match=message):
        call()
