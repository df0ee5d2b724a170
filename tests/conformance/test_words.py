"""What the commands say to somebody new: what a figure covers, and options, never arguments."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest

import smoothdp as sd
from smoothdp.cli import main
from smoothdp.cli.main import commands, in_options, options_of
from smoothdp.cli.options.bins import bin_of

TARGET = ["--epsilon", "1", "--delta", "1e-6"]
TOWNS = ["Oslo", "Rome", "Lima", "Cork", "Bern", "Hidden"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [f"{TOWNS[i % 6]},{i % 7 - 3},{i % 2}" for i in range(3000)]
    Path("t.csv").write_text("town,delay,late\n" + "\n".join(rows) + "\n")
    Path("towns.txt").write_text("\n".join(TOWNS[:5]) + "\nNowhere\n")
    Path("na.csv").write_text("delay\n1\nNA\n")
    return tmp_path


def failing(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    shown = capsys.readouterr()
    assert caught.value.code == 2
    assert shown.out == ""
    assert shown.err.startswith("Error: ")
    assert shown.err.count("\n") == 1
    return shown.err


# ---- what the error covers, and who shares a bin -----------------------------------------


@pytest.mark.parametrize(
    ("column", "options", "covers", "alone"),
    [
        ("late", [], "of the share among these 3000 users", "random flips alone"),
        pytest.param(
            "delay",
            ["--above", "0"],
            "of the share among these 3000 users",
            "random flips alone",
            marks=pytest.mark.slow,
        ),
        (
            "delay",
            ["--bounds", "-3", "3", "--n-bits", "8"],
            "of the mean of these 3000 users' clipped values",
            "random rounding and random flips alone",
        ),
        ("town", ["--bins", "4"], "all 4 counts at once", "the random messages alone"),
    ],
)
@pytest.mark.usefixtures("place")
def test_the_error_says_what_it_covers(
    column: str, options: list[str], covers: str, alone: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["collect", "t.csv", "--column", column, *options, *TARGET, "--confidence", "0.9"]
    main(command)
    (line,) = [row for row in capsys.readouterr().out.splitlines() if row.startswith("90% error:")]
    assert "with probability at least 0.9, whatever the data" in line
    assert covers in line
    assert f"It covers {alone}" in line
    assert "not how these users were chosen" in line
    main([*command, "--json"])
    found = json.loads(capsys.readouterr().out)
    # The estimate is rounded another time: so may be the last digit of its error.
    masked = re.compile(r"within [\d.]+ of")
    assert masked.sub("", found["error_covers"]) in masked.sub("", line)
    assert float(re.search(r"within ([\d.]+) of", line)[1]) >= found["error"]  # type: ignore[index]


@pytest.mark.usefixtures("place")
def test_the_error_of_counts_is_the_simultaneous_one(capsys: pytest.CaptureFixture[str]) -> None:
    guarantee = sd.ApproxDP(1, delta="1e-6")
    for kind, name in (
        (sd.shuffle.LowCommunicationHistogram, "low-communication-histogram"),
        (sd.shuffle.Histogram, "zero-preserving-histogram"),
    ):
        command = ["collect", "t.csv", "--column", "town", "--bins", "4", "--protocol", name]
        main([*command, *TARGET, "--json"])
        found = json.loads(capsys.readouterr().out)
        protocol: Any = kind.calibrate(3000, n_bins=4, guarantee=guarantee)
        assert found["error"] == protocol.error("0.05", simultaneous=True)
    assert found["error"] > protocol.error("0.05")


@pytest.mark.usefixtures("place")
def test_bins_list_the_public_values_that_share_one(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["collect", "t.csv", "--column", "town", "--bins", "3", *TARGET]
    main([*command, "--domain", "towns.txt", "--json"])
    shared = json.loads(capsys.readouterr().out)["bins"]
    assert shared["count"] == 3
    assert "BLAKE2b" in shared["rule"]
    listed = {value: name for name, values in shared["values"].items() for value in values}
    assert listed == {value: bin_of(value, 3) for value in [*TOWNS[:5], "Nowhere"]}
    main([*command, "--domain", "towns.txt"])
    text = capsys.readouterr().out
    for name, values in shared["values"].items():
        assert f"{name}: {', '.join(values)}\n" in text
    assert "Hidden" not in text


@pytest.mark.usefixtures("place")
def test_bins_never_list_what_occurs_in_the_data(capsys: pytest.CaptureFixture[str]) -> None:
    """Which values occur is private: without a public list, the rule alone is printed."""
    command = ["collect", "t.csv", "--column", "town", "--bins", "3", *TARGET]
    for more in ([], ["--json"]):
        main([*command, *more])
        text = capsys.readouterr().out
        assert "BLAKE2b" in text
        assert not any(town in text for town in TOWNS)
    assert json.loads(text)["bins"]["values"] is None


def test_the_rule_of_the_bins_is_the_one_that_is_printed() -> None:
    import hashlib

    for value in ("Zürich", "", "a"):
        digest = hashlib.blake2b(value.encode("utf-8"), digest_size=16).hexdigest()
        assert bin_of(value, 1000) == f"bin {int(digest, 16) % 1000}"


# ---- epsilon 0, and no epsilon -----------------------------------------------------------

RELEASE = ["release", "t.csv", "--column", "delay", "--statistic", "mean", "--bounds", "0", "9"]
NEED_NOISE = [
    (RELEASE, []),
    (["noise", "--smoothing", "0.1"], []),
    (["plan", "--statistic", "median", "--bounds", "0", "9", "--n", "100"], []),
    (["collect", "t.csv", "--column", "late"], ["--delta", "1e-6"]),
    (["report", "--protocol", "boolean-sum", "--n", "1000"], ["--delta", "1e-6"]),
    (["serve", "demo"], []),
    (["serve", "demo", "--poll"], []),
    (
        ["task", "create", "x", "--protocol", "boolean-sum", "--min-batch", "100"],
        ["--delta", "1e-6"],
    ),
]


@pytest.mark.parametrize("zero", ["0", "0.0", "-1", "ln(1)", "0/5"])
@pytest.mark.parametrize(("command", "more"), NEED_NOISE, ids=lambda x: " ".join(x[:2]))
@pytest.mark.usefixtures("place")
def test_epsilon_0_is_one_refusal_where_noise_is_needed(
    command: list[str], more: list[str], zero: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = failing([*command, *more, "--epsilon", zero], capsys)
    assert line == (
        f"Error: Expected a positive --epsilon; got {zero}. At 0 the output may say nothing of the "
        "data: give a number such as 1.\n"
    )
    assert sorted(path.name for path in Path().iterdir()) == ["na.csv", "t.csv", "towns.txt"]


@pytest.mark.usefixtures("place")
def test_epsilon_0_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """delta(0) is the total variation distance: of one draw from 2 and 1, and from 1 and 2."""
    main(["measure", "--counts", "2,1", "--n-draws", "1", "--epsilon", "0", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["delta"] == pytest.approx(1 / 3)


@pytest.mark.usefixtures("place")
def test_no_guarantee_names_the_options_that_give_one(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (RELEASE, ["noise", "--smoothing", "0.1"]):
        line = failing(command, capsys)
        for option in ("--epsilon", "--delta", "--rho", "--omega"):
            assert option in line
        assert "got none" in line
        assert "got --delta alone" in failing([*command, "--delta", "1e-6"], capsys)
    for command in (["collect", "t.csv", "--column", "late"], NEED_NOISE[4][0]):
        assert "got no --epsilon and no --delta" in failing(command, capsys)
        assert "got no --delta" in failing([*command, "--epsilon", "1"], capsys)
    assert "--delta with --kept concentrated" in failing(
        ["account", "create", "l.db", "--epsilon", "1", "--kept", "concentrated"], capsys
    )


# ---- files that are not there ------------------------------------------------------------

GONE = [
    [*RELEASE[:1], "gone", *RELEASE[2:], "--epsilon", "1"],
    [*RELEASE, "--epsilon", "1", "--ledger", "gone"],
    ["release", "t.csv", "--column", "delay", "--plan", "gone"],
    ["collect", "gone", "--column", "late", *TARGET],
    ["collect", "t.csv", "--column", "late", *TARGET, "--ledger", "gone"],
    ["collect", "t.csv", "--column", "town", *TARGET, "--domain", "gone"],
    ["account", "gone"],
    ["account", "show", "gone"],
    ["account", "export", "gone"],
    ["measure", "gone", "--column", "x", "--epsilon", "1", "--n-draws", "1"],
    ["measure", "--model", "gone", "--n", "9", "--epsilon", "1", "--n-draws", "1"],
    ["report", "--plan", "gone"],
    ["report", "--release", "gone"],
    ["report", "--model", "gone", "--n", "9", "--epsilon", "1", "--n-draws", "1"],
    ["serve", "demo", "gone", "--column", "late"],
    ["serve", "demo", "t.csv", "--column", "town", "--domain", "gone"],
    ["serve", "analyzer", "--config", "gone"],
    ["serve", "analyzer", "gone"],
    ["task", "show", "gone"],
    ["task", "tokens", "gone"],
    ["task", "create", "new", "--protocol", "histogram", *TARGET, "--min-batch", "9", "--domain",
     "gone"],
    ["submit", "1", "--task", "gone", "--shuffler", "http://127.0.0.1:1", "--pass", "t.csv"],
    ["results", "1", "--collector", "gone", "--analyzer", "http://127.0.0.1:1"],
]  # fmt: skip


@pytest.mark.parametrize("command", GONE, ids=" ".join)
@pytest.mark.usefixtures("place")
def test_a_file_that_is_not_there_is_named(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    line = failing(command, capsys)
    assert re.search(r"\bgone\b", line)
    assert re.search("no such file|No such file or directory", line)
    for word in ("Errno", "FileNotFoundError", "SQLITE"):
        assert word not in line


@pytest.mark.usefixtures("place")
def test_a_pass_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    create = ["task", "create", "new", "--protocol", "boolean-sum", *TARGET, "--min-batch", "900"]
    main([*create, "--one-host"])
    capsys.readouterr()
    sending = ["submit", "1", "--task", "new", "--shuffler", "http://127.0.0.1:1", "--pass"]
    line = failing([*sending, "gone"], capsys)
    assert "file gone; got no such file" in line


# ---- options, and not arguments ----------------------------------------------------------

REFUSED = [
    ([*RELEASE, "--epsilon", "1", "--confidence", "2"], "got --confidence 2"),
    ([*RELEASE, "--epsilon", "1", "--sd-bound", "2"], "Give --confidence 0.95"),
    ([*RELEASE, "--epsilon", "1", "--round-to", "x"], "got --round-to 'x'"),
    ([*RELEASE, "--epsilon", "x"], "got --epsilon 'x'"),
    (["release", "t.csv", "--column", "delay", "--plan", "t.csv"], "a plan as JSON in t.csv"),
    (["account", "create", "l.db", "--epsilon", "2"], "A budget is never changed"),
    (["account", "l.db", "--delta", "2"], "got --delta 2"),
    ([*RELEASE, "--epsilon", "1", "--delta", "1e-6", "--ledger", "l.db"], "the budget's kind"),
    ([*RELEASE, "--rho", "1", "--ledger", "l.db"], "the budget's kind"),
    (["collect", "t.csv", "--column", "late", *TARGET, "--ledger", "l.db"], "the budget's kind"),
    (["collect", "t.csv", "--column", "delay", "--bounds", "0", "1", "--n-bits", "0", *TARGET],
     "Raise --n-bits"),
    (["collect", "t.csv", "--column", "town", "--bins", "3", "--n-bits", "3", *TARGET],
     "got counts"),
    (["collect", "t.csv", "--column", "delay", *TARGET], "Give --above NUMBER"),
    (["collect", "na.csv", "--column", "delay", "--above", "0", "--missing", "NA", *TARGET],
     'a number or "public-drop"'),
    (["collect", "na.csv", "--column", "delay", "--above", "0", *TARGET],
     "in column 'delay'; got a mark for a missing value."),
    (["report", "--protocol", "histogram", "--n", "9999", *TARGET], "Expected --bins"),
    (["report", "--protocol", "count", "--n", "9999", "--bins", "3", *TARGET], "Leave --bins out"),
    (["report", "--protocol", "histogram", "--n", "9999", "--bins", "3", "--n-bits", "3", *TARGET],
     "--n-bits with --protocol real-sum alone"),
    (["task", "create", "new", "--protocol", "boolean-sum", *TARGET, "--min-batch", "900",
      "--honest-share", "2"], "0 < --honest-share <= 1"),
    (["task", "create", "new", "--protocol", "boolean-sum", *TARGET, "--min-batch", "900",
      "--one-host", "--honest-share", "x"], "got --honest-share 'x'"),
    (["task", "create", "new", "--protocol", "boolean-sum", *TARGET, "--min-batch", "900"],
     "--one-host to try"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "words"), REFUSED, ids=lambda x: str(x)[:60])
@pytest.mark.usefixtures("place")
def test_refusals_name_options(
    command: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sd.Ledger("l.db", budget=sd.PureDP(1))
    line = failing(command, capsys)
    assert re.search(words, line), line
    # What Python writes as Name(field=value) is a value, not advice.
    bare = re.sub(r"\b[A-Z]\w*\([^()]*\)", "", line)
    assert not re.search(r"\b[a-z_]+=|\w\(\)|in Python", bare), line


def test_words_are_translated_by_the_options_of_the_command() -> None:
    options = options_of(commands.commands["release"])
    assert options["quantile"] == "--q"
    assert options["kind"] == "--guarantee"
    says = {
        "got sd_bound=None. Give sd_bound": "got no --sd-bound. Give --sd-bound",
        "a constant (missing=, --missing)": "a constant (--missing)",
        "Stop (in Python: pass claim= or not), or wait": "Stop, or wait",
        "got quantile=0.5, other=3": "got --q 0.5, other=3",
        "PureDP(epsilon=1, neighbours='x')": "PureDP(epsilon=1, neighbours='x')",
        "columns dep_delay, round_to.csv": "columns dep_delay, round_to.csv",
        "rho = epsilon^2 / 2 == x": "rho = epsilon^2 / 2 == x",
    }
    for before, after in says.items():
        assert in_options(before, options) == after


def test_every_command_speaks_so() -> None:
    def leaves(command: click.Command) -> list[click.Command]:
        if isinstance(command, click.Group):
            return [leaf for child in command.commands.values() for leaf in leaves(child)]
        return [command]

    for leaf in leaves(commands):
        assert hasattr(leaf.callback, "__wrapped__"), leaf.name
