"""Values of D(E) = sum (p - E q)_+ at many points by sums of positive terms.

Between neighbouring losses D is linear with slope -Q(L > l), so from the largest loss down
D(E_i) = D(E_i+1) + (E_i+1 - E_i) Q(L > l_i): nothing cancels.
"""

from __future__ import annotations

import math

import numpy as np

from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF
from smoothdp.privacy.atoms import log_cumulative
from smoothdp.types import FloatArray


def log_sticks(
    log_masses: FloatArray, losses: FloatArray, log_infinite: float, at: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Return ln D and ln Q(L > l) at increasing losses ``at``, and an absolute error of both.

    Args:
        log_masses, losses: the law of the loss under P; floats taken as exact.
        log_infinite: ln P(L = inf), -inf if none.
        at: increasing; holds every loss.
    """
    order = np.argsort(losses, kind="stable")
    log_q = (log_masses - losses)[order]
    sorted_losses = losses[order]
    running, first_error = log_cumulative(log_q[::-1])
    # The mass of Q strictly above each point.
    above = np.searchsorted(sorted_losses, at, side="right")
    padded = np.concatenate([[-math.inf], running])
    log_tail = padded[losses.size - above]
    widths = np.diff(at)
    with np.errstate(divide="ignore"):
        log_widths = at[1:] + np.log(-np.expm1(-widths))
    terms = np.concatenate([log_widths + log_tail[:-1], [log_infinite]])
    values, second_error = log_cumulative(terms[::-1])
    size = _largest(log_masses) + 2 * _largest(losses) + 4 * _largest(at)
    size += _largest(log_tail) + _largest(terms)
    error = first_error + second_error + 4 * UNIT_ROUNDOFF * size
    error += 3 * LIBM_ERROR * (1 + _largest(log_widths - at[1:]))
    # A width is rounded relatively, which moves ln(1 - e^-width) by at most u.
    error += 2 * UNIT_ROUNDOFF
    return values[::-1], log_tail, error


def _largest(values: FloatArray) -> float:
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
