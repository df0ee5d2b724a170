"""Where nothing is assumed of the data, no way out of a plan tells an error in their units."""

from __future__ import annotations

import dataclasses
import json
import re
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

import smoothdp as sd
from smoothdp.cli import main
from smoothdp.mechanisms.release.usefulness import useless_words
from smoothdp.planning.alternatives import ERRORS, ERRORS_OF_OTHERS
from smoothdp.planning.expected.assumption import STAND_IN
from smoothdp.report import html
from tests.checkers.known import known
from tests.checkers.labels import label

Q = sd.queries
WIDTH = 137_000
BOUNDS = (0, WIDTH)
ASKED: list[sd.queries.Query] = [
    Q.Median(BOUNDS),
    Q.Quantile("0.9", bounds=BOUNDS),
    Q.TrimmedMean("0.05", bounds=BOUNDS),
    Q.WindowMean(10, drop_high=20, bounds=BOUNDS),
    Q.Mean(BOUNDS),
]


def scaled(query: sd.queries.Query, factor: int) -> sd.queries.Query:
    """Return the same statistic with bounds that are so many times as wide."""
    wide = (0, WIDTH * factor)
    if isinstance(query, Q.Median):
        return Q.Median(wide)
    if isinstance(query, Q.Quantile):
        return Q.Quantile(query.q, bounds=wide)
    if isinstance(query, Q.TrimmedMean):
        return Q.TrimmedMean(query.trim, bounds=wide)
    if isinstance(query, Q.WindowMean):
        return Q.WindowMean(query.drop_low, drop_high=query.drop_high, bounds=wide)
    return Q.Mean(wide)


def without_bounds(text: str, factor: int) -> str:
    """Return what is printed, the bounds themselves left out."""
    return text.replace(str(WIDTH * factor), "B")


def ways_out(query: sd.queries.Query, confidence: str | None, factor: int) -> dict[str, str]:
    """Return everything that leaves a plan, as text."""
    made = sd.plan(
        scaled(query, factor), guarantee=sd.PureDP(1), n_records=1000, confidence=confidence
    )
    found = {"text": made.text(), "json": made.to_json(), "repr": repr(made), "note": made.note()}
    found |= {f"runner {i}": repr(other) for i, other in enumerate(made.runners_up)}
    assert sd.planning.plan_from_json(made.to_json()) == made
    return {name: without_bounds(text, factor) for name, text in found.items()}


@pytest.mark.parametrize("confidence", [None, "0.95"])
@pytest.mark.parametrize("query", ASKED, ids=label)
def test_nothing_printed_grows_with_the_bounds(
    query: sd.queries.Query, confidence: str | None
) -> None:
    """An error in the user's units would be 64 times as large with bounds 64 times as wide.

    The choice does not depend on the unit, so that all else is the same, letter by letter.
    """
    assert ways_out(query, confidence, 1) == ways_out(query, confidence, 64)


@pytest.mark.parametrize("query", ASKED, ids=label)
def test_every_error_is_none(query: sd.queries.Query) -> None:
    made = sd.plan(query, guarantee=sd.PureDP(1), n_records=1000, confidence="0.95")
    assert not made.is_assumed
    assert [getattr(made, name) for name in ERRORS] == [None] * len(ERRORS)
    assert made.half_width is None
    assert made.rivals == ()
    for other in made.runners_up:
        assert {getattr(other, name) for name in ERRORS_OF_OTHERS} == {None}
        assert other.half_width is None
    assert made.replaced is None or made.replaced.rmse is None
    # No other field of a plan is a figure, but for one that has no unit.
    figures = {
        field.name
        for field in dataclasses.fields(made)
        if isinstance(getattr(made, field.name), float)
    }
    is_quantile = isinstance(query, Q.Median | Q.Quantile)
    assert figures == {"noise_deviation", *(["gaps"] if is_quantile else [])}
    assert made.noise_deviation is not None
    assert 1 < made.noise_deviation < 9


