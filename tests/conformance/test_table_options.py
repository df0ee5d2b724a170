"""Rounding and intervals of one statistic of a table, and marks of cells that may be noise."""

from __future__ import annotations

import csv
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.cli.main import main
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.mechanisms.release.bars.interval_release import IntervalRelease
from smoothdp.queries import ClampedMean, Count, Median, SkewedMean, Sum, Variance
from smoothdp.tables import TableSpec
from smoothdp.tables.table_mechanism import outward
from smoothdp.tables.table_views import decimals, number_text

PROMISE = sd.PureDP(4, neighbours="add_remove")
ROWS: dict[str, list[Any]] = {
    "g": ["a", "b"] * 400 + ["c"] * 3,
    "x": [float(k % 97) + 0.37 for k in range(803)],
}
WAGE = Median((0, 100))


def released(statistics: dict[str, Any], **more: Any) -> sd.tables.ReleasedTable:
    asked: dict[str, Any] = {
        "by": "g",
        "keys": ["a", "b", "c", "d"],
        "guarantee": PROMISE,
        "rng": sd.SeededRandom(3),
    }
    return sd.release_table(ROWS, statistics=statistics, **{**asked, **more})


@pytest.mark.parametrize(
    ("query", "step"),
    [
        (WAGE, "1"),
        (WAGE, "5"),
        (WAGE, "1/4"),
        (ClampedMean((0, 100)), "1"),
        (Sum((0, 100)), "10"),
        (SkewedMean((0, 1000)), "1"),
        (Variance((0, 100)), "1/2"),
        (Count(), "5"),
    ],
)
def test_values_are_rounded_by_the_sampler(query: Any, step: str) -> None:
    """The very number that `release` returns with round_to, for the same bits."""
    keys, promise = ["a"], sd.PureDP(2, neighbours="add_remove")
    table = released(
        {"v": ("x", query, {"round_to": step})}, keys=keys, guarantee=promise, n_guess=400
    )
    rows = [x for g, x in zip(ROWS["g"], ROWS["x"], strict=True) if g == "a"]
    more = {"n_guess": 400} if query is WAGE else {}
    alone = sd.release(
        rows,
        query,
        guarantee=promise,
        round_to=step,
        clamp=True,
        rng=sd.SeededRandom(3),
        **more,  # type: ignore[arg-type]
    )
    value = table.groups[("a",)]["v"].value
    assert value == alone.value
    assert (Fraction(value) / Fraction(step)).denominator == 1
    assert isinstance(value, int) == (Fraction(step).denominator == 1)
    if query is not WAGE:
        assert f"rounded to a multiple of {step}" in table.statistics["v"]


def test_ends_are_rounded_outward() -> None:
    for query in (WAGE, ClampedMean((0, 100)), Sum((-3, 100))):
        asked = {"keys": ["a"], "n_guess": 400, "confidence": "0.9"}
        fine = released({"v": ("x", query)}, **asked)
        assert isinstance(query, Median) or fine.covers
        table = released({"v": ("x", query, {"round_to": 1})}, **asked)
        low, high = table.value_columns()["v low"][0], table.value_columns()["v high"][0]
        assert type(low) is type(high) is int
        if not isinstance(query, Median):
            # The same noise: what is rounded is made of the same sums.
            assert low == math.floor(fine.value_columns()["v low"][0])
            assert high == math.ceil(fine.value_columns()["v high"][0])
    assert outward((0.1, 0.3), Fraction(1, 10)) == (0.1, 0.3)
    assert outward((0.11, 0.29), Fraction(1, 10)) == (0.1, 0.3)
    assert outward((-math.inf, 2.5), Fraction(2)) == (-math.inf, 4)


def test_a_variance_does_not_refuse_the_others() -> None:
    table = released(
        {
            "median": ("x", WAGE),
            "variance": ("x", Variance((0, 100))),
            "mean": ("x", ClampedMean((0, 100)), {"confidence": "0.8"}),
            "total": ("x", Sum((0, 100)), {"confidence": None}),
        },
        counts=True,
        confidence="0.95",
    )
    names = list(table.value_columns())
    assert {"n low", "median low", "mean high"} < set(names)
    assert not {"variance low", "total low"} & set(names)
    assert table.confidences == {"n": 0.95, "median": 0.95, "mean": 0.8}
    assert table.covers["variance"].startswith("no interval: none is proved for the variance")
    assert "total" not in table.covers
    words = "\n".join(table.bars_words())
    assert "at least 95%" in words
    assert "at least 80%" in words
    for shown in (table.text(), table._repr_html_()):
        assert "none is proved for the variance" in shown
    found = json.loads(table.to_json())
    assert found["confidence"] == 0.95
    assert found["confidences"]["mean"] == 0.8


