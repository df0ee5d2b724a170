"""Reference values of smooth sensitivity, each by two independent routes (see ``how``)."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from smoothdp.queries import TrimmedMean, WindowMean

FILE = json.loads(Path(__file__).with_name("smooth_sensitivity.json").read_text())


@pytest.mark.parametrize(
    "case", FILE["cases"], ids=lambda c: f"{c['data']}-{c['drop_low']}-{c['drop_high']}"
)
def test_smooth_sensitivity(case: dict[str, Any]) -> None:
    """Within 1e-10 relative of the reference, and where its digits allow within 1e-15."""
    query: WindowMean | TrimmedMean
    if case["statistic"] == "window":
        query = WindowMean(case["drop_low"], drop_high=case["drop_high"], bounds=case["bounds"])
    else:
        query = TrimmedMean(case["drop_low"], bounds=case["bounds"], truncate="output")
    data = FILE["datasets"][case["data"]]
    value = query.smooth_sensitivity(data, smoothing=case["smoothing"])
    truth = Fraction(case["expected"])
    assert abs(Fraction(value) / truth - 1) <= Fraction(1, 10**10)
    digits = Fraction(1, 10 ** (case["verified_digits"] - 1))
    assert abs(Fraction(value) / truth - 1) <= digits
    log = query.log_smooth_sensitivity(data, smoothing=case["smoothing"])
    assert log == pytest.approx(math.log(truth), rel=1e-14)
    curve = query.sensitivity_curve(data)
    assert curve.smooth_sensitivity(smoothing=case["smoothing"]) == value


def test_every_case_is_present() -> None:
    statistics = [case["statistic"] for case in FILE["cases"]]
    assert (statistics.count("window"), statistics.count("truncated output")) == (36, 5)
