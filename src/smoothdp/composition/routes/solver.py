"""Bounds of ln delta of one product of laws, by the route that suits it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from smoothdp.claims.curves.atoms import Atoms
from smoothdp.claims.excess import log_gaussian_square_excess
from smoothdp.composition.laws.law import EXACT
from smoothdp.composition.laws.product import Product
from smoothdp.composition.routes.balls import ball_bounds
from smoothdp.composition.routes.contour import Nearby, Progress
from smoothdp.composition.routes.grouping import grouped
from smoothdp.composition.routes.inversion import Inversion
from smoothdp.composition.routes.large_losses import LargeLosses
from smoothdp.composition.routes.moved import log_one_moves, moved
from smoothdp.composition.routes.one_closed import OneClosed, one_closed
from smoothdp.exact.balls.balls import real_bounds
from smoothdp.exact.logspace.bounds import (
    LOG_ZERO,
    LogBounds,
    log_difference_lower,
    log_sum_lower,
    log_sum_upper,
)
from smoothdp.exact.parameters.numbers import Real

# Brackets up to this wide are not worth another look.
_NARROW = 1e-6
_BEYOND = 120.0
_MOVING_TARGETS = (1e-9, 1e-16)


@dataclass(eq=False)
class Solver:
    """delta of a product: finite losses, infinite ones, and the slack of the laws."""

    product: Product
    tolerance: float
    progress: Progress | None = None
    patient: bool = True
    handed_over: bool = False
    _caps: dict[float, tuple[Solver, float] | None] = field(default_factory=dict, repr=False)

    @cached_property
    def atoms(self) -> Atoms | None:
        """All joint atoms, if they are few."""
        return grouped(self.product)

    @cached_property
    def one_closed(self) -> OneClosed | None:
        """A finite sum, if one law alone is more than a few atoms and has a closed delta."""
        return one_closed(self.product)

    @cached_property
    def inversion(self) -> Inversion:
        """The contour, for everything else."""
        return Inversion(self.product, self.tolerance, self.progress, self.patient)

    @cached_property
    def large_losses(self) -> LargeLosses:
        """The contours by the number of large losses, where a tail is heavy."""
        return LargeLosses(self.product, self.tolerance, self.patient)

    @property
    def route(self) -> str:
        """The name of the method."""
        if not self.product.parts:
            return "closed form"
        if self.handed_over:
            return "contour in balls"
        if self.one_closed is not None:
            return "exact sum"
        if self.product.gaussian or self.atoms is None:
            return "contour"
        return "exact grouping"

    def log_bounds(self, epsilon: Real) -> LogBounds:
        """Bound ln delta at an exact epsilon >= 0."""
        product = self.product
        slack = product.slack
        if not product.parts:
            if not product.gaussian:
                return LOG_ZERO
            return log_gaussian_square_excess(product.gaussian, epsilon)
        low, high = real_bounds(epsilon)
        if slack.loss:
            low, high = math.nextafter(low - slack.loss, -math.inf), high + slack.loss
            high = math.nextafter(high, math.inf)
        total = self._total(low, high)
        if slack.mass:
            total = total.shifted(LogBounds(-slack.mass, slack.mass))
        found = LogBounds(total.lower, min(0.0, total.upper))
        if self.patient and found.upper - found.lower > self.tolerance:
            sharper = ball_bounds(product, epsilon)
            if sharper is not None:
                self.handed_over = True
                return found.met(sharper)
        return found

    def near(self, epsilon: float) -> Callable[[float], Nearby] | None:
        """Return a guess of ln delta as a function of epsilons close by, where one is at hand."""
        if self.route != "contour" or not self.product.parts or self.moving:
            return None
        if self.product.slack != EXACT or self.product.log_infinite != LOG_ZERO:
            return None
        return None if self._capped(epsilon) is not None else self.inversion.near(epsilon)

    def surely_below(self, epsilon: Real, log_value: float) -> bool:
        """Whether Markov's inequality alone shows that ln delta is at most a value."""
        product, slack = self.product, self.product.slack
        if log_value == -math.inf or not product.parts:
            return False
        low = math.nextafter(real_bounds(epsilon).lower - slack.loss, -math.inf)
        finite, enough = -math.inf, log_value - slack.mass - 1e-9
        if low < product.largest:
            finite = product.log_chernoff_least(low, enough=enough)
        above = log_sum_upper(finite, product.log_infinite.upper)
        return math.nextafter(above + slack.mass, math.inf) <= log_value

    def _total(self, low: float, high: float) -> LogBounds:
        """Bound ln delta of the laws as they are, above at ``low`` and below at ``high``."""
        capped = self._capped(high)
        if capped is not None:
            solver, log_lost = capped
            found = solver._total(low, high)
            lost = math.nextafter(high + log_lost, math.inf)
            return LogBounds(log_difference_lower(found.lower, lost), found.upper)
        upper = self._finite(low)
        lower = upper if high == low else self._finite(high)
        infinite = self.product.log_infinite
        return LogBounds(
            log_sum_lower(lower.lower, infinite.lower), log_sum_upper(upper.upper, infinite.upper)
        )

    def _capped(self, epsilon: float) -> tuple[Solver, float] | None:
        """Return a solver for large losses made infinite, if there are any, and what that adds.

        The contour's nodes are as many as its losses are far apart. A loss that is larger than
        epsilon by 100 differs from an infinite one by less than e^-100 of its mass.
        """
        if self.route == "exact grouping":
            return None
        # Powers of two: few epsilons have caps of their own.
        cap = 2.0 ** math.ceil(math.log2(max(2.0 * epsilon, epsilon + _BEYOND)))
        if cap not in self._caps:
            found = self.product.capped(cap)
            self._caps[cap] = None
            if found is not None:
                product, log_lost = found
                solver = Solver(product, self.tolerance, self.progress, self.patient)
                self._caps[cap] = solver, log_lost
        return self._caps[cap]

    def _finite(self, epsilon: float) -> LogBounds:
        if epsilon >= self.product.largest:
            return LOG_ZERO
        if self.route == "exact grouping":
            assert self.atoms is not None
            return self.atoms.log_excess(Fraction(epsilon))
        if self.one_closed is not None:
            return self.one_closed.log_bounds(epsilon)
        found = self._by_moves(epsilon)
        if found is not None and found.upper - found.lower <= self.tolerance:
            return found
        before, found = found, self.inversion.log_bounds(epsilon)
        if before is not None:
            found = found.met(before)
        if epsilon > 0 and not found.upper - found.lower <= min(_NARROW, self.tolerance):
            other = self.large_losses.log_bounds(epsilon)
            if other is not None:
                found = found.met(other)
        return found

    @cached_property
    def moving(self) -> list[Inversion]:
        """Contours of the sums in which at least two losses are not 0, if many others are: one that
        is quick, and a sharp one."""
        part = moved(self.product)
        if part is None:
            return []
        return [
            Inversion(part, self.tolerance, self.progress, self.patient, target)
            for target in _MOVING_TARGETS
        ]

    def _by_moves(self, epsilon: float) -> LogBounds | None:
        """Bound ln delta of the finite losses by how many of them are not 0."""
        if not self.moving or epsilon < 0:
            return None
        one = log_one_moves(self.product, Fraction(epsilon))
        best = LogBounds(-math.inf, 0.0)
        for inversion in self.moving:
            more = inversion.log_bounds(epsilon)
            lower, upper = (
                log_sum_lower(one.lower, more.lower),
                log_sum_upper(one.upper, more.upper),
            )
            best = best.met(LogBounds(lower, upper))
            if best.upper - best.lower <= self.tolerance:
                break
        return best
