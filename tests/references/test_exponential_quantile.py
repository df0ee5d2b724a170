"""Errors of the exponential mechanism on ranks against reference values of two routes."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import smoothdp as sd

CASES = [
    case["inputs"] | {"expected": case["expected"]}
    for case in json.loads(Path(__file__).with_name("quantiles.json").read_text())["cases"]
    if case["function"] == "exponential_quantile_rmse"
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"q={case['q']} {case['slope']}")
def test_expected_errors(case: dict[str, Any]) -> None:
    guarantee = sd.PureDP(2 * Fraction(case["slope"]))
    mechanism = sd.ExponentialQuantile(case["q"], bounds=case["bounds"], guarantee=guarantee)
    assert mechanism.slope == Fraction(case["slope"])
    found = mechanism.rmse([float(value) for value in case["data"]], target=case["target"])
    assert found == pytest.approx(float(case["expected"]), rel=4e-16)


def test_there_are_cases() -> None:
    assert len(CASES) == 8
