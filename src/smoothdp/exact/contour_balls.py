"""The tilted inversion sum in ball arithmetic: the arbiter of the double-precision one.

What is summed is exact in the parameters given; truncation and aliases are the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from flint import acb, arb
from numpy.typing import NDArray

from smoothdp.exact.balls import ball, enclose, precision
from smoothdp.exact.logspace import LogBounds
from smoothdp.exact.parameters import Real

BallTransform: TypeAlias = Callable[[Any], Any]
"""From a complex ball z to a ball around E[e^(zL); L finite]."""

_BITS = 160


def atoms_transform(log_masses: NDArray[np.float64], losses: NDArray[np.float64]) -> BallTransform:
    """Return the transform of masses e^log_masses at losses, floats taken as exact."""
    pairs = list(zip(log_masses.tolist(), losses.tolist(), strict=True))

    def transform(z: acb) -> acb:
        total = acb(0)
        for log_p, loss in pairs:
            total += (arb(log_p) + z * arb(loss)).exp()
        return total

    return transform


def two_point_transform(epsilon: Real, delta: Fraction) -> BallTransform:
    """Return the transform of losses +-epsilon with odds e^epsilon, total mass 1 - delta."""

    def transform(z: acb) -> acb:
        e = ball(epsilon)
        return ball(1 - delta) * ((z * e).exp() + (-(z + 1) * e).exp()) / (1 + (-e).exp())

    return transform


def laplace_transform(ratio: Fraction) -> BallTransform:
    """Return the transform of the loss of Laplace noise against a shift of ``ratio`` scales."""

    def transform(z: acb) -> acb:
        a = ball(ratio)
        w = z + arb(1) / 2
        up, down = (w * a).exp(), (-w * a).exp()
        return (-a / 2).exp() * (up + down + (up - down) / (2 * w)) / 2

    return transform


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
                    enclose(value.log()).lower if value > 0 else -np.inf,
                    enclose(value.upper().log()).upper if value.upper() > 0 else -np.inf,
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
) -> list[arb]:
    totals = [arb(0)] * (2 if spread else 1)
    here, normal = ball(epsilon), ball(variance)
    square = arb(spread) * arb(spread)
    for m in range(count):
        z = acb(arb(tilt), arb(step) * m)
        value = (normal * (z * z + z) / 2 - z * here).exp() / (z * (z + 1))
        for transform, power in transforms:
            value *= transform(z) ** power
        if m == 0:
            value /= 2
        if not spread:
            totals[0] += value.real
            continue
        small, large = (square * z * z / 2).exp(), (square * (z + 1) * (z + 1) / 2).exp()
        totals[0] += (value * (square * (z * z + z) / 2).exp()).real
        totals[1] += (value * ((1 + z) * small - z * large)).real
    return [total * arb(step) / arb.pi() for total in totals]
