"""Renyi divergences of a law from its shifted and dilated copy, enclosed at every order."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property

import numpy as np

from smoothdp.errors import OutOfReach
from smoothdp.exact.balls.balls import ball, round_down, round_up
from smoothdp.exact.balls.gauss_legendre import IMAGINARY_REACH, REAL_REACH, log_error_factor
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.balls.work import spend
from smoothdp.exact.logspace.log_sums import log_total
from smoothdp.noise.divergences.excess import RELATIVE_ERROR, log_psi, slope_bound
from smoothdp.noise.divergences.offset import Offset
from smoothdp.noise.divergences.panel_ends import Cell, Tail, end_cell, gap_cell
from smoothdp.noise.divergences.panels import BITS, Panel
from smoothdp.noise.divergences.regions import Left, Middle, Region, regions
from smoothdp.types import BoolArray, FloatArray

_TOLERANCE = 1e-12
_MOST_PANELS = 3_000
# What one order costs for each panel, in the units of `smoothdp.exact.balls.work`.
_PER_PANEL = 8
# Losses smaller than the root of this are rounding.
_LEAST_EXCESS = -2 * BITS * math.log(2)
_FIRST_HALF = 1.0
_FIRST_DEPTH = 14.0


class LossIntegral:
    """Integrals of p psi_b(L), p the density of Z and L its log-ratio to e^t Z + s.

    The line is cut into panels, whose nodes are computed once and serve every order, and a
    few cells and tails. Panels are halved and tails moved outwards as an order asks for it.
    Must be used at the working precision of its balls. Errors of the rule are proved
    (proofs/divergence-enclosures#3, #4); what is added for rounding is checked, not proved (#8).
    """

    def __init__(self, offset: Offset) -> None:
        self.region_panels = [_RegionPanels(offset, region) for region in regions(offset.shift)]
        self.weight = 2.0 if len(self.region_panels) == 1 else 1.0
        self._known: _Arrays | None = None

    def log_excess(self, b: float) -> tuple[float, float]:
        """Bound ln of the integral of p psi_b(L), b >= 0."""
        for _ in range(200):
            panels = [panel for group in self.region_panels for panel in group.panels]
            table = _Table(self._arrays(panels), b)
            spend(_PER_PANEL * len(panels))
            estimate = table.estimate()
            target = max(estimate, _LEAST_EXCESS) + math.log(_TOLERANCE)
            moved = [group.extend(b, target) for group in self.region_panels]
            if any(moved):
                continue
            errors = table.log_errors()
            if log_total(errors) <= target:
                return self._assemble(table, errors, b)
            if len(panels) > _MOST_PANELS:
                break
            wide = _largest(errors, target - math.log(2))
            chosen = {id(panel) for panel, is_wide in zip(panels, wide, strict=True) if is_wide}
            for group in self.region_panels:
                group.halve(chosen)
        raise OutOfReach(
            expected=f"an integral of at most {_MOST_PANELS} panels",
            got=f"order={1 + b:g} and more panels",
            remedy="Lower the order, or use max_divergence",
        )

    def _arrays(self, panels: list[Panel]) -> _Arrays:
        """Return the panels as arrays, which serve every order until a panel is added."""
        if self._known is None or self._known.panels != panels:
            self._known = _Arrays(panels)
        return self._known

    def _assemble(self, table: _Table, errors: FloatArray, b: float) -> tuple[float, float]:
        lower, upper = table.log_sums()
        outside = [bound for group in self.region_panels for bound in group.log_excess(b)]
        error = log_total(errors)
        high = log_total(np.array([upper, error, *(r[1] for r in outside)]))
        low_sum = log_total(np.array([lower, *(r[0] for r in outside)])) - 1e-15 * len(outside)
        kept = -math.expm1(error - low_sum)
        low = low_sum + math.log(kept) if kept > 0 else -math.inf
        slack = 1e-14 + 4e-16 * (abs(high) + (abs(low) if low > -math.inf else 0.0))
        log_weight = math.log(self.weight)
        return low + log_weight - slack, high + log_weight + slack


class _RegionPanels:
    """One region of the line: its panels, cells and tail."""

    def __init__(self, offset: Offset, region: Region) -> None:
        self.offset, self.region = offset, region
        log_width = -math.log(2) - float(offset.law._ball_log_peak())
        if region.has_tail:
            self.low, self.high = log_width - _FIRST_DEPTH, log_width + 2.0
        else:
            reach = max(1.0, _FIRST_DEPTH + float(offset.shift.log()) - log_width)
            self.low, self.high = -reach, reach
        gaps = kink_gaps(offset, region)
        for low, high in gaps:
            self.low, self.high = min(self.low, low - 1), max(self.high, high + 1)
        self.gaps = [gap_cell(offset, region, *gap) for gap in gaps]
        edges = [self.low, *(edge for gap in gaps for edge in gap), self.high]
        self.panels: list[Panel] = []
        for start, stop in zip(edges[::2], edges[1::2], strict=True):
            self._cover(start, stop)
        self._ends()

    def _cover(self, start: float, stop: float) -> None:
        count = max(1, math.ceil((stop - start) / (2 * _FIRST_HALF)))
        edges = np.linspace(start, stop, count + 1)
        for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            self._add(low, high)

    def _add(self, low: float, high: float) -> None:
        """Cover [low, high] exactly: a panel's ends are floats, its centre a short sum."""
        center, half = (Fraction(low) + Fraction(high)) / 2, (Fraction(high) - Fraction(low)) / 2
        self.panels.append(Panel(self.offset, self.region, center, half))

    def _ends(self) -> None:
        self.first = end_cell(self.offset, self.region, self.low, upper=False)
        self.last: Cell | Tail = (
            Tail(self.offset, self.region, self.high)
            if self.region.has_tail
            else end_cell(self.offset, self.region, self.high, upper=True)
        )

    def extend(self, b: float, target: float) -> bool:
        """Move the ends outwards where they are known less well than the target asks."""
        low, high = self.low, self.high
        if not _log_gap(self.first.log_excess(b)) <= target:
            low -= 4.0
        if not _log_gap(self.last.log_excess(b)) <= target:
            # Steps grow, for tails that reach far.
            high += max(1.0, (high - low) / 16) if self.region.has_tail else 4.0
        if (low, high) == (self.low, self.high):
            return False
        if max(abs(low), abs(high)) > 1e5:
            raise OutOfReach(
                expected="a tail that can be integrated",
                got=f"ln|x| beyond {high:g}",
                remedy="Use a law with a lighter tail, or a lower order",
            )
        if low < self.low:
            self._add(low, self.low)
        if high > self.high:
            self._add(self.high, high)
        self.low, self.high = low, high
        self._ends()
        return True

    def halve(self, wide: set[int]) -> None:
        kept = [panel for panel in self.panels if id(panel) not in wide]
        for panel in self.panels:
            if id(panel) in wide:
                kept.extend(panel.halves())
        self.panels = kept

    def log_excess(self, b: float) -> list[tuple[float, float]]:
        return [cell.log_excess(b) for cell in (self.first, self.last, *self.gaps)]


class _Arrays:
    """Panels as arrays, whatever the order."""

    def __init__(self, panels: list[Panel]) -> None:
        self.panels = panels
        rows = np.array([panel.numbers() for panel in panels], dtype=np.float64)
        self.log_weight, self.loss, self.half, self.rounding, self.loss_size = rows[:, :5].T
        self.weight_slack, self.loss_slack = rows[:, 5:7].T
        self.weight_slope, self.loss_slope = rows[:, 7:10].T, rows[:, 10:13].T
        self.analytic = np.array([panel.analytic for panel in panels])

    @cached_property
    def nodes(self) -> tuple[FloatArray, ...]:
        """The nodes of all panels, row by row as in `Panel.nodes`."""
        known = [panel.nodes for panel in self.panels]
        return tuple(np.concatenate([nodes[i] for nodes in known]) for i in range(4))


class _Table:
    """Panels as arrays, for one order."""

    def __init__(self, arrays: _Arrays, b: float) -> None:
        self.arrays, self.b = arrays, b

    def estimate(self) -> float:
        """Return roughly ln of the sum, by the centres of the panels."""
        all_ = self.arrays
        return log_total(all_.log_weight + log_psi(all_.loss, self.b) + np.log(2 * all_.half))

    def log_errors(self) -> FloatArray:
        """Return bounds of ln of the quadrature error of each panel.

        On the ellipse |psi_b(L)| is at most l (1 + e^(b Re L)) + e^-Re L + 1, and at most
        l^2 / 2 (b e^(b l) + e^l) for |L| <= l.
        """
        b, bound = self.b, self._exponent
        size = self._loss_size()
        plain = bound(0.0)
        with np.errstate(divide="ignore"):
            shares = [np.log(size) + np.logaddexp(plain, bound(b)), bound(-1.0), plain]
        total = np.logaddexp.reduce(shares)
        with np.errstate(over="ignore", divide="ignore"):
            grown = np.logaddexp(math.log(b) + b * size if b > 0 else -math.inf, size)
            near = plain + 2 * np.log(size) - math.log(2) + grown
        errors = np.minimum(total, near) + np.log(self.arrays.half) + log_error_factor() + 1e-9
        return np.where(self.arrays.analytic & np.isfinite(errors), errors, math.inf)

    def _exponent(self, k: float) -> FloatArray:
        """Return a bound of ln of the weight plus k Re L on the ellipses."""
        p = self.arrays
        (w_low, w_high, w_imaginary), (s_low, s_high, s_imaginary) = p.weight_slope, p.loss_slope
        low, high = np.minimum(k * s_low, k * s_high), np.maximum(k * s_low, k * s_high)
        real = np.maximum(np.abs(w_low + low), np.abs(w_high + high))
        reach = REAL_REACH * real + IMAGINARY_REACH * (w_imaginary + abs(k) * s_imaginary)
        slack = p.weight_slack + abs(k) * (p.loss_slack + p.rounding) + p.rounding
        return np.where(p.analytic, p.log_weight + k * p.loss + p.half * reach + slack, math.inf)

    def _loss_size(self) -> FloatArray:
        p = self.arrays
        low, high, imaginary = p.loss_slope
        # Where the slope stands for two real numbers (`_continuation_error`), the real and
        # the imaginary part of the loss each move by at most this.
        size = np.hypot(np.maximum(np.abs(low), np.abs(high)), imaginary) * math.sqrt(2)
        reach = p.half * math.hypot(REAL_REACH, IMAGINARY_REACH)
        near = (np.abs(p.loss) + p.rounding + reach * size + p.loss_slack) * (1 + 1e-12)
        return np.where(p.analytic, np.minimum(near, p.loss_size), math.inf)

    def log_sums(self) -> tuple[float, float]:
        """Bound ln of the sum of the rule over all panels."""
        weight, loss, weight_error, loss_error = self.arrays.nodes
        terms = weight + log_psi(loss, self.b)
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.where(loss == 0, 0.0, loss_error / np.abs(loss))
        error = weight_error + relative * slope_bound(loss, self.b) * 2 + RELATIVE_ERROR
        error += 4e-16 * np.where(np.isfinite(terms), np.abs(terms), 0.0)
        # A loss that may be 0 counts up to its error, and for nothing from below.
        blurred = relative > 0.25
        most = log_psi(np.abs(loss) + loss_error, self.b) + 1e-12
        most = np.maximum(most, log_psi(-np.abs(loss) - loss_error, self.b) + 1e-12)
        upper = np.where(blurred, weight + most + weight_error, terms + error)
        lower = np.where(blurred, -math.inf, terms - error)
        rounding = 2.0**-52 * terms.size
        return log_total(lower) - rounding, log_total(upper) + rounding


def _largest(errors: FloatArray, target: float) -> BoolArray:
    """Mark as few errors as it takes for the others to sum to at most e^target."""
    order = np.argsort(errors)
    with np.errstate(over="ignore"):
        sums = np.logaddexp.accumulate(errors[order])
    marks = np.ones(errors.size, dtype=np.bool_)
    marks[order[: int(np.searchsorted(sums, target))]] = False
    return marks


def _log_gap(bounds: tuple[float, float]) -> float:
    low, high = bounds
    if low == -math.inf or math.isinf(high):
        return high
    return high + math.log(max(-math.expm1(low - high), 1e-300))


def kink_gaps(offset: Offset, region: Region) -> list[tuple[float, float]]:
    """Return disjoint short intervals of a region's coordinate that contain its kinks, sorted."""
    gaps = []
    for kink in offset.law._kinks():
        own = ball(kink)
        copied = own * offset.dilation.exp()
        for x in (own, -own, offset.shift + copied, offset.shift - copied):
            if _inside(region, x):
                gaps.append(_around(region.coordinate(x)))
    gaps.sort()
    merged: list[tuple[float, float]] = []
    for low, high in gaps:
        if merged and low <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    return merged


def _inside(region: Region, x: Ball) -> bool:
    """Return whether a point belongs to a region; one that may be its end does not."""
    if isinstance(region, Left):
        return bool(x < 0)
    if isinstance(region, Middle):
        return bool(x > 0) and bool(x < region.shift)
    return bool(x > region.shift)


def _around(u: Ball) -> tuple[float, float]:
    return round_down(u), math.nextafter(round_up(u), math.inf)