def floats(value: Any, name: str = "") -> list[tuple[str, float]]:
    """Return the numbers in JSON that are no whole numbers, by name."""
    if isinstance(value, dict):
        return [found for key, part in value.items() for found in floats(part, key)]
    if isinstance(value, list):
        return [found for part in value for found in floats(part, name)]
    return [(name, value)] if isinstance(value, float) else []


def test_the_command_its_json_and_its_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    pages = []
    for factor in (1, 64):
        command = ["plan", "--statistic", "median", "--bounds", "0", str(WIDTH * factor)]
        main([*command, "--epsilon", "1", "--n", "1000"])
        shown = without_bounds(capsys.readouterr().out, factor)
        assert "Errors      unknown, as nothing is assumed of the data" in shown
        main([*command, "--epsilon", "1", "--n", "1000", "--json"])
        fields = json.loads(capsys.readouterr().out)
        assert {name for name, _ in floats(fields)} == {"noise_deviation", "gaps"}
        main(["report", "--plan", "plan.json", "--out", "plan.html", "--json"])
        summary = json.loads(capsys.readouterr().out)
        assert summary["expected_error"] is None
        assert summary["rivals"] == {}
        page = without_bounds(Path("plan.html").read_text(), factor)
        # Pictures hold random names of their parts, and a date.
        pages.append((shown, re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL)))
    assert pages[0] == pages[1]
    with pytest.raises(SystemExit):
        main([*command, "--epsilon", "1", "--n", "1000", "--plot", "cost.png"])
    assert "--assume or --public-sample with --plot" in capsys.readouterr().err
    assert not Path("cost.png").exists()


def test_with_an_assumption_the_same_walk_finds_errors() -> None:
    """The tests above can fail: a plan that assumes something does tell errors."""
    made = sd.plan(
        Q.Median(BOUNDS), guarantee=sd.PureDP(1), n_records=1000, assuming=stats.norm(500, 9)
    )
    found = {name for name, _ in floats(json.loads(made.to_json()))}
    assert {*ERRORS, "gaps", "noise_deviation"} == found
    assert "privacy " in made.text()


def test_a_file_of_an_older_version_loses_its_errors() -> None:
    """Errors that such a file tells where nothing was assumed are not repeated."""
    made = sd.plan(Q.Median(BOUNDS), guarantee=sd.PureDP(1), n_records=1000)
    fields = json.loads(made.to_json())
    fields |= dict.fromkeys(ERRORS, 12.5)
    fields["assumption"] = STAND_IN
    for other in fields["runners_up"]:
        other |= dict.fromkeys(ERRORS_OF_OTHERS, 12.5)
    assert sd.planning.plan_from_json(json.dumps(fields)) == made
    # Nor does a file come back with some of its errors alone.
    fields["assumption"], fields["privacy_rmse"] = "norm(3, 4)", None
    assert "12.5" not in sd.planning.plan_from_json(json.dumps(fields)).text()


def test_curves_of_errors_need_an_assumption() -> None:
    with pytest.raises(sd.errors.InvalidParameter, match="an assumption about the data"):
        sd.planning.errors_by_size(Q.Median(BOUNDS), [100], guarantee=sd.PureDP(1))
    with pytest.raises(sd.errors.InvalidParameter, match="an assumption about the data"):
        sd.planning.errors_by_epsilon(Q.Median(BOUNDS), [(1, sd.PureDP(1))], n_records=100)


# ---- where the noise is of the order of the bounds -----------------------------------------------

CASES: list[tuple[sd.queries.Query, int, sd.Guarantee]] = [
    (query, n, guarantee)
    for query in (
        Q.Median((0, 1)),
        Q.Quantile("0.9", bounds=(0, 1)),
        Q.Maximum((0, 1)),
        Q.Mean((0, 1)),
    )
    for n in (29, 30, 31, 300)
    for guarantee in (sd.PureDP(1), sd.PureDP("0.1"), sd.ZCDP("0.5"))
]


