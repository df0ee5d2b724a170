"""Values and sensitivities at half shifts, and shares of the budget, beside reference values."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.mechanisms.quantiles.half_shift.budget import shift_share

CASES: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("quantiles.json").read_text(encoding="utf-8")
)["cases"]


def cases(function: str) -> list[Any]:
    found = [case for case in CASES if case["function"] == function]
    assert found
    return found


def query(inputs: dict[str, Any]) -> sd.queries.Quantile:
    """Return a quantile of the rank of a case."""
    n, rank = len(inputs["data"]), inputs["rank"]
    level = Fraction(rank - 1, n - 1) if n > 1 else Fraction(0)
    made = sd.queries.Quantile(level, bounds=inputs["bounds"], window=inputs["window"])
    assert made.rank(n) == rank
    return made


@pytest.mark.parametrize("case", cases("half_shift_value"))
def test_values(case: dict[str, Any]) -> None:
    inputs = case["inputs"]
    data = [float(value) for value in inputs["data"]]
    found = query(inputs).half_shift_value(data, half_shift=inputs["half_shift"])
    assert found == float(Fraction(case["expected"]))


@pytest.mark.parametrize("case", cases("half_shift_log_sensitivity"))
def test_sensitivities(case: dict[str, Any]) -> None:
    inputs = case["inputs"]
    data = [float(value) for value in inputs["data"]]
    found = query(inputs).log_half_shift_sensitivity(
        data, half_shift=inputs["half_shift"], smoothing=inputs["smoothing"]
    )
    assert found == pytest.approx(float(case["expected"]), abs=1e-14, rel=2e-15)


@pytest.mark.parametrize("case", cases("half_shift_rank_share"))
def test_shares(case: dict[str, Any]) -> None:
    assert float(shift_share(case["inputs"]["m"])) == pytest.approx(
        float(case["expected"]), abs=5e-4
    )
