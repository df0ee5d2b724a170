"""Certificates: what each proof needs, and that it is not claimed beyond its domain."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from flint import arb

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.noise import (
    ArsinhNormal,
    Gaussian,
    GeneralizedCauchy,
    Laplace,
    LaplaceLogNormal,
    Log1pNormal,
    NoiseDistribution,
    PolyPlace,
    StudentT,
    UniformLogNormal,
)
from smoothdp.noise.calibration.approximate import delta_cover, smooth_profile
from smoothdp.noise.calibration.concentrated import certificate
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
from smoothdp.noise.shift_claim import below
from smoothdp.types import FloatArray
from tests.rounding.certain import between, exact

F = Fraction
LAWS: list[NoiseDistribution] = [
    ArsinhNormal("0.6"),
    ArsinhNormal("2.5"),
    Log1pNormal("0.5"),
    Log1pNormal("1.4"),
    UniformLogNormal("0.8"),
    LaplaceLogNormal("0.5"),
    StudentT("2.5"),
    GeneralizedCauchy("3.5"),
    PolyPlace("4"),
    Laplace(),
]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_no_slope_exceeds_the_score(law: NoiseDistribution) -> None:
    """-ln f rises by at most the score per unit, at 4,000 places of all sizes."""
    score = law.growth().score
    assert score is not None
    x = np.exp(np.linspace(-12, 12, 4000))
    h = 1e-3 * (1 + x)
    slope = (law.log_density(x) - law.log_density(x + h)) / h
    assert float(slope.max()) <= float(score) * (1 + 1e-12) + 1e-11


@pytest.mark.parametrize("d", ["2", "3", "5/2", "7", "11"])
def test_scores_are_rounded_up(d: str) -> None:
    """Student's T has the score (d + 1) / (2 sqrt(d)): irrational, so one float is below it."""
    score = StudentT(d).growth().score
    assert score is not None
    number = F(d)

    def truth() -> arb:
        return (exact(number) + 1) / (2 * exact(number).sqrt())

    assert between(-math.inf, truth, float(score))
    assert float(score) == score


@pytest.mark.parametrize(
    "law", [StudentT("2.5"), GeneralizedCauchy("3.5"), PolyPlace("4")], ids=str
)
def test_power_laws_fall_as_fast_as_is_said(law: NoiseDistribution) -> None:
    """-ln f rises by (power + 1) ln 2 from x to 2 x, in the limit, and never by more."""
    power = law.growth().power
    assert power is not None
    x = np.exp(np.linspace(-3, 25, 200))
    rise = (law.log_density(x) - law.log_density(2 * x)) / math.log(2)
    assert float(rise.max()) <= float(power + 1) * (1 + 1e-9)
    assert float(rise[-1]) == pytest.approx(float(power + 1), rel=1e-6)


@pytest.mark.parametrize("t", ["0.1", "0.5", "2"])
def test_orders_of_a_dilation_alone(t: str) -> None:
    """E_q[(q / p)^(a - 1)] is infinite once a (1 - e^-kt) >= 1, k = 1 or 2."""
    for law, factor in ((Gaussian(), 2), (Laplace(), 1)):
        limit = law.growth().highest_order(F(t))

        def truth(factor: int = factor) -> arb:
            return 1 / (1 - (-factor * exact(F(t))).exp())

        assert between(limit, truth, math.inf)
        assert limit > float(truth()) * (1 - 1e-12)


def test_shifts_are_rounded_down() -> None:
    rng = np.random.default_rng(1)
    for value in np.exp(rng.uniform(-20, 20, 200)).tolist():
        assert value * (1 - 1e-11) < below(value) <= F(value)


