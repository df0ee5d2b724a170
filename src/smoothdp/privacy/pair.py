"""Two finite laws on one support: the raw material of exact accounting."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smoothdp.errors import InvalidData, InvalidParameter, OutOfReach, explain
from smoothdp.exact.logspace import LIBM_ERROR, UNIT_ROUNDOFF, LogBounds
from smoothdp.exact.parameters import Parameter, Real, exact_int, exact_real
from smoothdp.privacy.neighbours import Neighbours
from smoothdp.privacy.profile import PrivacyProfile, read_epsilon
from smoothdp.privacy.tradeoff import TradeoffFunction

FloatArray = NDArray[np.float64]
MOST_ATOMS = 5_000_000


@dataclass(frozen=True, init=False, eq=False)
class Pair:
    """Laws p and q on one support, as natural log-probabilities; one direction, p over q.

    Each log-probability is taken as exact; composition carries the rounding of what it
    computes in ``error``, an absolute bound in every log-probability.

    Args:
        log_p, log_q: arrays of one length; -inf where there is no mass. Each law sums to 1
            within 1e-9.

    Raises:
        InvalidData: arrays of different shapes, nan, positive logarithms, wrong sums.

    >>> pair = Pair(np.log([0.75, 0.25]), np.log([0.25, 0.75]))
    >>> round(pair.delta(0), 12)
    0.5
    """

    log_p: FloatArray
    log_q: FloatArray
    error: float

    def __init__(self, log_p: ArrayLike, log_q: ArrayLike, *, error: float = 0.0) -> None:
        p, q = (np.array(values, dtype=np.float64) for values in (log_p, log_q))
        if p.ndim != 1 or p.shape != q.shape or p.size == 0:
            raise InvalidData(
                explain(
                    "log_p and log_q as one-dimensional arrays over one support",
                    f"shapes {p.shape} and {q.shape}",
                    "Give one log-probability per atom in both",
                )
            )
        for name, values in (("log_p", p), ("log_q", q)):
            if np.isnan(values).any() or (values > 1e-9).any():
                raise InvalidData(
                    explain(f"{name} <= 0 without nan", "other values", "Give log-probabilities")
                )
            total = float(np.exp(values).sum())
            if abs(total - 1) > 1e-9:
                raise InvalidData(
                    explain(f"{name} with sum 1", f"a sum of {total!r}", "Normalise the law")
                )
        p.flags.writeable = q.flags.writeable = False
        object.__setattr__(self, "log_p", p)
        object.__setattr__(self, "log_q", q)
        object.__setattr__(self, "error", error)

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        """Bound ln of the sum of (p - e^epsilon q)_+, for an exact epsilon of any sign."""
        alive = self.log_p > -math.inf
        p, q = self.log_p[alive], self.log_q[alive]
        target = float(epsilon)
        with np.errstate(invalid="ignore"):
            gap = (p - q) - target
        # Rounding of the loss, of the target and of their difference, and the given error.
        finite = np.where(np.isfinite(gap), np.abs(gap), 0.0)
        size = np.abs(p) + np.where(np.isfinite(q), np.abs(q), 0.0) + 2 * abs(target) + finite
        slip = size * (2 * UNIT_ROUNDOFF) + 2 * self.error
        near = gap > -slip
        if not near.any():
            return LogBounds(-math.inf, -math.inf)
        p, gap, slip = p[near], gap[near], slip[near]
        scale = float(p.max())
        mass = np.exp(p - scale)
        total = math.fsum((mass * -np.expm1(-np.maximum(gap, 0.0))).tolist())
        loose = math.fsum((mass * slip).tolist()) * 1.01
        # exp at p - scale (rounded to at most 2^-53 of 746), expm1, their product, the sum.
        relative = 4 * LIBM_ERROR + self.error
        loose += math.fsum((mass * (scale - p)).tolist()) * 2 * UNIT_ROUNDOFF
        upper = (total * (1 + 2 * relative) + loose) * (1 + 1e-15)
        lower = total * (1 - 2 * relative) - loose
        log_upper = scale + math.log(upper) if upper > 0 else -math.inf
        log_lower = scale + math.log(lower) if lower > 0 else -math.inf
        step = 4 * UNIT_ROUNDOFF * (abs(scale) + 40)
        return LogBounds(log_lower - step, min(0.0, log_upper + step))

    def delta(self, epsilon: Parameter) -> float:
        """Return the hockey-stick divergence of p from q, never below the truth."""
        return self.delta_bounds(epsilon)[1]

    def delta_bounds(self, epsilon: Parameter) -> tuple[float, float]:
        """Return floats (lower, upper) around it."""
        lower, upper = self.log_delta_bounds(read_epsilon(epsilon)).linear()
        return lower, min(1.0, upper)

    def log_delta(self, epsilon: Parameter) -> float:
        """Return its natural logarithm, never below the truth."""
        return self.log_delta_bounds(read_epsilon(epsilon)).upper

    def renyi(self, order: Parameter | float) -> float:
        """Return the Renyi divergence D_order(p || q), rounded up; order in [1, inf].

        inf where p has mass that q has not.
        """
        a = math.inf if order == math.inf else float(exact_real(order, name="order"))
        if a < 1:
            raise InvalidParameter(explain("order >= 1", f"order={order}", "Raise the order"))
        alive = self.log_p > -math.inf
        p, q = self.log_p[alive], self.log_q[alive]
        if np.isneginf(q).any():
            return math.inf
        loss = p - q
        slip = 4 * UNIT_ROUNDOFF * float(np.max(np.abs(p) + np.abs(q))) + 2 * self.error
        if a == math.inf:
            return max(0.0, float(loss.max()) + slip)
        if a == 1:
            value = math.fsum((np.exp(p) * loss).tolist())
            size = math.fsum((np.exp(p) * np.abs(loss)).tolist())
            return max(0.0, value + slip + 8 * LIBM_ERROR * size)
        terms = a * p + (1 - a) * q
        top = float(terms.max())
        total = top + math.log(math.fsum(np.exp(terms - top).tolist()))
        rounding = 8 * UNIT_ROUNDOFF * a * float(np.max(np.abs(p) + np.abs(q)))
        rounding += 2 * a * self.error + 4 * LIBM_ERROR + 4 * UNIT_ROUNDOFF * abs(total)
        return max(0.0, (total + rounding) / (a - 1) * (1 + 4 * UNIT_ROUNDOFF))

    def tradeoff(self) -> TradeoffFunction:
        """Return the trade-off function of testing q (the null) against p.

        Safe: its type II error is never above the true one.
        """
        with np.errstate(invalid="ignore"):
            order = np.argsort(-(self.log_p - self.log_q), kind="stable")
        inflate = 1 + self.error + (self.log_p.size + 16) * 2 * UNIT_ROUNDOFF
        powers = np.cumsum(np.exp(self.log_p[order])) * inflate
        alphas = np.cumsum(np.exp(self.log_q[order])) / inflate
        return TradeoffFunction(np.minimum(alphas, 1.0), np.minimum(powers, 1.0))

    def reverse(self) -> Pair:
        """Return the other direction: q over p."""
        return Pair(self.log_q, self.log_p, error=self.error)

    def compose(self, other: Pair) -> Pair:
        """Return the pair of the product laws: both outputs are seen.

        Both pairs must point the same way for the same neighbours (see `compose`).

        Raises:
            OutOfReach: more than 5e6 atoms.
        """
        size = self.log_p.size * other.log_p.size
        if size > MOST_ATOMS:
            raise OutOfReach(
                explain(f"at most {MOST_ATOMS} atoms", f"{size}", "Compose their profiles instead")
            )
        p = np.add.outer(self.log_p, other.log_p).ravel()
        q = np.add.outer(self.log_q, other.log_q).ravel()
        finite = np.concatenate([p[np.isfinite(p)], q[np.isfinite(q)]])
        rounding = UNIT_ROUNDOFF * float(np.abs(finite).max(initial=0.0))
        p, q, merging = _merge(p, q)
        return Pair(p, q, error=self.error + other.error + rounding + merging)

    def self_compose(self, k: int) -> Pair:
        """Return the k-fold product, k >= 1, by repeated squaring."""
        count = exact_int(k, name="k", minimum=1)
        result: Pair | None = None
        power = self
        while True:
            if count & 1:
                result = power if result is None else result.compose(power)
            count >>= 1
            if not count:
                return result if result is not None else self
            power = power.compose(power)

    def profile(self, *, neighbours: Neighbours = Neighbours.REPLACE_ONE) -> PrivacyProfile:
        """Return the privacy profile: the worse of both directions."""
        return PairProfile(self, self.reverse(), neighbours)


@dataclass(frozen=True, slots=True)
class PairProfile(PrivacyProfile):
    """The worse of both directions of a pair."""

    forward: Pair
    backward: Pair
    about: Neighbours

    @property
    def neighbours(self) -> Neighbours:
        return self.about

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        first = self.forward.log_delta_bounds(epsilon)
        second = self.backward.log_delta_bounds(epsilon)
        return LogBounds(max(first.lower, second.lower), max(first.upper, second.upper))


def _merge(p: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Join atoms whose likelihood ratios agree to 1e-14; return the error that this makes."""
    alive = (p > -math.inf) | (q > -math.inf)
    p, q = p[alive], q[alive]
    loss = p - q
    order = np.argsort(loss, kind="stable")
    p, q, loss = p[order], q[order], loss[order]
    with np.errstate(invalid="ignore"):
        steps = np.diff(loss)
    tolerance = 1e-14 * np.maximum(1.0, np.abs(np.where(np.isfinite(loss), loss, 0.0)))[:-1]
    starts = np.flatnonzero(np.concatenate([[True], ~((steps <= tolerance) | np.isnan(steps))]))
    if starts.size == p.size:
        return p, q, 0.0
    ends = np.concatenate([starts[1:], [p.size]]) - 1
    with np.errstate(invalid="ignore"):
        spread = loss[ends] - loss[starts]
    widest = float(np.nanmax(np.where(np.isfinite(spread), spread, 0.0)))
    longest = int((ends - starts).max()) + 1
    largest = float(np.abs(np.concatenate([p, q])[np.isfinite(np.concatenate([p, q]))]).max())
    rounding = 4 * LIBM_ERROR + (longest + 2 * largest) * UNIT_ROUNDOFF
    return _group_sum(p, starts), _group_sum(q, starts), widest + rounding


def _group_sum(logs: FloatArray, starts: NDArray[np.int64]) -> FloatArray:
    """Return ln of the sums of e^logs over groups that begin at ``starts``."""
    tops = np.maximum.reduceat(logs, starts)
    safe = np.where(np.isfinite(tops), tops, 0.0)
    sizes = np.diff(np.concatenate([starts, [logs.size]]))
    sums = np.add.reduceat(np.exp(logs - np.repeat(safe, sizes)), starts)
    with np.errstate(divide="ignore"):
        return safe + np.log(sums)
