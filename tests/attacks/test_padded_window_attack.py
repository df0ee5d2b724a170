"""Windows where n is private, attacked from their page: larger data, neighbours up to three steps.

The literal side is written from docs/proofs/private-size alone, in exact rationals: X, f, the
family F_k and what statements 2 to 4 promise of neighbours.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from smoothdp.queries.private_size.padded_window import PaddedWindow

TINY = Fraction(1, 10**17)
NEAR = Fraction(1, 10**6)
"""The finest that a level may be."""
HUGE = Fraction(4) * 10**307
Rows = list[float] | list[int]


class Case(NamedTuple):
    """A window and what its rows are drawn from."""

    q: Fraction
    w: Fraction
    c: Fraction
    bounds: tuple[Fraction, Fraction]
    rows: Rows
    is_whole: bool

    def array(self, rows: Rows) -> np.ndarray:
        return np.array(rows, np.int64 if self.is_whole else np.float64)

    def window(self) -> PaddedWindow:
        return PaddedWindow(self.q, bounds=self.bounds, width=self.w, offset=self.c)


class Literal:
    """X, f and B_k of one database."""

    def __init__(self, case: Case, rows: Rows) -> None:
        self.case, (self.low, self.high) = case, case.bounds
        cells = sorted(min(max(Fraction(v), self.low), self.high) for v in rows)
        self.n = len(cells)
        self.cells = cells
        self.sums = [Fraction(0)]
        for cell in cells:
            self.sums.append(self.sums[-1] + cell)

    def primitive(self, u: Fraction) -> Fraction:
        """The integral of X from 0 to u."""
        if u <= 0:
            return self.low * u
        if u >= self.n:
            return self.sums[-1] + self.high * (u - self.n)
        whole = math.floor(u)
        return self.sums[whole] + (u - whole) * self.cells[whole]

    def value(self) -> Fraction:
        middle = self.case.q * self.n + self.case.c
        start, stop = middle - self.case.w / 2, middle + self.case.w / 2
        return (self.primitive(stop) - self.primitive(start)) / self.case.w

    def bound(self, k: int, *, whole_family: bool) -> Fraction:
        """B_k over F_k, or over i + alpha + beta = k with alpha beta = 0."""
        q, m = self.case.q, max(self.case.q, 1 - self.case.q)
        best = Fraction(0)
        for alpha in range(k + 1):
            for beta in range(k - alpha + 1):
                if not whole_family and alpha and beta:
                    continue
                for i in range(k - alpha - beta + 1) if whole_family else [k - alpha - beta]:
                    shift = q * beta - (1 - q) * alpha
                    middle = q * self.n + self.case.c + shift
                    top = middle + self.case.w / 2 + (1 - q) * i
                    bottom = middle - self.case.w / 2 - q * i
                    for back in (Fraction(0), m):
                        gain = self.step(top - back, m) - self.step(bottom - back, m)
                        best = max(best, gain)
        return best / self.case.w

    def step(self, u: Fraction, m: Fraction) -> Fraction:
        return self.primitive(u + m) - self.primitive(u)


def draw(rng: random.Random, most: int) -> Case:
    """A case of any of the kinds that might go wrong."""
    q = rng.choice(
        [
            *map(Fraction, ("0", "1", "1/2", "9/10", "1/4", "2/3")),
            *[Fraction(rng.randrange(0, 998), 997), 1 - NEAR, Fraction(1, 2) + NEAR],
        ]
    )
    n = rng.choice([0, 1, 2, 3, rng.randrange(most), most])
    w = rng.choice(
        [
            *[Fraction(1, 3), Fraction(1, 10**9), max(q, 1 - q) / 2, Fraction(1), Fraction(14)],
            *[Fraction(rng.randrange(1, 400), rng.choice([1, 3, 7])), Fraction(10**6)],
            Fraction(2.7),
        ]
    )
    c = rng.choice(
        [
            *[Fraction(0)] * 4,
            *[
                Fraction(-30),
                Fraction(10**12, 7),
                Fraction(-(10**12)),
                Fraction(rng.uniform(-9, 9)),
            ],
            *[Fraction(-n), Fraction(n, 2)],
        ]
    )
    kind = rng.choice(["ties", "smooth", "wide", "whole", "between", "huge", "small"])
    one: list[float] | list[int]
    bounds = Fraction(0), Fraction(10)
    if kind == "ties":
        one = [rng.choice([-3.0, 0.0, 1.0, 1.0, 2.0, 9.0, 10.0, 12.0]) for _ in range(n)]
    elif kind == "smooth":
        bounds = Fraction(-50), Fraction(1000)
        one = [rng.gauss(0, 1) for _ in range(n)]
    elif kind == "wide":
        bounds = Fraction(-1, 3), Fraction(10**9)
        one = [math.exp(rng.gauss(0, 6)) for _ in range(n)]
    elif kind == "whole":
        bounds = rng.choice([(Fraction(1, 3), Fraction(22, 7)), (Fraction(-(2**61)), 2**61 + TINY)])
        one = [rng.choice([0, 1, 2, 3, 4, -(2**60) - 1, 2**60 + 1, 2**61]) for _ in range(n)]
    elif kind == "between":
        bounds = 1 + TINY, 1 + 2 * TINY
        one = [rng.choice([0.0, 1.0, math.nextafter(1, 2), 2.0]) for _ in range(n)]
    elif kind == "huge":
        bounds = rng.choice([(-HUGE, HUGE), (Fraction(0), HUGE)])
        one = [rng.choice([-1, 1]) * 10 ** rng.uniform(300, 308) for _ in range(n)]
    else:
        bounds = Fraction(0), Fraction(rng.choice([1e-289, 1e-280]))
        one = [rng.choice([0.0, 5e-324, 1e-320, 3e-300, 5e-290]) for _ in range(n)]
    return Case(q, w, c, bounds, one, kind == "whole")


def neighbour(rng: random.Random, case: Case, rows: Rows) -> Rows:
    """One row more or less, often at an end or a bound."""
    rows = list(rows)
    if rows and rng.random() < 0.5:
        rows.sort()
        del rows[rng.choice([0, -1, len(rows) // 2, rng.randrange(len(rows))])]
        return rows
    low, high = case.bounds
    if case.is_whole:
        return [*rows, rng.choice([-(2**61), 2**61, 1, 3, *rows[:1]])]
    return [*rows, rng.choice([float(low), float(high), *rows[:1], float((low + high) / 2)])]


def check(rng: random.Random, case: Case) -> int:
    """Compare one case with the page; return how often a promise was met with equality."""
    window, step = case.window(), max(case.q, 1 - case.q)
    rate = rng.choice(
        [Fraction(1, 3), Fraction(1, 20), Fraction(2), Fraction(1, 200), Fraction(20)]
    )
    chain = [case.rows]
    for _ in range(3):
        chain.append(neighbour(rng, case, chain[-1]))
    equalities = 0
    seen = []
    for rows in chain:
        literal, found = Literal(case, rows), window.summary(case.array(rows), smoothing=rate)
        search = window._search(case.array(rows))
        distances = [*range(5), 9, rng.randrange(10, 60)]
        bounds = {k: search.at(k) / case.w for k in {*distances, *(k + 1 for k in distances)}}
        assert found.value == literal.value()
        for k in (0, 1, rng.randrange(2, 5)):
            assert bounds[k] == literal.bound(k, whole_family=True)
        assert bounds[9] == literal.bound(9, whole_family=False)
        ordered = [bounds[k] for k in sorted(bounds)]
        assert ordered == sorted(ordered)
        assert ordered[-1] <= (case.bounds[1] - case.bounds[0]) * step / case.w
        ((k, d),) = found.candidates
        # No other distance gives more.
        for other, bound in bounds.items():
            assert not bound or not is_above(bound, other * rate, d, k * rate)
        seen.append((found.value, bounds, (k, d), distances))
    for (value, bounds, (k, d), distances), (next_value, after, (far, e), _) in pairwise(seen):
        assert abs(value - next_value) <= min(bounds[0], after[0])
        equalities += abs(value - next_value) == min(bounds[0], after[0]) > 0
        for i in distances:
            if i + 1 in after and i + 1 in bounds:
                assert bounds[i] <= after.get(i + 1, bounds[i])
            if i in after and i + 1 in bounds:
                assert after[i] <= bounds[i + 1]
        # |ln S - ln S'| <= t.
        assert not is_above(d, (k + 1) * rate, e, far * rate)
        assert not is_above(e, (far + 1) * rate, d, k * rate)
    first = seen[0]
    for distance, (value, bounds, _, _) in enumerate(seen[1:], 1):
        # Local sensitivities of databases at a distance are below B_k here.
        assert bounds[0] <= first[1][distance]
        assert abs(value - first[0]) <= sum(first[1][i] for i in range(distance))
    return equalities


def is_above(d: Fraction, decay: Fraction, e: Fraction, other: Fraction) -> bool:
    """Whether e^(-decay) d > e^(-other) e for certain."""
    before = ctx.prec
    ctx.prec = 256
    try:
        if d == e:
            return decay < other
        gap = (
            arb(fmpq(d.numerator, d.denominator)).log()
            - arb(fmpq(e.numerator, e.denominator)).log()
        )
        gap -= arb(fmpq((decay - other).numerator, (decay - other).denominator))
        return bool(gap > 0)
    finally:
        ctx.prec = before


@pytest.mark.parametrize("seed", range(8))
def test_random_databases_keep_what_the_page_says(seed: int) -> None:
    rng = random.Random(seed)
    assert sum(check(rng, draw(rng, 60)) for _ in range(10)) > 0


def test_gaps_of_the_least_floats_count() -> None:
    """With t = 20 far distances decay below the least float: the near gap is the largest."""
    rows = [0.0] * 80 + [5e-324] * 80
    summary = PaddedWindow("1/2", bounds=(0, 1), width=3).summary(rows, smoothing=20)
    assert summary.candidates == ((0, Fraction(5e-324) / 6),)


@pytest.mark.parametrize("q", ["1/2", "9/10", "1/4"])
def test_level_columns_take_no_longer(q: str) -> None:
    """The distance at which they rise is counted, and what is read beyond it stays short."""
    rows = np.repeat([3.0, 4.0], [60_000, 400])
    window = PaddedWindow(q, bounds=(0, 1000), width=10)
    search = window._search(rows)
    k, gain = search.largest(Fraction(1, 10))
    assert sum(stop - start for start, stop in search.cells.arranged) < 5000
    assert gain > 0 == search.at(max(0, k - 400))
    small = window._search(np.repeat([3.0, 4.0], [600, 4]))
    near, _ = small.largest(Fraction(1, 10))
    scores = [math.log(b) - k / 10 for k in range(900) if (b := small.at(k))]
    assert math.isclose(max(scores), math.log(small.at(near)) - near / 10, rel_tol=1e-12)


def test_a_bound_that_is_too_small_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half the family: without j the checks fail."""
    rng = random.Random(1)
    case = Case(Fraction(9, 10), Fraction(3), Fraction(0), (Fraction(0), Fraction(10)), [], False)
    monkeypatch.setattr(Literal, "bound", lambda *_, **__: Fraction(0))
    with pytest.raises(AssertionError):
        check(rng, case._replace(rows=[1.0, 2.0, 5.0]))
