"""The parts of the zCDP certificate against brute force, and attacks on the whole of it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import smoothdp.noise as noise
from smoothdp.claims import ZCDP, PureDP, TruncatedCDP
from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.noise import (
    ArsinhNormal,
    Gaussian,
    GeneralizedCauchy,
    Laplace,
    LaplaceLogNormal,
    Log1pNormal,
    PolyPlace,
    StudentT,
    UniformLogNormal,
)
from smoothdp.noise.calibration import calibrate
from smoothdp.noise.calibration.concentrated import certificate, shift as concentrated
from smoothdp.noise.calibration.concentrated.certificate import certify
from smoothdp.noise.calibration.concentrated.orders import (
    Curve,
    chord_proves,
    interpolated,
    unproved,
)
from smoothdp.noise.calibration.concentrated.promise import (
    OrderTail,
    Promise,
    divergence_curve,
    forward_tail,
    reverse_tail,
)
from smoothdp.noise.law import NoiseDistribution
from smoothdp.testing.smooth_quadrature import renyi

HALF = Fraction(1, 2)
LAWS: list[NoiseDistribution] = [
    ArsinhNormal("0.6"),
    Log1pNormal("0.5"),
    Log1pNormal("1.4"),
    UniformLogNormal("0.8"),
    LaplaceLogNormal("0.5"),
    StudentT("2.5"),
    GeneralizedCauchy("3.5"),
    GeneralizedCauchy("1.5"),
    PolyPlace("4"),
]


# ---- one curve, all orders ------------------------------------------------------------


class Atoms:
    """A finite loss distribution: K(b) = ln sum p e^(bL), exactly in many digits."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 6))
        self.weights = rng.dirichlet(np.ones(n))
        losses = rng.normal(0, rng.uniform(0.05, 2), n)
        # So that the copy has mass 1: E e^-L = 1.
        self.losses = losses + math.log(float(np.sum(self.weights * np.exp(-losses))))

    def divergence(self, b: float) -> mpmath.mpf:
        with mpmath.workdps(40):
            total = sum(
                mpmath.mpf(float(p)) * mpmath.exp(mpmath.mpf(b) * mpmath.mpf(float(x)))
                for p, x in zip(self.weights, self.losses, strict=True)
            )
            mass = sum(mpmath.mpf(float(p)) for p in self.weights)
            return mpmath.log(total / mass) / mpmath.mpf(b)

    def bounds(self, b: float) -> tuple[float, float]:
        value = float(self.divergence(b))
        return value - 1e-15 * abs(value) - 1e-18, value + 1e-15 * abs(value) + 1e-18


@pytest.mark.parametrize("seed", range(25))
def test_interpolation_is_above_in_even_gaps(seed: int) -> None:
    atoms = Atoms(seed)
    rng = np.random.default_rng(seed)
    curve = Curve(atoms.bounds)
    places = np.sort(rng.uniform(0.05, 3.0, 6)).tolist()
    for place in places:
        curve.at(place)
    for low, high in itertools.pairwise(curve.orders):
        fine = np.linspace(low, high, 6)[1:-1]
        truth = np.array([float(b * atoms.divergence(b)) for b in fine.tolist()])
        for window in curve.windows(low, high):
            i = window.index(low)
            assert i % 2 == 0
            upper = interpolated(curve, window, fine)
            assert upper is not None
            assert np.all(upper >= truth)


@pytest.mark.parametrize("seed", range(8))
def test_interpolation_is_below_in_odd_gaps(seed: int) -> None:
    # So the choice of the gap matters: an odd one would accept what is false.
    atoms = Atoms(seed)
    curve = Curve(atoms.bounds)
    window = [0.3, 0.9, 1.5, 2.4]
    fine = np.linspace(0.9, 1.5, 6)[1:-1]
    upper = interpolated(curve, window, fine)
    assert upper is not None
    truth = np.array([float(b * atoms.divergence(b)) for b in fine.tolist()])
    assert np.all(upper <= truth * (1 + 1e-9) + 1e-12)


