"""Divergences of Z from e^t Z + s, in both directions, never below the truth.

They rise with |s| (proofs/dilated-divergences#2); one direction is the other at -t (#3).
"""

from __future__ import annotations

import heapq
import math
from fractions import Fraction
from functools import lru_cache
from itertools import count
from typing import Literal

from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball, precision, real_bounds, round_down, round_up
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.balls.work import scope
from smoothdp.exact.logspace.bounds import LogBounds, exp_lower, exp_upper
from smoothdp.exact.parameters.numbers import (
    Parameter,
    Real,
    exact_fraction,
    exact_real,
    float_bounds,
)
from smoothdp.noise.divergences.ball_law import BallLaw
from smoothdp.noise.divergences.hockey_stick import MOST_BITS, log_hockey_stick
from smoothdp.noise.divergences.loss_cells import CellFactory, LossCell
from smoothdp.noise.divergences.loss_integral import LossIntegral
from smoothdp.noise.divergences.offset import Offset
from smoothdp.noise.divergences.own_facts import check_own_facts
from smoothdp.noise.divergences.panels import BITS

Direction = Literal["forward", "reverse"]
# The caches have the limit of work as their first key: what is counted while a divergence is
# computed must not depend on what was asked before.
_TOLERANCE = 1e-14
_MOST_CUTS = 4000
# Beyond this order that of order inf, where finite, is as good (proofs/zcdp-certificates#8).
_LARGEST_ORDER = 10**5


class Divergences(BallLaw):
    """How far a law is from its shifted and dilated copy.

    ``shift`` is s and ``dilation`` is t, real numbers of any sign, exact as given. Forward is
    D(Z || e^t Z + s), reverse is D(e^t Z + s || Z). Floats returned are upper bounds; the
    ``_bounds`` forms return (lower, upper) around the truth.
    """

    def renyi(
        self,
        order: Parameter,
        *,
        shift: Parameter,
        dilation: Parameter,
        direction: Direction = "forward",
    ) -> float:
        """Return the Renyi divergence of an order in [1, inf], rounded up; inf if infinite."""
        bounds = self.renyi_bounds(order, shift=shift, dilation=dilation, direction=direction)
        return bounds[1]

    def renyi_bounds(
        self,
        order: Parameter,
        *,
        shift: Parameter,
        dilation: Parameter,
        direction: Direction = "forward",
    ) -> tuple[float, float]:
        """Return floats around the Renyi divergence; order 1 is the Kullback-Leibler one.

        Raises:
            InvalidParameter: an order below 1, or another direction.
            OutOfReach: more work than a few seconds.
        """
        check_own_facts(self)
        move = _move(shift, dilation, direction)
        if move == _UNMOVED:
            return 0.0, 0.0
        if order == math.inf or order == "inf":
            return _supremum(scope(), self, *move)
        alpha = exact_fraction(order, name="order")
        if alpha < 1:
            raise InvalidParameter(
                expected="order >= 1", got=f"order={order}", remedy="Give an order from 1 to inf"
            )
        return _renyi(scope(), self, alpha, *move)

    def max_divergence(self, *, shift: Parameter, dilation: Parameter) -> float:
        """Return the largest privacy loss of both directions; inf if it is unbounded."""
        return self.max_divergence_bounds(shift=shift, dilation=dilation)[1]

    def max_divergence_bounds(
        self, *, shift: Parameter, dilation: Parameter
    ) -> tuple[float, float]:
        """Return floats around the largest privacy loss of both directions."""
        check_own_facts(self)
        moves = [_move(shift, dilation, way) for way in ("forward", "reverse")]
        if moves[0] == _UNMOVED:
            return 0.0, 0.0
        bounds = [_supremum(scope(), self, *move) for move in moves]
        return max(b[0] for b in bounds), max(b[1] for b in bounds)

    def _keeps_loss(self, epsilon: Real, *, shift: Parameter, dilation: Parameter) -> bool | None:
        """Whether the largest privacy loss of both directions is surely at most epsilon, or above.

        None if neither is certain. Quicker than `max_divergence_bounds`, except near epsilon.
        """
        limits = real_bounds(epsilon)
        verdicts = []
        for way in ("forward", "reverse"):
            move = _move(shift, dilation, way)
            if move != _UNMOVED:
                lower, upper = _supremum_near(self, limits, *move)
                if lower > limits.upper:
                    return False
                verdicts.append(upper <= limits.lower)
        return True if all(verdicts) else None

    def delta(
        self,
        epsilon: Parameter,
        *,
        shift: Parameter,
        dilation: Parameter,
        direction: Direction = "forward",
    ) -> float:
        """Return the hockey-stick divergence sup P(A) - e^epsilon Q(A), rounded up."""
        return self.delta_bounds(epsilon, shift=shift, dilation=dilation, direction=direction)[1]

    def delta_bounds(
        self,
        epsilon: Parameter,
        *,
        shift: Parameter,
        dilation: Parameter,
        direction: Direction = "forward",
    ) -> tuple[float, float]:
        """Return floats around the hockey-stick divergence; 0 only where a proof says 0."""
        bounds = self.log_delta_bounds(epsilon, shift=shift, dilation=dilation, direction=direction)
        lower, upper = bounds.linear()
        return lower, min(1.0, upper)

    def log_delta_bounds(
        self,
        epsilon: Parameter,
        *,
        shift: Parameter,
        dilation: Parameter,
        direction: Direction = "forward",
    ) -> LogBounds:
        """Return bounds of ln of the hockey-stick divergence, also where floats end."""
        check_own_facts(self)
        amount = exact_real(epsilon, name="epsilon")
        if real_bounds(amount)[0] < 0:
            raise InvalidParameter(
                expected="epsilon >= 0",
                got=f"epsilon={epsilon}",
                remedy="Give a privacy loss, not below 0",
            )
        move = _move(shift, dilation, direction)
        if move == _UNMOVED:
            return LogBounds(-math.inf, -math.inf)
        return _log_delta(scope(), self, amount, *move)


