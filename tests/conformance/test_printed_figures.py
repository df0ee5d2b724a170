"""Figures as they are printed: never on the unsafe side, JSON without infinities."""

from __future__ import annotations

import dataclasses
import json
import math
import time
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest

import smoothdp as sd
from smoothdp.cli import main
from smoothdp.shuffle.accounting.flip_error import exact_deviation, tilted_deviation
from smoothdp.text import log10_up, rate_text, upper_text

Captured = pytest.CaptureFixture[str]


def run(captured: Captured, *arguments: str) -> str:
    captured.readouterr()
    main(list(arguments))
    return captured.readouterr().out


@pytest.mark.parametrize(("n_draws", "n"), [(336616, 336776), (77617, 77777), (1, 3), (6, 7)])
def test_the_rate_of_a_design_draws_what_the_design_says(n_draws: int, n: int) -> None:
    rate = rate_text(n_draws, n)
    assert math.ceil(Fraction(rate) * n) == n_draws
    assert sd.SamplingHistogram(n, sampling_rate=rate).draws.n_draws == n_draws


def test_a_delta_of_zero_is_json(capsys: Captured) -> None:
    options = ("--counts", "3,3", "--n-draws", "2", "--epsilon", "3")
    text = run(capsys, "measure", *options, "--json")
    found = json.loads(text, parse_constant=pytest.fail)
    assert found["delta"] == 0
    assert found["log_delta"] is None
    assert "inf" not in run(capsys, "measure", *options)


def test_a_deep_upper_bound_is_not_zero() -> None:
    with mpmath.workdps(40):
        truth = mpmath.exp(-28591123887)
        shown = mpmath.mpf(upper_text(-28591123887.0))
        assert truth <= shown <= truth * (1 + mpmath.mpf("1e-3"))


@pytest.mark.parametrize("epsilon", ["38", "40", "700", "1e9"])
def test_little_noise_has_error_bars(epsilon: str, tmp_path: Path) -> None:
    goal = sd.ApproxDP(epsilon, delta="1e-6")
    ledger = sd.Ledger(tmp_path / "l.db", budget=sd.ApproxDP("1e9", delta="1e-3"))
    found = sd.report.collect_share(np.array([0.0, 1.0] * 2000), guarantee=goal, ledger=ledger)
    assert 0 < found.error < 0.01
    assert len(ledger.entries()) == 1
    ratios = []
    for seed in range(25):
        mean = sd.report.collect_mean(
            np.full(1000, 0.25), bounds=(0, 1), guarantee=goal, rng=sd.SeededRandom(seed)
        )
        assert 0 < mean.error < 0.2
        ratios.append(abs(mean.estimates["mean"] - 0.25) / mean.error)
    # Bars of 95%: more than six misses of 25 have probability 2e-4. Bars of a tenth are told.
    assert sum(ratio > 1 for ratio in ratios) <= 6
    if float(epsilon) <= 40:
        assert sum(ratio > 0.1 for ratio in ratios) > 6


@pytest.mark.parametrize("flip", [Fraction(1, 10**18), Fraction(1, 2**60), Fraction(1, 100)])
@pytest.mark.parametrize("failure", [Fraction(1, 20), Fraction(1, 10**6)])
def test_the_tilted_bound_is_above_the_exact_one(flip: Fraction, failure: Fraction) -> None:
    bound = tilted_deviation(failure, flip, 50, 1, rounds=False)
    assert bound >= exact_deviation(failure, flip, 50)


def test_designs_refuse_another_mechanism(tmp_path: Path) -> None:
    model = tmp_path / "m.csv"
    model.write_text("label,yes,no\na,30,70\nb,40,60\n")
    base = ["measure", "--model", str(model), "--n", "100", "--epsilon", "1"]
    for more in (
        ["--target-delta", "0.1", "--sampling-rate", "0.5"],
        ["--target-delta", "0.1", "--n-draws", "5"],
        ["--target-delta", "0.1", "--keep-probability", "0.5"],
        ["--target-delta", "0.1", "--databases", "10"],
        ["--sampling-rate", "0.5", "--databases", "10", "--sharpen"],
    ):
        with pytest.raises(SystemExit) as caught:
            main(base + more)
        assert caught.value.code == 2


