"""The least noise that the printed theorems allow a family of laws, and a bound on all noise."""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import InvalidParameter, SmoothdpError
from smoothdp.noise import NoiseDistribution, variance_lower_bound
from smoothdp.noise.calibration import calibrate

_GRID = 60
_REFINEMENTS = 4


def least_deviation(guarantee: Guarantee, smoothing: Fraction) -> float | None:
    """Return a standard deviation that no noise goes below, or None where none is known."""
    try:
        variance = variance_lower_bound(guarantee, shift=1, smoothing=smoothing)
    except InvalidParameter:
        return None
    return math.sqrt(variance)


def paper_deviation(
    family: type[NoiseDistribution], guarantee: Guarantee, smoothing: Fraction
) -> float | None:
    """Return the least standard deviation over shapes by the printed theorems, or None.

    The shape is found to about a relative 1e-6 of the deviation.
    """
    if family.printed_shapes is not None:
        deviation = _least_over_shapes(family, family.printed_shapes, guarantee, smoothing)
    elif family.parameters:
        return None
    else:
        deviation = _deviation_by_paper(family(), guarantee, smoothing)
    return deviation if math.isfinite(deviation) else None


def _least_over_shapes(
    family: type[NoiseDistribution],
    shapes: tuple[float, float],
    guarantee: Guarantee,
    smoothing: Fraction,
) -> float:
    low, high = shapes
    best = (math.inf, low)
    epsilon = guarantee.parameters().get("epsilon")
    if isinstance(epsilon, Fraction):
        # The shape that the theorem about PolyPlace uses, which no grid meets.
        epsilon_shape = epsilon / smoothing
        best = min(
            best, (_try_shape(family, epsilon_shape, guarantee, smoothing), float(epsilon_shape))
        )
    for _ in range(_REFINEMENTS):
        ratio = (high / low) ** (1 / _GRID)
        grid = [low * ratio**step for step in range(_GRID + 1)]
        tried = [
            (_try_shape(family, Fraction(f"{shape:.10g}"), guarantee, smoothing), shape)
            for shape in grid
        ]
        best = min(best, *tried)
        # A step on either side of the best one.
        low, high = max(low, best[1] / ratio), min(high, best[1] * ratio)
        if not low < high:
            break
    return best[0]


def _try_shape(
    family: type[NoiseDistribution], shape: Fraction, guarantee: Guarantee, smoothing: Fraction
) -> float:
    try:
        law = family(shape)  # type: ignore[call-arg]
    except SmoothdpError:
        return math.inf
    return _deviation_by_paper(law, guarantee, smoothing)


def _deviation_by_paper(law: NoiseDistribution, guarantee: Guarantee, smoothing: Fraction) -> float:
    try:
        return calibrate(law, guarantee, smoothing=smoothing, method="paper").standard_deviation
    except SmoothdpError:
        return math.inf