@pytest.mark.parametrize(("query", "n", "guarantee"), CASES, ids=label)
def test_a_plan_notes_what_a_release_warns_of(
    query: sd.queries.Query, n: int, guarantee: sd.Guarantee
) -> None:
    """With the very words, wherever one of them does; and a release by plan warns as well."""

    def warned(call: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            call()
        assert all(issubclass(each.category, sd.errors.PrivacyWarning) for each in found)
        return [str(each.message) for each in found]

    data = [i / n for i in range(n)]
    expected = warned(lambda: sd.release(data, query, guarantee=guarantee))
    made: list[sd.planning.Plan] = []
    planned = warned(lambda: made.append(sd.plan(query, guarantee=guarantee, n_records=n)))
    assert planned == expected
    assert warned(lambda: made[0].release(data)) == expected
    words = "".join(expected)
    assert made[0].caution() == words == useless_words(query, guarantee, n)
    assert (f"Caution     {words}" in made[0].text()) == bool(words)
    assert json.loads(made[0].to_json())["caution"] == words


def test_the_command_and_the_report_have_the_caution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["plan", "--statistic", "median", "--bounds", "0", "9", "--epsilon", "0.1"]
    main([*command, "--n", "40"])
    captured = capsys.readouterr()
    assert "Caution     Expected n min(q, 1 - q) epsilon of at least 15" in captured.out
    assert captured.err == ""
    main([*command, "--n", "40", "--json"])
    captured = capsys.readouterr()
    assert captured.err.startswith("Note: Expected n min(q, 1 - q) epsilon of at least 15")
    assert "got 2 with n=40" in json.loads(captured.out)["caution"]
    pytest.importorskip("matplotlib")
    report = html.report_plan(sd.planning.plan_from_json(Path("plan.json").read_text()))
    assert "n min(q, 1 - q) epsilon of at least 15" in report.html()
    main([*command, "--n", "4000"])
    assert "Caution" not in capsys.readouterr().out


# ---- rivals in words -----------------------------------------------------------------------------


def test_rivals_and_verdict_are_said_everywhere() -> None:
    """A normal law in the middle of close bounds, little promised: the middle is the best guess."""
    with pytest.warns(sd.errors.PrivacyWarning):
        made = sd.plan(
            Q.Median((0, 100)), guarantee=sd.PureDP("0.1"), n_records=60, assuming=stats.norm(49, 9)
        )
    names = [rival.name for rival in made.rivals]
    assert "the exponential mechanism on ranks" in names
    assert made.method == "midpoint"
    assert made.rivals[0].error > known(made.compared_error)
    text = made.text()
    assert made.statistic == "the middle of [0, 100], in place of the median; no data"
    assert "Verdict     The middle of the bounds, which reads no data, is nearer" in text
    for rival in made.rivals:
        assert re.search(
            rf"^  {re.escape(f'{rival.error:.4g}')} +{re.escape(rival.name)}$", text, re.M
        )
    assert sd.planning.plan_from_json(made.to_json()).rivals == made.rivals
    pytest.importorskip("matplotlib")
    page = html.report_plan(made).html()
    assert "the exponential mechanism on ranks" in page
    assert "which reads no data, is nearer" in page
    # Many records: the window wins, and says by how much.
    good = sd.plan(
        Q.Median((0, 100)), guarantee=sd.PureDP(1), n_records=5000, assuming=stats.norm(49, 9)
    )
    assert good.privacy_rmse is not None
    assert all(rival.error > good.privacy_rmse for rival in good.rivals)
    best, middle = min(rival.error for rival in good.rivals), good.midpoint_ratio
    assert middle is not None
    assert (
        f"errs least: {good.privacy_rmse / best:.3g} times the error of the exponen" in good.text()
    )
    assert f"{middle:.3g} times that of the middle of the bounds" in good.text()


def test_bars_of_a_plan_say_what_they_cover() -> None:
    made = sd.plan(
        Q.Median((0, 100)),
        guarantee=sd.PureDP(1),
        n_records=10_000,
        assuming=stats.norm(49, 9),
        confidence="0.95",
    )
    window = made.n_records - sum(made.query.drops(made.n_records))
    assert window > 2
    words = "each contains the median of these records with probability at least 0.95"
    assert words in made.text()
    assert made.confidence == Fraction("0.95")
