"""Bounds of delta at one epsilon by the tilted inversion integral: planning and aliases."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from smoothdp.composition.laws.law import chernoff_constant
from smoothdp.composition.laws.product import Product
from smoothdp.composition.routes.contour import Contour, Nearby, Plan, Progress, truncation
from smoothdp.composition.routes.screen import Screen, screen_of
from smoothdp.exact.logspace.bounds import (
    LIBM_ERROR,
    LOG_ZERO,
    UNIT_ROUNDOFF,
    LogBounds,
    log_difference_lower,
    log_sum_upper,
)

_MOST_NODES = 1 << 20
_MOST_SCREENED = 1 << 36
# Nodes times atoms: about two seconds.
_MOST_WORK = 4e9
_QUICK_WORK = 2e7
_SOON_WORK = 4e8
_SHARPEST = 1e-16
_SHARP = 1e-11
# Brackets wider than this and than the tolerance get a second tilt.
_ROUGH = 1e-6
# Tilts are shared within this many units of 1 / sqrt(curvature), or half of it.
_NEAR = 0.7
# One plan serves epsilons within half of this over the tilt, by which ln delta may be lower there;
# of this 2 is not counted.
_SERVED = 12.0
_UNCOUNTED = 2.0
_CONTOURS = 12
_MOST_RIVALS = 128
# Where tilts for bounds of aliases lie: deviations further, and shares of the tilt and 1.
_DEVIATIONS, _RATIOS = (8.0, 3.0), (1.0, 0.25, 0.1, 0.04, 0.015)
_N_MOVES = len(_DEVIATIONS) + len(_RATIOS)
# The first smoothing is for this relative gap; then finer as far as it is asked for.
_FIRST_GAP = 1e-4
_SCREENED_GAP = 1e-9
_MOST_CELLS = 1e9


class Aim(NamedTuple):
    """What a contour is for: a tilt, the epsilon it is planned at, and how sharp it is to be."""

    tilt: float
    epsilon: float
    gap: float
    target: float


@dataclass(eq=False)
class Inversion:
    """Bounds of ln delta of the finite losses of a product, as sharp as ``tolerance``.

    ``patient``: refine until the tolerance is met or out of reach; else stop at what is quick.
    ``sharpest``: the error, relative to the size of the terms, of what is summed first.

    What is kept between calls only saves time: the bounds at an epsilon are always the same.
    """

    product: Product
    tolerance: float
    progress: Progress | None = None
    patient: bool = True
    sharpest: float = _SHARPEST
    contours: OrderedDict[Aim, Contour | None] = field(default_factory=OrderedDict)
    start: float = 1.0
    _screens: dict[float, Screen | None] = field(default_factory=dict)
    _rivals: dict[float, dict[int, tuple[float, float, float]]] = field(default_factory=dict)

    def log_bounds(self, epsilon: float) -> LogBounds:
        """Return bounds at an epsilon of any sign; a tighter tolerance may not be met."""
        if epsilon >= self.product.largest:
            return LOG_ZERO
        tilt = self.product.saddle(epsilon, start=self.start)
        self.start = tilt
        shared = self._shared(tilt)
        found = self._log_bounds_at(shared, epsilon)
        if shared != tilt and not found.upper - found.lower <= max(_ROUGH, self.tolerance):
            # Where all but rounding cancels, what counts is the size of the terms alone.
            other = self._log_bounds_at(tilt, epsilon)
            found = found.met(other)
        return found

    def near(self, epsilon: float) -> Callable[[float], Nearby] | None:
        """Return what the contour of an epsilon says of others close by, but for its aliases.

        For guesses only: no bounds. None where that contour is long.
        """
        if epsilon >= self.product.largest:
            return None
        tilt = self._shared(self.product.saddle(epsilon, start=self.start))
        contour = self._contour(Aim(tilt, self._centre(epsilon, tilt), 0.0, self.sharpest))
        return None if contour is None else contour.nearby

    def _log_bounds_at(self, tilt: float, epsilon: float) -> LogBounds:
        best = LogBounds(-math.inf, min(0.0, self.product.log_chernoff(epsilon, tilt)))
        gap, target, is_first = 0.0, self.sharpest, True
        while True:
            contour = self._contour(Aim(tilt, self._centre(epsilon, tilt), gap, target))
            if contour is None and gap > 0.0:
                if not is_first or gap >= _FIRST_GAP:
                    return best
                # A tolerance out of reach: not as sharp, and not nothing.
                gap = min(16 * gap, _FIRST_GAP)
                continue
            if contour is None:
                # Too many nodes for all digits: aim at ten, at the tolerance, then smooth.
                coarser = self._coarser(target)
                if target != self.sharpest and self._screen(tilt) is not None:
                    gap = self._first_gap(tilt)
                elif coarser > target:
                    target = coarser
                else:
                    gap = self._first_gap(tilt)
                continue
            is_first = False
            found = self._bounds(contour, epsilon)
            best = best.met(found)
            if gap == 0.0 or self._sharp(found) or not self.patient:
                return best
            # Beside an atom the width falls only with the square root of the gap.
            gap *= _power_of_four(0.5 * self.tolerance / (found.upper - found.lower))

    def _coarser(self, target: float) -> float:
        """Return the next target after one that needs too many nodes, or the same if it is last."""
        least = 0.01 * self.tolerance
        first = max(self.sharpest, min(_SHARP, least))
        return first if target < first else max(target, least)

    def _shared(self, tilt: float) -> float:
        """Return a tilt close by that serves many epsilons, so that they share a contour.

        A tilt that is off by x makes the terms larger by e^(V x^2 / 2), V their curvature.
        """
        curve = self.product.moments(tilt).variance + tilt**-2 + (tilt + 1) ** -2
        unit = 2.0 ** math.floor(math.log2(min(_NEAR / math.sqrt(curve), tilt / 8)))
        return min(unit * round(tilt / unit), self.product.largest_tilt)

    def log_size(self, epsilon: float) -> float:
        """Return about ln of the size of the terms at the saddle: what rounding is relative to."""
        if epsilon >= self.product.largest:
            return -math.inf
        self.start = self.product.saddle(epsilon, start=self.start)
        return self.product.moments(self.start).log_mgf - self.start * epsilon

    def _sharp(self, found: LogBounds) -> bool:
        return found.upper - found.lower <= self.tolerance

    def _centre(self, epsilon: float, tilt: float) -> float:
        """Return the epsilon to plan for, one for all close by that share the tilt.

        Where a rare large loss is what the tilt has brought up, its own may be far off.
        """
        natural, width = self.product.natural(tilt), _SERVED / tilt
        return natural + width * round((epsilon - natural) / width)

    def _contour(self, aim: Aim) -> Contour | None:
        """Return the contour for an aim, None if it is too long."""
        if aim not in self.contours:
            plan = self.plan(aim.epsilon, aim.tilt, aim.gap, aim.target)
            self.contours[aim] = (
                None
                if plan is None
                else Contour(self.product, plan, budget=aim.target, progress=self.progress)
            )
            while len(self.contours) > _CONTOURS:
                self.contours.popitem(last=False)
        self.contours.move_to_end(aim)
        return self.contours[aim]

    def _first_gap(self, tilt: float) -> float:
        """Return the tolerance, or a coarser gap to begin with if that takes long."""
        if self._screen(tilt) is not None:
            return min(self.tolerance, _SCREENED_GAP)
        if self.tolerance >= _FIRST_GAP:
            return self.tolerance
        last = 8.0 / _spread(tilt, self.tolerance)
        size = self.product.cost(tilt, last=last, budget=0.01 * self.tolerance)
        nodes = last * math.sqrt(self.product.moments(tilt).variance)
        return self.tolerance if nodes * size < _SOON_WORK else _FIRST_GAP

    def _screen(self, tilt: float) -> Screen | None:
        """Return what leaves out nodes of a long contour, None where it would leave too many."""
        if tilt not in self._screens:
            screen, n_laws = screen_of(self.product, tilt), len(self.product.parts)
            last = 9.0 / _spread(tilt, _SCREENED_GAP)
            if screen is not None and screen.cells(last) * n_laws > _MOST_CELLS:
                screen = None
            if screen is not None:
                # A cell has about as many nodes as it is longer than 2 pi / B, B about 60 / c.
                per_cell = 10.0 * screen.step / tilt + 2
                if screen.matter(last).size * per_cell * n_laws > _QUICK_WORK:
                    screen = None
            self._screens[tilt] = screen
        return self._screens[tilt]

    def plan(self, epsilon: float, tilt: float, gap: float, target: float) -> Plan | None:
        """Return a plan whose aliases and truncation are below the tolerance, if there is one
        of reasonable size."""
        moments = self.product.moments(tilt)
        curve = moments.variance + tilt**-2 + (tilt + 1) ** -2
        share = 1 / (tilt * (tilt + 1) * math.sqrt(2 * math.pi * curve))
        log_delta = moments.log_mgf - tilt * epsilon + math.log(share)
        room = 0.5 * _SERVED - _UNCOUNTED - math.log(target)
        period = (room - min(log_delta, 0.0)) / tilt
        for _ in range(80):
            if self.log_aliases(epsilon, tilt, period) <= log_delta - room + 0.7:
                break
            period *= 1.25
        else:
            return None
        spread = _spread(tilt, gap) if gap else 0.0
        screen = self._screen(tilt)
        # With a screen the nodes that are left out cost nothing, the cells of its mesh do.
        most = _MOST_SCREENED if screen is not None and spread else _MOST_NODES
        share *= math.exp(_UNCOUNTED - 0.5 * _SERVED)
        last = self._last(tilt, spread, target * share, 3 / math.sqrt(curve), period, most)
        if last is None:
            return None
        if screen is not None and spread:
            return Plan(tilt, period, last + 2 * math.pi / period, spread, screen)
        sharpest = target == self.sharpest or screen is not None
        work = _QUICK_WORK if sharpest and gap == 0.0 else _MOST_WORK
        if target == self.sharpest > _SHARPEST:
            # There is no other target to fall back on at first.
            work = _SOON_WORK
        nodes = last * period / (2 * math.pi)
        if nodes * self.product.cost(tilt, last=last, budget=target) > work:
            return None
        # The last node is at most one step short.
        return Plan(tilt, period, last + 2 * math.pi / period, spread)

    def _last(
        self,
        tilt: float,
        spread: float,
        target: float,
        first: float,
        period: float,
        most_nodes: int,
    ) -> float | None:
        """Return about the first node from which the terms are below the target, if it is soon."""
        most = math.floor(math.log(max(1.0, 2 * math.pi * most_nodes / (period * first)), 1.15))

        def enough(steps: int) -> bool:
            return truncation(self.product, tilt, first * 1.15**steps, spread) <= target

        if enough(0):
            return first
        if not enough(most):
            return None
        # Where terms fall like a normal density, 9 of its standard deviations are about enough:
        # from there in steps that double, then by halving.
        likely = 9.0 / math.sqrt(max(self.product.moments(tilt).variance + spread * spread, 1e-300))
        guess = round(math.log(max(1.0, likely / first), 1.15))
        low, high = 0, most
        reach, ahead = 1, min(max(guess, 1), most - 1)
        while high - low > 1:
            if enough(ahead):
                high, ahead = ahead, max(low + 1, ahead - reach)
            else:
                low, ahead = ahead, min(high - 1, ahead + reach)
            if low > 0 and high < most:
                ahead = (low + high) // 2
            else:
                reach *= 2
        return first * 1.15**high

    def log_aliases(
        self, epsilon: float, tilt: float, period: float, *, enough: float = -math.inf
    ) -> float:
        """Return a float not below ln of all aliases: sum of e^(cmB) delta(e + mB), m != 0.

        Those of m < 0 are at most e^(-c|m|B). For m > 0, any c' > c gives
        delta(x) <= kappa(c') e^(K(c') - c' x); beyond the largest loss they vanish
        (proofs/tilted-contour#3). ``enough``: one as small need not be sharpened.
        """
        left = _log_geometric(tilt * period)
        if epsilon + period >= self.product.largest:
            return left
        right = math.inf
        for move in range(_N_MOVES):
            other, level, error = self._rival(tilt, move)
            series = _log_geometric((other - tilt) * period)
            size = abs(level) + abs(series) + 2 * other * abs(epsilon)
            value = level - other * epsilon + series + error + 8 * UNIT_ROUNDOFF * size
            right = min(right, value)
            if right < max(left, enough):
                break
        return log_sum_upper(left, right)

    def _rival(self, tilt: float, number: int) -> tuple[float, float, float]:
        """Return one of several tilts beyond one, ln of kappa e^K there, and its error."""
        rivals = self._rivals.setdefault(tilt, {})
        if number not in rivals:
            product = self.product
            if number < len(_DEVIATIONS):
                # These suit a normal law; where a rare large loss is what the tilt has brought up,
                # the variance says little.
                variance = product.moments(tilt).variance
                move = _DEVIATIONS[number] / math.sqrt(max(variance, 1e-300))
            else:
                move = _RATIOS[number - len(_DEVIATIONS)] * (tilt + 1)
            other = tilt + min(move, 8 * tilt + 8)
            other = min(other, max(product.largest_tilt, 1.001 * tilt))
            moments = product.moments(other)
            level = moments.log_mgf + chernoff_constant(other)
            size = abs(moments.log_mgf) + other + 2
            error = moments.error + 8 * UNIT_ROUNDOFF * size + 4 * LIBM_ERROR * abs(level)
            if len(self._rivals) > _MOST_RIVALS:
                self._rivals = {tilt: rivals}
            rivals[number] = other, level, error
        return rivals[number]

    def _bounds(self, contour: Contour, epsilon: float) -> LogBounds:
        found = contour.log_bounds(epsilon)
        if found.lower == -math.inf:
            return found
        plan = contour.plan
        # The step is a short float, so the period is a little longer than planned.
        aliases = self.log_aliases(epsilon, plan.tilt, plan.period, enough=found.lower - 35.0)
        return LogBounds(log_difference_lower(found.lower, aliases), found.upper)


def _spread(tilt: float, gap: float) -> float:
    """Return the smoothing that costs about a relative gap: s^2 c (c + 1)."""
    return math.sqrt(0.5 * gap / (tilt * (tilt + 1)))


def _log_geometric(x: float) -> float:
    """Return a float not below ln of e^-x + e^-2x + ..., x > 0."""
    if x < 1e-9:
        return math.inf
    return -x - math.log(-math.expm1(-x)) + 4 * LIBM_ERROR * (1 + abs(x))


def _power_of_four(share: float) -> float:
    """Return the power of 4 from 1/1024 to 1/4 next below a share; it is 0 without a lower end."""
    if share < 4.0**-5:
        return 4.0**-5
    return 4.0 ** min(-1, math.floor(math.log(share, 4)))
