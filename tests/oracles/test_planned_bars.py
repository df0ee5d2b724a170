"""Plans for error bars, and the closed-form rules, against released intervals and whole samples."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from smoothdp.claims import ZCDP, ApproxDP, GaussianDP, PureDP, TruncatedCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import InvalidData, InvalidParameter, PrivacyWarning
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.bars.interval_release import IntervalRelease
from smoothdp.mechanisms.release.bars.pair_noise import PairNoise
from smoothdp.mechanisms.release.chosen import mechanism_of
from smoothdp.mechanisms.release.defaults import default_family, default_smoothing, default_trim
from smoothdp.mechanisms.release.release import release
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.noise import ArsinhNormal, Log1pNormal
from smoothdp.planning import errors_by_size, plan, plan_from_json
from smoothdp.queries import Mean, Median, Quantile, Query, TrimmedMean
from tests.checkers.known import known
from tests.checkers.labels import label
from tests.checkers.windows import best_window, smooth

BOUNDS = (-60, 1440)
LOGNORMAL = stats.lognorm(s=1, scale=20)
HALF = Fraction(1, 2)


def half_widths(mechanism: SmoothNoise | PairNoise, law: Any, runs: int, seed: int) -> Any:
    """Return the half-widths of released intervals and whether each covers its statistic."""
    rng, draws = np.random.default_rng(seed), SeededRandom(seed)
    halves, covered = [], []
    for _ in range(runs):
        data = law.rvs(size=mechanism.n_records, random_state=rng)
        query = mechanism.query
        assert isinstance(query, Query)
        result = mechanism.release(data, rng=draws)
        assert isinstance(result, IntervalRelease)
        low, high = result.interval
        halves.append((high - low) / 2)
        covered.append(low <= query.value(data) <= high)
    return np.array(halves), np.array(covered)


@pytest.mark.parametrize(
    ("query", "guarantee", "n"),
    [
        (Median(BOUNDS), PureDP(1), 1001),
        (Quantile("0.9", bounds=BOUNDS), ZCDP(HALF), 1001),
        (TrimmedMean(1, bounds=BOUNDS), ZCDP(HALF), 10001),
    ],
    ids=label,
)
def test_bars_come_out_as_planned(query: Query, guarantee: Guarantee, n: int) -> None:
    found = plan(
        query,
        guarantee=guarantee,
        n_records=n,
        assuming=LOGNORMAL,
        confidence="0.95",
        covers="window",
    )
    assert found.confidence == Fraction("0.95")
    halves, covered = half_widths(smooth(found), LOGNORMAL, 300, 5)
    spread = halves.std() / math.sqrt(len(halves)) / halves.mean()
    # The root mean square of S stands for its mean: up to a few per cent longer.
    assert found.half_width == pytest.approx(halves.mean(), rel=0.03 + 4 * spread)
    assert abs(covered.mean() - 0.95) < 3 * math.sqrt(0.95 * 0.05 / len(covered))


@pytest.mark.parametrize("guarantee", [PureDP(1), ZCDP(HALF)], ids=label)
def test_planned_bars_are_shorter(guarantee: Guarantee) -> None:
    """Than those of a plan for the value alone, and not longer than those of the rule."""
    query = Quantile("0.9", bounds=BOUNDS)
    alone = plan(query, guarantee=guarantee, n_records=1001, assuming=LOGNORMAL)
    planned = plan(
        query,
        guarantee=guarantee,
        n_records=1001,
        assuming=LOGNORMAL,
        confidence="0.95",
        covers="window",
    )
    rule = SmoothNoise.calibrate(
        query, guarantee=guarantee, n_records=1001, coverage=Coverage.read("0.95")
    )
    ours, theirs, ruled = (
        half_widths(made, LOGNORMAL, 150, 6)[0].mean()
        for made in (
            smooth(planned),
            smooth(best_window(alone), confidence="0.95", covers="window"),
            rule,
        )
    )
    assert ours < 0.95 * theirs
    assert ours < 1.05 * ruled
    assert known(planned.privacy_rmse) > known(alone.privacy_rmse)


@pytest.mark.parametrize("covers", [None, "population"])
@pytest.mark.parametrize("guarantee", [PureDP(1), ZCDP(HALF)], ids=label)
def test_bars_of_a_quantile_come_out_as_planned(guarantee: Guarantee, covers: str | None) -> None:
    """Window and smoothing of the rule; the expected length, and what the bars contain."""
    query = Median(BOUNDS)
    found = plan(
        query,
        guarantee=guarantee,
        n_records=1001,
        assuming=LOGNORMAL,
        confidence="0.95",
        covers=covers,
    )
    assert found.covers == (covers or "quantile")
    mechanism = found.mechanism()
    coverage = Coverage.read("0.95", covers=covers or "quantile")
    rule = mechanism_of(
        ReleaseRequest.read(query, guarantee=guarantee, coverage=coverage), n_records=1001
    )
    if isinstance(guarantee, PureDP):
        # One law for value and bars.
        assert isinstance(mechanism, PairNoise)
        assert mechanism == rule
    else:
        assert isinstance(mechanism, SmoothNoise)
        assert isinstance(rule, SmoothNoise)
        assert mechanism.query == rule.query
        assert float(mechanism.smoothing) == pytest.approx(float(rule.smoothing), rel=0.02)
    halves, _ = half_widths(mechanism, LOGNORMAL, 150, 5)
    spread = halves.std() / math.sqrt(len(halves)) / halves.mean()
    # The root mean square of S stands for its mean: up to a tenth longer for short windows.
    assert found.half_width == pytest.approx(halves.mean(), rel=0.1 + 4 * spread)
    assert plan_from_json(found.to_json()) == found
    assert "whatever" in found.text()


def test_a_plan_for_bars_releases_them() -> None:
    found = plan(Median((0, 100)), guarantee=PureDP(1), n_records=1001, confidence="0.9")
    data = [20.0 + i % 50 for i in range(1001)]
    result = found.release(data, rng=SeededRandom(1))
    assert isinstance(result, IntervalRelease)
    assert result.confidence == Fraction("0.9")
    assert result.guarantee == PureDP(1)
    other = found.release(data, confidence="0.99", rng=SeededRandom(1))
    assert isinstance(other, IntervalRelease)
    assert other.confidence == Fraction("0.99")
    assert "Error bars  0.9 confidence" in found.text()
    assert plan_from_json(found.to_json()) == found
    assert plan_from_json(found.to_json()).mechanism() == found.mechanism()


def test_bars_of_a_mean_cost_nothing() -> None:
    """S is public: the half-width is the quantile of the noise, with all of the budget."""
    found = plan(
        Mean((0, 100)),
        guarantee=PureDP(1),
        n_records=50,
        assuming=stats.uniform(0, 100),
        confidence="0.95",
    )
    mechanism = smooth(found)
    assert mechanism.bars is not None
    assert mechanism.bars.cost == 0
    expected = mechanism.noise.quantile(0.975) / mechanism.calibration.shift * 2
    assert found.half_width == pytest.approx(expected, rel=1e-6)


def test_files_without_bars_and_with_bad_ones() -> None:
    """Files written before plans had a confidence are read as they were."""
    text = plan(Mean((0, 1)), guarantee=PureDP(1), n_records=30).to_json()
    fields = json.loads(text)
    del fields["confidence"], fields["half_width"]
    assert plan_from_json(json.dumps(fields)).confidence is None
    for change in ({"confidence": "2"}, {"confidence": "cake"}, {"half_width": "cake"}):
        with pytest.raises(InvalidData):
            plan_from_json(json.dumps(json.loads(text) | change))


@pytest.mark.parametrize("confidence", ["0", "1", "nan", 1.5, True])
def test_bad_confidences(confidence: Any) -> None:
    with pytest.raises(InvalidParameter, match="confidence"):
        plan(Median(BOUNDS), guarantee=PureDP(1), n_records=101, confidence=confidence)


def test_a_loss_that_no_bar_can_keep() -> None:
    with pytest.raises(InvalidParameter, match="epsilon=0"):
        plan(Median(BOUNDS), guarantee=PureDP(0), n_records=101, confidence="0.95")


def test_curves_show_what_privacy_alone_costs() -> None:
    points = errors_by_size(Median(BOUNDS), [101, 1601], guarantee=PureDP(1), assuming=LOGNORMAL)
    for point, n in zip(points, (101, 1601), strict=True):
        found = plan(Median(BOUNDS), guarantee=PureDP(1), n_records=n, assuming=LOGNORMAL)
        assert point.privacy_rmse == found.privacy_rmse
        assert point.privacy_rmse > 0


# ---- rules ---------------------------------------------------------------------------------------


def test_default_trims_by_hand() -> None:
    """max(.05 n, 3.6 ln(1e5 n) / e), zCDP 2.5; at most .45 n."""
    assert default_trim(PureDP(1), 1001) == 66 == math.floor(3.6 * math.log(1001e5))
    assert default_trim(ApproxDP(1, delta="1e-6"), 1001) == 66
    assert default_trim(ZCDP(HALF), 1001) == 50
    assert default_trim(TruncatedCDP(HALF, omega=10), 10**5) == 5000
    assert default_trim(PureDP("0.1"), 100) == 45
    with pytest.raises(InvalidParameter, match="epsilon=0"):
        default_trim(PureDP(0), 10)
    # mu = 1 pays for epsilon = .80697.
    assert default_trim(GaussianDP(1), 1001) == 82 == math.floor(3.6 * math.log(1001e5) / 0.80697)
    with pytest.raises(InvalidParameter, match="mu=0"):
        default_trim(GaussianDP(0), 10)


@pytest.mark.parametrize(
    ("guarantee", "reach"), [(PureDP(1), 0.08), (ZCDP(HALF), 0.045)], ids=label
)
def test_the_default_in_the_setting_of_paper_2(guarantee: Guarantee, reach: float) -> None:
    """N(0, 1), bounds [-50, 1050], n = 1001: n MSE - 1 on whole samples; the paper's best: .11."""
    query = TrimmedMean(default_trim(guarantee, 1001), bounds=(-50, 1050))
    made = SmoothNoise.calibrate(query, guarantee=guarantee, n_records=1001)
    deviation = made.calibration.standard_deviation
    excess = []
    for row in np.random.default_rng(3).normal(size=(600, 1001)):
        summary = query.summary(row, smoothing=made.smoothing)
        # The sample mean is independent of the rest: its error is 1 / n, known.
        noise = summary.smooth_sensitivity() * deviation
        excess.append(1001 * ((float(summary.value) - row.mean()) ** 2 + noise**2))
    error = float(np.std(excess)) / math.sqrt(len(excess))
    assert error < 0.003
    assert float(np.mean(excess)) < reach


