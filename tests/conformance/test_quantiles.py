"""Several quantiles at once: levels, values, intervals, words, and every way out of the library."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.cli import main
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.balls.work import spend
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.mechanisms import HalfShift, QuantilesRelease, SmoothNoise
from smoothdp.mechanisms.quantiles.chosen import uses_half_shift
from smoothdp.mechanisms.quantiles.independent import IndependentQuantiles
from smoothdp.mechanisms.quantiles.joint_release import JointQuantiles
from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.chosen import mechanism_of
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.noise.calibration.limits import MOST_WORK, default_work

LEVELS = [0.1, 0.25, 0.5, 0.75, 0.9]
QUERY = sd.queries.Quantiles(LEVELS, bounds=(0, 1000))
DATA = np.random.default_rng(5).lognormal(3, 1, 4001)
PROMISES = (
    sd.ZCDP("1/2"),
    sd.TruncatedCDP("1/2", omega=20),
    sd.GaussianDP(1),
    sd.PureDP(5),
    sd.ApproxDP(2, delta="1e-6"),
    sd.PureDP(5, neighbours="add_remove"),
    sd.ZCDP(1, neighbours="add_remove"),
)


def test_levels_are_exact_and_sorted() -> None:
    query = sd.queries.Quantiles([0.29, "1/3", 0.07], bounds=(0, 1))
    assert query.levels == (Fraction(7, 100), Fraction(29, 100), Fraction(1, 3))
    assert query.describe() == "quantiles 0.07, 0.29 and 1/3, values clamped to [0, 1]"
    # In floats .07 * 100 has the ceiling 8, and .29 * 100 the floor 28.
    assert [single.rank(101) for single in query.singles[:2]] == [8, 30]


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ([], "got 0"),
        ([0.5, "1/2"], "0.5 twice"),
        ([0], "above 0 and below 1; got 0"),
        ([1.5], "got 1.5"),
        ("0.5", "list of numbers"),
        (0.5, "list of numbers"),
        ([None], "level"),
        ([float("nan")], "level"),
    ],
)
def test_levels_that_are_refused(levels: Any, words: str) -> None:
    with pytest.raises(InvalidParameter, match=r"^Expected .*; got ") as caught:
        sd.queries.Quantiles(levels, bounds=(0, 1))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("promise", PROMISES, ids=repr)
def test_a_release_is_sorted_near_and_repeatable(promise: sd.claims.Guarantee) -> None:
    made = [sd.release(DATA, QUERY, guarantee=promise, rng=sd.SeededRandom(3)) for _ in range(2)]
    assert made[0] == made[1]
    released: Any = made[0]
    assert isinstance(released, QuantilesRelease)
    assert released.guarantee == promise
    assert released.value == tuple(sorted(released.value))
    assert released.interval is None
    assert released.names == ("0.1", "0.25", "0.5", "0.75", "0.9")
    for value, true in zip(released.value, QUERY.value(DATA), strict=True):
        assert value == pytest.approx(true, rel=0.2)
    # Whole numbers, and within the bounds.
    whole: Any = sd.release(DATA, QUERY, guarantee=promise, round_to=1)
    assert all(isinstance(value, int) and 0 <= value <= 1000 for value in whole.value)


def test_each_guarantee_has_its_mechanism() -> None:
    found = {}
    for promise in PROMISES:
        request = ReleaseRequest.read(QUERY, guarantee=promise)
        n = 4001 if promise.neighbours.value == "replace_one" else None
        found[repr(promise)] = type(mechanism_of(request, n_records=n))
    kinds = list(found.values())
    assert kinds[:3] == [HalfShift] * 3
    assert kinds[3] is JointQuantiles
    assert kinds[5] is kinds[6] is IndependentQuantiles
    # With intervals, and a single level: windows.
    bars = Coverage.read("0.95", covers="quantile")
    for request in (
        ReleaseRequest.read(QUERY, guarantee=sd.PureDP(5), coverage=bars),
        ReleaseRequest.read(sd.queries.Quantiles([0.3], bounds=(0, 9)), guarantee=sd.PureDP(5)),
    ):
        assert type(mechanism_of(request, n_records=4001)) is IndependentQuantiles
    made = JointQuantiles.of_request(
        ReleaseRequest.read(QUERY, guarantee=sd.PureDP(1)), n_records=4001
    )
    assert made is not None
    with pytest.raises(sd.errors.InvalidParameter, match="follows from"):
        replace(made, promise=sd.PureDP("0.9"))
    # Approximate DP: by the predicted noise.
    assert uses_half_shift(sd.ApproxDP(1, delta="1e-2"), 9)
    assert not uses_half_shift(sd.ApproxDP(1, delta="1e-12"), 1)
    assert not uses_half_shift(sd.ApproxDP(1, delta=0), 9)
    # One quantile: by a half shift unless the caller chose something, or wants an interval.
    for query in (sd.queries.Median((0, 9)), sd.queries.Quantile("0.9", bounds=(0, 9))):
        for more, kind in (
            ({}, HalfShift),
            ({"smoothing": "0.1"}, SmoothNoise),
            ({"noise": sd.noise.ArsinhNormal}, SmoothNoise),
        ):
            request = ReleaseRequest.read(query, guarantee=sd.ZCDP(1), **more)
            assert type(mechanism_of(request, n_records=1001)) is kind
    windowed = ReleaseRequest.read(sd.queries.Median((0, 9), window=3), guarantee=sd.ZCDP(1))
    assert type(mechanism_of(windowed, n_records=1001)) is SmoothNoise


@pytest.mark.parametrize(
    ("promise", "covers"),
    [(PROMISES[0], "population"), *((promise, "quantile") for promise in PROMISES[1:3])],
    ids=str,
)
def test_intervals(promise: sd.claims.Guarantee, covers: str) -> None:
    query = QUERY if covers == "quantile" else sd.queries.Quantiles([0.4, 0.6], bounds=(0, 1000))
    released: Any = sd.release(
        DATA, query, guarantee=promise, confidence=0.95, covers=covers, rng=sd.SeededRandom(4)
    )
    assert released.confidence == Fraction(19, 20)
    truth = query.value(DATA)
    for (low, high), true in zip(released.interval, truth, strict=True):
        assert 0 <= low <= true <= high <= 1000
        assert high - low < true
    assert released.covers.endswith("each for itself")
    together: Any = sd.release(
        DATA, query, guarantee=promise, confidence=0.95, covers=covers, simultaneous=True,
        rng=sd.SeededRandom(4),
    )  # fmt: skip
    assert together.covers.endswith("all of them together")
    wider = zip(together.interval, released.interval, strict=True)
    assert all(b - a > d - c for (a, b), (c, d) in wider)


@pytest.mark.slow
def test_half_shift_intervals_cover_in_simulation() -> None:
    """250 releases of data with two values, which break intervals about a window's mean."""
    data = [0.0] * 60 + [1.0] * 41
    query = sd.queries.Quantiles([0.3, 0.59, 0.9], bounds=(-3, 4))
    truth = query.value(data)
    assert truth == (0, 0, 1)
    request = ReleaseRequest.read(query, guarantee=sd.ZCDP(2), coverage=coverage("0.9"))
    mechanism = HalfShift.of_request(request, n_records=101)
    rng = sd.SeededRandom(9)
    hits = np.zeros(3)
    for _ in range(250):
        intervals: Any = mechanism.release(data, rng=rng).interval  # type: ignore[attr-defined]
        hits += [low <= true <= high for (low, high), true in zip(intervals, truth, strict=True)]
    # Below 0.82 of 250 draws at a coverage of 0.9: about 1 in 20,000.
    assert hits.min() / 250 > 0.82
    assert hits.min() < 250


