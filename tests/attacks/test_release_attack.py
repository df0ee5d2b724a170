"""Attacks from the claims alone that broke something; each says what holds since."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.cli import main

ONE = sd.PureDP(1)


def custom(value: Callable[[Any], Any]) -> sd.queries.Custom:
    """Return a statistic with sensitivity 1 at all data."""
    return sd.queries.Custom(
        value=value,
        log_smooth_sensitivity=lambda _, smoothing: 0.0 * smoothing,
        bounds=(0, 10),
        proof="nobody",
        name="attack",
    )


def test_warnings_of_the_callers_functions_do_not_leave() -> None:
    """A warning of numpy inside ``value`` told whether a record is 0, without noise."""

    def logarithms(x: list[float]) -> float:
        if min(x) <= 0:
            warnings.warn("divide by zero encountered in log", RuntimeWarning, stacklevel=2)
        return 1.0

    seen = []
    for data in ([1.0, 2.0, 3.0], [0.0, 2.0, 3.0]):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            sd.release(data, custom(logarithms), guarantee=ONE, smoothing="0.1")
        seen.append([str(each.message) for each in caught])
    assert seen[0] == seen[1]


def test_text_of_sys_exit_in_a_custom_function_does_not_leave() -> None:
    """What the functions raise is dropped with its text, also if it is a SystemExit."""

    def leave(x: list[float]) -> float:
        sys.exit(f"record {x[0]}")

    with pytest.raises(BaseException) as caught:
        sd.release([73.515625], custom(leave), guarantee=ONE, smoothing="0.1")
    assert "73.515625" not in str(caught.value)


def test_a_ledger_is_charged_before_the_data_are_touched(tmp_path: Path) -> None:
    """A refusal that came before the charge was a free and noiseless answer."""
    ledger = sd.Ledger(tmp_path / "budget.db", budget=sd.PureDP(1))
    charged: list[int] = []

    def value(x: list[float]) -> float:
        charged.append(len(ledger.entries()))
        return x[0]

    sd.release([1.0], custom(value), guarantee=ONE, smoothing="0.1", ledger=ledger)
    assert charged == [1]


def test_refusals_do_not_bisect_a_record(tmp_path: Path) -> None:
    """Whether ``value`` raises is seen without noise, but never without a charge."""
    ledger = sd.Ledger(tmp_path / "budget.db", budget=sd.PureDP(1))
    low, high = 0, 128
    while high - low > 1:
        middle = (low + high) // 2

        def value(x: list[int], middle: int = middle) -> float:
            if x[0] >= middle:
                raise ValueError
            return 0.0

        try:
            sd.release(
                [73], custom(value), guarantee=sd.PureDP("1e-4"), smoothing="1e-5", ledger=ledger
            )
            high = middle
        except sd.errors.InvalidData:
            low = middle
    assert (low, len(ledger.entries())) != (73, 4)


def test_an_exhausted_ledger_refuses_before_the_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """docs/reference/cli.md: "a ledger, asked before the file is read". The file came first."""
    ledger = sd.Ledger(tmp_path / "budget.db", budget=ONE)
    sd.release([1.0, 2.0], sd.queries.Mean((0, 9)), guarantee=ONE, ledger=ledger)
    said = []
    for name, text in (("good.csv", "v\n1\n2\n3\n"), ("bad.csv", "v\n1\nsecret\n3\n")):
        (tmp_path / name).write_text(text)
        options = ["--column", "v", "--statistic", "mean", "--bounds", "0", "9", "--epsilon", "1"]
        monkeypatch.setattr(
            sys,
            "argv",
            [
                "smoothdp",
                "release",
                str(tmp_path / name),
                *options,
                "--ledger",
                str(tmp_path / "budget.db"),
            ],
        )
        with pytest.raises(SystemExit):
            main()
        said.append(capsys.readouterr().err)
    assert said[0] == said[1]


@pytest.mark.filterwarnings("ignore")
def test_the_share_for_the_bars_is_a_share() -> None:
    """PureDP(20) said "a 0.9 interval for 14/5 of the budget": an amount, called a share."""
    found = sd.release(
        [0.0] * 400, sd.queries.Median((0, 1)), guarantee=sd.PureDP(20), confidence="0.9"
    )
    share = re.search(r"interval for (\d+)/(\d+) of the budget", found.mechanism)
    assert share is None or int(share[1]) < int(share[2])


def test_a_bad_rng_costs_nothing(tmp_path: Path) -> None:
    """An argument that was refused (by an AttributeError) had been charged."""
    ledger = sd.Ledger(tmp_path / "budget.db", budget=ONE)
    bad: Any = 5
    with pytest.raises((sd.errors.SmoothdpError, AttributeError)):
        sd.release([1.0, 2.0], sd.queries.Mean((0, 9)), guarantee=ONE, ledger=ledger, rng=bad)
    assert not ledger.entries()


def test_sd_bound_is_used_or_refused() -> None:
    """For an untrimmed mean a bound of 3 on the deviation changed nothing, and was not refused."""
    widths = []
    for options in ({}, {"sd_bound": 3}):
        try:
            found = sd.release(
                [50.0] * 400,
                sd.queries.Mean((0, 100)),
                guarantee=sd.ZCDP("0.5"),
                confidence="0.95",
                covers="mean",
                rng=sd.SeededRandom(1),
                **options,  # type: ignore[arg-type]
            )
        except sd.errors.InvalidParameter:
            return
        assert isinstance(found, sd.mechanisms.IntervalRelease)
        widths.append(found.interval[1] - found.interval[0])
    assert widths[1] < widths[0]


def plan_text() -> dict[str, Any]:
    """Return a plan for 400 records as a dict."""
    made = sd.plan(sd.queries.Median((0, 100)), guarantee=ONE, n_records=400)
    found: dict[str, Any] = json.loads(made.to_json())
    return found


def test_an_edited_plan_says_what_it_releases() -> None:
    """With window null the text promised 2 middle values; the release took 8 or so."""
    edited = plan_text()
    edited["query"]["window"] = None
    try:
        made = sd.planning.plan_from_json(json.dumps(edited))
    except sd.errors.InvalidData:
        return
    said = re.search(r"mean of the (\d+) middle", made.text())
    done = re.search(r"(\d+) if n is even", made.mechanism().describe())
    assert said is not None
    assert done is not None
    assert said[1] == done[1]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"n_records": 400', '"n_records": 400, "n_records": 300'),
        lambda text: text.replace('"epsilon": "1"', '"epsilon": "1", "epsilon": "30"'),
        lambda text: re.sub(r'"noise_deviation": [0-9.]+', '"noise_deviation": 0.0', text),
    ],
)
def test_an_edited_plan_is_refused(change: Callable[[str], str]) -> None:
    """A key given twice, and a forged noise ("standard deviation 0 times"), were taken in."""
    text = json.dumps(plan_text())
    edited = change(text)
    assert edited != text
    with pytest.raises(sd.errors.InvalidData):
        sd.planning.plan_from_json(edited)
