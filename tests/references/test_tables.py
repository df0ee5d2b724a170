"""Reference values of tables, each by two independent routes (see ``how``)."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from smoothdp.queries import ClampedMean, Quantile

CASES = json.loads(Path(__file__).with_name("tables.json").read_text())["cases"]
WINDOWS = [case for case in CASES if "window" in case["inputs"]]
UP = Fraction(1, 10**15)


@pytest.mark.parametrize(
    "case", WINDOWS, ids=lambda c: f"{c['function']}-{len(c['inputs']['data'])}"
)
def test_windows_with_a_private_number_of_records(case: dict[str, Any]) -> None:
    given = case["inputs"]
    data = [float(Fraction(value)) for value in given["data"]]
    query = Quantile(given["q"], bounds=given["bounds"], window=given["window"])
    private = {"neighbours": "add_remove"}
    if case["function"] == "padded_window_value":
        found = query.value(data, **private)
    elif case["function"] == "add_remove_bound":
        found = query.local_bound(data, given["distance"], **private)
    else:
        found = query.smooth_sensitivity(data, smoothing=given["smoothing"], **private)
    truth = Fraction(case["expected"])
    assert abs(Fraction(found) - truth) <= UP * truth


MEANS = [case for case in CASES if case["function"] == "two_sums_mean_noise_sd"]


@pytest.mark.parametrize("case", MEANS, ids=lambda c: c["function"])
def test_noise_of_a_mean_of_two_sums(case: dict[str, Any]) -> None:
    given = case["inputs"]
    data = [float(Fraction(value)) for value in given["data"]]
    found = ClampedMean(given["bounds"]).noise_sd(data, epsilon=given["epsilon"])
    truth = Fraction(case["expected"])
    assert abs(Fraction(found) - truth) <= 2 * UP * truth


def test_every_case_is_present() -> None:
    assert (len(CASES), len(WINDOWS), len(MEANS)) == (67, 35, 1)
