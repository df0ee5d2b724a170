"""Releases against the definition, written literally: f, S, the noise, and the rounding."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import pytest
from mpmath import mp, mpf

from smoothdp.claims import ZCDP, ApproxDP, PureDP, TruncatedCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import InvalidParameter
from smoothdp.mechanisms.release.defaults import default_smoothing, resolve_window
from smoothdp.mechanisms.release.grid import OutputGrid, default_step
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.noise import (
    ArsinhNormal,
    Gaussian,
    GeneralizedCauchy,
    Laplace,
    LaplaceLogNormal,
    NoiseDistribution,
    PolyPlace,
    StudentT,
    UniformLogNormal,
)
from smoothdp.queries import Maximum, Mean, Median, Minimum, Quantile, Query, TrimmedMean
from tests.oracles.literal_noise import DIGITS, Recorded, exact, literal_draw

DATA = [3.5, 0.1, 7.25, 7.25, -2.0, 9.5, 4.0, 11.0, 0.3, 5.5, 6.125]
TIED = [4.1] * 11
BOUNDS = (0, 10)
HALF = Fraction(1, 2)


def literal_smooth_sensitivity(data: list[float], query: Query, t: Fraction) -> tuple[Any, Any]:
    """Return f and S by Proposition 40: all windows at all distances, no shortcut."""
    lower, upper = query.bounds
    x = sorted(min(max(Fraction(v), lower), upper) for v in data)
    n = len(x)
    lo, hi = query.drops(n)
    width = n - lo - hi

    def at(rank: int) -> Fraction:
        return lower if rank < 1 else upper if rank > n else x[rank - 1]

    f = sum(x[lo : n - hi], Fraction(0)) / width
    best = mpf(0)
    for p, q in product(range(n + 2), repeat=2):
        if p + q >= 1:
            gap = at(n - hi + q) - at(lo + 1 - p)
            best = max(best, exact(gap / width) * mp.exp(-exact(t) * (p + q - 1)))
    return exact(f), best


CASES: list[tuple[Query, Guarantee, NoiseDistribution | None, str | None]] = [
    (Median(BOUNDS), PureDP(1), None, None),
    (Median(BOUNDS, window=1), PureDP(2), StudentT(3), "1/4"),
    (Quantile("0.8", bounds=BOUNDS, window=1), PureDP(3), GeneralizedCauchy("3.5"), "1/2"),
    (Mean(BOUNDS), PureDP(1), None, None),
    (TrimmedMean(2, bounds=BOUNDS), PureDP(1), PolyPlace(4), "1/5"),
    (TrimmedMean("0.2", bounds=BOUNDS), ZCDP(HALF), ArsinhNormal("1/2"), "1/5"),
    (Minimum(BOUNDS), ZCDP(HALF), UniformLogNormal("3/2"), "1/5"),
    (Maximum(BOUNDS), ZCDP(HALF), LaplaceLogNormal("1/2"), "1/5"),
    (Median(BOUNDS), TruncatedCDP(HALF, omega=10), Gaussian(), "1/50"),
    (Median(BOUNDS), ApproxDP(1, delta="1e-6"), Laplace(), "1/50"),
]


def make(
    query: Query,
    guarantee: Guarantee,
    noise: NoiseDistribution | None,
    smoothing: str | None,
    n_records: int,
) -> SmoothNoise:
    if isinstance(noise, LaplaceLogNormal | UniformLogNormal):
        # Their exact calibration takes seconds; any calibration will do here.
        assert smoothing is not None
        calibration = noise.calibrate(guarantee, smoothing=smoothing, method="paper")
        grid = OutputGrid(default_step(query, calibration, n_records), None)
        return SmoothNoise(query, calibration, n_records, grid)
    return SmoothNoise.calibrate(
        query, guarantee=guarantee, n_records=n_records, noise=noise, smoothing=smoothing
    )


@pytest.mark.parametrize(("query", "guarantee", "noise", "smoothing"), CASES, ids=str)
@pytest.mark.parametrize("data", [DATA, TIED], ids=["data", "tied"])
def test_release_is_the_definition_rounded(
    query: Query,
    guarantee: Guarantee,
    noise: NoiseDistribution | None,
    smoothing: str | None,
    data: list[float],
) -> None:
    mechanism = make(query, guarantee, noise, smoothing, len(data))
    step = mechanism.grid.step
    with mp.workdps(DIGITS):
        f, s = literal_smooth_sensitivity(data, mechanism.windowed, mechanism.smoothing)
        scale = s / exact(mechanism.calibration.exact_shift)
        for seed in range(25):
            rng = Recorded(seed)
            value = mechanism.release(data, rng=rng).value
            y = f + scale * literal_draw(mechanism.noise, rng.asked)
            index = int(mp.floor(y / exact(step) + mpf(1) / 2))
            assert value == float(index * step)


def test_round_to_and_clamp_are_functions_of_the_ideal_value() -> None:
    query, guarantee = Median(BOUNDS, window=1), PureDP("0.6")
    steps = (Fraction(1), Fraction(1, 10), Fraction(5))
    for step, clamp in product(steps, (False, True)):
        mechanism = SmoothNoise.calibrate(
            query,
            guarantee=guarantee,
            n_records=11,
            smoothing="1/4",
            round_to=step,
            clamp=clamp,
        )
        with mp.workdps(DIGITS):
            f, s = literal_smooth_sensitivity(DATA, mechanism.windowed, mechanism.smoothing)
            scale = s / exact(mechanism.calibration.exact_shift)
            seen = set()
            for seed in range(60):
                rng = Recorded(seed)
                value = mechanism.release(DATA, rng=rng).value
                y = f + scale * literal_draw(mechanism.noise, rng.asked)
                nearest = int(mp.floor(y / exact(step) + mpf(1) / 2)) * step
                if clamp:
                    nearest = min(max(nearest, Fraction(0)), Fraction(10))
                seen.add(value)
                assert value == float(nearest)
                assert isinstance(value, int) == (step.denominator == 1)
        assert (min(seen) < 0 and max(seen) > 10) or clamp


# ---- the grid ------------------------------------------------------------------------------


@pytest.mark.parametrize(("query", "guarantee", "noise", "smoothing"), CASES, ids=str)
def test_the_step_is_a_power_of_two_of_floats(
    query: Query, guarantee: Guarantee, noise: NoiseDistribution | None, smoothing: str | None
) -> None:
    mechanism = make(query, guarantee, noise, smoothing, 11)
    step = mechanism.grid.step
    assert step == Fraction(2) ** round(math.log2(step))
    for index in (math.floor(10 / step), math.floor(10 / step) - 1, 1, 0):
        assert Fraction(mechanism.grid.number(index)) == index * step


@pytest.mark.parametrize("truncate", ["inputs", "output"])
@pytest.mark.parametrize("t", ["1/10", "1", "4"])
@pytest.mark.parametrize("trim", [1, 2])
def test_the_step_is_far_below_the_noise_of_every_database(
    truncate: str, t: str, trim: int
) -> None:
    """All databases of five values out of four, whose order tells nothing: S is never below
    what the step assumes."""
    query = TrimmedMean(trim, bounds=(0, 3), truncate=truncate)
    noise = StudentT(3).calibrate(PureDP(20), smoothing=t)
    step = default_step(query, noise, 5)
    floor = min(
        query.smooth_sensitivity(list(data), smoothing=t)
        for data in combinations_with_replacement((0.0, 1.0, 1.5, 3.0), 5)
    )
    least_deviation = floor * noise.standard_deviation
    assert step <= least_deviation / 2**30
    # Not needlessly fine: within a factor of 2^4 of that, for so small a case.
    assert step >= least_deviation / 2**34


def test_the_step_is_coarsened_for_wide_bounds() -> None:
    noise = PolyPlace(5).calibrate(PureDP(1), smoothing="1/5")
    for upper, step in ((1, 2**-53), (1000, 2**-43), (1024, 2**-43), (1025, 2**-42)):
        assert default_step(Median((0, upper)), noise, 10**4) == Fraction(step)


def test_the_grid_within_bounds() -> None:
    grid = OutputGrid(Fraction(1, 10), (Fraction(1, 3), Fraction(2)))
    assert grid.limits() == (4, 20)
    assert grid.number(7) == 0.7


# ---- the rules, written a second time (proofs/release-rules#2) -------------------------------


def rule(n: int, q: Fraction, e: float, pure: bool) -> tuple[int, float]:
    """Return (w, t), R = 1e5."""
    r = math.floor(q * (n - 1) + HALF) + 1
    s = min(r - 1, n - r)
    room = min((14 if pure else 7) / e, 0.3 * s)
    w = max([1] + [odd for odd in range(1, 10**4, 2) if odd <= room])
    jump = math.log(1e5 * n / w) / (s - (w - 1) / 2) if s else math.inf
    return w, min(max((0.08 if pure else 0.2) * e, jump), (0.32 if pure else 0.6) * e)


@pytest.mark.parametrize("n", [2, 11, 101, 1001, 10001, 10**6])
@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "2"])
@pytest.mark.parametrize("q", ["0", "0.1", "0.5", "0.9"])
@pytest.mark.parametrize("pure", [True, False])
def test_window_and_smoothing_follow_the_rule(n: int, epsilon: str, q: str, pure: bool) -> None:
    e = Fraction(epsilon)
    guarantee: Guarantee = PureDP(e) if pure else ZCDP(e * e / 2)
    window, smoothing = rule(n, Fraction(q), float(e), pure)
    query = resolve_window(Quantile(q, bounds=(0, 1)), guarantee, n)
    assert isinstance(query, Quantile)
    assert query.window == window
    assert float(default_smoothing(query, guarantee, n)) == pytest.approx(smoothing, rel=5.1e-3)
    if q == "0.5" and n % 2:
        median = resolve_window(Median((0, 1)), guarantee, n)
        assert isinstance(median, Median)
        assert median.window == window
        assert default_smoothing(median, guarantee, n) == default_smoothing(query, guarantee, n)


def test_an_explicit_window_stays() -> None:
    query = Median((0, 1), window=1)
    assert resolve_window(query, PureDP(1), 1001) is query


def test_trimmed_mean_smoothing() -> None:
    query = TrimmedMean("0.1", bounds=(0, 1))
    # m = 1000, w = 8000: ln(6.25e4) / 1000 = .011 is below .05.
    assert default_smoothing(query, PureDP(1), 10**4) == Fraction(5, 100)
    # m = 10, w = 80: ln(6.25e4) / 10 = 1.1 is above the cap.
    assert default_smoothing(query, PureDP(1), 100) == Fraction(32, 100)
    assert default_smoothing(query, ZCDP(HALF), 100) == Fraction(6, 10)
    # m = 100, w = 800: ln(6.25e4) / 100 = .11.
    assert default_smoothing(query, PureDP(1), 1000) == Fraction("0.11")


# ---- laws that are not drawn ----------------------------------------------------------------


class Undrawn(Laplace):
    """A law that is studied and never drawn."""

    lazy = NoiseDistribution.lazy


class Steeper(Laplace):
    """A law with a density of its own, whose draws would still be those of Laplace."""

    def _log_density(self, a: Any) -> Any:
        return super()._log_density(2 * a) + math.log(2)


class Named(Laplace):
    """Laplace by another name."""


@pytest.mark.parametrize(
    ("law", "words"),
    [(Undrawn(), "can be drawn exactly"), (Steeper(), "says how it is drawn|density is its own")],
    ids=repr,
)
def test_a_law_without_draws_of_its_own_is_refused(law: NoiseDistribution, words: str) -> None:
    for noise in (law, type(law)):
        with pytest.raises(InvalidParameter, match=words):
            SmoothNoise.calibrate(Mean(BOUNDS), guarantee=PureDP(1), n_records=11, noise=noise)
    good = SmoothNoise.calibrate(Mean(BOUNDS), guarantee=PureDP(1), n_records=11, noise=Named())
    with pytest.raises(InvalidParameter, match=words):
        SmoothNoise(good.query, law.calibrate(PureDP(1), smoothing=0), 11, good.grid)
    plain = SmoothNoise.calibrate(Mean(BOUNDS), guarantee=PureDP(1), n_records=11)
    values = [mechanism.release(DATA, rng=Recorded(3)).value for mechanism in (good, plain)]
    assert values[0] == values[1]
