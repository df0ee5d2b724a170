"""Columns whose values are tied at the ends of the window: exact, and without sorting the ties.

Where nothing within the first reach differs from the window's end, the next value is found by
counting. Every pair is enumerated here in fractions; the work is counted in values that are
sorted and places that are looked at, not timed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from smoothdp.exact.balls.balls import ball, precision
from smoothdp.queries import Maximum, Median, Minimum, Quantile, Query
from smoothdp.queries.read_arguments import Values
from smoothdp.queries.sensitivity import clamped_inputs as kernel
from smoothdp.queries.sensitivity.clamped_inputs import ClampedInputs
from smoothdp.queries.sensitivity.near_maxima import near_maxima
from smoothdp.queries.windows.selected import OrderStatistics
from smoothdp.queries.windows.sides import Sides

Bounds = tuple[Fraction, Fraction]
UNIT: Bounds = (Fraction(0), Fraction(1))


def by_enumeration(x: Values, drops: tuple[int, int], bounds: Bounds) -> dict[int, Fraction]:
    """Return the largest u_q - v_p for each k = max(p + q - 1, 0), of all p and q."""
    n, (lo, hi) = len(x), drops
    ordered = sorted(min(max(Fraction(v.item()), bounds[0]), bounds[1]) for v in x)

    def at(i: int) -> Fraction:
        return bounds[0] if i < 0 else bounds[1] if i >= n else ordered[i]

    best: dict[int, Fraction] = {}
    for p in range(lo + 2):
        for q in range(hi + 2):
            k = max(p + q - 1, 0)
            best[k] = max(best.get(k, Fraction(0)), at(n - hi - 1 + q) - at(lo - p))
    return best


def is_largest(found: tuple[int, Fraction], best: dict[int, Fraction], rate: Fraction) -> bool:
    """Whether e^(-rate k) d of a candidate is that of the best, decided in balls."""
    k, d = found
    if best[k] != d:
        return False
    with precision(300):
        mine = ball(d).log() - ball(rate * k)
        return all(
            other == k or bool(ball(gain).log() - ball(rate * other) < mine)
            for other, gain in best.items()
            if gain > 0
        )


@pytest.mark.parametrize("seed", range(4))
def test_ties_give_the_exact_maximiser(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small columns of few values, on, beside and beyond bounds that floats do or do not hold."""
    # Nearly every column is then tied within the first reach.
    monkeypatch.setattr(kernel, "first_reach", lambda *_: 1)
    rng = random.Random(seed)
    whole = 1 << 60
    for _ in range(400):
        n = rng.randint(1, 11)
        lo = rng.randint(0, n - 1)
        drops = lo, rng.randint(0, n - 1 - lo)
        x: Values
        if rng.random() < 0.3:
            half = Fraction(2 * whole + 1, 2)
            bounds = rng.choice(
                [(Fraction(whole), Fraction(whole + 5)), (half, Fraction(whole + 3))]
            )
            values = [whole + rng.randint(-1, 6) for _ in range(rng.randint(1, 3))]
            x = np.array([rng.choice(values) for _ in range(n)], dtype=np.int64)
        else:
            bounds = rng.choice(
                [UNIT, (Fraction(1, 10), Fraction(9, 10)), (Fraction(1, 3), Fraction(2, 3))]
            )
            ends = [float(bounds[0]), float(bounds[1])]
            pool = [0.0, 1.0, 0.1, 0.9, 0.25, 0.5, -1.0, 3.0, *ends, *ends]
            floats = [rng.choice(pool) for _ in range(rng.randint(1, 3))]
            x = np.array([rng.choice(floats) for _ in range(n)])
        rate = Fraction(rng.choice(["0.01", "0.1", "1", "3"]))
        k, d = ClampedInputs(x, drops, bounds).largest(rate)
        width = n - sum(drops)
        assert is_largest((k, d * width), by_enumeration(x, drops, bounds), rate), (
            x,
            drops,
            bounds,
        )


class Touched:
    """How many values were sorted, and how many places were looked at."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.values = self.places = 0
        arrange, near = OrderStatistics.arrange, near_maxima

        def counted(ordered: OrderStatistics, pieces: Sequence[tuple[int, int]]) -> None:
            self.values += sum(stop - start for start, stop in pieces)
            arrange(ordered, pieces)

        def looked(sides: Sides, rate: float) -> object:
            self.places += len(sides.low) + len(sides.high)
            return near(sides, rate)

        monkeypatch.setattr(OrderStatistics, "arrange", counted)
        monkeypatch.setattr(kernel, "near_maxima", looked)


N = 200_000


@pytest.mark.parametrize(
    "query",
    [Minimum(UNIT), Maximum(UNIT), Median(UNIT), Quantile("0.9", bounds=UNIT)],
    ids=lambda query: type(query).__name__,
)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("at", [-1.0, 0.0, 0.5, 1.0, 2.0])
def test_ties_are_not_sorted(
    query: Query, share: float, at: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many values are tied, and where: what is sorted is the reach, some hundreds."""
    x = np.random.default_rng(7).random(N)
    x[np.random.default_rng(8).permutation(N)[: int(share * N)]] = at
    touched = Touched(monkeypatch)
    query.summary(x, smoothing="0.1")
    assert touched.values <= 4000
    assert touched.places <= 4000


def test_ties_cost_what_distinct_values_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = np.random.default_rng(7).random(N)
    tied = np.where(plain < 0.3, 0.0, plain)
    costs = []
    for x in (plain, tied):
        with monkeypatch.context() as patch:
            touched = Touched(patch)
            Minimum(UNIT).summary(x, smoothing="0.1")
            costs.append(touched.values + touched.places)
    assert costs[1] <= 4 * costs[0]


def test_a_large_tied_column_is_exact() -> None:
    """The first value beyond the ties decides, or a later one: by all values, sorted."""
    x = np.random.default_rng(3).random(N)
    x[x < 0.3] = 0.0
    rate = Fraction(1, 10)
    k, d = ClampedInputs(x, (0, N - 1), UNIT).largest(rate)
    ordered = np.sort(x)
    ties = int(np.count_nonzero(ordered == 0.0))
    candidates = {q - 1: Fraction(float(ordered[q])) for q in range(ties, ties + 2000)}
    assert is_largest((k, d), candidates, rate)
