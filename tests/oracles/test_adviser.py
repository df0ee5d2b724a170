"""A plan weighs methods, runs the winner, and predicts its error; `release` has a closed rule."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import smoothdp as sd
from smoothdp.cli import main
from smoothdp.mechanisms import ExponentialQuantile, HalfShift, SmoothNoise
from smoothdp.mechanisms.release.bars.interval_release import IntervalRelease
from smoothdp.mechanisms.release.bars.pair_noise import PairNoise
from smoothdp.mechanisms.release.chosen import mechanism_of
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.planning import Plan
from smoothdp.queries.worst_case import WorstCase
from smoothdp.report import html
from tests.checkers.known import known
from tests.checkers.labels import label

Q = sd.queries
BOUNDS = (0, 300)
LOGNORMAL = stats.lognorm(s=1, scale=20)
pytestmark = pytest.mark.filterwarnings("ignore::smoothdp.errors.PrivacyWarning")


def with_method(plan: Plan, method: str) -> Plan:
    if plan.method == method:
        return plan
    return plan.instead(next(way for way in plan.runners_up if way.method == method))


@pytest.fixture(scope="module")
def won() -> Plan:
    """Few records and a weak promise: noise is of the order of the bounds."""
    return sd.plan(
        Q.Median((0, 120)), guarantee=sd.PureDP("0.05"), n_records=101, assuming=LOGNORMAL
    )


@pytest.fixture(scope="module")
def drawn(won: Plan) -> Plan:
    return with_method(won, "exponential mechanism")


def shifted_square(plan: Plan, mechanism: HalfShift, row: Any) -> float:
    """Mean square error of a half shift given the data: sums over h and quantiles of noise."""
    (part,), query = mechanism.parts, plan.asked
    if isinstance(query, Q.Median):
        wide: Q.Median | Q.Quantile = Q.Median(query.bounds, window=part.window.width)
    else:
        assert isinstance(query, Q.Quantile)
        wide = Q.Quantile(query.q, bounds=query.bounds, window=part.window.width)
    variance = float(mechanism.shift_variance)
    reach = math.ceil(5 * math.sqrt(variance))
    total = square = 0.0
    law, t = part.calibration.law, part.window.smoothing
    noise = np.asarray(law.quantile((np.arange(400) + 0.5) / 400)) / part.calibration.shift
    for h in range(-reach, reach + 1, max(1, reach // 12)):
        weight = math.exp(-h * h / (2 * variance))
        log_size = wide.log_half_shift_sensitivity(row, half_shift=h, smoothing=t)
        y = wide.half_shift_value(row, half_shift=h) + math.exp(log_size) * noise
        low, high = float(wide.bounds[0]), float(wide.bounds[1])
        away = np.clip(y, low, high) - query.value(row)
        total, square = total + weight, square + weight * float(np.mean(away**2))
    return square / total


def simulated(plan: Plan, law: Any, count: int) -> tuple[float, float]:
    """Root mean square error on fresh samples about the asked statistic, and its relative error.

    Exactly given the data for what is drawn by ranks, else over quantiles of the noise.
    """
    rng, squares = np.random.default_rng(99), []
    mechanism, query = plan.mechanism(), plan.asked
    assert query is not None
    shares = (np.arange(2000) + 0.5) / 2000
    for _ in range(count):
        row = law.rvs(size=plan.n_records, random_state=rng)
        target = query.value(row)
        if isinstance(mechanism, ExponentialQuantile):
            squares.append(mechanism.rmse(row, target=target) ** 2)
            continue
        if isinstance(mechanism, HalfShift):
            squares.append(shifted_square(plan, mechanism, row))
            continue
        low, high = map(float, plan.query.bounds)
        if not isinstance(mechanism, SmoothNoise):
            squares.append(((low + high) / 2 - target) ** 2)
            continue
        size = mechanism.query.fixed_sensitivity(len(row))
        scale = (
            plan.query.smooth_sensitivity(row, smoothing=mechanism.smoothing)
            if size is None
            else float(size)
        )
        noise = np.asarray(mechanism.noise.quantile(shares)) * scale / mechanism.calibration.shift
        y = np.clip(plan.query.value(row) + noise, low, high)
        squares.append(float(np.mean((y - target) ** 2)))
    mean = float(np.mean(squares))
    return math.sqrt(mean), float(np.std(squares)) / math.sqrt(count) / mean / 2


def test_the_winner_is_run(won: Plan) -> None:
    """It errs least of all that was weighed, says by how much, and is what `release` runs."""
    methods = {won.method, *(way.method for way in won.runners_up)}
    assert methods == {
        *("window", "exponential mechanism", "global sensitivity", "clipped mean", "midpoint")
    }
    for way in won.runners_up:
        assert known(way.privacy_rmse) >= 0.98 * known(won.privacy_rmse)
        ratio = known(way.privacy_rmse) / known(won.privacy_rmse)
        assert known(way.gaps) == pytest.approx(known(won.gaps) * ratio, rel=1e-3)
    assert won.method == "clipped mean"
    assert won.statistic.startswith("the mean of all 101 values, in place of the median; each")
    assert "errs least: " in won.text()
    assert f"{known(won.midpoint_ratio):.3g} times the error of the middle" in won.text()
    released = won.release(np.full(101, 20.0), clamp=True, rng=sd.SeededRandom(1))
    assert released.mechanism.startswith("mean, values clamped to [0, 120]; plus Laplace()")
    assert released.guarantee == won.guarantee


def test_a_quantile_is_drawn_by_a_plan(drawn: Plan) -> None:
    assert (drawn.noise, drawn.smoothing) == (None, None)
    released = drawn.release(np.full(101, 20.0), round_to=1, rng=sd.SeededRandom(1))
    assert "exponential mechanism on ranks" in released.mechanism
    assert released.guarantee == drawn.guarantee
    assert released.value == int(released.value)
    assert "the median, drawn by ranks" in drawn.text()
    assert "errs less: " in drawn.text()


def test_plans_of_every_method_go_through_json(drawn: Plan) -> None:
    for way in (drawn, *(drawn.instead(other) for other in drawn.runners_up)):
        again = sd.planning.plan_from_json(way.to_json())
        assert again == way
        data = [float(i % 50) for i in range(101)]
        one, two = (p.release(data, rng=sd.SeededRandom(4)) for p in (way, again))
        assert one == two
        assert one.guarantee == drawn.guarantee


def test_gaps_are_distances_of_neighbouring_values(drawn: Plan) -> None:
    """About 1 / (n f) at the median."""
    gap = known(drawn.privacy_rmse) / known(drawn.gaps)
    assert gap == pytest.approx(1 / (101 * LOGNORMAL.pdf(20)), rel=0.15)


CASES = [
    (Q.Median((0, 120)), sd.PureDP("0.05"), 101, LOGNORMAL),
    (Q.Median((0, 120)), sd.PureDP(1), 101, LOGNORMAL),
    (Q.Quantile("0.9", bounds=BOUNDS), sd.PureDP("0.2"), 201, LOGNORMAL),
    (Q.TrimmedMean("0.1", bounds=BOUNDS), sd.PureDP("0.5"), 101, stats.norm(100, 30)),
    pytest.param(Q.Median(BOUNDS), sd.ZCDP("0.0123"), 201, LOGNORMAL, marks=pytest.mark.slow),
    (Q.Quantile("0.9", bounds=BOUNDS), sd.ZCDP("0.02"), 301, LOGNORMAL),
    (Q.Median((0, 120)), sd.GaussianDP("0.5"), 100, LOGNORMAL),
]


@pytest.mark.parametrize(("query", "guarantee", "n", "law"), CASES, ids=label)
def test_predicted_errors_are_those_of_fresh_samples(
    query: sd.queries.Query, guarantee: sd.Guarantee, n: int, law: Any
) -> None:
    """Within 10%, for the winner and the best of each other method, which is not better by 10%."""
    made = sd.plan(query, guarantee=guarantee, n_records=n, assuming=law)
    found = {}
    for method in {made.method, *(way.method for way in made.runners_up)}:
        way = with_method(made, method)
        found[method], spread = simulated(way, law, 60)
        assert way.privacy_rmse == pytest.approx(found[method], rel=0.1 + 3 * spread), method
    assert found[made.method] <= 1.1 * min(found.values())


# ---- what `release` takes ------------------------------------------------------------------------


@pytest.mark.parametrize("guarantee", [sd.ZCDP("0.02"), sd.GaussianDP("0.3")], ids=repr)
def test_a_plan_runs_the_half_shift_of_release(guarantee: sd.Guarantee) -> None:
    """The same mechanism, through JSON as well; a plan of it cannot be edited."""
    query, n = Q.Quantile("0.9", bounds=BOUNDS), 301
    made = sd.plan(query, guarantee=guarantee, n_records=n, assuming=LOGNORMAL)
    assert made.method == "half shift"
    request = ReleaseRequest.read(query, guarantee=guarantee)
    assert made.mechanism() == mechanism_of(request, n_records=n)
    again = sd.planning.plan_from_json(made.to_json())
    assert again == made
    data = [float(i % 50) for i in range(n)]
    one, two = (plan.release(data, rng=sd.SeededRandom(4)) for plan in (made, again))
    assert one == two == sd.release(data, query, guarantee=guarantee, rng=sd.SeededRandom(4))
    assert "ranks around the 0.9 quantile, moved by a hidden number of half ranks" in made.statistic
    assert "A half shift errs least" in made.text()
    page = html.report_plan(made).html()
    assert "one hidden number of half ranks" in page
    # Bars that it has are released, of value and interval together.
    barred = made.release(data, confidence="0.9", rng=sd.SeededRandom(4))
    assert isinstance(barred, IntervalRelease)
    assert barred.guarantee == guarantee
    with pytest.raises(sd.errors.InvalidParameter, match="window"):
        made.release(data, confidence="0.9", covers="window")
    fields = json.loads(made.to_json())
    fixed = {"noise": {"type": "Laplace"}, "smoothing": "0"}
    private = sd.PureDP(1).to_json()
    for change in (
        fixed,
        {"smoothing": "0.1"},
        {"guarantee": json.loads(private)},
        {"query": {"type": "Mean", "bounds": ["0", "300"]}},
        {"confidence": "0.9", "covers": "quantile"},
    ):
        with pytest.raises(sd.errors.InvalidData):
            sd.planning.plan_from_json(json.dumps(fields | change))


def test_a_narrow_window_that_was_asked_for_is_kept() -> None:
    made = sd.plan(
        Q.Median(BOUNDS, window=3), guarantee=sd.ZCDP("0.02"), n_records=301, assuming=LOGNORMAL
    )
    assert "half shift" not in {made.method, *(way.method for way in made.runners_up)}


@pytest.mark.parametrize("covers", ["quantile", "population"])
def test_a_plan_of_bars_is_edited_in_vain(covers: str) -> None:
    made = sd.plan(
        Q.Median(BOUNDS),
        guarantee=sd.PureDP(1),
        n_records=1001,
        assuming=LOGNORMAL,
        confidence="0.95",
        covers=covers,
    )
    assert (made.method, made.noise) == ("window, max law", None)
    fields = json.loads(made.to_json())
    for change in (
        {"guarantee": json.loads(sd.ZCDP("0.5").to_json())},
        {"smoothing": None},
        {"noise": {"type": "PolyPlace", "alpha": "5"}},
        {"confidence": None, "covers": None},
        {"covers": "window"},
    ):
        with pytest.raises(sd.errors.InvalidData):
            sd.planning.plan_from_json(json.dumps(fields | change))
    # Another smoothing or epsilon is paid for: noise and factor are made anew.
    weaker = sd.planning.plan_from_json(json.dumps(fields | {"smoothing": "0.15"}))
    mechanism = weaker.mechanism()
    assert isinstance(mechanism, PairNoise)
    assert mechanism.calibration.shape * mechanism.smoothing == 1
    assert mechanism != made.mechanism()


def test_a_plan_for_a_private_number_is_refused() -> None:
    with pytest.raises(sd.errors.IncompatibleClaims, match="release without a plan"):
        sd.plan(Q.Median(BOUNDS), guarantee=sd.PureDP(1, neighbours="add_remove"), n_records=100)


def test_the_trimming_asked_for_is_kept() -> None:
    """Even where another statistic has less error for the population's mean."""
    asked = Q.TrimmedMean("0.05", bounds=(-60, 1440))
    options: Any = {"guarantee": sd.PureDP(1), "n_records": 10_000, "assuming": LOGNORMAL}
    kept, free = sd.plan(asked, **options), sd.plan(asked, may_change_trim=True, **options)
    assert kept.query == asked
    assert kept.replaced is None
    assert free.query.drops(10_000) == (0, 0)
    assert known(free.rmse) < known(kept.rmse) / 5


