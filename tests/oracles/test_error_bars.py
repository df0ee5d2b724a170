"""Error bars by a second route: draws of ln S in 400 digits, quantiles by mpmath, exact budgets."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from smoothdp.claims import ZCDP, ApproxDP, PureDP, TruncatedCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import InvalidParameter
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.exact.random.log_rounded import LogRoundedDraws
from smoothdp.mechanisms.release.bars.budget import bars_budget
from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.bars.ends import LOG_STEP
from smoothdp.mechanisms.release.bars.error_bars import rest_of
from smoothdp.mechanisms.release.bars.interval_release import IntervalRelease
from smoothdp.mechanisms.release.bars.pivot import ScaleNoise, pivot_quantile
from smoothdp.mechanisms.release.release import release
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.noise import ArsinhNormal, Gaussian, Laplace, NoiseDistribution, PolyPlace, StudentT
from smoothdp.queries import Maximum, Mean, Median, Quantile, Query, TrimmedMean, WindowMean
from tests.oracles.literal_noise import DIGITS, Recorded, exact, literal_draw

BOUNDS = (0, 100)
DATA = [0.25 * (i * 7919 % 4001) for i in range(4001)]
FAR = 1 << 200
GUARANTEES: list[Guarantee] = [
    PureDP(1),
    PureDP("ln(3)"),
    ApproxDP(1, delta="1e-6"),
    ZCDP("1/2"),
    TruncatedCDP("1/2", omega=10),
]


# ---- the draw of ln S ----------------------------------------------------------------------------


@pytest.mark.parametrize("law", [Laplace(), Gaussian()], ids=str)
@pytest.mark.parametrize(
    ("ratio", "decay"),
    [
        (Fraction(1), Fraction(0)),
        (Fraction(1, 7), Fraction(10**6, 3)),
        (Fraction(10**300 + 1, 10**300), Fraction(0)),
        (Fraction(3, 10**290), Fraction(1, 9)),
    ],
    ids=str,
)
def test_draws_of_a_logarithm_are_literal_roundings(
    law: NoiseDistribution, ratio: Fraction, decay: Fraction
) -> None:
    slope, factor = Fraction(1 << 20), Fraction(2 << 20, 9)
    draws = LogRoundedDraws(
        law.lazy(), ratio=ratio, decay=decay, slope=slope, factor=factor, lowest=-FAR, highest=FAR
    )
    with mp.workdps(DIGITS):
        centre = (mp.log(exact(ratio)) - exact(decay)) * exact(slope)
        for seed in range(60):
            rng = Recorded(seed)
            result = draws.draw(rng)
            y = centre + exact(factor) * literal_draw(law, rng.asked)
            assert result == int(mp.floor(y + mpf(1) / 2))


def test_limits_of_a_logarithm() -> None:
    draws = LogRoundedDraws(
        Gaussian().lazy(),
        ratio=Fraction(2),
        decay=Fraction(0),
        slope=Fraction(10**6),
        factor=Fraction(1),
        lowest=5,
        highest=9,
    )
    assert draws.draw(SeededRandom(1)) == 9


# ---- quantiles of the pivot ----------------------------------------------------------------------


def literal_tail(law: NoiseDistribution, q: float, kind: ScaleNoise, spread: float) -> Any:
    """P(|Z| > q e^B) by adaptive quadrature in mpmath, of the law's floats."""

    def part(x: Any) -> Any:
        b = spread * float(x)
        both = 2 * (law.survival(q * math.exp(b)) + law.survival(q * math.exp(-b)))
        if kind is ScaleNoise.LAPLACE:
            return mpf(both) * mp.exp(-x) / 2
        return mpf(both) * mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)

    # Pieces end where the law has its kink, at |q e^b| = 1 / alpha.
    kinks = [abs(math.log(float(k) / q)) / spread for k in law._kinks()]
    end = 40 if kind is ScaleNoise.LAPLACE else 9
    return mp.quad(part, sorted({0, 1, 2, 4, 8, end, *(k for k in kinks if k < end)}))


@pytest.mark.parametrize(
    ("law", "kind", "spread", "miss"),
    [
        (PolyPlace("20.5"), ScaleNoise.LAPLACE, 0.2, 0.05),
        (PolyPlace(4), ScaleNoise.LAPLACE, 0.45, 1e-6),
        (StudentT(3), ScaleNoise.LAPLACE, 0.3, 0.5),
        (ArsinhNormal("0.4"), ScaleNoise.NORMAL, 0.3, 0.01),
        (Gaussian(), ScaleNoise.NORMAL, 1.0, 1e-3),
    ],
    ids=str,
)
def test_quantiles_of_the_pivot(
    law: NoiseDistribution, kind: ScaleNoise, spread: float, miss: float
) -> None:
    q = pivot_quantile(law, miss=miss, scale_noise=kind, spread=spread)
    tail = literal_tail(law, q, kind, spread)
    # Not above the miss, and no further below it than the rounding up of q.
    assert miss * (1 - 1e-7) <= tail <= miss


