"""Reference values of tables, each by two independent routes (see ``how``)."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import smoothdp as sd
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


def found_of(function: str, given: dict[str, Any]) -> Any:
    """Return what the library says of a case about keys or persons."""
    keys: Any = sd.keys
    epsilon, delta, reach = (given.get(name) for name in ("epsilon", "delta", "reach"))
    if function == "optimal_key_probability":
        return keys.optimal_probability(given["count"], epsilon=epsilon, delta=delta)
    if function == "truncated_geometric_reach":
        return keys.TruncatedGeometric(epsilon, delta=delta).reach
    if function == "truncated_geometric_delta":
        return keys.TruncatedGeometric.from_reach(epsilon, reach=reach).delta(epsilon)
    if function == "truncated_geometric_show_probability":
        law = keys.TruncatedGeometric.from_reach(epsilon, reach=reach)
        return law.show_probability(given["count"])
    if function == "discrete_laplace_threshold":
        return keys.laplace_threshold(epsilon, delta=delta)
    if function == "discrete_laplace_threshold_delta":
        return keys.laplace_threshold_delta(epsilon, threshold=given["threshold"])
    if function == "key_selection_delta":
        each = {"epsilon": given["epsilon_per_key"], "delta": given["delta_per_key"]}
        return keys.total_delta(epsilon, **each, n_keys=given["keys"])
    assert function == "person_zcdp"
    caps = {name: given[name] for name in ("rows", "groups", "rows_per_group")}
    row = sd.ZCDP(given["rho"], neighbours="add_remove")
    cost = sd.Person("id", **caps).cost(row)
    assert isinstance(cost, sd.ZCDP)
    return cost.exact_rho


KEYS = [
    case
    for case in CASES
    if "key" in case["function"]
    or case["function"].startswith(("truncated", "discrete_laplace", "person"))
]


@pytest.mark.parametrize("case", KEYS, ids=lambda c: c["function"])
def test_keys_and_persons(case: dict[str, Any]) -> None:
    found = Fraction(found_of(case["function"], case["inputs"]))
    truth = Fraction(case["expected"])
    # Never below; the reference itself has eighteen digits at least.
    assert -Fraction(1, 10**18) * truth <= found - truth <= UP * truth


MEANS = [case for case in CASES if case["function"] == "two_sums_mean_noise_sd"]


@pytest.mark.parametrize("case", MEANS, ids=lambda c: c["function"])
def test_noise_of_a_mean_of_two_sums(case: dict[str, Any]) -> None:
    given = case["inputs"]
    data = [float(Fraction(value)) for value in given["data"]]
    found = ClampedMean(given["bounds"]).noise_sd(data, epsilon=given["epsilon"])
    truth = Fraction(case["expected"])
    assert abs(Fraction(found) - truth) <= 2 * UP * truth


def test_every_case_is_present() -> None:
    assert (len(CASES), len(WINDOWS), len(MEANS), len(KEYS)) == (67, 35, 1, 31)
