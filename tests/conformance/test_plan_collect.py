"""The planner of collections: figures are the protocols' own, the rule is the stated one."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.errors import IncompatibleClaims, InvalidParameter, OutOfReach
from smoothdp.planning.collecting.offer import Offer
from smoothdp.shuffle import BooleanSum, LowCommunicationHistogram, PairedCount, SplitSum

GOAL = sd.ApproxDP(1, delta="1e-6")
PLANS: dict[str, dict[str, Any]] = {
    "count": {},
    "count, no liars": {"liars": 0},
    "count, twenty liars": {"liars": 20},
    "sum": {},
    "sum, no liars": {"liars": 0},
    "histogram": {"n_bins": 20},
    "histogram, no liars": {"n_bins": 20, "liars": 0, "n_users": 100_000},
    "strings": {"string_bits": 8, "n_users": 1_000_000},
}


def planned(name: str, **changed: Any) -> Any:
    asked = {"n_users": 10_000, "guarantee": GOAL, **PLANS[name], **changed}
    return sd.plan_collect(name.split(",")[0], **asked)  # type: ignore[arg-type]


def rule(table: tuple[Offer, ...], liars: int) -> Offer:
    """The rule of the documentation, written anew: fewest slots within a quarter of the least."""
    total = {
        offer.name: offer.error + sum(offer.influence for _ in range(liars))
        for offer in table
        if not offer.refused and not offer.by_name
    }
    near = {name for name in total if total[name] * 4 <= 5 * min(total.values())}
    candidates = sorted((o for o in table if o.name in near), key=lambda o: total[o.name])
    return min(candidates, key=lambda offer: offer.slots)


@pytest.mark.parametrize("name", list(PLANS))
def test_what_is_recommended_is_the_rule_of_the_table(name: str) -> None:
    plan = planned(name)
    assert plan.recommended == rule(plan.table, plan.liars)
    assert plan.recommended.slots <= 64
    for offer in plan.table:
        if offer.fits:
            # Each offer keeps the promise by its own exact profile, at the honest share.
            assert offer.protocol.promise.implies(GOAL)
            assert offer.protocol.profile().delta(1) <= 1e-6
            assert offer.protocol.honest_share == plan.honest_share
    assert plan.recommended.name in plan.why
    assert "provided that at least 9" in plan.why


@pytest.mark.parametrize(
    ("epsilon", "n_bits"),
    [
        pytest.param("0.25", 1, marks=pytest.mark.slow),
        ("0.5", 1),
        ("1", 2),
        pytest.param("2", 2, marks=pytest.mark.slow),
    ],
)
def test_bits_of_users_who_may_lie(epsilon: str, n_bits: int) -> None:
    plan = planned("count", guarantee=sd.ApproxDP(epsilon, delta="1e-6"))
    assert plan.protocol.n_bits == n_bits


def test_bits_of_users_who_do_not_lie_are_split() -> None:
    plan = planned("count, no liars")
    assert isinstance(plan.protocol, SplitSum)
    assert plan.recommended.slots <= 6
    # The paired count is near, and taken by name only.
    paired = next(offer for offer in plan.table if isinstance(offer.protocol, PairedCount))
    assert paired.by_name
    assert paired.error <= 4


def test_many_liars_count() -> None:
    for liars in (None, 5000):
        plan = planned("count", liars=liars)
        counted = 1 if liars is None else liars
        assert math.isfinite(plan.recommended.total_error(counted))
        assert plan.recommended.total_error(counted) >= counted


def test_limits_are_kept_or_refused_with_what_would_fit() -> None:
    few = planned("sum", most_slots=8)
    assert few.recommended.slots <= 8
    with pytest.raises(OutOfReach, match=r"LowCommunicationHistogram needs \d+ slots"):
        _ = planned("histogram", n_bins=10_000).recommended
    with pytest.raises(OutOfReach, match="bytes"):
        _ = planned("count", most_bytes=51).recommended
    assert isinstance(planned("count", most_bytes=52).protocol, BooleanSum)
    with pytest.raises(OutOfReach, match="messages on average"):
        _ = planned("sum", most_messages=7).recommended


def test_paired_histograms_need_a_declaration_and_few_messages() -> None:
    with_liars = planned("histogram, no liars", liars=None)
    assert isinstance(with_liars.protocol, LowCommunicationHistogram)
    declared = planned("histogram, no liars")
    paired = next(offer for offer in declared.table if offer.name == "PairedHistogram")
    assert paired.fits
    assert paired.messages <= 2
    assert paired.slots <= 64
    assert declared.recommended == paired


@pytest.mark.parametrize(
    ("task", "given", "error"),
    [
        ("median", {}, InvalidParameter),
        ("histogram", {}, InvalidParameter),
        ("count", {"n_bins": 3}, InvalidParameter),
        ("strings", {"n_bins": 3}, InvalidParameter),
        ("sum", {"liars": -1}, InvalidParameter),
        ("sum", {"most_slots": 0}, InvalidParameter),
        ("sum", {"honest_share": 0}, InvalidParameter),
        ("sum", {"n_users": 0}, InvalidParameter),
        (
            "sum",
            {"guarantee": sd.ApproxDP(1, delta="1e-6", neighbours="add_remove")},
            IncompatibleClaims,
        ),
    ],
)
def test_what_is_asked_for_is_checked(
    task: Any, given: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        sd.plan_collect(task, **{"n_users": 1000, "guarantee": GOAL, **given})


def test_figures_follow_the_protocol() -> None:
    """An edited offer shows the figures of the protocol that it holds."""
    offer = planned("count").table[0]
    other = dataclasses.replace(
        offer, protocol=BooleanSum.calibrate(500, guarantee=GOAL, honest_share="1/2")
    )
    assert other.rmse == math.sqrt(other.protocol.mse())
    assert other.rmse != offer.rmse
    assert other.error == other.protocol.error("1/20")
    assert other.messages == 1


@pytest.mark.parametrize(
    "edited",
    [
        {"honest_share": Fraction(1)},
        {"n_users": 20_000},
        {"guarantee": sd.ApproxDP("0.1", delta="1e-6")},
    ],
)
def test_an_edited_plan_is_refused(edited: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match="protocols that were made for"):
        dataclasses.replace(planned("count"), **edited)


@pytest.mark.slow
def test_the_condition_is_that_of_the_protocol() -> None:
    levels = planned("strings", string_bits=16, most_slots=512)
    trees = [offer for offer in levels.table if offer.fits and offer.name.endswith("all levels")]
    only = dataclasses.replace(levels, table=tuple(trees))
    assert "in each of the 2 levels" in only.why


def test_without_a_liar_to_spare_the_promise_is_not_kept() -> None:
    assert "one liar at most 9,999 follow" in planned("count", honest_share=1).why
