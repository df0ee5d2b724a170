"""Releasing a statistic: what comes out, what is refused, and what warns."""

from __future__ import annotations

import dataclasses
import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from smoothdp.claims import ZCDP, ApproxDP, GaussianDP, PureDP, TruncatedCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import (
    IncompatibleClaims,
    InvalidData,
    InvalidParameter,
    PrivacyWarning,
    SmoothdpError,
)
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.mechanisms.release.defaults import resolve_window
from smoothdp.mechanisms.release.grid import OutputGrid
from smoothdp.mechanisms.release.release import release
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.noise import (
    ArsinhNormal,
    Gaussian,
    Laplace,
    Log1pNormal,
    NoiseDistribution,
    PolyPlace,
    StudentT,
)
from smoothdp.queries import (
    Maximum,
    Mean,
    Median,
    Minimum,
    Quantile,
    Query,
    TrimmedMean,
    WindowMean,
)

HALF = Fraction(1, 2)
DATA = [0.25 * (i * 7919 % 401) for i in range(401)]
BOUNDS = (0, 100)
QUERIES: list[Query] = [
    Mean(BOUNDS),
    Median(BOUNDS),
    Quantile("0.9", bounds=BOUNDS),
    TrimmedMean("0.1", bounds=BOUNDS),
    TrimmedMean("0.1", bounds=BOUNDS, truncate="output"),
    WindowMean(100, drop_high=50, bounds=BOUNDS),
]
GUARANTEES: list[tuple[Guarantee, type[NoiseDistribution]]] = [
    (PureDP(1), PolyPlace),
    (ZCDP(HALF), ArsinhNormal),
    (TruncatedCDP(HALF, omega=10), ArsinhNormal),
]
CASES = [(query, *kind) for query in QUERIES for kind in GUARANTEES]
CASES.append((Median(BOUNDS), ApproxDP(1, delta="1e-6"), PolyPlace))
CASES.append((Median(BOUNDS), TruncatedCDP("1/20", omega=3), Gaussian))


class Counted(SeededRandom):
    """Counts how often bits are asked for: none, if nothing is released."""

    __slots__ = ("calls",)

    def __init__(self) -> None:
        super().__init__(1)
        self.calls = 0

    def bits(self, n: int) -> int:
        self.calls += 1
        return super().bits(n)


@pytest.mark.parametrize(("query", "guarantee", "law"), CASES, ids=str)
def test_every_statistic_under_every_guarantee(
    query: Query, guarantee: Guarantee, law: type[NoiseDistribution]
) -> None:
    # Where the caller gives no window a half shift may take its place (test_quantiles).
    windowed = resolve_window(query, guarantee, len(DATA))
    result = release(DATA, windowed, guarantee=guarantee, rng=SeededRandom(5))
    mechanism = SmoothNoise.calibrate(query, guarantee=guarantee, n_records=len(DATA))
    if mechanism.smoothing == 0:
        # A mean leaves nothing out: its sensitivity is the same at all data.
        law = Laplace if isinstance(guarantee, PureDP) else Gaussian
    assert (mechanism.smoothing == 0) == isinstance(query, Mean)
    assert type(mechanism.noise) is law
    assert result.guarantee == guarantee
    assert isinstance(result.value, float)
    assert Fraction(result.value) % mechanism.grid.step == 0
    # Twelve deviations of the noise.
    spread = mechanism.calibration.standard_deviation
    s = float(mechanism.query.fixed_sensitivity(len(DATA)) or 0)
    if mechanism.smoothing > 0:
        s = mechanism.windowed.smooth_sensitivity(DATA, smoothing=mechanism.smoothing)
    assert abs(result.value - mechanism.windowed.value(DATA)) < 12 * spread * s
    assert mechanism.release(DATA, rng=SeededRandom(5)) == result
    assert mechanism.profile().delta(3) <= guarantee.profile().delta(3) * (1 + 1e-9)


@pytest.mark.parametrize("kind", [Minimum, Maximum])
def test_extremes_warn(kind: type[Minimum] | type[Maximum]) -> None:
    with pytest.warns(PrivacyWarning, match="order of the bounds"):
        result = release(DATA, kind(BOUNDS), guarantee=PureDP(1), clamp=True)
    assert 0 <= result.value <= 100