@pytest.mark.parametrize("seed", range(20))
def test_where_an_order_tail_ends(seed: int) -> None:
    """a slope + constant + spread / (a - 1) <= a rho from there on, decided in rationals."""
    rng = np.random.default_rng(seed)
    slope, constant, spread, gap = (
        F(int(rng.integers(1, 1000)), 1000) * scale for scale in (1, 3, 2, 1)
    )
    rho = slope + gap
    b = OrderTail(slope, constant, spread).first_excess(rho)
    assert b is not None
    for factor in (1, 2, 50):
        here = F(b) * factor
        assert (1 + here) * slope + constant + spread / here <= (1 + here) * rho
    inside = F(b) * F(9, 10)
    assert (1 + inside) * slope + constant + spread / inside > (1 + inside) * rho
    assert OrderTail(rho, constant, spread).first_excess(rho) is None


def test_theorem_b_ends_with_its_domain() -> None:
    assert StudentT(4)._reverse_convexity(F(2)) == "Theorem B"
    assert StudentT(4)._reverse_convexity(F(2) + F(1, 10**9)) is None
    assert ArsinhNormal("1/2")._reverse_convexity(F(2)) == "Theorem B"
    assert ArsinhNormal("1/2")._reverse_convexity(F(2) + F(1, 10**9)) != "Theorem B"


def test_a_chord_may_cross_the_promise_between_its_ends() -> None:
    """rho b (1 + b) is convex: a chord may touch it at its ends, and lies above it between."""
    rho = F(1)
    ends = [(b, rho * b * (1 + b)) for b in (F(1), F(3))]
    assert not chord_proves(rho, ends[0], ends[1])
    lower = [(b, rho * b * (1 + b) - 1) for b in (F(1), F(3))]
    assert chord_proves(rho, lower[0], lower[1])


def randomised_response(epsilon: float) -> tuple[Curve, float]:
    """Return D_{1+b} of randomised response, and the largest D_{1+b} / (1 + b)."""

    def divergence(b: float) -> float:
        return float(response_divergence(epsilon, b))

    def bounds(b: float) -> tuple[float, float]:
        value = divergence(b)
        return value * (1 - 1e-15), value * (1 + 1e-15)

    grid = np.geomspace(1e-4, 64, 4000).tolist()
    return Curve(bounds), max(divergence(b) / (1 + b) for b in grid)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0, 8.0])
def test_what_is_false_at_one_order_is_not_proved(epsilon: float) -> None:
    """rho a hair below what randomised response needs, and a hair above."""
    for factor, proved in ((0.999, False), (1.001, True)):
        curve, least = randomised_response(epsilon)
        rho = F(least * factor)
        assert (not unproved(curve, rho, [(0.0, 64.0)])) == proved


def response_divergence(epsilon: float, b: float) -> mpmath.mpf:
    with mpmath.workdps(50):
        odds, power = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(b)
        return mpmath.log((odds ** (1 + power) + odds ** (-power)) / (1 + odds)) / power


def even_gaps(curve: Curve, places: list[float]) -> Iterator[tuple[list[float], FloatArray]]:
    """Yield windows of known places, and points of a gap where the polynomial lies above."""
    for place in places:
        curve.at(place)
    for low, high in pairwise(places):
        for window in curve.windows(low, high):
            yield window, np.linspace(low, high, 7)[1:-1]


@pytest.mark.parametrize("seed", range(40))
def test_interpolation_between_bounds_that_are_wide(seed: int) -> None:
    """The truth may be at either end of its bounds: each weight takes the worse one."""
    rng = np.random.default_rng(seed)
    epsilon = float(rng.uniform(0.1, 3))

    def bounds(b: float) -> tuple[float, float]:
        value = float(response_divergence(epsilon, b))
        return value * (1 - 1e-3), value * (1 + 1e-9)

    curve, places = Curve(bounds), np.sort(rng.uniform(0.1, 5, 6)).tolist()
    for window, fine in even_gaps(curve, places):
        upper = interpolated(curve, window, fine)
        if upper is not None:
            for b, found in zip(fine.tolist(), upper.tolist(), strict=True):
                assert found >= b * response_divergence(epsilon, b)


