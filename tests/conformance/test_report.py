"""``smoothdp report``: pages that stand alone, say what they should, and know nothing private."""

from __future__ import annotations

import json
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.cli import main
from smoothdp.report import html
from smoothdp.report.html.shared_sections import ChordProfile

pytest.importorskip("matplotlib")

VOID = {"meta", "link", "br", "img", "hr", "input"}
PARTS = ("Inputs", "The guarantee in plain words", "Curves", "How to reproduce", "Citation")
PLAN = sd.plan(sd.queries.Median((0, 100)), guarantee=sd.PureDP(1), n_records=1000)


class Reader(HTMLParser):
    """Elements in balance, their attributes, and the words outside pictures and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> without a beginning"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"svg", "style"} & set(self.open):
            self.words.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def release_text(**more: object) -> str:
    found = sd.release([float(i % 100) for i in range(1000)], PLAN.query, guarantee=PLAN.guarantee)
    fields: dict[str, object] = {
        "value": found.value,
        "guarantee": found.guarantee.sentence(),
        "mechanism": found.mechanism,
        "n_records": 1000,
        "missing": "",
        "version": found.library_version,
        "claim": json.loads(found.guarantee.to_json()),
    }
    return json.dumps({name: value for name, value in (fields | more).items() if value is not None})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("reports")
    (place / "plan.json").write_text(PLAN.to_json())
    (place / "release.json").write_text(release_text())
    (place / "units.csv").write_text("unit,yes,no\nnorth,600,400\nsouth,400,600\n")
    return place


OPTIONS = {
    "plan": ["--plan", "plan.json"],
    "release": ["--release", "release.json"],
    "counts": ["--counts", "400,600", "--sampling-rate", "0.9", "--epsilon", "1"],
    "model": ["--model", "units.csv", "--n", "1000", "--sampling-rate", "0.9", "--epsilon", "1"],
    "sum": ["--protocol", "boolean-sum", "--n", "1000", "--epsilon", "1", "--delta", "1e-6"],
    "histogram": [
        *("--protocol", "histogram", "--bins", "10"),
        *("--n", "1000", "--epsilon", "1", "--delta", "1e-6"),
    ],
}


@pytest.fixture(scope="module")
def pages(folder: Path) -> dict[str, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, options in OPTIONS.items():
            main(["report", *options, "--out", f"{name}.html"])
    return {name: (folder / f"{name}.html").read_text(encoding="utf-8") for name in OPTIONS}


@pytest.mark.parametrize("name", OPTIONS)
def test_page_is_whole_and_loads_nothing(pages: dict[str, str], name: str) -> None:
    page = pages[name]
    reader = read(page)
    assert page.startswith("<!doctype html>")
    assert not re.search(r"https?:|url\((?!#)|@import|<script|<link|<iframe|javascript:", page)
    for tag, attributes in reader.seen:
        assert tag not in ("script", "link", "iframe", "object", "embed", "base")
        assert not any(key.startswith("on") for key in attributes)
        for key in ("src", "href"):
            assert (attributes.get(key) or "#").startswith("#"), attributes


@pytest.mark.parametrize("name", OPTIONS)
def test_page_can_be_read_by_everyone(pages: dict[str, str], name: str) -> None:
    page, reader = pages[name], read(pages[name])
    assert '<html lang="en">' in page
    headings = [tag for tag, _ in reader.seen if re.fullmatch(r"h\d", tag)]
    assert headings[0] == "h1"
    assert set(headings[1:]) == {"h2"}
    pictures = [attributes for tag, attributes in reader.seen if tag == "svg"]
    assert len(pictures) >= 2
    for attributes in pictures:
        assert attributes["role"] == "img"
        assert len(attributes["aria-label"] or "") > 80
    assert page.count("<figcaption>") == len(pictures)
    assert page.count("<table>") == page.count("<caption>")
    named = [attributes["id"] for _, attributes in reader.seen if "id" in attributes]
    assert len(named) == len(set(named))
    targets = re.findall(r'href="#([^"]+)"', page) + re.findall(r"url\(#([^)]+)\)", page)
    assert set(targets) <= set(named)
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


@pytest.mark.parametrize("name", OPTIONS)
def test_page_has_its_parts_and_the_exact_command(pages: dict[str, str], name: str) -> None:
    words = "".join(read(pages[name]).words)
    for part in PARTS:
        assert part in words
    command = shlex.join(["smoothdp", "report", *OPTIONS[name], "--out", f"{name}.html"])
    given = next(line for line in words.splitlines() if line.startswith("smoothdp report"))
    assert sorted(shlex.split(given)) == sorted(shlex.split(command))
    assert "@" in words.split("Citation")[-1]


@pytest.mark.parametrize("name", ["counts", "release"])
def test_the_command_on_the_page_writes_the_page(
    folder: Path, pages: dict[str, str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    words = "".join(read(pages[name]).words)
    given = next(line for line in words.splitlines() if line.startswith("smoothdp report"))
    main(shlex.split(given)[1:])
    assert (folder / f"{name}.html").read_text(encoding="utf-8") == pages[name]


def test_figures_are_those_of_the_library(pages: dict[str, str]) -> None:
    poll = sd.SamplingHistogram(1000, sampling_rate="0.9")
    measured = sd.report.measure_histogram(poll, {"a": 400, "b": 600}, epsilon=1)
    assert measured.sentence().split("\n")[0] in "".join(read(pages["counts"]).words)
    assert PLAN.guarantee.sentence() in "".join(read(pages["plan"]).words)
    protocol = sd.shuffle.BooleanSum.calibrate(1000, guarantee=sd.ApproxDP(1, delta="1e-6"))
    assert protocol.condition() in "".join(read(pages["sum"]).words)
    assert f"{protocol.error('1/20'):.4g}" in "".join(read(pages["sum"]).words)
    model = sd.DataModel([("0.6", "0.4"), ("0.4", "0.6")])
    smoothed = sd.smoothed_delta(poll, model, epsilon=1)
    at_zero = sd.smoothed_delta(poll, model, epsilon=0).exact_delta
    said = smoothed.guarantee.sentence(delta_at_zero=at_zero)
    assert said in "".join(read(pages["model"]).words)


def test_text_from_files_cannot_become_markup() -> None:
    page = html.report_release(release_text(mechanism="<script>alert(1)</script> & more")).html()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    read(page)


def test_a_release_without_its_claim_has_words_alone() -> None:
    page = html.report_release(release_text(claim=None)).html()
    assert PLAN.guarantee.sentence() in page
    assert "<svg" not in page


def test_what_the_release_command_prints_makes_a_report(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    (folder / "data.csv").write_text("age\n" + "\n".join(str(i % 100) for i in range(1000)))
    for more in ([], ["--confidence", "0.9"]):
        main(["release", "data.csv", "--column", "age", "--plan", "plan.json", "--json", *more])
        (folder / "printed.json").write_text(capsys.readouterr().out)
        main(["report", "--release", "printed.json", "--out", "printed.html"])
        words = "".join(read((folder / "printed.html").read_text(encoding="utf-8")).words)
        assert PLAN.guarantee.sentence() in words
        assert ("error bars" in words) == bool(more)
        capsys.readouterr()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"value": True}, "no number"),
        ({"value": None}, "without value"),
        ({"smooth_sensitivity": 0.3}, "unknown fields smooth_sensitivity"),
        ({"claim": {"type": "PureDP"}}, "a claim that is none"),
        ({"claim": json.loads(sd.PureDP("0.1").to_json())}, "not that of its claim"),
        ({"interval": [1]}, "two ends"),
    ],
)
def test_other_releases_are_refused(more: dict[str, object], words: str) -> None:
    with pytest.raises(
        sd.errors.InvalidData, match=r"^Expected what smoothdp release --json prints; got "
    ):
        html.report_release("nothing")
    with pytest.raises(sd.errors.InvalidData) as caught:
        html.report_release(release_text(**more))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "got 0 of them"),
        (["--counts", "1,2", "--plan", "plan.json"], "got 2 of them"),
        (["--plan", "plan.json", "--epsilon", "1"], "--epsilon"),
        (["--counts", "1,2", "--epsilon", "1"], "Say how the sample is drawn"),
        (["--counts", "1,x", "--n-draws", "1", "--epsilon", "1"], "whole numbers"),
        (["--counts", "5,5", "--n-draws", "9", "--epsilon", "1", "--n", "10"], "--n"),
        (["--model", "units.csv", "--n-draws", "1"], "--n, --epsilon"),
        (["--protocol", "boolean-sum", "--n", "1000"], "no --epsilon and no --delta"),
        (["--protocol", "histogram", "--n", "9999", "--epsilon", "1", "--delta", "1e-6"], "--bins"),
        (["--plan", "gone.json"], "gone.json"),
        (["--release", "units.csv"], "not JSON"),
        ([*OPTIONS["counts"], "--out", "report.txt"], "report.html"),
    ],
)
def test_bad_options_are_one_line(
    folder: Path,
    options: list[str],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    before = set(folder.iterdir())
    with pytest.raises(SystemExit) as caught:
        main(["report", *options])
    output = capsys.readouterr()
    assert caught.value.code == 2
    assert output.out == ""
    assert output.err.count("\n") == 1
    assert words in output.err
    assert set(folder.iterdir()) == before


def test_json(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    main(["report", *OPTIONS["counts"], "--out", "json.html", "--json"])
    found = json.loads(capsys.readouterr().out)
    poll = sd.SamplingHistogram(1000, sampling_rate="0.9")
    assert found["out"] == "json.html"
    assert found["delta"] == poll.delta([400, 600], epsilon=1)


def test_no_option_takes_private_data() -> None:
    """A file of records and a column are what diagnostics of private data would need."""
    from smoothdp.cli.report import report

    names = {parameter.name for parameter in report.params}
    assert not names & {"file", "column", "data", "values"}


def test_a_profile_joined_by_chords_lies_above_the_truth_and_near_it() -> None:
    profile = sd.GaussianDP(1).profile()
    joined = ChordProfile.of(profile.log_delta, [k / 4 for k in range(13)])
    for epsilon in np.linspace(0.0, 3.0, 61).tolist():
        assert profile.log_delta(epsilon) <= joined.log_delta(epsilon)
        assert joined.log_delta(epsilon) <= profile.log_delta(epsilon) + 0.1
    assert joined.log_delta(50) == joined.points[-1][1]


def test_a_joined_profile_may_reach_zero() -> None:
    claim = sd.PureDP(1).profile()
    joined = ChordProfile.of(claim.log_delta, [0.0, 0.5, 1.0])
    assert joined.delta(1) == 0.0
    assert claim.delta("0.75") <= joined.delta("0.75") < claim.delta("0.5")
