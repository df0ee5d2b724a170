"""The commands ``smoothdp papers`` and ``smoothdp cite``, at what they do fast."""

from __future__ import annotations

import csv
import inspect
import json
import math
import re
from pathlib import Path

import pytest

import smoothdp as sd
from smoothdp.cli import main
from smoothdp.errors import InvalidParameter
from smoothdp.papers import FIGURES, TABLES, PanelFigure, PaperTable, SettingsFigure
from smoothdp.papers.citations import PAPERS, citations, known_names
from smoothdp.papers.smoothed_dp.figure_1 import election_row
from smoothdp.plots.panels import Panel
from smoothdp.sources import Source, bibtex

EVERY = [
    *((name, figure) for name, figure in FIGURES.items()),
    *((name, table) for name, table in TABLES.items()),
]


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main(list(arguments))
    return capsys.readouterr().out


# ---- figures and tables -------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "kind"), EVERY, ids=lambda value: str(value))
def test_the_common_protocol(name: str, kind: type) -> None:
    """One signature of compute, and every method; a table or a panel figure knows its name."""
    parameters = inspect.signature(kind.compute).parameters  # type: ignore[attr-defined]
    for option in ("full", "store", "progress"):
        assert parameters[option].kind is inspect.Parameter.KEYWORD_ONLY
    assert parameters["full"].default is False
    assert kind.title  # type: ignore[attr-defined]
    for method in ("text", "to_dict", "rows"):
        assert callable(getattr(kind, method))
    assert hasattr(kind, "draw") == (name in FIGURES and FIGURES[name] is kind)
    if issubclass(kind, PanelFigure | PaperTable):
        assert kind.name == name
    assert inspect.getdoc(kind)


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "papers", "list").splitlines()
    assert len(lines) == len(FIGURES) + len(TABLES)
    assert [line.split()[1] for line in lines] == [*FIGURES, *TABLES]


def test_all_figures_and_tables_of_the_five_papers_are_there() -> None:
    assert {name.split("-right")[0] for name in FIGURES} == {
        *(f"smoothed-dp/{n}" for n in range(1, 6)),
        *(f"average-case-averages/{n}" for n in range(1, 7)),
        *(f"polyplace/{n}" for n in (1, 2)),
        *(f"gaussian-shuffling/{n}" for n in (1, 2)),
    }
    assert set(TABLES) == {
        *(f"smoothed-dp/{n}" for n in range(1, 4)),
        "shuffled-histograms/1",
        "shuffled-histograms/samples",
    }


CHEAP = ["smoothed-dp/1", "smoothed-dp/3", "polyplace/2", "gaussian-shuffling/2"]


