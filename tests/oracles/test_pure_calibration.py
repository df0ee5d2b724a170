"""The exact pure-DP shift against dense scans of the loss of two releases.

The oracle knows densities only. Two neighbouring databases have scales S = 1 and S' = e^u with
|u| <= t and answers min(S, S') apart; the noise is (S / s) Z. It scans the log-ratio of the two
output densities over the line, for dilations inside and at the ends of [-t, t].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.exact.balls.balls import ball, precision
from smoothdp.noise.calibration.pure import pure_shift
from smoothdp.noise.law import NoiseDistribution
from smoothdp.noise.laws.arsinh_normal import ArsinhNormal
from smoothdp.noise.laws.gaussian import Gaussian
from smoothdp.noise.laws.generalized_cauchy import GeneralizedCauchy, generalized_cauchy_supremum
from smoothdp.noise.laws.laplace import Laplace
from smoothdp.noise.laws.laplace_log_normal import LaplaceLogNormal
from smoothdp.noise.laws.log1p_normal import Log1pNormal
from smoothdp.noise.laws.poly_place import PolyPlace, poly_place_supremum
from smoothdp.noise.laws.student_t import StudentT
from smoothdp.noise.laws.uniform_log_normal import UniformLogNormal
from smoothdp.types import FloatArray

Array = FloatArray
LogDensity = Callable[[Array], Array]


def student_t(d: float) -> LogDensity:
    return lambda x: -(d + 1) / 2 * np.log1p(x * x / d)


def cauchy(c: float) -> LogDensity:
    return lambda x: -np.logaddexp(0.0, c * np.log(np.maximum(np.abs(x), 1e-300)))


def poly_place(a: float) -> LogDensity:
    def log_density(x: Array) -> Array:
        y = np.abs(x)
        near = math.log(a - 1) + (a - 1) * np.log1p(-np.minimum(y, 1 / a))
        far = math.log(a + 1) + a * math.log1p(-1 / a**2) - (a + 1) * np.log1p(y)
        return np.where(y < 1 / a, near, far)

    return log_density


def worst_loss(log_f: LogDensity, s: float, dilations: Array, *, rounds: int = 3) -> float:
    """Return the largest loss of the two releases over the dilations, by refined scans."""
    worst = -math.inf
    for u in dilations:
        scale, other = 1 / s, math.exp(u) / s
        apart = min(1.0, math.exp(u))

        def loss(x: Array, scale: float = scale, other: float = other, d: float = apart) -> Array:
            first = log_f(x / scale) - math.log(scale)
            second = log_f((x - d) / other) - math.log(other)
            return np.abs(first - second)

        far = np.geomspace(1e-6, 1e9, 1500) * max(scale, 1.0)
        grid = np.unique(np.concatenate([-far, [0.0, apart], far, apart - far, apart + far]))
        for _ in range(rounds):
            values = loss(grid)
            best = int(values.argmax())
            worst = max(worst, float(values[best]))
            low, high = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
            grid = np.linspace(low, high, 300)
    return worst


def random_cases() -> list[tuple[NoiseDistribution, LogDensity, Fraction, Fraction]]:
    rng = np.random.default_rng(71)
    cases: list[tuple[NoiseDistribution, LogDensity, Fraction, Fraction]] = []
    for i in range(15):
        epsilon = Fraction(str(round(float(rng.choice([0.05, 0.3, 1.0, 2.5, 6.0])), 3)))
        share = Fraction(str(round(float(rng.uniform(0.02, 0.95)), 3)))
        d = Fraction(("0.4", "1", "1.7", "3", "9")[i % 5])
        cases.append(
            (StudentT(d), student_t(float(d)), epsilon, share * epsilon / max(Fraction(1), d))
        )
        c = Fraction(("1.2", "1.8", "2", "3.7", "40")[i % 5])
        cases.append(
            (
                GeneralizedCauchy(c),
                cauchy(float(c)),
                epsilon,
                share * epsilon / max(Fraction(1), c - 1),
            )
        )
        a = Fraction(("1.1", "2", "4.5", "12", "60")[i % 5])
        least = share if rng.random() < 0.5 else Fraction(1)
        cases.append((PolyPlace(a), poly_place(float(a)), epsilon, least * epsilon / a))
    return cases


@pytest.mark.parametrize(
    ("law", "log_f", "epsilon", "t"), random_cases(), ids=lambda v: str(v)[:40]
)
def test_shift_is_safe_and_largest(
    law: NoiseDistribution, log_f: LogDensity, epsilon: Fraction, t: Fraction
) -> None:
    claim = pure_shift(law, epsilon, t)
    assert claim.label == "proved"
    assert claim.upper is not None
    assert 0 <= claim.relative_gap < 1e-13
    dilations = np.linspace(-float(t), float(t), 9)
    inside = worst_loss(log_f, float(claim.exact_shift), dilations)
    assert inside <= float(epsilon) * (1 + 1e-9) + 1e-12
    ends = np.array([0.0, -float(t), float(t)])
    beyond = worst_loss(log_f, float(claim.upper) * (1 + 1e-5), ends)
    assert beyond > float(epsilon) * (1 + 1e-9)


def test_oracle_rejects_a_larger_shift_in_the_interior_too() -> None:
    """The scan sees what it should: at twice the shift every dilation loses too much."""
    claim = pure_shift(StudentT(3), 1, Fraction(1, 10))
    assert worst_loss(student_t(3), 2 * float(claim.exact_shift), np.array([0.03])) > 1


@pytest.mark.parametrize("log_f", [student_t(3), cauchy(2.5), poly_place(6)])
@pytest.mark.parametrize("s", [0.1, 3.0, 60.0])
def test_endpoint_theorem(log_f: LogDensity, s: float) -> None:
    """The largest loss is convex in the dilation, each way, at any fixed shift."""
    x = np.concatenate([-np.geomspace(1e-6, 1e9, 60_000)[::-1], np.geomspace(1e-6, 1e9, 60_000)])
    for way in (1, -1):
        sups = []
        for u in np.linspace(0, 1.2, 25).tolist():
            # x runs over the variable of Z resp. of e^u Z + s, so that peaks are resolved.
            at = x if way > 0 else s + math.exp(u) * x
            loss = log_f(at) - (log_f((at - s) * math.exp(-u)) - u)
            sups.append(float((way * loss).max()))
        assert np.all(np.diff(sups, 2) >= -1e-5)


@pytest.mark.parametrize("c", ["1.05", "1.5", "2", "3.3", "20"])
def test_cauchy_critical_point_against_a_scan(c: str) -> None:
    rng = np.random.default_rng(5)
    power = Fraction(c)
    with precision(256):
        supremum = generalized_cauchy_supremum(power, bits=256)
        for _ in range(20):
            a, tau = (
                Fraction(float(10 ** rng.uniform(-3, 1))),
                Fraction(float(rng.uniform(-0.7, 0.7))),
            )
            value = supremum(ball(a), ball(tau))
            w = np.geomspace(1e-9, 1e9, 200_001)
            x = float(a) + math.exp(tau) * w
            scan = np.logaddexp(0, float(power) * np.log(x)) - np.logaddexp(
                0, float(power) * np.log(w)
            )
            assert float(scan.max()) == pytest.approx(float(value.mid()), rel=1e-6, abs=1e-9)
            assert float(scan.max()) <= float(value.upper()) + 1e-12


@pytest.mark.parametrize("alpha", ["1.1", "2", "5", "40"])
def test_poly_place_candidates_against_a_scan(alpha: str) -> None:
    rng = np.random.default_rng(6)
    shape = Fraction(alpha)
    log_f = poly_place(float(shape))
    with precision(256):
        supremum = poly_place_supremum(shape)
        for _ in range(40):
            a, tau = (
                Fraction(float(10 ** rng.uniform(-3, 1))),
                Fraction(float(rng.uniform(-0.7, 0.7))),
            )
            value = float(supremum(ball(a), ball(tau)).mid())
            # The limit at infinity is the caller's.
            value = max(value, float(shape + 1) * float(tau))
            w = np.concatenate([[0.0], np.geomspace(1e-9, 1e12, 100_001)])
            for _ in range(2):
                scan = log_f(w) - log_f(float(a) + math.exp(tau) * w)
                best = int(scan.argmax())
                w = np.linspace(w[max(best - 1, 0)], w[min(best + 1, w.size - 1)], 100_001)
            assert float(scan.max()) == pytest.approx(value, rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("epsilon", ["1e-100", "1e-9", "0.001"])
def test_tiny_epsilon_scales(epsilon: str) -> None:
    """As epsilon -> 0 at a fixed smoothing / epsilon, shift / epsilon has a limit."""
    small, smaller = Fraction(epsilon), Fraction(epsilon) / 1000
    for law in (StudentT(3), GeneralizedCauchy(4), PolyPlace(5)):
        first = pure_shift(law, small, small / 5).exact_shift / small
        second = pure_shift(law, smaller, smaller / 5).exact_shift / smaller
        assert float(first / second) == pytest.approx(1, abs=2 * float(small) + 1e-12)


def test_epsilon_may_be_a_logarithm() -> None:
    near = pure_shift(PolyPlace(10), "1.0986122886681098", Fraction(1, 10))
    exact = pure_shift(PolyPlace(10), "ln(3)", Fraction(1, 10))
    assert float(exact.exact_shift) == pytest.approx(float(near.exact_shift), rel=1e-14)


@pytest.mark.parametrize(
    "law",
    [
        Laplace(),
        Gaussian(),
        ArsinhNormal("0.4"),
        LaplaceLogNormal("0.4"),
        UniformLogNormal("0.4"),
        Log1pNormal("0.4"),
    ],
    ids=repr,
)
def test_light_tails_have_no_pure_dp(law: NoiseDistribution) -> None:
    with pytest.raises(InvalidParameter, match="power tail"):
        pure_shift(law, 100, Fraction(1, 1000))
    # The loss of a dilation by 0.1 rises with x.
    x = np.geomspace(1e2, 1e60, 200)
    loss = law.log_density(x * math.exp(-0.1)) - 0.1 - law.log_density(x)
    finite = loss[np.isfinite(loss)]
    assert np.all(np.diff(finite) > 0)
    assert finite[-1] > 50


@pytest.mark.parametrize(
    ("law", "epsilon", "t", "message"),
    [
        (StudentT(3), 1, "1/3", "max\\(1, degrees\\) \\* smoothing < epsilon"),
        (StudentT("0.5"), 1, 1, "max\\(1, degrees\\)"),
        (GeneralizedCauchy(4), 1, "1/3", "max\\(1, power - 1\\) \\* smoothing < epsilon"),
        (GeneralizedCauchy("1.5"), 1, 1, "max\\(1, power - 1\\)"),
        (PolyPlace("10.001"), 1, "1/10", "alpha \\* smoothing <= epsilon"),
        (PolyPlace(3), 0, "1/10", "alpha"),
        (PolyPlace(3), 1, -1, "smoothing >= 0"),
        (Laplace(), 0, 0, "epsilon > 0"),
        (PolyPlace(3), math.nan, "1/10", "finite epsilon"),
        (PolyPlace(3), -1, "1/10", "epsilon >= 0"),
        (PolyPlace(3), True, "1/10", "epsilon"),
    ],
)
def test_no_room(law: NoiseDistribution, epsilon: float, t: str, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        pure_shift(law, epsilon, Fraction(t))


def test_just_inside_the_range() -> None:
    t = Fraction(1, 3) - Fraction(1, 10**30)
    assert 0 < pure_shift(StudentT(3), 1, t).exact_shift < Fraction(1, 10**14)
    claim = pure_shift(GeneralizedCauchy(4), 1, t)
    assert 0 < claim.exact_shift < Fraction(1, 10**6)
    assert claim.relative_gap < 1e-13


@pytest.mark.parametrize("epsilon", ["0.3", "1", "5"])
def test_no_smoothing_is_global_sensitivity(epsilon: str) -> None:
    for law, log_f in (
        (StudentT(3), student_t(3)),
        (GeneralizedCauchy(4), cauchy(4)),
        (PolyPlace(5), poly_place(5)),
        (Laplace(), lambda x: -np.abs(x)),
    ):
        claim = pure_shift(law, epsilon, Fraction(0))
        loss = worst_loss(log_f, float(claim.exact_shift), np.array([0.0]))
        # The scan reaches 1e9, where a double of Laplace has steps of 1e-7.
        assert loss == pytest.approx(float(epsilon), rel=1e-7, abs=3e-7)
    assert pure_shift(Laplace(), epsilon, Fraction(0)).exact_shift == Fraction(epsilon)
    with pytest.raises(InvalidParameter, match="proved"):
        pure_shift(ArsinhNormal(1), epsilon, Fraction(0))


def test_extreme_epsilon_is_out_of_reach() -> None:
    with pytest.raises(OutOfReach, match="epsilon <= 300"):
        pure_shift(PolyPlace(3), 301, Fraction(1))
    with pytest.raises(OutOfReach, match="1e-250"):
        pure_shift(GeneralizedCauchy(3), "1e-260", Fraction(1, 10**270))
    assert pure_shift(PolyPlace(3), "1e-5000", Fraction(1, 10**5001)).exact_shift > 0
