"""Padded windows against literal sums over cells, and every neighbour of small databases."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from smoothdp.queries.private_size.padded_window import PaddedWindow
from smoothdp.queries.private_size.read_rows import read_rows
from smoothdp.queries.read_arguments import LARGEST_FLOAT

LOW, HIGH = Fraction(0), Fraction(10)
LEVELS = [Fraction(1, 2), Fraction(9, 10), Fraction(1, 4), Fraction(1), Fraction(2, 3), Fraction(0)]


def clamped(x: list[Fraction]) -> list[Fraction]:
    return sorted(min(max(v, LOW), HIGH) for v in x)


def integral(x: list[Fraction], start: Fraction, stop: Fraction) -> Fraction:
    """The integral of X, cell by cell."""
    total = Fraction(0)
    for cell in range(math.floor(start), math.ceil(stop)):
        overlap = min(stop, Fraction(cell + 1)) - max(start, Fraction(cell))
        value = LOW if cell < 0 else HIGH if cell >= len(x) else x[cell]
        total += overlap * value
    return total


def bound(x: list[Fraction], q: Fraction, w: Fraction, c: Fraction, k: int) -> Fraction:
    """B_k by the family with i rows removed, alpha copies of a and beta of b added."""
    x = clamped(x)
    m = max(q, 1 - q)
    best = Fraction(0)
    for i in range(k + 1):
        for alpha in range(k - i + 1):
            for beta in range(k - i - alpha + 1):
                s = q * beta - (1 - q) * alpha
                top = q * len(x) + c + w / 2 + (1 - q) * i + s
                bottom = q * len(x) + c - w / 2 - q * i + s
                up = integral(x, top, top + m) - integral(x, bottom, bottom + m)
                down = integral(x, top - m, top) - integral(x, bottom - m, bottom)
                best = max(best, up, down)
    return best / w


def exact(window: PaddedWindow, x: list[Fraction], k: int) -> Fraction:
    return window._search(np.array([float(v) for v in x])).at(k) / window.width


@pytest.mark.parametrize("q", LEVELS, ids=str)
@pytest.mark.parametrize("c", [Fraction(0), Fraction(-7, 3), Fraction(1, 2)], ids=str)
def test_bounds_are_those_of_the_whole_family(q: Fraction, c: Fraction) -> None:
    rng = random.Random(5)
    for _ in range(25):
        n, k = rng.randrange(7), rng.randrange(6)
        w = Fraction(rng.randrange(1, 30), rng.choice([1, 2, 3, 7]))
        x = [Fraction(rng.choice([-4, 0, 1, 1, 2, 5, 9, 10, 40])) for _ in range(n)]
        window = PaddedWindow(q, bounds=(LOW, HIGH), width=w, offset=c)
        assert exact(window, x, k) == bound(x, q, w, c, k)
        value = integral(clamped(x), *ends(q, w, c, n)) / w
        assert window.summary([float(v) for v in x], smoothing=1).value == value


def ends(q: Fraction, w: Fraction, c: Fraction, n: int) -> tuple[Fraction, Fraction]:
    return q * n + c - w / 2, q * n + c + w / 2


@pytest.mark.parametrize("q", LEVELS, ids=str)
def test_smooth_sensitivity_is_the_largest_of_all_distances(q: Fraction) -> None:
    rng = random.Random(6)
    for _ in range(12):
        n = rng.randrange(6)
        w = Fraction(rng.randrange(1, 12), rng.choice([1, 2, 3]))
        x = [Fraction(rng.choice([0, 1, 1, 2, 5, 9, 10])) for _ in range(n)]
        t = Fraction(rng.choice([1, 3]), rng.choice([2, 7]))
        window = PaddedWindow(q, bounds=(LOW, HIGH), width=w)
        found = window.log_smooth_sensitivity([float(v) for v in x], smoothing=t)
        logs = [
            math.log(b) - float(t) * k for k in range(9) if (b := bound(x, q, w, Fraction(0), k))
        ]
        # Beyond distance 8 nothing exceeds (b - a) M / w.
        beyond = math.log((HIGH - LOW) * max(q, 1 - q) / w) - float(t) * 9
        assert found >= max(logs) - 1e-12
        assert found <= max(*logs, beyond) + 1e-12


def databases(values: list[int], most: int) -> Iterator[tuple[int, ...]]:
    for n in range(most + 1):
        yield from itertools.combinations_with_replacement(values, n)


@pytest.mark.parametrize("q", LEVELS, ids=str)
def test_every_pair_of_neighbours_up_to_four_rows(q: Fraction) -> None:
    values, t = [0, 1, 4, 10], Fraction(1, 3)
    for w, c in (
        (Fraction(3, 2), Fraction(0)),
        (Fraction(4), Fraction(-1)),
        (Fraction(1, 2), Fraction(0)),
    ):
        window = PaddedWindow(q, bounds=(LOW, HIGH), width=w, offset=c)
        seen = {x: window.summary([float(v) for v in x], smoothing=t) for x in databases(values, 4)}
        attained = 0
        for x, here in seen.items():
            if len(x) == 4:
                continue
            for added in values:
                there = seen[tuple(sorted((*x, added)))]
                moved = float(abs(here.value - there.value))
                sizes = here.smooth_sensitivity(), there.smooth_sensitivity()
                assert moved <= min(sizes) * (1 + 1e-12)
                log = here.log_smooth_sensitivity() - there.log_smooth_sensitivity()
                assert abs(log) <= float(t) + 1e-12
                attained += abs(log) > float(t) - 1e-9
        assert attained


def test_the_median_bound_is_attained() -> None:
    """For q = 1/2, c = 0 and w >= 1 B_k is the local sensitivity at distance k."""
    values, w = [0, 1, 4, 10], Fraction(3, 2)
    window = PaddedWindow("1/2", bounds=(LOW, HIGH), width=w)
    mean = {
        x: window.summary([float(v) for v in x], smoothing=1).value for x in databases(values, 6)
    }

    def local(x: tuple[int, ...]) -> Fraction:
        nearby = [tuple(sorted((*x, v))) for v in values]
        nearby += [x[:i] + x[i + 1 :] for i in range(len(x))]
        return max(abs(mean[x] - mean[y]) for y in nearby)

    for x in databases(values, 3):
        assert exact(window, list(map(Fraction, x)), 0) == local(x)
        at_one = [x, *(tuple(sorted((*x, v))) for v in values)]
        at_one += [x[:i] + x[i + 1 :] for i in range(len(x))]
        assert exact(window, list(map(Fraction, x)), 1) == max(map(local, at_one))


def test_bounds_without_distances_are_not_smooth() -> None:
    """The checks see a wrong sensitivity: B_0 alone differs by more than e^t of neighbours."""
    window = PaddedWindow("1/2", bounds=(LOW, HIGH), width=1)
    worst = max(
        exact(window, list(map(Fraction, x)), 0) / exact(window, list(map(Fraction, y)), 0)
        for x in databases([0, 1, 4, 10], 3)
        for y in [tuple(sorted((*x, v))) for v in (0, 1, 4, 10)]
        if exact(window, list(map(Fraction, y)), 0)
    )
    assert worst > 2


def bounds_in_floats(x: NDArray[np.float64], q: Fraction, w: Fraction, most: int) -> list[float]:
    """w B_k for k = 0, ..., most with the family of the page's statement 5, by prefix sums."""
    n, low, high, pad = len(x), -50.0, 5000.0, 3 * most
    mirrored = q < Fraction(1, 2)
    cells = np.sort(np.clip(x, low, high))
    if mirrored:
        cells, low, high, q = -cells[::-1], -high, -low, 1 - q
    steps = np.concatenate([np.full(pad, low), cells, np.full(pad, high)])
    sums, m = np.concatenate([[0.0], np.cumsum(steps)]), float(q)

    def gain(top: NDArray[np.float64], bottom: NDArray[np.float64]) -> float:
        ends = (top + m, 1), (top, -1), (bottom + m, -1), (bottom, 1)
        ranks = np.arange(len(sums))
        return float(sum(sign * np.interp(u + pad, ranks, sums) for u, sign in ends).max())

    found = []
    for k in range(most + 1):
        j = np.arange(k + 1)
        top = m * n + float(w) / 2 + (1 - m) * (k - j) + m * j
        bottom = m * n - float(w) / 2 - m * (k - j) + m * j
        found.append(max(gain(top, bottom), gain(top[:1] - m, bottom[:1] - m)))
    return found


