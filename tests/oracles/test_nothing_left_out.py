"""A mean that leaves nothing out: sensitivity (b - a) / n at all data, public bars."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.open_sealed import opened
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.queries.query import Query

BOUNDS = ("-1.5", 7)
WIDTH = Fraction(17, 2)
WHOLE: list[tuple[Query, int]] = [
    (sd.queries.Mean(BOUNDS), 1),
    (sd.queries.Mean(BOUNDS), 50),
    (sd.queries.TrimmedMean(0, bounds=BOUNDS), 7),
    (sd.queries.TrimmedMean("0.1", bounds=BOUNDS), 9),
    (sd.queries.WindowMean(0, drop_high=0, bounds=BOUNDS), 12),
    (sd.queries.Median(BOUNDS), 1),
    (sd.queries.Median(BOUNDS), 2),
    (sd.queries.Quantile("0.3", bounds=BOUNDS), 1),
    (sd.queries.Minimum(BOUNDS), 1),
    (sd.queries.Maximum(BOUNDS), 1),
]
CLAIMS: list[tuple[Guarantee, float]] = [
    (sd.PureDP("0.7"), math.sqrt(2) / 0.7),
    (sd.PureDP("ln(3)"), math.sqrt(2) / math.log(3)),
    (sd.ApproxDP("0.7", delta="0.01"), math.sqrt(2) / (0.7 - 2 * math.log(0.99))),
    (sd.ZCDP("0.245"), 1 / 0.7),
    (sd.TruncatedCDP("0.245", omega=7), 1 / 0.7),
]
"""With the deviation of the noise at sensitivity 1, by hand."""


@pytest.mark.parametrize(("query", "n"), WHOLE, ids=str)
@pytest.mark.parametrize(("guarantee", "deviation"), CLAIMS, ids=str)
def test_the_noise_is_that_of_a_fixed_sensitivity(
    query: Query, n: int, guarantee: Guarantee, deviation: float
) -> None:
    made = SmoothNoise.calibrate(
        query, guarantee=guarantee, n_records=n, coverage=Coverage.read("0.9")
    )
    assert made.smoothing == 0
    assert made.calibration.standard_deviation == pytest.approx(deviation, rel=1e-9)
    assert made.calibration.label == "proved"
    assert made.bars is not None
    assert made.bars.cost == 0
    rng = np.random.default_rng(n)
    for _ in range(5):
        data = rng.uniform(-4, 9, n)
        summary = query.private_summary(data, smoothing=Fraction(0))
        assert opened(summary.sensitivity) == (WIDTH / n, Fraction(0))


@pytest.mark.parametrize(("query", "n"), WHOLE, ids=str)
@pytest.mark.filterwarnings("ignore::smoothdp.errors.PrivacyWarning")
def test_smoothing_is_refused(query: Query, n: int) -> None:
    with pytest.raises(sd.errors.InvalidParameter, match="same at all data"):
        sd.release([1.0] * n, query, guarantee=sd.PureDP(1), smoothing="0.1")
    sd.release([1.0] * n, query, guarantee=sd.PureDP(1), smoothing=0, rng=SeededRandom(1))


@pytest.mark.parametrize("epsilon", ["1e-30", "0.01", "1", "ln(3)", "40"])
@pytest.mark.parametrize("delta", ["1e-300", "1e-9", "0.3", "0.999"])
def test_laplace_noise_for_epsilon_and_delta_is_exact(epsilon: str, delta: str) -> None:
    """delta(epsilon) of Laplace noise of scale 1/s, at the shift and just above it."""
    claim = sd.ApproxDP(epsilon, delta=delta)
    found = sd.noise.Laplace().calibrate(claim, smoothing=0)
    law, s = sd.noise.Laplace(), found.exact_shift
    allowed = float(Fraction(delta))
    assert law.delta(claim.epsilon, shift=s, dilation=0) <= allowed * (1 + 1e-12)
    if allowed > 1e-15:
        above = s + Fraction(1, 10**6) * max(s, Fraction(1))
        assert law.delta(claim.epsilon, shift=above, dilation=0) > allowed


def test_the_half_width_is_public() -> None:
    """The issue's own attack: the half-width was a function of the smallest record."""
    widths = set()
    for smallest in (0.0005, 0.3, 0.49):
        found = sd.release(
            [smallest] + [0.5] * 999,
            sd.queries.Mean((0, 1)),
            guarantee=sd.PureDP(1),
            confidence="0.95",
            rng=SeededRandom(4),
        )
        assert isinstance(found, sd.mechanisms.IntervalRelease)
        widths.add(round(found.interval[1] - found.value, 9))
    assert widths == {0.002995734}