def test_without_scale_noise_it_is_the_quantile_of_the_law() -> None:
    for law in (PolyPlace(8), Gaussian()):
        q = pivot_quantile(law, miss=0.1, scale_noise=ScaleNoise.NORMAL, spread=0.0)
        assert q == pytest.approx(law.quantile(0.95), rel=2e-9)


@pytest.mark.parametrize("sampling", [0.02, 0.7, 5.0, 60.0])
@pytest.mark.parametrize("law", [Gaussian(), PolyPlace(12)], ids=str)
def test_sampling_error_in_the_pivot(law: NoiseDistribution, sampling: float) -> None:
    """Normal Z: |a G + Z| is sqrt(1 + a^2) times a normal number. Others: by simulation."""
    kind, spread = ScaleNoise.NORMAL, 0.2
    q = pivot_quantile(law, miss=0.05, scale_noise=kind, spread=spread, sampling=sampling)
    if isinstance(law, Gaussian):
        plain = pivot_quantile(law, miss=0.05, scale_noise=kind, spread=spread)
        assert q == pytest.approx(plain * math.sqrt(1 + sampling**2), rel=1e-4)
        return
    rng = np.random.default_rng(5)
    size = 400_000
    z = law.quantile(rng.random(size))
    pivot = np.abs(z + sampling * rng.normal(size=size)) * np.exp(-spread * rng.normal(size=size))
    missed = float((pivot > q).mean())
    assert abs(missed - 0.05) < 4 * math.sqrt(0.05 * 0.95 / size)


# ---- the budget ----------------------------------------------------------------------------------


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)
def test_the_parts_compose_to_what_was_asked_for(guarantee: Guarantee) -> None:
    for t in ("0.001", "0.03", "0.1", "0.19"):
        smoothing = Fraction(t)
        cost, spread = bars_budget(guarantee, smoothing, 10**4)
        rest = rest_of(guarantee, cost)
        if isinstance(guarantee, PureDP | ApproxDP):
            assert isinstance(rest, PureDP | ApproxDP)
            assert spread * cost >= smoothing
            whole = math.log(3) if "ln" in repr(guarantee) else 1.0
            assert float(rest.exact_epsilon) + float(cost) <= whole * (1 + 1e-15)
            assert getattr(rest, "delta", 0) == getattr(guarantee, "delta", 0)
        else:
            assert isinstance(rest, ZCDP | TruncatedCDP)
            assert smoothing**2 / (2 * spread**2) <= cost
            assert rest.exact_rho + cost == Fraction(1, 2)
            assert getattr(rest, "omega", 0) == getattr(guarantee, "omega", 0)


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)
def test_the_release_promises_what_was_asked_for(guarantee: Guarantee) -> None:
    mechanism = SmoothNoise.calibrate(
        Median(BOUNDS), guarantee=guarantee, n_records=4001, coverage=Coverage.read("0.9")
    )
    assert mechanism.guarantee == guarantee
    assert mechanism.bars is not None
    assert mechanism.calibration.guarantee == rest_of(guarantee, mechanism.bars.cost)
    assert mechanism.calibration.guarantee != guarantee
    result = mechanism.release(DATA, rng=SeededRandom(3))
    assert isinstance(result, IntervalRelease)
    assert result.guarantee == guarantee
    assert result.confidence == Fraction(9, 10)
    assert 0 <= result.interval[0] < result.interval[1] <= 100


def test_bars_made_by_hand_are_checked() -> None:
    mechanism = SmoothNoise.calibrate(
        Median(BOUNDS), guarantee=PureDP(1), n_records=4001, coverage=Coverage.read("0.9")
    )
    bars = mechanism.bars
    assert bars is not None
    for change in ({"cost": bars.cost / 2}, {"spread": Fraction(0)}, {"guarantee": PureDP("0.99")}):
        with pytest.raises(InvalidParameter, match="together keep"):
            dataclasses.replace(mechanism, bars=dataclasses.replace(bars, **change))


# ---- the interval is a function of what is released ----------------------------------------------