def test_a_release_says_nothing_of_the_data() -> None:
    result = release([41.25] * 401, Median(BOUNDS), guarantee=PureDP(1), rng=SeededRandom(5))
    names = {field.name for field in dataclasses.fields(result)}
    assert names == {
        "value",
        "guarantee",
        "mechanism",
        "is_private",
        "library_version",
        "sources",
        "label",
        "condition",
    }
    assert result.condition == ""
    other = release([17.5] * 401, Median(BOUNDS), guarantee=PureDP(1), rng=SeededRandom(6))
    assert other.mechanism == result.mechanism
    assert other.sources == result.sources
    assert "2^-46" in result.mechanism
    assert result.sentence().startswith("NOT PRIVATE")
    private = release([41.25] * 401, Median(BOUNDS), guarantee=PureDP(1))
    assert private.is_private
    assert private.sentence() == PureDP(1).sentence()


def test_tied_data_have_tiny_noise_and_never_none() -> None:
    """10,001 equal values: S is e^-400 or so, yet positive; a border between values shows it."""
    query = Median(BOUNDS, window=1)
    mechanism = SmoothNoise.calibrate(query, guarantee=PureDP(2), n_records=10_001)
    step = mechanism.grid.step
    on_border = float(41 + step / 2)
    assert Fraction(on_border) == 41 + step / 2
    log_s = query.log_smooth_sensitivity([on_border] * 10_001, smoothing=mechanism.smoothing)
    assert log_s < -300
    values = {
        mechanism.release([on_border] * 10_001, rng=SeededRandom(seed)).value for seed in range(20)
    }
    assert values == {41.0, float(41 + step)}
    inside = {mechanism.release([41.0] * 10_001, rng=SeededRandom(s)).value for s in range(20)}
    assert inside == {41.0}


def test_whole_numbers_and_clamping() -> None:
    result = release(DATA, Median(BOUNDS), guarantee=PureDP(1), round_to=1)
    assert isinstance(result.value, int)
    low = release([0.0] * 401, Mean((0, 100)), guarantee=PureDP(1), clamp=True, round_to="0.1")
    assert 0 <= low.value <= 100
    wild = [
        release(
            [5.0],
            Mean((1, 9)),
            guarantee=PureDP("0.01"),
            clamp=True,
            round_to=4,
            rng=SeededRandom(seed),
        ).value
        for seed in range(20)
    ]
    assert set(wild) <= {4, 8}
    assert len(set(wild)) == 2


def test_default_values_are_floats_however_coarse_the_grid() -> None:
    """Three records up to 4e19: the least noise is 3e18, a step of 2^31 is below 2^-30 of it."""
    result = release([1e19, 2e19, 3e19], Mean((0, 4e19)), guarantee=PureDP(5))
    assert isinstance(result.value, float)
    assert result.mechanism.endswith("multiple of 2^31")
    for step in ("1", "8"):
        whole = release(DATA, Mean(BOUNDS), guarantee=PureDP(1), round_to=step)
        assert isinstance(whole.value, int)
        assert whole.mechanism.endswith(f"multiple of {step}")


def test_kinds_of_columns_agree() -> None:
    columns: list[Any] = [DATA, tuple(DATA), np.array(DATA), np.array(DATA, dtype=np.float32)]
    values = {
        release(column, Median(BOUNDS), guarantee=PureDP(1), rng=SeededRandom(2)).value
        for column in columns
    }
    assert len(values) == 1


@pytest.mark.parametrize("library", ["pyarrow", "pandas", "polars"])
def test_columns_of_other_libraries(library: str) -> None:
    module = pytest.importorskip(library)
    make = module.array if library == "pyarrow" else module.Series
    given = release(make(DATA), Median(BOUNDS), guarantee=PureDP(1), rng=SeededRandom(2))
    assert given == release(DATA, Median(BOUNDS), guarantee=PureDP(1), rng=SeededRandom(2))


