"""Plans against literal simulation: whole samples, sorted, with the queries themselves."""

from __future__ import annotations

import dataclasses
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from smoothdp.claims import ZCDP, ApproxDP, GaussianDP, PureDP, TruncatedCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import IncompatibleClaims, InvalidData, InvalidParameter, PrivacyWarning
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.mechanisms.release.bars.interval_release import IntervalRelease
from smoothdp.noise import ArsinhNormal, Gaussian, PolyPlace
from smoothdp.planning import errors_by_epsilon, errors_by_size, plan, plan_from_json
from smoothdp.planning.expected.assumption import read_assumption
from smoothdp.planning.expected.sampling_error import SamplingError
from smoothdp.planning.expected.simulated_samples import SimulatedSamples, steps
from smoothdp.queries import Maximum, Mean, Median, Quantile, Query, TrimmedMean, WindowMean
from tests.checkers.known import known
from tests.checkers.labels import label
from tests.checkers.windows import best_window, noise_of, smooth

BOUNDS = (-60, 1440)
LOGNORMAL = stats.lognorm(s=1, scale=20)
HALF = Fraction(1, 2)


def samples_of(law: Any, n: int, count: int, seed: int = 1) -> Any:
    return law.rvs(size=(count, n), random_state=np.random.default_rng(seed))


# ---- parts ---------------------------------------------------------------------------------------


def test_steps_reach_the_end() -> None:
    for most in (0, 1, 5, 12, 13, 1000, 10**6):
        found = steps(most)
        assert found[0] == 0
        assert found[-1] == most
        assert np.all(np.diff(found) > 0)


@pytest.mark.parametrize("law", [LOGNORMAL, stats.t(3, loc=5), stats.uniform(0, 9)], ids=label)
def test_simulated_order_statistics(law: Any) -> None:
    """Means, deviations and covariance of order statistics against sorted samples."""
    n, drops = 201, (90, 92)
    assumption = read_assumption(law, (Fraction(-60), Fraction(1440)))
    found = SimulatedSamples.draw(assumption, n, [drops], (-60.0, 1440.0), n_samples=4000)
    whole = np.sort(np.clip(samples_of(law, n, 4000), -60, 1440), axis=1)
    for rank in (60, 91, 100, 109, 150):
        place = int(np.searchsorted(found.ranks, rank))
        rank = int(found.ranks[place])
        one, two = found.values[:, place], whole[:, rank - 1]
        spread = two.std()
        assert abs(one.mean() - two.mean()) < 5 * spread * math.sqrt(2 / 4000)
        assert one.std() == pytest.approx(spread, rel=0.08)
    means = whole[:, 90 : n - 92].mean(axis=1)
    assert found.means(drops).std() == pytest.approx(means.std(), rel=0.08)
    assert abs(found.means(drops).mean() - means.mean()) < 5 * means.std() * math.sqrt(2 / 4000)


@pytest.mark.parametrize("drops", [(45, 45), (10, 10), (85, 9)], ids=label)
def test_simulated_sensitivities(drops: tuple[int, int]) -> None:
    """E S^2 against the queries on whole samples."""
    n, law, bounds = 101, stats.norm(20, 5), (-60.0, 1440.0)
    assumption = read_assumption(law, (Fraction(-60), Fraction(1440)))
    query = WindowMean(drops[0], drop_high=drops[1], bounds=BOUNDS)
    rates = [0.05, 0.2, 0.45]
    found = SimulatedSamples.draw(assumption, n, [drops], bounds, n_samples=400)
    squares = found.log_squared_sensitivities(drops, rates)
    whole = samples_of(law, n, 120)
    for rate, square in zip(rates, squares, strict=True):
        literal = np.array([query.smooth_sensitivity(row, smoothing=rate) ** 2 for row in whole])
        error = literal.std() / math.sqrt(120)
        assert abs(math.exp(square) - literal.mean()) < 5 * error + 0.03 * literal.mean()