def test_confidence_of_one_statistic_alone() -> None:
    table = released({"m": ("x", WAGE, {"confidence": 0.9}), "s": ("x", WAGE)}, counts=True)
    assert [*table.value_columns()] == ["g", "n", "m", "m low", "m high", "s"]
    assert table.confidence is None
    assert table.confidences == {"m": 0.9}
    assert list(table.covers) == ["m"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"round": 1}, "round_to and confidence"),
        ({"round_to": 0}, "round_to between"),
        ({"round_to": 70}, None),
        ({"round_to": 300}, None),
        ({"confidence": 2}, "confidence between"),
        ({"round_to": "a few"}, "round_to"),
        ("round_to", "(column, query, options)"),
    ],
)
def test_options_that_are_refused(options: Any, words: str | None) -> None:
    asked = {"m": ("x", WAGE, options)}
    if words is None:
        # 0 is a multiple of any step, and within the bounds.
        assert released(asked).groups[("a",)]["m"].value in (0, 70)
        return
    with pytest.raises(InvalidParameter) as refusal:
        released(asked)
    assert words in str(refusal.value)


def test_the_end_of_an_interval_is_no_other_column() -> None:
    for name in ("m low", "n high"):
        with pytest.raises(InvalidParameter, match=name):
            released({"m": ("x", WAGE), name: ("x", Count(), {})}, confidence=0.9, counts=True)
    own = {"m": ("x", WAGE, {"confidence": 0.9}), "m high": ("x", Count())}
    with pytest.raises(InvalidParameter, match="m high"):
        released(own)
    released({"m": ("x", WAGE), "m high": ("x", Count(), {"confidence": 0.9})})


def test_views_show_a_few_digits_and_say_so() -> None:
    table = released({"m": ("x", WAGE)}, confidence="0.9", n_guess=400, keys=["a"])
    places = decimals(table, "m")
    assert places is not None
    (cell,) = (row["m"] for row in table.groups.values())
    assert cell.interval is not None
    half = (cell.interval[1] - cell.interval[0]) / 2
    assert 10 <= half * 10**places < 100
    for text in (table.text(), table._repr_html_()):
        assert number_text(float(cell.value), places) in text
        assert repr(cell.value) not in text
        assert "all digits are in JSON" in text
    assert json.loads(table.to_json())["columns"]["m"] == [cell.value]
    tenths = released({"m": ("x", WAGE, {"round_to": "0.1"})}, confidence="0.9", n_guess=400)
    assert decimals(tenths, "m") == 1
    whole = released({"m": ("x", WAGE, {"round_to": 1})}, n_guess=400, keys=["a"])
    assert "all digits" not in whole.text()


def test_shown_ends_hold_the_interval() -> None:
    assert number_text(1.25, 1, "ROUND_FLOOR") == "1.2"
    assert number_text(1.25, 1, "ROUND_CEILING") == "1.3"
    assert number_text(-1.25, 1, "ROUND_FLOOR") == "-1.3"
    assert number_text(1.7e308, -306) == "17" + "0" * 307
    assert number_text(math.inf, 2, "ROUND_CEILING") == "inf"


SPEC = """
data = "wages.csv"
by = "g"
keys = ["a", "b", "d"]
counts = true
confidence = 0.9

[guarantee]
epsilon = 4

[statistics.median]
column = "x"
statistic = "median"
bounds = [0, 100]
round_to = 1

[statistics.spread]
column = "x"
statistic = "variance"
bounds = [0, 100]
round_to = 0.5

[statistics.mean]
column = "x"
statistic = "mean"
bounds = [0, 100]
confidence = false
"""