def test_noise_may_be_a_law_or_a_family() -> None:
    make = SmoothNoise.calibrate
    query = TrimmedMean("0.05", bounds=BOUNDS)
    given = make(query, guarantee=PureDP(1), n_records=401, noise=StudentT(3), smoothing="0.1")
    assert given.noise == StudentT(3)
    family = make(query, guarantee=PureDP(1), n_records=401, noise=StudentT, smoothing="0.1")
    assert isinstance(family.noise, StudentT)
    assert family.calibration.standard_deviation < given.calibration.standard_deviation
    none = make(
        query, guarantee=ApproxDP(1, delta="1e-6"), n_records=401, noise=Laplace, smoothing="0.05"
    )
    assert none.noise == Laplace()


@pytest.mark.slow
def test_log1p_normal_where_the_smoothing_is_large() -> None:
    mechanism = SmoothNoise.calibrate(
        Median(BOUNDS), guarantee=ZCDP(HALF), n_records=101, smoothing="0.55"
    )
    assert isinstance(mechanism.noise, Log1pNormal)


def test_the_mechanism_is_a_value() -> None:
    make = SmoothNoise.calibrate
    one = make(Median(BOUNDS), guarantee=PureDP(1), n_records=401)
    two = make(Median(BOUNDS), guarantee=PureDP(1), n_records=401)
    assert one == two
    assert pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.n_records = 5  # type: ignore[misc]
    assert "13 middle values" in one.describe()


# ---- what is refused: no bit is drawn ----------------------------------------------------------

BAD_DATA: list[tuple[Any, str]] = [
    ([], "at least one value"),
    ([1.0, math.nan], "a value that is not finite"),
    ([1.0, math.inf], "a value that is not finite"),
    (["1", "2"], "str"),
    ([object()], "object"),
    ([True, False], "booleans"),
    ([[1.0, 2.0], [3.0, 4.0]], "2 dimensions"),
    ([1, None], "NoneType"),
    (3.5, "a float"),
    ("12", "a str"),
    (None, "a NoneType"),
    (np.array([1 << 63, 1], dtype=np.uint64), "a larger one"),
    ([10**30, 1], "numbers"),
]


@pytest.mark.parametrize(
    ("data", "words"), BAD_DATA, ids=[f"{place}" for place in range(len(BAD_DATA))]
)
def test_bad_data(data: Any, words: str) -> None:
    rng = Counted()
    with pytest.raises(InvalidData) as caught:
        release(data, Mean(BOUNDS), guarantee=PureDP(1), rng=rng)
    assert words in str(caught.value)
    assert rng.calls == 0


def test_too_few_values() -> None:
    rng = Counted()
    for data, query in (
        ([1.0] * 10, TrimmedMean(5, bounds=BOUNDS)),
        ([1.0], TrimmedMean(3, bounds=BOUNDS)),
        ([1.0] * 10, WindowMean(4, drop_high=6, bounds=BOUNDS)),
        ([1.0] * 5, Median(BOUNDS, window=7)),
        ([1.0] * 20, Quantile("0.9", bounds=BOUNDS, window=9)),
    ):
        with pytest.raises(InvalidData):
            release(data, query, guarantee=PureDP(1), rng=rng)
    assert rng.calls == 0


def test_one_value_is_enough() -> None:
    with pytest.warns(PrivacyWarning):
        assert isinstance(release([3.0], Median(BOUNDS), guarantee=PureDP(1)).value, float)
    assert isinstance(release([3.0], Mean(BOUNDS), guarantee=PureDP(1)).value, float)


