"""``serve demo``: what it prints, of which columns, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from smoothdp.cli.serving.serve import serve
from tests.services.worlds.party_threads import STARTED, party_thread


@pytest.fixture
def in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parties of a demonstration in threads: three programs take long to start."""
    monkeypatch.setattr(STARTED, party_thread)


@pytest.mark.usefixtures("in_threads")
@pytest.mark.parametrize(
    ("column", "options", "rows"),
    [
        ("bit", [], {"sum": "20"}),
        pytest.param("x", ["--above", "4"], {"sum": "40"}, marks=pytest.mark.slow),
        ("x", ["--bounds", "2", "8"], {"mean": "5"}),
        pytest.param(
            "name",
            ["--domain", "names.txt"],
            {"a": "40", "b": "20"},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_demo_command_shows_the_truth_beside_the_estimate(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    column: str,
    options: list[str],
    rows: dict[str, str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("x,bit,name\n" + "1,0,a\n5,1,b\n9,0,a\n" * 20)
    Path("names.txt").write_text("a\nb\nc\n")
    arguments = ["demo", "t.csv", "--column", column, *options, "--epsilon", "2"]
    result = CliRunner().invoke(serve, arguments)
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    shown = {words[0]: words for line in result.stderr.splitlines() if (words := line.split())}
    assert document["users"] == 60
    # Parties on one host void the assumption.
    assert "one host" in result.stderr
    assert "95% error" in result.stderr
    figures = document.get("counts", document)
    for name, truth in rows.items():
        assert shown[name][-1] == truth
        assert shown[name][1] == f"{figures.get(name, 0.0):.6g}"
    # The released document is what was released: the truth is not in it.
    assert "truth" not in result.stdout


def test_a_column_that_needs_a_threshold_is_told_so(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("x\n" + "0\n17\n" * 40)
    for arguments, words in (
        (["--column", "x"], "Give --above NUMBER"),
        ([], "Expected --column with"),
        (["--column", "x", "--above", "1", "--bounds", "0", "1"], "got 2 of them"),
    ):
        result = CliRunner().invoke(serve, ["demo", str(table), *arguments])
        assert result.exit_code != 0
        assert words in " ".join(result.stderr.replace("\u2502", " ").split())
        assert "17" not in result.stderr.replace(str(table), "")


@pytest.mark.usefixtures("in_threads")
@pytest.mark.parametrize(("missing", "users"), [("0", 39), ("public-drop", 26)])
def test_the_demo_command_says_what_became_of_missing_values(
    tmp_path: Path, missing: str, users: int
) -> None:
    table = tmp_path / "t.csv"
    table.write_text("x,y\n" + "1,a\n,b\n9,c\n" * 13)
    arguments = ["demo", str(table), "--column", "x", "--above", "4", "--epsilon", "2"]
    result = CliRunner().invoke(serve, [*arguments, "--missing", missing])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["users"] == users
    assert abs(document["sum"] - 13) < 10 * document["error_of_sum"]
    assert ("public constant" in result.stderr) == (missing == "0")
    assert ("declared public" in result.stderr) == (missing == "public-drop")
    # Without a policy nothing is sent.
    assert CliRunner().invoke(serve, arguments).exit_code != 0


def test_without_the_extra_one_line_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['cryptography'] = None\n"
        "try:\n    import smoothdp.services\nexcept ImportError as error:\n    print(error)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert 'pip install "smoothdp[serve]"' in result.stdout
    assert result.stdout.count("\n") == 1