@pytest.mark.parametrize("seed", range(60))
def test_interpolation_between_close_places_is_rounded_up(seed: int) -> None:
    """The remainder is nothing there, so that the rounding of the points decides."""
    rng = np.random.default_rng(seed)
    epsilon, base = float(rng.uniform(0.1, 3)), float(rng.uniform(0.1, 5))

    def bounds(b: float) -> tuple[float, float]:
        value = response_divergence(epsilon, b)
        near = float(value)
        if mpmath.mpf(near) <= value:
            return near, math.nextafter(near, math.inf)
        return math.nextafter(near, 0.0), near

    width = 10 ** float(rng.uniform(-5, -2))
    curve, places = Curve(bounds), np.sort(base * (1 + width * rng.random(6))).tolist()
    for window, fine in even_gaps(curve, places):
        upper = interpolated(curve, window, fine) if window[0] else None
        if upper is not None:
            for b, found in zip(fine.tolist(), upper.tolist(), strict=True):
                assert found >= b * response_divergence(epsilon, b)


@pytest.mark.parametrize(
    ("dilation", "reverse"), [("0", False), ("1/10", False), ("1/10", True)], ids=str
)
def test_one_doubt_is_enough(monkeypatch: pytest.MonkeyPatch, dilation: str, reverse: bool) -> None:
    """Each of the three curves by itself stops a certificate, whatever the other two are."""
    real, asked = divergence_curve, (F(dilation), reverse)

    def curve(
        law: NoiseDistribution, shift: Fraction, dilation: Fraction, *, reverse: bool
    ) -> Curve:
        if (dilation, reverse) == asked:
            return Curve(lambda b: (0.6 * (1 + b), 0.6 * (1 + b)))
        return real(law, shift, dilation, reverse=reverse)

    promise, law = Promise(F(1, 2), None, F(1, 10)), StudentT(13)
    assert certificate.certify(law, promise, F(1)).holds
    monkeypatch.setattr(certificate, "divergence_curve", curve)
    found = certificate.certify(law, promise, F(1))
    assert not found.holds
    assert ("reverse" in found.reason) == reverse


def test_a_shift_that_is_too_large_has_no_certificate() -> None:
    promise = Promise(F(1, 2), None, F(1, 10))
    assert not certificate.certify(StudentT(13), promise, F("1.09")).holds


def test_only_what_is_checked_makes_a_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    """Theorem A at the shift e^(length) s: pieces that are guessed too long prove nothing.

    At s = 1.08 the reverse divergence holds at t by a percent, and not at 1.08 e^t.
    """
    promise, law = Promise(F(1, 2), None, F(1, 10)), StudentT(13)
    monkeypatch.setattr(certificate, "stretch", lambda *_: 10.0)
    assert certificate.cover(law, promise, F("1.08")) is None
    assert certificate.cover(law, promise, F("0.9")) == 1
    # A piece of a tenth of the way is short enough at s = 1.06.
    monkeypatch.setattr(certificate, "stretch", lambda *_: 0.0103)
    assert certificate.cover(law, promise, F("1.06")) == 10


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("law", [StudentT(3), PolyPlace(4), GeneralizedCauchy(4)], ids=str)
def test_no_order_exceeds_its_tail(law: NoiseDistribution, reverse: bool) -> None:
    """A dilation of 2 with hardly a shift, where the dilation is all there is: at any order."""
    shift, dilation = F(1, 1000), F(2)
    tail = (reverse_tail if reverse else forward_tail)(law, shift, dilation)
    assert tail is not None
    for order in (F(3), F(50), F(2000)):
        way = "reverse" if reverse else "forward"
        lower = law.renyi_bounds(order, shift=shift, dilation=dilation, direction=way)[0]  # type: ignore[arg-type]
        assert F(lower) <= order * tail.slope + tail.constant + tail.spread / (order - 1)


