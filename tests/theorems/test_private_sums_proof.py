"""Statements of proofs/private-sums, by enumeration in exact rationals."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest

from smoothdp.claims import Neighbours
from smoothdp.queries import ClampedMean, Count, Sum, Variance
from smoothdp.queries.fixed.fixed_statistic import Sums, nearest_steps

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
P = Fraction(1, 2)


class CoarseMean(ClampedMean):
    """In four parts."""

    parts: ClassVar[int] = 4


class CoarseVariance(Variance):
    """In three parts."""

    parts: ClassVar[int] = 3


def steps_of(query: Sums, rows: Sequence[float]) -> tuple[int, ...]:
    return query.sums(query.read(list(rows), ADD))


@pytest.mark.parametrize(
    ("bounds", "grid"),
    [
        ((0, "2.6"), 1),
        (("-1.7", "2.6"), 1),
        (("-5.2", "-0.3"), "1/2"),
        (("0.1", 1), "1/3"),
        ((-3, 3), "7/10"),
    ],
)
def test_sums_on_a_grid(bounds: tuple[object, object], grid: object) -> None:
    """Sensitivity is attained, and never exceeded."""
    query = Sum(bounds, grid=grid)  # type: ignore[arg-type]
    rows = [-9.0, *(i / 16 for i in range(-96, 97)), 9.0]
    one = [steps_of(query, [x])[0] for x in rows]
    assert max(map(abs, one)) == query.reach(ADD).total
    assert max(one) - min(one) == query.reach(REPLACE).total
    assert max(one) * query.grid <= query.bounds[1]
    assert min(one) * query.grid >= query.bounds[0]
    nearest = [round(Fraction(x) / query.grid) for x in rows]
    inside = [
        (m, k)
        for m, k, x in zip(one, nearest, rows, strict=True)
        if query.steps[0] <= Fraction(x) / query.grid <= query.steps[1]
    ]
    assert all(abs(m - k) <= 1 for m, k in inside)


def test_a_bound_off_the_grid_moves_the_sum_by_more() -> None:
    """Rounded outward, a row at the bound counts 3 for bounds (0, 2.6)."""
    assert round(Fraction("2.6")) == 3 > Sum((0, "2.6"), grid=1).reach(ADD).total == 2
    assert Count().reach(ADD).total == 1


def test_rows_are_rounded_exactly_wherever_they_stand() -> None:
    """Against rationals, ties and neighbours of ties among them."""
    rng = np.random.default_rng(3)
    for low, step in ((Fraction(1, 10), Fraction(1, 7)), (Fraction(-(10**9)), Fraction(1, 2**20))):
        places = [low + (k + Fraction(1, 2)) * step for k in range(-3, 9)]
        ties = [float(place) for place in places]
        around = [math.nextafter(x, way) for x in ties for way in (-math.inf, math.inf)]
        random = (float(low) + float(step) * rng.uniform(-4, 12, 300)).tolist()
        rows = np.array(ties + around + random)
        found = nearest_steps(rows, origin=low, step=step, least=0, most=8).tolist()
        exact = [
            min(max(math.floor((Fraction(x) - low) / step + Fraction(1, 2)), 0), 8)
            for x in rows.tolist()
        ]
        assert found == exact
        assert (
            nearest_steps(rows[::-1], origin=low, step=step, least=0, most=8).tolist()
            == exact[::-1]
        )


def test_floats_that_land_on_the_wrong_side_of_a_half_step_are_not_believed() -> None:
    """An origin that is a float and a step that is none: quotients are off by a unit or two."""
    low, step, most = Fraction(-5), Fraction(20, 143), 128
    ties = [float(low + (k + Fraction(1, 2)) * step) for k in range(most)]
    rows = np.array([math.nextafter(x, way) for x in ties for way in (-math.inf, x, math.inf)])
    exact = [math.floor((Fraction(x) - low) / step + Fraction(1, 2)) for x in rows.tolist()]
    found = nearest_steps(rows, origin=low, step=step, least=0, most=most).tolist()
    assert found == exact
    plain = np.floor((rows - float(low)) / float(step) + 0.5)
    assert (plain != exact).sum() > 10


def law(z: int) -> Fraction:
    """The discrete Laplace law with p = 1/2."""
    return (1 - P) / (1 + P) * P ** abs(z)


def density(output: Sequence[int], sums: Sequence[int]) -> Fraction:
    return math.prod((law(o - s) for o, s in zip(output, sums, strict=True)), start=Fraction(1))


def neighbours(rows: Sequence[float], n: int) -> Iterator[tuple[list[float], list[float]]]:
    for x in itertools.combinations_with_replacement(rows, n):
        for z in rows:
            yield list(x), [*x, z]


def worst_ratio(query: Sums, rows: Sequence[float], n: int, box: range) -> Fraction:
    """The largest ratio of the whole laws of two neighbours, both ways, over all outputs."""
    worst = Fraction(0)
    for x, y in neighbours(rows, n):
        a, b = steps_of(query, x), steps_of(query, y)
        for output in itertools.product(box, repeat=query.n_sums):
            p, q = density(output, a), density(output, b)
            worst = max(worst, p / q, q / p)
    return worst


def test_two_sums_by_their_whole_law() -> None:
    """With p = e^(-epsilon / G) the largest ratio is e^epsilon, attained."""
    query = CoarseMean((0, 1))
    rows = [0.0, 0.1, 0.3, 0.5, 0.8, 1.0]
    reach = query.reach(ADD)
    assert (reach.total, reach.square) == (4, 16)
    for n in range(2):
        assert worst_ratio(query, rows, n, range(-3, 9)) == P**-4
    one = [steps_of(query, [x]) for x in rows]
    assert all(sum(u) == 4 for u in one)
    apart = [(abs(u[0] - v[0]), abs(u[1] - v[1])) for u in one for v in one]
    assert max(map(sum, apart)) == query.reach(REPLACE).total == 8
    assert max(i * i + j * j for i, j in apart) == query.reach(REPLACE).square == 32
    assert max(u[0] ** 2 + u[1] ** 2 for u in one) == 16


def test_three_sums_by_their_whole_law() -> None:
    query = CoarseVariance((0, 1))
    rows = [0.0, 0.2, 0.4, 0.6, 1.0]
    reach = query.reach(ADD)
    assert (reach.total, reach.square) == (9, 81)
    assert worst_ratio(query, rows, 0, range(-1, 10)) == P**-9
    one = [steps_of(query, [x]) for x in rows]
    assert all(sum(u) == 9 for u in one)
    gaps = [[abs(i - j) for i, j in zip(u, v, strict=True)] for u in one for v in one]
    assert max(map(sum, gaps)) == query.reach(REPLACE).total == 18
    assert max(sum(g * g for g in gap) for gap in gaps) == query.reach(REPLACE).square == 162
    for x in itertools.product(rows, repeat=3):
        m = [Fraction(steps_of(CoarseMean((0, 1)), [v])[0], 4) for v in x]
        assert len(m) == 3
        thirds = [Fraction(math.floor(3 * Fraction(v) + Fraction(1, 2)), 3) for v in x]
        mean = sum(thirds, Fraction(0)) / 3
        variance = sum((t - mean) ** 2 for t in thirds) / 3
        assert query.result(steps_of(query, x)) == variance


def half_up(value: Fraction) -> int:
    return math.floor(value + Fraction(1, 2))


def test_rounding_apart_costs_more() -> None:
    """v and 1 - v each rounded to halves of G; the entries of the moments likewise."""
    v = Fraction(1, 2)
    assert half_up(v) + half_up(1 - v) == 2
    moments = (v * v, 2 * v * (1 - v), (1 - v) ** 2)
    assert sum(half_up(2 * u) for u in moments) / Fraction(2) == Fraction(3, 2)


def test_the_deviation_moves_by_half_a_part_at_most() -> None:
    query = Variance((0, 1))
    rows = [k / 97 for k in range(60)]
    exact = statistics.pvariance([Fraction(x) for x in rows])
    assert abs(math.sqrt(query.value(rows)) - math.sqrt(exact)) <= 2.0**-21
