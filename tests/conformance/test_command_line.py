"""The command line: output, JSON, pictures, and exit code 2 with one line on bad input."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from smoothdp.cli import main

ELECTION = ["measure", "--counts", "81283501,74223975", "--sampling-rate", "0.998"]


def test_measure_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    main([*ELECTION, "--threshold", "0.51"])
    output = capsys.readouterr()
    assert "1.198e-32" in output.out
    assert "below" in output.out
    assert output.err == ""


def test_measure_json(capsys: pytest.CaptureFixture[str]) -> None:
    main([*ELECTION, "--epsilon", "ln(51/49)", "--json"])
    result = json.loads(capsys.readouterr().out)
    assert result["log10_delta"] == pytest.approx(-31.922, abs=5e-4)
    assert result["delta_below_one_over_n"] is True
    assert result["threshold"] == 0.51
    assert result["worst_case_delta"] >= 0.998


def test_measure_deep_tail(capsys: pytest.CaptureFixture[str]) -> None:
    main([*ELECTION, "--epsilon", "0.5", "--json"])
    result = json.loads(capsys.readouterr().out)
    assert result["delta"] == 5e-324
    assert result["log_delta"] < -9000


def test_measure_a_column_and_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("id,vote\n" + "".join(f"{i},{'yes' if i % 3 else 'no'}\n" for i in range(90)))
    picture = tmp_path / "new" / "out.png"
    arguments = [str(path), "--column", "vote", "--keep-probability", "0.9", "--epsilon", "1"]
    main(["measure", *arguments, "--public", "--plot", str(picture)])
    output = capsys.readouterr()
    assert "no: 30, yes: 60" in output.out
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert str(picture) in output.err


def test_warning_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    main(["measure", "--counts", "3,4", "--n-draws", "7", "--epsilon", "1"])
    output = capsys.readouterr()
    assert output.err.startswith("Note: n_draws = n_records = 7: nothing is lost")
    assert output.err.count("\n") == 1


BAD = [
    ([], "--counts"),
    (["--counts", "1,2", "--epsilon", "1"], "--sampling-rate"),
    (["--counts", "1,x", "--n-draws", "1", "--epsilon", "1"], "'x'"),
    (["--counts", "1.5,2", "--n-draws", "1", "--epsilon", "1"], "'1.5'"),
    (["--counts", "-1,4", "--n-draws", "1", "--epsilon", "1"], "-1"),
    (["--counts", "5", "--n-draws", "1", "--epsilon", "1"], "two categories"),
    (["--counts", "5,5", "--n-draws", "0", "--epsilon", "1"], "--n-draws"),
    (["--counts", "5,5", "--n-draws", "11", "--epsilon", "1"], "--n-draws 11"),
    (["--counts", "5,5", "--n-draws", "2"], "epsilon or threshold"),
    (["--counts", "5,5", "--n-draws", "2", "--epsilon", "-1"], "--epsilon -1"),
    (["--counts", "5,5", "--n-draws", "2", "--epsilon", "nan"], "epsilon"),
    (["--counts", "5,5", "--n-draws", "2", "--epsilon", "large"], "epsilon"),
    (["--counts", "5,5", "--n-draws", "2", "--threshold", "1.5"], "threshold"),
    (["--counts", "5,5", "--sampling-rate", "1.2", "--epsilon", "1"], "--sampling-rate"),
    (["--counts", "5,5", "--keep-probability", "0", "--epsilon", "1"], "--keep-probability"),
    (["none.csv", "--column", "v", "--n-draws", "1", "--epsilon", "1"], "no such file"),
    (["none.csv", "--n-draws", "1", "--epsilon", "1"], "--column"),
    (["--counts", "5,5", "--n-draws", "2", "--epsilon", "1", "--plot", "a.xyz"], ".xyz"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD)
def test_bad_input(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as caught:
        main(["measure", *arguments])
    output = capsys.readouterr()
    assert caught.value.code == 2
    assert output.out == ""
    assert words in output.err
    assert output.err.startswith("Error: Expected ")
    assert output.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


MODEL = "unit,a,b\nX,9446,554\nY,5334,4666\nZ,2288,7712\n"


def test_measure_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Figure 2 (left) at n = 1000: .9446^2, a value found by independent code."""
    path = tmp_path / "units.csv"
    path.write_text(MODEL)
    arguments = ["measure", "--model", str(path), "--n", "1000", "--sampling-rate", "0.998"]
    main([*arguments, "--epsilon", "0.5", "--json"])
    result = json.loads(capsys.readouterr().out)
    assert result["smoothed_delta"] == pytest.approx(0.89226916, rel=1e-10)
    main([*arguments, "--epsilon", "0.5"])
    assert "on average" in capsys.readouterr().out