Move = tuple[Fraction, Fraction, bool]
_UNMOVED: Move = (Fraction(0), Fraction(0), False)


def _move(shift: Parameter, dilation: Parameter, direction: str) -> Move:
    if direction not in ("forward", "reverse"):
        raise InvalidParameter(
            expected='direction "forward" or "reverse"',
            got=f"{direction!r}",
            remedy='Choose direction="forward" or direction="reverse"',
        )
    s, t = exact_fraction(shift, name="shift"), exact_fraction(dilation, name="dilation")
    # Z is symmetric, so the sign of the shift means nothing.
    return (abs(s), t, direction == "reverse") if s or t else _UNMOVED


def _offset(law: Divergences, shift: Fraction, dilation: Fraction, reverse: bool) -> Offset:
    """Return the pair as a forward one: D(e^t Z + s || Z) = D(Z || e^-t Z + s e^-t).

    (proofs/dilated-divergences#3).
    """
    s, t = ball(shift), ball(dilation)
    return Offset(law, s * (-t).exp(), -t) if reverse else Offset(law, s, t)


@lru_cache(maxsize=64)
def _integral(
    within: object, law: Divergences, shift: Fraction, dilation: Fraction, reverse: bool
) -> LossIntegral:
    del within
    return LossIntegral(_offset(law, shift, dilation, reverse))


@lru_cache(maxsize=4096)
def _renyi(
    within: object,
    law: Divergences,
    order: Fraction,
    shift: Fraction,
    dilation: Fraction,
    reverse: bool,
) -> tuple[float, float]:
    with precision(4 * BITS):
        offset = _offset(law, shift, dilation, reverse)
        closed = law._renyi_closed(ball(order), offset.shift, offset.dilation)
        if closed is not None:
            return max(0.0, round_down(closed)), _above(closed)
    move = (shift, dilation, reverse)
    if order > _LARGEST_ORDER:
        most = _supremum(within, law, *move)[1]
        if most < math.inf:
            return _renyi(within, law, Fraction(_LARGEST_ORDER), *move)[0], most
    # The divergence rises with the order: a float below it and one above it.
    below, above = float_bounds(order - 1)
    with precision(BITS):
        integral = _integral(within, law, *move)
        first = integral.log_excess(below)
        last = first if above == below else integral.log_excess(above)
    return _divergence(first[0], below, -1), _divergence(last[1], above, 1)


