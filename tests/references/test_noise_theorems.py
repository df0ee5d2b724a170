"""Noise theorems and pure calibration against reference values at high precision."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.exact.balls.balls import ball, precision
from smoothdp.noise import variance_lower_bound
from smoothdp.noise.calibration.lower_bounds import proposition_36
from smoothdp.noise.calibration.paper import closed_form_shift, paper_shift
from smoothdp.noise.calibration.pure import curves, pure_shift
from smoothdp.noise.laws.gaussian import Gaussian
from smoothdp.noise.laws.generalized_cauchy import generalized_cauchy_score
from smoothdp.noise.laws.laplace import Laplace
from smoothdp.noise.laws.laplace_log_normal import LaplaceLogNormal
from smoothdp.noise.laws.student_t import StudentT
from smoothdp.noise.laws.uniform_log_normal import uniform_log_normal_score
from smoothdp.paper_bounds import bun_steinke, hladik_tetek

CASES: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("noise_theorems.json").read_text()
)["cases"]
LOSSES = [case for case in CASES if case["function"] == "t_max_divergence"]
OTHERS = [case for case in CASES if case["function"] != "t_max_divergence"]


def score(function: Callable[[Fraction], Any], shape: str) -> float:
    with precision(160):
        return float(function(Fraction(shape)).mid())


def shift_of_laplace_34(eps: str, t: str, delta: str) -> float:
    claim = paper_shift(Laplace(), sd.ApproxDP(eps, delta=delta), Fraction(t))
    return float(claim.exact_shift)


def theorem_18_deviation(eps: str, t: str) -> float:
    sigma = bun_steinke.bun_steinke_section_3_1_1(eps, smoothing=t)
    law, target = LaplaceLogNormal(sigma), sd.ZCDP(Fraction(eps) ** 2 / 2)
    return law.standard_deviation / float(paper_shift(law, target, Fraction(t)).exact_shift)


def tcdp_sigma(omega: str, t: str, eps: str) -> float:
    target = sd.TruncatedCDP(Fraction(eps) ** 2 / 2, omega=omega)
    return 1 / float(closed_form_shift(Gaussian(), target, Fraction(t)).exact_shift)


def best_36(s: str, t: str, eps: str) -> float:
    with precision(160):
        return float(
            (ball(Fraction(s)) ** 2 * proposition_36(Fraction(eps) ** 2 / 2, Fraction(t))).mid()
        )


def proposition_36_printed(s: str, t: str, eps: str, k: int, l: int) -> float:  # noqa: E741
    """Return the printed bound; with l = 0 that of the library."""
    if l == 0:
        return bun_steinke.bun_steinke_proposition_36(
            Fraction(eps) ** 2 / 2, shift=s, smoothing=t, steps=k
        )
    u, e2 = float(t), float(eps) ** 2
    rise = math.exp((k + l - 1) * u) - math.exp((l - 1) * u) + math.exp(l * u) - 1
    inside = rise**2 / math.expm1(e2 * (k + l) ** 2) - math.expm1(l * u) ** 2
    return float(s) ** 2 / math.expm1(-u) ** 2 * inside


COMPUTED: dict[str, Callable[..., float]] = {
    "uln_score_sup": lambda sigma: score(uniform_log_normal_score, sigma),
    "gencauchy_score_sup": lambda c: score(generalized_cauchy_score, c),
    "t_tight_scale_pure": lambda d, t, eps: float(
        pure_shift(StudentT(d), eps, Fraction(t)).exact_shift
    ),
    "lln_opt_sigma": lambda eps, t: bun_steinke.bun_steinke_section_3_1_1(eps, smoothing=t),
    "lln_theorem_std": theorem_18_deviation,
    # Printed is a quarter of the tail; the library's is (1 - sqrt(1 - E)) / 2.
    "prop35": lambda s, t, eps, x: bun_steinke.bun_steinke_proposition_35(
        Fraction(eps) ** 2 / 2, shift=s, smoothing=t, beyond=x
    ),
    "prop36": proposition_36_printed,
    "prop36_best_l0": best_36,
    "laplace_theorem34_scale": shift_of_laplace_34,
    "gauss_tcdp_sigma_corrected": tcdp_sigma,
    "claim16_std": lambda c, gamma, eps: hladik_tetek.hladik_tetek_claim_16(
        c, epsilon=eps, smoothing=gamma
    ),
    "claim17_std": lambda d, gamma, eps: hladik_tetek.hladik_tetek_claim_17(
        d, epsilon=eps, smoothing=gamma
    ),
    "claim18_std": lambda gamma, eps, delta: hladik_tetek.hladik_tetek_claim_18(
        delta, epsilon=eps, smoothing=gamma
    ),
    "polyplace_variance": lambda s, alpha: hladik_tetek.hladik_tetek_lemma_13(alpha, scale=s),
}


@pytest.mark.parametrize(
    "case", OTHERS, ids=lambda c: f"{c['function']}{sorted(c['inputs'].values(), key=str)}"[:60]
)
def test_reference(case: dict[str, Any]) -> None:
    inputs = {k: v for k, v in case["inputs"].items() if k not in ("meaning", "note")}
    digits = min(case["verified_digits"], 14)
    value = COMPUTED[case["function"]](**inputs)
    assert value == pytest.approx(float(case["expected"]), rel=2 * 10.0**-digits)


@pytest.mark.parametrize("case", LOSSES, ids=lambda c: c["inputs"]["d"])
def test_largest_loss_of_student_t(case: dict[str, Any]) -> None:
    """At the epsilon that a shift loses, that shift is the largest."""
    inputs = case["inputs"]
    claim = pure_shift(StudentT(inputs["d"]), case["expected"], Fraction(inputs["t"]))
    assert float(claim.exact_shift) == pytest.approx(float(inputs["s"]), rel=1e-14)


def test_best_36_is_below_what_the_library_says() -> None:
    assert variance_lower_bound(sd.ZCDP("0.02"), shift=1, smoothing="0.1") == pytest.approx(
        25.5415961488698, rel=1e-13
    )


def test_three_curves() -> None:
    """Shift only, reverse and forward at t, as (scale, ln B, offset)."""
    with precision(64):
        still, reverse, forward = curves(ball(Fraction(1, 4)))
    assert float(still.log_b) == 0 == float(still.offset)
    assert float(reverse.log_b) == 0.25 == -float(reverse.offset)
    assert float(forward.scale.mid()) == pytest.approx(math.exp(-0.25))
