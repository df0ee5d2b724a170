"""What every statistic does, and what it refuses."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from smoothdp import queries
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.queries import (
    Maximum,
    Mean,
    Median,
    Minimum,
    Quantile,
    Query,
    SensitivityCurve,
    SensitivitySummary,
    TrimmedMean,
    WindowMean,
)
from smoothdp.sources import Source, bibtex

# One maker for each name: a statistic without one fails below.
MAKERS: dict[str, Callable[[Any], Query]] = {
    "Maximum": lambda bounds: Maximum(bounds),
    "Mean": lambda bounds: Mean(bounds),
    "Median": lambda bounds: Median(bounds, window=3),
    "Minimum": lambda bounds: Minimum(bounds),
    "Quantile": lambda bounds: Quantile("0.75", bounds=bounds),
    "TrimmedMean": lambda bounds: TrimmedMean("0.2", bounds=bounds),
    "WindowMean": lambda bounds: WindowMean(1, drop_high=2, bounds=bounds, truncate="output"),
}
DATA = [3.5, -1.0, 0.25, 7.0, 2.0, 2.0, -40.0, 5.0]
STATISTICS = [
    name
    for name in queries.__all__
    if issubclass(getattr(queries, name), Query) and name != "Query"
]


class Protocol:
    """A column of another library: all it has is the array protocol."""

    def __init__(self, values: object) -> None:
        self.values = values

    def __array__(self, dtype: object = None, copy: object = None) -> NDArray[Any]:
        return np.asarray(self.values)


def test_names() -> None:
    assert sorted(queries.__all__) == queries.__all__
    assert set(MAKERS) == set(STATISTICS)
    for name in queries.__all__:
        value = getattr(queries, name)
        assert inspect.getdoc(value)
        if name != "Query":
            assert isinstance(value.source, Source)
            assert bibtex(value.source.key).startswith("@")
        # One file each.
        assert value.__module__.startswith("smoothdp.queries.")


@pytest.mark.parametrize("name", STATISTICS)
class TestEveryStatistic:
    def test_is_a_frozen_value(self, name: str) -> None:
        query = MAKERS[name]((-10, 10))
        assert query == MAKERS[name]((Fraction(-10), "10"))
        assert hash(query) == hash(MAKERS[name]([-10.0, 10]))
        assert query != MAKERS[name]((-10, 11))
        assert dataclasses.replace(query, bounds=(Fraction(-10), Fraction(11))) == MAKERS[name](
            (-10, 11)
        )
        with pytest.raises(dataclasses.FrozenInstanceError):
            query.bounds = (Fraction(0), Fraction(1))  # type: ignore[misc]
        assert query.bounds == (Fraction(-10), Fraction(10))
        assert query.describe()

    def test_same_number_by_every_route(self, name: str) -> None:
        query = MAKERS[name]((-10, 10))
        for t in ("0.01", "0.4", "3"):
            summary = query.summary(DATA, smoothing=t)
            assert query.value(DATA) == float(summary.value)
            assert summary.n_records == len(DATA)
            s = query.smooth_sensitivity(DATA, smoothing=t)
            assert s == summary.smooth_sensitivity()
            exact = max(math.exp(-k * float(t)) * d for k, d in summary.candidates)
            assert s == pytest.approx(exact, rel=1e-14)
            log = query.log_smooth_sensitivity(DATA, smoothing=t)
            assert log == pytest.approx(math.log(s), rel=1e-13, abs=1e-14)
            for k, d in summary.candidates:
                assert query.local_sensitivity(DATA, k) == pytest.approx(float(d), rel=1e-15)
            assert query.sensitivity_curve(DATA).at(t) == summary

    def test_order_type_and_container_do_not_matter(self, name: str) -> None:
        query = MAKERS[name]((-10, 10))
        reference = query.summary(DATA, smoothing=1)
        array = np.array(DATA)
        before = array.copy()
        wide = np.repeat(array, 2)[::2]
        for same in (
            tuple(DATA),
            array,
            array[::-1],
            wide,
            array.astype(">f8"),
            array.astype(np.float32),
            array.astype(np.float16),
            Protocol(DATA),
            np.ma.masked_array(array, mask=False),
        ):
            assert query.summary(same, smoothing=1) == reference
        assert np.array_equal(array, before)
        array.flags.writeable = False
        assert query.summary(array, smoothing=1) == reference
        whole = [3, -1, 0, 7, 2, 2, -40, 5]
        reference = query.summary([float(v) for v in whole], smoothing=1)
        for kind in (np.int8, np.int16, np.int64, np.float32):
            assert query.summary(np.array(whole, dtype=kind), smoothing=1) == reference
        assert query.summary(whole, smoothing=1) == reference

    def test_arrow(self, name: str) -> None:
        arrow = pytest.importorskip("pyarrow")
        query = MAKERS[name]((-10, 10))
        reference = query.summary(DATA, smoothing=1)
        assert query.summary(arrow.array(DATA), smoothing=1) == reference
        chunks = arrow.chunked_array([DATA[:3], DATA[3:]])
        assert query.summary(chunks, smoothing=1) == reference
        for column in (arrow.array([*DATA, None]), arrow.array([1, None, 3])):
            with pytest.raises(InvalidData, match="a value that is not finite"):
                query.value(column)

    def test_moves_with_the_data(self, name: str) -> None:
        """Shift by 1/2 and scale by 2, exactly."""
        x = np.array(DATA)
        first = MAKERS[name]((-10, 10)).summary(x, smoothing="0.3")
        second = MAKERS[name](("-19.5", "20.5")).summary(2 * x + 0.5, smoothing="0.3")
        assert second.value == 2 * first.value + Fraction(1, 2)
        assert second.candidates == tuple((k, 2 * d) for k, d in first.candidates)

    def test_falls_with_smoothing_and_grows_with_distance(self, name: str) -> None:
        query = MAKERS[name]((-10, 10))
        sizes = [query.smooth_sensitivity(DATA, smoothing=t) for t in (0.001, 0.1, 1, 10)]
        assert sizes == sorted(sizes, reverse=True)
        levels = [query.local_sensitivity(DATA, distance=k) for k in range(12)]
        assert levels == sorted(levels)
        assert sizes[0] <= levels[-1]
        assert sizes[-1] >= levels[0]

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            ([], "none"),
            (np.array([]), "none"),
            (5.0, "a float"),
            (None, "a NoneType"),
            ("12", "a str"),
            (range(0), "none"),
            ((v for v in DATA), "a generator"),
            ([[1.0, 2.0], [3.0, 4.0]], "2 dimensions"),
            (np.zeros((8, 1)), "2 dimensions"),
            ([[1.0], [1.0, 2.0]], "make no array"),
            ([*DATA, math.nan], "a value that is not finite"),
            ([math.inf, *DATA], "a value that is not finite"),
            ([*DATA, -math.inf], "a value that is not finite"),
            ([*DATA, None], "NoneType"),
            ([*DATA, "3"], "str"),
            (["1", "2"] * 4, "str"),
            ([True, False] * 4, "booleans"),
            ([*DATA, True], "booleans"),
            (np.array([True] * 8), "bool"),
            (np.array(DATA, dtype=object).astype("O") + 0j, "complex"),
            (np.array(DATA).astype(complex), "complex"),
            (np.array(DATA, dtype=np.longdouble), "longdouble|float128"),
            (np.array(["2026-01-01"] * 8, dtype="datetime64[D]"), "datetime64"),
            (np.ma.masked_array(DATA, mask=[True, *[False] * 7]), "masked"),
            ([Fraction(1, 3)] * 8, "Fraction"),
            ([1e308] * 8, "a larger one"),
            ([2**62] * 8, "a larger one"),
            ([-(2**63)] * 8, "a larger one"),
            (np.array([2**64 - 1] * 8, dtype=np.uint64), "a larger one"),
            ([2**70] * 8, "int"),
            ([2**53 + 1, 0.5] * 4, "2\\^53"),
            ({1.0, 2.0}, "a set"),
            (Protocol([[1.0]]), "2 dimensions"),
        ],
    )
    def test_bad_data(self, name: str, data: object, words: str) -> None:
        query = MAKERS[name]((-10, 10))
        for call in (
            query.value,
            query.local_sensitivity,
            query.sensitivity_curve,
            lambda x: query.smooth_sensitivity(x, smoothing=1),
            lambda x: query.log_smooth_sensitivity(x, smoothing=1),
            lambda x: query.summary(x, smoothing=1),
        ):
            with pytest.raises(InvalidData, match=words):
                call(data)

    @pytest.mark.parametrize(
        ("bounds", "words"),
        [
            ((1, 1), "bounds=\\(1, 1\\)"),
            ((2, 1), "Give the smaller bound first"),
            ((math.nan, 1), "nan"),
            ((0, math.inf), "inf"),
            ((0, "inf"), "inf"),
            ((True, 3), "True"),
            ((0, 1, 2), "pair"),
            (5, "bounds=5"),
            (None, "bounds=None"),
            ("01", "pair"),
            ((0, "1e400"), "magnitude"),
            ((0, None), "None"),
            ((0, "1e-300"), "1e-290"),
            ((Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**400)), "1e-290"),
        ],
    )
    def test_bad_bounds(self, name: str, bounds: object, words: str) -> None:
        with pytest.raises(InvalidParameter, match=words):
            MAKERS[name](bounds)

    @pytest.mark.parametrize(
        "smoothing", [0, -1, math.nan, math.inf, True, "x", None, "1e-400", "1e301", "ln(2)"]
    )
    def test_bad_smoothing(self, name: str, smoothing: Any) -> None:
        query = MAKERS[name]((-10, 10))
        with pytest.raises(InvalidParameter, match="smoothing"):
            query.smooth_sensitivity(DATA, smoothing=smoothing)
        with pytest.raises(InvalidParameter, match="smoothing"):
            query.sensitivity_curve(DATA).smooth_sensitivity(smoothing=smoothing)

    def test_bad_distance(self, name: str) -> None:
        for distance in (-1, 0.5, True, "1"):
            with pytest.raises(InvalidParameter, match="distance"):
                MAKERS[name]((-10, 10)).local_sensitivity(DATA, distance=distance)  # type: ignore[arg-type]

    def test_extreme_smoothing(self, name: str) -> None:
        query = MAKERS[name]((-10, 10))
        x = [v / 8 for v in range(16)]
        assert query.smooth_sensitivity(x, smoothing="1e300") == query.local_sensitivity(x)
        most = query.local_sensitivity(x, distance=99)
        assert query.smooth_sensitivity(x, smoothing="1e-300") == most

    def test_extreme_values(self, name: str) -> None:
        """Bounds and data at the ends of the range of floats, and below the normal ones."""
        x = [v * 2.0**1019 for v in range(-8, 9)]
        big = MAKERS[name]((Fraction(-(2**1022)), Fraction(2**1022))).summary(x, smoothing="0.1")
        small = MAKERS[name]((-8, 8)).summary(range(-8, 9), smoothing="0.1")
        assert big.value == small.value * 2**1019
        assert big.candidates == tuple((k, d * 2**1019) for k, d in small.candidates)
        tiny = MAKERS[name]((-8, 8)).summary([v * 5e-324 for v in range(-8, 9)], smoothing=500)
        assert abs(tiny.value) <= 8


def test_ranks_of_quantiles() -> None:
    """r = floor(q (n - 1) + 1/2) + 1 in exact arithmetic, and a window centred on it."""
    x = list(range(1, 12))
    bounds = (0, 100)
    for q, rank in (("0", 1), ("0.05", 2), ("0.1", 2), ("0.5", 6), ("0.9", 10), (1, 11)):
        assert Quantile(q, bounds=bounds).value(x) == rank
    # 0.35 * 10 + 1/2 is 4 exactly; in floats it is not certain.
    assert Quantile(0.35, bounds=bounds).rank(11) == 5
    assert Quantile("0.9", bounds=bounds, window=3).drops(11) == (8, 0)
    assert Quantile("0.9", bounds=bounds, window=3).value(x) == 10
    assert Quantile("0.5", bounds=bounds).summary(x, smoothing=1) == Median(bounds).summary(
        x, smoothing=1
    )
    assert Quantile(0, bounds=bounds).summary(x, smoothing=1) == Minimum(bounds).summary(
        x, smoothing=1
    )
    assert Quantile(1, bounds=bounds).summary(x, smoothing=1) == Maximum(bounds).summary(
        x, smoothing=1
    )


def test_windows_of_medians() -> None:
    bounds = (0, 100)
    assert [Median(bounds, window=w).drops(7) for w in (None, 1, 3, 7)] == [
        (3, 3),
        (3, 3),
        (2, 2),
        (0, 0),
    ]
    assert [Median(bounds, window=w).drops(8) for w in (None, 1, 3, 7)] == [
        (3, 3),
        (3, 3),
        (2, 2),
        (0, 0),
    ]
    assert Median(bounds).value([4]) == 4
    assert Median(bounds).value([4, 5]) == 4.5


def test_trims() -> None:
    bounds = (0, 100)
    assert TrimmedMean(2, bounds=bounds).drops(1000) == (2, 2)
    assert TrimmedMean("2", bounds=bounds).drops(1000) == (2, 2)
    assert TrimmedMean(0, bounds=bounds).drops(9) == (0, 0)
    # 0.29 * 100 is 28.999... in floats.
    assert TrimmedMean(0.29, bounds=bounds).drops(100) == (29, 29)
    assert WindowMean(0.07, drop_high=3, bounds=bounds).drops(100) == (7, 3)
    x = [5.0, 1.0, 2.0, 9.0, 4.0]
    assert TrimmedMean(1, bounds=bounds).value(x) == WindowMean(
        1, drop_high=1, bounds=bounds
    ).value(x)
    assert TrimmedMean(0, bounds=bounds).summary(x, smoothing=1) == Mean(bounds).summary(
        x, smoothing=1
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Median((0, 1), window=2).value([1, 2, 3]), "window=2"),
        (lambda: Median((0, 1), window=0), "window=0"),
        (lambda: Median((0, 1), window=True), "window=True"),
        (lambda: Median((0, 1), window=Fraction("1.5")).value([1, 2, 3]), "window=3/2"),
        (lambda: Quantile("0.5", bounds=(0, 1), window=-3), "window=-3"),
        (lambda: Quantile("1.01", bounds=(0, 1)), "q=1.01"),
        (lambda: Quantile(-0.1, bounds=(0, 1)), "q=-0.1"),
        (lambda: Quantile(math.nan, bounds=(0, 1)), "q=nan"),
        (lambda: Quantile(True, bounds=(0, 1)), "q=True"),
        (lambda: TrimmedMean("0.5", bounds=(0, 1)), "trim=0.5"),
        (lambda: TrimmedMean(-1, bounds=(0, 1)), "trim=-1"),
        (lambda: TrimmedMean(1.5, bounds=(0, 1)), "trim=1.5"),
        (lambda: TrimmedMean(True, bounds=(0, 1)), "trim=True"),
        (lambda: TrimmedMean(math.inf, bounds=(0, 1)), "trim=inf"),
        (lambda: TrimmedMean(1, bounds=(0, 1), truncate="both"), "truncate='both'"),
        (lambda: WindowMean(-1, drop_high=0, bounds=(0, 1)), "drop_low=-1"),
        (lambda: WindowMean(0, drop_high="-1/2", bounds=(0, 1)), "drop_high=-1/2"),
    ],
)
def test_bad_parameters(make: Callable[[], Query | float], words: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        make()
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("query", "n", "words"),
    [
        (TrimmedMean(2, bounds=(0, 1)), 4, "more than 4 values"),
        (TrimmedMean(2, bounds=(0, 1), truncate="output"), 3, "more than 4 values"),
        (WindowMean(3, drop_high=2, bounds=(0, 1)), 5, "more than 5 values"),
        (Median((0, 1), window=5), 4, "at most 3"),
        (Median((0, 1), window=5), 3, "at most 3"),
        (Quantile("0.9", bounds=(0, 1), window=5), 11, "at most 3"),
        (Quantile(1, bounds=(0, 1), window=3), 11, "at most 1"),
    ],
)
def test_too_few_values(query: Query, n: int, words: str) -> None:
    for call in (query.value, query.sensitivity_curve, query.local_sensitivity):
        with pytest.raises(InvalidData, match=words):
            call([0.5] * n)


def test_summaries_and_curves_are_values() -> None:
    summary = Median((0, 1)).summary([0.5, 0.25, 0.75], smoothing=1)
    assert isinstance(summary, SensitivitySummary)
    assert hash(summary) == hash(Median((0, 1)).summary((0.75, 0.5, 0.25), smoothing="1"))
    lower, upper = summary.log_bounds()
    assert lower <= upper == summary.log_smooth_sensitivity()
    curve = Median((0, 1)).sensitivity_curve([0.5, 0.25, 0.75])
    assert isinstance(curve, SensitivityCurve)
    assert curve == Median((0, 1)).sensitivity_curve([0.25, 0.5, 0.75])