def test_a_window_needs_neighbouring_places() -> None:
    curve = Curve(lambda b: (b, b))
    for b in (1.0, 2.0, 3.0, 4.0, 5.0):
        curve.at(b)
    assert curve.windows(1.0, 3.0) == []
    assert curve.windows(0.0, 1.0) != []


@pytest.mark.parametrize("seed", range(20))
def test_all_orders_of_random_pairs(seed: int) -> None:
    # Accepted exactly where a dense grid of orders says so, up to a hair.
    atoms = Atoms(seed)
    last = 20.0
    low, high = 1e-6, last
    for _ in range(3):
        grid = np.geomspace(low, high, 100).tolist()
        ratios = [float(atoms.divergence(b)) / (1 + b) for b in grid]
        i = int(np.argmax(ratios))
        low, high = grid[max(0, i - 1)], grid[min(99, i + 1)]
    truth = max(ratios)
    above = Fraction(repr(truth * (1 + 1e-6) + 1e-15))
    below = Fraction(repr(truth * (1 - 1e-6)))
    assert unproved(Curve(atoms.bounds), above, [(0.0, last)]) == []
    assert unproved(Curve(atoms.bounds), below, [(0.0, last)]) != []


def test_chord_by_hand() -> None:
    # K(1) = K(2) = 1.4: the chord is 1.4; rho b (1 + b) is 1.4 at b = 1 for rho = 0.7.
    ends = (Fraction(1), Fraction("1.4")), (Fraction(2), Fraction("1.4"))
    assert chord_proves(Fraction("0.7"), *ends)
    assert not chord_proves(Fraction("0.699"), *ends)
    # Both ends below the parabola, the chord above it in between.
    wide = (Fraction(1), Fraction(1)), (Fraction(9), Fraction(45))
    assert wide[1][1] == HALF * 9 * 10
    assert not chord_proves(HALF, *wide)


def test_order_one_alone_can_refuse() -> None:
    # D_1 is above rho, D_{1+b} below rho (1 + b) from b = 1e-5 on.
    rho = HALF

    def bounds(b: float) -> tuple[float, float]:
        value = 0.5 * (1 + 1e-7) + 0.25 * b
        return value, value

    assert unproved(Curve(bounds), rho, [(1e-5, 4.0)]) == []
    assert unproved(Curve(bounds), rho, [(0.0, 4.0)]) != []


# ---- scores and tails -----------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_score_is_a_bound_and_attained(law: NoiseDistribution) -> None:
    score = law.growth().score
    assert score is not None
    x = np.concatenate([np.geomspace(1e-7, 9e-4, 300), np.linspace(1e-3, 6, 3000)])
    slope = -np.diff(law.log_density(x)) / np.diff(x)
    assert slope.max() <= float(score) * (1 + 1e-6)
    assert slope.max() >= 0.9 * float(score)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_tails_bound_every_divergence(law: NoiseDistribution) -> None:
    rng = np.random.default_rng(5)
    for _ in range(12):
        s, t = rng.uniform(0.02, 1.0), rng.uniform(0.0, 0.3)
        a = 1 + rng.choice([0.1, 1.0, 6.0])
        shift, dilation = Fraction(repr(float(s))), Fraction(repr(float(t)))
        for reverse in (False, True):
            tail = (reverse_tail if reverse else forward_tail)(law, shift, dilation)
            assert tail is not None
            bound = float(tail.slope) * a + float(tail.constant) + float(tail.spread) / (a - 1)
            inner = t * rng.uniform(0, 1)
            assert renyi(law, a, s, inner, reverse=reverse) <= bound * (1 + 1e-9)


def test_first_excess_is_where_the_tail_suffices() -> None:
    tail = OrderTail(Fraction(1, 10), Fraction(3), Fraction(7, 10))
    b = tail.first_excess(HALF)
    assert b is not None
    for k in (1.0, 1.5, 10.0):
        assert 0.1 * (1 + k * b) + 3 + 0.7 / (k * b) <= 0.5 * (1 + k * b) + 1e-12
    assert 0.1 * (1 + 0.97 * b) + 3 + 0.7 / (0.97 * b) > 0.5 * (1 + 0.97 * b)
    assert tail.first_excess(Fraction(1, 10)) is None


