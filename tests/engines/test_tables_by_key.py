"""Tables by key on any split of the rows, against the table of all rows in one place."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.engines import Job, release_table, run_here
from smoothdp.engines.by_key import far_groups, passes
from smoothdp.engines.by_key.buckets import Buckets
from smoothdp.engines.by_key.passes import CountGroups, Layout, LookInto, merge_first
from smoothdp.engines.by_key.release_table import layout_of
from smoothdp.engines.codes import codes_of
from smoothdp.errors import BudgetExceeded, InvalidData, InvalidParameter
from smoothdp.queries import (
    ClampedMean,
    Count,
    Median,
    Quantile,
    SkewedMean,
    Sum,
    TrimmedMean,
    Variance,
)
from smoothdp.queries.private_size.known_column import KnownColumn, KnownRanks
from smoothdp.queries.private_size.padded_window import PaddedWindow
from smoothdp.tables.request import TableRequest

Array = np.ndarray[Any, Any]
PURE = sd.PureDP(1, neighbours="add_remove")
KEYS = ["a", "b", "c"]


def split(source: np.random.Generator, columns: Sequence[Array], parts: int) -> list[list[Array]]:
    """Return partitions, some of them empty perhaps, in any order of rows."""
    order = source.permutation(len(columns[0]))
    cuts = np.sort(source.integers(0, len(order) + 1, parts - 1))
    return [[column[rows] for column in columns] for rows in np.split(order, cuts)]


def statistics(bounds: tuple[float, float]) -> dict[str, tuple[str | None, Any]]:
    return {
        "median": ("x", Median(bounds)),
        "low": ("x", Quantile("0.1", bounds=bounds)),
        "high": ("x", Quantile("0.9", bounds=bounds)),
        "sum": ("x", Sum(bounds, grid="1/10")),
        "with x": ("x", Count()),
        "rows": (None, Count()),
        "mean": ("x", ClampedMean(bounds)),
        "variance": ("x", Variance(bounds)),
    }


def data_of(name: str, source: np.random.Generator) -> tuple[Array, tuple[float, float]]:
    normal = source.normal(10, 5, 1500)
    normal[source.random(1500) < 0.1] = np.nan
    zeros = np.where(source.random(1200) < 0.6, 0.0, source.lognormal(0, 1, 1200))
    return {
        "normal": (normal, (0, 20)),
        "few": (normal[:25], (0, 20)),
        "none": (normal[:0], (0, 20)),
        "ties": (source.integers(0, 9, 1000), (2, 5)),
        "zeros": (zeros, (0, 100)),
        "all beyond": (np.full(300, 50.0), (0, 10)),
        "odd": (np.array([np.inf, -np.inf, np.nan, 1e308, -0.0, 0.0, 5e-324] * 20), (-1, 1)),
        "no float between": (np.array([0.1, 0.2] * 40), (0.1, float(np.nextafter(0.1, 1)))),
    }[name]


@pytest.fixture(params=["as it is", "few buckets"])
def buckets(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many buckets as there are, and so few that there are several passes."""
    if request.param == "few buckets":
        monkeypatch.setattr(passes, "FIRST_BUCKETS", 4)
        monkeypatch.setattr(far_groups, "LATER_BUCKETS", 8)


@pytest.mark.usefixtures("buckets")
@pytest.mark.parametrize(
    "name", ["normal", "few", "none", "ties", "zeros", "all beyond", "odd", "no float between"]
)
def test_equal_to_the_table_in_one_place(name: str) -> None:
    source = np.random.default_rng(11)
    values, bounds = data_of(name, source)
    groups = source.choice(np.array(["a", "b", "other"]), len(values), p=[0.6, 0.3, 0.1])
    asked: dict[str, Any] = {
        "by": "group",
        "keys": KEYS,
        "counts": True,
        "statistics": statistics(bounds),
        "guarantee": PURE,
    }
    here = sd.release_table({"group": groups, "x": values}, **asked, rng=sd.SeededRandom(3))
    run = run_here(split(source, [groups, values], 4))
    far = release_table(run, **asked, rng=sd.SeededRandom(3))
    assert far.columns() == here.columns()
    assert far.guarantee == here.guarantee
    assert far.sentence() == here.sentence()


