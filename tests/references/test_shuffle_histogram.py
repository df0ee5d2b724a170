"""Reference values of paper 3's protocols, computed at 50 digits by two routes each."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from smoothdp.claims import ApproxDP
from smoothdp.exact.parameters.numbers import exact_real
from smoothdp.paper_bounds.balcer_cheu import (
    balcer_cheu_error,
    balcer_cheu_omission,
    balcer_cheu_smooth,
)
from smoothdp.shuffle.accounting.shift_sum import log_shift_sum
from smoothdp.shuffle.applications.pure_privacy import no_two_ones_randomizer
from smoothdp.shuffle.applications.support import support_success
from smoothdp.shuffle.histogram.accuracy import worst_case_error
from smoothdp.shuffle.histogram.calibration import paper_omission
from smoothdp.shuffle.histogram.histogram import Histogram

CASES = json.loads(Path(__file__).with_name("shuffle_histogram.json").read_text())
RELATIVE = 1e-11


def cases(function: str) -> list[Any]:
    return [
        pytest.param(case["inputs"], case["expected"], id=str(case["inputs"]))
        for case in CASES
        if case["function"] == function
    ]


@pytest.mark.parametrize(("inputs", "expected"), cases("delta_zero_sum_counting"))
def test_delta_of_one_direction_of_a_count(inputs: dict[str, Any], expected: str) -> None:
    epsilon = exact_real(inputs["eps"], name="epsilon")
    lower, upper = log_shift_sum(inputs["n"], Fraction(inputs["p"]), epsilon)
    truth = math.log(float(expected))
    assert lower <= truth + 1e-14 * abs(truth)
    assert upper >= truth - 1e-14 * abs(truth)
    assert upper - lower <= RELATIVE


@pytest.mark.parametrize(("inputs", "expected"), cases("delta_histogram_two_bin"))
def test_delta_of_a_histogram(inputs: dict[str, Any], expected: str) -> None:
    gamma = 1 - Fraction(inputs["p"])
    profile = Histogram(inputs["n"], n_bins=2, omission_probability=gamma).profile()
    lower, upper = profile.delta_bounds(inputs["eps"])
    assert lower <= float(expected) * (1 + 2e-16)
    assert upper >= float(expected) * (1 - 2e-16)
    assert upper <= lower * (1 + RELATIVE)


@pytest.mark.parametrize(("inputs", "expected"), cases("gamma_tight_histogram"))
def test_exact_calibration(inputs: dict[str, Any], expected: str) -> None:
    goal = ApproxDP(inputs["eps"], delta=inputs["delta"])
    protocol = Histogram.calibrate(inputs["n"], n_bins=100, guarantee=goal, honest_share=1)
    assert float(protocol.omission_probability) == pytest.approx(float(expected), rel=RELATIVE)
    assert protocol.omission_probability >= Fraction(expected) * (1 - Fraction(1, 10**19))
    assert protocol.guarantee.implies(goal)


@pytest.mark.parametrize(("inputs", "expected"), cases("paper_p_counting"))
def test_paper_noise_of_a_count(inputs: dict[str, Any], expected: str) -> None:
    gamma = balcer_cheu_omission(inputs["n"], epsilon=inputs["eps"], delta=inputs["delta"])
    assert 1 - gamma == pytest.approx(float(expected), rel=1e-15)
    goal = ApproxDP(inputs["eps"], delta=inputs["delta"])
    assert paper_omission(inputs["n"], goal, share=1) == Fraction(gamma)


@pytest.mark.parametrize(("inputs", "expected"), cases("paper_p_histogram_total"))
def test_paper_noise_of_a_histogram(inputs: dict[str, Any], expected: str) -> None:
    gamma = balcer_cheu_omission(
        inputs["n"], epsilon=inputs["eps"], delta=inputs["delta"], whole_histogram=True
    )
    assert 1 - gamma == pytest.approx(float(expected), rel=1e-15)
    goal = ApproxDP(inputs["eps"], delta=inputs["delta"])
    protocol = Histogram.calibrate(
        inputs["n"], n_bins=2, guarantee=goal, honest_share=1, method="paper"
    )
    assert protocol.omission_probability == Fraction(gamma)


@pytest.mark.parametrize(("inputs", "expected"), cases("paper_error_alpha"))
def test_paper_error(inputs: dict[str, Any], expected: str) -> None:
    error = balcer_cheu_error(
        inputs["n"],
        epsilon=inputs["eps"],
        delta=inputs["delta"],
        failure_probability=inputs["beta"],
    )
    assert Fraction(expected) * (1 - Fraction(1, 10**18)) <= Fraction(error)
    assert error == pytest.approx(float(expected), rel=1e-14)


@pytest.mark.parametrize(("inputs", "expected"), cases("smooth_delta"))
def test_lemma_a_3(inputs: dict[str, Any], expected: str) -> None:
    law = balcer_cheu_smooth(inputs["n"], probability=inputs["gamma"], alpha=inputs["alpha"])
    assert law.delta == pytest.approx(float(expected), rel=1e-14)


@pytest.mark.parametrize(("inputs", "expected"), cases("error_quantile_counts"))
def test_error_of_a_count(inputs: dict[str, Any], expected: str) -> None:
    error = worst_case_error(inputs["n"], Fraction(inputs["gamma"]), Fraction(inputs["beta"]))
    assert error == float(expected)


@pytest.mark.parametrize(("inputs", "expected"), cases("error_quantile_simultaneous_counts"))
def test_error_of_all_bins(inputs: dict[str, Any], expected: str) -> None:
    protocol = Histogram(inputs["n"], n_bins=inputs["d"], omission_probability=inputs["gamma"])
    assert protocol.error(inputs["beta"], simultaneous=True) == float(expected)


@pytest.mark.parametrize(("inputs", "expected"), cases("support_identification_success"))
def test_support_identification(inputs: dict[str, Any], expected: str) -> None:
    lower, upper = support_success(
        inputs["n"], support_size=inputs["h"], omission_probability=inputs["gamma"]
    )
    assert lower <= float(expected) <= upper
    assert upper - lower <= 1e-10


@pytest.mark.parametrize(("inputs", "expected"), cases("gap_randomizer_eps"))
def test_claim_4_4(inputs: dict[str, Any], expected: str) -> None:
    epsilon = no_two_ones_randomizer().shuffled_epsilon(inputs["n"])
    assert float(epsilon) == pytest.approx(float(expected), rel=1e-15)


def test_every_case_is_used() -> None:
    used = {
        "delta_zero_sum_counting",
        "delta_histogram_two_bin",
        "gamma_tight_histogram",
        "paper_p_counting",
        "paper_p_histogram_total",
        "paper_error_alpha",
        "smooth_delta",
        "error_quantile_counts",
        "error_quantile_simultaneous_counts",
        "support_identification_success",
        "gap_randomizer_eps",
    }
    assert {case["function"] for case in CASES} == used
