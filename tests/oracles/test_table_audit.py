"""Tables from end to end: audited with a declared rate, wrong mechanisms found; bad input; size."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import smoothdp as sd
from smoothdp.data.read_table import read_table
from smoothdp.errors import IncompatibleClaims, InvalidData, InvalidParameter, SmoothdpError
from smoothdp.tables import table_mechanism
from smoothdp.tables.kept_rows import public_groups, shown_groups
from smoothdp.tables.private_keys import KeySelection
from smoothdp.tables.request import TableRequest
from smoothdp.tables.table_mechanism import TableMechanism
from smoothdp.testing import frequency_test

AR = "add_remove"
ALARM = 1e-6
"""The rate of false alarms of one audit: all events and both directions together."""
RUNS = 400
EPSILON, DELTA = 2, 0.002
Columns = dict[str, list[Any]]
Event = Callable[[Columns], bool]


def approx(epsilon: float = EPSILON, delta: object = DELTA) -> sd.ApproxDP:
    return sd.ApproxDP(epsilon, delta=delta, neighbours=AR)  # type: ignore[arg-type]


def mechanism(**changes: Any) -> TableMechanism:
    asked: dict[str, Any] = {
        "by": "key",
        "keys": "private",
        "statistics": {"median": ("v", sd.queries.Median((0, 100)))},
        "guarantee": approx(),
        "person": sd.Person("id", rows=1),
        "counts": True,
    }
    return TableMechanism.of(TableRequest.read(**{**asked, **changes}))


def released(maker: TableMechanism, rows: Columns, seed: int, runs: int = RUNS) -> list[Columns]:
    table = read_table(rows, categories=maker.request.read_columns, numbers=["v"])
    rng = sd.SeededRandom(seed)
    return [maker.release(table, rng=rng).columns() for _ in range(runs)]


def of(*parts: tuple[list[int], str, int]) -> Columns:
    """Return rows: (ids, key, value) for each part."""
    return {
        "id": [i for ids, _, _ in parts for i in ids],
        "key": [key for ids, key, _ in parts for _ in ids],
        "v": [value for ids, _, value in parts for _ in ids],
    }


def is_caught(first: list[Columns], second: list[Columns], events: list[Event]) -> bool:
    """Whether some event is more likely than (epsilon, delta) allows, in either direction.

    Exact binomial limits at ALARM over the number of limits: false with at most ALARM.
    """
    share = ALARM / (4 * len(events))
    for event in events:
        for one, other in ((first, second), (second, first)):
            hits, rest = sum(map(event, one)), sum(map(event, other))
            least = stats.beta.ppf(share, hits, RUNS - hits + 1) if hits else 0.0
            most = stats.beta.ppf(1 - share, rest + 1, RUNS - rest) if rest < RUNS else 1.0
            if least > math.exp(EPSILON) * most + DELTA:
                return True
    return False


def median_above(limit: float) -> Event:
    return lambda columns: any(value > limit for value in columns["median"])


OTHERS = (list(range(30)), "a", 0)
HEAVY = ([99] * 200, "a", 100)
LONELY = ([99], "b", 100)
EVENTS: list[Event] = [
    *(median_above(limit) for limit in (1.0, 25.0, 50.0, 90.0)),
    *((lambda columns, key=key: key in columns["key"]) for key in ("a", "b")),
    *(
        (lambda columns, n=n: any(count > n for count in columns["n"]))
        for n in (25, 29, 30, 31, 60)
    ),
]
CASES = [(of(OTHERS), of(OTHERS, HEAVY)), (of(OTHERS), of(OTHERS, LONELY))]


@pytest.mark.parametrize("tables", CASES, ids=["many rows", "a key of one's own"])
def test_a_person_is_not_caught(tables: tuple[Columns, Columns]) -> None:
    maker = mechanism()
    assert not is_caught(released(maker, tables[0], 1), released(maker, tables[1], 2), EVENTS)


def test_statistics_on_all_rows_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = shown_groups

    def on_all(table: Any, *, by: Any, selection: Any, person: Any, rng: Any) -> Any:
        keys, groups, counts = right(table, by=by, selection=selection, person=person, rng=rng)
        if not keys:
            return keys, groups, counts
        return keys, public_groups(table, by=by, keys=keys, person=None, rng=rng), counts

    monkeypatch.setattr(table_mechanism, "shown_groups", on_all)
    maker = mechanism()
    assert is_caught(released(maker, CASES[0][0], 3), released(maker, CASES[0][1], 4), EVENTS)


def test_keys_without_noise_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        KeySelection, "shown", lambda _self, counts, _rng: (np.arange(len(counts)), counts)
    )
    maker = mechanism()
    assert is_caught(released(maker, CASES[1][0], 5), released(maker, CASES[1][1], 6), EVENTS)


def test_persons_without_bounds_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "smoothdp.tables.kept_rows.bound_rows", lambda persons, *_: np.arange(len(persons))
    )
    maker = mechanism()
    assert is_caught(released(maker, CASES[0][0], 7), released(maker, CASES[0][1], 8), EVENTS)


@pytest.mark.parametrize("counts", [True, False])
def test_keys_show_as_often_as_the_law_says(counts: bool) -> None:
    """Two-sided: neither less nor more; keys of 1 to 12 persons, some with many rows each."""
    maker = mechanism(counts=counts, statistics={}, guarantee=approx(0.5, 0.02))
    parts = []
    for n in range(1, 13):
        ids = [100 * n + i for i in range(n)]
        parts.append((ids + ids[:1] * n, f"key {n}", 0))
    rows = of(*parts)
    table = read_table(rows, categories=["id", "key"], numbers=[])
    rng = sd.SeededRandom(9)
    runs = 1500
    seen: dict[str, int] = {}
    for _ in range(runs):
        for key in maker.release(table, rng=rng).groups:
            seen[str(key[0])] = seen.get(str(key[0]), 0) + 1
    assert maker.request.selection is not None
    law = maker.request.selection.law
    for n in range(1, 13):
        hits, chance = seen.get(f"key {n}", 0), law.show_probability(n)
        assert frequency_test([runs - hits, hits], [1 - chance, chance]) > ALARM / 12
    wrong = law.show_probability(9)
    assert frequency_test([runs - seen["key 6"], seen["key 6"]], [1 - wrong, wrong]) < ALARM


def test_what_it_says() -> None:
    rows = of((list(range(2000)), "a", 5), (list(range(2000)), "b", 7), ([0], "rare", 9))
    person = sd.Person("id", rows=4, groups=2, rows_per_group=3)
    table = sd.release_table(
        rows,
        by="key",
        keys="private",
        statistics={"median": ("v", sd.queries.Median((0, 10)))},
        guarantee=approx(4, "1e-9"),
        person=person,
        counts=True,
    )
    assert table.columns()["key"] == ["a", "b"]
    assert table.unit == "person"
    assert table.is_private
    assert table.guarantee == approx(4, "1e-9")
    assert table.spent["keys"] == approx(0.4, "1e-9")
    assert table.spent["median"] == sd.PureDP("3.6", neighbours=AR)
    assert "one person's rows" in table.sentence()
    assert (
        "at most 4 rows of each person, in at most 2 groups, at most 3 in each" in table.sentence()
    )
    assert all(abs(n - 2000) < 200 for n in table.columns()["n"])
    assert "persons" in table.statistics["n"]
    assert '"rows_per_group": 3' in table.to_json()


def test_parts_of_public_keys_add_up_for_a_person() -> None:
    rows = of((list(range(500)), "a", 5))
    whole = sd.ZCDP("0.5", neighbours=AR)
    table = sd.release_table(
        rows,
        by="key",
        keys=["a", "none"],
        statistics={"median": ("v", sd.queries.Median((0, 10)))},
        guarantee=whole,
        person=sd.Person("id", rows=5, rows_per_group=2),
        counts=True,
    )
    rhos = [part.exact_rho for part in table.spent.values() if isinstance(part, sd.ZCDP)]
    assert sum(rhos) == whole.exact_rho
    assert list(table.groups) == [("a",), ("none",)]


def test_the_order_of_keys_tells_nothing_of_the_rows() -> None:
    rows = of((list(range(300)), "b", 1), (list(range(300, 600)), "a", 1))
    mirrored = {name: column[::-1] for name, column in rows.items()}
    maker = mechanism(statistics={}, guarantee=approx(20, "1e-9"))
    for data in (rows, mirrored):
        assert released(maker, data, 1, runs=1)[0]["key"] == ["a", "b"]
    numbers: Columns = {
        "id": list(range(300)),
        "key": [1.0, 1, np.float64(1)] * 100,
        "v": [0] * 300,
    }
    for turn in range(3):
        turned = {name: values[turn:] + values[:turn] for name, values in numbers.items()}
        (label,) = released(maker, turned, 1, runs=1)[0]["key"]
        assert (label, type(label)) == (1, int)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"guarantee": sd.PureDP(1, neighbours=AR)}, IncompatibleClaims),
        ({"guarantee": sd.ZCDP(1, neighbours=AR)}, IncompatibleClaims),
        ({"guarantee": approx(1, 0)}, IncompatibleClaims),
        ({"guarantee": approx(0, 0.1)}, IncompatibleClaims),
        ({"guarantee": sd.ApproxDP(1, delta="1e-6")}, IncompatibleClaims),
        ({"shares": {"n": "0.1"}}, InvalidParameter),
        ({"n_guess": {"a": 5}}, InvalidParameter),
        ({"person": "id"}, InvalidParameter),
        ({"keys": "privat"}, InvalidParameter),
    ],
)
def test_refused_without_data(changes: dict[str, Any], error: type[SmoothdpError]) -> None:
    with pytest.raises(error):
        mechanism(**changes)


def test_no_column_of_ids_is_refused_and_rows_never_are() -> None:
    asked: dict[str, Any] = {
        "by": "key",
        "keys": "private",
        "statistics": {"median": ("v", sd.queries.Median((0, 10)))},
        "guarantee": approx(),
        "person": sd.Person("id", rows=2),
    }
    with pytest.raises(InvalidData, match="'id'"):
        sd.release_table({"key": ["a"], "v": [1]}, **asked)
    strange: list[Columns] = [
        {"id": [], "key": [], "v": []},
        {"id": [None, math.nan], "key": ["a", "a"], "v": [1, 2]},
        {"id": [1, "1", True, 1.0], "key": [None, 10**400, math.inf, True], "v": [None, "x", 1, 2]},
    ]
    for rows in strange:
        for changes in ({}, {"keys": ["a"]}, {"person": None}):
            sd.release_table(rows, **{**asked, **changes})


@pytest.mark.parametrize("most", [200_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_a_million_private_keys(most: int) -> None:
    """Linear time: ten times the keys in less than forty times the time, and none shown."""
    maker = mechanism(guarantee=approx(1, "1e-9"))
    took = []
    for n in (most // 10, most):
        rows = {"id": np.arange(n), "key": np.arange(n), "v": np.zeros(n)}
        table = read_table(rows, categories=["id", "key"], numbers=["v"])
        start = time.perf_counter()
        assert not maker.release(table, rng=sd.SystemRandom()).groups
        took.append(time.perf_counter() - start)
    assert took[1] < 40 * max(took[0], 0.02)


def test_many_keys_of_one_person_use_the_exact_composition() -> None:
    """With hundreds of keys a person, each key gets more than an equal part of epsilon."""
    person = sd.Person("id", rows=300, rows_per_group=1)
    maker = mechanism(person=person, statistics={}, guarantee=approx(1, "1e-6"))
    selection = maker.request.selection
    assert selection is not None
    law = selection.law
    assert law.exact_epsilon > selection.guarantee.exact_epsilon / 300  # type: ignore[operator]
    assert law.delta(selection.guarantee.exact_epsilon, n_keys=300) <= 1e-6