def test_no_tail_for_light_laws() -> None:
    assert reverse_tail(Laplace(), HALF, HALF) is None
    assert forward_tail(Gaussian(), HALF, HALF) is None


# ---- what is left out must be noticed ---------------------------------------------------


@pytest.mark.parametrize(
    ("law", "smoothing"), [(ArsinhNormal(2), "1.5"), (StudentT("0.3"), "2")], ids=repr
)
def test_forward_at_t_can_bind(law: NoiseDistribution, smoothing: str) -> None:
    # Without the forward curve at t these shifts would pass.
    promise = Promise(HALF, None, Fraction(smoothing))
    problem = concentrated._problem(law, promise)
    found = problem.largest_shift()
    assert found is not None
    start, binding = found
    assert binding.dilation == float(smoothing)
    assert not binding.reverse
    shift = Fraction(repr(start * 1.0001))
    verdict = certify(law, promise, shift)
    assert not verdict.holds
    assert verdict.reason.startswith("forward at dilation")
    assert renyi(law, 1 + max(binding.b, 1e-3), float(shift), float(smoothing)) > 0.5


def test_reverse_at_t_can_bind() -> None:
    promise = Promise(Fraction("0.02"), None, Fraction("0.1"))
    verdict = certify(StudentT("3.9"), promise, Fraction("0.1815"))
    assert verdict.reason == "reverse at dilation 0.1"


def test_no_dilation_can_bind() -> None:
    promise = Promise(HALF, None, Fraction("0.1"))
    verdict = certify(ArsinhNormal("0.356"), promise, Fraction("1.0657"))
    assert verdict.reason == "forward at dilation 0"


def test_high_orders_can_bind() -> None:
    # The violation begins beyond order 4, so a certificate without tails would accept.
    law, t = ArsinhNormal("0.45"), Fraction("0.46")
    low = TruncatedCDP(HALF, omega=4)
    shift = Fraction("0.1")
    assert certify(law, Promise(HALF, low.exact_omega, t), shift).holds
    assert not certify(law, Promise(HALF, None, t), shift).holds
    with pytest.raises(InvalidParameter, match="smoothing < sigma"):
        calibrate(law, ZCDP(HALF), smoothing=t)


