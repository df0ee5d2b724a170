"""``smoothdp design``: files of cells, cross tables, strata, models, every way out, bad input."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import smoothdp as sd
from smoothdp.cli import main

CELLS = '''region,occupation,persons
North,"Nurse, midwife",5200
North, Farmer ,310
South,"Nurse, midwife",8100
South,Farmer,45
South,"Pilot ""A""",60
North,"Pilot ""A""",29
'''
TARGET = ["--epsilon", "1", "--delta", "1e-6"]
RATE = ["design", "--counts-file", "cells.csv", *TARGET]
SGD = ["design", "sgd", "--model", "units.csv", "--n", "5000", "--batch", "20", "--epsilon", "1"]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cells.csv").write_text(CELLS)
    Path("units.csv").write_text('unit,a,"b, c",d\nWest,40,35,25\nEast,35,30,35\n')
    people = ["1,x"] * 40 + ["1,y"] * 25 + ["2,x"] * 30 + ["2,"] * 12
    Path("people.csv").write_text("region,job\n" + "\n".join(people) + "\n")
    Path("regions.csv").write_text('code,name\n1,"North, upper"\n2,South\n3,Isles\n')


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = 0
    try:
        main(arguments)
    except SystemExit as stopped:
        code = int(stopped.code or 0)
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def document(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    code, out, err = run([*arguments, "--json"], capsys)
    assert code == 0, err
    found = json.loads(out)
    assert isinstance(found, dict)
    return found


def test_a_file_of_cells(capsys: pytest.CaptureFixture[str]) -> None:
    found = document([*RATE, "--merge", "2,3"], capsys)
    labels = [cell["label"] for cell in found["binding"]]  # type: ignore[attr-defined]
    assert labels == ['North, Pilot "A"', "South, Farmer"]
    design = sd.rate_design([5200, 310, 8100, 45, 60, 29], epsilon=1, delta="1e-6", merge=(2, 3))
    assert found["n_draws"] == design.n_draws
    assert [one["n_cells"] for one in found["merges"]] == [3, 2]  # type: ignore[attr-defined]
    # Ordinary DP is never below what stands beside it, as a float and as text.
    assert found["delta"] <= found["ordinary_delta"]  # type: ignore[operator]
    same = document([*RATE[:1], "rate", *RATE[1:], "--merge", "2,3"], capsys)
    assert same == found
    code, out, _ = run([*RATE, "--merge", "2,3"], capsys)
    assert code == 0
    assert "no pass mark" in out
    assert "must be random and must stay unseen" in out
    assert "as private as the counts: design on public tables" in out


def test_the_rate_that_is_printed_meets_the_target(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(RATE, capsys)
    counts = [5200, 310, 8100, 45, 60, 29]
    for rate in (str(found["rate"]), str(found["rate_exact"])):
        mechanism = sd.SamplingHistogram(sum(counts), sampling_rate=rate)
        assert mechanism.n_draws == found["n_draws"]
        assert mechanism.delta(counts, epsilon=1) <= 1e-6
    more = sd.SamplingHistogram(sum(counts), n_draws=int(str(found["n_draws"])) + 1)
    assert more.delta_bounds(counts, epsilon=1)[0] > 1e-6


def test_strata(capsys: pytest.CaptureFixture[str]) -> None:
    column = document([*RATE, "--stratum", "region"], capsys)
    lines = ["label,stratum"]
    for region in ("North", "South"):
        lines += [f'"{region}, {job}",{region}' for job in ("Farmer", 'Pilot ""A""')]
        lines.append(f'"{region}, Nurse, midwife",{region}')
    Path("strata.csv").write_text("\n".join(lines) + "\n")
    file = document([*RATE, "--strata-file", "strata.csv"], capsys)
    assert file == column
    strata = column["strata"]
    assert [one["name"] for one in strata] == ["North", "South"]  # type: ignore[attr-defined]
    code, out, _ = run([*RATE, "--stratum", "region"], capsys)
    assert code == 0
    assert "in its stratum, changes" in out


def test_a_cross_table(capsys: pytest.CaptureFixture[str]) -> None:
    base = ["design", "--file", "people.csv", "--by", "region,job", "--public", *TARGET]
    found = document(base, capsys)
    # Two regions, and x, y and "no value": six cells, empty ones too, which pin the rate to 0.
    assert found["n_cells"] == 6
    assert found["pinned"] is True
    assert found["n_draws"] == 0
    occurring = document([*base, "--only-occurring"], capsys)
    assert occurring["n_cells"] == 4
    assert int(str(occurring["n_draws"])) > 0
    named = document([*base, "--names", "region=regions.csv"], capsys)
    assert named["n_cells"] == 9
    errors = named["sampling_errors"]
    assert isinstance(errors, dict)
    assert "North, upper, no value" in errors
    assert set(errors.values()) == {None}


def test_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    model = ["design", "--model", "units.csv", "--n", "60", "--epsilon", "1", "--delta", "1e-2"]
    found = document([*model, "--merge", "2"], capsys)
    assert found["what"] == "smoothed delta"
    names = {cell["label"] for cell in found["binding"]}  # type: ignore[attr-defined]
    assert names == {"b, c", "d"}
    laws = sd.DataModel.from_counts([(40, 35, 25), (35, 30, 35)])
    best = sd.smoothed.largest_sample(laws, n_records=60, epsilon=1, delta="1e-2")
    assert found["n_draws"] == best.n_draws
    merges = found["merges"]
    assert isinstance(merges, list)
    assert merges[0]["n_draws"] >= best.n_draws
    code, out, _ = run(model, capsys)
    assert code == 0
    assert "The model is an assumption" in out


@pytest.mark.parametrize("command", [RATE, SGD], ids=["rate", "sgd"])
def test_a_page_and_a_picture(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run([*command, "--html", "page.html", "--plot", "out.svg"], capsys)
    assert code == 0
    assert "Page: page.html" in err
    page = Path("page.html").read_text()
    assert page.count("<svg") == 1
    assert "no pass mark" in page
    assert "random" in page
    # The command on the page is the one that was given.
    assert f"smoothdp {' '.join(command[:2])}".replace(" --counts-file", "") in page
    assert "--html page.html" in page
    assert Path("out.svg").read_text().startswith("<?xml")


def test_a_step(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(SGD, capsys)
    laws = sd.DataModel.from_counts([(40, 35, 25), (35, 30, 35)])
    step = sd.sgd_step_delta(laws, n_records=5000, batch=20, epsilon=1)
    assert found["log_smoothed_delta"] == step.log_delta
    assert found["log_smoothed_delta_lower"] == step.log_lower < step.log_delta
    assert step.log_delta < math.log(20 / 5000) - 100
    code, out, _ = run(SGD, capsys)
    assert code == 0
    assert "bound leaves T/n" in out
    few = sd.sgd_step_delta(laws, n_records=30, batch=20, epsilon=1)
    assert few.decided_by == "T/n"
    assert "no level" not in few.text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["design", *TARGET], "one of --counts-file, --file and --model; got 0"),
        ([*RATE, "--model", "units.csv"], "got 2 of them"),
        ([*RATE, "--by", "region"], "Expected --counts-file with options that belong"),
        ([*RATE, "--merge", "2,x"], "--merge as whole numbers"),
        ([*RATE, "--merge", "6"], "fewer than 6 cells, so that two"),
        ([*RATE, "--merge", "1"], "Expected merge of at least 2; got --merge 1"),
        ([*RATE, "--merge", "3", "--stratum", "region"], "many as the largest stratum has"),
        ([*RATE, "--stratum", "town"], "--stratum as one of the columns region, occupation"),
        ([*RATE, "--count", "town"], "--count as a column"),
        (["design", "--file", "people.csv", "--by", "region", *TARGET], "got no --public"),
        (["design", "--file", "people.csv", "--public", *TARGET], "got no --by"),
        (["design", "--model", "units.csv", *TARGET], "Expected --n with --model"),
        (["design", "--counts-file", "none.csv", *TARGET], "readable CSV file of cells none.csv"),
        (["design", "--counts-file", "bare.csv", *TARGET], "Expected a header with a column"),
        (
            ["design", "--counts-file", "short.csv", *TARGET],
            "row 1 below the header of short.csv; got 3 fields. Put names",
        ),
        (["design", "--counts-file", "twice.csv", *TARGET], "North' twice. Add its rows up"),
        (["design", "--counts-file", "alike.csv", *TARGET], "twice. Rename one"),
        (["design", "--counts-file", "first.csv", *TARGET], "in field 2. Write counts in digits"),
        ([*SGD[:5], "10", *SGD[6:]], "Draw at most all records"),
        (["design", "--epsilon", "1", "--counts-file", "cells.csv"], "--delta"),
    ],
)
def test_bad_input(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bare.csv").write_text("North,12\nSouth,13\n")
    Path("short.csv").write_text("region,persons\nNorth, upper,12\n")
    Path("twice.csv").write_text("region,persons\nNorth,12\nNorth,13\n")
    Path("alike.csv").write_text('a,b,n\n"x, y",z,12\nx,"y, z",13\n')
    Path("first.csv").write_text("persons,region\n12,North\n13,South\n")
    code, out, err = run(arguments, capsys)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert words in err


@pytest.mark.parametrize(
    ("counts", "options"),
    [
        ([5, -1], {}),
        ([5, 1.5], {}),
        ([5], {}),
        ("55", {}),
        ({"a": 5, "b": 6}, {"strata": ["x"]}),
        ({"a": 5, "b": 6}, {"strata": {"a": "x"}}),
        ({"a": {"x": 5, "y": 6}, "b": 7}, {}),
        ({"a": {"x": 5, "y": 6}}, {"strata": ["x", "x"]}),
        ([5, 6], {"n_records": 12}),
        ([5, 6, 7], {"merge": (3,)}),
        ([5, 6, 7], {"merge": 2}),
        ([5, 6, 7], {"categories": ["a", "b", "c"]}),
        (sd.DataModel([(0.5, 0.5)]), {}),
        (sd.DataModel([(0.5, 0.5)]), {"n_records": 9, "strata": ["a", "b"]}),
        (sd.DataModel([(0.5, 0.5)]), {"n_records": 9, "categories": ["a", "a"]}),
    ],
)
def test_bad_arguments(counts: object, options: dict[str, object]) -> None:
    with pytest.raises((sd.errors.InvalidData, sd.errors.InvalidParameter)):
        sd.rate_design(counts, epsilon=1, delta="1e-3", **options)  # type: ignore[arg-type]


def test_file_is_population_or_sample(capsys: pytest.CaptureFixture[str]) -> None:
    """Without --population the output says so; with it only a model answers, and by size alone."""
    ask = ["measure", "people.csv", "--column", "region", "--epsilon", "1", "--n-draws", "20"]
    code, out, _ = run(ask, capsys)
    assert code == 0
    assert "FILE was taken as the population, all 107 records" in out
    code, out, err = run(["measure", "people.csv", "--population", "900", "--epsilon", "1"], capsys)
    assert (code, out) == (2, "")
    assert "needs the population's counts, which no sample has; got no --model" in err
    Path("two.csv").write_text("unit,a,b\nWest,40,60\n")
    model = ["measure", "people.csv", "--population", "900", "--model", "two.csv"]
    code, out, _ = run([*model, "--epsilon", "1"], capsys)
    assert code == 0
    assert "only its number of rows, 107, was used" in out
    # Another file of that size gives the same: nothing else of it is used.
    Path("other.csv").write_text("z\n" + "secret\n" * 107)
    assert run(["measure", "other.csv", *model[2:], "--epsilon", "1"], capsys)[1] == out


def test_what_is_left_out_or_comes_on_top_is_said() -> None:
    """No error of a sample of nothing; noise beside sampling; merges in every stratum."""
    cells = {"a": {f"a{i}": 60 + i for i in range(9)}, "b": {f"b{i}": 70 + i for i in range(9)}}
    text = sd.rate_design(cells, epsilon=1, delta="1e-3", merge=[2]).text()
    assert "Merging the k smallest cells of each stratum" in text
    assert "that of sampling comes on top" in text
    assert "The smallest and the largest of 18 cells" in text
    pinned = sd.rate_design({"a": 0, "b": 90, "c": 95}, epsilon=1, delta="1e-9", merge=[2]).text()
    assert "Nothing is drawn." in pinned
    assert "inf" not in pinned
