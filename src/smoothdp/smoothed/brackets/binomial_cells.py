"""Probabilities of cells and tails of binomial laws: arrays of brackets, at any number of trials.

ln P(k) is concave in k. Between two points the sum is at least that of the geometric sequence
through them, and at most that times e^((s - s') h / 4), with the slopes s, s' at the two points and
h their distance (proofs/smoothed-brackets#7). So a few dozen points do for a tail of a million
terms.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.exact.probabilities.stirling import deviance, log_factorial_excess
from smoothdp.types import FloatArray, IntArray

_PARTS = 12
_DOWN = 64
_FINENESS = 9.0
_SLACK = 1e-11
_CERTAIN = 40.0


class Brackets(NamedTuple):
    """Natural logarithms around truths; zero is -inf."""

    lower: FloatArray
    upper: FloatArray


class _Points(NamedTuple):
    """ln P(k), with an absolute error, and the slopes on either side of k."""

    log_value: FloatArray
    error: FloatArray


def _points(k: IntArray, n: IntArray, p: Fraction) -> _Points:
    """Return ln P(Bin(n, p) = k), for 0 <= k <= n and 0 < p < 1.

    A mean that is off by three units moves a deviance by 3 u |k - mean|, and a multiple of u^2.
    """
    hit, miss = float(p), float(1 - p)
    parts, error = np.zeros(k.shape), np.zeros(k.shape)
    for count, chance in ((k, hit), (n - k, miss)):
        mean = np.asarray(n * chance, dtype=np.float64)
        off = count - mean
        part = deviance(count, mean, off, off / np.maximum(count + mean, 1e-300))
        parts += part
        error += 50 * UNIT_ROUNDOFF * part + 4 * UNIT_ROUNDOFF * np.abs(off)
    value = log_factorial_excess(n) - log_factorial_excess(k) - log_factorial_excess(n - k) - parts
    return _Points(value, error + 1e-13)


def _slope_up(k: IntArray, n: IntArray, p: Fraction) -> FloatArray:
    """Return ln P(k + 1) - ln P(k), for k < n; -inf at k = n."""
    with np.errstate(divide="ignore"):
        ratio = (n - k) * float(p) / ((k + 1.0) * float(1 - p))
        return np.asarray(np.log(ratio))


def _chords(k: IntArray, n: IntArray, p: Fraction) -> Brackets:
    """Bracket ln P(k[..., i] < K <= k[..., i + 1]) along the last axis, which does not fall."""
    at = _points(k, n, p)
    start, end = k[..., :-1], k[..., 1:]
    width = (end - start).astype(np.float64)
    some = width > 0
    h = np.where(some, width, 1.0)
    trials = np.broadcast_to(n, k.shape)[..., :-1]
    first = _slope_up(np.minimum(start, trials - 1), trials, p)
    last = _slope_up(np.maximum(end - 1, 0), trials, p)
    rough = np.abs(first) + np.abs(last)
    bend = np.maximum(first - last, 0.0) * h / 4 + 16 * UNIT_ROUNDOFF * h * (1 + rough)
    bend = np.where(width <= 1, 0.0, bend)
    ends = []
    for sign in (-1.0, 1.0):
        value = at.log_value + sign * at.error
        ends.append(_geometric(value[..., :-1], value[..., 1:], h) + sign * _SLACK)
    lower = np.where(some, ends[0], -np.inf)
    return Brackets(lower, np.where(some, ends[1] + bend, -np.inf))


def _geometric(first: FloatArray, last: FloatArray, h: FloatArray) -> FloatArray:
    """Return ln of the h terms after e^first of the geometric sequence that ends in e^last."""
    step = np.abs(last - first) / h
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.expm1(-h * step) / np.expm1(-step)
    ratio = np.where(h * step < 1e-13, h, ratio)
    return np.asarray(np.where(last >= first, last, first - step) + np.log(ratio))


def log_below(k: IntArray, n: IntArray, p: Fraction) -> Brackets:
    """Bracket ln P(Bin(n, p) <= k), elementwise, for 0 < p < 1 and n >= 0.

    >>> here = log_below(np.array([0, 2, 5]), np.array([2, 2, 2]), Fraction(1, 2))
    >>> np.round(np.exp(here.upper), 6).tolist()
    [0.25, 1.0, 1.0]
    """
    k, n = np.broadcast_arrays(np.asarray(k, dtype=np.int64), np.asarray(n, dtype=np.int64))
    lower, upper = np.full(k.shape, -np.inf), np.full(k.shape, -np.inf)
    whole = (k >= n) & (k >= 0)
    lower[whole] = upper[whole] = 0.0
    mean = n * float(p)
    low = (k >= 0) & ~whole & (k <= mean)
    high = (k >= 0) & ~whole & (k > mean)
    if low.any():
        lower[low], upper[low] = _low_tail(k[low], n[low], p)
    if high.any():
        beyond = _low_tail(n[high] - k[high] - 1, n[high], 1 - p)
        lower[high], upper[high] = _complement(beyond)
    return Brackets(lower, upper)


def _complement(tail: Brackets) -> Brackets:
    """Bracket ln(1 - e^tail)."""
    with np.errstate(divide="ignore"):
        lower = np.log1p(-np.exp(np.minimum(tail.upper, 0.0))) - _SLACK
        upper = np.log1p(-np.exp(tail.lower)) + _SLACK
    return Brackets(lower, np.minimum(upper, 0.0))


def _low_tail(k: IntArray, n: IntArray, p: Fraction) -> Brackets:
    """Bracket ln P(K <= k) for 0 <= k <= n p, up to rounding: from k downward."""
    share = 1 - k / np.maximum(n, 1)
    step = np.maximum(1, np.floor(np.sqrt((k + 1) * share) / _FINENESS)).astype(np.int64)
    places = np.maximum(k[:, None] - step[:, None] * np.arange(_DOWN, -1, -1), 0)
    trials = n[:, None]
    inside = _chords(places, trials, p)
    bottom = places[:, :1]
    at = _points(bottom, trials, p)
    with np.errstate(divide="ignore"):
        fall = np.exp(-_slope_up(np.maximum(bottom - 1, 0), trials, p)) * (1 + 1e-12)
    fall = np.where(bottom == 0, 0.0, fall)
    # Where it does not fall, nothing is known but that it is a probability.
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = np.where(fall < 1, -np.log1p(-np.minimum(fall, 1.0)), np.inf)
    low = np.concatenate([inside.lower, at.log_value - at.error], axis=1)
    high = np.concatenate([inside.upper, at.log_value + at.error + rest + _SLACK], axis=1)
    lower, upper = _total(low) - _SLACK, np.minimum(_total(high) + _SLACK, 0.0)
    return Brackets(np.minimum(lower, 0.0), np.minimum(upper, log_chernoff(k, n, p)))


def _total(logs: FloatArray) -> FloatArray:
    """Return ln of the sum of exponentials along the last axis."""
    top = logs.max(axis=-1)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = safe + np.log(np.exp(logs - safe[..., None]).sum(axis=-1))
    return np.asarray(np.where(np.isfinite(top), total, top))


def log_chernoff(k: IntArray, n: IntArray, p: Fraction) -> FloatArray:
    """Return Chernoff's bound of ln P(Bin(n, p) <= k): the deviances alone; 0 above the mean."""
    inside = np.clip(k, 0, n)
    result = np.zeros(inside.shape)
    error = np.zeros(inside.shape)
    for count, chance in ((inside, float(p)), (n - inside, float(1 - p))):
        mean = np.asarray(n * chance, dtype=np.float64)
        off = count - mean
        part = deviance(count, mean, off, off / np.maximum(count + mean, 1e-300))
        result -= part
        error += 50 * UNIT_ROUNDOFF * part + 4 * UNIT_ROUNDOFF * np.abs(off)
    result = np.where(inside < n * float(p), np.minimum(0.0, result + error + 1e-13), 0.0)
    return np.asarray(np.where(k < 0, -np.inf, result))


