"""``smoothdp plan``, and ``smoothdp release`` with a plan and with error bars."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import smoothdp as sd
from smoothdp.cli import main
from smoothdp.report import draw_plan

LAW = "lognorm(s=1, scale=20)"
QUERY = ["--statistic", "median", "--bounds", "-60", "1440", "--epsilon", "1"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    values = np.random.default_rng(7).lognormal(3, 1, 500)
    (tmp_path / "data.csv").write_text("x\n" + "\n".join(map(str, values)) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_plan_then_release(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["plan", *QUERY, "--n", "500", "--assume", LAW, "--out", "out/my plan.json"])
    shown = capsys.readouterr().out
    assert "--plan 'out/my plan.json'" in shown
    planned = sd.planning.plan_from_json((folder / "out/my plan.json").read_text())
    assert planned.n_records == 500
    assert planned.guarantee == sd.PureDP(1)
    main(["release", "data.csv", "--column", "x", "--plan", "out/my plan.json", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert 0 < found["value"] < 200
    assert planned.query.describe() in found["mechanism"]
    assert "interval" not in found


def test_error_bars_are_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del folder
    command = ["release", "data.csv", "--column", "x", *QUERY, "--confidence", "0.95"]
    main([*command, "--json"])
    found = json.loads(capsys.readouterr().out)
    low, high = found["interval"]
    assert -60 <= low <= high <= 1440
    assert found["confidence"] == 0.95
    main(command)
    assert "interval " in capsys.readouterr().out


def test_picture_and_public_sample(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    sample = ["--public-sample", "data.csv", "--column", "x"]
    main(["plan", *QUERY, "--n", "300", *sample, "--plot", "cost.png", "--json"])
    assert json.loads(capsys.readouterr().out)["assumption"] == "a public sample of 500 values"
    assert (folder / "cost.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plan", *QUERY, "--n", "500", "--assume", "lognorm(s=1"], "lognorm"),
        (["plan", *QUERY, "--n", "500", "--assume", "nothing(1)"], "no distribution"),
        (["plan", *QUERY, "--n", "500", "--assume", "norm(a b)"], "no number"),
        (["plan", *QUERY, "--n", "500", "--assume", "norm(1, size=2)"], "unexpected keyword"),
        (["plan", *QUERY, "--n", "500", "--public-sample", "data.csv"], "--column"),
        (["plan", "--statistic", "median", "--epsilon", "1", "--n", "5"], "--bounds"),
        (["release", "data.csv", "--column", "x", *QUERY, "--plan", "plan.json"], "--plan alone"),
        (["release", "data.csv", "--column", "x", "--plan", "none.json"], "none.json"),
        (["release", "data.csv", "--column", "x", "--plan", "data.csv"], "a plan as JSON"),
        (["release", "data.csv", "--column", "x", *QUERY, "--confidence", "2"], "confidence"),
        (["release", "data.csv", "--column", "x", *QUERY, "--sd-bound", "2"], "--sd-bound"),
    ],
)
def test_bad_input_leaves_one_line_and_no_file(
    arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err
    assert shown.err.count("\n") == 1
    assert [path.name for path in folder.iterdir()] == ["data.csv"]


def test_a_plan_for_another_number_of_records(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del folder
    main(["plan", *QUERY, "--n", "400"])
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["release", "data.csv", "--column", "x", "--plan", "plan.json"])
    assert "400" in capsys.readouterr().err


def test_ledger_is_charged_or_refuses(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del folder
    main(["account", "create", "ledger.db", "--epsilon", "1.5"])
    main(["plan", *QUERY, "--n", "500"])
    command = ["release", "data.csv", "--column", "x", "--plan", "plan.json"]
    main([*command, "--ledger", "ledger.db"])
    capsys.readouterr()
    assert len(sd.Ledger("ledger.db").entries()) == 1
    with pytest.raises(SystemExit):
        main(["release", "no such file", *command[2:], "--ledger", "none.db"])
    assert "none.db" in capsys.readouterr().err
    for again in (command, ["release", "data.csv", "--column", "x", *QUERY]):
        with pytest.raises(SystemExit):
            main([*again, "--ledger", "ledger.db"])
        shown = capsys.readouterr()
        assert shown.out == ""
        assert "left" in shown.err
    assert len(sd.Ledger("ledger.db").entries()) == 1


def test_a_charge_needs_data_that_can_be_released(folder: Path) -> None:
    del folder
    ledger = sd.Ledger("ledger.db", budget=sd.PureDP(2))
    found = sd.plan(sd.queries.Median((0, 9)), guarantee=sd.PureDP(1), n_records=100)
    with pytest.raises(sd.errors.InvalidData, match="100 records"):
        found.release([1.0, 2.0], ledger=ledger)
    with pytest.raises(sd.errors.InvalidParameter, match="ledger as a Ledger"):
        found.release([1.0] * 100, ledger="ledger.db")  # type: ignore[arg-type]
    assert ledger.entries() == []


def test_a_picture_plans_anew_for_each_size_and_budget(folder: Path) -> None:
    """The window chosen for many records is more than few have; and mu varies as epsilon does."""
    pytest.importorskip("matplotlib")
    law = stats.norm(45, 15)
    many = sd.plan(
        sd.queries.Quantile("0.9", bounds=(0, 120)),
        guarantee=sd.PureDP("0.05"),
        n_records=3001,
        assuming=law,
    )
    assert isinstance(many.query, sd.queries.Quantile)
    assert many.query.window is not None
    assert many.query.window > 3001 // 10 // 10 * 2
    assert draw_plan(many, folder / "pure.png", assuming=law).stat().st_size > 1000
    gaussian = sd.plan(
        sd.queries.Mean((0, 120)), guarantee=sd.GaussianDP("0.5"), n_records=300, assuming=law
    )
    assert draw_plan(gaussian, folder / "mu.png", assuming=law).stat().st_size > 1000
