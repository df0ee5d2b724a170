"""``smoothdp measure`` at several epsilons, and with a tolerance of a bracket."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import smoothdp as sd
from smoothdp.cli.main import main

Run = Callable[..., str]
COUNTS = "300,900,4000"


def exit_code(*arguments: str) -> int:
    try:
        main(["measure", *arguments])
    except SystemExit as stopped:
        return int(stopped.code or 0)
    return 0


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def shown(*arguments: str) -> str:
        assert exit_code(*arguments) == 0
        return capsys.readouterr().out

    return shown


def test_each_epsilon_is_that_of_its_own_measurement(run: Run) -> None:
    asked = ("--counts", COUNTS, "--sampling-rate", "0.9", "--json", "--epsilon")
    several = json.loads(run(*asked, "0.1, 0.5,ln(2)"))["measurements"]
    for one, epsilon in zip(several, ("0.1", "0.5", "ln(2)"), strict=True):
        # What is said once of all of them.
        common = {"file": "", "missing": "", "version": ""}
        assert json.loads(run(*asked, epsilon)) | common == one | common
    profile = sd.SamplingHistogram(5200, sampling_rate="0.9").at([300, 900, 4000])
    chords = sd.claims.ChordProfile.of(profile, ["0.1", "0.5"])
    assert profile.delta("0.3") < chords.delta("0.3") <= several[0]["delta"]


def test_the_table_has_every_epsilon(run: Run) -> None:
    text = run("--counts", COUNTS, "--sampling-rate", "0.9", "--epsilon", "0.1,0.5")
    assert text.count("delta(x) at") == 2
    assert "e^epsilon" in text


@pytest.mark.parametrize("epsilon", ["0.1,,1", ",", "0.1,x"])
def test_other_lists_are_refused(epsilon: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("--counts", COUNTS, "--sampling-rate", "0.9", "--epsilon", epsilon) == 2
    assert "Expected" in capsys.readouterr().err


def test_a_tolerance_brings_the_ends_closer(tmp_path: Path, run: Run) -> None:
    model = tmp_path / "units.csv"
    model.write_text("unit,a,b,c\nfirst,20,30,50\n")
    asked = ("--model", str(model), "--n", "20000", "--sampling-rate", "0.9", "--epsilon", "0.5")
    gaps = []
    for tolerance in ((), ("--tolerance", "0.3")):
        shown = json.loads(run(*asked, *tolerance, "--json"))
        gaps.append(shown["smoothed_delta"] / shown["smoothed_delta_lower"])
    assert gaps[1] <= 1.36
    assert gaps[1] < gaps[0]
    assert exit_code(*asked, "--tolerance", "-1") == 2