@pytest.mark.parametrize(
    ("query", "guarantee"),
    [(Median(BOUNDS), PureDP(1)), (TrimmedMean("0.1", bounds=BOUNDS), ZCDP("1/2"))],
    ids=str,
)
def test_the_interval_by_hand(query: Query, guarantee: Guarantee) -> None:
    """From the same random bits: y, L, and y +- (q e^(L + h/2) / s + step / 2)."""
    mechanism = SmoothNoise.calibrate(
        query, guarantee=guarantee, n_records=len(DATA), coverage=Coverage.read("0.95")
    )
    bars = mechanism.bars
    assert bars is not None
    rng = Recorded(11)
    result = mechanism.release(DATA, rng=rng)
    assert isinstance(result, IntervalRelease)
    noise_bits = 1 if isinstance(guarantee, PureDP) else 2
    with mp.workdps(DIGITS):
        asked = rng.asked[1:]
        assert rng.asked[0][0] == noise_bits * 96 + 1
        law = Laplace() if isinstance(guarantee, PureDP) else Gaussian()
        b = literal_draw(law, asked) * exact(bars.spread)
        log_s = mpf(mechanism.windowed.log_smooth_sensitivity(DATA, smoothing=mechanism.smoothing))
        step = mpf(LOG_STEP.numerator) / LOG_STEP.denominator
        rounded = mp.floor((log_s + b) / step + mpf(1) / 2) * step
        half = bars.factor * mp.exp(rounded + step / 2) / mechanism.calibration.shift
        half += exact(mechanism.grid.step) / 2
        low, high = (float(end) for end in (result.value - half, result.value + half))
    assert result.interval[0] == pytest.approx(max(0, low), rel=1e-9)
    assert result.interval[1] == pytest.approx(min(100, high), rel=1e-9)
    assert result.interval[0] <= low + 1e-300 or low < 0
    assert result.interval[1] >= high or high > 100


def test_what_is_public_costs_nothing() -> None:
    """The mean of all records: S = (b - a) / n, whatever the data."""
    mechanism = SmoothNoise.calibrate(
        Mean(BOUNDS), guarantee=PureDP(1), n_records=500, coverage=Coverage.read("0.95")
    )
    assert mechanism.bars is not None
    assert mechanism.bars.cost == 0
    assert mechanism.calibration.guarantee == PureDP(1)
    rng = Recorded(3)
    result = mechanism.release(DATA[:500], rng=rng)
    assert len(rng.asked) == 1
    assert isinstance(result, IntervalRelease)
    half = mechanism.bars.factor * 0.2 / mechanism.calibration.shift
    assert result.interval[1] - result.value == pytest.approx(half, rel=1e-6)


def test_an_interval_outside_the_bounds_becomes_the_nearest_end() -> None:
    mechanism = SmoothNoise.calibrate(
        Mean(BOUNDS), guarantee=PureDP(1), n_records=500, coverage=Coverage.read("0.5")
    )
    bars = mechanism.bars
    assert bars is not None
    for value, expected in ((Fraction(-50), 0.0), (Fraction(300), 100.0)):
        found = bars.interval(
            value,
            math.log(0.2),
            calibration=mechanism.calibration,
            query=mechanism.query,
            step=mechanism.grid.step,
            n_records=500,
        )
        assert found == (expected, expected)
        whole = bars.interval(
            value,
            1e6,
            calibration=mechanism.calibration,
            query=mechanism.query,
            step=mechanism.grid.step,
            n_records=500,
        )
        assert whole == (0.0, 100.0)


def test_clamping_the_value_does_not_change_the_interval() -> None:
    data = [0.0] * 400
    one, two = (
        release(
            data,
            Mean((0, 1)),
            guarantee=PureDP("0.01"),
            confidence="0.9",
            clamp=clamp,
            rng=SeededRandom(6),
        )
        for clamp in (False, True)
    )
    assert isinstance(one, IntervalRelease)
    assert isinstance(two, IntervalRelease)
    assert one.value < 0 == two.value
    assert one.interval == two.interval


# ---- what an interval may cover ------------------------------------------------------------------


def test_widening_for_the_mean() -> None:
    query = TrimmedMean("0.1", bounds=BOUNDS)
    ends = Fraction(40), Fraction(45)
    bounded = Coverage.read("0.95", covers="mean").widened(*ends, query, 1000)
    # d = 1/5, the largest distance 100 - 40.
    assert bounded == (Fraction(28), Fraction(57))
    known = Coverage.read("0.95", covers="mean", sd_bound=10).widened(*ends, query, 1000)
    assert known == pytest.approx((35, 50), rel=1e-11)
    assert known[0] <= 35 < 50 <= known[1]
    assert Coverage.read("0.95", covers="population").widened(*ends, query, 1000) == ends
    assert Coverage.read("0.95", covers="mean").widened(*ends, Mean(BOUNDS), 1000) == ends


def test_trimming_moves_a_mean_no_further_than_the_widening() -> None:
    """Two values, d of the mass beyond the trimming quantiles: both bounds are attained."""
    d = 0.2
    inside, outside = 0.0, 1.0
    mean = d * outside
    sigma = math.sqrt(d * (1 - d)) * outside
    assert abs(mean - inside) == pytest.approx(sigma * math.sqrt(d / (1 - d)))
    assert abs(mean - inside) == pytest.approx(d * (outside - inside))


