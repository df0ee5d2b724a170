"""All orders of one pair of laws, from finitely many (proofs/zcdp-certificates#7).

K(b) = ln E e^(bL) = b D_{1+b}, with L the privacy loss, P its law and D_{1+b} the Renyi
divergence of order 1 + b of a fixed pair. To prove is K(b) <= rho b (1 + b) on [l, r].

* Chords: K is convex and K(0) = 0, so bounds of K at two orders bound K between them, and
  the promise follows from a quadratic inequality that is decided in rationals. On (0, r] it
  is K(r) <= rho r, which covers order 1 as well.
* Interpolation: for all real m and u, G(b) = e^(K(b) - m b - u) = E e^(b (L - m) - u) has
  only nonnegative derivatives of even order. The polynomial through an even number n of its
  points is off by G^(n)(x) / n! times the product of (b - b_i), which is negative on
  (b_0, b_1), (b_2, b_3), ...: there the polynomial is an upper bound of G, far closer than the
  chord. It is evaluated on a fine grid, between whose points chords do the rest.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from smoothdp.exact.balls.work import spend
from smoothdp.types import FloatArray

Interval = tuple[float, float]
Bounds = Callable[[float], tuple[float, float]]
"""b -> floats around D_{1+b}."""

_SMALLEST = 1e-9
_MOST_SPLITS = 40
_FINE = 32
_UNIT = 2.0**-53
_WINDOWS = (6, 4)
# In the units of `smoothdp.exact.balls.work`.
_PER_CHORD = 60


class Curve:
    """Bounds of K at the orders that were asked for, sorted; K(0) = 0 is known."""

    def __init__(self, divergence: Bounds) -> None:
        self._divergence = divergence
        self.orders = [0.0]
        self._known: dict[float, tuple[float, float]] = {0.0: (0.0, 0.0)}

    def at(self, b: float) -> tuple[float, float]:
        """Return floats around D_{1+b}, b > 0."""
        if b not in self._known:
            self._known[b] = self._divergence(b)
            bisect.insort(self.orders, b)
        return self._known[b]

    def upper(self, b: float) -> Fraction | None:
        """Return an upper bound of K(b), exactly b times that of D; None if infinite."""
        if b == 0.0:
            return Fraction(0)
        value = self.at(b)[1]
        return Fraction(b) * Fraction(value) if math.isfinite(value) else None

    def windows(self, low: float, high: float) -> list[list[float]]:
        """Return sets of known orders in which (low, high) is a gap with an even start."""
        i = bisect.bisect_left(self.orders, low)
        windows: list[list[float]] = []
        # Not a gap, if a known order lies between the two: the sign would be wrong.
        if self.orders[i : i + 2] != [low, high]:
            return windows
        for n in _WINDOWS:
            for before in range(0, n, 2):
                start = i - before
                if start >= 0 and start + n <= len(self.orders):
                    windows.append(self.orders[start : start + n])
        return windows


def unproved(curve: Curve, rho: Fraction, intervals: list[Interval]) -> list[Interval]:
    """Return those parts of intervals of b on which D_{1+b} <= rho (1 + b) is not proved.

    >>> unproved(Curve(lambda b: (0.49 * (1 + b), 0.49 * (1 + b))), Fraction(1, 2), [(0.0, 8.0)])
    []
    """
    left: list[Interval] = []
    waiting: list[tuple[float, float, int]] = []
    for low, high in intervals:
        edges = [low, high]
        while low == 0.0 and len(edges) < 8:
            edges.insert(1, edges[1] / 4)
        for edge in edges:
            curve.upper(edge)
        waiting += [(a, b, 0) for a, b in itertools.pairwise(edges)]
    while waiting:
        low, high, depth = waiting.pop()
        if not (_holds_at(curve, rho, low) and _holds_at(curve, rho, high)):
            left.append((low, high))
            continue
        if _proved(curve, rho, low, high):
            continue
        middle = math.sqrt(low * high) if low > 0 else high / 4
        if depth >= _MOST_SPLITS or high < _SMALLEST or not low < middle < high:
            left.append((low, high))
            continue
        curve.upper(middle)
        waiting += [(middle, high, depth + 1), (low, middle, depth + 1)]
    return left


def _holds_at(curve: Curve, rho: Fraction, b: float) -> bool:
    value = curve.upper(b)
    return value is not None and value <= rho * Fraction(b) * (1 + Fraction(b))


def _proved(curve: Curve, rho: Fraction, low: float, high: float) -> bool:
    ends = [(Fraction(b), curve.upper(b)) for b in (low, high)]
    if chord_proves(rho, ends[0], ends[1]):
        return True
    for window in curve.windows(low, high):
        if _interpolation_proves(curve, rho, window, low, high):
            return True
    return False


def chord_proves(
    rho: Fraction, first: tuple[Fraction, Fraction | None], last: tuple[Fraction, Fraction | None]
) -> bool:
    """Whether rho b (1 + b) lies above the chord between two points (b, upper bound of K).

    Their difference rho b^2 + (rho - m) b - c is least at b = (m - rho) / (2 rho) or at an
    end. From (0, 0) on it is b (rho - m) + rho b^2.
    """
    spend(_PER_CHORD)
    low, k_low = first
    high, k_high = last
    if k_low is None or k_high is None:
        return False
    m = (k_high - k_low) / (high - low)
    c = k_low - m * low
    lowest = low if rho == 0 else min(max((m - rho) / (2 * rho), low), high)
    return all(rho * b * (1 + b) >= m * b + c for b in (low, lowest, high))


def _interpolation_proves(
    curve: Curve, rho: Fraction, window: list[float], low: float, high: float
) -> bool:
    if low > 0.0:
        fine = np.geomspace(low, high, _FINE + 1)[1:-1]
    else:
        fine = np.geomspace(high * 1e-8, high, 2 * _FINE + 1)[:-1]
    fine = fine[(fine > low) & (fine < high)]
    if not fine.size:
        return False
    upper = interpolated(curve, window, fine)
    if upper is None:
        return False
    if np.any(upper > float(rho) * fine * (1 + fine) * (1 + 1e-15)):
        return False
    points = [(low, curve.upper(low))]
    points += [(b, Fraction(k)) for b, k in zip(fine.tolist(), upper.tolist(), strict=True)]
    points.append((high, curve.upper(high)))
    exact = [(Fraction(b), k) for b, k in points]
    return all(chord_proves(rho, a, b) for a, b in itertools.pairwise(exact))


def interpolated(curve: Curve, window: list[float], b: FloatArray) -> FloatArray | None:
    """Return upper bounds of K at orders b in an even gap of a window; None where it fails.

    With the tilt m b + u of the chord over the window, G - 1 = expm1(y), y = K - m b - u, and
    the weights of the polynomial sum to 1. Each of its terms is rounded up by 64 units of the
    numbers that went into it: y is the difference of three numbers, each within 4 units, and
    weights are products of 2n differences and quotients (proofs/zcdp-certificates#7).
    """
    x = np.array(window)
    bounds = [curve.at(order) if order else (0.0, 0.0) for order in window]
    k_low = x * np.array([value[0] for value in bounds])
    k_high = x * np.array([value[1] for value in bounds])
    if not (np.all(np.isfinite(k_low)) and np.all(np.isfinite(k_high))):
        return None
    m = (k_high[-1] - k_high[0]) / (x[-1] - x[0])
    u = k_high[0] - m * x[0]
    gaps = x[:, None] - x[None, :]
    np.fill_diagonal(gaps, 1.0)
    reach = b[:, None] - x[None, :]
    weights = np.empty((b.size, x.size))
    for i in range(x.size):
        others = np.delete(reach, i, axis=1)
        weights[:, i] = np.prod(others / np.delete(gaps[i], i), axis=1)
    size = np.abs(k_high) + np.abs(m * x) + abs(u)
    y_low, y_high = k_low - m * x - u, k_high - m * x - u
    if np.any(size > 500):
        return None
    chosen = np.where(weights >= 0, np.expm1(y_high), np.expm1(y_low))
    blur = (np.exp(np.abs(y_high)) * size + np.abs(chosen)) * 64 * _UNIT
    excess = np.sum(weights * chosen, axis=1) + np.sum(np.abs(weights) * blur, axis=1)
    excess += 8 * _UNIT * np.sum(np.abs(weights * chosen), axis=1)
    if not np.all(excess > -1):
        return None
    value = np.log1p(excess)
    total = m * b + u + value
    raised: FloatArray = total + 16 * _UNIT * (np.abs(m * b) + abs(u) + np.abs(value))
    return raised
