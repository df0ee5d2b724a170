"""Every release takes a label, and shows it in its sentence, JSON, page and ledger."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.claims.label import Label
from smoothdp.cli.main import main

LABEL = Label("wages 2026", purpose="yearly table", who="A. Noether")
PROTOCOL = sd.shuffle.BooleanSum(100, expected_random_users=20)
SUM = sd.queries.Sum((0, 10))
MAKERS: dict[str, Callable[..., Any]] = {
    "release": lambda **more: sd.release([1, 2, 3], SUM, guarantee=sd.PureDP(1), **more),
    "plan": lambda **more: sd.plan(
        sd.queries.Mean((0, 10)), guarantee=sd.PureDP(1), n_records=3
    ).release([1, 2, 3], **more),
    "protocol": lambda **more: PROTOCOL.release([0, 1] * 50, **more),
    "histogram": lambda **more: sd.SamplingHistogram(4, n_draws=2).release(counts=[2, 2], **more),
    "average": lambda **more: sd.SamplingAverage(4, n_draws=2, universe=range(3)).release(
        [0, 1, 2, 2], **more
    ),
    "laplace": lambda **more: sd.LaplaceMechanism(1).release(3, **more),
    "gaussian": lambda **more: sd.GaussianMechanism(1).release(3, **more),
    "discrete laplace": lambda **more: sd.DiscreteLaplaceMechanism(1).release(3, **more),
    "discrete gaussian": lambda **more: sd.DiscreteGaussianMechanism(1).release(3, **more),
    "collection": lambda **more: (
        sd.report.collect_share(
            [0, 1] * 100, guarantee=sd.ApproxDP(2, delta="1e-3"), **more
        ).release
    ),
    "table": lambda **more: sd.release_table(
        {"g": ["a"], "v": [1]},
        by="g",
        keys=["a"],
        statistics={"s": ("v", SUM)},
        guarantee=sd.PureDP(1, neighbours="add_remove"),
        **more,
    ),
}


@pytest.mark.filterwarnings("ignore::smoothdp.errors.PrivacyWarning")
@pytest.mark.parametrize("name", MAKERS)
def test_a_release_has_its_label(name: str) -> None:
    make = MAKERS[name]
    assert make().label is None
    for given in (LABEL, {"name": "wages 2026", "purpose": "yearly table", "who": "A. Noether"}):
        released = make(label=given)
        assert released.label == LABEL
        assert "wages 2026 (yearly table; A. Noether)" in released._repr_html_()
    named = make(label="wages 2026")
    shown = named.to_json() + named.text() if name == "table" else named.sentence()
    assert "wages 2026" in shown
    with pytest.raises(sd.errors.InvalidParameter, match="label"):
        make(label=3)


@pytest.mark.parametrize("name", ["release", "plan", "collection", "table"])
@pytest.mark.filterwarnings("ignore::smoothdp.errors.PrivacyWarning")
def test_a_ledger_keeps_it(name: str, tmp_path: Path) -> None:
    about = "add_remove" if name == "table" else "replace_one"
    ledger = sd.Ledger(tmp_path / "l.db", budget=sd.ApproxDP(5, delta="0.1", neighbours=about))
    MAKERS[name](label=LABEL, ledger=ledger)
    (entry,) = ledger.entries()
    assert {key: entry.parameters[key] for key in ("label", "purpose", "who")} == {
        "label": "wages 2026",
        "purpose": "yearly table",
        "who": "A. Noether",
    }
    with pytest.raises(sd.errors.InvalidParameter):
        MAKERS[name](label=3, ledger=ledger)
    assert len(ledger.entries()) == 1


def test_what_is_spent_has_a_label(tmp_path: Path) -> None:
    ledger = sd.Ledger(tmp_path / "l.db", budget=sd.ZCDP(5))
    with ledger.spend(sd.DiscreteGaussianMechanism(1), label=LABEL) as release:
        released = release(3)
    assert released.label == LABEL
    assert ledger.entries()[0].parameters["label"] == "wages 2026"
    ledger.charge(sd.ZCDP("0.1"), label="elsewhere")
    assert ledger.entries()[1].parameters["label"] == "elsewhere"
    with pytest.raises(sd.errors.InvalidParameter, match="label"):
        ledger.charge(sd.ZCDP("0.1"), label="two\nlines")
    assert len(ledger.entries()) == 2


@pytest.mark.filterwarnings("ignore::smoothdp.errors.PrivacyWarning")
def test_commands_show_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    column = tmp_path / "c.csv"
    column.write_text("v\n" + "0\n1\n" * 100, encoding="utf-8")
    collect = ["collect", str(column), "--column", "v", "--epsilon", "2", "--delta", "1e-3"]
    main([*collect, "--label", "wages 2026"])
    assert capsys.readouterr().out.startswith("wages 2026\n")
    main([*collect, "--label", "wages 2026", "--json"])
    assert json.loads(capsys.readouterr().out)["label"] == {"name": "wages 2026"}
    plan = tmp_path / "plan.json"
    asked = sd.plan(sd.queries.Mean((0, 1)), guarantee=sd.PureDP(1), n_records=200)
    plan.write_text(asked.to_json(), encoding="utf-8")
    main(["release", str(column), "--column", "v", "--plan", str(plan), "--label", "wages 2026"])
    assert capsys.readouterr().out.startswith("wages 2026\n")


def test_the_share_of_counts_is_said_once() -> None:
    data = {"g": ["a", "b"] * 50, "v": list(range(100))}
    asked: dict[str, Any] = {
        "by": "g",
        "keys": ["a", "b"],
        "statistics": {"m": ("v", sd.queries.Median((0, 100)))},
        "guarantee": sd.PureDP(1, neighbours="add_remove"),
    }
    seeds = [sd.SeededRandom(1) for _ in range(2)]
    first = sd.release_table(data, n_share="0.3", rng=seeds[0], **asked)
    second = sd.release_table(data, shares={"n": "0.3"}, rng=seeds[1], **asked)
    assert first.columns() == second.columns()
    for more in (
        {"n_share": "0.3", "shares": {"n": "0.2"}},
        {"n_share": "0.3", "n_guess": 50},
        {"n_share": 0},
        {"n_share": 1},
        {"shares": ["m"]},
    ):
        with pytest.raises(sd.errors.InvalidParameter, match=r"share|counts"):
            sd.release_table(data, **asked, **more)