def test_measure_a_model_at_scale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ten million voters, far below floats: text and logarithm reach it."""
    path = tmp_path / "units.csv"
    path.write_text(MODEL)
    arguments = ["measure", "--model", str(path), "--n", "10000000", "--sampling-rate", "0.998"]
    main([*arguments, "--epsilon", "7"])
    assert "e-494  (rounded up" in capsys.readouterr().out
    main([*arguments, "--epsilon", "7", "--json"])
    result = json.loads(capsys.readouterr().out)
    # Above the chance that no vote of the lesser candidate is lost, of 20,000 lost ones.
    floor = 20_000 * math.log(0.9446)
    assert floor < result["log_smoothed_delta"] < floor + 10
    assert result["smoothed_delta"] == 5e-324


def test_largest_sample_of_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "units.csv"
    path.write_text(MODEL)
    arguments = ["measure", "--model", str(path), "--n", "100000", "--epsilon", "7"]
    main([*arguments, "--target-delta", "1e-6", "--json"])
    result = json.loads(capsys.readouterr().out)
    # .9446^243 is the first power below 1e-6.
    assert result["n_lost"] == 243
    assert result["is_largest"] is True
    main([*arguments, "--target-delta", "1e-6"])
    assert "fewest lost     243" in capsys.readouterr().out


def test_databases_of_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "units.csv"
    path.write_text("unit,a,b,c\nX,20,30,50\n")
    arguments = ["measure", "--model", str(path), "--n", "60", "--n-draws", "40", "--epsilon", "1"]
    main([*arguments, "--json"])
    exact = json.loads(capsys.readouterr().out)
    main([*arguments, "--databases", "200", "--json"])
    output = capsys.readouterr()
    result = json.loads(output.out)
    assert result["interval"][0] <= exact["smoothed_delta"]
    assert exact["smoothed_delta_lower"] <= result["interval"][1]
    assert output.err == ""
    main([*arguments, "--databases", "50"])
    assert "An estimate, not a guarantee" in capsys.readouterr().out


BAD_MODELS = [
    (MODEL, ["--n", "10", "--epsilon", "1", "--databases", "1"], "n_databases"),
    (MODEL, ["--n", "10", "--epsilon", "1", "--target-delta", "2"], "delta"),
    ("", ["--n", "10", "--epsilon", "1"], "a header"),
    ("unit,a,b\nX,1\n", ["--n", "10", "--epsilon", "1"], "got 2 fields"),
    ("unit,a,b\nX,1,two\n", ["--n", "10", "--epsilon", "1"], "another text"),
    ("unit,a,b\nX,0,0\n", ["--n", "10", "--epsilon", "1"], "row 1"),
    (MODEL, ["--n", "10"], "--epsilon"),
]


@pytest.mark.parametrize(("text", "arguments", "words"), BAD_MODELS)
def test_bad_models(
    text: str,
    arguments: list[str],
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "units.csv"
    path.write_text(text)
    with pytest.raises(SystemExit) as caught:
        main(["measure", "--model", str(path), "--sampling-rate", "0.9", *arguments])
    output = capsys.readouterr()
    assert caught.value.code == 2
    assert output.out == ""
    assert words in output.err
    assert output.err.count("\n") == 1


def test_missing_model(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["measure", "--model", "none.csv", "--n", "9", "--n-draws", "3", "--epsilon", "1"])
    assert capsys.readouterr().err.startswith("Error: Expected a readable CSV file none.csv")


def test_papers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["papers", "list"])
    assert "smoothed-dp/1" in capsys.readouterr().out
    out = tmp_path / "figure.png"
    main(["papers", "figure", "smoothed-dp/1", "--out", str(out), "--json"])
    result = json.loads(capsys.readouterr().out)
    assert len(result["rows"]) == 27
    assert out.exists()
    out = tmp_path / "smoothed.png"
    main(["papers", "figure", "smoothed-dp/2", "--out", str(out)])
    assert "3.503e-16" in capsys.readouterr().out
    assert out.exists()
    with pytest.raises(SystemExit):
        main(["papers", "figure", "smoothed-dp/99"])
    assert "Expected one of" in capsys.readouterr().err