def coverage(confidence: str) -> Any:
    from smoothdp.mechanisms.release.bars.coverage import Coverage

    return Coverage.read(confidence, covers="quantile")


def test_what_is_refused() -> None:
    asked: list[tuple[dict[str, Any], str]] = [
        ({"noise": sd.noise.PolyPlace}, "no noise="),
        ({"smoothing": 1}, "no smoothing="),
        ({"simultaneous": True}, "simultaneous=True with"),
        ({"simultaneous": 1}, "simultaneous as True or False"),
        ({"confidence": 0.9, "covers": "mean"}, "not published"),
    ]
    for more, words in asked:
        with pytest.raises(InvalidParameter) as caught:
            sd.release(DATA, QUERY, guarantee=sd.ZCDP(1), **more)
        assert words in str(caught.value)
    with pytest.raises(InvalidParameter, match="simultaneous=True with Quantiles"):
        sd.release(
            DATA, sd.queries.Median((0, 9)), guarantee=sd.ZCDP(1), confidence=0.9, simultaneous=True
        )
    with pytest.raises(IncompatibleClaims):
        HalfShift.calibrate(QUERY, guarantee=sd.ZCDP(1, neighbours="add_remove"), n_records=10)
    for promise in (sd.ZCDP(0), sd.GaussianDP(0), sd.PureDP(1)):
        with pytest.raises(InvalidParameter):
            HalfShift.calibrate(QUERY, guarantee=promise, n_records=10)

    class Other(sd.queries.Quantiles):
        pass

    with pytest.raises(InvalidParameter, match="as they are"):
        sd.release(DATA, Other([0.5], bounds=(0, 1)), guarantee=sd.ZCDP(1))