def test_the_spec_and_the_short_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.toml").write_text(SPEC)
    rows = "\n".join(f"{g},{x}" for g, x in zip(ROWS["g"], ROWS["x"], strict=True))
    Path("wages.csv").write_text(f"g,x\n{rows}\n")
    main(["table", "--spec", "t.toml", "--check"])
    checked = capsys.readouterr().out
    assert "The interval of spread: no interval: none is proved" in checked
    assert "rounded to a multiple of 1/2" in checked
    main(["table", "--spec", "t.toml", "--csv", "out.csv"])
    shown = capsys.readouterr().out
    assert "may be noise" in shown.splitlines()[4]
    with Path("out.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    assert all(row["median"].isdigit() and row["median low"].isdigit() for row in found)
    assert list(found[0]) == [
        *("g", "n", "n low", "n high", "median", "median low", "median high"),
        *("spread", "mean", "note"),
    ]
    spec = TableSpec.read("t.toml")
    assert [one.step for one in spec.request().statistics] == [1, Fraction(1, 2), None]
    short = ["release", "wages.csv", "--column", "x", "--statistic", "median", "--by", "g"]
    promise = ["--bounds", "0", "100", "--epsilon", "2", "--keys", "a,b", "--json"]
    main([*short, *promise, "--round-to", "2"])
    values = json.loads(capsys.readouterr().out)["columns"]["median"]
    assert all(type(value) is int and value % 2 == 0 for value in values)
    for wrong, near in (("round_too = 1", "round_to"), ("confidense = 0.9", "confidence")):
        Path("t.toml").write_text(SPEC.replace("round_to = 1\n", f"{wrong}\n"))
        with pytest.raises(InvalidParameter, match=f"Did you mean '{near}'"):
            TableSpec.read("t.toml")


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("[0, 100]\nround_to = 1", "[100, 0]\nround_to = 1", "the statistic 'median' in"),
        ('"median"\nbounds', '"max"\nbounds', "Take a quantile near it"),
        ('"median"\nbounds', '"trimmed-mean"\ntrim = 5\nbounds', "a share a side"),
        ("round_to = 1", "round_to = 0", "(in 'median')"),
        ("round_to = 1", "round_to = 300\nwindow = 0", "the statistic 'median' in"),
        ("round_to = 0.5", "confidence = 0.9", "(in 'spread')"),
        ("[guarantee]", "[person]\nrows = 3\n[guarantee]", "column in [person]"),
        ('keys = ["a", "b", "d"]', 'keys = "nowhere.csv"', "keys as labels"),
        ("[guarantee]", "[where]\nx = { atleast = 3 }\n[guarantee]", "Did you mean 'at_least'?"),
        ("epsilon = 4", "epsilon = 4\nmu = 1", "guarantee with epsilon"),
    ],
)
def test_errors_speak_the_words_of_a_spec(
    before: str,
    after: str,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert before in SPEC
    budget = sd.PureDP(9, neighbours="add_remove")
    ledger = sd.Ledger("l.db", budget=budget)
    Path("t.toml").write_text('ledger = "l.db"\n' + SPEC.replace(before, after, 1))
    with pytest.raises(SystemExit) as stopped:
        main(["table", "--spec", "t.toml"])
    shown = capsys.readouterr()
    assert (stopped.value.code, shown.out, shown.err.count("\n")) == (2, "", 1)
    assert words in shown.err
    for internal in ("__init__", "positional", "ApproxDP", "neighbours=", "Traceback"):
        assert internal not in shown.err
    assert ledger.entries() == []


def test_a_ledger_says_which_change_it_is_about(tmp_path: Path) -> None:
    ledger = sd.Ledger(tmp_path / "l.db", budget=sd.PureDP(1))
    with pytest.raises(IncompatibleClaims) as refusal:
        released({"m": ("x", WAGE)}, ledger=ledger)
    assert "a promise about adding or removing a row" in str(refusal.value)
    assert "a budget about replacing a row" in str(refusal.value)


def test_the_command_says_how_a_spec_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["table"])
    assert stopped.value.code == 2
    assert "Expected --spec" in capsys.readouterr().err


def test_intervals_of_releases_are_kept() -> None:
    """What a table shows of an interval without rounding is what was released."""
    alone = sd.release(
        [1.0] * 9,
        Sum((0, 3)),
        guarantee=PROMISE,
        confidence=0.9,
        rng=sd.SeededRandom(3),
    )
    assert isinstance(alone, IntervalRelease)
    data = {"g": ["a"] * 9, "x": [1.0] * 9}
    table = sd.release_table(
        data,
        by="g",
        keys=["a"],
        statistics={"s": ("x", Sum((0, 3)))},
        guarantee=PROMISE,
        confidence=0.9,
        rng=sd.SeededRandom(3),
    )
    assert table.groups[("a",)]["s"].interval == alone.interval
