"""Reference values of histograms with rare noise: their bars, and the noise of several levels."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from smoothdp.shuffle import HistogramEstimate, LowCommunicationHistogram
from smoothdp.shuffle.histogram.bars import RareNoise
from smoothdp.shuffle.strings.levels_profile import LevelsProfile, levels_profile

CASES = json.loads(Path(__file__).with_name("collected_histograms.json").read_text())["cases"]


def cases(function: str) -> list[Any]:
    return [
        pytest.param(case["inputs"], case["expected"], id=str(case["inputs"]))
        for case in CASES
        if case["function"] == function
    ]


@pytest.mark.parametrize(("inputs", "expected"), cases("low_communication_bars"))
def test_bars(inputs: dict[str, Any], expected: dict[str, Any]) -> None:
    n, gamma = inputs["n_users"], Fraction(inputs["n_times_noise_probability"]) / inputs["n_users"]
    protocol = LowCommunicationHistogram(
        n,
        n_bins=inputs["n_bins"],
        noise_probability=gamma,
        false_positive=inputs["false_positive"],
    )
    assert protocol.threshold == expected["threshold"]
    law = RareNoise(n, inputs["n_bins"], gamma, protocol.threshold, 0, Fraction(0))
    estimate = HistogramEstimate(inputs["n_bins"], {7: 1000 - float(n * gamma)}, law=law)
    bars = estimate.bars(1 - Fraction(inputs["failure_probability"]))
    assert round(-bars.below, 4) == float(expected["true_minus_listed_low"])
    assert round(bars.above, 4) == float(expected["true_minus_listed_high"])
    assert bars.unlisted == expected["unlisted_at_most"] == bars[8][1]
    low, high = bars[7]
    assert (1000 - float(n * gamma)) - bars.below == pytest.approx(low)
    assert (1000 - float(n * gamma)) + bars.above == pytest.approx(high)


@pytest.mark.parametrize(("inputs", "expected"), cases("levels_n_times_noise_probability"))
def test_noise_of_several_levels(inputs: dict[str, Any], expected: dict[str, str]) -> None:
    """Delta is certainly above the goal at the lower end, certainly below it at the upper end.

    The bracket is .3% wide, which is what a composition of a profile costs; so the lower end is
    asked with an upper bound, and .3% of delta further down with a lower one.
    """
    n, goal = inputs["n_users"], float(inputs["delta"])
    for end, sign in (("at_least", 1), ("at_most", -1)):
        gamma = Fraction(expected[end]) / n
        profile = levels_profile(n, gamma, inputs["n_levels"])
        assert isinstance(profile, LevelsProfile)
        lower, upper = profile.product.delta_bounds(inputs["epsilon"])
        assert lower <= upper <= lower * 1.004
        if sign > 0:
            assert upper > goal
        else:
            assert upper <= goal
