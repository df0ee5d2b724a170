"""Parallel composition as an item of a composition, and epsilon where the deltas are used up."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.composition import replace_one_parallel

ADD: dict[str, Any] = {"neighbours": "add_remove"}
NORTH, SOUTH = sd.PureDP(1, **ADD), sd.PureDP(2, **ADD)


def test_it_costs_the_dearest_part() -> None:
    both = sd.Parallel([NORTH, SOUTH], split="by_value")
    assert both.guarantee == SOUTH
    assert sd.compose([both, NORTH]).epsilon(0) == 3
    assert sd.compose([(both, 3)]).epsilon(0) == 6
    nested = sd.Parallel([both, NORTH], split="by_value")
    assert sd.compose([nested]).epsilon(0) == 2
    rho = sd.Parallel([sd.ZCDP("0.1", **ADD)] * 4, split="by_value")
    assert sd.compose([(rho, 3)]).route == "rho adds"


def test_it_is_composed_as_what_all_parts_are() -> None:
    law = sd.LaplaceMechanism(10, **ADD)
    parts = sd.Parallel([law, sd.LaplaceMechanism(10, **ADD)], split="by_value")
    assert sd.compose([(parts, 30)]).delta_bounds(2) == sd.compose([(law, 30)]).delta_bounds(2)


def test_different_parts_by_their_largest_curve() -> None:
    """Against the truth: one of the parts is used in every release, whichever is worst."""
    laplace, normal = sd.LaplaceMechanism(10, **ADD), sd.GaussianMechanism(20, **ADD)
    parts = sd.Parallel([laplace, normal], split="by_value")
    both = sd.compose([(parts, 3)])
    for epsilon in ("0.05", "0.2", "0.29"):
        lower, upper = both.delta_bounds(epsilon)
        for part in (laplace, normal):
            assert sd.compose([(part, 3)]).delta_bounds(epsilon)[0] <= upper
        assert lower <= upper
    assert parts.profile().delta("0.01") == max(
        part.profile().delta("0.01") for part in (laplace, normal)
    )


def test_replacing_a_row_costs_two_parts() -> None:
    """The false case: two groups answer by randomised response; a row moves from one to the other.

    Its own claims about replaced rows would allow epsilon 1 in all. The joint law of both counts
    shows 2.
    """
    with pytest.raises(sd.errors.IncompatibleClaims, match="may change two parts"):
        sd.Parallel([sd.PureDP(1), sd.PureDP(1)], split="by_value")
    # Each group releases whether it is empty, flipped with odds e: add/remove epsilon 1.
    p = np.e / (1 + np.e)
    before = np.outer([1 - p, p], [p, 1 - p])
    after = np.outer([p, 1 - p], [1 - p, p])
    loss = float(np.log(before / after).max())
    assert loss == pytest.approx(2)
    parts = [NORTH, NORTH]
    assert replace_one_parallel(parts).epsilon(0) == pytest.approx(2)
    whole = sd.Parallel(parts, split="by_value").guarantee
    assert whole is not None
    assert whole.as_replace_one() == sd.PureDP(2)
    # By position a replaced row stays in its part.
    assert sd.Parallel([sd.PureDP(1), sd.PureDP(3)], split="by_position").guarantee == sd.PureDP(3)


@pytest.mark.parametrize(
    ("items", "split"),
    [
        ([], "by_value"),
        (NORTH, "by_value"),
        ([(NORTH, 2)], "by_value"),
        ([NORTH, sd.PureDP(1)], "by_value"),
        ([NORTH], "other"),
    ],
    ids=["none", "no list", "a count", "two relations", "split"],
)
def test_what_is_no_parallel_item(items: Any, split: Any) -> None:
    with pytest.raises((sd.errors.InvalidParameter, sd.errors.IncompatibleClaims)):
        sd.Parallel(items, split=split)


def test_a_ledger_charges_it_once(tmp_path: Path) -> None:
    ledger = sd.Ledger(tmp_path / "l.db", budget=sd.ApproxDP(4, delta="1e-5", **ADD))
    entry = ledger.charge(sd.Parallel([NORTH, SOUTH], split="by_value"), label="by region")
    assert entry.claim == SOUTH
    assert entry.parameters["label"] == "by region"
    mixed = sd.Parallel([NORTH, sd.ApproxDP("0.5", delta="1e-6", **ADD)], split="by_value")
    with pytest.raises(sd.errors.InvalidParameter, match="claim="):
        ledger.charge(mixed)
    for less in (sd.ApproxDP(1, delta="9e-7", **ADD), sd.ApproxDP("0.9", delta="1e-6", **ADD)):
        with pytest.raises(sd.errors.IncompatibleClaims, match="follows from the mechanism"):
            ledger.charge(mixed, claim=less)
    ledger.charge(mixed, claim=sd.ApproxDP(1, delta="1e-6", **ADD))
    # A curve of one database promises nothing, inside of a parallel item neither.
    model = sd.SamplingHistogram(10, n_draws=3)
    curve = sd.Parallel([model.at([5, 5])], split="by_position")
    other = sd.Ledger(tmp_path / "o.db", budget=sd.ApproxDP(4, delta="0.9"))
    with pytest.raises(sd.errors.IncompatibleClaims, match="one database"):
        other.charge(curve, claim=sd.ApproxDP(3, delta="0.8"))
    assert len(ledger.entries()) == 2


@pytest.mark.parametrize(
    ("items", "delta", "epsilon"),
    [
        ([sd.ApproxDP(1, delta="1e-6")], "1e-6", 1),
        ([sd.ApproxDP(1, delta="1e-20"), sd.ApproxDP(2, delta="1e-20")], "2e-20", 3),
        ([(sd.ApproxDP("0.1", delta="1e-20"), 4)], "4e-20", 0.4),
        ([sd.ApproxDP(1, delta="1e-5000"), sd.PureDP(1)], "1e-5000", 2),
    ],
    ids=["one", "two", "four", "deep"],
)
def test_epsilon_where_delta_is_the_sum(items: Any, delta: str, epsilon: float) -> None:
    lower, upper = sd.compose(items).epsilon_bounds(delta)
    assert lower <= upper
    assert upper == pytest.approx(epsilon, rel=1e-12)
    assert upper >= epsilon * (1 - 1e-15)
    # A hair less delta than the claims leave is not reached at any epsilon.
    less = Fraction(delta) * (1 - Fraction(1, 1000))
    assert sd.compose(items).epsilon(less) == float("inf")


def test_epsilon_of_a_ledger_where_delta_is_the_sum(tmp_path: Path) -> None:
    ledger = sd.Ledger(tmp_path / "l.db", budget=sd.ApproxDP(4, delta="1e-5"))
    ledger.charge(sd.ApproxDP(1, delta="1e-6"))
    profile = ledger.profile()
    assert profile is not None
    assert profile.epsilon("1e-6") == 1
    ledger.charge(sd.ApproxDP("ln(3)", delta="1e-6"))
    profile = ledger.profile()
    assert profile is not None
    assert profile.epsilon("2e-6") == pytest.approx(1 + np.log(3))
    ledger.charge(sd.ApproxDP(1, delta=0), claim=None)
    ledger_of_mu = sd.compose([sd.ApproxDP(1, delta="1e-20"), sd.GaussianDP(1)])
    assert ledger_of_mu.epsilon("1e-20") == float("inf")
