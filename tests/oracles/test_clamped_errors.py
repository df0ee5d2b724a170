"""Errors of clamped values, and of rivals, against quadrature and whole samples."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from smoothdp.claims import ZCDP, ApproxDP, PureDP, TruncatedCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.noise import ArsinhNormal, Gaussian, Laplace, NoiseDistribution, PolyPlace, StudentT
from smoothdp.planning import Plan, plan
from smoothdp.planning.alternatives import ERRORS, ERRORS_OF_OTHERS, as_alternative
from smoothdp.planning.expected.clamped_error import Samples
from smoothdp.queries import Maximum, Mean, Median, Minimum, Quantile, Query, TrimmedMean
from tests.checkers.known import known
from tests.checkers.labels import label
from tests.checkers.windows import best_window, noise_of, smooth

BOUNDS = (0, 100)
LAWS: list[NoiseDistribution] = [
    PolyPlace("12.5"),
    PolyPlace("3.2"),
    StudentT(4),
    ArsinhNormal("0.5"),
    Laplace(),
    Gaussian(),
]


@pytest.mark.parametrize("law", LAWS, ids=label)
@pytest.mark.parametrize("scale", [0.01, 1.0, 7.0, 60.0, 1e6])
def test_what_clamped_noise_adds(law: NoiseDistribution, scale: float) -> None:
    """(b - theta)^2 - 2 int_a^b (v - theta) P(y <= v) dv by quadrature (proofs/release-rules#3)."""
    value, target, (low, high) = 30.0, 22.0, (0.0, 100.0)
    one = np.ones(1)
    samples = Samples(value * one, 2 * one, target * one, (low, high))
    inside, outside = samples.added(law, scale / 2)

    def weighed(v: float) -> float:
        return (v - target) * float(law.cdf((v - value) / scale))

    places = {value + sign * width * scale for sign in (-1, 1) for width in (0, 1, 5, 30)}
    inner = sorted(place for place in places if low < place < high)
    area = integrate.quad(weighed, low, high, points=inner, limit=500)[0]
    square = (high - target) ** 2 - 2 * area
    assert inside + (value - target) ** 2 == pytest.approx(square, rel=5e-3)
    assert outside == pytest.approx(law.variance * scale**2, rel=1e-6)


SIZES: list[tuple[int, Guarantee]] = [
    (2, PureDP("0.01")),
    (3, ZCDP("0.005")),
    (12, PureDP("0.1")),
    (60, TruncatedCDP("0.005", omega=10)),
]
LARGER: list[tuple[int, Guarantee]] = [(60, PureDP("0.3")), (301, PureDP(1))]
SHAPES: list[Any] = [
    stats.norm(40, 9),
    stats.bernoulli(0.5, loc=49.5),
    stats.lognorm(s=2, scale=3),
    stats.arcsine(scale=100),
    [0.0] * 9 + [100.0] * 8,
]
ASKED: list[Query] = [
    Median(BOUNDS),
    Quantile("0.9", bounds=BOUNDS),
    TrimmedMean("0.1", bounds=BOUNDS),
    Mean(BOUNDS),
    Minimum(BOUNDS),
    Maximum(BOUNDS),
]


def errors_told(found: Plan) -> list[float]:
    """Return every error that a plan tells in the user's units."""
    every = [getattr(found, name) for name in ERRORS] + [rival.error for rival in found.rivals]
    for other in found.runners_up:
        every += [getattr(other, name) for name in ERRORS_OF_OTHERS]
    if found.replaced is not None:
        every.append(found.replaced.rmse)
    return [error for error in every if error is not None]


@pytest.mark.filterwarnings("ignore::smoothdp.errors.PrivacyWarning")
@pytest.mark.parametrize("law", SHAPES, ids=label)
@pytest.mark.parametrize("query", ASKED, ids=label)
@pytest.mark.parametrize(
    "sizes", [SIZES, pytest.param(LARGER, marks=pytest.mark.slow)], ids=["few", "more"]
)
def test_no_error_is_larger_than_the_bounds(
    sizes: list[tuple[int, Guarantee]], query: Query, law: Any
) -> None:
    """Whatever is assumed, and however little is promised."""
    for n, guarantee in sizes:
        found = plan(query, guarantee=guarantee, n_records=n, assuming=law)
        told = errors_told(found)
        assert len(told) > 6
        assert all(0 <= error <= 100 for error in told), (n, guarantee, told)


@pytest.mark.filterwarnings("ignore::smoothdp.errors.PrivacyWarning")
def test_bars_are_not_longer_than_the_bounds() -> None:
    for n, guarantee in ((60, ZCDP("0.005")), (301, PureDP(1)), (20, ZCDP("0.5"))):
        found = plan(
            Median(BOUNDS),
            guarantee=guarantee,
            n_records=n,
            assuming=SHAPES[0],
            confidence="0.95",
        )
        assert 0 < known(found.half_width) <= 50
        assert all(known(other.half_width) <= 50 for other in found.runners_up)


@pytest.mark.filterwarnings("ignore::smoothdp.errors.PrivacyWarning")
@pytest.mark.parametrize(
    ("query", "guarantee", "n"),
    [
        (Median(BOUNDS), PureDP("0.1"), 61),
        (Quantile("0.9", bounds=BOUNDS), ZCDP("0.02"), 101),
        (TrimmedMean(5, bounds=BOUNDS), PureDP("0.2"), 40),
    ],
    ids=label,
)
def test_errors_are_those_of_clamped_releases(query: Query, guarantee: Guarantee, n: int) -> None:
    """400 whole samples, 40 draws each; noise so large that clamping decides the figure."""
    law = stats.norm(30, 9)
    found = best_window(plan(query, guarantee=guarantee, n_records=n, assuming=law))
    mechanism, rng = smooth(found), np.random.default_rng(11)
    noise_law, rate = noise_of(found)
    rows = np.clip(law.rvs(size=(400, n), random_state=rng), 0, 100)
    values = np.array([found.query.value(row) for row in rows])
    scales = np.array([found.query.smooth_sensitivity(row, smoothing=rate) for row in rows])
    noise = np.asarray(noise_law.quantile(rng.random((400, 40))))
    drawn = np.clip(values[:, None] + scales[:, None] / mechanism.calibration.shift * noise, 0, 100)
    is_quantile = isinstance(query, Median | Quantile)
    target = law.ppf(float(getattr(query, "q", Fraction(1, 2)))) if is_quantile else law.mean()
    plain = np.array([query.value(row) for row in rows]) if is_quantile else values
    for error, centre in ((found.rmse, target), (found.privacy_rmse, plain[:, None])):
        squares = ((drawn - centre) ** 2).mean(axis=1)
        spread = squares.std() / math.sqrt(len(rows)) / squares.mean() / 2
        assert error == pytest.approx(math.sqrt(squares.mean()), rel=0.02 + 4 * spread)
    # The deviation of the noise alone is another number here.
    alone = math.sqrt(float((scales**2).mean())) * mechanism.calibration.standard_deviation
    assert alone > 1.2 * known(found.privacy_rmse)


def drawn_by_ranks(found: Plan) -> float:
    """Return the error by privacy of the exponential mechanism, whether it won or not."""
    every = [as_alternative(found), *found.runners_up]
    (drawn,) = [way for way in every if way.method == "exponential mechanism"]
    return known(drawn.privacy_rmse)


# ---- rivals --------------------------------------------------------------------------------------


def exponential_error(rows: Any, q: float, slope: float, bounds: tuple[float, float]) -> Any:
    """Return the mean square error of the exponential mechanism for each sorted row, literally."""
    low, high = bounds
    n, squares = rows.shape[1], []
    for row in rows:
        ends = [low, *np.clip(row, low, high), high]
        ranked = sorted(row)
        target = ranked[math.floor(q * (n - 1) + 0.5)]
        if q == 0.5 and n % 2 == 0:
            target = (ranked[n // 2 - 1] + ranked[n // 2]) / 2
        mass = total = 0.0
        for i in range(n + 1):
            weight = math.exp(-slope * abs(i - q * n))
            mass += weight * (ends[i + 1] - ends[i])
            total += weight * ((ends[i + 1] - target) ** 3 - (ends[i] - target) ** 3) / 3
        squares.append(total / mass)
    return np.array(squares)


@pytest.mark.filterwarnings("ignore::smoothdp.errors.PrivacyWarning")
@pytest.mark.parametrize(
    ("query", "q", "guarantee", "slope", "n"),
    [
        (Median(BOUNDS), 0.5, PureDP(1), 0.5, 200),
        (Median(BOUNDS), 0.5, PureDP("0.1"), 0.05, 61),
        (Quantile("0.9", bounds=BOUNDS), 0.9, ZCDP("0.125"), 0.5, 201),
        pytest.param(
            *(Quantile("0.25", bounds=BOUNDS), 0.25, ApproxDP(2, delta="1e-6"), 1.0, 100),
            marks=pytest.mark.slow,
        ),
    ],
    ids=label,
)
def test_the_exponential_mechanism_cell_by_cell(
    query: Query, q: float, guarantee: Guarantee, slope: float, n: int
) -> None:
    law = stats.norm(40, 9)
    found = plan(query, guarantee=guarantee, n_records=n, assuming=law)
    error = drawn_by_ranks(found)
    rows = np.sort(law.rvs(size=(400, n), random_state=np.random.default_rng(3)), axis=1)
    squares = exponential_error(rows, q, slope, (0.0, 100.0))
    # 200 samples in the plan, 400 here.
    spread = squares.std() * math.sqrt(1 / 200 + 1 / 400) / squares.mean() / 2
    assert error == pytest.approx(math.sqrt(squares.mean()), rel=4 * spread)
    assert 4 * spread < 0.4


@pytest.mark.parametrize(
    ("guarantee", "constant", "n"),
    [
        (PureDP(1), 2 * math.sqrt(2), 10**6),
        pytest.param(PureDP(1), 2 * math.sqrt(2), 10**7, marks=pytest.mark.slow),
        pytest.param(ZCDP("0.5"), math.sqrt(2), 10**7, marks=pytest.mark.slow),
    ],
    ids=label,
)
def test_runs_of_cells_are_as_good_as_cells(guarantee: Guarantee, constant: float, n: int) -> None:
    """Far more records than ranks that are kept: the limits for equal gaps
    (proofs/release-rules#4)."""
    law = stats.uniform(0, 100)
    found = plan(Median(BOUNDS), guarantee=guarantee, n_records=n, assuming=law)
    # In gaps of 100 / n, and a little more as gaps vary.
    assert constant < drawn_by_ranks(found) / (100 / n) < 1.35 * constant


@pytest.mark.parametrize("n", [10**6, pytest.param(10**7, marks=pytest.mark.slow)])
def test_runs_of_cells_where_little_is_promised(n: int) -> None:
    law = stats.uniform(0, 100)
    small = plan(Median(BOUNDS), guarantee=PureDP("0.0001"), n_records=n, assuming=law)
    error = drawn_by_ranks(small)
    assert error / (100 / n) == pytest.approx(2 * math.sqrt(2) / 0.0001, rel=0.1)


def test_noise_to_global_sensitivity_by_hand() -> None:
    law = stats.norm(40, 9)
    found = plan(TrimmedMean(50, bounds=BOUNDS), guarantee=PureDP(1), n_records=1000, assuming=law)
    errors = {rival.name: rival.error for rival in found.rivals}
    # Against the trimmed mean of the records, so that noise is all.
    name = "Laplace noise to global sensitivity, on the mean of the 900 values left after dropping "
    assert errors[f"{name}50 a side"] == pytest.approx(math.sqrt(2) * 100 / 900, rel=0.01)
    median = plan(Median(BOUNDS), guarantee=PureDP(1), n_records=1000, assuming=law)
    errors |= {rival.name: rival.error for rival in median.rivals}
    # Mean and median of a normal sample differ by sqrt(pi/2 - 1) standard errors.
    away = math.sqrt(math.pi / 2 - 1) * 9 / math.sqrt(1000)
    whole = math.hypot(away, math.sqrt(2) * 100 / 1000)
    name = "Laplace noise to global sensitivity, on the mean of all 1000 values"
    assert errors[name] == pytest.approx(whole, rel=0.02)
    assert errors["the middle of the bounds, without data"] == pytest.approx(10, rel=0.01)
    listed = [rival.error for rival in median.rivals]
    assert listed == sorted(listed)
