"""Every figure and table of the papers at its quick size, through the command line."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from smoothdp.papers import FIGURES, TABLES
from smoothdp.papers.smoothed_dp.figures_3_and_4 import ModelsFigure

pytestmark = pytest.mark.slow

EVERY = [*(("figure", name) for name in FIGURES), *(("table", name) for name in TABLES)]
# Half a minute of one core is meant; a shared machine may take some times that.
MOST_SECONDS = 60
COMMAND = [sys.executable, "-c", "from smoothdp.cli import main; main()"]


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_quick_size(kind: str, name: str, tmp_path: Path) -> None:
    """Text, JSON, CSV and picture; a second run, from the folder, says the same."""
    data, picture = tmp_path / "data.csv", tmp_path / "picture.png"
    arguments = ["papers", kind, name, "--json", "--csv", str(data)]
    arguments += ["--resume", str(tmp_path / "finished")]
    drawn = ["--out", str(picture)] if kind == "figure" else []
    before = os.times()
    first = subprocess.run(
        [*COMMAND, *arguments, *drawn], capture_output=True, text=True, check=False
    )
    after = os.times()
    assert first.returncode == 0, first.stderr
    seconds = sum(after[2:4]) - sum(before[2:4])
    assert seconds < MOST_SECONDS
    found = json.loads(first.stdout, parse_constant=lambda text: pytest.fail(text))
    assert found[kind] == name
    with data.open(newline="") as file:
        rows = list(csv.reader(file))
    assert len(rows) > 3
    assert len({len(row) for row in rows}) == 1
    if kind == "figure":
        assert picture.stat().st_size > 10_000
    again = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert again.stdout == first.stdout
    # The text, from the folder: no value that a reader cannot read, and every dash explained.
    text = subprocess.run(
        [*COMMAND, "papers", kind, name, "--resume", str(tmp_path / "finished")],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert not re.search(r"\b(nan|inf|None)\b", text)
    assert ("\N{EM DASH}" in text) == ("\n\N{EM DASH}: " in text)


def test_a_killed_figure_resumes(tmp_path: Path) -> None:
    """Killed after some cells, on all cores: what was finished is used, the result is the same."""
    store = tmp_path / "finished"
    arguments = ["papers", "figure", "smoothed-dp/4", "--json", "--resume", str(store)]
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.DEVNULL)
    file = store / "smoothed-dp-4.jsonl"
    deadline = time.monotonic() + 300
    while not file.exists() or file.read_bytes().count(b'"key"') < 5:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    process.wait()
    kept = file.read_bytes().count(b'"key"')
    assert 5 <= kept < 32
    seen: list[tuple[int, int]] = []
    figure = ModelsFigure.compute(
        store=store, progress=lambda done, total: seen.append((done, total))
    )
    assert seen[0] in {(kept, 32), (kept - 1, 32)}
    assert seen[-1] == (32, 32)
    assert figure == ModelsFigure.compute()
