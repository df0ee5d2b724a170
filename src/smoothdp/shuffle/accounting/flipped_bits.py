"""The total of bits that are flipped at random: its tails, and how far one user moves it.

V = Bin(zeros, q) + Bin(ones, 1 - q): of ``zeros`` bits 0 and ``ones`` bits 1, each flipped with
probability q in (0, 1/2), how many are 1 after it. All sums are of a law tilted to have its mode
where the sum has its largest term (see `flip_kernel`), so nothing underflows at any depth.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from smoothdp.exact.balls.balls import ball, enclose, precision
from smoothdp.exact.logspace.bounds import (
    LIBM_ERROR,
    LOG_ONE,
    LOG_ZERO,
    UNIT_ROUNDOFF,
    LogBounds,
    log_difference_lower,
    log_difference_upper,
)
from smoothdp.exact.logspace.convolution import convolve
from smoothdp.exact.parameters.numbers import Real
from smoothdp.exact.probabilities.tilted_window import TiltedWindow, tilted_window
from smoothdp.shuffle.accounting.flip_kernel import flip_kernel
from smoothdp.types import FloatArray

_BITS = 192
# e^-80 and the sum of masses, which is 1 but for roundings.
_SPAN, _LEFT_OUT = 80.0, 2e-35
# So few probabilities are summed one by one sooner than by transforms of all.
_FEW = 256


@lru_cache(maxsize=1 << 14)
def log_flip_delta(
    n_zeros: int, n_ones: int, flip: Fraction, n_bits: int, epsilon: Real, *, copies: int = 1
) -> LogBounds:
    """Bound ln sum (P0 - e^epsilon P1)_+ over the totals: V plus n_bits zeros, or ones.

    Args:
        n_zeros, n_ones: the bits of the others.
        flip: q in (0, 1/2).
        n_bits: r >= 1, the bits of the protected user.
        epsilon: exact, >= 0.
        copies: how often each bit of that user is counted.

    >>> bounds = log_flip_delta(1, 0, Fraction(1, 5), 1, Fraction(0))
    >>> bounds.lower <= math.log(12 / 25) <= bounds.upper
    True
    """
    kernel = flip_kernel(flip, n_bits, epsilon, copies=copies)
    if kernel is None:
        return LOG_ZERO
    first, second = _windows(n_zeros, n_ones, flip, kernel.tilt)
    of_first, step_error = first.steps()
    steps, before = convolve(of_first, kernel.partial_sums)
    values, after = convolve(steps, second.mass)
    low = first.low + second.low
    n_kernel = kernel.partial_sums.size
    n_sums = min(of_first.size, n_kernel) + min(steps.size, second.mass.size) + 8
    relative = first.error + second.error + (n_sums + 4) * 1.01 * UNIT_ROUNDOFF
    # Errors of a step, weighted by |H| and by masses; then those of H.
    weight = float(np.abs(kernel.partial_sums).sum()) + n_kernel * 2.0**-52
    largest = float(np.abs(of_first).max())
    peak = float(second.mass.max() if second.mass.size > first.mass.size else first.mass.max())
    each = weight * (largest * relative + step_error) + n_kernel * 2.0**-52 * largest
    # Masses sum to 1 but for roundings.
    each += 1.01 * before + after
    residual_low, residual_high = kernel.residual
    dropped = 1.01 * (first.dropped + second.dropped)
    # Totals from the first one at which the truth is certainly not positive are left out: the
    # ratio P0 / P1 falls, so it stays that way (proofs/flipped-bits#3, #8).
    over = values + (each + residual_high * peak + dropped)
    below_zero = np.flatnonzero(over < 0.0)
    n_terms = int(below_zero[0]) if below_zero.size else values.size
    cut = low + n_terms - 1
    distance = np.arange(n_terms - 1, -1, -1, dtype=np.float64)
    exponent = distance * -math.log(kernel.tilt) if kernel.tilt < 1.0 else 0.0 * distance
    powers = np.exp(-exponent)
    terms = np.maximum(values[:n_terms], 0.0) * powers
    # Sums of m positive terms in any order are within m roundings.
    summed = (n_terms + 2) * UNIT_ROUNDOFF
    total = float(terms.sum())
    n_weights = float(powers.sum()) * (1 + summed)
    loose = n_weights * each + float(terms @ (3.0 * exponent + 10.0)) * UNIT_ROUNDOFF
    loose += total * summed
    mass = min(1.0, n_weights * peak) * 1.01
    upper = (total + loose * 1.01 + residual_high * mass + dropped) * (1 + 8 * UNIT_ROUNDOFF)
    lower = (total - loose * 1.01 + residual_low * mass - 2 * dropped) * (1 - 8 * UNIT_ROUNDOFF)
    bounds = kernel.log_normaliser(n_zeros, n_ones, cut).shifted(_logs(lower, upper))
    return LogBounds(bounds.lower, min(0.0, bounds.upper))


@lru_cache(maxsize=4096)
def log_flip_tail(n_zeros: int, n_ones: int, flip: Fraction, total: int) -> LogBounds:
    """Bound ln P(V <= total); small tails as sums, others as 1 minus the other tail.

    >>> bounds = log_flip_tail(1, 1, Fraction(1, 5), 0)
    >>> bounds.lower <= math.log(4 / 25) <= bounds.upper
    True
    """
    n_all = n_zeros + n_ones
    if total < 0:
        return LOG_ZERO
    if total >= n_all:
        return LOG_ONE
    if total >= n_zeros * flip + n_ones * (1 - flip):
        other = log_flip_tail(n_ones, n_zeros, flip, n_all - total - 1)
        return LogBounds(
            log_difference_lower(0.0, other.upper), log_difference_upper(0.0, other.lower)
        )
    tilt = _tilt_to(n_zeros, n_ones, float(flip), total)
    first, second = _windows(n_zeros, n_ones, flip, tilt)
    low, final = first.low + second.low, min(total, first.high + second.high)
    # Terms so far below the total that their powers of the tilt add up to nothing are left out.
    begin = max(low, total + 1 - _span(tilt))
    used, wrong = _masses(first, second, begin, final)
    distance = np.arange(total - begin, total - begin - used.size, -1, dtype=np.float64)
    exponent = distance * -math.log(tilt)
    powers = np.exp(-exponent)
    terms = used * powers
    value = float(terms.sum())
    # Of a mass, and of positive terms in any order.
    n_sums = min(first.mass.size, second.mass.size) + used.size
    relative = first.error + second.error + (n_sums + 8) * 1.01 * UNIT_ROUNDOFF
    loose = value * relative + float(terms @ (3.0 * exponent + 10.0)) * UNIT_ROUNDOFF
    loose += 1.01 * wrong * float(powers.sum())
    dropped = first.dropped + second.dropped + (_LEFT_OUT if begin > low else 0.0)
    logs = _logs(
        (value - loose * 1.01) * (1 - 4 * UNIT_ROUNDOFF),
        (value + loose * 1.01 + dropped) * (1 + 4 * UNIT_ROUNDOFF),
    )
    with precision(_BITS):
        q, rho = ball(flip), ball(Fraction(tilt))
        normaliser = n_zeros * (1 - q + q * rho).log() + n_ones * (q + (1 - q) * rho).log()
        bounds = enclose(normaliser - total * rho.log()).shifted(logs)
    return LogBounds(bounds.lower, min(0.0, bounds.upper))


def _windows(
    n_zeros: int, n_ones: int, flip: Fraction, tilt: float
) -> tuple[TiltedWindow, TiltedWindow]:
    """Return the two tilted parts of V, the wider one first: its steps are the smaller."""
    parts = [
        # The odds, correctly rounded, times the tilt: two roundings.
        tilted_window(n, odds * tilt, odds_roundings=2)
        for n, odds in zip((n_zeros, n_ones), _odds(flip), strict=True)
    ]
    wide, narrow = sorted(parts, key=lambda part: -part.mass.size)
    return wide, narrow


@lru_cache(maxsize=256)
def _odds(flip: Fraction) -> tuple[float, float]:
    """Return q / (1 - q) and (1 - q) / q, correctly rounded."""
    return float(flip / (1 - flip)), float((1 - flip) / flip)


def _span(tilt: float) -> int:
    """Return how many totals it takes until the power of the tilt is below e^-80."""
    return math.ceil(_SPAN / -math.log(tilt)) + 1 if tilt < 1.0 else 1 << 60


def _masses(
    wide: TiltedWindow, narrow: TiltedWindow, begin: int, final: int
) -> tuple[FloatArray, float]:
    """Return the probabilities of the sum of two parts from begin to final, and their error.

    The absolute error of each beyond that of plain sums; none is below 0, as the truth is.
    """
    if final < begin:
        return np.zeros(0), 0.0
    # The counts of the first part that go with some count of the second.
    least, most = begin - narrow.high - wide.low, final - narrow.low - wide.low
    part = wide.mass[max(0, least) : most + 1]
    before, behind = max(0, -least), max(0, most + 1 - wide.mass.size)
    if before or behind:
        part = np.concatenate([np.zeros(before), part, np.zeros(behind)])
    if final - begin < _FEW:
        return np.convolve(part, narrow.mass, mode="valid"), 0.0
    sums, wrong = convolve(part, narrow.mass)
    return np.maximum(sums[narrow.mass.size - 1 : part.size], 0.0), wrong


def _tilt_to(n_zeros: int, n_ones: int, flip: float, total: int) -> float:
    """Return about the rho < 1 under which V' has its mean at total + 1/2."""
    goal = total + 0.5
    low, high = -700.0, 0.0
    for _ in range(60):
        middle = (low + high) / 2
        rho = math.exp(middle)
        zeros = n_zeros * flip * rho / (1 - flip + flip * rho)
        ones = n_ones * (1 - flip) * rho / (flip + (1 - flip) * rho)
        low, high = (middle, high) if zeros + ones < goal else (low, middle)
    return math.exp(high)


def _logs(lower: float, upper: float) -> LogBounds:
    """Return outward logarithms of positive floats."""
    below = math.log(lower) if lower > 0 else -math.inf
    above = math.log(upper)
    return LogBounds(
        below if below == -math.inf else below - LIBM_ERROR * (abs(below) + 1),
        above + LIBM_ERROR * (abs(above) + 1),
    )
