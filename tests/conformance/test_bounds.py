"""A bound of a paper is one value: the float that it was, and its logarithm, both to one side."""

from __future__ import annotations

import copy
import inspect
import json
import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import smoothdp as sd
from smoothdp import paper_bounds
from smoothdp.paper_bounds import Bound, liu_kl_upper

SHUFFLED = {"n_users": 100, "expected_random_users": 58, "epsilon": "0.3"}
COUNTS = {"counts": (60, 40), "epsilon": 1, "n_draws": 20}
MODEL = {"n_records": 50, "epsilon": 1, "n_draws": 10}
SHARES: dict[str, Any] = {"smallest_probability": "0.3"}
SETTINGS: dict[str, dict[str, Any]] = {
    "blanket_delta": SHUFFLED,
    "chen_long_delta": SHUFFLED,
    "clones_2021_delta": SHUFFLED,
    "clones_delta": SHUFFLED,
    "liu_all_epsilon_smoothed_upper": MODEL | SHARES | {"n_categories": 2},
    "liu_all_epsilon_upper": COUNTS,
    "liu_exact_lower": {"n_records": 50, "n_draws": 10} | SHARES,
    "liu_inequality_7": COUNTS,
    "liu_kl_smoothed_upper": MODEL | SHARES | {"n_categories": 2},
    "liu_kl_upper": COUNTS,
    "liu_remark_8": MODEL | SHARES | {"n_categories": 2},
    "liu_theorem_3_lower": {"n_records": 50, "n_draws": 10} | SHARES,
    "liu_theorem_5_dp": {"n_records": 50, "n_draws": 10},
    "liu_theorem_5_smoothed_upper": MODEL | SHARES | {"n_categories": 2},
    "liu_theorem_5_upper": COUNTS,
}


def returning_bounds() -> dict[str, Callable[..., Bound]]:
    functions = {name: getattr(paper_bounds, name) for name in paper_bounds.__all__}
    return {
        name: function
        for name, function in functions.items()
        if inspect.isfunction(function) and function.__annotations__.get("return") == "Bound"
    }


def test_every_bound_has_an_entry_and_no_sibling() -> None:
    assert set(returning_bounds()) == set(SETTINGS)
    assert not [name for name in paper_bounds.__all__ if name.startswith("log_")]


@pytest.mark.parametrize("name", SETTINGS)
def test_float_and_logarithm_are_one_bound(name: str) -> None:
    """The float is e^log, rounded to the side of the bound by no more than a few units."""
    bound = returning_bounds()[name](**SETTINGS[name])
    assert type(bound) is Bound
    assert 0 < bound < math.inf
    with mpmath.workdps(50):
        truth = mpmath.exp(mpmath.mpf(bound.log))
        away = mpmath.mpf(float(bound)) / truth - 1
    away = -away if name.endswith("_lower") else away
    assert 0 <= away < 1e-14


@pytest.mark.parametrize("made", [Bound.upper(-9.0), Bound.lower(-9.0), Bound.upper(-1e9)])
def test_a_bound_is_a_float_wherever_one_is_asked_for(made: Bound) -> None:
    plain = float(made)
    assert type(plain) is float
    assert made == plain
    assert hash(made) == hash(plain)
    assert (repr(made), str(made), f"{made:.3g}") == (repr(plain), str(plain), f"{plain:.3g}")
    assert json.dumps(made) == json.dumps(plain)
    assert Fraction(made) == Fraction(plain)
    assert np.array([made]).dtype == np.float64
    # Only the bound itself knows its logarithm.
    assert type(made + made) is type(-made) is type(2 * made) is float


def test_a_bound_does_not_change_and_survives_a_copy() -> None:
    made = liu_kl_upper(counts=(6000, 4000), n_draws=2000, epsilon=1)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(made, protocol))
        assert (type(again), float(again), again.log) == (Bound, float(made), made.log)
    for again in (copy.copy(made), copy.deepcopy(made)):
        assert (type(again), float(again), again.log) == (Bound, float(made), made.log)
    with pytest.raises(AttributeError):
        made.log = 0.0  # type: ignore[misc]
    with pytest.raises(AttributeError):
        made.other = 0.0  # type: ignore[attr-defined]


def test_where_floats_end_the_logarithm_does_not() -> None:
    deep, deeper = Bound.upper(-1e5), Bound.upper(-1e6)
    assert deep == deeper == 5e-324
    assert deeper.log < deep.log
    assert Bound.lower(-1e5) == 0.0 < math.exp(-700)
    assert (Bound.upper(-math.inf), Bound.lower(-math.inf)) == (0.0, 0.0)
    assert Bound.upper(1e4) == math.inf
    assert Bound.lower(1e4) < math.inf
    assert Bound.upper(-1.0, at_most=0.25) == 0.25
    assert math.exp(-1) <= Bound.upper(-1.0, at_most=0.5) < 0.368


# ---- the formulas that protocols are calibrated by ----------------------------------------


@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-400"])
@pytest.mark.parametrize("epsilon", ["1/4", "1"])
def test_calibration_by_the_paper_is_the_formula_of_the_paper(epsilon: str, delta: str) -> None:
    """The omission of Balcer and Cheu, of a count and of a histogram, and lambda of Cheu et al."""
    n, goal = 10**9, sd.ApproxDP(epsilon, delta=delta)
    count = sd.shuffle.ZeroPreservingCount.calibrate(
        n, guarantee=goal, honest_share=1, method="paper"
    )
    every = sd.shuffle.Histogram.calibrate(
        n, n_bins=3, guarantee=goal, honest_share=1, method="paper"
    )
    for protocol, whole in ((count, False), (every, True)):
        printed = paper_bounds.balcer_cheu_omission(
            n, epsilon=epsilon, delta=delta, whole_histogram=whole
        )
        assert protocol.omission_probability == Fraction(printed)


@pytest.mark.parametrize("n", [2_000, 10**5])
def test_the_choice_of_cheu_is_the_one_that_is_calibrated(n: int) -> None:
    """At n = 2000 by the branch of few users; lambda is rounded up to ten digits."""
    goal = sd.ApproxDP("1/2", delta="1e-6")
    made = sd.shuffle.BooleanSum.calibrate(n, guarantee=goal, honest_share=1, method="paper")
    chosen = paper_bounds.cheu_choice(n_users=n, epsilon="1/2", delta="1e-6")
    assert 0 <= made.expected_random_users / Fraction(chosen) - 1 < 1e-8


def test_the_choice_of_cheu_goes_on_where_floats_end() -> None:
    """ln(4/delta) is a float whatever delta is: delta = 1e-400 has no float and no 1/delta."""
    found = paper_bounds.cheu_choice(n_users=10**9, epsilon=1, delta="1e-400")
    assert found == pytest.approx(64 * (math.log(4) + 400 * math.log(10)), rel=1e-14)