BAD: list[tuple[dict[str, Any], type[SmoothdpError], str]] = [
    ({"query": "median"}, InvalidParameter, "'median'"),
    ({"query": Median}, InvalidParameter, "query"),
    ({"guarantee": 1.0}, InvalidParameter, "1.0"),
    ({"guarantee": GaussianDP(0)}, InvalidParameter, "mu=0"),
    ({"guarantee": PureDP(0)}, InvalidParameter, "epsilon=0"),
    ({"guarantee": ZCDP(0)}, InvalidParameter, "rho=0"),
    (
        {"guarantee": PureDP(1, neighbours="add_remove"), "query": Maximum((0, 1))},
        InvalidParameter,
        "maximum",
    ),
    ({"n_guess": 100}, InvalidParameter, "n_guess=100"),
    ({"n_share": 0.5}, InvalidParameter, "n_share=0.5"),
    ({"label": "two\nlines"}, InvalidParameter, "two"),
    ({"noise": "laplace"}, InvalidParameter, "'laplace'"),
    ({"noise": int}, InvalidParameter, "int"),
    ({"noise": Gaussian()}, InvalidParameter, "Gaussian"),
    ({"noise": PolyPlace(100)}, InvalidParameter, "smoothing"),
    ({"smoothing": 0}, InvalidParameter, "smoothing=0"),
    ({"smoothing": -1}, InvalidParameter, "smoothing=-1"),
    ({"smoothing": math.nan}, InvalidParameter, "smoothing=nan"),
    ({"smoothing": 0.6}, InvalidParameter, "smoothing"),
    ({"smoothing": 25}, InvalidParameter, "25"),
    ({"round_to": 0}, InvalidParameter, "round_to=0"),
    ({"round_to": -1}, InvalidParameter, "round_to=-1"),
    ({"round_to": math.inf}, InvalidParameter, "round_to=inf"),
    ({"round_to": True}, InvalidParameter, "True"),
    ({"round_to": 1000, "clamp": True, "query": Mean((1, 9))}, InvalidParameter, "step=1000"),
    ({"clamp": "yes"}, InvalidParameter, "'yes'"),
    ({"confidence": 1}, InvalidParameter, "confidence=1"),
    ({"ledger": "ledger.db"}, InvalidParameter, "ledger.db"),
]


@pytest.mark.parametrize(("change", "kind", "words"), BAD, ids=str)
def test_bad_arguments(change: dict[str, Any], kind: type[SmoothdpError], words: str) -> None:
    rng = Counted()
    arguments: dict[str, Any] = {"query": Median(BOUNDS), "guarantee": PureDP(1), "rng": rng}
    with pytest.raises(kind) as caught:
        release(DATA, **(arguments | change))
    assert words in str(caught.value)
    assert rng.calls == 0


def test_bounds_without_floats_inside() -> None:
    """Doubles near 1e17 are 16 apart: no value of a grid of doubles lies inside."""
    data = [10**17 + 5] * 3
    with pytest.raises(InvalidParameter, match="shift the data"):
        release(data, Mean((10**17 + 1, 10**17 + 9)), guarantee=PureDP(1), clamp=True)


def test_the_number_of_records_is_part_of_the_mechanism() -> None:
    mechanism = SmoothNoise.calibrate(Median(BOUNDS), guarantee=PureDP(1), n_records=401)
    rng = Counted()
    with pytest.raises(InvalidData, match="401 records"):
        mechanism.release(DATA[:-2], rng=rng)
    assert rng.calls == 0
    for n in (0, -1, 2.5, "many"):
        with pytest.raises(InvalidParameter, match="n_records"):
            SmoothNoise.calibrate(Median(BOUNDS), guarantee=PureDP(1), n_records=n)  # type: ignore[arg-type]


def test_a_mechanism_made_by_hand_is_checked() -> None:
    calibration = PolyPlace(5).calibrate(PureDP(1), smoothing="1/5")
    grid = OutputGrid(Fraction(1), None)
    with pytest.raises(InvalidData):
        SmoothNoise(TrimmedMean(5, bounds=BOUNDS), calibration, 10, grid)
    wrong = dataclasses.replace(calibration, guarantee=PureDP(1, neighbours="add_remove"))
    with pytest.raises(IncompatibleClaims):
        SmoothNoise(Mean(BOUNDS), wrong, 10, grid)


def test_warning_where_noise_is_of_the_order_of_the_bounds() -> None:
    for n, query, weak in (
        (29, Median(BOUNDS), True),
        (30, Median(BOUNDS), False),
        (149, Quantile("0.9", bounds=BOUNDS), True),
        (150, Quantile("0.9", bounds=BOUNDS), False),
    ):
        data = [1.0] * n
        if weak:
            with pytest.warns(PrivacyWarning, match=f"n={n}"):
                release(data, query, guarantee=PureDP(1))
        else:
            release(data, query, guarantee=PureDP(1))
