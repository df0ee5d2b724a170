"""delta of three and more categories against values of independent code, up to 1e9 records."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.exact.parameters.numbers import exact_real

CASES = json.loads(Path(__file__).with_name("boundary_walk.json").read_text())["cases"]
PAIRS = [case for case in CASES if case["kind"] == "ln D"]
DATABASES = [case for case in CASES if case["kind"] == "delta(x)"]


@pytest.mark.parametrize("case", PAIRS, ids=lambda case: "-".join(case["inputs"].values()))
def test_one_pair(case: dict[str, Any]) -> None:
    given = {key: value for key, value in case["inputs"].items() if key != "epsilon"}
    a, b, rest, draws = (int(given[key]) for key in ("A", "B", "R", "n_draws"))
    epsilon = exact_real(case["inputs"]["epsilon"], name="epsilon")
    bounds = sd.SamplingHistogram(a + b + rest, n_draws=draws).pair_divergence(a, b, epsilon)
    truth = float(case["expected"])
    slip = max(math.ulp(truth), 10.0 ** (1 - case["verified_digits"]))
    assert bounds.lower - slip <= truth <= bounds.upper + slip
    assert bounds.upper - bounds.lower < 1e-9


@pytest.mark.parametrize("case", DATABASES, ids=lambda case: str(case["inputs"]["counts"]))
def test_one_database(case: dict[str, Any]) -> None:
    counts, epsilon = case["inputs"]["counts"], case["inputs"]["epsilon"]
    mechanism = sd.SamplingHistogram(sum(counts), n_draws=int(case["inputs"]["n_draws"]))
    low, high = mechanism.delta_bounds(counts, epsilon=epsilon)
    truth = Fraction(case["expected"])
    digits = Fraction(1, 10**23)
    assert Fraction(low) - digits <= truth <= Fraction(high) + digits
    assert high - low <= 1e-9 * high


def test_three_hundred_nats_down_at_any_size() -> None:
    """Figures of a prototype that shares no code, to their digits."""
    for counts, epsilon, expected, digits in (
        ([81_283_501, 74_223_975, 1_800_000], "0.01", -100.3129764253506, 1e-11),
        ([5 * 10**8, 3 * 10**8, 2 * 10**8], "0.1", -586_820.8362446, 6e-8),
        ([500_000, 300_000, 200_000], "0.1", -600.5731305003833, 1e-11),
    ):
        profile = sd.SamplingHistogram(sum(counts), sampling_rate="0.5").at(counts)
        bounds = profile.log_delta_bounds(exact_real(epsilon, name="epsilon"))
        assert bounds.lower - digits <= expected <= bounds.upper + digits
        assert bounds.upper - bounds.lower <= max(1e-9, 4 * math.ulp(expected))