@pytest.mark.parametrize("name", CHEAP)
def test_figure(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Text, JSON without nan, CSV of one width, a picture; all of the same data."""
    out, data = tmp_path / "figure.png", tmp_path / "data" / "figure.csv"
    main(["papers", "figure", name, "--json", "--out", str(out), "--csv", str(data)])
    output = capsys.readouterr()
    found = json.loads(output.out, parse_constant=lambda text: pytest.fail(text))
    assert found["figure"] == name
    assert out.read_bytes().startswith(b"\x89PNG")
    assert f"Picture: {out}" in output.err
    assert f"Data: {data}" in output.err
    with data.open(newline="") as file:
        rows = list(csv.reader(file))
    assert len({len(row) for row in rows}) == 1
    assert len(rows) > 5
    text = said(capsys, "papers", "figure", name, "--quick")
    assert not re.search(r"\b(nan|inf|None)\b", text)
    assert ("\N{EM DASH}" in text) == ("\n\N{EM DASH}: " in text)
    assert FIGURES[name].title.split(":")[0] in text


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf])
def test_what_has_no_value_is_a_dash_with_a_reason(value: float | None) -> None:
    class Gap(PaperTable):
        title = "a gap"
        missing = "not computed"

    table = Gap(("law", "error"), (("known", 1.5), ("unknown", value)))
    lines = table.text().splitlines()
    assert lines[-2].split() == ["unknown", "\N{EM DASH}"]
    assert lines[-1] == "\N{EM DASH}: not computed"
    assert "\N{EM DASH}" not in Gap(("law", "error"), (("known", 1.5),)).text()

    class Curve(PanelFigure):
        name = title = "a curve"
        missing = "no bound"

    panel = Panel("p", "x", "y", (1, 2), {"c": (3.0, math.nan if value is None else value)})
    lines = Curve((panel,)).text().splitlines()
    assert lines[-2].split() == ["2", "\N{EM DASH}"]
    assert lines[-1] == "\N{EM DASH}: no bound"


@pytest.mark.parametrize("name", CHEAP)
def test_progress_ends_at_all(name: str) -> None:
    seen: list[tuple[int, int]] = []
    FIGURES[name].compute(progress=lambda done, total: seen.append((done, total)))
    assert seen == [(step, len(seen)) for step in range(1, len(seen) + 1)]


@pytest.mark.parametrize("name", ["smoothed-dp/1", "smoothed-dp/2", "smoothed-dp/3"])
def test_table(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "table.csv"
    found = json.loads(said(capsys, "papers", "table", name, "--json", "--csv", str(data)))
    with data.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [list(row) for row in found["rows"]] == [list(row) for row in rows]
    assert found["table"] == name
    text = said(capsys, "papers", "table", name)
    assert all(str(row[column]) in text for row in rows for column in list(row)[:1])


@pytest.mark.parametrize(
    "arguments",
    [
        ["figure", "smoothed-dp/99"],
        ["figure", "shuffled-histograms/1"],
        ["table", "gaussian-shuffling/1"],
        ["table", ""],
        ["verdicts", "--paper", "6"],
        ["verdicts", "--paper", "1", "--markdown"],
        ["verdicts", "--status", "maybe"],
        ["figure"],
    ],
)
def test_bad_names(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["papers", *arguments])
    output = capsys.readouterr()
    assert caught.value.code == 2
    assert output.out == ""
    assert output.err.startswith("Error: ")
    assert output.err.count("\n") == 1


def test_a_table_has_no_picture(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["papers", "table", "smoothed-dp/2", "--out", "picture.png"])
    assert "--out" in capsys.readouterr().err


# ---- interrupted and resumed --------------------------------------------------------------------


class Interrupted(Exception):
    """Stands for Ctrl-C."""


def test_an_interrupted_figure_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Stopped at the fifth cell: four are kept, and the next run computes the others only."""
    whole = SettingsFigure.compute()
    total = 6 * 27
    computed: list[object] = []
    stop_at = 4

    def counted(cell: tuple[int, str, str]) -> object:
        if len(computed) == stop_at:
            raise Interrupted
        computed.append(cell)
        return election_row(cell)

    monkeypatch.setattr("smoothdp.papers.smoothed_dp.figures_3_and_4.election_row", counted)
    with pytest.raises(Interrupted):
        SettingsFigure.compute(store=tmp_path)
    assert len(computed) == 4
    stop_at = total
    seen: list[tuple[int, int]] = []
    resumed = SettingsFigure.compute(
        store=tmp_path, progress=lambda done, total: seen.append((done, total))
    )
    assert resumed == whole
    assert len(computed) == len(set(map(str, computed))) == total
    assert seen[0] == (4, total)
    assert seen[-1] == (total, total)
    # And the command takes everything from the folder.
    text = said(capsys, "papers", "figure", "smoothed-dp/3", "--resume", str(tmp_path))
    assert text.rstrip("\n") == whole.text()
    assert len(computed) == total


def test_stored_and_fresh_figures_are_the_same(tmp_path: Path) -> None:
    for name in CHEAP:
        fresh = FIGURES[name].compute()
        first = FIGURES[name].compute(store=tmp_path)
        again = FIGURES[name].compute(store=tmp_path)
        assert json.dumps(fresh.to_dict()) == json.dumps(first.to_dict())
        assert json.dumps(fresh.to_dict()) == json.dumps(again.to_dict())
        assert fresh.text() == again.text()


# ---- verdicts and citations ------------------------------------------------------------------


def test_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(said(capsys, "papers", "verdicts", "--json"))
    assert {row["paper"] for row in rows} == {1, 2, 3, 4, 5, None}
    lemma = next(row for row in rows if row["claim"].startswith("Lemma 2:"))
    assert lemma["status"] == "false"
    assert lemma["name"] == "paper-1/lemma-2"
    place = "tests/theorems/test_paper1_smoothed_dp.py::test_lemma_2_"
    assert lemma["tests"] == [
        f"{place}is_false_for_three_values",
        f"{place}is_false_for_the_record_of_x_too",
        f"{place}needs_at_most_not_less",
    ]
    assert lemma["counterexample"].startswith("from collections import Counter")
    text = said(capsys, "papers", "verdicts", "--paper", "4")
    assert text.startswith("Paper 4: Hladík, Tětek, Smooth Sensitivity Revisited\n=====")
    assert "Theorem 2" not in text
    page = said(capsys, "papers", "verdicts", "--markdown")
    assert page.startswith("# The papers, claim by claim\n")


def test_cite(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "cite", "SmoothNoise", "PolyPlace", "hladik-tetek", "paper-4")
    assert text.count("@") == 2
    assert "note = {sections 1.1 and 3}" in text
    assert "note = {Definition 6}" in text
    assert said(capsys, "cite", "paper-1").strip() == bibtex("liu-wang-xia")
    fourth = said(capsys, "cite", "paper-4")
    assert "author = {Richard Hladík and Jakub Tětek}" in fourth
    assert "eprint = {2407.05067},\n  archiveprefix = {arXiv}" in fourth
    second = said(capsys, "cite", "paper-2")
    assert "anonymous supplement (full version) of NeurIPS 2019 submission 85" in second
    assert r"Local \& Shuffled" in said(capsys, "cite", "paper-3")
    for number in range(1, 6):
        entry = said(capsys, "cite", f"paper-{number}")
        assert entry.count("Version read: ") == entry.count("year = ") == 1
    listed = said(capsys, "cite").splitlines()
    assert len(listed) == len(known_names(sd))
    with pytest.raises(SystemExit):
        main(["cite", "SmothNoise"])
    assert "Write a name near it: SmoothNoise" in capsys.readouterr().err


def test_everything_with_a_source_can_be_cited() -> None:
    for name in sd.__all__:
        value = getattr(sd, name)
        source = vars(value).get("source") if inspect.isclass(value) else None
        if isinstance(source, Source):
            (entry,) = citations([name], public=sd)
            assert entry.startswith(bibtex(source.key).removesuffix("}"))
    for number in range(1, 6):
        assert citations([f"paper-{number}"], public=sd) == [bibtex(PAPERS[f"paper-{number}"])]


def test_citations_merge_places() -> None:
    (entry,) = citations(["SamplingHistogram", "SamplingAverage", "SamplingHistogram"], public=sd)
    assert "note = {Algorithm 2, Appendix F; Algorithm 3}" in entry
    assert entry.count("{") == entry.count("}")


@pytest.mark.parametrize("name", ["", "nothing", "release", "paper-6", "noise"])
def test_what_cannot_be_cited(name: str) -> None:
    with pytest.raises(InvalidParameter, match="a public name with a source"):
        citations([name], public=sd)
