"""Cells of a table that may be noise: marked by what is public or released, never by the rows."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.mechanisms.additive.whole_laws import DiscreteLaplaceLaw
from smoothdp.mechanisms.private_size.bought_size import low_end
from smoothdp.queries import (
    ClampedMean,
    Count,
    Median,
    Quantile,
    SkewedMean,
    Sum,
    TrimmedMean,
    Variance,
)
from smoothdp.tables.request import TableRequest
from smoothdp.tables.table_check import check_table
from smoothdp.tables.table_mechanism import TableMechanism
from smoothdp.tables.usefulness import Judge

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


@pytest.mark.parametrize("seed", range(6))
def test_marks_follow_from_what_is_shown(seed: int) -> None:
    """Worked out again from the released columns and the request, without the data."""
    statistics = {
        "median": ("x", WAGE),
        "tail": ("x", sd.queries.Quantile("0.95", bounds=(0, 100)), {"confidence": None}),
        "mean": ("x", ClampedMean((0, 100))),
        "spread": ("x", Variance((0, 100))),
        "total": ("x", Sum((-5, 100))),
        "known": ("x", Count()),
    }
    asked: dict[str, Any] = {
        "by": "g",
        "keys": ["a", "b", "c", "d"],
        "statistics": statistics,
        "guarantee": sd.PureDP(3, neighbours="add_remove"),
        "counts": True,
        "confidence": "0.9",
    }
    table = sd.release_table(ROWS, **asked, rng=sd.SeededRandom(seed))
    mechanism = TableMechanism.of(TableRequest.read(**asked))
    assert mechanism.count_noise is not None
    shown = table.value_columns()
    for place, note in enumerate(table.columns()["note"]):
        size = low_end(shown["n"][place], mechanism.count_noise.law.deviation)
        marked = []
        for name, judge in mechanism.marks().judges.items():
            value = shown[name][place]
            ends = [shown.get(f"{name} {side}", [None] * 4)[place] for side in ("low", "high")]
            bars = None if None in ends else (ends[0], ends[1])
            about = value if name in ("n", "known") else float(size)
            marked += [name] if judge.is_noise(about, value, bars) else []
        assert note == (f"may be noise: {', '.join(marked)}" if marked else "")


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


@pytest.mark.parametrize(
    ("query", "covers"),
    [
        (WAGE, None),
        (WAGE, "window"),
        (Quantile("0.25", bounds=(0, 100)), None),
        (TrimmedMean("0.1", bounds=(0, 100)), None),
    ],
)
def test_check_says_from_what_size_on_an_interval_is_shorter_than_the_bounds(
    query: Any, covers: str | None
) -> None:
    asked: dict[str, Any] = {
        "by": "g",
        "keys": ["a"],
        "statistics": {"v": ("x", query)},
        "guarantee": sd.PureDP(1, neighbours="add_remove"),
        "confidence": "0.95",
        "covers": covers,
    }
    said = check_table(TableRequest.read(**asked)).expected["v"]
    found = re.search("interval is that of the bounds in groups of fewer than about ([0-9]+)", said)
    assert found is not None
    # The words are of what is released: by a guess of a few rows less, and of a few more.
    for factor, is_bare in ((0.95, True), (1.02, False)):
        n = round(factor * int(found[1])) - 1
        rows = {"g": ["a"] * n, "x": [10 + 80 * k / n for k in range(n)]}
        options = {**asked, "n_guess": n, "rng": sd.SeededRandom(1)}
        # A guess saves the tenth of the guarantee that a count takes.
        options["guarantee"] = sd.PureDP("0.9", neighbours="add_remove")
        columns = sd.release_table(rows, **options).columns()
        interval = (columns["v low"][0], columns["v high"][0])
        assert (interval == (0, 100)) == is_bare


def test_check_says_nothing_of_intervals_that_any_group_has() -> None:
    asked: dict[str, Any] = {"by": "g", "keys": ["a"], "statistics": {"v": ("x", WAGE)}}
    concentrated = sd.ZCDP("0.1", neighbours="add_remove")
    for guarantee, confidence in ((concentrated, "0.95"), (PROMISE, None)):
        request = TableRequest.read(**asked, guarantee=guarantee, confidence=confidence)
        assert "interval" not in check_table(request).expected["v"]
