"""The contour in ball arithmetic, where the rounding of doubles is wider than the tolerance."""

from __future__ import annotations

import math

from smoothdp.composition.laws.product import Product
from smoothdp.composition.routes.contour import truncation
from smoothdp.composition.routes.inversion import Inversion
from smoothdp.exact.balls import real_bounds
from smoothdp.exact.contour_balls import BallTransform, ball_sums
from smoothdp.exact.logspace import (
    LOG_ZERO,
    LogBounds,
    log_difference_lower,
    log_sum_lower,
    log_sum_upper,
)
from smoothdp.exact.parameters import Real

# Nodes times laws: each costs some microseconds.
_MOST_TERMS = 40_000
_TARGET = 1e-28
_FARTHEST = 1e6


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