@pytest.mark.parametrize("data", [[5], [5, 5], [5] * 30, [-1e300, 1e300], list(range(3))])
def test_small_and_tied_data(data: list[float]) -> None:
    for promise in (sd.ZCDP("0.1"), sd.GaussianDP("0.3")):
        released: Any = sd.release(data, QUERY, guarantee=promise, confidence=0.9)
        assert all(0 <= value <= 1000 for value in released.value)
        assert all(low <= high for low, high in released.interval)


def test_a_ledger_is_charged_once(tmp_path: Path) -> None:
    ledger = sd.Ledger(tmp_path / "ledger.db", budget=sd.ZCDP(2))
    sd.release(DATA, QUERY, guarantee=sd.ZCDP("1/2"), ledger=ledger)
    assert len(list(ledger.entries())) == 1
    assert ledger.spent() == sd.ZCDP("1/2")
    assert "hidden number of half ranks" in next(iter(ledger.entries())).mechanism
    with pytest.raises(sd.errors.BudgetExceeded):
        sd.release(DATA, QUERY, guarantee=sd.ZCDP(3), ledger=ledger)


@pytest.fixture
def column(tmp_path: Path) -> str:
    path = tmp_path / "pay.csv"
    regions = ("N", "S")
    rows = [f"{regions[i % 2]},{value:.2f}" for i, value in enumerate(DATA)]
    path.write_text("\n".join(["region,pay", *rows]), encoding="utf-8")
    return str(path)