def log_cells(start: IntArray, end: IntArray, n: IntArray, p: Fraction) -> Brackets:
    """Bracket ln P(start < Bin(n, p) <= end), elementwise, for -1 <= start < end, 0 < p < 1.

    Narrow cells are bracketed closely; of wide ones the upper end is a tail.

    >>> cell = log_cells(np.array([-1, 0]), np.array([0, 1]), np.array([2, 2]), Fraction(1, 2))
    >>> np.round(np.exp(cell.lower), 6).tolist()
    [0.25, 0.5]
    """
    start, end, n = np.broadcast_arrays(
        np.asarray(start, dtype=np.int64),
        np.asarray(end, dtype=np.int64),
        np.asarray(n, dtype=np.int64),
    )
    some = start < n
    first = np.where(some, start, -1)
    last = np.where(some, np.minimum(end, n), 0)
    inner = np.maximum(first, 0)
    width = (last - inner)[..., None]
    places = inner[..., None] + (width * np.arange(_PARTS + 1)) // _PARTS
    inside = _chords(places, n[..., None], p)
    zero = _points(np.zeros_like(first), n, p)
    low = np.where(first < 0, zero.log_value - zero.error, -np.inf)
    high = np.where(first < 0, zero.log_value + zero.error, -np.inf)
    lower = _total(np.concatenate([inside.lower, low[..., None]], axis=-1)) - _SLACK
    upper = _total(np.concatenate([inside.upper, high[..., None]], axis=-1)) + _SLACK
    # The tails below the end and above the start bound it as well.
    upper = np.minimum(upper, log_chernoff(last, n, p))
    upper = np.minimum(upper, log_chernoff(n - first - 1, n, 1 - p))
    lower, upper = np.minimum(lower, 0.0), np.minimum(upper, 0.0)
    return Brackets(np.where(some, lower, -np.inf), np.where(some, upper, -np.inf))


def log_outside(k: IntArray, n: IntArray, p: Fraction) -> tuple[Brackets, Brackets]:
    """Bracket ln P(K <= k) and ln P(K > k), coarsely where the first is below e^-60."""
    k, n = np.broadcast_arrays(np.asarray(k, dtype=np.int64), np.asarray(n, dtype=np.int64))
    far = log_chernoff(k, n, p)
    lower, upper = np.full(k.shape, -np.inf), far.copy()
    near = far > -_CERTAIN
    if near.any():
        lower[near], upper[near] = log_below(k[near], n[near], p)
    tail = Brackets(lower, upper)
    return tail, _above(k, n, p, tail)


def _above(k: IntArray, n: IntArray, p: Fraction, tail: Brackets) -> Brackets:
    """Bracket ln P(K > k): directly where it is the smaller one."""
    lower, upper = _complement(tail)
    small = (k > n * float(p)) & (k < n)
    if small.any():
        far = log_chernoff(n[small] - k[small] - 1, n[small], 1 - p)
        lower[small], upper[small] = -np.inf, far
        near = np.zeros(k.shape, bool)
        near[small] = far > -_CERTAIN
        if near.any():
            lower[near], upper[near] = _low_tail(n[near] - k[near] - 1, n[near], 1 - p)
    lower[k >= n] = upper[k >= n] = -np.inf
    return Brackets(lower, upper)
