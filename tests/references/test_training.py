"""Every reference value of the samplings of training lies in its bracket."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import pytest

import smoothdp as sd
from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.exact.balls.balls import precision
from smoothdp.training_runs.allocation import RandomAllocation
from smoothdp.training_runs.directed import DirectedProfile
from smoothdp.training_runs.truncated_poisson import TruncatedPoisson, _Means
from smoothdp.training_runs.with_replacement import ReplacementBatch

CASES = json.loads(Path(__file__).with_name("training.json").read_text())["cases"]
TRUNCATED = [case for case in CASES if case["function"].startswith("truncated")]
ENCLOSED = [case for case in CASES if case not in TRUNCATED]


def name(case: dict[str, Any]) -> str:
    return " ".join([case["function"], *map(str, case["inputs"].values())])


def way_of(case: dict[str, Any]) -> Literal["remove", "add"]:
    return "add" if case["function"].endswith("add") else "remove"


def profile(case: dict[str, Any]) -> PrivacyProfile:
    function, given, way = case["function"], case["inputs"], way_of(case)
    if function.startswith("Subsampled("):
        scale = 1 / Fraction(given["sensitivity_over_scale"])
        laplace = sd.LaplaceMechanism(scale, neighbours="add_remove")
        return sd.Subsampled(laplace, given["q"]).directed(way)
    if function.startswith("fixed-size batch with replacement"):
        return ReplacementBatch(
            given["n"], batch=given["batch"], noise_multiplier=given["s"]
        ).profile()
    if function.startswith("fixed-size"):
        step = sd.SubsampledGaussian(
            given["q"], noise_multiplier=given["s"], sampling="without_replacement"
        )
        return sd.compose([(step, 2 if "2 steps" in function else 1)])
    if function.startswith("Poisson"):
        one = sd.SubsampledGaussian(given["q"], noise_multiplier=given["noise_multiplier"])
        return DirectedProfile(sd.compose([(one, given["steps"])]), way)
    steps, count = given.get("steps_per_epoch", given.get("steps")), given.get("epochs", 1)
    epoch = RandomAllocation(steps, noise_multiplier=given["noise_multiplier"])
    return epoch.directed(way) if count == 1 else DirectedProfile(sd.compose([(epoch, count)]), way)


@pytest.mark.parametrize("case", ENCLOSED, ids=name)
def test_truth_lies_in_its_bracket(case: dict[str, Any]) -> None:
    low, high = profile(case).delta_bounds(case["inputs"]["epsilon"])
    truth = Fraction(case["expected"])
    assert Fraction(low) <= truth * (1 + Fraction(1, 10**12))
    assert truth * (1 - Fraction(1, 10**12)) <= Fraction(high)
    assert high <= float(truth) * 1.02


@pytest.mark.parametrize("case", TRUNCATED, ids=name)
def test_truncated_poisson_at_one_number_of_others(case: dict[str, Any]) -> None:
    """The reference has one number of others; the bound is the largest over all."""
    given, expected = case["inputs"], float(case["expected"])
    rate, noise = Fraction(given["q"]), Fraction(given["noise_multiplier"])
    most, others, removes = given["max_batch"], given["n_others"], way_of(case) == "remove"
    with precision(160):
        means = _Means(rate, most, others, 1 / noise, Fraction(given["epsilon"]), removes)
        found = float(means._mean(others).mid())
        largest = max(float(means._mean(n).mid()) for n in range(others + 1))
    assert found == pytest.approx(expected, rel=1e-14)
    step = TruncatedPoisson(rate, max_batch=most, n_records=others + 1, noise_multiplier=noise)
    low, high = step.directed(way_of(case)).delta_bounds(given["epsilon"])
    assert low <= largest * (1 + 1e-14) <= high * (1 + 2e-14)
