"""The tail of a law over its density, by one quadrature for all points at once."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from smoothdp.types import FloatArray

# Exp-sinh nodes on (0, inf): h = exp(t - e^-t) for the trapezoidal rule in t.
_STEP = 1 / 16
_T = np.arange(-4.0, 8.0 + _STEP / 2, _STEP)
_NODES = np.exp(_T - np.exp(-_T))
_WEIGHTS = _STEP * _NODES * (1 + np.exp(-_T))


def log_mills(
    log_fall: Callable[[FloatArray, FloatArray], FloatArray], a: FloatArray, width: FloatArray
) -> FloatArray:
    """Return ln of the integral over h > 0 of exp(log_fall(a, h)).

    log_fall(a, h) is ln f(a + h) - ln f(a), computed without cancellation; ``width`` is its
    length scale at each point. The integrand must fall at least like h^-9.
    """
    flat, widths = a.ravel()[:, None], width.ravel()[:, None]
    values = np.exp(log_fall(flat, widths * _NODES))
    logs = np.log(values @ _WEIGHTS) + np.log(widths[:, 0])
    return np.asarray(logs.reshape(a.shape))


def half_line(log_integrand: Callable[[FloatArray], FloatArray]) -> float:
    """Return the integral over (0, inf) of exp(log_integrand), scaled to width about 1."""
    return math.fsum((np.exp(log_integrand(_NODES)) * _WEIGHTS).tolist())
