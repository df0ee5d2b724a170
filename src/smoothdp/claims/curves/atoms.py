"""Two lists of log-masses on one support: what pairs and trade-off curves compute with.

Masses are kept as logarithms, because both ends of a law are tiny. ``error`` is always an
absolute bound on every logarithm: the true masses lie within a factor e^(+-error).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from smoothdp.errors import OutOfReach
from smoothdp.exact.balls.balls import real_bounds
from smoothdp.exact.logspace.bounds import LIBM_ERROR, LOG_ZERO, UNIT_ROUNDOFF, LogBounds
from smoothdp.exact.parameters.numbers import Real
from smoothdp.types import FloatArray, IntArray

MOST_ATOMS = 5_000_000
# Atoms whose losses agree to this, relatively to their logarithms, are joined.
_SAME_LOSS = 1e-14
# Exponentials of a running sum stay below e^300 times the scale of the sum.
_RESCALE_AT = 300.0


class Atoms(NamedTuple):
    """Log-masses of p and q on one support, and the error bound of each logarithm."""

    log_p: FloatArray
    log_q: FloatArray
    error: float

    def alive(self) -> Atoms:
        """Leave out the atoms without mass in both."""
        keep = (self.log_p > -math.inf) | (self.log_q > -math.inf)
        return self if keep.all() else Atoms(self.log_p[keep], self.log_q[keep], self.error)

    def sorted_by_loss(self) -> Atoms:
        """Put the largest ln(p/q) first; the error covers what its rounding can swap.

        Masses moved by the rounding of the difference, u |p - q|, have exactly this order.
        """
        alive = self.alive()
        loss = alive.log_p - alive.log_q
        order = np.argsort(-loss, kind="stable")
        widest = float(np.abs(loss[np.isfinite(loss)]).max(initial=0.0))
        return Atoms(
            alive.log_p[order], alive.log_q[order], alive.error + 2 * UNIT_ROUNDOFF * widest
        )

    def times(self, other: Atoms) -> Atoms:
        """Return the product laws, equal likelihood ratios joined.

        Raises:
            OutOfReach: more than 5e6 atoms.
        """
        size = self.log_p.size * other.log_p.size
        if size > MOST_ATOMS:
            raise OutOfReach(
                expected=f"at most {MOST_ATOMS} atoms",
                got=f"{size}",
                remedy="Compose their profiles instead",
            )
        p = np.add.outer(self.log_p, other.log_p).ravel()
        q = np.add.outer(self.log_q, other.log_q).ravel()
        rounding = UNIT_ROUNDOFF * max(_largest(p), _largest(q))
        return Atoms(p, q, self.error + other.error + rounding).alive().joined()

    def joined(self) -> Atoms:
        """Join atoms whose losses agree to rounding; the error grows by what this moves.

        A group whose losses differ by at most w has one common loss after its p-masses are
        moved by factors within e^(+-w); joining it is then exact
        (proofs/composition-at-a-database#2).
        """
        p, q, error = self.sorted_by_loss()
        if p.size < 2:
            return self
        with np.errstate(invalid="ignore"):
            loss = q - p
            steps = np.diff(loss)
        size = sum(np.where(np.isfinite(logs), np.abs(logs), 0.0)[:-1] for logs in (p, q))
        # A difference of two infinite losses of one sign is nan: the same group.
        apart = ~((steps <= _SAME_LOSS * np.maximum(1.0, size)) | np.isnan(steps))
        starts = np.flatnonzero(np.concatenate([[True], apart]))
        if starts.size == p.size:
            return self
        ends = np.concatenate([starts[1:], [p.size]]) - 1
        with np.errstate(invalid="ignore"):
            spread = loss[ends] - loss[starts]
        widest = float(np.where(np.isfinite(spread), spread, 0.0).max())
        longest = int((ends - starts).max()) + 1
        # ln of a sum of m exponentials: exp and log within 4 ulp, m additions, and the
        # roundings of the shift by the largest term.
        rounding = 8 * LIBM_ERROR + (2 * longest + 2 * max(_largest(p), _largest(q))) * (
            2 * UNIT_ROUNDOFF
        )
        return Atoms(_group_sum(p, starts), _group_sum(q, starts), error + widest + rounding)

    def log_excess(self, epsilon: Real) -> LogBounds:
        """Bound ln of the sum of (p - e^epsilon q)_+, for an exact epsilon of any sign.

        Each positive term is p (1 - e^(epsilon - loss)): nothing cancels.
        """
        has_mass = self.log_p > -math.inf
        p, q = self.log_p[has_mass], self.log_q[has_mass]
        low, high = real_bounds(epsilon)
        gap = (p - q) - low
        # Rounding of the loss, of its distance to epsilon, of epsilon, and the given error.
        size = np.abs(p) + np.where(np.isfinite(q), np.abs(q), 0.0)
        size += np.where(np.isfinite(gap), np.abs(gap), 0.0)
        slip = size * (2 * UNIT_ROUNDOFF) + 2 * (high - low) + 2 * self.error
        near = gap > -slip
        if not near.any():
            return LOG_ZERO
        p, gap, slip = p[near], gap[near], slip[near]
        scale = float(p.max())
        mass = np.exp(p - scale)
        total = math.fsum((mass * -np.expm1(-np.maximum(gap, 0.0))).tolist())
        # 1 - e^-g has a slope of at most 1. p - scale is rounded by u (scale - p).
        # Sums of m positive terms in any order are within m roundings: far below the .01.
        loose = float((mass * (slip + (scale - p) * (2 * UNIT_ROUNDOFF))).sum()) * 1.01
        # exp, expm1, their product, the sum; and the error of the masses themselves.
        relative = 2 * (4 * LIBM_ERROR + self.error)
        upper = (total * (1 + relative) + loose) * (1 + 1e-15) + 1e-307
        lower = total * (1 - relative) - loose
        return LogBounds(_log(lower, scale, -1), min(0.0, _log(upper, scale, 1)))


def _log(value: float, scale: float, direction: int) -> float:
    """Return scale + ln value, moved in a direction by more than its rounding."""
    if value <= 0:
        return -math.inf
    log_value = math.log(value)
    return scale + log_value + direction * 16 * UNIT_ROUNDOFF * (abs(scale) + abs(log_value) + 1)


def log_of(values: FloatArray) -> tuple[FloatArray, float]:
    """Return ln of nonnegative floats, each rounded once, and an absolute error bound."""
    with np.errstate(divide="ignore"):
        logs = np.log(values)
    return logs, 2 * UNIT_ROUNDOFF + LIBM_ERROR * _largest(logs)


def log_cumulative(logs: FloatArray) -> tuple[FloatArray, float]:
    """Return ln of the running sums of e^logs, and an absolute bound of their error.

    The sum is kept in units of a scale that follows the terms, so no term underflows that
    matters. Relative errors in units of u: the additions that a term goes through, exp 8, the
    mean rounding of the shifts (a term e^x by |x|), and for each change of scale exp 8 and its
    shift; then ln, 8 |ln sum|, and the addition of the scale.
    """
    result = np.full(logs.size, -math.inf)
    finite = np.flatnonzero(logs > -math.inf)
    if finite.size == 0:
        return result, 0.0
    units = 16.0
    start, carry, scale = int(finite[0]), 0.0, float(logs[finite[0]])
    while start < logs.size:
        beyond = np.flatnonzero(logs[start:] > scale + _RESCALE_AT)
        stop = start + int(beyond[0]) if beyond.size else logs.size
        if stop > start:
            shifted = logs[start:stop] - scale
            terms = np.exp(shifted)
            sums, additions = _running_sums(terms)
            sums += carry
            with np.errstate(invalid="ignore"):
                moved = np.nan_to_num(terms * np.abs(shifted))
            carry = float(sums[-1])
            part = np.log(sums)
            result[start:stop] = scale + part
            units += additions + 2 + 1.01 * float((_running_sums(moved)[0] / sums).max())
            units += 8 * _largest(part)
        if stop < logs.size:
            top = float(logs[stop])
            units += 16 + (top - scale if carry > 0 else 0.0)
            carry *= math.exp(scale - top)
            scale = top
        start = stop
    return result, (units + _largest(result)) * 2 * UNIT_ROUNDOFF


def _running_sums(terms: FloatArray) -> tuple[FloatArray, int]:
    """Return the running sums of terms >= 0, which do not fall, and how many additions in a row.

    Within rows, and of what the rows before add up to: about 2 sqrt(n) additions, not n.
    """
    width = max(1, math.isqrt(terms.size))
    rows = -(-terms.size // width)
    table = np.zeros(rows * width)
    table[: terms.size] = terms
    inner = np.cumsum(table.reshape(rows, width), axis=1)
    before = np.concatenate([[0.0], np.cumsum(inner[:-1, -1])])
    return (inner + before[:, None]).ravel()[: terms.size], width + rows


def _largest(values: FloatArray) -> float:
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))


def _group_sum(logs: FloatArray, starts: IntArray) -> FloatArray:
    """Return ln of the sums of e^logs over groups that begin at ``starts``."""
    tops = np.maximum.reduceat(logs, starts)
    safe = np.where(np.isfinite(tops), tops, 0.0)
    sizes = np.diff(np.concatenate([starts, [logs.size]]))
    sums = np.add.reduceat(np.exp(logs - np.repeat(safe, sizes)), starts)
    with np.errstate(divide="ignore"):
        return safe + np.log(sums)
