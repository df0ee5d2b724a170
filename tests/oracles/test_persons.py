"""Persons with several rows: costs against every split, and laws of bounding by enumeration."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.tables.bound_rows import bound_rows
from smoothdp.tables.kept_rows import KeptRows
from smoothdp.testing import frequency_test
from smoothdp.types import IntArray

ALARM = 1e-9
AR = "add_remove"
CAPS = [
    (c, g, r) for c, g, r in itertools.product(range(1, 8), (None, 1, 2, 4), (None, 1, 2, 3, 5))
]
SMALL = [(1, 2, 2), (2, 1, 2), (2, 2, 1), (2, None, 1), (3, 2, 2), (2, 1, None), (2, None, None)]
Kept = frozenset[int]
Law = dict[Kept, Fraction]


def person_of(caps: tuple[int, int | None, int | None]) -> sd.Person:
    return sd.Person("id", rows=caps[0], groups=caps[1], rows_per_group=caps[2])


def splits(caps: tuple[int, int | None, int | None]) -> Iterator[tuple[int, ...]]:
    """Yield the numbers of kept rows in c groups that the caps allow."""
    c, g, r = caps
    for split in itertools.combinations_with_replacement(range(min(c, r or c), -1, -1), c):
        if sum(split) <= c and sum(rows > 0 for rows in split) <= (g or c):
            yield split


@pytest.mark.parametrize("caps", CAPS, ids=str)
def test_costs_are_the_worst_of_all_splits(caps: tuple[int, int | None, int | None]) -> None:
    every, person = list(splits(caps)), person_of(caps)
    k1 = max(map(sum, every))
    k2 = max(sum(rows**2 for rows in split) for split in every)
    assert person.cost(sd.PureDP("1/7", neighbours=AR)) == sd.PureDP(Fraction(k1, 7), neighbours=AR)
    assert person.cost(sd.ZCDP("1/7", neighbours=AR)) == sd.ZCDP(Fraction(k2, 7), neighbours=AR)
    gaussian = person.cost(sd.GaussianDP("1/7", neighbours=AR))
    assert isinstance(gaussian, sd.GaussianDP)
    excess = gaussian.exact_mu**2 / Fraction(k2, 49)
    assert 1 <= excess < 1 + Fraction(1, 2**60)
    for growth, delta in ((Fraction(3, 2), Fraction(1, 10**6)), (Fraction(1), Fraction(1, 10**9))):
        truth = max(
            delta * sum(growth**step for rows in split for step in range(rows)) for split in every
        )
        row = sd.ApproxDP(f"ln({growth})", delta=delta, neighbours=AR)
        approx = person.cost(row)
        assert isinstance(approx, sd.ApproxDP)
        assert truth <= approx.exact_delta <= truth * (1 + Fraction(1, 10**14))
        assert approx.implies(sd.ApproxDP(f"ln({growth**k1})", delta=1, neighbours=AR))
        assert math.isclose(approx.epsilon, k1 * math.log(growth), rel_tol=1e-15)


@pytest.mark.parametrize("caps", CAPS[::3], ids=str)
@pytest.mark.parametrize(
    "whole",
    [
        sd.PureDP(1, neighbours=AR),
        sd.ZCDP("0.3", neighbours=AR),
        sd.GaussianDP("0.7", neighbours=AR),
        sd.ApproxDP("0.9", delta="1e-7", neighbours=AR),
        sd.ApproxDP("ln(3)", delta="1e-5000", neighbours=AR),
        sd.PureDP(0, neighbours=AR),
    ],
    ids=repr,
)
def test_the_share_of_a_row_is_the_inverse(
    caps: tuple[int, int | None, int | None], whole: sd.claims.Guarantee
) -> None:
    person = person_of(caps)
    cost = person.cost(person.row_share(whole))
    assert cost.implies(whole)
    for name, value in whole.parameters().items():
        found = cost.parameters()[name]
        assert float(found) >= float(value) * (1 - 1e-12)


def test_what_has_no_cost() -> None:
    person = person_of((3, 2, 2))
    for bad in (
        sd.PureDP(1),
        sd.TruncatedCDP("0.1", omega=9, neighbours=AR),
    ):
        for call in (person.cost, person.row_share):
            with pytest.raises(IncompatibleClaims):
                call(bad)
    with pytest.raises(IncompatibleClaims, match="persons"):
        person.row_cost(sd.PureDP(1, neighbours=AR))
    for caps in ({"rows": 0}, {"rows": 1.5}, {"rows": 3, "groups": 0}):
        with pytest.raises(InvalidParameter):
            sd.Person("id", **caps)
    with pytest.raises(InvalidParameter):
        sd.Person("", rows=1)


def test_replacing_a_row() -> None:
    assert sd.PureDP("0.3", neighbours=AR).as_replace_one() == sd.PureDP("0.6")
    assert sd.ZCDP("0.3", neighbours=AR).as_replace_one() == sd.ZCDP("1.2")
    assert sd.GaussianDP("0.3", neighbours=AR).as_replace_one() == sd.GaussianDP("0.6")
    approx = sd.ApproxDP("ln(2)", delta="1e-9", neighbours=AR).as_replace_one()
    assert isinstance(approx, sd.ApproxDP)
    assert (
        Fraction(3, 10**9) <= approx.exact_delta <= Fraction(3, 10**9) * (1 + Fraction(1, 10**14))
    )
    for bad in (sd.PureDP(1), sd.TruncatedCDP("0.1", omega=9, neighbours=AR)):
        with pytest.raises(IncompatibleClaims):
            bad.as_replace_one()


def test_a_row_before_the_bounding_pays_for_two_kept_ones() -> None:
    """It may push another one out: group privacy for two, of a uniform subset alone."""
    person = sd.Person("id", rows=5)
    assert person.row_cost(sd.PureDP("0.3", neighbours=AR)) == sd.PureDP("0.6", neighbours=AR)
    assert person.row_cost(sd.ZCDP("0.3", neighbours=AR)) == sd.ZCDP("1.2", neighbours=AR)
    assert person.row_cost(sd.GaussianDP("0.3", neighbours=AR)) == sd.GaussianDP(
        "0.6", neighbours=AR
    )
    for caps in ({"groups": 2}, {"rows_per_group": 1}, {"groups": 1, "rows_per_group": 2}):
        with pytest.raises(IncompatibleClaims, match="about one row"):
            sd.Person("id", rows=5, **caps).row_cost(sd.PureDP("0.3", neighbours=AR))


def subsets(items: list[int], most: int) -> Law:
    """Return the uniform law of subsets of min(most, all) items."""
    every = [frozenset(s) for s in itertools.combinations(items, min(most, len(items)))]
    return dict.fromkeys(every, Fraction(1, len(every)))


def kept_law(keys: tuple[int, ...], caps: tuple[int, int | None, int | None]) -> Law:
    """Return the law of the kept rows of a person whose rows have these keys, by definition."""
    c, g, r = caps
    law: defaultdict[Kept, Fraction] = defaultdict(Fraction)
    present = sorted(set(keys))
    for chosen, chance in subsets(present, g or len(present)).items():
        cells = [
            subsets([i for i, k in enumerate(keys) if k == key], r or len(keys)) for key in chosen
        ]
        for parts in itertools.product(*(cell.items() for cell in cells)):
            rows = sorted(row for part, _ in parts for row in part)
            weight = chance * math.prod(w for _, w in parts)
            for kept, last in subsets(rows, c).items():
                law[kept] += weight * last
    return law


PERSONS = [
    keys for n in range(1, 5) for keys in itertools.combinations_with_replacement((0, 1, 2), n)
]


@pytest.mark.parametrize("caps", SMALL, ids=str)
def test_bounding_has_the_stated_law(caps: tuple[int, int | None, int | None]) -> None:
    """Every person of at most four rows and three keys, many of each at once, rows in any order."""
    copies, rng = 1000, sd.SeededRandom(5)
    shuffled = np.random.default_rng(6)
    persons: list[int] = []
    keys: list[int] = []
    numbers: list[int] = []
    for which, rows in enumerate(PERSONS):
        for copy in range(copies):
            persons += [which * copies + copy] * len(rows)
            keys += rows
            numbers += range(len(rows))
    order = shuffled.permutation(len(persons))
    ids, places, number = (np.array(x, np.int64)[order] for x in (persons, keys, numbers))
    kept = bound_rows(ids, places, person_of(caps), rng)
    found: dict[int, set[int]] = {}
    for row in kept:
        found.setdefault(int(ids[row]), set()).add(int(number[row]))
    rejected_wrong = 0
    for which, rows in enumerate(PERSONS):
        law = kept_law(rows, caps)
        seen = Counter(frozenset(found[which * copies + copy]) for copy in range(copies))
        assert set(seen) <= set(law)
        if len(law) == 1:
            continue
        counts = [seen[outcome] for outcome in law]
        assert frequency_test(counts, [float(w) for w in law.values()]) > ALARM
        wrong = np.arange(1, len(law) + 1, dtype=float)
        rejected_wrong += frequency_test(counts, wrong / wrong.sum()) < ALARM
    assert rejected_wrong


def test_rows_without_a_person_or_a_key_are_dropped() -> None:
    ids: IntArray = np.array([-1, 0, 0, 1, 2, -1])
    places: IntArray = np.array([0, -1, 1, 1, -1, -1])
    kept = bound_rows(ids, places, sd.Person("id", rows=9), sd.SeededRandom(1))
    assert kept.tolist() == [2, 3]
    none = bound_rows(ids[:1], places[:1], sd.Person("id", rows=9), sd.SeededRandom(1))
    assert none.tolist() == []


def stability(keys: tuple[int, ...], more: int, caps: tuple[int, int | None, int | None]) -> int:
    """Return the least k such that kept rows before and after can be coupled within k rows.

    By Strassen's theorem: every set A of outcomes has no more weight than what is within k of it.
    """
    before, after = kept_law(keys, caps), kept_law((*keys, more), caps)
    outcomes = list(before)
    for k in range(20):
        near = {b: frozenset(a for a in after if len(a ^ b) <= k) for b in outcomes}
        if all(
            sum(before[b] for b in chosen)
            <= sum(after[a] for a in frozenset().union(*(near[b] for b in chosen)))
            for size in range(1, len(outcomes) + 1)
            for chosen in itertools.combinations(outcomes, size)
        ):
            return k
    raise AssertionError


def test_a_uniform_subset_moves_by_two_rows() -> None:
    """Two where the cap is met, one where it is not: proofs/tables#7."""
    for rows in range(1, 5):
        for cap in (1, 2, 3):
            found = stability((0,) * rows, 0, (cap, None, None))
            assert found == (2 if rows >= cap else 1)


def test_keys_and_then_rows_move_by_more() -> None:
    """The counterexample: one key out of two, then at most two rows, no person at any cap c."""
    assert stability((0, 0), 1, (5, 1, 2)) == 3
    assert stability((0, 0, 0), 1, (5, 1, 3)) == 4


def test_a_person_counts_once_for_a_key_however_many_rows_are_kept() -> None:
    persons, places = np.array([0, 0, 1, 2, 2, 2]), np.array([0, 0, 0, 1, 1, 0])
    rows = np.arange(6)
    assert KeptRows(rows, places, persons).counts(3).tolist() == [3, 1, 0]
    assert KeptRows(rows, places, None).counts(3).tolist() == [4, 2, 0]
