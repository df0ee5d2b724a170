"""With the required dependencies alone: measuring works, and what needs more says what."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.smoke

POLL = ["measure", "--counts", "40,60,0", "--sampling-rate", "0.9", "--epsilon", "1"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command with the extras hidden, wherever they are installed."""
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['matplotlib', 'pyarrow']));"
        "from smoothdp.cli import main; main()"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )


def test_measure() -> None:
    result = run(*POLL, "--json")
    assert result.returncode == 0, result.stderr
    assert 0 < json.loads(result.stdout)["delta"] <= 0.9


def test_measure_a_csv_file(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("vote\n" + "yes\nno\n" * 20)
    keep = ["--keep-probability", "0.9", "--epsilon", "1"]
    result = run("measure", str(path), "--column", "vote", "--public", *keep)
    assert result.returncode == 0, result.stderr
    assert "no: 20, yes: 20" in result.stdout


@pytest.mark.parametrize(
    ("extra", "arguments"),
    [
        ("plot", [*POLL, "--plot", "picture.png"]),
        ("plot", ["papers", "figure", "smoothed-dp/1", "--out", "picture.png"]),
        ("data", ["measure", "votes.parquet", "--column", "vote", "--keep-probability", "0.9"]),
    ],
)
def test_a_missing_extra_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: str, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("votes.parquet").write_bytes(b"PAR1")
    result = run(*arguments)
    assert result.returncode == 2
    assert f'pip install "smoothdp[{extra}]"' in result.stderr
    assert result.stderr.count("\n") == 1
    assert not Path("picture.png").exists()


def test_the_smoke_environment_is_bare() -> None:
    """Where pytest-xdist is absent, so must the extras be: else the smoke run shows nothing."""
    if importlib.util.find_spec("xdist") is None:
        for extra in ("matplotlib", "pyarrow", "hypothesis"):
            assert importlib.util.find_spec(extra) is None
