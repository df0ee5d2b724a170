"""Reference values of the Boolean and the real sum, 20 digits, each computed in two ways.

`shuffle_sums.json` says how for every case: exact rationals, 50-digit sums, incomplete beta
functions. All hold to relative 1e-10 here.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smoothdp.paper_bounds.chen_long import chen_long_tradeoff
from smoothdp.paper_bounds.cheu import cheu_epsilon, cheu_fixed_set_epsilon
from smoothdp.paper_bounds.clones import clones_delta
from smoothdp.shuffle.accounting.flip_curve import flip_knots
from smoothdp.shuffle.accounting.flipped_bits import log_flip_delta
from smoothdp.shuffle.flipped.boolean_sum import BooleanSum
from smoothdp.shuffle.flipped.real_sum import RealSum

CASES = json.loads(Path(__file__).with_name("shuffle_sums.json").read_text())


def cases(*names: str) -> list[Any]:
    found = [case for case in CASES if case["function"] in names]
    assert found
    return [pytest.param(case["inputs"], float(case["expected"])) for case in found]


def flip(given: dict[str, Any]) -> Fraction:
    return Fraction(given["lam"]) / (2 * int(given["n"]))


@pytest.mark.parametrize(("given", "truth"), cases("delta_bitsum_k", "delta_bitsum_k0"))
def test_delta_for_given_data(given: dict[str, Any], truth: float) -> None:
    k = given.get("k", 0)
    bounds = log_flip_delta(given["n"] - 1 - k, k, flip(given), 1, Fraction(given["eps"]))
    assert bounds.linear() == pytest.approx((truth, truth), rel=1e-10)
    assert bounds.lower <= math.log(truth) + 1e-14
    assert bounds.upper >= math.log(truth) - 1e-14


@pytest.mark.parametrize(("given", "truth"), cases("delta_bitsum_sup"))
def test_delta_of_the_worst_data(given: dict[str, Any], truth: float) -> None:
    profile = BooleanSum(given["n"], expected_random_users=given["lam"]).profile()
    assert profile.delta_bounds(given["eps"]) == pytest.approx((truth, truth), rel=1e-10)
    worst = profile.log_delta_at(given["argmax_k"], Fraction(given["eps"]))
    assert worst.linear()[1] == pytest.approx(truth, rel=1e-10)


@pytest.mark.parametrize(("given", "truth"), cases("delta_realsum_total"))
def test_real_sum(given: dict[str, Any], truth: float) -> None:
    n, r = given["n"], given["r"]
    protocol = RealSum(n, expected_random_users=given["lam"], n_bits=r)
    epsilon = Fraction(given["eps"])
    at_zeros = protocol.profile().log_delta_at(given["K"], epsilon)
    assert at_zeros.linear() == pytest.approx((truth, truth), rel=1e-10)
    # The worst data are no better than zeros, and not much worse.
    assert truth * (1 - 1e-10) <= protocol.profile().delta(given["eps"]) <= 1.05 * truth


@pytest.mark.parametrize(("given", "truth"), cases("tradeoff_bitsum_k"))
def test_curve_for_given_data(given: dict[str, Any], truth: float) -> None:
    # The null of the case is the zero: the mirror image of zeros and ones.
    k = given["k"]
    alphas, powers = flip_knots(k, given["n"] - 1 - k, flip(given), 1)
    alpha = float(Fraction(given["alpha"]))
    power = np.interp(alpha, np.concatenate([[0], alphas]), np.concatenate([[0], powers]))
    assert 1 - float(power) == pytest.approx(truth, rel=1e-10)


@pytest.mark.parametrize(("given", "truth"), cases("tradeoff_bitsum_true"))
def test_curve_of_the_worst_data(given: dict[str, Any], truth: float) -> None:
    protocol = BooleanSum(given["n"], expected_random_users=given["lam"])
    found = float(protocol.type_two_error(float(Fraction(given["alpha"])))[0])
    assert found == pytest.approx(truth, rel=1e-10)
    assert found <= truth


@pytest.mark.parametrize(
    ("reading", "given", "truth"),
    [
        pytest.param(reading, *case.values)
        for reading in ("linear", "step")
        for case in cases(f"tradeoff_claimed_{reading}")
    ],
)
def test_claimed_curve(reading: Any, given: dict[str, Any], truth: float) -> None:
    found = chen_long_tradeoff(
        given["alpha"],
        n_users=given["n"],
        expected_random_users=given["lam"],
        reading=reading,
    )
    assert found == pytest.approx(truth, rel=1e-10)


@pytest.mark.parametrize(("given", "truth"), cases("mu_exact_bitsum"))
def test_mu(given: dict[str, Any], truth: float) -> None:
    protocol = BooleanSum(given["n"], expected_random_users=given["lam"])
    lower, upper = protocol.gaussian_mu_bounds()
    assert lower <= truth <= upper
    assert (lower, upper) == pytest.approx((truth, truth), rel=2e-9)


@pytest.mark.parametrize(("given", "truth"), cases("delta_clones_or_blanket_binaryRR"))
def test_clones(given: dict[str, Any], truth: float) -> None:
    found = clones_delta(
        n_users=given["n"], expected_random_users=given["lam"], epsilon=given["eps"]
    )
    assert truth <= found <= truth * (1 + 1e-10)


@pytest.mark.parametrize(("given", "truth"), cases("cheu_eps"))
def test_cheu(given: dict[str, Any], truth: float) -> None:
    found = cheu_epsilon(
        n_users=given["n"], expected_random_users=given["lam"], delta=given["delta"]
    )
    assert found == pytest.approx(truth, rel=1e-14)


@pytest.mark.parametrize(("given", "truth"), cases("cheu_eps_C_H"))
def test_cheu_for_a_fixed_set(given: dict[str, Any], truth: float) -> None:
    found = cheu_fixed_set_epsilon(n_random_users=given["H"], delta=given["delta"])
    assert found == pytest.approx(truth, rel=1e-14)


@pytest.mark.parametrize(("given", "truth"), cases("mse_bitsum"))
def test_mse_of_bits(given: dict[str, Any], truth: float) -> None:
    protocol = BooleanSum(given["n"], expected_random_users=given["lam"])
    assert protocol.mse([1] * given["ones"]) == pytest.approx(truth, rel=1e-14)


@pytest.mark.parametrize(("given", "truth"), cases("mse_realsum"))
def test_mse_of_numbers(given: dict[str, Any], truth: float) -> None:
    xs = [Fraction(x) for x in given["x"]]
    protocol = RealSum(len(xs), expected_random_users=given["lam"], n_bits=given["r"])
    assert protocol.mse(xs) == pytest.approx(truth, rel=1e-14)


@pytest.mark.parametrize(("given", "truth"), cases("lambda_tight_k0"))
def test_calibration_for_zeros(given: dict[str, Any], truth: float) -> None:
    """Others that hold zeros only need this lambda: delta is on either side of the target."""
    epsilon, target = Fraction(given["eps"]), math.log(Fraction(given["delta"]))
    n = given["n"]
    for factor, above in ((1 - 1e-10, True), (1 + 1e-10, False)):
        q = Fraction(truth * factor) / (2 * n)
        both = [log_flip_delta(z, n - 1 - z, q, 1, epsilon).upper for z in (n - 1, 0)]
        assert (max(both) > target) is above
