"""``smoothdp account calibrate``: what it prints is what `sd.calibrate` finds, on both sides."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.cli.main import main

GOAL = ["--epsilon", "1", "--delta", "1e-6", "--json"]


def found(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    main(["account", "calibrate", *arguments, *GOAL])
    read: dict[str, Any] = json.loads(capsys.readouterr().out)
    return read


def test_noise_of_releases(capsys: pytest.CaptureFixture[str]) -> None:
    printed = found(["--law", "gaussian", "--releases", "9"], capsys)
    assert sd.compose([(sd.GaussianMechanism(printed["value"]), 9)]).delta(1) <= 1e-6
    missed = sd.compose([(sd.GaussianMechanism(printed["refuted"]), 9)])
    assert missed.delta_bounds(1)[0] > 1e-6


def test_noise_and_steps_of_training(capsys: pytest.CaptureFixture[str]) -> None:
    run = ["--n", "1000", "--batch", "10", "--sampling", "poisson"]
    noise = found([*run, "--steps", "50"], capsys)["value"]
    steps = found([*run, "--noise", repr(noise)], capsys)
    assert (steps["value"], steps["refuted"]) == (50, 51)
    assert steps["epochs"] == 0.5
    assert steps["neighbours"] == "add_remove"


def test_what_a_sampling_needs_can_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    run = ["--n", "1000", "--batch", "10", "--steps", "48", "--sampling", "banded"]
    noise = found([*run, "--bands", "4"], capsys)["value"]
    banded = {"n_records": 1000, "batch": 10, "steps": 48, "sampling": "banded", "bands": 4}
    made = sd.calibrate(
        lambda noise: sd.training(noise=noise, **banded),  # type: ignore[arg-type]
        (1, "1e-6"),
    )
    assert noise == made.value


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--noise", "0.5"], "Raise the noise"),
        (["--noise", "1", "--steps", "5"], "smoothdp account training"),
        ([], "got --n, --batch, --sampling."),
    ],
)
def test_the_way_on_is_said(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ["account", "calibrate", "--n", "1000", "--batch", "500", "--sampling", "poisson"]
    with pytest.raises(SystemExit):
        main([*run, *arguments, *GOAL])
    assert words in capsys.readouterr().err


def test_a_target_is_about_the_neighbours_of_the_items() -> None:
    run = {"n_records": 1000, "batch": 10, "steps": 4, "sampling": "poisson"}
    with pytest.raises(sd.errors.IncompatibleClaims, match='neighbours="add_remove"'):
        sd.calibrate(
            lambda noise: sd.training(noise=noise, **run),  # type: ignore[arg-type]
            sd.ApproxDP(1, delta="1e-6"),
        )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["training"], "smoothdp account training"),
        (["epsilon"], "smoothdp account training"),
        (["Epsilon", "--delta", "1e-5"], "smoothdp account FILE"),
        (["dp_sgd"], "smoothdp account calibrate"),
        (["account", "trainin", "--help"], "calibrate, create, export, show, training"),
    ],
)
def test_a_command_in_another_place_is_found(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_the_sentence_tells_both_deltas_apart() -> None:
    for make, target in (
        (lambda s: [(sd.GaussianMechanism(s), 100)], (1, "1e-5")),
        (lambda rho: [(sd.ZCDP(rho), 3)], (1, "1e-6")),
        (lambda k: [(sd.PureDP(k), 3)], (3, 0)),
    ):
        found = sd.calibrate(make, target)
        assert found.refuted_bounds is not None
        words = found.sentence()
        read = [re.search(rf"at {which} ([0-9.e+-]*[0-9])", words) for which in ("most", "least")]
        most, least = (Fraction(each[1]) for each in read if each)
        # Rounded outward: what is printed is no better than what is proved.
        goal = Fraction(target[1])
        assert min(Fraction(found.bounds[1]), goal) <= most <= goal
        assert goal <= least <= max(Fraction(found.refuted_bounds[0]), goal)
        assert most < least


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--law", "gaussian", "--n", "5"],
        ["--n", "1000", "--batch", "10", "--sampling", "poisson"],
        ["--n", "1000", "--batch", "10", "--sampling", "poisson", "--noise", "1", "--steps", "5"],
        ["--law", "gaussian", "--releases", "0"],
    ],
)
def test_what_is_asked_for_is_said(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["account", "calibrate", *arguments, *GOAL])
    assert ended.value.code == 2
    shown = capsys.readouterr()
    assert "Expected" in shown.err
    assert not shown.out