@pytest.mark.parametrize("law", [ArsinhNormal(2), Log1pNormal(2), LaplaceLogNormal(2)], ids=str)
def test_the_tail_of_a_dilated_normal(law: NoiseDistribution) -> None:
    """a t^2 / (2 sigma^2), and ln 2 / (a - 1) more where the two sides are folded."""
    tail = reverse_tail(law, F(1, 3), F(1, 2))
    score = law.growth().score
    assert tail is not None
    assert score is not None
    assert tail.slope == F(1, 2) ** 2 / (2 * 2**2)
    assert tail.constant == score / 3
    if isinstance(law, LaplaceLogNormal):
        assert tail.spread == 0
    else:
        assert between(-math.inf, lambda: arb(2).log(), float(tail.spread) * (1 + 1e-15))
        assert tail.spread >= F("0.69314718055994530941723212145817657")


# ---- covers of all dilations --------------------------------------------------------------

TARGET = LogBounds(-10.0 - 1e-9, -10.0)


@pytest.mark.parametrize(
    ("forward", "reverse", "covers"),
    [(-11.0, -11.0, True), (-9.0, -11.0, False), (-11.0, -9.0, False), (-9.0, -9.0, False)],
)
def test_a_cover_needs_upper_bounds_in_both_directions(
    monkeypatch: pytest.MonkeyPatch, forward: float, reverse: float, covers: bool
) -> None:
    """Envelopes whose lower bounds are below the target at all times prove nothing by that."""

    def envelope(*_: object, reverse: bool, **__: object) -> LogBounds:
        return LogBounds(-50.0, upper[reverse])

    upper = {False: forward, True: reverse}
    monkeypatch.setattr(delta_cover, "log_envelope", envelope)
    found = delta_cover.covered(StudentT(3), F(1), F(1, 10), F(1), -10.0)
    assert (found is not None) == covers
    kept = delta_cover.ends_keep(StudentT(3), F(1), F(1, 10), F(1), TARGET)
    assert kept is (True if covers else None)


@pytest.mark.parametrize("least", [-9.5, -7.0, -0.1])
def test_delta_is_that_of_the_cover_not_of_the_ends(
    monkeypatch: pytest.MonkeyPatch, least: float
) -> None:
    """Where the dilations between the ends are worse, the bound rises until they are covered."""
    monkeypatch.setattr(delta_cover, "log_delta_at_ends", lambda *_: LogBounds(-10.1, -10.0))
    monkeypatch.setattr(delta_cover, "covered", lambda *given: 1 if given[-1] >= least else None)
    found = delta_cover.log_delta_bounds(StudentT(3), F(1), F(1, 10), F(1), 0.01)
    assert found.lower == -10.1
    assert least <= found.upper <= 0.0


def test_an_epsilon_is_that_of_the_cover_not_of_the_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the epsilon that the ends allow, a dilation between them may still be worse."""

    def at_ends(*given: object) -> LogBounds:
        value = -10.0 * float(given[-1])  # type: ignore[arg-type]
        return LogBounds(value, value)

    monkeypatch.setattr(smooth_profile, "log_delta_at_ends", at_ends)
    monkeypatch.setattr(smooth_profile, "covered", lambda *given: 1 if given[3] >= F(2) else None)
    law = StudentT("3.03")
    lower, upper = smooth_profile._epsilon_bounds(law, F(1), F(1, 10), F(1, 10**6))
    assert lower <= math.log(1e6) / 10 < 2 <= upper


def test_the_wrong_interpolation_would_prove_what_is_false() -> None:
    """In odd gaps the polynomial lies below: those windows are never offered."""
    curve = Curve(lambda b: (b, b))
    for place in (0.5, 1.0, 2.0, 3.0, 4.5, 6.0, 9.0):
        curve.at(place)
    for low, high in zip(curve.orders[:-1], curve.orders[1:], strict=True):
        for window in curve.windows(low, high):
            assert window.index(low) % 2 == 0
            assert window[window.index(low) + 1] == high
            with mpmath.workdps(30):
                signs = [mpmath.sign((low + high) / 2 - x) for x in window]
            assert math.prod(int(sign) for sign in signs) == -1
