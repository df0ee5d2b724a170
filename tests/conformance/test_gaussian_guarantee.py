"""Gaussian DP as a guarantee: every way to a release takes it, states it, and charges it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.cli.main import main
from smoothdp.mechanisms.release.chosen import prepared
from smoothdp.mechanisms.release.request import ReleaseRequest

COLUMN = [i % 97 for i in range(1001)]
WINDOWED = (
    sd.queries.Median((0, 100)),
    sd.queries.Quantile("0.9", bounds=(0, 100)),
    sd.queries.TrimmedMean("0.1", bounds=(0, 100)),
    sd.queries.Mean((0, 100)),
)
SUMS = (sd.queries.Sum((0, 100)), sd.queries.ClampedMean((0, 100)), sd.queries.Variance((0, 100)))
PRIVATE = (sd.queries.Count(), sd.queries.SkewedMean((0, 10_000)))


@pytest.mark.filterwarnings("ignore::smoothdp.errors.PrivacyWarning")
@pytest.mark.parametrize("neighbours", ["replace_one", "add_remove"])
@pytest.mark.parametrize("mu", ["1/1000", "0.3", "1", "2.5", "60"])
def test_every_statistic_is_released(mu: str, neighbours: str) -> None:
    """At any mu: shapes chosen for the implied epsilon are never above it."""
    promise = sd.GaussianDP(mu, neighbours=neighbours)
    for query in (*WINDOWED, *SUMS, *(PRIVATE if neighbours == "add_remove" else ())):
        released = sd.release(COLUMN, query, guarantee=promise, rng=sd.SeededRandom(1))
        assert released.guarantee == promise
    for query in WINDOWED[:3]:
        for part in ("value", "bars"):
            level = "0.95" if part == "bars" else None
            released = sd.release(
                COLUMN, query, guarantee=promise, confidence=level, rng=sd.SeededRandom(2)
            )
            assert released.guarantee == promise


def test_value_and_bars_together_keep_mu() -> None:
    from smoothdp.mechanisms.release.bars.coverage import read_coverage

    promise = sd.GaussianDP(1)
    request = ReleaseRequest.read(
        WINDOWED[0],
        guarantee=promise,
        coverage=read_coverage(WINDOWED[0], "0.95", covers="window", sd_bound=None),
    )
    mechanism, _ = prepared(request, COLUMN)
    value = mechanism.calibration.guarantee.exact_mu  # type: ignore[attr-defined]
    bars = mechanism.bars  # type: ignore[attr-defined]
    # Normal noise on ln S, which moves by t, and what is left: squares of mu add up.
    spent = (mechanism.calibration.smoothing / bars.spread) ** 2  # type: ignore[attr-defined]
    assert 0 < spent <= bars.cost
    assert value**2 + spent <= 1
    assert value**2 + bars.cost > 1 - 1e-15
    assert "mu squared" in mechanism.describe()


def test_a_ledger_of_mu_is_charged(tmp_path: Path) -> None:
    budget = sd.GaussianDP(2, neighbours="add_remove")
    promise = sd.GaussianDP(1, neighbours="add_remove")
    ledger = sd.Ledger(tmp_path / "l.db", budget=budget)
    sd.release(COLUMN, WINDOWED[0], guarantee=promise, ledger=ledger)
    sd.release_table(
        {"g": ["a", "b"] * 50, "v": list(range(100))},
        by="g",
        keys=["a", "b"],
        statistics={"m": ("v", WINDOWED[0]), "s": ("v", SUMS[0])},
        guarantee=promise,
        ledger=ledger,
    )
    sd.release(COLUMN, PRIVATE[0], guarantee=promise, ledger=ledger)
    assert ledger.spent().implies(sd.GaussianDP("1.7320508076", neighbours="add_remove"))
    # A pure release has a mu too.
    sd.release(COLUMN, SUMS[0], guarantee=sd.PureDP("0.5", neighbours="add_remove"), ledger=ledger)
    with pytest.raises(sd.errors.BudgetExceeded):
        sd.release(COLUMN, PRIVATE[0], guarantee=promise, ledger=ledger)
    assert len(ledger.entries()) == 4


def test_tables_of_persons_and_private_keys() -> None:
    person = sd.Person("id", rows=3, groups=2, rows_per_group=2)
    promise = sd.GaussianDP(1, neighbours="add_remove")
    share = person.row_share(promise)
    assert isinstance(share, sd.GaussianDP)
    assert 5 * share.exact_mu**2 <= 1
    data = {"id": list(range(50)) * 2, "g": ["a", "b"] * 50, "v": list(range(100))}
    asked: dict[str, Any] = {"by": "g", "statistics": {"s": ("v", SUMS[0])}, "guarantee": promise}
    table = sd.release_table(data, keys=["a", "b"], person=person, **asked)
    assert table.guarantee == promise
    with pytest.raises(sd.errors.IncompatibleClaims, match="Gaussian DP no key"):
        sd.release_table(data, keys="private", **asked)


def test_a_plan_runs() -> None:
    promise = sd.GaussianDP(1)
    plan = sd.plan(WINDOWED[0], guarantee=promise, n_records=1001, confidence="0.9")
    assert sd.planning.plan_from_json(plan.to_json()).guarantee == promise
    assert plan.release(COLUMN, label="by plan").guarantee == promise


@pytest.mark.parametrize(
    "query", [*WINDOWED[:1], *SUMS[:1]], ids=lambda query: type(query).__name__
)
def test_smoothed_claims_are_refused_with_one_that_serves(query: sd.queries.Query) -> None:
    model = sd.DataModel([("0.3", "0.7"), ("0.6", "0.4")])
    claim = sd.SmoothedDP(1, delta="1e-3", model=model)
    with pytest.raises(sd.errors.IncompatibleClaims, match=r"Give guarantee=PureDP\(epsilon\)"):
        sd.release(COLUMN, query, guarantee=claim)


def test_skewed_mean_under_truncated_cdp() -> None:
    promise = sd.TruncatedCDP("0.5", omega=20, neighbours="add_remove")
    released = sd.release(COLUMN, PRIVATE[1], guarantee=promise, rng=sd.SeededRandom(1))
    assert released.guarantee == promise


@pytest.mark.parametrize(
    "claim",
    [sd.PureDP(1), sd.GaussianDP(1), sd.ZCDP(1), "x", None],
    ids=lambda claim: type(claim).__name__,
)
def test_collections_take_epsilon_and_delta(claim: object) -> None:
    wrong: Any = claim
    with pytest.raises(sd.errors.InvalidParameter, match="ApproxDP"):
        sd.report.collect_share([0, 1], guarantee=wrong)
    with pytest.raises(sd.errors.InvalidParameter, match="ApproxDP"):
        sd.report.collect_mean([0, 1], bounds=(0, 1), guarantee=wrong)
    with pytest.raises(sd.errors.InvalidParameter, match="ApproxDP"):
        sd.report.collect_histogram(["a"], domain=["a"], guarantee=wrong)


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "smoothdp", *words], capture_output=True, text=True, check=False
    )


def test_the_module_runs_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text("v\n" + "\n".join(map(str, COLUMN)), encoding="utf-8")
    words = ("release", str(path), "--column", "v", "--statistic", "median", "--bounds", "0", "100")
    done = run(*words, "--mu", "1", "--label", "ages", "--json")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert printed["claim"] == {"type": "GaussianDP", "mu": "1", "neighbours": "replace_one"}
    assert printed["label"] == {"name": "ages"}


@pytest.mark.parametrize("more", [["--epsilon", "1"], ["--guarantee", "zcdp"], ["--omega", "3"]])
def test_mu_goes_alone(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["noise", "--mu", "1", "--smoothing", "0.05", *more])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("Error: Expected --mu alone")
    assert len(said.splitlines()) == 1