def test_many_rows_against_few_at_each_distance() -> None:
    """The search against all distances and pairs, on data with ties and wide gaps."""
    rng = np.random.default_rng(3)
    w, far = Fraction(13, 3), 500
    for q in ("1/2", "9/10", "1/5"):
        for data in (
            rng.poisson(3, 300).astype(float),
            rng.lognormal(0, 3, 300),
            -rng.pareto(1, 300),
        ):
            window = PaddedWindow(q, bounds=(-50, 5000), width=w)
            literal = np.array(bounds_in_floats(data, Fraction(q), w, far))
            search = window._search(data.copy())
            for k in (0, 1, 2, 3, 5, 8, 13, 40, 150, far):
                assert math.isclose(float(search.at(k)), literal[k], rel_tol=1e-9, abs_tol=1e-8)
            with np.errstate(divide="ignore"):
                logs = np.log(np.maximum(literal, 0.0))
            for t in (Fraction(1, 50), Fraction(1, 4)):
                k, d = search.largest(t)
                scores = logs - float(t) * np.arange(far + 1)
                # What prefix sums in floats leave open is settled exactly.
                near = [j for j in range(far + 1) if scores[j] > scores.max() - 1e-6]
                best = max(math.log(search.at(j)) - float(t) * j for j in near)
                assert math.isclose(math.log(d) - float(t) * k, best, rel_tol=1e-12, abs_tol=1e-12)


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_whole_numbers_and_bounds_between_floats(dtype: type) -> None:
    data: NDArray[np.float64 | np.int64] = np.array([3, 3, 7, 1 << 40, -5], dtype)
    window = PaddedWindow("7/10", bounds=("1/3", "22/3"), width="5/2")
    as_floats = window.summary([float(v) for v in data], smoothing=1)
    assert window.summary(data, smoothing=1) == as_floats
    narrow = PaddedWindow("1/2", bounds=("1.00000000000000001", "1.00000000000000002"), width=2)
    assert narrow.summary([0.0, 2.0, 2.0], smoothing=1).value == Fraction("0.25") * Fraction(
        "1.00000000000000001"
    ) + Fraction("0.75") * Fraction("1.00000000000000002")