@pytest.mark.parametrize("law", [stats.norm(20, 5), LOGNORMAL, stats.expon(scale=30)], ids=label)
@pytest.mark.parametrize("drops", [(0, 0), (50, 50), (480, 480), (880, 80)], ids=label)
def test_errors_without_noise(law: Any, drops: tuple[int, int]) -> None:
    n = 1001
    assumption = read_assumption(law, (Fraction(-60), Fraction(1440)))
    reference = Mean(BOUNDS)
    samples = SimulatedSamples.draw(assumption, n, [drops, (0, 0)], (-60.0, 1440.0), n_samples=8)
    error = SamplingError(assumption, samples, reference, is_quantile=False, asked=None)
    whole = np.sort(samples_of(law, n, 3000), axis=1)
    means = whole[:, drops[0] : n - drops[1]].mean(axis=1)
    literal = math.sqrt(np.mean((means - law.mean()) ** 2))
    assert error.total(drops) == pytest.approx(literal, rel=0.05)


def test_assumptions() -> None:
    law = read_assumption(LOGNORMAL, (Fraction(-60), Fraction(1440)))
    for p in (1e-6, 0.1, 0.5, 0.999):
        assert law.quantile(p) == pytest.approx(LOGNORMAL.ppf(p), rel=1e-4)
    assert law.mean() == pytest.approx(20 * math.exp(0.5), rel=1e-2)
    sample = read_assumption([1.0] * 30 + [2.0] * 10 + [9.0] * 10, (Fraction(0), Fraction(5)))
    assert sample.quantile(0.3) == 1.0
    assert sample.quantile(0.9) == 5.0
    default = read_assumption(None, (Fraction(0), Fraction(6000)))
    assert default.is_default
    assert default.quantile(0.5) == pytest.approx(3000)
    assert default.quantile(0.75) == pytest.approx(3000 + stats.t(3).ppf(0.75), rel=1e-6)
    counts = read_assumption(stats.poisson(4), (Fraction(0), Fraction(100)))
    assert counts.quantile(0.5) == 4.0


# ---- plans ---------------------------------------------------------------------------------------


def test_the_setting_of_paper_2() -> None:
    """N(0, 1), bounds [-50, 1050], n = 1001, epsilon = 1: n MSE - 1, at best .0653 and .0296 by
    a search with independent code; the paper's best is .11."""
    for guarantee, reach in ((PureDP(1), 0.07), (ZCDP(HALF), 0.033)):
        found = plan(
            TrimmedMean("0.05", bounds=(-50, 1050)),
            guarantee=guarantee,
            n_records=1001,
            assuming=stats.norm(),
            may_change_trim=True,
        )
        assert 0.025 < 1001 * known(found.rmse) ** 2 - 1 < reach
        assert found.rmse_without_privacy == pytest.approx(1001**-0.5, rel=1e-3)
        least = known(found.rmse_lower_bound)
        assert known(found.rmse_without_privacy) < least < known(found.rmse)


@pytest.mark.parametrize(
    ("query", "law"),
    [
        (Median(BOUNDS), LOGNORMAL),
        (Quantile("0.9", bounds=BOUNDS), LOGNORMAL),
        (TrimmedMean(3, bounds=BOUNDS), stats.t(3, loc=100, scale=10)),
    ],
    ids=label,
)
def test_the_error_is_what_releases_have(query: Query, law: Any) -> None:
    """On 150 whole samples, by the mechanism's own statistic, sensitivity and noise."""
    found = plan(query, guarantee=PureDP(1), n_records=1001, assuming=law)
    mechanism = smooth(found)
    _, rate = noise_of(found)
    rows = samples_of(law, 1001, 150)
    values = np.array([found.query.value(row) for row in rows])
    scale = mechanism.calibration.standard_deviation
    noise = scale * np.array([found.query.smooth_sensitivity(row, smoothing=rate) for row in rows])
    is_mean = isinstance(query, TrimmedMean)
    target = law.mean() if is_mean else law.ppf(float(getattr(query, "q", HALF)))
    plain = values if is_mean else np.array([query.value(row) for row in rows])
    for error, centre in ((found.rmse, target), (found.privacy_rmse, plain)):
        squares = (values - centre) ** 2 + noise**2
        spread = squares.std() / math.sqrt(len(rows)) / squares.mean() / 2
        assert error == pytest.approx(math.sqrt(squares.mean()), rel=0.02 + 4 * spread)


