"""Panels of the integrals of functions of the loss: nodes, and bounds on an ellipse."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from smoothdp.errors import OutOfReach
from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball, round_down, round_up
from smoothdp.exact.balls.gauss_legendre import (
    IMAGINARY_REACH,
    N_NODES,
    REAL_REACH,
    nodes_and_weights,
)
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.balls.work import spend
from smoothdp.noise.divergences.offset import Offset
from smoothdp.noise.divergences.regions import Logs, Region
from smoothdp.types import FloatArray

BITS = 96
_SMALLEST_HALF_WIDTH = 2.0**-24
_PER_PANEL = 130


class Slope(NamedTuple):
    """Bounds of a derivative over the ellipse: its real range and its imaginary size."""

    lower: float
    upper: float
    imaginary: float


class Panel:
    """A panel [center - half, center + half] of one region's coordinate.

    On its Bernstein ellipse, ln of the weight p |dx/du| and the loss L are analytic, and
    differ from their values at the centre by (u - centre) times a number within the bounds of
    their slopes, and by ``slack`` where a law's continuation is only known up to that
    (proofs/divergence-enclosures#4, #5).
    """

    def __init__(self, offset: Offset, region: Region, center: Fraction, half: Fraction) -> None:
        self.offset, self.region, self.center, self.half = offset, region, center, half
        if half < _SMALLEST_HALF_WIDTH:
            raise OutOfReach(
                expected="a loss that varies slowly enough to be integrated",
                got=f"panels narrower than {_SMALLEST_HALF_WIDTH:g}",
                remedy="Lower the order, the shift or the dilation",
            )
        spend(_PER_PANEL + 4 * offset.law._ball_work)
        middle = ball(center)
        weight, loss = offset.at(region.logs(middle))
        self.log_weight, self.loss = float(weight), float(loss)
        self.rounding = 4e-16 * (abs(self.log_weight) + abs(self.loss)) + 1e-300
        self.analytic = self._bound(middle)

    def _bound(self, middle: Ball) -> bool:
        size = float(self.half)
        real, imaginary = size * REAL_REACH, size * IMAGINARY_REACH
        u = special.rectangle(middle, real, imaginary)
        law, t = self.offset.law, self.offset.dilation
        centre, logs, slopes = self.region.logs(middle), self.region.logs(u), self.region.slopes(u)
        far = logs.far - t
        p = law._ball_branch(centre.near)(logs.near) * slopes.near
        q = law._ball_branch(centre.far - t)(far) * slopes.far
        self.weight_slope, self.loss_slope = _slope(slopes.jacobian - p), _slope(q - p)
        first = round_up(law._continuation_error(logs.near))
        self.weight_slack = first
        self.loss_slack = first + round_up(law._continuation_error(far))
        self.loss_size = self._loss_size(u, centre, logs)
        return all(
            math.isfinite(x)
            for x in (*self.weight_slope, *self.loss_slope, self.weight_slack, self.loss_slack)
        )

    def _loss_size(self, u: Ball, centre: Logs, logs: Logs) -> float:
        """Return a bound of |L| on the ellipse that is small where both laws are close.

        L = t + the integral of A from ln x to ln(x - s) - t, continued.
        """
        law, t = self.offset.law, self.offset.dilation
        branch = law._ball_branch(centre.near)
        if branch != law._ball_branch(centre.far - t):
            return math.inf
        between = special.interval(logs.near, logs.far - t)
        gap = special.size(self.region.gap(u) - t)
        bound = round_up(abs(t) + gap * law._elasticity_size(branch, between))
        return bound if math.isfinite(bound) else math.inf

    def numbers(self) -> tuple[float, ...]:
        """Return what bounds on the ellipse are made of, as one row."""
        return (
            self.log_weight,
            self.loss,
            float(self.half),
            self.rounding,
            self.loss_size,
            self.weight_slack,
            self.loss_slack,
            *self.weight_slope,
            *self.loss_slope,
        )

    def halves(self) -> tuple[Panel, Panel]:
        quarter = self.half / 2
        return (
            Panel(self.offset, self.region, self.center - quarter, quarter),
            Panel(self.offset, self.region, self.center + quarter, quarter),
        )

    @cached_property
    def nodes(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """ln of weight times rule weight, the loss, and bounds of the errors of both."""
        spend(2 * N_NODES * self.offset.law._ball_work)
        rows = np.empty((4, N_NODES))
        middle, half = ball(self.center), ball(self.half)
        for j, (node, share) in enumerate(nodes_and_weights(BITS)):
            weight, loss = self.offset.at(self.region.logs(middle + half * node))
            weight += (half * share).log()
            rows[:, j] = float(weight), float(loss), _error(weight), _error(loss)
        return rows[0], rows[1], rows[2], rows[3]


def _slope(value: Ball) -> Slope:
    real, imaginary = special.real(value), special.imaginary_reach(value)
    return Slope(round_down(real), round_up(real), round_up(imaginary))


def _error(value: Ball) -> float:
    """Return a bound of the distance of a ball's points from its float."""
    return round_up(value.rad()) + 2.0**-52 * abs(float(value)) + 1e-320