def test_bars_of_a_mean_cover_as_often_as_they_say() -> None:
    """2,000 releases at confidence .9; false alarm below 1e-9, and .95 would be rejected."""
    data = np.random.default_rng(3).uniform(0, 1, 200)
    query = sd.queries.Mean((0, 1))
    made = SmoothNoise.calibrate(
        query, guarantee=sd.PureDP(1), n_records=200, coverage=Coverage.read("0.9")
    )
    rng, truth, hits = SeededRandom(11), query.value(data), 0
    for _ in range(2000):
        found = made.release(data, rng=rng)
        assert isinstance(found, sd.mechanisms.IntervalRelease)
        hits += found.interval[0] <= truth <= found.interval[1]
    error = math.sqrt(0.9 * 0.1 / 2000)
    assert abs(hits / 2000 - 0.9) < 6 * error
    assert abs(hits / 2000 - 0.95) > 6 * error


# ---- subclasses that override what a release does not use ----------------------------------------


class Fancy(sd.queries.Median):
    """A median with a value of its own, which no release would use."""

    def value(self, data: object, **options: object) -> float:
        del data, options
        return 500.0


class Smoother(sd.queries.Mean):
    def smooth_sensitivity(self, data: object, **options: object) -> float:
        del data, options
        return 1e-9


class Middle(sd.queries.Mean):
    """What a subclass may say: which values are left out, and words."""

    def drops(self, n_records: int) -> tuple[int, int]:
        return n_records // 4, n_records // 4


def test_a_query_that_overrides_what_is_not_used_is_refused() -> None:
    data = [0.5] * 101
    for query in (Fancy((0, 1)), Smoother((0, 1))):
        with pytest.raises(sd.errors.InvalidParameter, match="Custom"):
            sd.release(data, query, guarantee=sd.PureDP(1))
        with pytest.raises(sd.errors.InvalidParameter, match="Custom"):
            SmoothNoise.calibrate(query, guarantee=sd.PureDP(1), n_records=101)
    patched = sd.queries.Median((0, 1))
    object.__setattr__(patched, "summary", lambda *_, **__: None)
    with pytest.raises(sd.errors.InvalidParameter, match="its own summary"):
        sd.release(data, patched, guarantee=sd.PureDP(1))
    assert 0 < sd.release(data, Middle((0, 1)), guarantee=sd.PureDP(5), clamp=True).value < 1


def test_what_leaves_something_out_needs_smoothing() -> None:
    """Noise calibrated without smoothing is for a fixed sensitivity alone."""
    whole = SmoothNoise.calibrate(sd.queries.Mean((0, 1)), guarantee=sd.PureDP(1), n_records=9)
    with pytest.raises(sd.errors.InvalidParameter, match="smoothing > 0"):
        dataclasses.replace(whole, query=sd.queries.Median((0, 1)))
    with pytest.raises(sd.errors.InvalidParameter, match="smoothing"):
        SmoothNoise.calibrate(
            sd.queries.Median((0, 1)), guarantee=sd.PureDP(1), n_records=9, smoothing=0
        )
    for query in (sd.queries.Mean((0, 1)), sd.queries.Median((0, 1))):
        with pytest.raises(sd.errors.InvalidParameter, match="n_records"):
            SmoothNoise.calibrate(query, guarantee=sd.PureDP(1), n_records=None)
