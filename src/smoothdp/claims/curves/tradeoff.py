"""Trade-off functions: the least type II error at each type I error."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from smoothdp.claims.curves.atoms import Atoms, log_cumulative, log_of
from smoothdp.claims.domains import read_delta, read_epsilon
from smoothdp.claims.excess import log_gaussian_excess
from smoothdp.errors import InvalidData
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.balls.compare import normal_upper_quantile
from smoothdp.exact.logspace.bisection import smallest_true
from smoothdp.exact.logspace.bounds import (
    UNIT_ROUNDOFF,
    LogBounds,
    exp_lower,
    exp_upper,
    log_difference_upper,
)
from smoothdp.exact.parameters.numbers import Parameter, Real, exact_fraction, exact_probability
from smoothdp.exact.parameters.reading import float_array
from smoothdp.sources import Source
from smoothdp.types import FloatArray

# Interpolation: two differences, a quotient, a product and a sum of floats >= 0.
_INTERPOLATION = 8 * UNIT_ROUNDOFF
# Beyond these no Gaussian curve is looked for.
_LARGEST_MU = 1e4
_LARGEST_EPSILON = 1e6


@dataclass(frozen=True, init=False, eq=False)
class TradeoffFunction:
    """A piecewise-linear trade-off function, by knots (alpha, power), power = 1 - beta.

    f(alpha) = beta is the least type II error of any test with type I error alpha. Inside,
    the curve is a list of segments (run, rise), steepest first, kept as logarithms: both
    ends of a curve are tiny, and 1 - 4.7e-31 would be 1. The knots are completed by (0, 0)
    and (1, 1) and replaced by their concave hull, which only adds power: like every rounding
    here, it never overstates the error of an attacker.

    Source: Dong, Roth, Su 2022, Definition 2.1; paper 5, Definition 2.2.

    Args:
        alphas: type I errors in [0, 1], nondecreasing.
        powers: powers in [0, 1], nondecreasing, one per alpha.

    Raises:
        InvalidData: arrays of different shapes, out of range, or not sorted.

    >>> f = TradeoffFunction([0.25], [0.75])
    >>> round(f(0.25), 12), round(f.delta(0), 12)
    (0.25, 0.5)
    """

    source: ClassVar[Source] = Source("dong-roth-su", "Definition 2.1")
    segments: Atoms

    def __init__(self, alphas: ArrayLike, powers: ArrayLike) -> None:
        a, b = _read_knots(alphas, powers)
        log_rises, first_error = log_of(np.diff(b))
        log_runs, second_error = log_of(np.diff(a))
        atoms = Atoms(log_rises, log_runs, max(first_error, second_error))
        object.__setattr__(self, "segments", atoms.sorted_by_loss())

    @classmethod
    def from_atoms(cls, atoms: Atoms) -> TradeoffFunction:
        """Return the curve of testing q (the null) against p, by Neyman and Pearson.

        If the masses are off by factors within e^(+-h), so are all alphas and powers.
        """
        curve = object.__new__(cls)
        object.__setattr__(curve, "segments", atoms.sorted_by_loss())
        return curve

    @cached_property
    def log_tails(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Logarithms of (alpha, power, 1 - alpha, beta) at the inner knots, on the safe side:
        alpha and beta not above the truth, power and 1 - alpha not below it."""
        log_rises, log_runs, error = self.segments
        parts = []
        for logs, direction in ((log_runs, -1), (log_rises, 1)):
            total, rounding = log_cumulative(logs)
            parts.append((total + direction * (error + rounding))[:-1])
        for logs, direction in ((log_runs, 1), (log_rises, -1)):
            total, rounding = log_cumulative(logs[::-1])
            parts.append((total + direction * (error + rounding))[-2::-1])
        return parts[0], parts[1], parts[2], parts[3]

    @cached_property
    def alphas(self) -> FloatArray:
        """Type I errors of the knots, from 0 to 1, never above the true ones."""
        return _knots(self.log_tails[0], self.log_tails[2], upward=False)

    @cached_property
    def powers(self) -> FloatArray:
        """Powers of the knots, from 0 to 1, never below the true ones."""
        return _knots(self.log_tails[1], self.log_tails[3], upward=True)

    @cached_property
    def betas(self) -> FloatArray:
        """Type II errors of the knots, from 1 to 0, never above the true ones."""
        return _knots(self.log_tails[3][::-1], self.log_tails[1][::-1], upward=False)[::-1]

    @cached_property
    def misses(self) -> FloatArray:
        """1 - alpha at the knots, from 1 to 0, never below the true ones."""
        return _knots(self.log_tails[2][::-1], self.log_tails[0][::-1], upward=True)[::-1]

    def power(self, alpha: float) -> float:
        """Return the largest power at type I error alpha, not below the curve."""
        left, right, shares = self._knots_around(alpha)
        value = float(self.powers[left]) * shares[0] + float(self.powers[right]) * shares[1]
        return min(1.0, value * (1 + _INTERPOLATION))

    def __call__(self, alpha: float) -> float:
        """Return the type II error beta at type I error alpha, not above the curve.

        Every knot lies below and to the left of a point of the curve, which decreases: so
        do the segments between knots.
        """
        left, right, shares = self._knots_around(alpha)
        value = float(self.betas[left]) * shares[0] + float(self.betas[right]) * shares[1]
        return value * (1 - _INTERPOLATION)

    def log_excess(self, epsilon: Real) -> LogBounds:
        """Bound ln of the largest power - e^epsilon alpha: the sum over steep segments."""
        return self.segments.log_excess(epsilon)

    def delta(self, epsilon: Parameter) -> float:
        """Return the largest power - e^epsilon alpha, rounded up, for epsilon >= 0.

        This is one direction: type I errors are those of the law called q in `Pair`.
        """
        return min(1.0, self.log_excess(read_epsilon(epsilon)).linear()[1])

    def compose(self, other: TradeoffFunction) -> TradeoffFunction:
        """Return the tensor product: both outputs are seen (Definition 2.6 of paper 5).

        Exact for piecewise-linear curves: all products of segments, steepest first.

        Raises:
            OutOfReach: more than 5e6 segments.
        """
        return TradeoffFunction.from_atoms(self.segments.times(other.segments))

    def gaussian_mu(self, delta: Parameter = 0) -> float:
        """Return the smallest mu, rounded up, of a Gaussian curve below this one.

        With delta > 0: the smallest mu with delta_f(e) <= max(delta_mu(e), delta) for all
        epsilons e >= 0. inf where no finite mu exists.
        """
        slack = read_delta(delta)
        return _exact_mu(self) if slack == 0 else _mu_with_slack(self, slack)

    def _knots_around(self, alpha: float) -> tuple[int, int, tuple[float, float]]:
        """Return the knots around alpha and their shares, by the smaller of alpha, 1 - alpha."""
        exact_probability(alpha, name="alpha")
        small = float(alpha) <= 0.5
        knots = self.alphas if small else -self.misses
        here = float(alpha) if small else float(alpha) - 1.0
        left = int(np.searchsorted(knots, here, side="right")) - 1
        if left == knots.size - 1 or knots[left] == here:
            return left, left, (1.0, 0.0)
        width = float(knots[left + 1] - knots[left])
        before, after = here - float(knots[left]), float(knots[left + 1]) - here
        return left, left + 1, (after / width, before / width)