def test_releases_err_as_planned() -> None:
    """Real releases; PolyPlace's fourth moment is known, so the spread of the mean square is."""
    law = stats.norm(200, 30)
    found = plan(Median(BOUNDS), guarantee=PureDP(1), n_records=301, assuming=law)
    mechanism, rng = smooth(found), SeededRandom(8)
    rows = samples_of(law, 301, 500)
    values = np.array([mechanism.release(row, rng=rng).value for row in rows])
    squares = (values - np.array([np.median(row) for row in rows])) ** 2
    law_of_noise, _ = noise_of(found)
    kurtosis = law_of_noise.moment(4) / law_of_noise.variance**2
    spread = math.sqrt((2 * kurtosis - 1) / len(rows)) / 2
    assert found.privacy_rmse == pytest.approx(math.sqrt(squares.mean()), rel=4 * spread)
    assert 4 * spread < 0.4


def test_no_choice_nearby_is_better() -> None:
    """Windows and smoothings around the plan, judged on whole samples."""
    found = plan(Median(BOUNDS), guarantee=PureDP(1), n_records=401, assuming=LOGNORMAL)
    rows = samples_of(LOGNORMAL, 401, 150)
    plain = np.array([np.median(row) for row in rows])

    def error(window: int, rate: Fraction) -> tuple[float, float]:
        query = Median(BOUNDS, window=window)
        noise = PolyPlace(1 / rate).calibrate(PureDP(1), smoothing=rate).standard_deviation
        parts: list[float] = [
            (query.value(row) - middle) ** 2
            + (query.smooth_sensitivity(row, smoothing=rate) * noise) ** 2
            for row, middle in zip(rows, plain, strict=True)
        ]
        mean = float(np.mean(parts))
        return math.sqrt(mean), float(np.std(parts)) / math.sqrt(len(parts)) / mean / 2

    assert isinstance(found.query, Median)
    window = found.query.window
    assert isinstance(window, int)
    _, chosen = noise_of(found)
    best, spread = error(window, chosen)
    assert found.privacy_rmse == pytest.approx(best, rel=0.02 + 4 * spread)
    for other in (1, window // 4 * 2 + 1, window // 2 * 4 + 1):
        for factor in (HALF, Fraction(1), Fraction(8, 5)):
            assert error(other, min(chosen * factor, Fraction(9, 20)))[0] > best * 0.97


def test_a_window_beats_one_order_statistic() -> None:
    """As measured: 3.6 against .6 in units of the exponential mechanism."""
    wide = plan(Median(BOUNDS), guarantee=PureDP(HALF), n_records=1001, assuming=LOGNORMAL)
    single = plan(
        Median(BOUNDS, window=1), guarantee=PureDP(HALF), n_records=1001, assuming=LOGNORMAL
    )
    assert single.query == Median(BOUNDS, window=1)
    assert 4 < known(single.privacy_rmse) / known(wide.privacy_rmse) < 8


def test_without_an_assumption_the_smoothing_is_capped() -> None:
    for n in (31, 101, 1001):
        found = plan(Median(BOUNDS), guarantee=PureDP(1), n_records=n)
        assert noise_of(best_window(found))[1] <= Fraction("0.32")
        assert "T(3)" in found.assumption


def test_what_is_given_is_kept() -> None:
    found = plan(Median(BOUNDS, window=9), guarantee=PureDP(1), n_records=301)
    assert found.query == Median(BOUNDS, window=9)
    trim = TrimmedMean(20, bounds=BOUNDS)
    assert plan(trim, guarantee=PureDP(1), n_records=301).query == trim
    fixed = WindowMean(20, drop_high=30, bounds=BOUNDS)
    assert plan(fixed, guarantee=PureDP(1), n_records=301).query == fixed
    mean = plan(Mean(BOUNDS), guarantee=PureDP(1), n_records=301)
    assert mean.query == Mean(BOUNDS)
    with pytest.warns(PrivacyWarning):
        most = plan(Maximum(BOUNDS), guarantee=PureDP(1), n_records=301, assuming=LOGNORMAL)
    assert known(most.rmse) > 100


@pytest.mark.parametrize(
    ("guarantee", "law"),
    [
        (PureDP("ln(3)"), PolyPlace),
        pytest.param(ApproxDP(1, delta="1e-6"), PolyPlace, marks=pytest.mark.slow),
        (ZCDP(HALF), ArsinhNormal),
        (TruncatedCDP(HALF, omega=10), ArsinhNormal),
        pytest.param(TruncatedCDP("1/200", omega=5), Gaussian, marks=pytest.mark.slow),
    ],
    ids=label,
)
def test_guarantees(guarantee: Guarantee, law: type[Any]) -> None:
    found = plan(
        TrimmedMean(1, bounds=BOUNDS),
        guarantee=guarantee,
        n_records=2001,
        assuming=stats.t(3, loc=690, scale=0.25),
        may_change_trim=True,
    )
    found = best_window(found)
    assert type(found.noise) is law
    assert smooth(found).guarantee == guarantee
    assert found.runners_up
    for other in found.runners_up:
        if other.method == "window":
            assert known(other.rmse) >= known(found.rmse) * 0.98
    text = found.text()
    assert repr(guarantee) in text
    assert "Runner-up" in text


def test_releases_of_a_plan() -> None:
    found = plan(Median((0, 100)), guarantee=PureDP(1), n_records=301)
    data = [20.0 + i % 50 for i in range(301)]
    result = found.release(data, round_to=1, clamp=True, rng=SeededRandom(1))
    assert isinstance(result.value, int)
    assert result.guarantee == PureDP(1)
    with pytest.raises(InvalidData, match="301 records"):
        found.release(data[:-1])


def test_error_bars_of_a_plan() -> None:
    for guarantee in (PureDP(1), ZCDP(HALF)):
        found = plan(Median((0, 100)), guarantee=guarantee, n_records=1001)
        data = [20.0 + i % 50 for i in range(1001)]
        result = found.release(data, confidence="0.99", rng=SeededRandom(1))
        assert isinstance(result, IntervalRelease)
        assert result.guarantee == guarantee
        assert result.interval[0] < result.value < result.interval[1]
        found = best_window(found)
        mechanism = smooth(found, confidence="0.99")
        assert mechanism.query == found.query
        assert mechanism.smoothing == found.smoothing
        assert type(mechanism.noise) is type(found.noise)
    small = best_window(plan(Median((0, 100)), guarantee=PureDP(1), n_records=51))
    with pytest.raises(InvalidParameter, match="error bars"):
        small.mechanism(confidence="0.95")


def test_a_plan_is_the_same_every_time() -> None:
    one, two = (plan(Median(BOUNDS), guarantee=PureDP(1), n_records=301) for _ in range(2))
    assert one == two
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.rmse = 0.0  # type: ignore[misc]


def test_error_curves_fall() -> None:
    by_size = errors_by_size(
        Median(BOUNDS), [101, 401, 1601], guarantee=PureDP(1), assuming=LOGNORMAL
    )
    assert [point.x for point in by_size] == [101, 401, 1601]
    errors = [point.rmse for point in by_size]
    assert errors == sorted(errors, reverse=True)
    by_epsilon = errors_by_epsilon(
        Median(BOUNDS),
        [(e, PureDP(e)) for e in ("1/10", "1", "4")],
        n_records=401,
        assuming=LOGNORMAL,
    )
    errors = [point.rmse for point in by_epsilon]
    assert errors == sorted(errors, reverse=True)
    assert all(point.rmse_lower_bound <= point.rmse for point in by_epsilon)


# ---- files ---------------------------------------------------------------------------------------

PLANNED: list[Query] = [
    Median(BOUNDS),
    Quantile("1/3", bounds=("-1/3", 7)),
    TrimmedMean("0.05", bounds=BOUNDS),
    WindowMean("1/10", drop_high=3, bounds=BOUNDS),
    Mean(BOUNDS),
]


@pytest.mark.parametrize("query", PLANNED, ids=label)
def test_plans_survive_json(query: Query) -> None:
    found = plan(query, guarantee=PureDP("ln(3)"), n_records=301)
    assert plan_from_json(found.to_json()) == found


def test_a_file_cannot_weaken_the_guarantee() -> None:
    """The scale is calibrated anew; a law that cannot keep the promise is refused."""
    found = plan(Median(BOUNDS), guarantee=PureDP(1), n_records=301)
    fields = json.loads(found.to_json())
    fields["noise"] = {"type": "Gaussian"}
    forged = plan_from_json(json.dumps(fields))
    with pytest.raises(InvalidParameter, match="Gaussian"):
        forged.release([1.0] * 301)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"type": "Cake"}, "another type"),
        ({"version": 99}, "version 99"),
        ({"n_records": -1}, "n_records"),
        ({"noise": {"type": "Cake"}}, "Cake"),
        ({"query": {"type": "Median", "bounds": [2, 1]}}, "lower bound"),
        ({"query": 5}, "int"),
        ({"smoothing": "nan"}, "smoothing"),
        ({"runners_up": 3}, "int"),
    ],
    ids=label,
)
def test_bad_files(change: dict[str, Any], words: str) -> None:
    text = plan(Mean(BOUNDS), guarantee=PureDP(1), n_records=30).to_json()
    with pytest.raises(InvalidData, match=words):
        plan_from_json(json.dumps(json.loads(text) | change))
    with pytest.raises(InvalidData):
        plan_from_json(text[:-5])
    fields = json.loads(text)
    del fields["rmse"]
    with pytest.raises(InvalidData, match="rmse"):
        plan_from_json(json.dumps(fields))


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"query": "median"}, InvalidParameter, "median"),
    ({"query": TrimmedMean(3, bounds=BOUNDS, truncate="output")}, InvalidParameter, "inputs"),
    ({"guarantee": 1}, InvalidParameter, "guarantee=1"),
    ({"guarantee": GaussianDP(0)}, InvalidParameter, "mu=0"),
    ({"guarantee": PureDP(0)}, InvalidParameter, "epsilon=0"),
    ({"guarantee": PureDP(1, neighbours="add_remove")}, IncompatibleClaims, "replacing one"),
    ({"n_records": 0}, InvalidParameter, "n_records"),
    ({"n_records": 2.5}, InvalidParameter, "n_records"),
    ({"assuming": "normal"}, InvalidData, "str"),
    ({"assuming": [1, 2, 3]}, InvalidParameter, "10 values"),
    ({"assuming": [math.nan] * 20}, InvalidData, "finite"),
    ({"assuming": stats.norm(0, -1)}, InvalidParameter, "norm"),
    ({"query": Median(BOUNDS, window=99), "n_records": 20}, InvalidData, "window"),
    ({"query": WindowMean(9, drop_high=9, bounds=BOUNDS), "n_records": 9}, InvalidData, "records"),
]


@pytest.mark.parametrize(("change", "kind", "words"), BAD, ids=label)
def test_bad_arguments(change: dict[str, Any], kind: type[Exception], words: str) -> None:
    arguments: dict[str, Any] = {
        "query": Median(BOUNDS),
        "guarantee": PureDP(1),
        "n_records": 101,
    } | change
    with pytest.raises(kind, match=words):
        plan(arguments.pop("query"), **arguments)
