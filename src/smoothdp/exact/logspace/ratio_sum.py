"""Sums of positive terms that are known by the ratio of neighbours.

The tail of a discrete law needs one accurate probability; the rest follows by the exact
ratios P(k+1)/P(k). Nothing is subtracted, so the relative error is a few units per term,
and the part left out is bounded by a geometric series and added to the upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from smoothdp.errors import OutOfReach
from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF, LogBounds
from smoothdp.types import FloatArray

_RELATIVE_REMAINDER = 2.0**-42
_BLOCK = 256
_AT_ONCE = 16 * _BLOCK
_MOST_TERMS = 10**8  # 4 GB
_NATS = 32.0  # e^-32 leaves room below the remainder that is allowed


def expected_length(log_ratio: float, curvature: float) -> int:
    """Return about how many terms e^(d log_ratio - curvature d^2/2) matter.

    ``log_ratio`` is at most about 0 and ``curvature`` positive; a rough figure is enough,
    because `log_ratio_sum` checks what is left and extends.
    """
    decay = max(-log_ratio, 0.0)
    return 16 + math.ceil(_NATS * 2 / (decay + math.sqrt(decay * decay + _NATS * 2 * curvature)))


def log_ratio_sum(
    ratio: Callable[[FloatArray], FloatArray],
    weight: Callable[[FloatArray], FloatArray],
    *,
    n_terms: int,
    length: int,
    ratio_roundings: int,
    weight_roundings: int,
) -> LogBounds:
    """Bound ln of sum over d < n_terms of weight(d) ratio(0) ... ratio(d - 1).

    ``weight`` is positive and nondecreasing, and weight(d+1) ratio(d) / weight(d) never
    increases with d: true for tails of log-concave laws with the weights used here. Each
    computed ratio carries at most ``ratio_roundings`` roundings, each weight
    ``weight_roundings`` (in units of 2^-53, relative). ``length`` is a first guess of how
    many terms matter.

    Raises:
        OutOfReach: more than 1e8 terms matter; nothing of that size is built.

    >>> bounds = log_ratio_sum(lambda d: 0.0 * d + 0.5, lambda d: 0.0 * d + 1.0,
    ...     n_terms=10**9, length=4, ratio_roundings=1, weight_roundings=0)
    >>> bounds.lower <= math.log(2.0) <= bounds.upper
    True
    """
    length = max(2, length)
    while True:
        used = min(length, n_terms)
        if used > _MOST_TERMS:
            raise OutOfReach(
                expected=f"at most {_MOST_TERMS} outputs that matter in a sum",
                got=f"about {used:.2g}",
                remedy="Use fewer draws or records, or a larger epsilon",
            )
        steps = np.arange(used, dtype=np.float64)
        products = np.empty(used)
        products[0] = 1.0
        ratios = ratio(steps[:-1])
        np.multiply.accumulate(ratios, out=products[1:])
        weights = weight(steps)
        products *= weights
        total = _block_sum(products)
        remainder = 0.0
        if used < n_terms:
            growth = 1.0 + 8.0 * (ratio_roundings + weight_roundings) * UNIT_ROUNDOFF
            last = float(ratios[-1]) * float(weights[-1]) / float(weights[-2]) * growth
            if last >= 1.0:
                length *= 4
                continue
            # Underflow of a product is at most 1e-300 here, because weights are below 1e8.
            remainder = (float(products[-1]) + 1e-300) * last / (1.0 - last)
            if remainder > _RELATIVE_REMAINDER * total:
                length *= 2
                continue
        # Term d carries d ratios and d products: (ratio_roundings + 1) d units. A sum of
        # positive numbers adds at most as many units as numbers are summed at once.
        mean_step = float(products @ steps) / total if total else 0.0
        units = (ratio_roundings + 1) * mean_step + weight_roundings + min(used, _AT_ONCE) + 8
        error = 1.05 * units * UNIT_ROUNDOFF
        total_upper = (total * (1.0 + error) + remainder * 1.01 + used * 1e-300) * (
            1.0 + 4.0 * UNIT_ROUNDOFF
        )
        total_lower = total * (1.0 - error)
        return LogBounds(_log_down(total_lower), _log_up(total_upper))


def _block_sum(values: FloatArray) -> float:
    """Sum positive numbers by blocks, and the blocks exactly; few numbers at once."""
    if values.size <= _AT_ONCE:
        return float(values.sum())
    whole = values.size - values.size % _BLOCK
    blocks = values[:whole].reshape(-1, _BLOCK).sum(axis=1).tolist()
    return math.fsum([*blocks, float(values[whole:].sum())])


def _log_down(value: float) -> float:
    if value <= 0.0:
        return -math.inf
    log_value = math.log(value)
    return math.nextafter(log_value - LIBM_ERROR * abs(log_value), -math.inf)


def _log_up(value: float) -> float:
    if value <= 0.0:
        return -math.inf
    log_value = math.log(value)
    return math.nextafter(log_value + LIBM_ERROR * abs(log_value), math.inf)
