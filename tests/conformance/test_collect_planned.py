"""A collection is planned unless its protocol is named, says why, and is repeated by that name."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.cli.main import main
from smoothdp.errors import InvalidData, InvalidParameter, OutOfReach

GOAL = sd.ApproxDP(2, delta="1e-6")
N = 1000
BITS = np.arange(N) % 5 == 0
WORDS = ["a"] * 600 + ["b"] * 400


def share(**asked: Any) -> sd.report.Collection:
    return sd.report.collect_share(BITS, guarantee=GOAL, **asked)


def mean(**asked: Any) -> sd.report.Collection:
    return sd.report.collect_mean(BITS * 10.0, bounds=(0, 10), guarantee=GOAL, **asked)


def counts(**asked: Any) -> sd.report.Collection:
    return sd.report.collect_histogram(WORDS, domain=["a", "b"], guarantee=GOAL, **asked)


ALL = {"count": share, "sum": mean, "histogram": counts}


@pytest.mark.parametrize("liars", [None, 0, 20])
@pytest.mark.parametrize("task", ALL)
def test_the_default_is_what_the_planner_recommends(task: Any, liars: int | None) -> None:
    n_bins = 3 if task == "histogram" else None
    plan = sd.plan_collect(task, n_users=N, guarantee=GOAL, liars=liars, n_bins=n_bins)
    found = ALL[task](liars=liars)
    assert found.release.mechanism == plan.protocol.describe()
    assert found.bounds["why"] == plan.reason
    assert ("one liar" in plan.reason) == (liars is None)
    assert plan.recommended.name in found.text()
    # Whoever repeats it names the protocol as printed, and nobody plans.
    again = ALL[task](**found.named)
    assert again.release.mechanism == found.release.mechanism
    assert "why" not in again.bounds
    assert again.named == found.named == found.to_dict()["named"]


def test_epsilon_changes_the_default_and_not_what_is_named() -> None:
    """The planner's answer for bits is one message at epsilon .5 and two at 2."""
    half = sd.ApproxDP("0.5", delta="1e-6")
    sent = [sd.report.collect_share(BITS, guarantee=g).slots_per_user for g in (half, GOAL)]
    assert sent == [1, 2]
    named: dict[str, Any] = {"protocol": "real-sum", "n_bits": 2}
    for goal in (half, GOAL):
        assert sd.report.collect_share(BITS, guarantee=goal, **named).slots_per_user == 2


def test_a_protocol_that_one_liar_moves_anywhere_is_declared_or_named() -> None:
    for task, found in ((share, share()), (mean, mean()), (counts, counts())):
        assert found.named["protocol"] not in ("split-sum", "paired-count", "paired-histogram")
        with pytest.raises(InvalidParameter, match="protocol or liars"):
            task(protocol="real-sum", liars=1)
    assert share(liars=0).named == mean(liars=0).named == {"protocol": "split-sum"}
    assert counts(liars=0).named == {"protocol": "paired-histogram"}


def test_bits_name_a_real_sum() -> None:
    for task in (share, mean):
        assert task(n_bits=3).named == {"protocol": "real-sum", "n_bits": 3}
        with pytest.raises(InvalidParameter, match="protocol or liars, not both; got n_bits=3"):
            task(n_bits=3, liars=0)
        with pytest.raises(InvalidParameter, match="n_bits with a real sum alone"):
            task(n_bits=3, protocol="split-sum")


def test_what_does_not_fit_is_refused_with_what_would_and_nothing_is_charged(
    tmp_path: Path,
) -> None:
    ledger = sd.Ledger(tmp_path / "l.db", budget=sd.ApproxDP(2, delta="1e-5"))
    for task, asked in ((mean, {"most_slots": 7}), (counts, {"most_slots": 2})):
        with pytest.raises(OutOfReach, match=r"needs \d+ slots"):
            task(ledger=ledger, **asked)
    with pytest.raises(InvalidData, match="900 honest users"):
        counts(ledger=ledger, n_answered=910, tolerated=11)
    assert not ledger.entries()
    counts(ledger=ledger, n_answered=910, tolerated=10)
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("named", [{}, {"protocol": "boolean-sum"}, {"protocol": "split-sum"}])
def test_the_share_is_of_those_who_answered(named: dict[str, Any]) -> None:
    """Wrong with probability 2e-9: who answers is drawn, and its share of 200 ones strays."""
    found = share(n_answered=950, confidence="0.999999999", **named)
    spread = 6 * np.sqrt(0.16 / 950 * 50 / 1000)
    (value,) = found.estimates.values()
    assert abs(value - 0.2) <= found.error + spread
    assert "950 users of 1000 asked" in found.title
    assert found.n_users == N
    assert "of the 950 users follow" in found.sentence()
    with pytest.raises(InvalidData, match="900 honest users"):
        share(n_answered=899, **named)


@pytest.mark.parametrize("protocol", ["zero-preserving-histogram", "low-communication-histogram"])
def test_counts_allow_for_users_who_send_nothing(protocol: str) -> None:
    """Wrong with probability 1e-9. Ranges are wider, and empty values may be shown."""
    sure = {"confidence": "0.999999999", "protocol": protocol}
    plain, allowed = counts(**sure), counts(**sure, tolerated=12)
    for found in (plain, allowed):
        assert found.ranges["a"][0] <= 600 <= found.ranges["a"][1]
        assert found.ranges["b"][0] <= 400 <= found.ranges["b"][1]
    widths = [one.ranges["a"][1] - one.ranges["a"][0] for one in (plain, allowed)]
    assert widths[0] <= widths[1]
    if protocol == "zero-preserving-histogram":
        assert widths[0] < widths[1]
        law = sd.shuffle.Histogram.calibrate(N, n_bins=3, guarantee=GOAL)
        printed = re.search(r"at most (\S+)$", allowed.bounds["tolerated"])
        assert printed
        assert float(printed[1]) >= law.false_bin_probability(12)


def test_the_command_plans_and_takes_the_name_that_it_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "t.csv"
    file.write_text("v\n" + "\n".join("10"[i % 2] for i in range(1000)))
    command = ["collect", str(file), "--column", "v", "--epsilon", "2", "--delta", "1e-6"]
    main(command)
    printed = capsys.readouterr().out
    assert "with one liar" in printed
    options = re.search(r"^to repeat +(--.*)$", printed, re.MULTILINE)
    assert options
    main([*command, *options[1].split(), "--json"])
    repeated = json.loads(capsys.readouterr().out)
    assert repeated["protocol"] in printed
    assert "why" not in repeated["bounds"]
    main([*command, "--n-answered", "950", "--tolerated", "3", "--json"])
    assert json.loads(capsys.readouterr().out)["title"].startswith("Share of 950 users of 1000")
