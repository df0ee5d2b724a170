"""Releases: the grid, the noise on ln S, and the ends of an interval, each on its side."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

import smoothdp as sd
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import LogRatio
from smoothdp.mechanisms.release.bars.budget import bars_budget
from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.bars.ends import LOG_STEP
from smoothdp.mechanisms.release.bars.error_bars import ErrorBars, rest_of
from smoothdp.mechanisms.release.bars.pivot import ScaleNoise, pivot_quantile
from smoothdp.mechanisms.release.grid import OutputGrid, default_step
from smoothdp.noise import Laplace
from smoothdp.queries import Mean, Median
from tests.rounding.certain import between, bits, exact

F = Fraction
BOUNDS = (0, 100)


@pytest.mark.parametrize("step", [F(1, 10), F(1, 3), F(2)])
def test_the_grid_stays_inside(step: Fraction) -> None:
    """Both limits are inside of the bounds, and the next multiples are not."""
    for bounds in ((F(1, 3), F(22, 7)), (F(-9, 4), F(29, 2)), (F(0), F(7))):
        lowest, highest = OutputGrid(step, bounds).limits()
        assert bounds[0] <= lowest * step < bounds[0] + step
        assert bounds[1] - step < highest * step <= bounds[1]


@pytest.mark.parametrize("places", [30, 40, 46])
def test_every_value_of_the_default_grid_is_a_float(places: int) -> None:
    """Far from 0 floats are coarse: the step is no finer than they are."""
    query, n = Median((2**places, 2**places + 100)), 201
    mechanism = sd.mechanisms.SmoothNoise.calibrate(query, guarantee=sd.PureDP("0.1"), n_records=n)
    step = default_step(mechanism.query, mechanism.calibration, n)
    lowest, highest = OutputGrid(step, query.bounds).limits()
    rng = np.random.default_rng(1)
    for index in [highest, *(lowest + int((highest - lowest) * u) for u in rng.random(200))]:
        assert F(float(index * step)) == index * step


def test_the_default_step_is_below_the_least_noise() -> None:
    """Of all data, also those in which the smooth sensitivity is as small as it gets.

    All values equal: it takes lo + 1 changes to move the window at all.
    """
    n, query = 201, Median(BOUNDS)
    mechanism = sd.mechanisms.SmoothNoise.calibrate(query, guarantee=sd.PureDP("0.1"), n_records=n)
    trimmed, smoothing = mechanism.windowed, mechanism.calibration.smoothing
    data = np.full(n, 50.0)
    least = trimmed.smooth_sensitivity(data, smoothing=smoothing)
    noise = least / mechanism.calibration.shift * mechanism.calibration.law.standard_deviation
    assert float(default_step(trimmed, mechanism.calibration, n)) <= noise * 2.0**-28


@pytest.mark.parametrize("miss", [0.3, 0.05, 1e-3, 1e-8])
def test_the_factor_of_bars_is_rounded_up(miss: float) -> None:
    """P(|Z| > q) = e^-q for Laplace noise, whose factor is -ln(miss) where ln S has no noise."""
    q = pivot_quantile(Laplace(), miss=miss, scale_noise=ScaleNoise.LAPLACE, spread=0.0)
    assert between(-math.inf, lambda: -exact(miss).log(), q)
    assert q < -math.log(miss) * (1 + 3e-9)


GUARANTEES = [
    sd.PureDP("0.7"),
    sd.ApproxDP("1.3", delta="1e-6"),
    sd.PureDP("ln(3)"),
    sd.ZCDP("0.5"),
    sd.ZCDP("0.037"),
    sd.TruncatedCDP("0.3", omega=30),
]


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)
def test_the_noise_on_ln_s_costs_no_more_than_it_says(guarantee: sd.Guarantee) -> None:
    """t / b of pure DP and t^2 / (2 sigma^2) of zCDP, exactly; the rest adds up to the whole."""
    for t in ("0.001", "0.0137", "0.03", "0.0731", "0.1"):
        smoothing = F(t)
        cost, spread = bars_budget(guarantee, smoothing, 10**4)
        rest = rest_of(guarantee, cost)
        if isinstance(guarantee, sd.ZCDP | sd.TruncatedCDP):
            assert smoothing**2 <= 2 * cost * spread**2
            assert isinstance(rest, sd.ZCDP | sd.TruncatedCDP)
            assert rest.exact_rho + cost == guarantee.exact_rho
            continue
        assert isinstance(guarantee, sd.PureDP | sd.ApproxDP)
        assert isinstance(rest, sd.PureDP | sd.ApproxDP)
        assert smoothing <= cost * spread
        assert isinstance(rest.exact_epsilon, Fraction)
        whole = guarantee.exact_epsilon
        both = rest.exact_epsilon + cost
        if isinstance(whole, LogRatio):
            with bits():
                assert exact(both) <= exact(whole.ratio).log()
        else:
            assert both == whole


def test_bars_are_refused_beyond_a_fifth() -> None:
    bars_budget(sd.PureDP(1), F(199, 1000), 100)
    with pytest.raises(InvalidParameter, match="epsilon / 5"):
        bars_budget(sd.PureDP(1), F(201, 1000), 100)


@pytest.mark.parametrize("guarantee", [sd.PureDP(1), sd.ZCDP("0.5")], ids=str)
def test_bars_that_cost_less_than_their_noise_are_refused(guarantee: sd.Guarantee) -> None:
    """A spread that is a little too small for its cost: the guarantee would be passed."""
    mechanism = sd.mechanisms.SmoothNoise.calibrate(
        Median(BOUNDS), guarantee=guarantee, n_records=4001, coverage=Coverage.read("0.9")
    )
    bars = mechanism.bars
    assert bars is not None
    for factor, holds in ((F(1), True), (F(99, 100), False)):
        least = bars.spread * factor
        if factor < 1:
            t = mechanism.calibration.smoothing
            pure = isinstance(guarantee, sd.PureDP)
            least = t / bars.cost if pure else F(math.sqrt(t * t / (2 * bars.cost)))
            least *= factor
        changed = dataclasses.replace(bars, spread=least)
        if holds:
            dataclasses.replace(mechanism, bars=changed)
        else:
            with pytest.raises(InvalidParameter, match="together keep"):
                dataclasses.replace(mechanism, bars=changed)


@pytest.mark.parametrize("step", [F(1, 1000), F(1, 3), F(1, 2**30)])
def test_both_grids_widen_the_interval(step: Fraction) -> None:
    """y +- (q e^(L + h/2) / s + step / 2), at 300 bits, ends rounded outwards."""
    query, n = Median((-(10**9), 10**9)), 4001
    mechanism = sd.mechanisms.SmoothNoise.calibrate(
        query, guarantee=sd.PureDP(1), n_records=n, coverage=Coverage.read("0.9")
    )
    bars = mechanism.bars
    assert isinstance(bars, ErrorBars)
    rng = np.random.default_rng(3)
    for log_s in rng.uniform(-9, 4, 40).tolist():
        value = F(float(rng.uniform(-50, 50)))
        lower, upper = bars.interval(
            value,
            log_s,
            calibration=mechanism.calibration,
            query=mechanism.query,
            step=step,
            n_records=n,
        )

        def half(log_s: float = log_s) -> arb:
            power = (exact(log_s) + exact(LOG_STEP) / 2).exp()
            return exact(bars.factor) * power / exact(mechanism.calibration.exact_shift) + exact(
                step / 2
            )

        with bits():
            assert exact(lower) <= exact(value) - half()
            assert exact(upper) >= exact(value) + half()
            assert float(exact(upper) - exact(lower) - 2 * half()) < 1e-9 * (1 + float(half()))


def test_ends_of_an_interval_are_rounded_outwards() -> None:
    """Where the bounds themselves are no floats, the ends lie outside of them by a hair."""
    bounds = (F(1, 3), F(2, 3))
    query, n = Median(bounds), 4001
    mechanism = sd.mechanisms.SmoothNoise.calibrate(
        query, guarantee=sd.PureDP(1), n_records=n, coverage=Coverage.read("0.9")
    )
    assert mechanism.bars is not None
    lower, upper = mechanism.bars.interval(
        F(1, 2), 50.0, calibration=mechanism.calibration, query=query, step=F(1, 64), n_records=n
    )
    assert F(lower) <= bounds[0]
    assert F(upper) >= bounds[1]
    assert upper - lower < 0.34


def test_an_interval_for_a_mean_is_widened_on_both_sides() -> None:
    coverage = Coverage.read("0.9", covers="mean")
    query = sd.queries.TrimmedMean("0.1", bounds=BOUNDS)
    low, high = coverage.widened(F(40), F(60), query, 100)
    share = F(sum(query.drops(100)), 100)
    assert low == 40 - share * 60
    assert high == 60 + share * 60
    assert coverage.widened(F(40), F(60), Mean(BOUNDS), 100) == (F(40), F(60))
