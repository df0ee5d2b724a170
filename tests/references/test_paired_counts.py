"""Reference values of cancelling pairs, to 20 digits, each computed in two ways.

`paired_counts.json` says how for every case. Deltas lie within the certified bounds, which agree
to 1e-9; what is calibrated agrees to 1e-7.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smoothdp.exact.balls.balls import log_bounds
from smoothdp.shuffle.paired.count import PairedCount
from smoothdp.shuffle.paired.design import least_probability
from smoothdp.shuffle.paired.exact_delta import PairedCountProfile
from smoothdp.shuffle.paired.geometric_shares import difference_tails, share_law
from smoothdp.shuffle.paired.moved_user import PairedHistogramProfile
from smoothdp.shuffle.paired.noise_cap import least_slots, noise_tails
from smoothdp.shuffle.paired.view_rows import view_rows

CASES = json.loads(Path(__file__).with_name("paired_counts.json").read_text())


def cases(name: str, *, most: int = 10**9) -> list[Any]:
    """Return the cases of a function with at most so many honest users by design."""
    found = [
        case
        for case in CASES
        if case["function"] == name and case["inputs"].get("n_honest_design", 0) <= most
    ]
    assert found
    return [pytest.param(case["inputs"], case["expected"]) for case in found]


def within(bounds: tuple[float, float], truth: float, digits: int = 9) -> bool:
    lower, upper = bounds
    # The truth itself is printed to some digits.
    slip = 1e-13 * truth
    return lower - slip <= truth <= upper + slip and upper - lower <= 10.0**-digits * upper


@pytest.mark.parametrize(("given", "truth"), cases("paired_count_delta"))
def test_delta(given: dict[str, Any], truth: str) -> None:
    protocol = PairedCount(
        given["n_honest_design"],
        noise_rate=given["noise_rate"],
        clump_probability=given["clump_probability"],
        largest_clump=given["largest_clump"],
    )
    assert within(protocol.profile().delta_bounds(given["epsilon"]), float(truth))


@pytest.mark.parametrize(("given", "truth"), cases("paired_count_least_clump_probability"))
def test_the_least_clump_probability(given: dict[str, Any], truth: str) -> None:
    def excess(probability: Fraction) -> float:
        profile = PairedCountProfile(
            given["n_honest_design"],
            Fraction(given["noise_rate"]),
            probability,
            given["largest_clump"],
        )
        delta = profile.log_delta_bounds(Fraction(given["epsilon"])).upper
        return delta - log_bounds(Fraction(given["delta"])).lower

    found = least_probability(excess, 0.5, float(truth) * 2)
    assert found is not None
    assert excess(found) <= 0
    assert float(found) == pytest.approx(float(truth), rel=1e-7)


@pytest.mark.parametrize(
    ("given", "truth"),
    cases("one_sided_pair_delta", most=1000) + cases("one_sided_pair_delta_honest"),
)
def test_one_sided_signs(given: dict[str, Any], truth: str) -> None:
    """A user who adds one + or nothing, by the rows: what `PairedHistogram` has in each bin."""
    design = given["n_honest_design"]
    rows = view_rows(
        given.get("n_honest", design),
        design,
        Fraction(given["noise_rate"]),
        Fraction(given["clump_probability"]),
        given["largest_clump"],
        depth=60.0,
    ).masses
    growth = np.exp(float(Fraction(given["epsilon"])))
    shifted = np.concatenate([np.zeros((rows.shape[0], 1)), rows[:, :-1]], axis=1)
    # (U, V) with U - V = t >= 1, then U <= V: without the datum, and with it.
    zero = [rows[1:], rows]
    one = [rows[:-1], np.concatenate([shifted[1:], np.zeros((1, rows.shape[1]))])]
    if given.get("direction", "0||1") == "1||0":
        zero, one = one, zero
    found = sum(float(np.maximum(a - growth * b, 0).sum()) for a, b in zip(zero, one, strict=True))
    assert found == pytest.approx(float(truth), rel=1e-8, abs=1e-15)


@pytest.mark.parametrize(("given", "truth"), cases("noise_difference_quantile"))
def test_quantiles(given: dict[str, Any], truth: dict[str, Any]) -> None:
    tails = difference_tails(Fraction(given["shape"]), Fraction(given["noise_rate"]), depth=60.0)
    failure = float(Fraction(given["failure_probability"]))
    reach = truth["least_whole_error"]
    assert tails[reach + 1] <= failure < tails[reach]
    assert tails[reach + 1] == pytest.approx(float(truth["tail"]), rel=1e-9)


@pytest.mark.parametrize(("given", "truth"), cases("noise_cap"))
def test_caps(given: dict[str, Any], truth: int) -> None:
    # Without clumps, or nearly.
    design = given["n_honest_design"]
    tails = noise_tails(1, design, Fraction(given["noise_rate"]), Fraction(1, 10**40), 1)
    assert least_slots(tails, design, Fraction(given["tau"])) - 1 == truth


@pytest.mark.parametrize(("given", "truth"), cases("noise_share_pmf"))
def test_shares(given: dict[str, Any], truth: str) -> None:
    law = share_law(Fraction(given["shape"]), Fraction(given["noise_rate"]), depth=60.0)
    assert law.masses[given["count"]] == pytest.approx(float(truth), rel=1e-11)


@pytest.mark.parametrize(("given", "truth"), cases("paired_histogram_delta"))
def test_delta_of_a_histogram(given: dict[str, Any], truth: str) -> None:
    design = given["n_honest_design"]
    profile = PairedHistogramProfile(
        design,
        design,
        Fraction(given["noise_rate"]),
        Fraction(given["clump_probability"]),
        given["largest_clump"],
    )
    assert within(profile.delta_bounds(given["epsilon"]), float(truth), digits=8)


@pytest.mark.parametrize(("given", "truth"), cases("paired_histogram_least_clump_probability"))
def test_the_least_clump_probability_of_a_histogram(given: dict[str, Any], truth: str) -> None:
    def excess(probability: Fraction) -> float:
        design, rate = given["n_honest_design"], Fraction(given["noise_rate"])
        profile = PairedHistogramProfile(design, design, rate, probability, given["largest_clump"])
        delta = profile.log_delta_bounds(Fraction(given["epsilon"])).upper
        return delta - log_bounds(Fraction(given["delta"])).lower

    found = least_probability(excess, 0.5, float(truth) * 2)
    assert found is not None
    assert float(found) == pytest.approx(float(truth), rel=1e-7)
