"""Many distributions: each pair of categories by itself, with the few distributions that matter.

The expectation of g at the counts of one pair is at most that for records of the distributions on
the lower left hull of the pair's probabilities (proofs/smoothed-brackets#10).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

from smoothdp.smoothed.brackets.composition_cells import Law
from smoothdp.smoothed.brackets.mixtures import MOST_DIVERGENCES, Mixtures
from smoothdp.smoothed.brackets.one_law import OneLaw
from smoothdp.smoothed.brackets.shares import shares_of
from smoothdp.smoothed.brackets.two_counts import TwoCounts

Point = tuple[Fraction, Fraction]
_MOST_PAIRS = 200
_MOST_SPLITS = 60
_ROUGH = 2.5
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


class _Pair(NamedTuple):
    """The mixtures that matter for a pair of categories, and ln of how many such pairs."""

    mixtures: Mixtures
    log_number: float

    @property
    def upper(self) -> float:
        return self.mixtures.upper + self.log_number

    @property
    def can_improve(self) -> bool:
        return len(self.mixtures.vertices) > 1 and self.mixtures.can_improve


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

    def upper(self, values: TwoCounts, *, goal: float, tolerance: float) -> float:
        """Bound ln of smoothed delta: the sum of every pair's own largest expectation."""
        pairs = []
        for corners, times in self._numbers.items():
            least = [min(chances) for chances in zip(*corners, strict=True)]
            law = OneLaw(self.n_records, shares_of(least))
            enough = goal - _NEGLIGIBLE - math.log(len(self._numbers))
            width = tolerance if len(corners) == 1 else _ROUGH
            upper = law.bracket(values, tolerance=width, log_target=enough).upper
            mixtures = Mixtures(self.n_records, corners, values, upper)
            pairs.append(_Pair(mixtures, math.log(times)))
        for _ in range(_MOST_SPLITS):
            total = _log_sum([pair.upper for pair in pairs])
            left = [pair for pair in pairs if pair.can_improve]
            if total <= goal or not left or values.n_evaluations > MOST_DIVERGENCES:
                break
            worst = max(left, key=lambda pair: pair.upper)
            if worst.upper < total - _NEGLIGIBLE:
                break
            target = goal - math.log(len(pairs)) - worst.log_number
            worst.mixtures.split(target=target, tolerance=tolerance)
        return _log_sum([pair.upper for pair in pairs]) + _SLACK


def _log_sum(logs: Sequence[float]) -> float:
    top = max(logs)
    return top + math.log(math.fsum(math.exp(value - top) for value in logs))
