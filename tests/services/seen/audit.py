"""A lower bound on epsilon from what was seen, by the intervals of Clopper and Pearson."""

from __future__ import annotations

import math
from collections import Counter


def clopper_pearson(successes: int, runs: int, error: float) -> tuple[float, float]:
    """Return the exact interval, by bisection of binomial tails."""

    def tail(p: float, lower: bool) -> float:
        terms = range(successes, runs + 1) if lower else range(successes + 1)
        return math.fsum(
            math.exp(
                math.lgamma(runs + 1)
                - math.lgamma(k + 1)
                - math.lgamma(runs - k + 1)
                + k * math.log(p)
                + (runs - k) * math.log1p(-p)
            )
            for k in terms
        )

    def solve(lower: bool) -> float:
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = (low + high) / 2
            grows = tail(middle, lower) < error / 2
            low, high = (middle, high) if grows == lower else (low, middle)
        return low if lower else high

    return (solve(True) if successes else 0.0), (solve(False) if successes < runs else 1.0)


def audit(totals: dict[int, list[int]], delta: float, *, least: int | None = None) -> float:
    """Return a lower bound on epsilon from counts, for datum 0 and 1.

    The event is a count of at least ``least``; if it is not stated beforehand, it is chosen on
    the first half of the runs and judged on the second. It holds except with probability 1e-4.
    """
    half = len(totals[1]) // 2 if least is None else 0
    first = {x: Counter(seen[:half]) for x, seen in totals.items()}

    def share(x: int, least: int) -> float:
        return (sum(n for t, n in first[x].items() if t >= least) + 0.5) / (half + 1)

    most = max(max(seen) for seen in totals.values())
    best = least or max(range(most + 1), key=lambda t: (share(1, t) - delta) / share(0, t))
    second = {x: sum(t >= best for t in seen[half:]) for x, seen in totals.items()}
    runs = len(totals[1]) - half
    low, _ = clopper_pearson(second[1], runs, 1e-4)
    _, high = clopper_pearson(second[0], runs, 1e-4)
    return math.log((low - delta) / high) if low > delta else 0.0
