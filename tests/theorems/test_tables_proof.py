"""Statements of proofs/tables and proofs/private-keys: whole tables by enumeration, exactly.

Nothing here calls the tables of the library: laws of bounding, noise, keys and statistics are
written from their definitions, and every outcome of every small table is listed.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache

from smoothdp.keys import total_delta

Row = tuple[int, int]
"""Key and value (0 or 1)."""
People = tuple[tuple[Row, ...], ...]
Law = dict[tuple[object, ...], Fraction]

KEYS = (0, 1)
HALF = Fraction(1, 2)
REACH = 1
TOP = 2
STATISTIC = Fraction(2, 3)
"""e^-epsilon of a statistic; of a key it is HALF."""


def stick(first: Law, second: Law, growth: Fraction) -> Fraction:
    zero = Fraction(0)
    return sum((max(zero, a - growth * second.get(out, zero)) for out, a in first.items()), zero)


@cache
def noisy(value: int, p: Fraction = STATISTIC) -> tuple[tuple[object, Fraction], ...]:
    """Return the law of value + Z, clamped to 0..TOP, Z discrete Laplace: ln(1/p)-DP."""
    law = []
    for out in range(TOP + 1):
        weights = {
            0: p ** max(0, value) / (1 + p) if value > 0 else 1 - p ** (1 - value) / (1 + p),
            TOP: p ** (TOP - value) / (1 + p)
            if value < TOP
            else 1 - p ** (value - TOP + 1) / (1 + p),
        }
        inner = (1 - p) / (1 + p) * p ** abs(out - value)
        law.append((out, weights.get(out, inner)))
    assert sum(weight for _, weight in law) == 1
    return tuple(law)


@cache
def shown(n: int) -> tuple[tuple[int | None, Fraction], ...]:
    """Return the law of what is shown of a key of n persons: n + Z, or None."""
    weights = {z: HALF ** abs(z) for z in range(-REACH, REACH + 1)}
    law: defaultdict[int | None, Fraction] = defaultdict(Fraction)
    for z, weight in weights.items():
        law[n + z if n >= 1 and n + z > REACH else None] += weight / sum(weights.values())
    return tuple(law.items())


END = HALF**REACH / sum(HALF ** abs(z) for z in range(-REACH, REACH + 1))


def subsets(items: Iterable[int], most: int) -> list[tuple[int, ...]]:
    every = sorted(items)
    return list(itertools.combinations(every, min(most, len(every))))


@cache
def kept(
    rows: tuple[Row, ...], caps: tuple[int, int, int]
) -> tuple[tuple[tuple[Row, ...], Fraction], ...]:
    """Return the law of a person's kept rows: g keys, r rows in each, a c-subset."""
    c, g, r = caps
    law: defaultdict[tuple[Row, ...], Fraction] = defaultdict(Fraction)
    of_keys = subsets({key for key, _ in rows}, g)
    for keys in of_keys:
        cells = [subsets([i for i, row in enumerate(rows) if row[0] == key], r) for key in keys]
        for parts in itertools.product(*cells):
            last = subsets(itertools.chain(*parts), c)
            for final in last:
                weight = Fraction(1, len(of_keys) * math.prod(map(len, cells)) * len(last))
                law[tuple(sorted(rows[i] for i in final))] += weight
    return tuple(law.items())


def table(people: People, caps: tuple[int, int, int], *, on_kept: bool = True) -> Law:
    """Return the law of a table with private keys: for each key None, or count and statistic."""
    law: defaultdict[tuple[object, ...], Fraction] = defaultdict(Fraction)
    for choice in itertools.product(*(kept(rows, caps) for rows in people)):
        chance = math.prod((weight for _, weight in choice), start=Fraction(1))
        seen = [rows for rows, _ in choice] if on_kept else list(people)
        cells = []
        for key in KEYS:
            persons = sum(any(row[0] == key for row in rows) for rows, _ in choice)
            total = sum(value for rows in seen for k, value in rows if k == key)
            cell: list[tuple[object, Fraction]] = []
            for count, weight in shown(persons):
                if count is None:
                    cell.append((None, weight))
                else:
                    cell += [((count, out), weight * w) for out, w in noisy(total)]
            cells.append(cell)
        for outs in itertools.product(*cells):
            law[tuple(out for out, _ in outs)] += chance * math.prod(w for _, w in outs)
    return dict(law)


ROWS = [(key, value) for key in KEYS for value in (0, 1)]
PERSONS = [rows for n in range(1, 4) for rows in itertools.combinations_with_replacement(ROWS, n)]
OTHERS: list[People] = [(), (((0, 1),),), (((0, 0), (1, 1)),), (((0, 1),), ((0, 1),))]


def factor(caps: tuple[int, int, int]) -> int:
    return min(caps[0], caps[1] * caps[2])


