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
from smoothdp.errors import InvalidParameter
from smoothdp.mechanisms.additive.whole_laws import DiscreteLaplaceLaw
from smoothdp.mechanisms.release.bars.interval_release import IntervalRelease
from smoothdp.queries import ClampedMean, Count, Median, SkewedMean, Sum, Variance
from smoothdp.tables import TableSpec
from smoothdp.tables.request import TableRequest
from smoothdp.tables.table_check import check_table
from smoothdp.tables.table_mechanism import TableMechanism, outward
from smoothdp.tables.table_views import decimals, number_text
from smoothdp.tables.usefulness import Judge

PROMISE = sd.PureDP(4, neighbours="add_remove")
ROWS: dict[str, list[Any]] = {"g": ["a", "b"] * 400 + ["c"] * 3, "x": [float(k % 97) + 0.37 for k in range(803)]}
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


def judged(query: Any, **more: Any) -> Judge:
    asked = {"by": "g", "keys": ["a"], "statistics": {"v": ("x", query)}, "guarantee": PROMISE}
    request = TableRequest.read(**{**asked, **more})
    return TableMechanism.of(request).marks().judges["v"]


def test_from_what_size_on() -> None:
    # e = 4, or 3.6 beside a count: 15 / (e / 2); noise of deviation sqrt(2) / e is a tenth.
    assert judged(WAGE, n_guess=9).least == pytest.approx(7.5)
    assert judged(WAGE).least == pytest.approx(15 / 1.8)
    deviation = DiscreteLaplaceLaw(Fraction(1 << 30, 4)).deviation / (1 << 30)
    mean = judged(ClampedMean((0, 50)))
    assert mean.least == pytest.approx(10 * deviation) == pytest.approx(10 * math.sqrt(2) / 4)
    assert mean.deviation == pytest.approx(50 * deviation)
    total = judged(Sum((-50, 20), grid=1))
    assert total.least == pytest.approx(10 * math.sqrt(2) / 4, rel=1e-2)
    assert not total.per_row
    assert judged(Variance((0, 50))).least == pytest.approx(40 * math.sqrt(2) / 4, rel=1e-4)
    assert judged(SkewedMean((0, 50))).least == pytest.approx(2 * 20 / 2.8, rel=1e-3)
    assert judged(Count()).least == pytest.approx(2 / (math.sqrt(2) * math.sinh(2)))


def test_judges() -> None:
    judge = Judge(10, (0.0, 100.0), deviation=50, per_row=True, width=100)
    assert judge.is_noise(9.9, 50, None)
    assert not judge.is_noise(20, 50, None)
    assert judge.is_noise(20, 4.9, None)
    assert judge.is_noise(20, 95.1, None)
    assert not judge.is_noise(20, 50, (30, 79))
    assert judge.is_noise(20, 50, (30, 80))


def test_marks_are_made_of_what_is_released() -> None:
    """Two data sets of other sizes with the same released count are marked the same."""
    table = released(
        {"median": ("x", WAGE), "mean": ("x", ClampedMean((0, 100)))},
        counts=True,
        guarantee=sd.PureDP(2, neighbours="add_remove"),
    )
    notes = dict(zip("abcd", table.columns()["note"], strict=True))
    assert notes["a"] == notes["b"] == ""
    assert notes["d"].startswith("may be noise: n, median")
    for place, key in enumerate("abcd"):
        marked = "median" in notes[key]
        low = table.columns()["n"][place] - 2 * 7.07
        least = 15 / (0.9 / 2)
        if abs(low - least) > 0.05 * least:
            assert marked == (low < least), key


def test_a_guess_marks_groups_whatever_they_hold() -> None:
    guess = {"a": 5, "b": 1000, "c": 1000, "d": 1000}
    table = released({"median": ("x", WAGE)}, n_guess=guess)
    assert table.columns()["note"] == ["may be noise: median", "", "", ""]
    assert "judged by n_guess (median below 8)" in table.text()
    asked = {"by": "g", "keys": ["a", "b", "c", "d"], "statistics": {"median": ("x", WAGE)}}
    request = TableRequest.read(**asked, guarantee=PROMISE, n_guess=guess)  # type: ignore[arg-type]
    assert "by n_guess 1 of 4 groups are so small" in check_table(request).text()
    request = TableRequest.read(**asked, guarantee=PROMISE, n_guess=3)  # type: ignore[arg-type]
    assert "by n_guess = 3 all groups are so small" in check_table(request).text()


def test_without_a_size_nothing_is_judged() -> None:
    table = released({"mean": ("x", ClampedMean((0, 100)))})
    assert table.marks is None
    assert "note" not in table.columns()
    mixed = released({"mean": ("x", ClampedMean((0, 100))), "known": ("x", Count())})
    assert mixed.marks is not None
    assert "not judged, no number of rows being known: mean" in mixed.marks


def test_notes_take_a_name_that_is_free() -> None:
    data = {"note": ROWS["g"], "x": ROWS["x"]}
    table = sd.release_table(
        data,
        by="note",
        keys=["a"],
        statistics={"note on noise": ("x", Count())},
        guarantee=PROMISE,
        rng=sd.SeededRandom(1),
    )
    assert list(table.columns()) == ["note", "note on noise", "note on noise_"]


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
