"""An estimate of the largest shift in plain floats, on which no guarantee rests."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from smoothdp.exact.balls.work import spend
from smoothdp.noise.abstract_law import AbstractLaw
from smoothdp.types import FloatArray

_STEP = 0.15
_FAR = 700.0
# In the units of `smoothdp.exact.balls.work`.
_PER_RULE = 200


class Binding(NamedTuple):
    """The worst point that was seen: how far D_a is of its limit, and where."""

    ratio: float
    b: float
    dilation: float
    reverse: bool


class Loss:
    """Weights and losses of Z against e^t Z + s at the nodes of a trapezoidal rule.

    The regions x < 0, 0 < x < s and x > s have the coordinates x = -e^u, s / (1 + e^-u) and
    s + e^u, in which every law is smooth.
    """

    def __init__(self, law: AbstractLaw, shift: float, dilation: float, b: float) -> None:
        scale = 0.5 * math.exp(-law.log_density(0.0))
        low = math.log(min(scale, shift)) - 40.0
        high = math.log(max(scale, shift)) + 3.0
        while high < _FAR and not _negligible(law, shift, dilation, math.exp(high), b):
            high += 3.0
        outer = np.arange(low, high, _STEP)
        inner = np.arange(low - math.log(shift) - 4, 4 + math.log(shift) - low, _STEP)
        tail = np.exp(outer)
        share = 1 / (1 + np.exp(-inner))
        share_left = 1 / (1 + np.exp(inner))
        near = np.concatenate([tail, shift * share, shift + tail])
        far = np.concatenate([tail + shift, shift * share_left, tail])
        width = np.concatenate([outer, np.log(shift * share * share_left), outer])
        log_density = law._fast_log_density
        log_p = log_density(near)
        log_q = log_density(far * math.exp(-dilation)) - dilation
        spend(_PER_RULE + near.size // 2)
        self.log_weight = log_p + width + math.log(_STEP)
        self.loss = log_p - log_q

    def renyi(self, b: FloatArray) -> FloatArray:
        """Return D_{1+b} for an array of b > 0."""
        spend(b.size * self.loss.size // 30)
        exponent = b[:, None] * self.loss
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            small = np.exp(self.log_weight) * np.expm1(exponent)
            near = np.log1p(np.nansum(small, axis=1)) / b
            top = np.max(self.log_weight + exponent, axis=1)
            far = top + np.log(np.sum(np.exp(self.log_weight + exponent - top[:, None]), axis=1))
        chosen: FloatArray = np.where(far > 1.0, far / b, near)
        return chosen


def _negligible(law: AbstractLaw, s: float, t: float, x: float, b: float) -> bool:
    near = np.array([x, x + s])
    log_density = law._fast_log_density
    log_p = log_density(near)
    loss = log_p - log_density(near[::-1] * math.exp(-t)) + t
    return bool(np.max(log_p + math.log(x) + np.maximum(0.0, b * loss)) < -45.0)


@dataclass(frozen=True)
class Problem:
    """D_{1+b} <= rho (1 + b), b up to ``last(shift, reverse)``, dilations up to ``smoothing``."""

    law: AbstractLaw
    rho: float
    smoothing: float
    last: Callable[[float, bool], float | None]

    def worst(self, shift: float) -> Binding:
        """Return the binding point at a shift."""
        curves = [(0.0, False)]
        if self.smoothing > 0:
            curves += [(self.smoothing, True), (self.smoothing, False)]
        binding = Binding(0.0, 1.0, 0.0, False)
        for dilation, reverse in curves:
            last = self.last(shift, reverse)
            if last is None:
                return Binding(math.inf, 1.0, dilation, reverse)
            binding = max(binding, worst_order(self.law, self.rho, shift, dilation, reverse, last))
        return binding

    def largest_shift(self) -> tuple[float, Binding] | None:
        """Return roughly the largest shift and its binding point; None if none was found."""
        shift = math.sqrt(2 * self.rho)
        high = low = shift
        while self.worst(high).ratio < 1:
            low, high = high, high * 2
            if high > 1e9:
                return None
        while self.worst(low).ratio >= 1:
            low, high = low / 2, low
            if low < 1e-9 * shift:
                return None
        f_low, f_high = _log(self.worst(low).ratio), _log(self.worst(high).ratio)
        last_moved = 0
        for _ in range(100):
            if high / low < 1 + 1e-10:
                break
            guess = (low * f_high - high * f_low) / (f_high - f_low)
            if not low < guess < high:
                guess = math.sqrt(low * high)
            value = _log(self.worst(guess).ratio)
            if abs(value) < 1e-12:
                low = high = guess
                break
            # The Illinois rule: an end that stays twice counts half.
            if value > 0:
                high, f_high = guess, value
                f_low, last_moved = (f_low / 2 if last_moved == 1 else f_low), 1
            else:
                low, f_low = guess, value
                f_high, last_moved = (f_high / 2 if last_moved == -1 else f_high), -1
        return low, self.worst(low)


def worst_order(
    law: AbstractLaw, rho: float, shift: float, t: float, reverse: bool, last: float
) -> Binding:
    """Return the order at which one curve is nearest to its limit, or farthest beyond it."""
    s, signed = (shift * math.exp(-t), -t) if reverse else (shift, t)
    loss = Loss(law, s, signed, last)
    b = np.geomspace(min(1e-6, last / 2), last, 64)
    for _ in range(4):
        ratio = loss.renyi(b) / (rho * (1 + b))
        i = int(np.argmax(ratio))
        best = Binding(float(ratio[i]), float(b[i]), t, reverse)
        b = np.geomspace(b[max(0, i - 1)], b[min(len(b) - 1, i + 1)], 17)
    return best


def stretch(law: AbstractLaw, rho: float, shift: float, dilation: float, last: float) -> float:
    """Return about the largest ln(s'/shift) at which the reverse curve at s' keeps its limit."""
    if dilation == 0:
        return 0.0
    grown, slope = 0.0, 2.0
    value = _log(worst_order(law, rho, shift, dilation, True, last).ratio)
    for _ in range(3):
        step = min(1.0, -value / slope)
        following = max(0.0, grown + step)
        if abs(following - grown) < 1e-3 * following + 1e-12:
            break
        reached = worst_order(law, rho, shift * math.exp(following), dilation, True, last)
        change = _log(reached.ratio) - value
        slope = min(20.0, max(0.1, change / (following - grown)))
        grown, value = following, value + change
    return max(0.0, grown - max(0.0, value) / slope)


def _log(ratio: float) -> float:
    return math.log(ratio) if 0 < ratio < math.inf else 700.0