def _knots(log_mass: FloatArray, log_rest: FloatArray, *, upward: bool) -> FloatArray:
    """Return masses from 0 to 1 as floats, by the smaller of mass and 1 - mass."""
    near, far = (exp_upper, exp_lower) if upward else (exp_lower, exp_upper)
    best = min if upward else max
    pairs = zip(log_mass.tolist(), log_rest.tolist(), strict=True)
    # 1 - x is rounded, so a unit outwards.
    inner = [
        best(near(mass), math.nextafter(1.0 - far(rest), 2.0 if upward else 0.0))
        for mass, rest in pairs
    ]
    values = np.clip([0.0, *inner, 1.0], 0.0, 1.0)
    # A running maximum restores the order that rounding has broken, by moving knots up.
    return np.maximum.accumulate(values) if upward else np.minimum.accumulate(values[::-1])[::-1]


def _read_knots(alphas: ArrayLike, powers: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return validated knots, completed, as their concave hull."""
    a, b = float_array(alphas, name="alphas"), float_array(powers, name="powers")
    if a.ndim != 1 or a.shape != b.shape or a.size == 0:
        raise InvalidData(
            expected="alphas and powers as one-dimensional arrays of one length",
            got=f"shapes {a.shape} and {b.shape}",
            remedy="Give as many powers as alphas",
        )
    for name, values in (("alphas", a), ("powers", b)):
        inside = (values >= 0) & (values <= 1)
        if not inside.all() or (np.diff(values) < 0).any():
            raise InvalidData(
                expected=f"{name} in [0, 1], nondecreasing",
                got="other values",
                remedy="Sort the knots",
            )
    points = zip([0.0, *a.tolist(), 1.0], [0.0, *b.tolist(), 1.0], strict=True)
    hull: list[tuple[float, float]] = []
    for x, y in points:
        while len(hull) >= 2:
            (x1, y1), (x2, y2) = hull[-2], hull[-1]
            if (y2 - y1) * (x - x1) > (y - y1) * (x2 - x1):
                break
            hull.pop()
        if not hull or (x, y) != hull[-1]:
            hull.append((x, y))
    return np.array([x for x, _ in hull]), np.array([y for _, y in hull])


# ---- the Gaussian curve below a curve ----------------------------------------------


def _exact_mu(curve: TradeoffFunction) -> float:
    """Return the largest Phi^-1(power) - Phi^-1(alpha) over the knots, rounded up.

    The Gaussian curve is convex, so it lies below the segments if it lies below the knots.
    Both quantiles grow along the knots, so those of the two ends bound all in between:
    intervals of knots are split, largest bound first, until the first is a single knot.
    """
    alphas, powers, misses, betas = (tail.tolist() for tail in curve.log_tails)
    if not alphas:
        return 0.0

    def bound(first: int, last: int) -> float:
        high = _quantile_upper(powers[last], betas[last])
        low = _quantile_lower(alphas[first], misses[first])
        return math.nextafter(high - low, math.inf)

    heap = [(-bound(0, len(alphas) - 1), 0, len(alphas) - 1)]
    while True:
        negative, first, last = heapq.heappop(heap)
        # An end without mass on one side is itself a knot that no mu reaches.
        if first == last or negative == -math.inf:
            return max(0.0, -negative)
        middle = (first + last) // 2
        for part in ((first, middle), (middle + 1, last)):
            heapq.heappush(heap, (-bound(*part), *part))


def _quantile_upper(log_mass: float, log_rest: float) -> float:
    """Return a float not below Phi^-1(mass), by the smaller of mass and 1 - mass."""
    if log_mass <= log_rest:
        return -normal_upper_quantile(log_mass)[0]
    return normal_upper_quantile(log_rest)[1]


def _quantile_lower(log_mass: float, log_rest: float) -> float:
    if log_mass <= log_rest:
        return -normal_upper_quantile(log_mass)[1]
    return normal_upper_quantile(log_rest)[0]


def _mu_with_slack(curve: TradeoffFunction, slack: Fraction) -> float:
    """Return the smallest mu with delta_f(e) <= max(delta_mu(e), slack) for all e >= 0.

    Where delta_f, a maximum of lines power - E alpha in E = e^e, exceeds the slack, each
    line must lie below the convex delta_mu: at the point where its slope is -alpha, or at
    the end of the interval of E if that point lies outside.
    """
    if slack == 1:
        return 0.0
    limit = log_bounds(slack).lower

    def small(epsilon: float) -> bool:
        return curve.log_excess(exact_fraction(epsilon, name="epsilon")).upper <= limit

    last = smallest_true(small, high=_LARGEST_EPSILON)
    if last == 0.0 or math.isinf(last):
        return last
    alphas, powers = (tail.tolist() for tail in curve.log_tails[:2])
    lines = [(a, p) for a, p in zip(alphas, powers, strict=True) if p > limit]

    def below(mu: float) -> bool:
        for index, line in enumerate(lines):
            if not _line_below(mu, *line, last):
                # The same line decides the next mu, most often.
                lines.insert(0, lines.pop(index))
                return False
        return True

    return smallest_true(below, high=_LARGEST_MU)


def _line_below(mu: float, log_alpha: float, log_power: float, last: float) -> bool:
    """Return whether power - e^e alpha <= delta_mu(e) for all 0 <= e <= last, for certain."""
    if mu == 0.0:
        return log_power <= log_alpha
    epsilon = last
    if log_alpha > -math.inf:
        touch = normal_upper_quantile(min(log_alpha, -1e-9))[0] * mu - mu * mu / 2
        epsilon = min(max(touch, 0.0), last)
    lower = log_gaussian_excess(exact_fraction(mu, name="mu"), Fraction(epsilon)).lower
    # A touching point off by h leaves h^2 of e^e alpha uncovered: below 1e-13 of it here.
    slack = 1e-13 + 4 * UNIT_ROUNDOFF * (abs(log_alpha) + epsilon)
    return log_difference_upper(log_power, max(log_alpha + epsilon - slack, -1e308)) <= lower