def test_the_command(column: str, capsys: pytest.CaptureFixture[str]) -> None:
    base = ["release", column, "--column", "pay", "--bounds", "0", "1000"]
    zcdp = ["--guarantee", "zcdp", "--rho", "1/2"]
    main([*base, "--quantiles", "0.1,0.5,0.9", *zcdp, "--confidence", "0.9"])
    shown = capsys.readouterr().out
    assert [line.split()[0] for line in shown.splitlines()[:4]] == ["level", "0.1", "0.5", "0.9"]
    assert "each for itself" in shown
    assert "hidden number of half ranks" in shown
    main([*base, "--quantiles", "0.25,0.5,0.75", *zcdp, "--confidence", "0.9", "--json"])
    text = capsys.readouterr().out
    fields = json.loads(text)
    assert fields["levels"] == ["0.25", "0.5", "0.75"]
    assert len(fields["value"]) == len(fields["interval"]) == 3
    page = sd.report.report_release(text).html()
    assert "quantile 0.25" in page
    assert "<svg" in page
    for wrong in (
        {"levels": ["0.5"]},
        {"levels": ["0.5", "0.25", "0.75"]},
        {"value": [1, 2, "3"]},
        {"interval": [[1, 2], [1, 2], [3]]},
        {"levels": 3},
    ):
        with pytest.raises(sd.errors.InvalidData):
            sd.report.report_release(json.dumps({**fields, **wrong}))
    main([*base, "--by", "region", "--keys", "N,S", "--quantiles", "0.1,0.9", "--epsilon", "4"])
    assert "quantile_0.1" in capsys.readouterr().out
    for wrong_options in (
        ["--quantiles", "0.5", "--statistic", "median", "--epsilon", "1"],
        ["--quantiles", "0.5", "--q", "0.5", "--epsilon", "1"],
        ["--quantiles", "", "--epsilon", "1"],
        ["--statistic", "median", "--simultaneous", "--epsilon", "1"],
    ):
        with pytest.raises(SystemExit) as left:
            main([*base, *wrong_options])
        assert left.value.code == 2
        error = capsys.readouterr().err
        assert "Expected" in error
    # The words of one quantile are about its half ranks.
    main([*base, "--statistic", "median", *zcdp])
    assert "moved by a hidden number of half ranks" in capsys.readouterr().out


def test_a_table() -> None:
    rows = {"region": ["N", "S"] * 2000, "pay": DATA[:4000]}
    table = sd.release_table(
        rows, by="region", keys=["N", "S", "W"], n_guess=2000,
        statistics={"pay": ("pay", sd.queries.Quantiles([0.1, 0.5, 0.9], bounds=(0, 1000)))},
        guarantee=sd.PureDP(3, neighbours="add_remove"), rng=sd.SeededRandom(2), confidence=0.9,
    )  # fmt: skip
    columns = table.columns()
    names = ["pay_0.1", "pay_0.5", "pay_0.9"]
    for i in range(3):
        values = [columns[name][i] for name in names]
        assert values == sorted(values)
    with pytest.raises(InvalidParameter, match="twice"):
        sd.release_table(
            rows, by="region", keys=["N"], n_guess=2000,
            statistics={
                "pay": ("pay", sd.queries.Quantiles([0.5], bounds=(0, 1000))),
                "pay_0.5": ("pay", sd.queries.Median((0, 1000))),
            },
            guarantee=sd.PureDP(3, neighbours="add_remove"),
        )  # fmt: skip


@pytest.mark.parametrize("mu", ["1e-4", "1e-6", "1e-12"])
def test_half_shifts_keep_a_tiny_mu(mu: str) -> None:
    # sigma_h^2 is about 1 / mu^2: rounded up whatever its size.
    made = HalfShift.calibrate(QUERY, guarantee=sd.GaussianDP(mu), n_records=4001)
    assert made.guarantee == sd.GaussianDP(mu)
    assert made.shift_variance * Fraction(mu) ** 2 > 1
    assert len(made.release(DATA, rng=SeededRandom(1)).value) == 5


def test_noise_by_rule_is_refused_without_the_name_of_a_law() -> None:
    for part, words in ((sd.ZCDP(10), "Ask for less epsilon"), (sd.ZCDP("1e-13"), "more epsilon")):
        with pytest.raises(sd.errors.OutOfReach, match=words) as caught, default_work(part, part):
            spend(MOST_WORK + 1)
        assert "Arsinh" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [None, "0.95"])
def test_a_large_rho_is_refused_in_plain_words(confidence: str | None) -> None:
    with pytest.raises(sd.errors.OutOfReach, match="rho of at most about 3"):
        sd.release(
            DATA[:30], sd.queries.Median((0, 99)), guarantee=sd.ZCDP(20), confidence=confidence
        )
