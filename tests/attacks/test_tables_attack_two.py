"""Attacks on tables from their claims alone: what rows may tell, the laws, costs, and labels.

Everything random has a fixed seed. Each test of a law rejects the right one with a probability of
1e-6 over seeds, and shows that a law which is a little off is rejected.
"""

from __future__ import annotations

import datetime
import itertools
import json
import math
import random
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import smoothdp as sd
from smoothdp.engines import release_table as release_far, run_here
from smoothdp.exact.probabilities.discrete_gaussian_mu import sigma_squared_of_mu
from smoothdp.tables.grouping import told_apart

_FALSE_ALARM = 1e-6
PURE = sd.PureDP(1, neighbours="add_remove")
SURE = sd.ApproxDP(100, delta="0.9", neighbours="add_remove")
"""Shows every key of two rows, with its true count."""
EXACT = sd.PureDP(280, neighbours="add_remove")


class _Evil:
    def __float__(self) -> float:
        raise ValueError("told")

    def __repr__(self) -> str:
        raise RuntimeError("told")

    def __hash__(self) -> int:
        raise ValueError("told")


ODD: list[Any] = [
    *(None, 3, 3.5, math.nan, math.inf, -math.inf, 10**400, 2**63, 2**53 + 1, "3", "", b"3", True),
    *(Decimal("1e999999"), Decimal("nan"), Decimal("snan"), Decimal("2.50"), Fraction(1, 3), 1j),
    *([1], {}, (0,), _Evil(), np.float32(2.1), np.int64(3), np.array([1, 2]), np.bool_(True)),
    *(datetime.date(2020, 1, 1), np.datetime64("NaT"), -0.0, 1e-320, "\ud800", "9" * 5000, 0, 1.0),
    *(np.longdouble("1e4000"), Fraction(10**400, 7), object),
]
STATISTICS: dict[str, Any] = {
    "m": ("v", sd.queries.Median((0, 10)), {"round_to": 1}),
    "s": ("v", sd.queries.Sum((0, 10), grid=1)),
    "me": ("v", sd.queries.ClampedMean((0, 10))),
    "c": ("v", sd.queries.Count()),
}


def _table(data: object, **more: Any) -> sd.tables.ReleasedTable:
    asked = {"by": "k", "keys": [0, 1], "statistics": {}, "guarantee": PURE, "counts": True}
    return sd.release_table(data, **{**asked, "rng": sd.SeededRandom(5), **more})


def _seen(data: object, **more: Any) -> object:
    """Return all that a release tells but the numbers that a sampler drew."""
    steps: list[tuple[int, int]] = []
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            table = _table(data, **more, progress=lambda *step: steps.append(step))
        except Exception as error:
            return type(error), str(error)
        frame = table.to_frame()
        kinds = {name: [type(one) for one in cells] for name, cells in table.columns().items()}
        words = {**table.to_dict(), "columns": 0, "notes": 0}
    return repr(kinds), str(frame.dtypes), repr(words), steps, [str(one) for one in warned]


@pytest.mark.parametrize("place", ["k", "v", "id"])
@pytest.mark.parametrize("is_person", [False, True])
def test_no_row_is_noticed_but_by_the_noise(place: str, is_person: bool) -> None:
    more: dict[str, Any] = {"statistics": STATISTICS, "confidence": "0.9"}
    if is_person:
        more["person"] = sd.Person("id", rows=2, groups=1)
    rows: dict[str, list[Any]] = {"k": [0, 1, 1], "v": [1, 2, 3], "id": [1, 2, 3]}
    usual = _seen(rows, **more)
    assert not isinstance(usual, tuple) or not isinstance(usual[0], type)
    for odd in ODD:
        longer = {name: [*column, 1] for name, column in rows.items()}
        longer[place][-1] = odd
        assert _seen(longer, **more) == usual
    assert _seen({"k": [], "v": [], "id": []}, **more) == usual