TINY = 5e-324


@pytest.mark.parametrize(
    ("q", "zeros", "tinies"), [("1/2", 1600, 1600), ("1/4", 744, 2223), ("1/4", 808, 2429)]
)
def test_gaps_below_all_normal_floats(q: str, zeros: int, tinies: int) -> None:
    """Products of a length and such a gap are 0 in floats: S was e^-855 of the truth, or none."""
    window, t = PaddedWindow(q, bounds=(0, 1), width=1), Fraction(1, 2)
    x = [0.0] * zeros + [TINY] * tinies
    here, there = (window.summary(data, smoothing=t) for data in (x, [*x, 1.0]))
    logs = here.log_smooth_sensitivity(), there.log_smooth_sensitivity()
    assert abs(logs[0] - logs[1]) <= float(t) * (1 + 1e-12)
    moved = abs(here.value - there.value)
    if moved:
        assert math.log(moved.numerator) - math.log(moved.denominator) <= min(logs) + 1e-9


def test_cells_of_the_least_floats() -> None:
    rng = random.Random(8)
    for _ in range(60):
        q, c = rng.choice(LEVELS), Fraction(rng.choice([0, 0, -2]))
        w = Fraction(rng.randrange(1, 12), rng.choice([1, 2, 3]))
        x = [rng.choice([0, 1, 2, 7]) * TINY for _ in range(rng.randrange(9))]
        t = rng.choice([Fraction(1, 10), Fraction(60), Fraction(300)])
        window = PaddedWindow(q, bounds=(LOW, HIGH), width=w, offset=c)
        found = window.log_smooth_sensitivity(x, smoothing=t)
        bounds = [bound(list(map(Fraction, x)), q, w, c, k) for k in range(7)]
        logs = [
            math.log(b.numerator) - math.log(b.denominator) - float(t) * k
            for k, b in enumerate(bounds)
            if b
        ]
        beyond = math.log((HIGH - LOW) * max(q, 1 - q) / w) - float(t) * 7
        assert found >= max(logs, default=-math.inf) - 1e-9
        assert found <= max([*logs, beyond]) + 1e-9


def test_distances_that_floats_cannot_tell_apart_are_compared_exactly() -> None:
    """B_0 = 1/2 against e^-t B_1 = e^-t g/2, with g the floats around e^t: rationals decide."""
    with mpmath.workdps(60):
        for tenths in range(1, 40):
            t = Fraction(tenths, 10)
            growth = mpmath.exp(mpmath.mpf(tenths) / 10)
            near = float(growth)
            for g in (near, math.nextafter(near, 0), math.nextafter(near, math.inf)):
                window = PaddedWindow("1/2", bounds=(0, Fraction(g)), width=1)
                ((distance, difference),) = window.summary([0, 0, 1, g], smoothing=t).candidates
                larger = mpmath.mpf(g) > growth
                assert (distance, difference) == (
                    (1, Fraction(g) / 2) if larger else (0, Fraction(1, 2))
                )


@pytest.mark.parametrize(("lower", "level", "higher"), [(0, 60, 20), (20, 60, 0), (1, 40, 3)])
def test_the_first_distance_beyond_a_level_part_is_not_left_out(
    lower: int, level: int, higher: int
) -> None:
    """Equal values around the window, and a rate at which the first distance that gains is best."""
    values = [3.0] * lower + [5.0] * level + [7.0] * higher
    window = PaddedWindow("1/2", bounds=(0, 10), width=3)
    for smoothing in (Fraction(4), Fraction(12)):
        summary = window.summary(values, smoothing=smoothing)
        ((distance, difference),) = summary.candidates
        bounds = [Fraction(window.local_bound(values, distance=k)) for k in range(distance + 3)]
        first = next(k for k, bound in enumerate(bounds) if bound)
        assert distance == first > 5
        assert Fraction(window.local_bound(values, distance=first)) >= difference > 0


def test_a_pad_next_to_a_float_is_not_that_float() -> None:
    """The bound 1/10 and the float 0.1 are 5.6e-18 apart: the first gain below the window."""
    window = PaddedWindow("1/4", bounds=(Fraction(1, 10), 1), width=1)
    summary = window.summary([0.1] * 40, smoothing=Fraction(60))
    ((_, difference),) = summary.candidates
    assert 0 < difference <= Fraction(0.1) - Fraction(1, 10)


def test_infinite_values_are_rows_and_missing_ones_are_none() -> None:
    assert read_rows(np.array([np.inf, -np.inf, np.nan, 1.0])).tolist() == [
        LARGEST_FLOAT,
        -LARGEST_FLOAT,
        1.0,
    ]