@pytest.mark.parametrize(
    "mutation", ["no reverse", "no forward at t", "no tail", "half the orders", "no shift"]
)
def test_mutated_certificates_accept_what_is_false(
    mutation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each part is needed: without it, a shift that is refuted by quadrature is accepted."""
    cases = {
        "no reverse": (StudentT("3.9"), "0.02", "0.1", "0.1816"),
        "no forward at t": (StudentT("0.3"), "0.5", "2", "1.9552"),
        "no tail": (ArsinhNormal("0.45"), "0.5", "0.46", "0.1"),
        "half the orders": (StudentT("3.9"), "0.02", "0.1", "0.1815"),
        "no shift": (ArsinhNormal("0.6"), "0.5", "0.1", "1.3"),
    }
    law, rho, t, s = cases[mutation]
    promise = Promise(Fraction(rho), None, Fraction(t))
    assert not certify(law, promise, Fraction(s)).holds
    original = divergence_curve

    def skip(*args: object, reverse: bool, **_: object) -> Curve:
        law, shift, dilation = args
        skipped = reverse if mutation == "no reverse" else (dilation > 0 and not reverse)  # type: ignore[operator]
        if skipped:
            return Curve(lambda _: (0.0, 0.0))
        return original(law, shift, dilation, reverse=reverse)  # type: ignore[arg-type]

    if mutation in ("no reverse", "no forward at t"):
        monkeypatch.setattr(certificate, "divergence_curve", skip)
        monkeypatch.setattr(certificate, "cover", lambda *_: 1)
    elif mutation == "no tail":
        monkeypatch.setattr(certificate, "last_excess", lambda *_, **__: 3.0)
        monkeypatch.setattr(certificate, "cover", lambda *_: 1)
    elif mutation == "half the orders":
        monkeypatch.setattr(certificate, "last_excess", lambda *_, **__: 1.0)
    else:
        monkeypatch.setattr(
            certificate,
            "divergence_curve",
            lambda law, shift, dilation, reverse: original(
                law, shift / 2, dilation, reverse=reverse
            ),
        )
    assert certify(law, promise, Fraction(s)).holds


def test_cover_is_refused_above_the_largest_shift() -> None:
    promise = Promise(Fraction("0.02"), None, Fraction("0.06"))
    law = Log1pNormal("0.36")
    assert certificate.cover(law, promise, Fraction("0.22")) is not None
    assert certificate.cover(law, promise, Fraction("0.23")) is None


def test_cover_and_theorem_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    # The same shift through Theorem B and, with it disabled, through Theorem A.
    promise = Promise(Fraction("0.02"), None, Fraction("0.03"))
    law, shift = ArsinhNormal("0.44"), Fraction("0.2035")
    assert certify(law, promise, shift).reason.startswith("Theorem B:")
    monkeypatch.setattr(ArsinhNormal, "_reverse_convexity", lambda *_: None)
    verdict = certify(law, promise, shift)
    assert verdict.holds
    assert verdict.reason.startswith("Theorem A")


# ---- ranges and refusals ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("law", "guarantee", "smoothing", "words"),
    [
        (Gaussian(), ZCDP(HALF), "0.1", "TruncatedCDP with omega below"),
        (Laplace(), ZCDP(HALF), "0.1", "infinite from order 10.5"),
        (Gaussian(), TruncatedCDP(HALF, omega=10), "0.1", "omega < 5.516"),
        (ArsinhNormal("0.2"), ZCDP(HALF), "0.2", "smoothing < sigma"),
        (LaplaceLogNormal("0.2"), ZCDP(HALF), "0.3", "smoothing < sigma"),
        (StudentT(30), ZCDP("0.02"), "0.19", "the dilation alone breaks it"),
        (StudentT(3), ZCDP(0), "0.1", "rho > 0"),
        (StudentT(3), ZCDP(HALF), "-0.1", "0 <= smoothing"),
        (StudentT(3), ZCDP(HALF), 21, "0 <= smoothing"),
        (StudentT(3), ZCDP(HALF), math.nan, "finite smoothing"),
        ("StudentT", ZCDP(HALF), 1, "a noise law"),
        (StudentT(3), "ZCDP", 1, "PureDP, ApproxDP, ZCDP, TruncatedCDP or GaussianDP"),
    ],
)
def test_refusals_name_the_value_and_a_remedy(
    law: NoiseDistribution, guarantee: ZCDP, smoothing: str, words: str
) -> None:
    with pytest.raises(InvalidParameter, match="Expected") as error:
        calibrate(law, guarantee, smoothing=smoothing)
    assert words in str(error.value)


def test_unknown_method() -> None:
    with pytest.raises(InvalidParameter, match="exact"):
        calibrate(StudentT(3), ZCDP(HALF), smoothing="0.1", method="fast")


def test_gaussian_without_dilation_is_the_gaussian_mechanism() -> None:
    result = calibrate(Gaussian(), ZCDP(HALF), smoothing=0)
    assert result.exact_shift == 1
    assert result.label == "proved"
    assert result.noise_scale(3) == 3.0


def test_gaussian_truncated_against_the_closed_form() -> None:
    # s^2 <= 2 W(a) (rho - g(a)) at every order, W = 1 - (a - 1)(e^(2t) - 1).
    rho, t, omega = 0.5, 0.1, 4.0
    result = calibrate(Gaussian(), TruncatedCDP("0.5", omega=4), smoothing="0.1")
    allowed = math.inf
    for a in np.linspace(1.0001, omega - 1e-9, 20001):
        for sign in (1, -1):
            # D_a(N(0,1) || N(s, e^(2u))), u = t, or the reverse by u = -t, s e^-t.
            excess = a * math.expm1(2 * sign * t)
            dilation = (2 * sign * t * a - math.log1p(excess)) / (2 * (a - 1))
            square = (a * rho - dilation) * 2 * (1 + excess) / a
            allowed = min(allowed, math.sqrt(square) * (1 if sign > 0 else math.exp(t)))
    assert result.shift <= allowed
    assert result.shift >= allowed * (1 - 1e-5)


def test_pure_dp_implies_the_zcdp_that_is_certified() -> None:
    # epsilon-DP implies epsilon^2/2-zCDP, so the zCDP shift is larger.
    pure = calibrate(StudentT(3), PureDP(1), smoothing="0.1")
    concentrated_ = calibrate(StudentT(3), ZCDP(HALF), smoothing="0.1")
    assert concentrated_.shift > pure.shift


def test_shift_falls_with_smoothing_and_rises_with_rho() -> None:
    law = StudentT(8)
    shifts = [calibrate(law, ZCDP(HALF), smoothing=t).shift for t in ("0", "0.2", "0.3")]
    assert shifts == sorted(shifts, reverse=True)
    assert calibrate(law, ZCDP("0.1"), smoothing="0.2").shift < shifts[1]


@pytest.mark.slow
def test_out_of_reach_is_said() -> None:
    with pytest.raises((OutOfReach, InvalidParameter), match="Expected"):
        calibrate(ArsinhNormal("0.2"), ZCDP(HALF), smoothing="0.19999999")


# ---- the divergences that it rests on -----------------------------------------------------


def mp_density(name: str, shape: str) -> Callable[[mpmath.mpf], mpmath.mpf]:
    g = mpmath.mpf(shape)
    root = mpmath.sqrt(2 * mpmath.pi)
    if name == "ArsinhNormal":
        return lambda x: (
            mpmath.exp(-((mpmath.asinh(g * x) / g) ** 2) / 2) / root / mpmath.sqrt(1 + (g * x) ** 2)
        )
    if name == "Log1pNormal":
        return lambda x: (
            mpmath.exp(-((mpmath.log1p(g * abs(x)) / g) ** 2) / 2) / root / (1 + g * abs(x))
        )
    if name == "StudentT":
        c = mpmath.gamma((g + 1) / 2) / mpmath.sqrt(mpmath.pi * g) / mpmath.gamma(g / 2)
        return lambda x: c * (1 + x * x / g) ** (-(g + 1) / 2)
    peak = mpmath.exp(g * g / 2) / 2

    def uniform_log_normal(x: mpmath.mpf) -> mpmath.mpf:
        if not x:
            return peak
        return peak * mpmath.erfc((g + mpmath.log(abs(x)) / g) / mpmath.sqrt(2)) / 2

    return uniform_log_normal


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_divergence_against_integrals_of_thirty_digits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    families = ["ArsinhNormal", "Log1pNormal", "StudentT", "UniformLogNormal"]
    family: Callable[[str], NoiseDistribution] = getattr(noise, families[seed % 4])
    low, high = (1.0, 9.0) if seed % 4 == 2 else (0.3, 1.2)
    shape = f"{rng.uniform(low, high):.3f}"
    s, t = f"{rng.uniform(0.05, 1.2):.3f}", f"{rng.uniform(0, 0.2):.3f}"
    b = str(rng.choice(["0.01", "0.5", "2.5"]))
    reverse = bool(rng.uniform() < 0.6)
    with mpmath.workdps(30):
        f, shift, grow = (
            mp_density(family.__name__, shape),
            mpmath.mpf(s),
            mpmath.exp(mpmath.mpf(t)),
        )
        power = mpmath.mpf(b)

        def integrand(x: mpmath.mpf) -> mpmath.mpf:
            p, q = f(x), f((x - shift) / grow) / grow
            return q * (q / p) ** power if reverse else p * (p / q) ** power

        tail = [mpmath.mpf(10) ** k for k in range(-3, 10)] + [mpmath.mpf(10) ** 14]
        edges = [-x for x in reversed(tail)] + [shift * k / 4 for k in range(5)]
        edges += [shift + x for x in tail]
        truth = mpmath.log(mpmath.quad(integrand, edges)) / power
        lower, upper = family(shape).renyi_bounds(
            1 + Fraction(b), shift=s, dilation=t, direction="reverse" if reverse else "forward"
        )
        assert lower - 1e-13 * abs(lower) <= truth <= upper + 1e-13 * abs(upper)
        assert upper - lower < 1e-9 * abs(upper)
