"""Reference values of the sampling-average, by enumeration of samples and by integers."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from smoothdp.mechanisms.average.sampling_average import SamplingAverage

CASES = json.loads(Path(__file__).with_name("sampling_average.json").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["inputs"]["x"]))
def test_reference(case: dict[str, Any]) -> None:
    inputs = case["inputs"]
    lowest, highest = inputs["universe"].removeprefix("integers ").split("..")
    mechanism = SamplingAverage(
        len(inputs["x"]), n_draws=inputs["T"], universe=range(int(lowest), int(highest) + 1)
    )
    lower, upper = mechanism.delta_bounds(inputs["x"], epsilon=inputs["eps"])
    truth = Fraction(case["expected"])
    # The reference itself is given to 25 digits.
    slack = truth / 10**24
    assert Fraction(lower) <= truth + slack
    assert Fraction(upper) >= truth - slack
    assert upper - lower <= 1e-12 * truth