def test_with_error_bars_only_windows_compete() -> None:
    made = sd.plan(
        Q.Median(BOUNDS),
        guarantee=sd.PureDP(1),
        n_records=1001,
        assuming=LOGNORMAL,
        confidence="0.95",
    )
    assert (made.method, made.runners_up) == ("window, max law", ())


def test_a_plan_without_bars_refuses_them(drawn: Plan) -> None:
    with pytest.raises(sd.errors.InvalidParameter, match="no error bars"):
        drawn.release(np.full(101, 20.0), confidence="0.95")


def test_the_middle_costs_nothing(tmp_path: Path, drawn: Plan) -> None:
    ledger = sd.Ledger(tmp_path / "ledger.db", budget=sd.PureDP(1))
    middle = with_method(drawn, "midpoint")
    assert middle.release(np.full(101, 20.0), ledger=ledger).value == 60
    assert len(ledger.entries()) == 0
    assert "no release is better than any" in middle.text()
    drawn.release(np.full(101, 20.0), ledger=ledger)
    assert len(ledger.entries()) == 1


def test_a_taken_runner_up_must_be_one(drawn: Plan) -> None:
    other = sd.plan(Q.Median((0, 1)), guarantee=sd.PureDP(1), n_records=50)
    with pytest.raises(sd.errors.InvalidParameter, match="runners_up"):
        drawn.instead(other.runners_up[0])