def test_a_confidence_is_not_rounded_to_certainty(tmp_path: Path, capsys: Captured) -> None:
    data = tmp_path / "d.csv"
    data.write_text("x\n" + "\n".join(str(i % 97) for i in range(5000)) + "\n")
    text = run(
        capsys,
        *("release", str(data), "--column", "x", "--statistic", "median", "--bounds", "0", "100"),
        *("--epsilon", "1", "--confidence", "0.999999"),
    )
    assert "with probability at least 0.999999, " in text


@pytest.mark.parametrize("log_value", [-1.0, -17.9253, -1e-9, -0.001, -2302.585, -1e7 - 0.3])
def test_a_logarithm_is_rounded_up(log_value: float) -> None:
    with mpmath.workdps(60):
        shown, truth = mpmath.mpf(log10_up(log_value)), mpmath.mpf(log_value) / mpmath.log(10)
        assert truth <= shown < truth + mpmath.mpf("0.001")


def test_a_printed_interval_contains_the_interval(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "m.csv"
    model.write_text("label,yes,no\na,30,70\nb,40,60\n")
    found = sd.smoothed.smoothed_delta_interval(
        sd.SamplingHistogram(100, sampling_rate="0.9"),
        sd.DataModel.from_counts([(30, 70), (40, 60)]),
        epsilon=1,
        n_databases=50,
    )
    ends = dataclasses.replace(found, log_lower=math.log(0.123456), log_upper=math.log(0.654321))
    monkeypatch.setattr(sd.smoothed, "smoothed_delta_interval", lambda *_, **__: ends)
    options = ("--model", str(model), "--n", "100", "--epsilon", "1", "--sampling-rate", "0.9")
    text = run(capsys, "measure", *options, "--databases", "50")
    assert "between 0.1234 and 0.6544 with" in text


def test_a_half_width_is_rounded_up() -> None:
    goal = sd.ApproxDP(1, delta="1e-6")
    found = sd.report.collect_share(np.arange(501) % 2, guarantee=goal)
    shown, error = found.text().partition("+- ")[2].split()[0], Fraction(found.error)
    # The nearest number of so many digits is below it.
    assert Fraction(f"{found.error:.4g}") < error <= Fraction(shown) <= error * Fraction(1001, 1000)


@pytest.mark.parametrize("protocol", ["boolean_sum", "real_sum"])
@pytest.mark.parametrize("n", [500, 5000])
def test_a_batch_that_keeps_its_promise_shows_no_larger_epsilon(protocol: str, n: int) -> None:
    from smoothdp.services.analyzer.release_rule import rule
    from smoothdp.services.analyzer.result_document import describe_batch
    from tests.services.worlds.small_tasks import small_task

    more = {"bounds": ("0", "200000"), "size": 8} if protocol == "real_sum" else {}
    task = small_task(protocol, epsilon="1", delta="1e-6", min_batch=n, **more)
    tally = {0: n, 1: n}
    ruling = rule(task, users=n, served=n, tally=tally)
    assert ruling.state == ""
    found = describe_batch(task, window=1, users=n, served=n, tally=tally, ruling=ruling)
    assert 0 < found["epsilon_of_this_batch"] <= 1
    assert found["epsilon_by_honest_share"]["0.9"] <= 1
    honest = task.collect(n).profile(n_honest=task.honest(n))
    assert honest.delta(Fraction(found["epsilon_of_this_batch"])) <= 1e-6 * (1 + 1e-9)


def test_the_result_of_a_batch_that_is_almost_all_noise_is_quick() -> None:
    """The search for the worst data took one data set after the other here: minutes."""
    from smoothdp.services.analyzer.release_rule import rule
    from smoothdp.services.analyzer.result_document import describe_batch
    from tests.services.worlds.small_tasks import small_task

    task = small_task(epsilon="0.0001", delta="1e-6", min_batch=600)
    tally = {0: 300, 1: 300}
    ruling = rule(task, users=600, served=600, tally=tally)
    began = time.process_time()
    found = describe_batch(task, window=0, users=600, served=600, tally=tally, ruling=ruling)
    assert time.process_time() - began < 20
    curve = list(found["epsilon_by_honest_share"].values())
    assert curve == sorted(curve)
    assert curve[1] <= 1e-4 < curve[2]
