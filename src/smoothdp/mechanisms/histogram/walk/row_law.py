"""What a walk asks of the law of its rows: points in balls, steps in arrays, heights in floats."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.probabilities.real_points import ScaledPoint
from smoothdp.types import BoolArray, FloatArray

_HALF_LOG_2PI = 0.91893853320467274178


class Steps(NamedTuple):
    """How the state moves from each row to the next; entry d leads from row d to row d + 1.

    With F = P(i >= k), V the mean of what lies beyond k, and p the chance of i = k - 1: first the
    row moves, F grows by entering p and p *= same; then, where k falls by one, F grows by p and
    p *= down. V / norm grows by (old F + mid F' + new F'') / (norm of the next row), with F before
    the two, between them, and after. ``new`` is None for 0.
    """

    same: FloatArray
    entering: FloatArray
    down: FloatArray
    old: FloatArray
    mid: FloatArray
    norm: FloatArray
    marginal: FloatArray
    new: FloatArray | None = None


class Shape(NamedTuple):
    """Rough figures of one row, for the choice of a window."""

    log_joint: float
    log_marginal: float
    mean: float
    deviation: float


@dataclass(frozen=True, slots=True)
class RowLaw(ABC):
    """The law of (i, j): row j has the probability Q(j), and i is summed from k on beside it."""

    @property
    def inner(self) -> int:
        """0 where F = P(i >= k) and p = P(k - 1) are walked; 1 for P(i >= k + 1) and P(k)."""
        return 0

    @property
    @abstractmethod
    def rows(self) -> tuple[int, int]:
        """The least and greatest j of a row that `steps` can lead to."""

    @property
    @abstractmethod
    def certain(self) -> tuple[int, int] | None:
        """The row below all of these and the only i there, if there is such a row."""

    @abstractmethod
    def ends(self, j: int) -> tuple[int, int]:
        """Return the least and greatest i on row j."""

    @abstractmethod
    def point(self, j: int, i: int) -> ScaledPoint:
        """Return P(i given j), inside the support."""

    @abstractmethod
    def marginal(self, j: int) -> ScaledPoint:
        """Return Q(j), inside the support."""

    @abstractmethod
    def marginal_falls(self, j: int) -> float:
        """Return Q(j - 1) / Q(j), with at most three roundings."""

    @abstractmethod
    def log_joint(self, j: int, units: int) -> LogBounds:
        """Bound ln Q(j) + ln P(kappa given j), kappa = units 2^-64, by the Gamma function."""

    @abstractmethod
    def ratio_below(self, j: int, units: int) -> float:
        """Return P(kappa) / P(kappa - 1), four roundings; inf near a pole."""

    @abstractmethod
    def ratio_up(self, j: int, i: int) -> Callable[[FloatArray], FloatArray]:
        """Return d -> P(i + d + 1) / P(i + d), three roundings each."""

    @abstractmethod
    def ratio_down(self, j: int, i: int) -> Callable[[FloatArray], FloatArray]:
        """Return d -> P(i - d - 1) / P(i - d), three roundings each."""

    @abstractmethod
    def steps(self, top: int, outside: FloatArray, falls: BoolArray) -> Steps:
        """Return the steps from row top downwards; ``outside`` is k - 1 on each row."""

    @property
    def slope(self) -> float:
        """At most how fast the weight of i grows, from 0: 1 without replacement."""
        return 1.0

    def norm_error(self, size: int) -> float:
        """Bound the relative error of ``norm`` over so many steps: 0 where it is whole."""
        del size
        return 0.0

    def log_tail(self, gap: float) -> float:
        """Bound ln of W_j over P(kappa given j), where r_j is at most 1 - gap."""
        return -2.0 * math.log(gap)

    @abstractmethod
    def gain(self, beyond: FloatArray) -> FloatArray:
        """Return the weight of i at ``beyond`` = i - kappa > 0; it does not fall."""

    @abstractmethod
    def weights(self, part: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        """Return (u, v) with W = u F + v V, for k - kappa = ``part`` in (0, 1]."""

    @abstractmethod
    def shape(self, j: int, kappa: float) -> Shape:
        """Return rough figures of row j with its boundary at kappa."""


def excess(x: float) -> float:
    """Return about ln Gamma(x + 1) - (x ln x - x), for x >= 0."""
    if x < 16.0:
        return math.lgamma(x + 1.0) - (x * math.log(x) - x if x > 0.0 else 0.0)
    return 1.0 / (12.0 * x) + _HALF_LOG_2PI + 0.5 * math.log(x)


def deviance(x: float, mean: float) -> float:
    """Return about x ln(x / mean) + mean - x."""
    if x <= 0.0 or mean <= 0.0:
        return mean if x <= 0.0 else math.inf
    away = x - mean
    if abs(away) > 0.5 * mean:
        return x * math.log(x / mean) - away
    return x * math.log1p(away / mean) - away


def log_binomial(x: float, size: float, chance: float, miss: float | None = None) -> float:
    """Return about ln of a binomial probability at a real x, off the support -inf.

    ``miss`` is 1 - chance, where that is no float: next to 1, 1 - 1e-20 would be 1, and all but one
    x impossible.
    """
    if size <= 0.0:
        return 0.0
    if not -1e-9 <= x <= size + 1e-9:
        return -math.inf
    x, rest = max(0.0, x), max(0.0, size - x)
    parts = deviance(x, size * chance) + deviance(
        rest, size * (1.0 - chance if miss is None else miss)
    )
    return excess(size) - excess(x) - excess(rest) - parts