def test_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], drawn: Plan
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("x\n" + "\n".join(str(i % 60) for i in range(101)))
    main(
        [
            *("plan", "--statistic", "median", "--bounds", "0", "120", "--epsilon", "0.05"),
            *("--n", "101", "--assume", "lognorm(s=1, scale=20)"),
        ]
    )
    assert "Method      Laplace noise to global sensitivity, on the" in capsys.readouterr().out
    main(["release", "data.csv", "--column", "x", "--plan", "plan.json", "--json"])
    shown = json.loads(capsys.readouterr().out)
    assert shown["statistic"].startswith("the mean of all 101 values, in place of the median")
    Path("drawn.json").write_text(drawn.to_json())
    main(["release", "data.csv", "--column", "x", "--plan", "drawn.json", "--json"])
    shown = json.loads(capsys.readouterr().out)
    assert shown["statistic"] == "the median, drawn by ranks; each value clamped to [0, 120]"
    assert "exponential mechanism on ranks" in shown["mechanism"]
    page = html.report_plan(drawn).html()
    for words in ("exponential mechanism on ranks", "the middle of the bounds", "errs less"):
        assert words in page
    assert html.report_plan(drawn).summary["method"] == "exponential mechanism"


# ---- the rule of `release` -----------------------------------------------------------------------


