"""No command ignores an option: what does not apply is refused, what applies changes something."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from smoothdp.cli import main
from smoothdp.cli.main import commands
from smoothdp.cli.measure import MODES, measure
from smoothdp.cli.options.command_line import StrictCommand

# A way to use `measure` each, and for every option one value that differs from what stands there.
BASE = {
    "counts": ["--counts", "30,20", "--n-draws", "40", "--epsilon", "1"],
    "column": ["votes.csv", "--column", "vote", "--n-draws", "40", "--epsilon", "1"],
    "model": ["--model", "units.csv", "--n", "50", "--n-draws", "20", "--epsilon", "1"],
    "sample": ["votes.csv", "--population", "90", "--model", "units.csv", "--epsilon", "1"],
    "databases": [
        *("--model", "units.csv", "--n", "50", "--n-draws", "20", "--epsilon", "1"),
        *("--databases", "40"),
    ],
    "design": ["--model", "units.csv", "--n", "50", "--epsilon", "1", "--target-delta", "1e-2"],
}
SAMPLE = {
    "file": ["other.csv"],
    "counts": ["--counts", "31,19"],
    "column": ["--column", "side"],
    "universe": ["--universe", "a,b,c,+AGE-"],
    "public": ["--public"],
    "population": ["--population", "70"],
    "missing": ["--missing", "c"],
    "delimiter": ["--delimiter", ";"],
    "na": ["--na", "a", "--missing", "b"],
    "encoding": ["--encoding", "utf-7"],
    "model": ["--model", "wider.csv"],
    "n_records": ["--n", "60"],
    "sharpen": ["--sharpen"],
    "tolerance": ["--tolerance", "0.5"],
    "at_delta": ["--at-delta", "1e-3"],
    "databases": ["--databases", "30"],
    "target_delta": ["--target-delta", "1e-3"],
    "sampling_rate": ["--sampling-rate", "0.5"],
    "n_draws": ["--n-draws", "6"],
    "sampling": ["--sampling", "with_replacement"],
    "keep_probability": ["--keep-probability", "0.5"],
    "epsilon": ["--epsilon", "0.5"],
    "threshold": ["--threshold", "0.6"],
    "as_json": ["--json"],
    "plot": ["--plot", "picture.svg"],
}
WAYS = [(mode, one.name or "") for mode in MODES for one in measure.params]
# One of three says how the sample is drawn.
DRAWN = {"sampling_rate", "n_draws", "keep_probability"}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # The third is "a" in UTF-7, and with a semicolon there is another column of votes.
    rows = [("a", "x"), ("b", "x"), ("+AGE-", "x"), ("b", "y")] * 13
    lines = "".join(f"{v},{s},z;{v}{s}\n" for v, s in rows)
    Path("votes.csv").write_text(f"vote,side,rest;vote\n{lines}")
    Path("other.csv").write_text("vote\n" + "a\n" * 30 + "b\n" * 30)
    Path("units.csv").write_text("unit,a,b\nNorth,3,7\nSouth,6,4\n")
    Path("wider.csv").write_text("unit,a,b\nNorth,2,8\nSouth,7,3\n")


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = 0
    try:
        main(["measure", *arguments])
    except SystemExit as stopped:
        code = int(stopped.code or 0)
    shown = capsys.readouterr()
    return code, shown.out, shown.err


BEFORE: dict[str, tuple[int, str, str]] = {}
"""What each mode prints as it stands: of the same files for every option, so once is enough."""


def with_option(mode: str, name: str) -> list[str]:
    """Return the command of a mode with an option added, or with another value of one it has."""
    base, added = BASE[mode], SAMPLE[name]
    places = [at for at, word in enumerate(base) if word == added[0]]
    if places:
        return [*base[: places[0]], *added, *base[places[0] + 2 :]]
    if name == "file" and mode in ("column", "sample"):
        return [*added, *base[1:]]
    if name in DRAWN and mode != "design" and name in MODES[mode].options:
        return [*base[: base.index("--n-draws")], *added, *base[base.index("--n-draws") + 2 :]]
    return [*base, *added]


def test_every_option_has_a_value_and_a_mode() -> None:
    names = {one.name for one in measure.params}
    assert names == set(SAMPLE)
    assert names == set().union(*(mode.options for mode in MODES.values()))
    assert set(BASE) == set(MODES)


@pytest.mark.parametrize(("mode", "name"), WAYS)
def test_measure_ignores_nothing(mode: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if mode not in BEFORE:
        BEFORE[mode] = run(BASE[mode], capsys)
    before, arguments = BEFORE[mode], with_option(mode, name)
    assert before[0] == 0, before[2]
    code, out, err = run(arguments, capsys)
    if name in MODES[mode].options:
        assert code == 0, err
        # The estimate by random databases differs from run to run; its inputs are shown.
        assert (out, err) != before[1:]
        return
    other = {("counts", "file"), ("column", "counts")}
    switched = "model" if name == "model" else name
    if mode in ("counts", "column") and switched == "model":
        assert (code, out, err.count("\n")) == (2, "", 1)
    elif name == "population":
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "FILE is a sample then" in err
    elif (mode, name) in other:
        assert (code, out) == (2, "")
        assert "got both" in err
    elif (mode, name) in {("model", "databases"), ("model", "target_delta")}:
        # They ask for another mode, which refuses what it has no use for, or runs.
        assert code == (0 if name == "databases" else 2)
    elif (mode, name) == ("databases", "sharpen"):
        assert (code, out) == (2, "")
        assert "one of --sharpen and --databases" in err
    elif (mode, name) == ("databases", "target_delta"):
        assert (code, out) == (2, "")
        assert "--databases" in err
    else:
        assert (code, out, err.count("\n")) == (2, "", 1)
        shown = SAMPLE[name][0] if name != "file" else "FILE"
        assert err.startswith(f"Error: Expected {MODES[mode].words} with options that belong")
        assert shown in err
    assert not Path("picture.svg").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--counts", "30,20", "--keep-probability", "0.5", "--sampling", "with_replacement"],
        ["--counts", "30,20", "--keep-probability", "0.5", "--n-draws", "5"],
        ["--counts", "30,20", "--sampling-rate", "0.5", "--n-draws", "5"],
        ["--model", "units.csv", "--n", "200000", "--n-draws", "5", "--sharpen"],
        ["--model", "units.csv", "--n", "20", "--keep-probability", "0.5", "--sharpen"],
        ["--model", "three.csv", "--n", "20", "--n-draws", "5", "--sharpen"],
    ],
)
def test_options_that_exclude_each_other(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("three.csv").write_text("unit,a,b,c\nNorth,3,7,4\n")
    code, out, err = run([*arguments, "--epsilon", "1"], capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("Error: Expected ")


def test_no_option_is_taken_twice(capsys: pytest.CaptureFixture[str]) -> None:
    command = commands.commands["measure"]
    assert isinstance(command, StrictCommand)
    for option in command.params:
        if isinstance(option, click.Option) and not option.multiple and not option.count:
            words = [option.opts[0], *["1"] * (0 if option.is_flag else option.nargs)]
            with pytest.raises(SystemExit) as stopped:
                main(["measure", *words, *words])
            assert stopped.value.code == 2
            err = capsys.readouterr().err
            assert err == (
                f"Error: Expected {option.opts[0]} once; got it 2 times. Leave all but one out.\n"
            )
