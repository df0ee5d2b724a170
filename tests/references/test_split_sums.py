"""Reference values of split sums: exact rationals, and brackets of what is bounded.

`split_sums.json` says how for every case. Of a case with ``at_least`` and ``at_most`` any bound
between them is right.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from smoothdp.shuffle.split.components import log_chi_squared
from smoothdp.shuffle.split.split_profile import log_slack_factor
from tests.oracles.split_views import exact_components

CASES = json.loads(Path(__file__).with_name("split_sums.json").read_text())


def cases(name: str) -> list[Any]:
    found = [case for case in CASES if case["function"] == name]
    assert found
    return [pytest.param(case["inputs"], case["expected"]) for case in found]


@pytest.mark.parametrize(("given", "truth"), cases("split_mix_chi2_exact"))
def test_exact_values(given: dict[str, int], truth: str) -> None:
    h, m, q = given["n_honest"], given["n_shares"], given["modulus"]
    exact = exact_components(h, m, q) - 1
    assert float(exact) == pytest.approx(float(Fraction(truth)), rel=1e-18)
    if q & (q - 1) == 0:
        found = log_chi_squared(h, m, q.bit_length() - 1)
        assert math.log(exact) <= found <= math.log(exact) + 1e-3


@pytest.mark.parametrize(("given", "truth"), cases("split_mix_log2_chi2_bound"))
def test_bounds(given: dict[str, Any], truth: dict[str, str]) -> None:
    bits = int(given["modulus"].removeprefix("2^"))
    found = log_chi_squared(given["n_honest"], given["n_shares"], bits) / math.log(2)
    assert float(truth["at_least"]) <= found <= float(truth["at_most"]) + 1e-6


@pytest.mark.parametrize(("given", "truth"), cases("split_mix_delta_factor"))
def test_the_factor(given: dict[str, str], truth: str) -> None:
    slack = Fraction(given["slack"])
    found = math.exp(log_slack_factor(1 + slack, Fraction(1)))
    assert found == pytest.approx(float(truth), rel=1e-14)
