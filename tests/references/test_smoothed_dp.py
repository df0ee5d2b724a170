"""Reference values of paper 1's mechanisms, computed at 60 digits by two routes."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from smoothdp import SamplingHistogram
from smoothdp.exact.parameters.numbers import exact_real

pytestmark = pytest.mark.filterwarnings("ignore:n_draws = n_records")

CASES = json.loads(Path(__file__).with_name("smoothed_dp.json").read_text())["cases"]


def cases(kind: str) -> list[Any]:
    return [pytest.param(case, id=str(case["inputs"])) for case in CASES if case["kind"] == kind]


def mechanism(inputs: dict[str, Any], n: int) -> SamplingHistogram:
    if inputs["replacement"]:
        return SamplingHistogram(n, n_draws=inputs["T"], sampling="with_replacement")
    return SamplingHistogram(n, n_draws=inputs["T"])


def tolerance(log_value: float) -> float:
    """max(1e-11, 4 ulp of the logarithm): the accuracy that the library promises."""
    return max(1e-11, 4 * math.ulp(log_value))


@pytest.mark.parametrize("case", cases("delta_x"))
def test_delta_x(case: dict[str, Any]) -> None:
    inputs = case["inputs"]
    profile = mechanism(inputs, sum(inputs["H"])).at(inputs["H"])
    truth = float(case["expected_ln"])
    lower, upper = profile.log_delta_bounds(exact_real(inputs["eps"], name="epsilon"))
    # The reference logarithm is itself rounded to a float here: half an ulp each way.
    assert lower <= truth + math.ulp(truth)
    assert upper >= truth - math.ulp(truth)
    assert upper - truth <= tolerance(truth)
    assert truth - lower <= tolerance(truth)
    assert profile.delta(inputs["eps"]) >= float(Fraction(case["expected"])) * (1 - 2**-53)


@pytest.mark.parametrize("case", cases("adversary_utility"))
def test_adversary_utility(case: dict[str, Any]) -> None:
    inputs = case["inputs"]
    known = inputs["x_minus_i_hist"]
    bounds = mechanism(inputs, sum(known) + 1).log_adversary_utility(known, threshold=inputs["t"])
    truth = float(case["expected_ln"])
    assert bounds.lower <= truth + math.ulp(truth)
    assert bounds.upper >= truth - math.ulp(truth)
    assert bounds.upper - truth <= tolerance(truth)


@pytest.mark.parametrize("case", cases("dp_delta"))
def test_worst_case_delta(case: dict[str, Any]) -> None:
    inputs = case["inputs"]
    value = mechanism(inputs, inputs["n"]).worst_case_delta(epsilon=inputs["eps"])
    truth = float(case["expected"])
    assert truth * (1 - 2**-53) <= value <= truth * (1 + 1e-12)


def test_every_kind_is_present() -> None:
    assert [len(cases(k)) for k in ("delta_x", "adversary_utility", "dp_delta")] == [23, 9, 2]