def test_no_file_is_noticed_but_by_the_noise(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    more: dict[str, Any] = {"statistics": STATISTICS, "keys": ["a", "b"]}
    told = []
    for body in (
        b"a,1\nb,2\n",
        b"",
        b'a,"1\n2"\n',
        b'a,"1\nb,2\n',
        b"a\n",
        b"a,1,2,3\n\n \n",
        b"\xff\xfe,1\n",
        b"a\0,1\n",
        b"a,1\rb,2\r",
        b"a," + b"9" * 100_000 + b"\n",
        b"a,inf\na,nan\na,1_0\na,0x10\n",
        "a,\u0661\n\u2028,1\n".encode(),
    ):
        path.write_bytes(b"k,v\n" + body)
        told.append(_seen(str(path), **more))
    assert all(one == told[0] for one in told)
    assert not isinstance(told[0], tuple) or not isinstance(told[0][0], type)


def _shown(keys: list[Any], **more: Any) -> list[tuple[str, int]]:
    columns = _table({"k": keys}, keys="private", guarantee=SURE, **more).columns()
    return sorted(zip(map(repr, columns["k"]), columns["n"], strict=True))


def test_a_label_is_a_matter_of_its_own_row() -> None:
    """No other row decides how a key is read: two keys are two groups, or one of both."""
    numbers = [2**53, 2**53 + 1, float(2**53), 2**64, 0.1, np.float32(0.1), "1", 1, Decimal("1.0")]
    ours = [*ODD[:14:2], *ODD[14::3], *numbers]
    alone = [_shown([one] * 2) for one in ours]
    for (one, mine), (other, theirs) in itertools.product(zip(ours, alone, strict=True), repeat=2):
        both = _shown([one, one, other, other])
        together = sorted([*mine, *theirs])
        if mine == theirs:
            together = [(label, 2 * n) for label, n in mine]
        # A truth value beside a number is a text: the next test.
        assert sorted((label.replace("'True'", "True"), n) for label, n in both) == together


def test_true_is_not_shown_as_one() -> None:
    """A mapping held True and 1 as one key: the numbers of True stood under the label 1."""
    keys = [1] * 9 + [True] * 4 + [1.0] * 2
    shown = dict(_shown(keys))
    assert shown == {"1": 11, "'True'": 4}
    column = np.array(keys, dtype=object)
    far = release_far(
        run_here([[column[:5]], [column[5:]]]),
        by="k",
        keys="private",
        statistics={},
        guarantee=SURE,
        counts=True,
    )
    assert far.columns()["n"] == [11, 4]
    assert _shown([True] * 4) == [("True", 4)]
    apart = told_apart([(1, True), (True, True), ("True", False)])
    assert apart == [(1, True), ("True (truth value)", True), ("True", False)]
    assert told_apart([]) == []


def test_a_key_of_half_a_character_makes_a_frame() -> None:
    frame = _table({"k": ["\ud800"] * 4}, keys="private", guarantee=SURE).to_frame()
    assert frame["k"].tolist() == ["\\ud800"]


def _decimal_columns() -> Mapping[str, Callable[[], Any]]:
    import duckdb
    import polars
    import pyarrow

    values = [Decimal("1.00"), Decimal("2.00"), Decimal("0.10")]
    arrow = pyarrow.table({"k": pyarrow.array(values, pyarrow.decimal128(10, 2))})
    return {
        "list": lambda: {"k": values},
        "pyarrow": lambda: arrow,
        "polars": lambda: polars.from_arrow(arrow),
        "pandas": lambda: arrow.to_pandas(),
        "duckdb": lambda: duckdb.sql("select * from (values (1.0), (2.0), (0.1)) t(k)"),
        "wide": lambda: {"k": np.array([1, 2, 0.1], np.longdouble).astype(np.longdouble)},
        "fractions": lambda: {"k": [Fraction(1), Fraction(2), 0.1]},
    }


_WAYS = ("list", "pyarrow", "polars", "pandas", "duckdb", "wide", "fractions")


@pytest.mark.parametrize("way", _WAYS)
def test_decimals_are_the_numbers_that_they_write(way: str) -> None:
    """Rows of a column of decimals were in no group, though it was taken as one of numbers."""
    columns = _decimal_columns()
    assert set(columns) == set(_WAYS)
    data = columns[way]()
    keys = [1, 2] if way == "wide" else [1, 2, 0.1]
    assert _table(data, keys=keys, guarantee=EXACT).columns()["n"] == [1] * len(keys)
    if way != "wide":
        kept = _table(data, keys=keys, guarantee=EXACT, where={"k": [2, 0.1]})
        assert kept.columns()["n"] == [0, 1, 1]


def test_one_person_is_not_two_by_the_zeros_of_an_id() -> None:
    def kept(ids: list[Any]) -> int:
        rows = {"k": [0] * len(ids), "id": ids}
        table = _table(rows, keys=[0], person=sd.Person("id", rows=1), guarantee=EXACT)
        return int(table.columns()["n"][0])

    assert kept([Decimal("1"), Decimal("1.0"), 1, 1.0, np.longdouble(1), Fraction(1)]) == 1
    assert kept([Decimal("0.1"), Decimal("0.10"), 0.1]) == 1
    # And different ones stay apart, however many digits they have.
    assert (
        kept([Decimal(10**37 + 1), Decimal(10**37 + 2), Decimal("0.1" + "0" * 30 + "1"), 0.1]) == 4
    )
    assert kept([Decimal("nan"), Decimal("snan"), None, math.nan]) == 0


def test_a_ledger_keeps_the_unit_of_a_table_that_is_charged_later(tmp_path: Path) -> None:
    rows = {"k": [0], "id": [1]}
    persons = [_table(rows, person=sd.Person(name, rows=1)) for name in ("id", "k")]
    of_rows = _table(rows)
    for n, (first, second) in enumerate(itertools.permutations([*persons, of_rows], 2)):
        budget = sd.PureDP(9, neighbours="add_remove")
        ledger = sd.Ledger(tmp_path / f"{n}.db", budget=budget)
        ledger.charge(first)
        ledger.charge(first)
        with pytest.raises(sd.errors.IncompatibleClaims):
            ledger.charge(second)
        assert len(ledger.entries()) == 2


def test_a_ledger_is_charged_before_anything_is_drawn(tmp_path: Path) -> None:
    ledger = sd.Ledger(tmp_path / "a.db", budget=sd.PureDP(9, neighbours="add_remove"))

    def stop(*_: object) -> bool:
        raise KeyboardInterrupt

    rows = {"k": [0, 1], "v": [1, 2]}
    with pytest.raises(KeyboardInterrupt):
        _table(rows, ledger=ledger, where=stop)
    with pytest.raises(sd.errors.InvalidData):
        _table({"k": [0, 1], "v": [1]}, ledger=ledger, statistics=STATISTICS)
    assert ledger.entries() == []
    with pytest.raises(KeyboardInterrupt):
        _table(rows, ledger=ledger, progress=stop)
    assert len(ledger.entries()) == 1


def _misfit(drawn: Counter[Any], law: Mapping[Any, float], n: int) -> float:
    """Return the p value of chi-squared, outcomes that are rare taken together."""
    frequent = {one: p * n for one, p in law.items() if p * n >= 8}
    terms = [(drawn[one] - mean) ** 2 / mean for one, mean in frequent.items()]
    rest, rare = n - sum(drawn[one] for one in frequent), n - sum(frequent.values())
    if rare > 1:
        terms.append((rest - rare) ** 2 / rare)
    return float(stats.chi2.sf(sum(terms), len(terms) - 1))


def _laplace(epsilon: float) -> dict[int, float]:
    p = math.exp(-epsilon)
    return {z: (1 - p) / (1 + p) * p ** abs(z) for z in range(-300, 301)}


def _gaussian(variance: float) -> dict[int, float]:
    weights = {z: math.exp(-z * z / (2 * variance)) for z in range(-300, 301)}
    return {z: weight / sum(weights.values()) for z, weight in weights.items()}


@pytest.mark.parametrize(
    ("guarantee", "law"),
    [
        (sd.PureDP(2, neighbours="add_remove"), lambda size, off: _laplace(2 / 3 * off / size)),
        (
            sd.ZCDP("0.5", neighbours="add_remove"),
            lambda size, off: _gaussian(size**2 / (2 * 0.5 / 3 * off)),
        ),
    ],
)
@pytest.mark.parametrize("n", [1500, pytest.param(20_000, marks=pytest.mark.slow)])
def test_counts_and_sums_have_the_law_that_their_share_pays_for(
    guarantee: Any, law: Any, n: int
) -> None:
    """Every group of a table has the same three rows, so one table is n draws."""
    rows = {"k": np.repeat(np.arange(n), 3), "v": np.tile([1.0, 3.0, math.nan], n)}
    statistics = {"s": STATISTICS["s"], "c": STATISTICS["c"]}
    statistics["s"] = ("v", sd.queries.Sum((0, 3), grid=1))
    shares = dict.fromkeys(["n", "s", "c"], Fraction(1, 3))
    asked = {"keys": list(range(n)), "statistics": statistics, "shares": shares}
    columns = _table(rows, guarantee=guarantee, **asked).columns()
    for name, truth, size in (("n", 3, 1), ("s", 4, 3), ("c", 2, 1)):
        drawn = Counter(int(value) - truth for value in columns[name])
        assert _misfit(drawn, law(size, 1), n) > _FALSE_ALARM
        assert _misfit(drawn, law(size, 1.5), n) < _FALSE_ALARM
    for one, other in itertools.combinations("nsc", 2):
        signs = [
            np.sign(np.array(columns[name]) - np.median(columns[name])) for name in (one, other)
        ]
        assert abs(np.corrcoef(signs)[0, 1]) * math.sqrt(n) < 5


def test_private_keys_have_the_law_that_their_share_pays_for() -> None:
    """A tenth of epsilon and all of delta: so many rows, shown with so much noise."""
    counted = {"all": (None, sd.queries.Count())}
    n, rows = 1500, 3
    guarantee = sd.ApproxDP(10, delta="0.1", neighbours="add_remove")
    data = {"k": np.repeat(np.arange(n), rows)}
    table = _table(data, keys="private", guarantee=guarantee, statistics=counted)
    drawn = Counter(table.columns()["n"])
    drawn["hidden"] = n - len(table.groups)
    for epsilon, fits in ((1.0, True), (1.5, False)):
        p = math.exp(-epsilon)
        # The least k with d = Q p^k at most delta, by trying.
        norms = [(1 - p) / (1 + p - 2 * p ** (k + 1)) for k in range(99)]
        reach = next(k for k, norm in enumerate(norms) if norm * p**k <= 0.1)
        law: dict[Any, float] = defaultdict(float)
        for z in range(-reach, reach + 1):
            value = rows + z if rows + z > reach else "hidden"
            law[value] += norms[reach] * p ** abs(z)
        assert (_misfit(drawn, law, n) > _FALSE_ALARM) is fits


def _kept_law(groups: int, per_group: int, most: int) -> dict[tuple[int, ...], float]:
    """Return the law of kept rows by group of a person with 3, 2 and 1 rows, by all cases."""
    rows = [0, 0, 0, 1, 1, 2]
    law: dict[tuple[int, ...], float] = defaultdict(float)
    for chosen in (sets := list(itertools.combinations(range(3), min(groups, 3)))):
        of_each = [[i for i, group in enumerate(rows) if group == one] for one in chosen]
        drawn = [list(itertools.combinations(one, min(per_group, len(one)))) for one in of_each]
        for parts in (all_parts := list(itertools.product(*drawn))):
            kept = list(itertools.chain(*parts))
            for last in (ends := list(itertools.combinations(kept, min(most, len(kept))))):
                found = tuple(sum(rows[i] == group for i in last) for group in range(3))
                law[found] += 1 / (len(sets) * len(all_parts) * len(ends))
    return law


@pytest.mark.parametrize(
    ("caps", "wrong"), [((2, 2, 3), (2, 3, 3)), ((1, 2, 2), (2, 2, 2)), ((4, 4, 4), (4, 2, 4))]
)
def test_kept_rows_have_the_law_of_the_person(
    caps: tuple[int, int, int], wrong: tuple[int, int, int]
) -> None:
    n = 1500
    order = np.random.default_rng(1).permutation(6 * n)
    ids = np.repeat(np.arange(n), 6)[order]
    rows = {"a": ids, "j": np.tile([0, 0, 0, 1, 1, 2], n)[order], "id": ids}
    groups, per_group, most = caps
    person = sd.Person("id", rows=most, groups=groups, rows_per_group=per_group)
    keys = {"a": list(range(n)), "j": [0, 1, 2]}
    table = _table(rows, by=["a", "j"], keys=keys, person=person, guarantee=EXACT)
    kept = Counter(map(tuple, np.array(table.columns()["n"]).reshape(n, 3).tolist()))
    assert set(kept) <= set(_kept_law(*caps))
    assert _misfit(kept, _kept_law(*caps), n) > _FALSE_ALARM
    assert _misfit(kept, _kept_law(*wrong), n) < _FALSE_ALARM


@pytest.mark.parametrize("mu", ["0.5", "2"])
def test_counts_of_a_gaussian_table_keep_its_curve(mu: str) -> None:
    def excess(variance: float) -> float:
        """Return by how much the best test of one row has more power than mu allows, at most."""
        law = _gaussian(variance)
        worst, level = -1.0, 0.0
        for z in range(299, -300, -1):
            level += law[z]
            power = level + law[z - 1]
            if level > 1e-12 and power < 1 - 1e-12:
                allowed = stats.norm.cdf(stats.norm.ppf(level) + float(mu))
                worst = max(worst, (power - allowed) / min(allowed, 1 - allowed))
        return worst

    variance = float(sigma_squared_of_mu(Fraction(mu)))
    assert excess(variance) < 1e-6
    assert excess(1 / float(mu) ** 2) > 1e-3


@pytest.mark.parametrize("n_tables", [25, pytest.param(300, marks=pytest.mark.slow)])
def test_parts_of_the_data_tell_the_same_as_all_of_it(n_tables: int) -> None:
    draw = random.Random(4)
    queries = {
        "m": ("v", sd.queries.Median((0, 10))),
        "q": ("v", sd.queries.Quantile("0.3", bounds=(0, 10))),
        "va": ("v", sd.queries.Variance((0, 10))),
        **{name: STATISTICS[name] for name in ("s", "me", "c")},
    }
    for _ in range(n_tables):
        n = draw.choice([0, 1, 5, 60])
        keys, values = np.empty(n, object), np.empty(n, object)
        for row in range(n):
            keys[row] = draw.choice([*ODD, *[0, 1] * 20])
            values[row] = draw.choice([*ODD, *range(9)])
        cuts = sorted(draw.randint(0, n) for _ in range(2))
        parts = [[c[a:b] for c in (keys, values)] for a, b in itertools.pairwise([0, *cuts, n])]
        asked: Any = {"by": "k", "keys": [0, 1], "statistics": queries, "guarantee": PURE}
        asked |= {"confidence": draw.choice([None, "0.9"]), "counts": draw.random() < 0.5}
        seed = draw.randint(0, 10**6)
        here = sd.release_table({"k": keys, "v": values}, **asked, rng=sd.SeededRandom(seed))
        for order in itertools.islice(itertools.permutations(parts), 2):
            far = release_far(run_here(order), **asked, rng=sd.SeededRandom(seed))
            assert far.to_json() == here.to_json()


def test_notes_are_a_function_of_what_is_released() -> None:
    """Tables that show the same numbers have the same notes, whatever rows they come from."""
    draw = random.Random(2)
    step = {"round_to": 10}
    statistics = {
        "m": ("v", sd.queries.Median((0, 10)), step),
        "me": ("v", sd.queries.ClampedMean((0, 10)), step),
    }
    ways: list[dict[str, Any]] = [{"counts": True}, {"n_guess": 30, "counts": False}]
    known: dict[str, tuple[str, int]] = {}
    same = other_rows = 0
    for turn in range(250):
        rows = [draw.choice([0, 10, 5, None]) for _ in range(draw.choice([0, 1, 2, 20, 23]))]
        asked = {"statistics": statistics, "guarantee": sd.PureDP(20, neighbours="add_remove")}
        data = {"k": [0] * len(rows), "v": rows}
        random_bits = sd.SeededRandom(turn)
        told = _table(data, keys=[0], **asked, **ways[turn % 2], rng=random_bits).to_dict()
        notes = json.dumps(told.pop("notes"))
        found, size = known.setdefault(json.dumps(told), (notes, len(rows)))
        assert found == notes
        same += 1
        other_rows += size != len(rows)
    assert same - len(known) > 100
    assert other_rows > 10
