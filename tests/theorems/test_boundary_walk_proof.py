"""Each statement of docs/proofs/boundary-walk.md, by enumeration in exact rationals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from math import comb

import pytest

from smoothdp.exact.logspace.bounds import LOG_ZERO, LogBounds
from smoothdp.exact.parameters.numbers import LogRatio, Real, exact_real
from smoothdp.mechanisms.histogram.walk import remainder
from smoothdp.mechanisms.histogram.walk.boundary import (
    ONE,
    Boundary,
    drawn_boundary,
    kept_boundary,
    lost_boundary,
    lost_is_flat,
    mirrored_boundary,
)
from smoothdp.mechanisms.histogram.walk.divergence import (
    walked_hypergeometric,
    walked_independent,
    walked_multinomial,
)
from smoothdp.mechanisms.histogram.walk.hypergeometric_rows import HypergeometricRows
from tests.checkers.rationals import log_fraction

F = Fraction
GROWTHS = (F(1), F(1001, 1000), F(11, 10), F(3, 2), F(2), F(7, 3), F(4), F(10))
"""Ties among them: 3/2 at (A, T) = (3, 1), 2 at (2, 1) and (4, 2)."""
SHARES = (F(1, 7), F(1, 2), F(999, 1000))


def choose(n: int, k: int) -> int:
    return comb(n, k) if 0 <= k <= n else 0


def stick(a: int, b: int, rest: int, draws: int, growth: Fraction) -> Fraction:
    """Return D(a, b) without replacement, from its definition."""
    total = F(0)
    for i in range(a + 1):
        for j in range(b + 2):
            beside = choose(rest, draws - i - j)
            here = choose(a, i) * choose(b, j) * beside
            there = choose(a - 1, i) * choose(b + 1, j) * beside
            total += max(F(0), here - growth * there)
    return total / comb(a + b + rest, draws)


def stick_kept(a: int, b: int, share: Fraction, growth: Fraction) -> Fraction:
    """Return D(a, b) where each record is kept by itself."""
    total = F(0)
    for i in range(a + 1):
        for j in range(b + 2):
            here = choose(a, i) * choose(b, j)
            there = choose(a - 1, i) * choose(b + 1, j)
            weight = share ** (i + j) * (1 - share) ** (a + b - i - j)
            total += max(F(0), here - growth * there) * weight
    return total


def stick_drawn(a: int, b: int, rest: int, draws: int, growth: Fraction) -> Fraction:
    """Return D(a, b) with replacement."""
    total = F(0)
    for i in range(draws + 1):
        for j in range(draws - i + 1):
            ways = comb(draws, i) * comb(draws - i, j) * rest ** (draws - i - j)
            gain = a**i * b**j - growth * (a - 1) ** i * (b + 1) ** j
            total += max(F(0), ways * gain)
    return total / F(a + b + rest) ** draws


def log_growth(growth: Fraction) -> Real:
    return LogRatio(growth) if growth != 1 else F(0)


def tables(most: int) -> Iterator[tuple[int, int, int, int]]:
    """Every (A, B, R, T) up to so many records; empty counts and T = n - 1 among them."""
    for n in range(2, most + 1):
        for a in range(1, n + 1):
            for b in range(n - a + 1):
                for draws in range(1, n):
                    yield a, b, n - a - b, draws


def holds(bounds: LogBounds, truth: Fraction, width: float = 1e-9) -> None:
    """Check that a narrow bracket contains the truth, and that 0 is proved to be 0."""
    if truth == 0:
        assert bounds.lower == -math.inf
        return
    log_truth = log_fraction(truth)
    assert bounds.lower - 4e-15 <= log_truth <= bounds.upper + 4e-15
    assert bounds.upper - bounds.lower < width


def mean_of_lost(a: int, b: int, rest: int, lost: int, growth: Fraction) -> Fraction:
    total = F(0)
    for x in range(a + 1):
        for y in range(b + 2):
            ways = choose(a, x) * choose(b + 1, y) * choose(rest, lost - x - y)
            total += ways * max(F(0), F(y, b + 1) - growth * F(x, a))
    return total / comb(a + b + rest + 1, lost)


def test_linear_form() -> None:
    for a, b, rest, draws in tables(7):
        n = a + b + rest
        for growth in GROWTHS[:5]:
            linear = mean_of_lost(a, b, rest, n + 1 - draws, growth)
            assert stick(a, b, rest, draws, growth) == linear * F(n + 1, n + 1 - draws)


def test_linear_form_of_independent_losses() -> None:
    share = F(2, 3)
    for a in range(1, 5):
        for b in range(4):
            for growth in GROWTHS:
                total = F(0)
                for x in range(a + 1):
                    for y in range(b + 2):
                        ways = comb(a, x) * comb(b + 1, y)
                        chance = (1 - share) ** (x + y) * share ** (a + b + 1 - x - y)
                        total += ways * chance * max(F(0), F(y, b + 1) - growth * F(x, a))
                assert total / (1 - share) == stick_kept(a, b, share, growth)


def test_where_it_is_zero() -> None:
    zeros = 0
    for a, b, rest, draws in tables(8):
        for growth in (*GROWTHS, F(a, max(1, a - draws))):
            is_zero = draws < a and growth * (a - draws) >= a
            assert (stick(a, b, rest, draws, growth) == 0) == is_zero
            if is_zero:
                zeros += 1
                assert walked_hypergeometric(a, b, rest, draws, log_growth(growth)) == LOG_ZERO
    assert zeros > 100


@pytest.mark.parametrize("growth", GROWTHS)
def test_walk_against_rationals(growth: Fraction) -> None:
    epsilon = log_growth(growth)
    for a, b, rest, draws in tables(8):
        bounds = walked_hypergeometric(a, b, rest, draws, epsilon)
        holds(bounds, stick(a, b, rest, draws, growth))
    for a in range(1, 8):
        for b in range(7):
            for share in SHARES:
                holds(walked_independent(a, b, share, epsilon), stick_kept(a, b, share, growth))


@pytest.mark.slow
@pytest.mark.parametrize("growth", GROWTHS)
def test_walk_against_rationals_up_to_twelve(growth: Fraction) -> None:
    epsilon = log_growth(growth)
    for a, b, rest, draws in tables(12):
        bounds = walked_hypergeometric(a, b, rest, draws, epsilon)
        holds(bounds, stick(a, b, rest, draws, growth))


@pytest.mark.parametrize("growth", GROWTHS)
def test_walk_with_replacement_against_rationals(growth: Fraction) -> None:
    epsilon = log_growth(growth)
    for a in range(2, 8):
        for b in range(1, 8):
            for rest in (1, 3):
                for draws in (1, 2, 5, 8):
                    bounds = walked_multinomial(a, b, rest, draws, epsilon)
                    holds(bounds, stick_drawn(a, b, rest, draws, growth))


def test_both_forms_occur() -> None:
    assert lost_is_flat(5, 2, F(0))
    assert lost_is_flat(3, 2, F(0)), "slope 1"
    assert not lost_is_flat(3, 2, F(1, 10**9))
    assert not lost_is_flat(2, 5, F(0))


@cache
def row(t: int, marked: int, total: int) -> tuple[Fraction, ...]:
    return tuple(
        F(choose(marked, i) * choose(total - marked, t - i), comb(total, t))
        for i in range(marked + 1)
    )


def tail(t: int, marked: int, total: int, k: int) -> Fraction:
    return sum((p for i, p in enumerate(row(t, marked, total)) if i >= k), F(0))


def beyond(t: int, marked: int, total: int, k: int) -> Fraction:
    return sum(((i - k) * p for i, p in enumerate(row(t, marked, total)) if i >= k), F(0))


def test_steps_of_a_row() -> None:
    for total in range(1, 8):
        for marked in range(total + 1):
            for t in range(total):
                for k in range(1, marked + 1):
                    p = row(t, marked, total)[k - 1]
                    f, v = tail(t, marked, total, k), beyond(t, marked, total, k)
                    assert tail(t, marked, total, k - 1) == f + p
                    assert beyond(t, marked, total, k - 1) == v + f
                    grown = f + p * F(marked - k + 1, total - t)
                    assert tail(t + 1, marked, total, k) == grown
                    grown = v * F(total - t - 1, total - t) + F(marked - k, total - t) * f
                    assert beyond(t + 1, marked, total, k) == grown


def excess(t: int, marked: int, total: int, kappa: Fraction) -> Fraction:
    return sum((max(F(0), i - kappa) * p for i, p in enumerate(row(t, marked, total))), F(0))


def test_rows_fall() -> None:
    for marked, total, slope in ((4, 9, F(1)), (3, 7, F(2, 3)), (5, 6, F(1, 9)), (2, 8, F(0))):
        for j in range(total):
            t = total - 1 - j
            here = excess(t, marked, total, slope * j + F(1, 5))
            above = excess(t + 1, marked, total, slope * (j - 1) + F(1, 5))
            assert here <= above <= here + 2


def test_rounding_of_the_boundary() -> None:
    for marked, total, t in ((4, 9, 5), (3, 7, 6)):
        for step in range(1, 60):
            kappa, below = F(step, 17), F(step, 17) - F(1, 40)
            here, lower = (excess(t, marked, total, x) for x in (kappa, below))
            inside = sum((p for i, p in enumerate(row(t, marked, total)) if i > below), F(0))
            assert lower - F(1, 40) * inside <= here <= lower


Exact = Callable[[int], Fraction]


@pytest.mark.parametrize("growth", [F(1), F(101, 100), F(3), 1 + F(1, 10**12)])
@pytest.mark.parametrize(("a", "b"), [(7, 6), (6, 7), (100, 3), (3, 100), (2, 1)])
def test_boundary_is_rounded_down(a: int, b: int, growth: Fraction) -> None:
    epsilon = log_growth(growth)
    cases: list[tuple[Boundary, Exact]] = []
    slope = growth * (b + 1) / a
    if lost_is_flat(a, b, epsilon):
        cases.append((lost_boundary(a, b, epsilon), lambda j: slope * j))
    if slope >= 1:
        cases.append((kept_boundary(a, b, epsilon), lambda j: a - a / growth + j / slope))
    assert cases
    for boundary, exact in cases:
        for j in range(12):
            assert 0 <= exact(j) * ONE - boundary.at(j) <= 1
            assert boundary.back <= (1 - exact(1) + exact(0)) * ONE < boundary.back + 2


def test_boundary_of_an_irrational_growth() -> None:
    """The enclosure of e^epsilon is used from the side that lowers kappa."""
    epsilon = exact_real("0.3", name="epsilon")
    nearly = F(math.exp(0.3))
    for boundary, exact in (
        (lost_boundary(9, 2, epsilon), lambda j: nearly * 3 * j / 9),
        (kept_boundary(4, 9, epsilon), lambda j: 4 - F(4 * (10 - j), 10) / nearly),
    ):
        for j in range(10):
            assert abs(float(exact(j)) - boundary.near(j)) < 1e-14
    up, down = math.log(5 / 4), math.log(10 / 9)
    assert abs(drawn_boundary(5, 9, epsilon).near(3) - (0.3 + 3 * down) / up) < 1e-14
    mirrored = mirrored_boundary(10, 4, epsilon)
    assert abs(mirrored.near(-30) - (0.3 - 30 * math.log(10 / 9)) / up) < 1e-13


def test_what_is_left_out() -> None:
    """Whatever rows are walked: the bounds above and below exceed what the other rows add."""
    compared = finite = 0
    for a, b, rest, draws, growth in (
        (60, 20, 40, 50, F(3, 2)),
        (30, 40, 80, 90, F(11, 10)),
        (8, 30, 300, 60, F(2)),
        # Rows fall slowly here: the factor 1 / (1 - r)^2 is needed.
        (150, 140, 160, 220, F(101, 100)),
    ):
        epsilon = log_growth(growth)
        n = a + b + rest
        if lost_is_flat(a, b, epsilon):
            law = HypergeometricRows(b + 1, a, rest, n + 1 - draws)
            boundary = lost_boundary(a, b, epsilon)
        else:
            law = HypergeometricRows(a, b + 1, rest, draws)
            boundary = kept_boundary(a, b, epsilon)
        lowest, highest = max(0, law.drawn - law.others), min(law.beside, law.drawn)
        marginal = row(law.drawn, law.beside, law.others + law.beside)
        weight = {
            j: excess(law.drawn - j, law.marked, law.others, F(boundary.at(j), ONE))
            for j in range(lowest, highest + 1)
        }
        rows = {j: marginal[j] * weight[j] for j in weight}
        positive = max(j for j in weight if weight[j])
        for j in range(lowest + 1, positive):
            edge = remainder.Edge(j, log_fraction(weight[j]) + 1e-12)
            above = sum((rows[x] for x in rows if x > j), F(0))
            below = sum((rows[x] for x in rows if x < j), F(0))
            for bound, truth in (
                (remainder.log_above(law, boundary, edge, positive), above),
                (remainder.log_below(law, boundary, edge, lowest), below),
            ):
                compared += 1
                if bound < 500:
                    finite += 1
                    assert bound >= log_fraction(truth) - 1e-12
    assert finite >= 200, compared


def test_convex_in_the_growth() -> None:
    growths = [1 + F(k, 7) for k in range(30)]
    for a, b, rest, draws in ((4, 3, 3, 5), (3, 5, 0, 4), (2, 2, 5, 8)):
        values = [stick(a, b, rest, draws, growth) for growth in growths]
        for place in range(1, len(values) - 1):
            assert values[place - 1] >= values[place]
            assert values[place - 1] + values[place + 1] >= 2 * values[place]
