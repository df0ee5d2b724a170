"""The law of a sampled histogram with two-sided geometric noise, by exact lumping.

With q = e^-rate, a sampled count h <= T and the output o of one category,
P(o | h) = q^|o - h| / Z(h); on all integers Z = (1 + q) / (1 - q), on the nonnegative ones
Z(h) = (1 + q - q^(h+1)) / (1 - q). Beyond T every weight falls by q a step, whatever h:
outputs from T on share all likelihood ratios and are one cell of weight q^(T-h) / (1 - q);
likewise those up to 0 on all integers. What is left is 0..T per category.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from smoothdp.exact.balls.balls import ball, enclose, precision
from smoothdp.exact.balls.scaled import Scaled, scaled_exp, scaled_from_logs
from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF
from smoothdp.mechanisms.histogram.accounting.listed_histograms import histograms_of_total
from smoothdp.mechanisms.histogram.sample_law import largest_magnitude, log_draws_law
from smoothdp.mechanisms.sampling.draws import Draws
from smoothdp.mechanisms.sampling.finite_law import OutputLaw
from smoothdp.types import FloatArray, IntArray


def noisy_law(
    draws: Draws, counts: tuple[int, ...], *, rate: Fraction, nonnegative: bool, most: int
) -> OutputLaw:
    """Return ln of the probability of each cell of {0..T}^m, in the order of numpy's ravel.

    Args:
        draws: how records are sampled, T of them.
        counts: records per category, m of them.
        rate: of the noise; weights fall by e^-rate a step.
        nonnegative: whether outputs below 0 are impossible.
        most: refuse more sampled histograms than this.
    """
    shape = (draws.n_draws + 1,) * len(counts)
    histograms = histograms_of_total(
        [draws.n_draws] * len(counts), draws.n_draws, most=most, remedy="Draw fewer records"
    )
    sampled = log_draws_law(draws, histograms, counts)
    logs = sampled.log_values
    for row in histograms:
        logs = logs - _log_norm(row, float(rate), nonnegative)
    # Each norm is right to 4 LIBM_ERROR, and each subtraction rounds.
    error = sampled.error + len(counts) * (
        4 * LIBM_ERROR + UNIT_ROUNDOFF * (largest_magnitude(logs) + 1)
    )

    start = np.full(math.prod(shape), -np.inf)
    start[np.ravel_multi_index(tuple(histograms), shape)] = logs
    tensor, slip = scaled_from_logs(start.reshape(shape))
    error += slip
    for axis in range(len(counts)):
        tensor = two_sided_filter(tensor, scaled_exp(-rate), axis)
    # A term meets q, right to two units, and a product at most T times, and T + 2 sums.
    error += len(counts) * 4 * (draws.n_draws + 2) * UNIT_ROUNDOFF * 1.01
    log_cells, slip = tensor.logs()

    # Cells of one output have a factor 1 - q per category; lumped ones have none.
    log_one_minus_q = _log_one_minus_exp(rate)
    output = np.arange(draws.n_draws + 1)
    is_single = (output < draws.n_draws) & (nonnegative | (output > 0))
    for axis in range(len(counts)):
        along = [-1 if other == axis else 1 for other in range(len(counts))]
        log_cells = log_cells + np.where(is_single, log_one_minus_q, 0.0).reshape(along)
    error += slip + len(counts) * UNIT_ROUNDOFF * (
        2 * abs(log_one_minus_q) + largest_magnitude(log_cells) + 1
    )
    return OutputLaw(log_cells.ravel(), error)


def two_sided_filter(values: Scaled, decay: Scaled, axis: int) -> Scaled:
    """Return the sums over h of decay^|o - h| values[h] along an axis, by two recursions."""
    along = Scaled(np.moveaxis(values.mantissa, axis, 0), np.moveaxis(values.exponent, axis, 0))
    size = along.mantissa.shape[0]
    ahead = [_at(along, 0)]
    for o in range(1, size):
        ahead.append(ahead[-1].times(decay).plus(_at(along, o)))
    sums = [ahead[-1]]
    behind = _at(along, size - 1).times(decay)
    for o in range(size - 2, -1, -1):
        sums.append(ahead[o].plus(behind))
        behind = behind.plus(_at(along, o)).times(decay)
    sums.reverse()
    return Scaled(
        np.moveaxis(np.stack([row.mantissa for row in sums]), 0, axis),
        np.moveaxis(np.stack([row.exponent for row in sums]), 0, axis),
    )


def _at(values: Scaled, index: int) -> Scaled:
    return Scaled(values.mantissa[index], values.exponent[index])


def _log_norm(sampled: IntArray, rate: float, nonnegative: bool) -> FloatArray:
    """Return ln((1 - q) Z(h)), between 0 and ln 2: 1 + q - q^(h+1) = 1 + q (1 - q^h).

    Absolute error at most 4 LIBM_ERROR: the rate is rounded once, which moves q and
    1 - q^h by less than a unit each; exp, expm1, a product and log1p follow.
    """
    tail = math.exp(-rate) * -np.expm1(-rate * np.arange(int(sampled.max()) + 1))
    norm = np.log1p(tail if nonnegative else np.full(tail.shape, math.exp(-rate)))
    values: FloatArray = norm[sampled]
    return values


def _log_one_minus_exp(rate: Fraction) -> float:
    """Return ln(1 - e^-rate), rounded once or so."""
    with precision(128):
        return enclose((-(ball(-rate).expm1())).log()).upper