@pytest.mark.parametrize("guess", [None, 50, {"a": 300, "b": 100, "c": 1}])
@pytest.mark.parametrize("confidence", [None, 0.9])
def test_sizes_that_are_guessed_and_intervals(guess: Any, confidence: float | None) -> None:
    source = np.random.default_rng(5)
    values, bounds = data_of("normal", source)
    groups = source.choice(np.array(["a", "b"]), len(values), p=[0.8, 0.2])
    asked: dict[str, Any] = {
        "by": ["group"],
        "keys": KEYS,
        "statistics": {"median": ("x", Median(bounds)), "mean": ("x", ClampedMean(bounds))},
        "guarantee": PURE,
        "n_guess": guess,
        "confidence": confidence,
    }
    here = sd.release_table({"group": groups, "x": values}, **asked, rng=sd.SeededRandom(4))
    run = run_here(split(source, [groups, values], 3))
    assert release_table(run, **asked, rng=sd.SeededRandom(4)).columns() == here.columns()


def test_private_keys_of_two_columns() -> None:
    source = np.random.default_rng(6)
    regions = source.choice(np.array(["N", "S"]), 3000)
    years = source.choice(np.array([2024, 2025, 2026]), 3000, p=[0.5, 0.499, 0.001])
    values = source.normal(10, 5, 3000)
    asked: dict[str, Any] = {
        "by": ["region", "year"],
        "keys": "private",
        "counts": True,
        "statistics": {"median": ("x", Median((0, 20)))},
        "guarantee": sd.ApproxDP(1, delta="1e-9", neighbours="add_remove"),
    }
    columns = {"region": regions, "year": years, "x": values}
    here = sd.release_table(columns, **asked, rng=sd.SeededRandom(7))
    runs = [run_here(split(source, list(columns.values()), parts)) for parts in (1, 3, 3)]
    far = [release_table(run, **asked, rng=sd.SeededRandom(7)).columns() for run in runs]
    # The same however the rows are split; the keys are those of all rows in one place.
    assert far[0] == far[1] == far[2]
    assert far[0]["region"] == here.columns()["region"] == ["N", "N", "S", "S"]
    assert far[0]["year"] == here.columns()["year"] == [2024, 2025, 2024, 2025]


def test_labels_that_mean_the_same_are_one_group_and_others_are_not() -> None:
    parts = [
        [np.array([1.0, 2.0] * 300)],
        [np.array([1, 1, "1", None] * 150, dtype=object)],
    ]
    table = release_table(
        run_here(parts),
        by="group",
        keys="private",
        statistics={"rows": (None, Count())},
        guarantee=sd.ApproxDP(9, delta="1e-9", neighbours="add_remove"),
        rng=sd.SeededRandom(1),
    )
    groups = {(type(key), key): cells["rows"].value for (key,), cells in table.groups.items()}
    assert set(groups) == {(int, 1), (int, 2), (str, "1")}
    assert abs(groups[int, 1] - 600) < 10


# ---- the passes


class Counted:
    """A run that counts its jobs, and sends parts as an engine does."""

    def __init__(self, partitions: Sequence[Sequence[Array]]) -> None:
        self.partitions, self.jobs, self.largest = partitions, 0, 0

    def __call__(self, job: Job[Any], /) -> Any:
        self.jobs += 1
        job = pickle.loads(pickle.dumps(job))
        parts = []
        for columns in self.partitions:
            sent = pickle.dumps(job.of(columns))
            self.largest = max(self.largest, len(sent))
            parts.append(pickle.loads(sent))
        merged = parts[0]
        for part in parts[1:]:
            merged = job.merge(merged, part)
        return merged


def test_two_passes_and_bounded_parts() -> None:
    """Of 40,000 rows some hundred values of each group leave a partition."""
    source = np.random.default_rng(8)
    groups = source.choice(np.array(["a", "b"]), 40_000)
    run = Counted(split(source, [groups, source.lognormal(3, 1, 40_000)], 2))
    release_table(
        run,
        by="group",
        keys=KEYS,
        statistics={"median": ("x", Median((0, 1000)))},
        guarantee=PURE,
        rng=sd.SeededRandom(2),
    )
    assert run.jobs == 2
    # 8 bytes each for place, two codes and a count, of two groups.
    assert run.largest < 2 * 4 * 8 * 2 * passes.FIRST_BUCKETS + 5000


