"""The pure core on any split of the rows, against one machine and literal sums."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from smoothdp import PureDP, SeededRandom
from smoothdp.engines import (
    KeyedRandom,
    category_counts,
    keyed_words,
    randomized_counts,
    run_here,
    summarize_column,
)
from smoothdp.engines.codes import codes_of, values_of
from smoothdp.engines.collection import MarkRows, job_name, noise_name
from smoothdp.engines.keyed_random import new_key
from smoothdp.errors import InvalidData, InvalidParameter, OutOfReach
from smoothdp.mechanisms import SmoothNoise
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
from smoothdp.queries.windows.column_summary import MoreNeeded
from smoothdp.queries.windows.selected import first_reach
from smoothdp.shuffle import BooleanSum, Histogram, RealSum

KEY = bytes(range(32))


def split(source: np.random.Generator, *columns: np.ndarray[Any, Any], parts: int) -> list[Any]:
    """Return partitions, some of them empty, in any order of rows."""
    order = source.permutation(len(columns[0]))
    cuts = np.sort(source.integers(0, len(order) + 1, parts - 1))
    return [[column[rows] for column in columns] for rows in np.split(order, cuts)]


def columns_to_try() -> list[tuple[str, np.ndarray[Any, Any]]]:
    source = np.random.default_rng(7)
    return [
        ("normal", source.normal(10, 5, 3001)),
        ("ties", source.integers(0, 7, 2500).astype(float)),
        ("constant", np.full(400, 3.0)),
        ("two", np.array([1.0] * 700 + [9.0] * 701)),
        ("heavy", source.standard_cauchy(5000) * 1e6),
        ("tiny", source.normal(0, 1, 500) * 1e-300),
        ("signs of zero", np.array([0.0, -0.0] * 50 + [1.0] * 30)),
        ("close", 1.0 + np.arange(20_000) * 2.0**-52),
        ("whole", source.integers(-50, 1500, 9000)),
        ("beyond floats", (1 << 60) + source.integers(-3, 4, 300)),
        ("one", np.array([4.5])),
        ("skewed", np.concatenate([np.full(6000, 2.0), source.exponential(1, 6000)])),
    ]


QUERIES: list[tuple[Query, str]] = [
    (Median((-20, 60)), "0.1"),
    (Median((-20, 60), window=31), "0.02"),
    (Mean((0, 12)), "0.3"),
    (TrimmedMean("0.1", bounds=(-100, 100)), "0.05"),
    (Quantile("0.9", bounds=(0, 1)), "0.2"),
    (Minimum((0, 100)), "0.5"),
    (Maximum((0, 100)), "0.01"),
    (WindowMean("0.3", drop_high="0.01", bounds=("-1e300", "1e300")), "0.1"),
    (Median((0, 2**61)), "0.1"),
]


@pytest.mark.parametrize("name", [name for name, _ in columns_to_try()])
@pytest.mark.parametrize(("query", "smoothing"), QUERIES)
def test_a_summary_gives_the_same_exact_numbers(query: Query, smoothing: str, name: str) -> None:
    data = dict(columns_to_try())[name]
    source = np.random.default_rng(3)
    try:
        expected = query.summary(data, smoothing=smoothing)
    except InvalidData:
        with pytest.raises(InvalidData):
            summarize_column(run_here([[data]]), query, smoothing=smoothing)
        return
    for parts in (1, 7):
        partitions = split(source, data, parts=parts)
        summary = summarize_column(run_here(partitions), query, smoothing=smoothing)
        assert query.summary(summary, smoothing=smoothing) == expected


def test_a_release_from_a_summary_is_the_same_release() -> None:
    data = np.random.default_rng(1).exponential(20, 20_001)
    mechanism = SmoothNoise.calibrate(Median((0, 500)), guarantee=PureDP(1), n_records=len(data))
    source = np.random.default_rng(2)
    summary = summarize_column(
        run_here(split(source, data, parts=9)), mechanism.windowed, smoothing=mechanism.smoothing
    )
    for seed in range(20):
        here = mechanism.release(data, rng=SeededRandom(seed))
        there = mechanism.release(summary, rng=SeededRandom(seed))
        assert here == there


def test_longer_tails_are_taken_until_they_are_long_enough() -> None:
    # A plateau far beyond both ends of the window: only far ranks tell the smooth sensitivity.
    data = np.concatenate([np.zeros(500), np.full(9000, 5.0), np.full(500, 7.0)])
    query, smoothing = TrimmedMean(4000, bounds=(0, 10)), Fraction(1, 2)
    assert first_reach(len(data), smoothing) < 100
    summary = summarize_column(run_here([[data]]), query, smoothing=smoothing)
    assert len(summary.low) > 3500
    assert query.summary(summary, smoothing=smoothing) == query.summary(data, smoothing=smoothing)
    with pytest.raises(MoreNeeded):
        query.summary(replace(summary, low=summary.low[:50]), smoothing=smoothing)


def test_a_summary_is_for_its_window_and_bounds() -> None:
    summary = summarize_column(run_here([[np.arange(100.0)]]), Median((0, 10)), smoothing=1)
    for other in (Median((0, 11)), Mean((0, 10)), Quantile("0.3", bounds=(0, 10))):
        with pytest.raises(InvalidParameter):
            other.summary(summary, smoothing=1)


@given(st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=40))
def test_codes_are_in_order_and_invert(values: list[float]) -> None:
    array = np.array(values)
    codes = codes_of(array)
    assert (values_of(codes, whole=False) == array).all()
    order = np.argsort(codes, kind="stable")
    assert (np.diff(array[order]) >= 0).all()
    assert len(set(codes.tolist())) == len(set(values))


@given(st.lists(st.integers(-(2**62) + 1, 2**62 - 1), min_size=1, max_size=40))
def test_codes_of_whole_numbers(values: list[int]) -> None:
    array = np.array(values, dtype=np.int64)
    assert values_of(codes_of(array), whole=True).tolist() == values
    assert np.sort(codes_of(array)).tolist() == codes_of(np.sort(array)).tolist()


@settings(max_examples=60)
@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=60), st.integers(1, 5))
def test_any_data_and_any_split(values: list[float], parts: int) -> None:
    data = np.array(values)
    query = Median((-1000, 1000))
    partitions = split(np.random.default_rng(parts), data, parts=parts)
    summary = summarize_column(run_here(partitions), query, smoothing="0.3")
    found = query.summary(summary, smoothing="0.3")
    assert found == query.summary(data, smoothing="0.3")
    ordered = sorted(min(max(Fraction(v), Fraction(-1000)), Fraction(1000)) for v in values)
    middle = ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]
    assert found.value == middle / 2


@pytest.mark.parametrize(
    "column",
    [
        np.array([1.0, np.nan]),
        np.array([np.inf]),
        np.array(["a"]),
        np.array([True]),
        np.array([], dtype=float),
        np.array([2**63], dtype=np.uint64),
        np.array([1.0, None], dtype=object),
    ],
)
def test_bad_columns(column: np.ndarray[Any, Any]) -> None:
    with pytest.raises(InvalidData):
        summarize_column(run_here([[column]]), Median((0, 1)), smoothing=1)


def test_other_bad_input() -> None:
    query = TrimmedMean(1, bounds=(0, 1), truncate="output")
    with pytest.raises(InvalidParameter, match="output"):
        summarize_column(run_here([[np.arange(9.0)]]), query, smoothing=1)
    parts: list[Any] = [[np.arange(3)], [np.arange(3.0)]]
    with pytest.raises(InvalidData, match="one type"):
        summarize_column(run_here(parts), Median((0, 1)), smoothing=1)
    with pytest.raises(InvalidData):
        summarize_column(run_here([]), Median((0, 1)), smoothing=1)


# ---- randomise and count -----------------------------------------------------------------


def test_keyed_words_are_the_first_of_each_users_bits() -> None:
    users = [0, 1, "1", b"1", -5, 2**70, "ä"]
    words = keyed_words(users, key=KEY, collection=b"3")
    assert words.tolist() == [KeyedRandom(KEY, collection=b"3", user=u).bits(64) for u in users]
    assert len(set(words.tolist())) == len(users)
    assert set(words.tolist()).isdisjoint(keyed_words(users, key=KEY, collection=b"4").tolist())
    other = keyed_words(users, key=new_key(), collection=b"3")
    assert set(words.tolist()).isdisjoint(other.tolist())


def test_keyed_bits_are_uniform_and_do_not_repeat() -> None:
    words = keyed_words(range(40_000), key=KEY, collection=b"0")
    for shift in (0, 8, 32, 56):
        counts = np.bincount(
            ((words >> np.uint64(shift)) & np.uint64(255)).astype(int), minlength=256
        )
        expected = len(words) / 256
        # 255 degrees of freedom: 400 is passed with probability 1e-8.
        assert ((counts - expected) ** 2 / expected).sum() < 400
    source = KeyedRandom(KEY, collection=b"0", user=1)
    blocks = [source.bits(512) for _ in range(50)]
    assert len(set(blocks)) == 50


@pytest.mark.parametrize(
    ("protocol", "data"),
    [
        (BooleanSum(600, expected_random_users=100), np.arange(600) % 3 == 0),
        (RealSum(600, expected_random_users=100, n_bits=3), np.arange(600) / 600),
        (Histogram(600, n_bins=5, omission_probability="0.3"), np.arange(600) % 4),
    ],
)
def test_counts_are_those_of_every_user_once_however_they_are_split(
    protocol: Any, data: np.ndarray[Any, Any]
) -> None:
    users = np.array([f"user {i}" for i in range(600)])
    job = job_name(protocol, column="x", window=2)
    mark = MarkRows(protocol, KEY, job, with_users=False)([users, data]).data_mark
    name = noise_name(job, mark, key=KEY)
    expected: Counter[int] = Counter()
    for user, datum in zip(users.tolist(), data.tolist(), strict=True):
        datum = int(datum) if isinstance(datum, bool) else datum
        expected.update(protocol.randomize(datum, rng=KeyedRandom(KEY, collection=name, user=user)))
    source = np.random.default_rng(0)
    for parts in (1, 5):
        run = run_here(split(source, users, data, parts=parts))
        found = randomized_counts(run, protocol, key=KEY, column="x", window=2)
        assert dict(enumerate(found.messages.tolist())) == {
            value: expected[value] for value in range(len(found.messages))
        }
        again = randomized_counts(run, protocol, key=KEY, column="x", window=2)
        assert again.messages.tolist() == found.messages.tolist()
    if not isinstance(protocol, Histogram):
        true = data.sum() * (protocol.n_bits if isinstance(protocol, RealSum) else 1)
        assert abs(found.messages[1] - true) < 600


def test_the_estimate_from_keyed_counts_is_unbiased() -> None:
    protocol = BooleanSum(300, expected_random_users=100)
    run = run_here([[np.arange(300), (np.arange(300) < 90).astype(int)]])
    found = [
        protocol.estimate_from_total(
            int(randomized_counts(run, protocol, key=KEY, column="x", window=w).messages[1])
        )
        for w in range(400)
    ]
    deviation = float(protocol.noise_mse()) ** 0.5 / 20
    assert abs(np.mean(found) - 90) < 5 * deviation
    assert 0.8 < np.var(found) / float(protocol.noise_mse()) < 1.25


def test_bad_users_and_keys() -> None:
    protocol = BooleanSum(2, expected_random_users=1)
    names: dict[str, Any] = {"column": "x", "window": 0}
    with pytest.raises(InvalidParameter, match="32 bytes"):
        randomized_counts(run_here([]), protocol, key=b"short", **names)
    names["key"] = KEY
    bad = np.array([1.5, 2.5])
    with pytest.raises(InvalidData, match="named by"):
        randomized_counts(run_here([[bad, np.array([0, 1])]]), protocol, **names)
    with pytest.raises(InvalidData, match="n_users=2"):
        randomized_counts(run_here([[np.arange(3), np.zeros(3, int)]]), protocol, **names)
    with pytest.raises(InvalidData):
        randomized_counts(run_here([[np.arange(2), np.array([0, 2])]]), protocol, **names)


# ---- categories --------------------------------------------------------------------------


def test_categories_per_stratum() -> None:
    source = np.random.default_rng(5)
    strata = source.choice(["north", "south"], 2000)
    categories = source.integers(0, 6, 2000)
    expected: Counter[tuple[str, int]] = Counter(
        zip(strata.tolist(), categories.tolist(), strict=True)
    )
    found = category_counts(run_here(split(source, strata, categories, parts=6)), strata=True)
    assert {(s, c): n for s, table in found.items() for c, n in table.items()} == dict(expected)
    plain = category_counts(run_here(split(source, categories, parts=3)))
    assert sum(plain.values()) == 2000


def test_bad_categories() -> None:
    for missing in (None, float("nan")):
        with pytest.raises(InvalidData, match="missing"):
            category_counts(run_here([[np.array(["a", missing], dtype=object)]]))
    with pytest.raises(OutOfReach):
        category_counts(run_here([[np.arange(11)]]), most_categories=10)


def test_jobs_can_be_sent() -> None:
    from smoothdp.engines.codes import WHOLE
    from smoothdp.engines.column_jobs import CollectCells, SumBetween, TallyCells

    bounds = (Fraction(0), Fraction(1))
    for work in (TallyCells((WHOLE,)), CollectCells((WHOLE,)), SumBetween(0, 9, bounds)):
        assert pickle.loads(pickle.dumps(work)) == work
