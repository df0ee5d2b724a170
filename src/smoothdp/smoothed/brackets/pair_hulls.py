"""Many distributions: each pair of categories by itself, with the few distributions that matter.

The expectation of g at the counts of one pair is at most that for records of the distributions on
the lower left hull of the pair's probabilities (proofs/smoothed-brackets#10).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from smoothdp.smoothed.brackets.composition_cells import Law
from smoothdp.smoothed.brackets.mixtures import Mixtures
from smoothdp.smoothed.brackets.one_law import OneLaw
from smoothdp.smoothed.brackets.shares import shares_of
from smoothdp.smoothed.brackets.two_counts import TwoCounts

Point = tuple[Fraction, Fraction]
_MOST_PAIRS = 200
_MOST_CELLS = 12
_NEGLIGIBLE = 4.0
_SLACK = 1e-9


def lower_left_hull(points: Sequence[Point]) -> list[Point]:
    """Return the corners that no mixture of the others is below in both coordinates.

    In rising order of the first coordinate; the second falls, and the slopes rise.

    >>> F = Fraction
    >>> corners = lower_left_hull([(F(1), F(5)), (F(5), F(1)), (F(2), F(2)), (F(3), F(3))])
    >>> [(int(a), int(b)) for a, b in corners]
    [(1, 5), (2, 2), (5, 1)]
    """
    hull: list[Point] = []
    for a, b in sorted(set(points)):
        if hull and b >= hull[-1][1]:
            continue
        while len(hull) >= 2:
            (x, y), (u, v) = hull[-2], hull[-1]
            if (u - x) * (b - y) > (v - y) * (a - x):
                break
            hull.pop()
        hull.append((a, b))
    return hull


@dataclass
class _Pair:
    """Distributions that matter for a pair of categories, how many such pairs, and a bound."""

    vertices: tuple[Law, ...]
    log_number: float
    upper: float = math.inf
    final: bool = False


class PairHulls:
    """The pairs of categories of a model, each with its hull.

    Args:
        n_records: n; vertices: distributions over at least three categories, all positive.
    """

    def __init__(self, n_records: int, vertices: Sequence[Law]) -> None:
        self.n_records = n_records
        numbers: dict[tuple[Point, ...], int] = {}
        m = len(vertices[0])
        self.within_reach = m * (m - 1) // 2 <= _MOST_PAIRS
        for a, b in combinations(range(m), 2) if self.within_reach else ():
            corners = lower_left_hull([(v[a], v[b]) for v in vertices])
            mirrored = [(y, x) for x, y in reversed(corners)]
            key = min(tuple(corners), tuple(mirrored))
            numbers[key] = numbers.get(key, 0) + 1
        self._numbers = numbers

    def upper(
        self, values: TwoCounts, *, goal: Callable[[], float], tolerance: float
    ) -> float:
        """Bound ln of smoothed delta: the sum of every pair's own largest expectation."""
        n = self.n_records
        pairs = [_Pair(corners, math.log(times)) for corners, times in self._numbers.items()]
        for pair in pairs:
            least = [min(chances) for chances in zip(*pair.vertices, strict=True)]
            law = OneLaw(n, shares_of(least))
            enough = goal() - _NEGLIGIBLE - math.log(len(pairs))
            pair.upper = law.bracket(values, tolerance=tolerance, log_target=enough).upper
            pair.final = len(pair.vertices) == 1
        while True:
            total = _log_sum([pair.upper + pair.log_number for pair in pairs]) + _SLACK
            left = [pair for pair in pairs if not pair.final]
            if total <= goal() or not left:
                return total
            worst = max(left, key=lambda pair: pair.upper + pair.log_number)
            if worst.upper + worst.log_number < total - _NEGLIGIBLE:
                return total
            share = goal() - math.log(len(pairs)) - worst.log_number
            worst.upper = min(
                worst.upper,
                Mixtures(n, worst.vertices).upper(
                    values,
                    start=worst.upper,
                    goal=lambda: share,  # noqa: B023
                    tolerance=tolerance,
                    most_cells=_MOST_CELLS * len(worst.vertices),
                ),
            )
            worst.final = True


def _log_sum(logs: Sequence[float]) -> float:
    top = max(logs)
    return top + math.log(math.fsum(math.exp(value - top) for value in logs))