def test_a_wrong_guess_of_what_is_read_costs_passes_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = np.random.default_rng(9)
    columns = [source.choice(np.array(["a", "b"]), 5000), source.normal(0, 1, 5000)]
    asked: dict[str, Any] = {
        "by": "group",
        "keys": KEYS,
        "statistics": {"median": ("x", Median((-9, 9)))},
        "guarantee": PURE,
    }
    run = Counted(split(source, columns, 3))
    told = release_table(run, **asked, rng=sd.SeededRandom(2)).columns()
    usual = run.jobs
    monkeypatch.setattr(far_groups.FarGroups, "look_ahead", lambda _: None)
    assert release_table(run, **asked, rng=sd.SeededRandom(2)).columns() == told
    assert run.jobs > 2 * usual


@pytest.mark.parametrize("most", [1, 3, 10, 1000])
@pytest.mark.parametrize("seed", range(4))
def test_ranks_lie_where_the_buckets_say(most: int, seed: int) -> None:
    source = np.random.default_rng(seed)
    codes = source.integers(0, 60 if seed % 2 else 10**6, 700).astype(np.uint64)
    places = source.integers(0, 3, 700)
    parts = np.array_split(np.arange(700), 7)
    made = [Buckets.of(places[rows], codes[rows], most=most) for rows in parts]
    merged = made[0]
    for one in made[1:]:
        merged = one.merged(merged, most=most)
    for place in range(3):
        here, values = merged.group(place), np.sort(codes[places == place])
        assert here.counts.sum() == len(values)
        assert len(here.counts) <= 2 * most + 1
        for first, last in [(1, 1), (1, len(values)), (50, 60), (len(values), len(values))]:
            low, high = here.around(first, last)
            assert low <= values[first - 1]
            assert values[last - 1] <= high
        # As many values begin below a code as there are, or more; and end below it, or fewer.
        for code in codes[:50]:
            assert here.counts[here.high < code].sum() <= (values < code).sum()
            assert here.counts[here.low < code].sum() >= (values < code).sum()
    assert Buckets.of(places, codes, most=1000).is_exact


def layout(keys: object) -> tuple[Layout, TableRequest]:
    request = TableRequest.read(
        by="group",
        keys=keys,
        statistics={"median": ("x", Median((0, 9))), "sum": ("x", Sum((0, 9), grid=1))},
        guarantee=PURE,
    )
    return layout_of(request), request


def test_counts_and_sums_are_those_of_a_loop() -> None:
    source = np.random.default_rng(10)
    groups, values = source.choice(np.array(["a", "b"]), 200), source.integers(-3, 15, 200)
    plan, request = layout(KEYS)
    count = CountGroups(plan, request.keys)
    part = merge_first(
        merge_first(count([groups[:90], values[:90]]), count.nothing),
        merge_first(count.nothing, count([groups[90:], values[90:]])),
    )
    for place, key in enumerate(part.keys):
        mine = values[groups == key[0]]
        assert part.rows[place] == len(mine)
        assert part.sums["sum"][place] == (sum(min(max(int(v), 0), 9) for v in mine),)


def test_a_later_pass_sees_its_interval_alone() -> None:
    plan, request = layout(["a"])
    values = np.array([1.0, 2, 2, 3, 4, np.nan, -5])
    codes = codes_of(np.array([2.0, 3.0]))
    between = passes.Between(int(codes[0]), int(codes[1]), 10)
    look = LookInto(plan, "median", request.keys, (between,))
    told = look([np.array(["a"] * 7), values])
    assert told.below.tolist() == [2]
    assert told.buckets.counts.tolist() == [2, 1]


