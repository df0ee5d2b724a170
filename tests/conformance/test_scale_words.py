"""What every output with a delta of a sample says: no pass mark, random and unseen, ordinary DP."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from smoothdp.cli import main

COUNTS = ["measure", "--counts", "400,300,25", "--sampling-rate", "0.5", "--epsilon"]
MODEL = ["measure", "--model", "units.csv", "--n", "60"]
RATE = ["--sampling-rate", "0.5", "--epsilon", "1"]
TARGET = ["--epsilon", "1", "--delta", "1e-2"]
COMMANDS = {
    "counts": [*COUNTS, "1"],
    "counts, nothing is hidden": [*COUNTS[:2], "400,1", *COUNTS[3:], "1"],
    "several": [*COUNTS, "0,0.5,1"],
    "file": ["measure", "people.csv", "--column", "job", "--missing", "x", *RATE],
    "model": [*MODEL, *RATE],
    "model, ordinary DP": ["measure", "--model", "rare.csv", "--n", "60", *RATE],
    "interval": [*MODEL, *RATE, "--databases", "20"],
    "largest": [*MODEL, "--epsilon", "1", "--target-delta", "1e-2"],
    "design": ["design", "--counts-file", "cells.csv", *TARGET],
    "design, no record": ["design", "--counts-file", "one.csv", *TARGET],
    "design of strata": ["design", "--counts-file", "cells.csv", "--stratum", "region", *TARGET],
    "design of a model": ["design", "--model", "units.csv", "--n", "60", *TARGET],
    "sgd": ["design", "sgd", "--model", "units.csv", "--n", "5000", "--batch", "20",
            "--epsilon", "1"],
    "sgd, ordinary DP": ["design", "sgd", "--model", "units.csv", "--n", "50", "--batch", "20",
                         "--epsilon", "1"],
}  # fmt: skip
PAGES = {
    "report of counts": ["report", "--counts", "30,20,5", *RATE],
    "report of a model": ["report", "--model", "units.csv", "--n", "60", *RATE],
    "page of a design": COMMANDS["design"],
    "page of strata": COMMANDS["design of strata"],
    "page of a step": COMMANDS["sgd"],
}
NUMBER = re.compile(r"(?<![\w.])\d[\d.]*(?:e[+-]?\d+)?")
ABOUT = re.compile("delta|smoothed delta at most|exact, at|over the model|if the model")
DELTAS = ("delta", "smoothed_delta", "estimate")


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = "region,job,n\nN,nurse,520\nN,smith,310\nS,nurse,800\nS,smith,45\n"
    Path("cells.csv").write_text(cells)
    Path("one.csv").write_text("job,n\nnurse,30\nsmith,9\npilot,1\n")
    Path("units.csv").write_text("unit,a,b,c\nWest,40,35,25\nEast,35,30,35\n")
    Path("rare.csv").write_text("unit,a,b,c\nWest,998,1,1\n")
    Path("people.csv").write_text("job\n" + "x\n" * 40 + "y\n" * 25)


def shown(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    main(arguments)
    return capsys.readouterr().out


def refuse_without_words(text: str) -> None:
    flat = " ".join(text.split())
    assert "no pass mark" in flat
    assert re.search(r"below 1/n is no pass mark", flat)
    assert "random" in flat
    assert re.search(r"unseen", flat)
    assert "ordinary DP" in flat


@pytest.mark.parametrize("name", COMMANDS)
def test_text(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(COMMANDS[name], capsys)
    refuse_without_words(text)
    rows = [line.split("  ", 1) for line in text.split("\n\n")[0].splitlines() if "  " in line]
    named = {label.strip(): NUMBER.findall(rest) for label, rest in rows}
    ordinary = float(named["ordinary DP"][0])
    deltas = [label for label in named if label.startswith(("delta(x)", "smoothed delta"))]
    assert deltas
    for label in deltas:
        assert float(named[label][0]) <= ordinary, label


@pytest.mark.parametrize("name", COMMANDS)
def test_json(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown([*COMMANDS[name], "--json"], capsys)
    read = json.loads(text)
    for found in read.get("measurements", [read]):
        flat = json.dumps(found)
        assert "below 1/n is no pass mark" in flat
        assert re.search(r"random.*unseen", flat)
        ordinary = found.get("ordinary_delta", found.get("worst_case_delta"))
        printed = [found[key] for key in DELTAS if found.get(key) is not None]
        printed += found.get("interval", [])
        assert printed
        assert max(printed) <= ordinary


@pytest.mark.parametrize("name", PAGES)
def test_pages(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    where = "--out" if name.startswith("report") else "--html"
    shown([*PAGES[name], where, "page.html"], capsys)
    page = Path("page.html").read_text(encoding="utf-8")
    words = re.sub(r"<(style|script)\b.*?</\1>|<[^>]*>", " ", page, flags=re.S)
    refuse_without_words(words)
    # Every table with a row of ordinary DP has no delta above it, but for bounds of the papers.
    tables = re.findall(r"<table.*?</table>", page, flags=re.S)
    seen = 0
    for one in tables:
        rows = re.findall(r"<tr.*?</tr>", one, flags=re.S)
        cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, flags=re.S) for row in rows]
        ordinary = [float(c[1].split()[0]) for c in cells if c and c[0].startswith("ordinary DP")]
        for row in cells if ordinary else ():
            if row and ABOUT.match(row[0]) and NUMBER.match(row[1]):
                seen += 1
                assert float(NUMBER.findall(row[1])[0]) <= ordinary[0], row
    assert seen
