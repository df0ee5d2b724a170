"""The contour in ball arithmetic, where the rounding of doubles is wider than the tolerance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from smoothdp.composition.laws.law import BallTransform
from smoothdp.composition.laws.product import Product
from smoothdp.composition.routes.contour import truncation
from smoothdp.composition.routes.inversion import Inversion
from smoothdp.exact.balls.balls import ball, enclose, precision, real_bounds
from smoothdp.exact.balls.special import Ball, complex_ball, number, pi, real
from smoothdp.exact.logspace.bounds import (
    LOG_ZERO,
    LogBounds,
    log_difference_lower,
    log_sum_lower,
    log_sum_upper,
)
from smoothdp.exact.parameters.numbers import Real

# Nodes times laws: each costs some microseconds.
_MOST_TERMS = 40_000
_TARGET = 1e-28
_FARTHEST = 1e6
_BITS = 160


def ball_transforms(product: Product) -> list[tuple[BallTransform, int]] | None:
    """Return the transforms of all laws in balls, or None if one has none."""
    found = []
    for law, count in product.parts:
        transform = law.ball_transform()
        if transform is None:
            return None
        found.append((transform, count))
    return found


def ball_bounds(product: Product, epsilon: Real) -> LogBounds | None:
    """Bound ln delta of the true laws at an exact epsilon; None where balls do not serve.

    They serve where every law has a ball transform and something decays, so that few nodes
    are enough without smoothing. There is no slack: the parameters are exact.
    """
    transforms = ball_transforms(product)
    if transforms is None or not product.gaussian:
        return None
    here = real_bounds(epsilon).lower
    if here > _FARTHEST:
        return None
    inversion = Inversion(product, _TARGET)
    tilt = product.saddle(here)
    plan = inversion.plan(here, tilt, 0.0, _TARGET)
    if plan is None or plan.count * max(1, len(transforms)) > _MOST_TERMS:
        return None
    (found,) = ball_sums(
        transforms,
        product.gaussian,
        epsilon,
        tilt=plan.tilt,
        step=plan.step,
        count=plan.count,
    )
    # Both bounds are of e^(K(c) - c e); epsilon as a float and the slack of K are margins.
    exponent = product.moments(tilt).log_mgf - tilt * here
    margin = 1e-6 * (1 + abs(exponent)) + product.slack.mass + tilt * product.slack.loss
    cut = exponent + margin + math.log(truncation(product, tilt, plan.step * (plan.count - 1), 0.0))
    aliases = inversion.log_aliases(here, tilt, plan.period) + margin
    lost = log_sum_upper(cut, aliases)
    infinite = product.log_infinite
    lower = log_difference_lower(found.lower, lost) if found.lower > lost else LOG_ZERO.lower
    return LogBounds(
        log_sum_lower(lower, infinite.lower),
        min(0.0, log_sum_upper(log_sum_upper(found.upper, cut), infinite.upper)),
    )


def ball_sums(
    transforms: Sequence[tuple[BallTransform, int]],
    variance: Fraction,
    epsilon: Real,
    *,
    tilt: float,
    step: float,
    count: int,
    spread: float = 0.0,
) -> list[LogBounds]:
    """Bound ln of the sum (step / pi) [F(0) / 2 + Re F(step) + ...] over ``count`` nodes.

    F(t) = e^(v (z^2 + z) / 2) prod transform(z)^count e^(-z epsilon) / (z (z + 1)), z = tilt + i t;
    with a spread s > 0, of the two sums with the upper and the lower kernel of smoothing.
    """
    bits = _BITS
    while True:
        with precision(bits):
            sums = _sums(transforms, variance, epsilon, tilt, step, count, spread)
            if all(value > 0 and value.rel_accuracy_bits() > 60 for value in sums):
                return [enclose(value.log()) for value in sums]
        if bits > 4 * _BITS:
            return [
                LogBounds(
                    enclose(value.log()).lower if value > 0 else -math.inf,
                    enclose(value.upper().log()).upper if value.upper() > 0 else -math.inf,
                )
                for value in sums
            ]
        bits *= 2


def _sums(
    transforms: Sequence[tuple[BallTransform, int]],
    variance: Fraction,
    epsilon: Real,
    tilt: float,
    step: float,
    count: int,
    spread: float,
) -> list[Ball]:
    totals = [number(0.0)] * (2 if spread else 1)
    here, normal = ball(epsilon), ball(variance)
    square = number(spread) * number(spread)
    for m in range(count):
        z = complex_ball(number(tilt), number(step) * m)
        value = (normal * (z * z + z) / 2 - z * here).exp() / (z * (z + 1))
        for transform, power in transforms:
            value *= transform(z) ** power
        if m == 0:
            value /= 2
        if not spread:
            totals[0] += real(value)
            continue
        small, large = (square * z * z / 2).exp(), (square * (z + 1) * (z + 1) / 2).exp()
        totals[0] += real(value * (square * (z * z + z) / 2).exp())
        totals[1] += real(value * ((1 + z) * small - z * large))
    return [total * number(step) / pi() for total in totals]