@pytest.mark.parametrize("level", ["0.5", "0.1", "0.9", "1"])
@pytest.mark.parametrize("seed", range(6))
def test_a_column_that_is_not_here_has_the_same_sensitivity(level: str, seed: int) -> None:
    """Every rank is asked for on demand; values and bounds as where all are here."""
    source = np.random.default_rng(seed)
    n = int(source.integers(0, 60))
    values = np.sort(
        source.choice([0.0, 0.5, 1.0, 2.0, 7.5, 12.0], n) if seed % 2 else source.normal(5, 4, n)
    )
    asked: list[tuple[int, int]] = []

    def more(first: int, last: int) -> KnownRanks:
        asked.append((first, last))
        runs, counts = np.unique(values, return_counts=True)
        ends = np.cumsum(counts)
        some = (ends >= first) & (ends - counts < last)
        below = int((ends - counts)[some][0])
        return KnownRanks(n, below, runs[some], counts[some].astype(np.int64))

    nothing = KnownRanks(n, 0, np.zeros(0), np.zeros(0, np.int64))
    window = PaddedWindow(level, bounds=(0, 10), width="7/2")
    for smoothing in ("0.05", "1"):
        column = KnownColumn(nothing, more)
        far, here = (window.summary(x, smoothing=smoothing) for x in (column, values))
        assert (far.n_records, far.value) == (here.n_records, here.value)
        assert far.smooth_sensitivity() == here.smooth_sensitivity()
    assert bool(asked) == bool(n)


def test_the_ranks_that_are_looked_ahead_for_hold_the_window() -> None:
    for level in ("1/10", "1/2", "9/10"):
        window = PaddedWindow(level, bounds=(0, 1), width=5)
        first, last = window.first_ranks(10_000, smoothing=Fraction(1, 10))
        assert first < Fraction(level) * 10_000 - 2.5 < Fraction(level) * 10_000 + 2.5 < last
        assert last - first < 3000


# ---- refusals, and the ledger


@pytest.mark.parametrize("query", [TrimmedMean("0.1", bounds=(0, 9)), SkewedMean((0, 9))])
def test_what_needs_all_rows_in_one_place_is_refused(query: Any) -> None:
    with pytest.raises(InvalidParameter, match="in one place"):
        release_table(
            run_here([]), by="g", keys=KEYS, statistics={"s": ("x", query)}, guarantee=PURE
        )


def test_persons_are_refused_in_words() -> None:
    with pytest.raises(InvalidParameter, match="in one place"):
        release_table(
            run_here([]),
            by="g",
            keys=KEYS,
            statistics={"n of g": ("g", Count())},
            guarantee=PURE,
            person=sd.Person("id", rows=2),  # type: ignore[arg-type]
        )


def test_a_type_without_numbers_is_refused_and_rows_never_are(tmp_path: Any) -> None:
    asked: dict[str, Any] = {
        "by": "group",
        "keys": KEYS,
        "statistics": {"mean": ("x", ClampedMean((0, 9)))},
        "guarantee": PURE,
    }
    ledger = sd.Ledger(tmp_path / "ledger.db", budget=sd.PureDP(1, neighbours="add_remove"))
    with pytest.raises(InvalidData, match="numbers"):
        release_table(
            run_here([[np.array(["a"]), np.array(["2026-01-01"], "M8[D]")]]),
            **asked,
            ledger=ledger,
        )
    odd = [np.array([None, 3, "a", b"x"], object), np.array([None, "x", 2, 10**400], object)]
    table = release_table(run_here([odd]), **asked, ledger=ledger)
    assert [key for (key,) in table.groups] == KEYS
    with pytest.raises(BudgetExceeded):
        release_table(run_here([odd]), **asked, ledger=ledger)


def test_no_partitions_are_a_table_of_no_rows() -> None:
    asked: dict[str, Any] = {
        "by": "group",
        "keys": KEYS,
        "counts": True,
        "statistics": statistics((0, 9)),
        "guarantee": PURE,
        "rng": sd.SeededRandom(1),
    }
    nothing: Mapping[str, list[Any]] = {"group": [], "x": []}
    here = sd.release_table(nothing, **asked)
    asked["rng"] = sd.SeededRandom(1)
    assert release_table(run_here([]), **asked).columns() == here.columns()
