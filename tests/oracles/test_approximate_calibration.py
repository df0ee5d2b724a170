"""Approximate DP under smooth sensitivity: envelope, cover and profile against brute force."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from smoothdp.claims import ZCDP, ApproxDP, PureDP
from smoothdp.errors import InvalidParameter
from smoothdp.noise import (
    ArsinhNormal,
    Gaussian,
    GeneralizedCauchy,
    Laplace,
    PolyPlace,
    StudentT,
    UniformLogNormal,
)
from smoothdp.noise.calibration import calibrate
from smoothdp.noise.calibration.approximate import delta_cover
from smoothdp.noise.calibration.approximate.delta_cover import covered
from smoothdp.noise.calibration.approximate.envelope import log_envelope
from smoothdp.noise.law import NoiseDistribution
from smoothdp.testing.smooth_quadrature import hockey_stick, losses

LAWS: list[NoiseDistribution] = [
    ArsinhNormal("0.6"),
    UniformLogNormal("0.8"),
    StudentT("2.5"),
    GeneralizedCauchy("3.5"),
    PolyPlace("4"),
    Laplace(),
    Gaussian(),
]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_envelope_is_the_integral_of_the_larger_loss(law: NoiseDistribution) -> None:
    s, u, v = 0.5, 0.02, 0.1
    for epsilon in (0.1, 0.5):
        for reverse in (False, True):
            bounds = log_envelope(
                law,
                Fraction("0.5"),
                (Fraction("0.02"), Fraction("0.1")),
                Fraction(repr(epsilon)),
                reverse=reverse,
                target=math.nan,
            )
            shift, ends = (s * math.exp(-u), (-u, -v)) if reverse else (s, (u, v))
            # The same nodes for both: the kinks of PolyPlace move, so they are only near.
            first, second = (_smooth_losses(law, shift, t) for t in ends)
            loss = np.maximum(first[1], second[1])
            value = float(np.sum(np.exp(first[0]) * -np.expm1(np.minimum(0.0, epsilon - loss))))
            assert math.exp(bounds.upper) == pytest.approx(value, rel=5e-4, abs=1e-9)
            assert bounds.lower <= bounds.upper


def _smooth_losses(law: NoiseDistribution, s: float, t: float) -> tuple[np.ndarray, np.ndarray]:
    # A grid that does not depend on t, fine enough not to need the kinks.
    u = np.linspace(-12, 12, 100001)
    x, width = np.sinh(u), np.cosh(u) * (24 / 100000)
    p = law.log_density(x)
    q = law.log_density((x - s) * math.exp(-t)) - t
    with np.errstate(invalid="ignore"):
        loss = np.where(np.isfinite(p), p - q, -math.inf)
    return p + np.log(width), loss


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_envelope_is_above_every_dilation_between(law: NoiseDistribution) -> None:
    u, v = Fraction("0.02"), Fraction("0.1")
    for reverse in (False, True):
        bounds = log_envelope(
            law, Fraction("0.5"), (u, v), Fraction(1, 5), reverse=reverse, target=math.nan
        )
        for share in range(6):
            t = u + (v - u) * share / 5
            inner = law.log_delta_bounds(
                "0.2", shift="0.5", dilation=t, direction="reverse" if reverse else "forward"
            )
            assert bounds.upper >= inner.lower


def test_envelope_of_one_dilation_is_the_hockey_stick() -> None:
    law = StudentT(3)
    for reverse in (False, True):
        for epsilon in ("0", "0.3", "0.6"):
            bounds = log_envelope(
                law,
                Fraction("0.7"),
                (Fraction("0.1"), Fraction("0.1")),
                Fraction(epsilon),
                reverse=reverse,
                target=math.nan,
            )
            exact = law.log_delta_bounds(
                epsilon, shift="0.7", dilation="0.1", direction="reverse" if reverse else "forward"
            )
            assert bounds.lower <= exact.upper
            assert exact.lower <= bounds.upper
            assert bounds.upper == pytest.approx(exact.upper, abs=1e-6)


def test_target_ends_the_work_on_the_right_side() -> None:
    law, place = ArsinhNormal("0.6"), (Fraction(0), Fraction("0.1"))

    def bounds(target: float) -> tuple[float, float]:
        return log_envelope(law, Fraction(1, 2), place, HALF, reverse=True, target=target)

    low, high = bounds(math.nan)
    assert bounds(high + 0.1)[1] <= high + 0.1
    assert bounds(low - 0.1)[0] > low - 0.1


HALF = Fraction(1, 2)


@pytest.mark.parametrize("law", [ArsinhNormal("0.356"), StudentT(3), Laplace()], ids=repr)
def test_profile_against_quadrature_at_many_dilations(law: NoiseDistribution) -> None:
    result = calibrate(law, ApproxDP(1, delta="1e-3"), smoothing="0.05")
    profile, s = result.profile(), result.shift
    for epsilon in (0.25, 0.5, 1.0):
        low, high = profile.delta_bounds(epsilon)
        brute = max(
            hockey_stick(law, epsilon, s, t, reverse=reverse)
            for t in np.linspace(0, 0.05, 6)
            for reverse in (False, True)
        )
        assert brute <= high * (1 + 1e-4)
        assert low <= brute * (1 + 2e-4) + 1e-12
        assert high <= low * 1.02 + 1e-12
    assert high <= 1e-3 * 1.02


def test_profile_against_other_code() -> None:
    # Found by other code: ASN .356, t = .1 and ASN .8, t = .1; a cover of 100 pieces.
    result = calibrate(ArsinhNormal("0.356"), ZCDP(HALF), smoothing="0.1")
    profile = result.profile()
    for epsilon, reverse, cover in (("0.5", 0.25468, 0.25715), ("2", 1.726e-2, 1.738e-2)):
        low, high = profile.delta_bounds(epsilon)
        assert reverse * 0.9995 <= low <= high <= cover * 1.02
    assert profile.epsilon("1e-6") == pytest.approx(3.016, abs=2e-3)
    # 37-43% less epsilon than through zCDP.
    saved = 1 - profile.epsilon("1e-6") / ZCDP(HALF).profile().epsilon("1e-6")
    assert 0.36 < saved < 0.44


def test_profile_epsilon_and_delta_agree() -> None:
    profile = calibrate(StudentT(3), ApproxDP(1, delta="1e-4"), smoothing="0.1").profile()
    low, high = profile.epsilon_bounds("1e-4")
    assert low <= high <= 1.0
    assert high == pytest.approx(low, rel=1e-3)
    assert profile.delta_bounds(high)[0] <= 1e-4 <= profile.delta_bounds(low * 0.999)[1]
    assert profile.epsilon(1) == 0.0


def test_pure_noise_has_delta_zero_from_its_epsilon_on() -> None:
    result = calibrate(StudentT(3), PureDP(1), smoothing="0.1")
    profile = result.profile()
    assert profile.delta("1.01") == 0.0
    assert 0 < profile.delta("0.9") < 0.015
    assert profile.epsilon(0) == pytest.approx(1.0, rel=1e-3)


def test_cover_notices_a_bad_dilation_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    # An envelope that is too large only around t' = 0.06 must make the cover fail.
    original = log_envelope

    def poisoned(law, shift, dilations, epsilon, *, reverse, target):  # type: ignore[no-untyped-def]
        if dilations[0] <= Fraction("0.06") <= dilations[1] and not reverse:
            return original(law, 10 * shift, dilations, epsilon, reverse=reverse, target=target)
        return original(law, shift, dilations, epsilon, reverse=reverse, target=target)

    arguments = (StudentT(3), HALF, Fraction("0.1"), Fraction(1), math.log(1e-3))
    assert covered(*arguments) is not None
    monkeypatch.setattr(delta_cover, "log_envelope", poisoned)
    assert covered(*arguments) is None


def test_a_delta_beyond_floats_gives_the_pure_claim() -> None:
    pure = calibrate(StudentT(3), PureDP(1), smoothing="0.1")
    tiny = calibrate(StudentT(3), ApproxDP(1, delta="1e-5000"), smoothing="0.1")
    assert tiny.exact_shift == pure.exact_shift
    assert tiny.label == "proved"
    assert tiny.relative_gap < 2e-4


def test_approximate_needs_no_more_noise_than_pure() -> None:
    for law in (StudentT(3), PolyPlace(5)):
        pure = calibrate(law, PureDP(1), smoothing="0.1")
        loose = calibrate(law, ApproxDP(1, delta="1e-5"), smoothing="0.1")
        assert loose.exact_shift >= pure.exact_shift
        assert calibrate(law, ApproxDP(1, delta=0), smoothing="0.1").shift == pure.shift


@pytest.mark.parametrize(
    ("law", "guarantee", "smoothing", "words"),
    [
        (Laplace(), ApproxDP(1, delta="1e-5"), "0.3", "the dilation alone breaks it"),
        (StudentT(3), ApproxDP(1, delta=1), "0.1", "delta < 1"),
    ],
)
def test_refusals(law: NoiseDistribution, guarantee: ApproxDP, smoothing: str, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        calibrate(law, guarantee, smoothing=smoothing)


def test_losses_helper_has_mass_one() -> None:
    log_weight, _ = losses(StudentT(3), 0.5, 0.1)
    assert float(np.exp(log_weight).sum()) == pytest.approx(1.0, rel=1e-9)
