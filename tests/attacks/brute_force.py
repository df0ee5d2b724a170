"""Brute force that shares no code with the library: statistics, sensitivities, noise, divergences.

Written from the words of the documentation alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np

Database = tuple[Fraction, ...]
Graph = dict[Database, set[Database]]


def window_mean(x: Iterable[Fraction], low: int, high: int, *, output: bool = False) -> Fraction:
    """Return the mean without ``low`` smallest and ``high`` largest, clamped to [0, 1]."""
    ordered = sorted(x)
    kept = ordered[low : len(ordered) - high]
    if output:
        return min(max(sum(kept, Fraction(0)) / len(kept), Fraction(0)), Fraction(1))
    return sum((min(max(v, Fraction(0)), Fraction(1)) for v in kept), Fraction(0)) / len(kept)


def databases(values: Sequence[Fraction], n: int) -> Graph:
    """Return all multisets of n values, each with its neighbours (one record replaced)."""
    graph: Graph = {}
    for x in combinations_with_replacement(sorted(values), n):
        near = {tuple(sorted((*x[:i], *x[i + 1 :], v))) for i in range(n) for v in values}
        graph[x] = near - {x}
    return graph


def smooth_sensitivity(
    graph: Graph, f: Mapping[Database, Fraction], t: float
) -> dict[Database, float]:
    """Return max over k of e^(-kt) times the largest local sensitivity k steps away."""
    now = {x: max((abs(f[x] - f[y]) for y in graph[x]), default=Fraction(0)) for x in graph}
    best = {x: float(now[x]) for x in graph}
    for k in range(1, len(next(iter(graph))) + 1):
        now = {x: max([now[x], *(now[y] for y in graph[x])]) for x in graph}
        best = {x: max(best[x], math.exp(-k * t) * float(now[x])) for x in graph}
    return best


def density(law: Any) -> Callable[[Any], Any]:
    """Return the density of a law at unit scale, from its documented formula."""
    name = type(law).__name__
    if name == "PolyPlace":
        a = float(law.alpha)
        c = a / (2 * (2 * (1 - 1 / a) ** a + a - 1))
        tail = c * (a + 1) * (1 - 1 / a**2) ** a
        return lambda x: np.where(
            np.abs(x) < 1 / a,
            c * (a - 1) * np.clip(1 - np.abs(x), 0, None) ** (a - 1),
            tail * (1 + np.abs(x)) ** (-a - 1),
        )
    if name == "StudentT":
        d = float(law.degrees)
        c = math.exp(math.lgamma((d + 1) / 2) - math.lgamma(d / 2)) / math.sqrt(math.pi * d)
        return lambda x: c * (1 + x * x / d) ** (-(d + 1) / 2)
    if name == "Laplace":
        return lambda x: np.exp(-np.abs(x)) / 2
    if name == "Gaussian":
        return lambda x: np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    assert name == "ArsinhNormal"
    s = float(law.sigma)
    return lambda x: (
        np.exp(-((np.arcsinh(s * x) / s) ** 2) / 2) / np.sqrt(2 * np.pi * (1 + (s * x) ** 2))
    )


def points(shift: float) -> Any:
    """Return a grid, dense at both modes and reaching to e^40."""
    tail = np.exp(np.linspace(-14, 40, 3000))
    near = np.linspace(-4, 4, 4001)
    return np.unique(np.concatenate([-tail, tail, near, shift + near, shift - tail, shift + tail]))


def loss(law: Any, shift: float, log_ratio: float) -> float:
    """Return the largest |log p / q| of Z against shift + e^log_ratio Z."""
    g, ratio, x = density(law), math.exp(log_ratio), points(shift)
    p, q = g(x), g((x - shift) / ratio) / ratio
    seen = (p > 1e-250) & (q > 1e-250)
    return float(np.max(np.abs(np.log(p[seen] / q[seen]))))


def hockey_stick(law: Any, shift: float, log_ratio: float, epsilon: float) -> float:
    """Return the worse delta(epsilon) of Z and shift + e^log_ratio Z."""
    g, ratio, x = density(law), math.exp(log_ratio), points(shift)
    p, q = g(x), g((x - shift) / ratio) / ratio
    factor = math.exp(epsilon)
    sides = (np.maximum(p - factor * q, 0), np.maximum(q - factor * p, 0))
    return max(float(np.trapezoid(side, x)) for side in sides)


def hypergeometric(counts: Sequence[int], draws: int) -> dict[tuple[int, ...], Fraction]:
    """Return the law of the histogram of a sample without replacement."""
    total = math.comb(sum(counts), draws)
    return {
        h: Fraction(math.prod(map(math.comb, counts, h)), total)
        for h in product(range(draws + 1), repeat=len(counts))
        if sum(h) == draws
    }


def delta_at(counts: Sequence[int], draws: int, factor: Fraction) -> Fraction:
    """Return delta(x): the worst hockey stick over all moves of one record, both ways."""
    here, worst = hypergeometric(counts, draws), Fraction(0)
    for i, j in product(range(len(counts)), repeat=2):
        if i == j or not counts[i]:
            continue
        moved = list(counts)
        moved[i] -= 1
        moved[j] += 1
        there = hypergeometric(moved, draws)
        for p, q in ((here, there), (there, here)):
            worst = max(
                worst, sum((max(p[h] - factor * q[h], Fraction(0)) for h in p), Fraction(0))
            )
    return worst
