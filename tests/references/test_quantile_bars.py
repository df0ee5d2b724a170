"""Excesses and coverages against values computed elsewhere, to their digits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.noise.joint.max_law import MaxLaw

CASES = json.loads(Path(__file__).with_name("quantile_bars.json").read_text())["cases"]


def of(function: str) -> list[dict[str, Any]]:
    return [case for case in CASES if case["function"] == function]


@pytest.mark.parametrize("case", of("joint_bar_coverage"), ids=lambda case: str(case["inputs"]))
def test_coverage_of_the_max_law(case: dict[str, Any]) -> None:
    asked = case["inputs"]
    law = MaxLaw(asked["offset"]).calibrate(
        sd.PureDP(asked["epsilon"]), smoothing=asked["smoothing"]
    )
    found = law.coverage(excess=float(asked["excess"]), factor=float(asked["factor"]))
    assert found == pytest.approx(float(case["expected"]), abs=1e-12)


@pytest.mark.parametrize("case", of("excess_at_rank"), ids=lambda case: str(case["inputs"]))
def test_excess_at_a_rank(case: dict[str, Any]) -> None:
    asked = case["inputs"]
    window = sd.queries.WindowMean(asked["drop_low"], drop_high=asked["drop_high"], bounds=(0, 1))
    found = max(
        window.excess(asked["n"], rank_below=asked["rank_below"], smoothing=asked["smoothing"])
    )
    expected = float(case["expected"])
    assert found == pytest.approx(expected, rel=1e-13)
    assert found >= expected * (1 - 1e-16)