def _divergence(log_excess: float, b: float, rounding: int) -> float:
    """Return ln(1 + b e^log_excess) / b, rounded down or up (proofs/divergence-enclosures#1)."""
    exp = exp_upper if rounding > 0 else exp_lower
    if b == 0.0:
        return exp(log_excess)
    log_b = math.log(b)
    log_term = log_excess + log_b
    if log_term > 30:
        # Logarithms are within 4 units.
        slack = rounding * 2e-15 * (abs(log_excess) + abs(log_b))
        value = (log_term + math.log1p(math.exp(-log_term)) + slack) / b
    else:
        value = math.log1p(b * exp(log_excess)) / b
    if math.isnan(value):
        return math.inf if rounding > 0 else 0.0
    return max(0.0, value * (1 + rounding * 3e-15))


@lru_cache(maxsize=4096)
def _supremum(
    within: object, law: Divergences, shift: Fraction, dilation: Fraction, reverse: bool
) -> tuple[float, float]:
    del within
    return _supremum_near(law, None, shift, dilation, reverse)


def _supremum_near(
    law: Divergences, limits: LogBounds | None, shift: Fraction, dilation: Fraction, reverse: bool
) -> tuple[float, float]:
    with precision(BITS):
        offset = _offset(law, shift, dilation, reverse)
        closed = law._supremum_closed(offset.shift, offset.dilation)
        if closed is not None:
            return max(0.0, round_down(closed)), _above(closed)
        return loss_supremum(offset, limits)


@lru_cache(maxsize=4096)
def _log_delta(
    within: object,
    law: Divergences,
    epsilon: Real,
    shift: Fraction,
    dilation: Fraction,
    reverse: bool,
) -> LogBounds:
    del within

    def make() -> Offset:
        return _offset(law, shift, dilation, reverse)

    bits = BITS
    while True:
        with precision(bits):
            offset = make()
            closed = law._delta_closed(ball(epsilon), offset.shift, offset.dilation)
            if closed is None:
                return log_hockey_stick(make, epsilon)
            if closed == 0:
                return LogBounds(-math.inf, -math.inf)
            if (closed > 0 and special.is_sharp(closed)) or bits >= MOST_BITS:
                top = _above(closed.upper().log())
                return LogBounds(round_down(closed.log()) if closed > 0 else -math.inf, top)
        bits *= 2


def _above(value: Ball) -> float:
    """Return a float not below a ball; inf where the ball says nothing."""
    top = round_up(value)
    return math.inf if math.isnan(top) else top


def loss_supremum(offset: Offset, limits: LogBounds | None = None) -> tuple[float, float]:
    """Bound the supremum over x of ln p(x) / q(x), by cutting the most promising cell.

    (proofs/divergence-enclosures#7).

    With limits it is cut only until it is surely at most the lower or above the upper one.
    Where the elasticity has no limit and q is narrower than p, the loss is unbounded
    (proofs/dilated-divergences#6).
    """
    if offset.law._elasticity_limit() is None and offset.dilation < 0:
        return math.inf, math.inf
    factory = CellFactory(offset, BITS)
    order = count()
    best = special.number(0.0)
    heap: list[tuple[float, int, LossCell]] = []
    done = special.number(0.0)
    for cell in factory.first():
        best = special.maximum(best, _witness(cell))
        heapq.heappush(heap, (-float(cell.upper), next(order), cell))
    for _ in range(_MOST_CUTS):
        if not heap or not heap[0][2].upper > best + _TOLERANCE * best:
            break
        if limits and (best > limits.upper or heap[0][2].upper <= limits.lower):
            break
        cell = heapq.heappop(heap)[2]
        halves = factory.cut(cell)
        if halves is None:
            done = special.maximum(done, cell.upper)
            continue
        for half in halves:
            best = special.maximum(best, _witness(half))
            if not half.upper <= best:
                heapq.heappush(heap, (-float(half.upper), next(order), half))
    for _, _, cell in heap:
        done = special.maximum(done, cell.upper)
    return max(0.0, round_down(best)), max(0.0, _above(special.maximum(done, best)))


def _witness(cell: LossCell) -> Ball:
    """Return a number that the supremum is not below: the least loss of the cell."""
    if cell.middle is None or cell.middle.is_nan():
        return cell.lower
    return special.lower(special.maximum(cell.middle, cell.lower))
