"""Ratios of the benchmarks: what fell by a third is told, in both kinds of tables, and no more."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction

import pytest

pytest.importorskip("numpy")

from benchmarks import timing
from benchmarks.accuracy.ratios import Ratio, Target
from benchmarks.kept import FILE, Ratios, compare, fallen
from benchmarks.timing import Row


def ratios(**values: float) -> Ratios:
    return Ratios("a machine", dict(values))


def test_a_third_is_told_and_less_is_not() -> None:
    before = {"a": 3.0, "b": 3.0, "c": 3.0, "d": 3.0}
    now = {"a": 2.0, "b": 2.001, "c": 1.0, "d": 300.0}
    assert fallen(before, now) == {"c": (3.0, 1.0), "a": (3.0, 2.0)}


@pytest.mark.parametrize("before", [1e-6, 0.01, 1.0, 1e9])
def test_the_edge_is_the_same_for_large_and_small(before: float) -> None:
    for part in (Fraction(1, 2), Fraction(66, 100), Fraction(67, 100), Fraction(99, 100)):
        told = bool(fallen({"a": before}, {"a": before * float(part)}))
        assert told == (part <= Fraction(2, 3))


def test_what_is_new_or_gone_is_no_fall() -> None:
    text = compare(ratios(a=1.0, old=5.0), ratios(a=1.0, young=1.0))
    assert text.splitlines()[0] == "1 ratios beside those that were kept: none fell by a third"
    assert "no longer measured: old" in text
    assert "1 new" in text
    assert "old" not in compare(ratios(a=1.0, old=5.0), ratios(a=1.0), is_whole=False)


def test_falls_are_told_deepest_first_with_the_machine() -> None:
    text = compare(ratios(a=3.0, b=8.0), Ratios("another", {"a": 1.5, "b": 1.0}))
    lines = text.splitlines()
    assert lines[0].endswith("2 fell by a third")
    assert re.search(r"8 -> 1 +x0.12 +b$", lines[1])
    assert re.search(r"3 -> 1.5 +x0.5 +a$", lines[2])
    assert "kept with a machine; this is another" in text


def test_the_file_reads_back_to_three_digits() -> None:
    made = Ratios("m", {"t: r": 1 / 3, "t: s": 123456.0})
    assert Ratios.from_json(made.to_json()) == Ratios("m", {"t: r": 0.333, "t: s": 123000.0})


@pytest.mark.parametrize("ratio", [0.0, -1.0, math.nan, math.inf])
def test_what_is_no_ratio_is_refused(ratio: float) -> None:
    with pytest.raises(ValueError, match="table: row: expected a positive ratio"):
        Ratios("m").add("table", "row", ratio)


def test_a_table_gives_ratios_that_fall_when_we_get_slower(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside a yardstick in the first row, and with ours in the first row and peers below."""

    def shown(ours: float) -> dict[str, float]:
        measured = Ratios("m")
        monkeypatch.setattr(timing, "MEASURED", measured)
        yardstick, peer = Row("sort", 0.06, "", False), Row("naive", 6.0, "", False)
        timing.show("beside", [yardstick, Row("fast", ours, ""), Row("also", ours * 2, "")])
        timing.show("against", [Row("ours", ours, ""), peer, Row("also ours", 1.0, "")])
        return measured.values

    before, slower = shown(0.03), shown(0.06)
    assert before == {"beside: fast": 2.0, "beside: also": 1.0, "against: naive": 200.0}
    assert set(fallen(before, slower)) == set(before)
    assert fallen(slower, before) == {}
    assert "x" in capsys.readouterr().out


def test_a_time_without_a_yardstick_is_held_to_sorting(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = Ratios("m")
    monkeypatch.setattr(timing, "MEASURED", measured)
    monkeypatch.setattr(timing, "sorting", lambda: Row("sort", 0.05, "", False))
    timing.measured_seconds("t", "r", 0.01)
    assert measured.values == {"t: r": pytest.approx(5.0)}


def test_of_accuracy_the_worst_cell_is_kept() -> None:
    above, below = Target("errors", 1.0), Target("times", 1.5, at_most=True)
    for value in (2.0, 4.0):
        above.add("cell", Ratio(value, value, value))
        below.add("cell", value)
    assert (above.kept(), below.kept(), Target("none", 1.0).kept()) == (2.0, 0.25, None)


def test_the_kept_file_holds_ratios() -> None:
    found = Ratios.from_json(FILE.read_text(encoding="utf-8"))
    assert found.machine
    assert all(ratio > 0 and math.isfinite(ratio) for ratio in found.values.values())
    assert found.to_json() == FILE.read_text(encoding="utf-8")
    assert len(json.loads(FILE.read_text(encoding="utf-8"))["ratios"]) > 50