def worst(caps: tuple[int, int, int], growth: Fraction, *, on_kept: bool = True) -> Fraction:
    """Return the largest delta over all tables here and all persons added to them."""
    found = Fraction(0)
    for others in OTHERS:
        without = table(others, caps, on_kept=on_kept)
        for person in PERSONS:
            with_one = table((*others, person), caps, on_kept=on_kept)
            found = max(found, stick(with_one, without, growth), stick(without, with_one, growth))
    return found


def test_tables_of_private_keys_keep_their_total() -> None:
    """(E + K1 epsilon, delta_g(E)) for every person: proofs/private-keys#6."""
    for caps in ((1, 1, 1), (2, 1, 2), (2, 2, 1), (3, 2, 2)):
        keys = min(caps[0], caps[1])
        for power in range(keys + 1):
            at_keys = 1 / HALF**power
            growth = at_keys / STATISTIC ** factor(caps)
            bound = total_delta(f"ln({at_keys})", epsilon="ln(2)", delta=END, n_keys=keys)
            found = worst(caps, growth)
            assert found <= Fraction(bound)
            if power == keys:
                # The infinite losses alone are met.
                assert found >= Fraction(bound) * (1 - Fraction(1, 10**12))


def test_statistics_on_all_rows_break_it() -> None:
    """A shown key's statistic on rows that were not kept is not covered."""
    caps = (1, 1, 1)
    growth = 1 / (HALF * STATISTIC)
    bound = total_delta("ln(2)", epsilon="ln(2)", delta=END, n_keys=1)
    assert worst(caps, growth) <= Fraction(bound)
    assert worst(caps, growth, on_kept=False) > Fraction(bound) * Fraction(101, 100)


# ---- public keys ----------------------------------------------------------------------------


def public(rows: Iterable[Row], keeps: Callable[[Row], bool] = lambda _: True) -> Law:
    """Return the law of a table of public keys: a noisy sum of each, empty ones too."""
    sums = [sum(value for k, value in filter(keeps, rows) if k == key) for key in KEYS]
    outs = itertools.product(*(noisy(total) for total in sums))
    return {
        tuple(o for o, _ in out): math.prod((w for _, w in out), start=Fraction(1)) for out in outs
    }


TABLES = [rows for n in range(3) for rows in itertools.combinations_with_replacement(ROWS, n)]


def largest_ratio(first: Law, second: Law) -> Fraction:
    return max(weight / second[out] for out, weight in first.items())


def test_disjoint_groups_cost_what_one_costs() -> None:
    """One row more: the whole table is as far as its group alone, and no farther."""
    one = 1 / STATISTIC
    attained = False
    for rows in TABLES:
        for row in ROWS:
            pair = public(rows), public((*rows, row))
            ratio = max(largest_ratio(*pair), largest_ratio(*pair[::-1]))
            assert ratio <= one
            attained |= ratio == one
            for growth in (Fraction(1), Fraction(5, 4)):
                alone = sum(v for k, v in rows if k == row[0])
                group: Law = {(o,): w for o, w in noisy(alone)}
                more: Law = {(o,): w for o, w in noisy(alone + row[1])}
                assert stick(*pair, growth) == stick(group, more, growth)
    assert attained


def test_replacing_a_row_costs_two() -> None:
    """Across two groups the ratio is e^(2 epsilon), attained."""
    ratios = [
        largest_ratio(public((*rows, old)), public((*rows, new)))
        for rows in TABLES
        for old in ROWS
        for new in ROWS
    ]
    assert max(ratios) == STATISTIC**-2


def test_a_filter_by_the_row_alone_costs_nothing() -> None:
    for keeps in (lambda row: row[1] == 1, lambda row: row[0] == 0, lambda _row: False):
        for rows in TABLES:
            for row in ROWS:
                first, second = public(rows, keeps), public((*rows, row), keeps)
                assert largest_ratio(first, second) <= 1 / STATISTIC
                assert keeps(row) or first == second


def test_persons_cost_the_factor_times_a_row() -> None:
    """K1 epsilon over all groups, kept rows by each person's own coins: attained."""
    for caps in ((1, 1, 1), (2, 2, 1), (2, 1, 2), (3, 2, 2)):
        most = Fraction(1)
        for others in OTHERS:
            for person in PERSONS:
                laws = []
                for people in (others, (*others, person)):
                    law: defaultdict[tuple[object, ...], Fraction] = defaultdict(Fraction)
                    for choice in itertools.product(*(kept(rows, caps) for rows in people)):
                        chance = math.prod((w for _, w in choice), start=Fraction(1))
                        for out, w in public([row for rows, _ in choice for row in rows]).items():
                            law[out] += chance * w
                    laws.append(dict(law))
                most = max(most, largest_ratio(*laws), largest_ratio(*laws[::-1]))
        assert most <= STATISTIC ** -factor(caps)
        assert most == STATISTIC ** -factor(caps)