@pytest.mark.parametrize("law", [stats.norm(), stats.laplace(), stats.t(3)], ids=label)
@pytest.mark.parametrize("guarantee", [PureDP(1), ZCDP(HALF)], ids=label)
def test_bounds_of_1e5_spreads_do_not_show(guarantee: Guarantee, law: Any) -> None:
    """By the rule's smoothing the far bounds add nothing to S of trimmed means."""
    n, far, near = 1001, 1e5 * law.std(), 6 * law.std()
    trim = default_trim(guarantee, n)
    rate = default_smoothing(TrimmedMean(trim, bounds=(0, 1)), guarantee, n)
    for row in law.rvs(size=(40, n), random_state=np.random.default_rng(4)):
        wide, tight = (
            TrimmedMean(trim, bounds=(-0.4 * width, 0.6 * width)).smooth_sensitivity(
                np.clip(row, -0.4 * near, 0.6 * near), smoothing=rate
            )
            for width in (far, near)
        )
        assert wide == pytest.approx(tight, rel=1e-12)


def test_families_of_quick_certificates() -> None:
    """Log1p-normal up to e only where its calibration comes with the library."""
    assert default_family(ZCDP(HALF), Fraction("0.5")) is ArsinhNormal
    assert default_family(ZCDP(HALF), Fraction("0.6")) is Log1pNormal
    assert default_family(ZCDP(HALF), Fraction("0.59")) is ArsinhNormal
    assert default_family(ZCDP(HALF), Fraction("0.7")) is Log1pNormal
    assert default_family(ZCDP(HALF), Fraction("0.71")) is ArsinhNormal
    assert default_family(ZCDP(HALF), Fraction("1.01")) is Log1pNormal
    assert default_family(ZCDP("0.125"), Fraction("0.29")) is ArsinhNormal


def test_a_planned_release_warns_of_a_long_interval_as_release_does() -> None:
    median, data = Median((0, 100)), [float(i % 100) for i in range(281)]
    made = plan(median, guarantee=PureDP(1), n_records=281, confidence="0.95", covers="population")
    with pytest.warns(PrivacyWarning, match="smoothing of at most epsilon / 10"):
        made.release(data, rng=SeededRandom(1))
    with pytest.warns(PrivacyWarning, match="smoothing of at most epsilon / 10"):
        release(data, median, guarantee=PureDP(1), confidence="0.95", covers="population")