def test_sampling_error_in_units_of_s() -> None:
    covers = Coverage.read("0.95", covers="population")
    middle = WindowMean(498, drop_high=498, bounds=BOUNDS)
    assert covers.sampling(middle, 1001) == pytest.approx(math.sqrt(1001) / 2)
    high = covers.sampling(WindowMean(898, drop_high=98, bounds=BOUNDS), 1001)
    assert high == pytest.approx(math.sqrt(0.89711 * 0.10289 * 1001), rel=1e-3)
    # A quantile has a mixture over ranks instead.
    assert covers.sampling(Median(BOUNDS, window=5), 1001) == 0
    assert Coverage.read("0.95").sampling(Median(BOUNDS), 1001) == 0


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"confidence": 0}, "confidence=0"),
    ({"confidence": 1}, "confidence=1"),
    ({"confidence": -0.5}, "confidence=-0.5"),
    ({"confidence": 95}, "confidence=95"),
    ({"confidence": math.nan}, "nan"),
    ({"confidence": "0.9999999999"}, "1e-9"),
    ({"confidence": True}, "True"),
    ({"confidence": 0.95, "smoothing": 0.3}, "n times epsilon"),
    ({"confidence": 0.95, "covers": "everything"}, "everything"),
    ({"covers": "population"}, "confidence=None"),
    ({"sd_bound": 3}, "confidence=None"),
    ({"confidence": 0.95, "sd_bound": 3}, "sd_bound only"),
    ({"confidence": 0.95, "covers": "mean"}, "median"),
    ({"confidence": 0.95, "covers": "mean", "sd_bound": -1}, "sd_bound"),
    ({"confidence": 0.95, "covers": "statistic"}, 'Use covers="window", which is its new name'),
    ({"confidence": 0.95, "covers": "population", "query": Maximum(BOUNDS)}, "both sides"),
    ({"confidence": 0.95, "covers": "quantile", "query": Maximum(BOUNDS)}, "0 < q < 1"),
    ({"confidence": 0.95, "covers": "quantile", "query": Mean(BOUNDS)}, "a median"),
    (
        {
            "confidence": 0.95,
            "covers": "population",
            "round_to": 1,
            "query": TrimmedMean("0.1", bounds=BOUNDS),
        },
        "round_to",
    ),
]


@pytest.mark.parametrize(("change", "words"), REFUSED, ids=str)
def test_what_is_refused(change: dict[str, Any], words: str) -> None:
    rng = Recorded(1)
    arguments: dict[str, Any] = {"query": Median(BOUNDS), "guarantee": PureDP(1), "rng": rng}
    with pytest.raises(InvalidParameter) as caught:
        release(DATA, **(arguments | change))
    assert words in str(caught.value)
    assert not rng.asked


def test_too_few_records_for_pure_bars() -> None:
    with pytest.raises(InvalidParameter, match="n times epsilon of 101"):
        release(DATA[:101], Median(BOUNDS), guarantee=PureDP(1), confidence=0.95)
    found = release(DATA[:101], Median(BOUNDS), guarantee=ZCDP("1/2"), confidence=0.95)
    assert isinstance(found, IntervalRelease)


# ---- a released count that leaves no room --------------------------------------------------------


def test_a_released_count_refuses_nothing() -> None:
    """Few rows: with a guess bars are refused in words, after a count they are the bounds."""
    promise = PureDP(1, neighbours="add_remove")
    asked: dict[str, Any] = {"guarantee": promise, "confidence": "0.9", "rng": SeededRandom(2)}
    found = release(DATA[:30], Median(BOUNDS), **asked)
    assert isinstance(found, IntervalRelease)
    assert found.interval == (0.0, 100.0)
    assert found.guarantee == promise
    assert "the interval is that of the bounds" in found.mechanism
    with pytest.raises(InvalidParameter, match="n times epsilon of 30"):
        release(DATA[:30], Median(BOUNDS), n_guess=30, **asked)
    many = release(DATA, Median(BOUNDS), **asked)
    assert isinstance(many, IntervalRelease)
    assert many.interval[1] - many.interval[0] < 20


def test_too_narrow_a_window_has_an_interval_for_itself() -> None:
    """Where n is private; asked for by name, the quantile is refused."""
    query = Quantile("0.9", bounds=BOUNDS, window=1)
    promise = PureDP(1, neighbours="add_remove")
    asked: dict[str, Any] = {"guarantee": promise, "confidence": "0.9", "n_guess": 4000}
    found = release(DATA, query, **asked)
    assert isinstance(found, IntervalRelease)
    assert found.target == "window"
    assert "not the quantile" in found.covers
    with pytest.raises(InvalidParameter, match="at least 9/5 ranks"):
        release(DATA, query, covers="quantile", **asked)
