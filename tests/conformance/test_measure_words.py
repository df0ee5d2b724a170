"""What ``smoothdp measure`` says of a column: which moves are covered, and missing values."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import smoothdp as sd
from smoothdp.cli import main

OPTIONS = ["--keep-probability", "0.9", "--epsilon", "1"]


@pytest.fixture
def votes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    rows = ["a,1"] * 30 + ["b,1"] * 20 + [",1"] * 5
    (tmp_path / "votes.csv").write_text("vote,one\n" + "\n".join(rows) + "\n")
    monkeypatch.chdir(tmp_path)
    return "votes.csv"


def test_without_a_universe_sentence_and_note_agree(
    votes: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["measure", votes, "--column", "vote", "--missing", "c", *OPTIONS]
    main(command)
    shown = capsys.readouterr()
    assert "is not covered" in shown.err
    assert "replacing any one record by another of the categories that occur changes" in shown.out
    assert "a category that nobody is in would stand out, and is not covered" in shown.out
    main([*command, "--universe", "a,b,c,d"])
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "replacing any one record by another of these categories changes" in shown.out
    assert "not covered" not in shown.out
    main(["measure", "--counts", "30,20,5,0", *OPTIONS])
    assert "another of these categories" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("missing", "counts", "note"),
    [
        ("c", {"a": 30, "b": 20, "c": 5}, "Missing values count as c, a public constant."),
        (
            "public-drop",
            {"a": 30, "b": 20},
            "Rows without a value were left out: who has none is declared public.",
        ),
    ],
)
def test_missing_values(
    missing: str,
    counts: dict[str, int],
    note: str,
    votes: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["measure", votes, "--column", "vote", "--public", *OPTIONS]
    with pytest.raises(SystemExit):
        main(command)
    assert "--missing VALUE" in capsys.readouterr().err
    main([*command, "--missing", missing])
    assert capsys.readouterr().out.endswith(f"\n{note}\n")
    main([*command, "--missing", missing, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["counts"] == counts
    assert found["missing"] == note
    assert found["n_records"] == sum(counts.values())


@pytest.mark.parametrize(
    "others",
    [
        ["--counts", "3,4", *OPTIONS],
        ["--model", "votes.csv", "--n", "9", *OPTIONS],
    ],
)
def test_missing_goes_with_a_file(
    others: list[str], votes: str, capsys: pytest.CaptureFixture[str]
) -> None:
    del votes
    with pytest.raises(SystemExit) as stopped:
        main(["measure", *others, "--missing", "0"])
    assert stopped.value.code == 2
    assert capsys.readouterr().err.startswith("Error: Expected --")


def test_hundreds_of_categories_are_measured() -> None:
    """The number of outputs is beyond floats: the utility is bounded, not computed."""
    counts = {str(place): 1000 for place in range(300)}
    found = sd.report.measure_histogram(
        sd.BernoulliHistogram(300_000, keep_probability="0.9"), counts, epsilon=1
    )
    assert found.log_utility is None
    assert found.utility_limit is not None
