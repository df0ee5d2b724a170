"""Reference values of the noisy histogram and of composition at fixed x.

Computed at high precision by two routes each, as every case says.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smoothdp import Pair, SamplingHistogram
from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.exact.parameters.numbers import exact_real
from smoothdp.mechanisms.composed import Composed
from smoothdp.mechanisms.histogram.noisy_histogram import NoisySamplingHistogram
from smoothdp.mechanisms.histogram.sample_law import log_sample_law, sampled_histograms
from smoothdp.mechanisms.sampling.finite_law import replaced

CASES = json.loads(Path(__file__).with_name("smoothed_dp_mechanisms.json").read_text())["cases"]
RELATIVE = 1e-10


def cases(kind: str) -> list[Any]:
    return [pytest.param(case, id=str(case["inputs"])) for case in CASES if case["kind"] == kind]


def assert_met(profile: PrivacyProfile, case: dict[str, Any]) -> None:
    """The 25 digits lie inside the bounds, which are within 1e-10 of them."""
    truth = Fraction(case["expected"])
    lower, upper = profile.delta_bounds(case["inputs"]["eps"])
    assert Fraction(lower) <= truth <= Fraction(upper)
    assert (Fraction(upper) - Fraction(lower)) / truth <= RELATIVE
    epsilon = exact_real(case["inputs"]["eps"], name="epsilon")
    log_lower, log_upper = profile.log_delta_bounds(epsilon)
    log_truth = Fraction(case["expected_ln"])
    assert Fraction(log_lower) <= log_truth <= Fraction(log_upper)
    assert Fraction(log_upper) - Fraction(log_lower) <= RELATIVE


@pytest.mark.parametrize("case", cases("delta_x_noise"))
def test_delta_x_noise(case: dict[str, Any]) -> None:
    inputs = case["inputs"]
    mechanism = NoisySamplingHistogram(
        sum(inputs["H"]),
        n_draws=inputs["T"],
        noise_epsilon=inputs["noise_eps"],
        noise_support="integers" if "all integers" in inputs["noise_support"] else "nonnegative",
    )
    assert mechanism.noise_rate == Fraction(inputs["noise_decay_lambda"])
    assert_met(mechanism.at(inputs["H"]), case)


def histograms(inputs: dict[str, Any]) -> list[SamplingHistogram]:
    return [SamplingHistogram(sum(inputs["H"]), n_draws=inputs[name]) for name in ("T1", "T2")]


@pytest.mark.parametrize("case", cases("composition_delta_x"))
def test_composition_delta_x(case: dict[str, Any]) -> None:
    assert_met(Composed(histograms(case["inputs"])).at(case["inputs"]["H"]), case)


@pytest.mark.parametrize("case", cases("composition_delta_x"))
def test_pairs_in_one_orientation_give_the_same(case: dict[str, Any]) -> None:
    """The largest over the neighbours of the products of `Pair`s of whole histograms."""
    here = tuple(case["inputs"]["H"])
    epsilon = case["inputs"]["eps"]
    lower = upper = 0.0
    for there in replaced(here):
        product: Pair | None = None
        for mechanism in histograms(case["inputs"]):
            listed = sampled_histograms(mechanism, [c + 1 for c in here], most=10**5, remedy="")
            laws = [log_sample_law(mechanism, listed, counts) for counts in (here, there)]
            error = max(law.error for law in laws)
            pair = Pair(laws[0].log_values, laws[1].log_values, error=error)
            product = pair if product is None else product.compose(pair)
        assert product is not None
        low, high = product.profile().delta_bounds(epsilon)
        lower, upper = max(lower, low), max(upper, high)
    truth = Fraction(case["expected"])
    assert Fraction(lower) <= truth <= Fraction(upper)
    assert np.isclose(lower, upper, rtol=RELATIVE, atol=0)


def test_every_kind_is_present() -> None:
    assert [len(cases(kind)) for kind in ("delta_x_noise", "composition_delta_x")] == [5, 2]