def words_of(query: sd.queries.Query, guarantee: sd.Guarantee, n: int, **options: Any) -> str:
    data = [float(i % 100) for i in range(n)]
    return sd.release(data, query, guarantee=guarantee, rng=sd.SeededRandom(1), **options).mechanism


DRAWN = "by the exponential mechanism on ranks"


def test_little_data_is_drawn_by_ranks() -> None:
    """Below n min(q, 1 - q) epsilon = 4, and nowhere else."""
    few, enough = sd.PureDP("0.0799"), sd.PureDP("0.0801")
    median, high = Q.Median((0, 100)), Q.Quantile("0.9", bounds=(0, 100))
    assert DRAWN in words_of(median, few, 100)
    assert DRAWN not in words_of(median, enough, 100)
    assert DRAWN in words_of(high, sd.PureDP("0.399"), 100)
    assert DRAWN not in words_of(high, sd.PureDP("0.401"), 100)
    assert DRAWN not in words_of(Q.Median((0, 100), window=3), few, 100)
    assert DRAWN not in words_of(median, few, 100, smoothing="0.02")
    assert DRAWN not in words_of(median, few, 100, noise=sd.noise.StudentT(3))
    assert DRAWN not in words_of(Q.Maximum((0, 100)), few, 100)
    assert DRAWN not in words_of(Q.Quantile(1, bounds=(0, 100)), few, 100)
    # A step without a multiple inside the bounds leaves a window, unclamped as it was.
    apart = Q.Median(("0.2", "0.8"))
    assert DRAWN not in words_of(apart, few, 100, round_to=1)


@pytest.mark.parametrize("guarantee", [sd.PureDP("0.1"), sd.ZCDP("0.005")], ids=repr)
def test_where_n_is_private_the_guess_decides(guarantee: sd.Guarantee) -> None:
    """Never the data: whatever their number is, the mechanism is the same."""
    private = guarantee.changed(neighbours="add_remove")
    for guess, is_drawn in ((40, True), (60, False)):
        words = {
            words_of(Q.Median((0, 100)), private, n, n_guess=guess) for n in (0, 1, 30, 70, 1000)
        }
        assert len(words) == 1
        assert (DRAWN in words.pop()) == is_drawn


def test_a_bought_count_decides_by_its_low_end() -> None:
    private = sd.PureDP("0.1", neighbours="add_remove")
    words = words_of(Q.Median((0, 100)), private, 60)
    assert DRAWN in words
    assert "the low end of a count" in words


# ---- the same sensitivity at all data ------------------------------------------------------------


def test_no_neighbour_moves_a_window_further() -> None:
    """Every database of four values and every replacement; some move it so far."""
    values = (0.0, 3.0, 12.0)
    for window in (1, 3):
        query = Q.Median((0, 12), window=window)
        limit, furthest = WorstCase(query).fixed_sensitivity(5), Fraction(0)
        grid = np.array(np.meshgrid(*[values] * 5)).T.reshape(-1, 5)
        for row in grid:
            for value in values:
                other = row.copy()
                other[0] = value
                moved = abs(Fraction(query.value(row)) - Fraction(query.value(other)))
                furthest = max(furthest, moved)
        assert furthest == limit
    with pytest.raises(sd.errors.InvalidParameter):
        WorstCase(Q.TrimmedMean("0.1", bounds=(0, 1), truncate="output"))
