"""The hockey-stick divergence of a law from its shifted and dilated copy, enclosed.

It is P(A) - e^epsilon Q(A) for A the set of losses above epsilon: a union of intervals. Their
ends are located in balls, their probabilities come from the law's tail, at a precision that
outlasts the cancellation (proofs/divergence-enclosures#7).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball, precision, round_down, round_up
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Real
from smoothdp.noise.divergences.loss_cells import CellFactory, LossCell
from smoothdp.noise.divergences.offset import Offset

FIRST_BITS, MOST_BITS = 96, 1 << 12
_MOST_SORTING_BITS = 400
_RELATIVE = 2.0**-44
_MOST_CELLS = 20_000

OffsetMaker = Callable[[], Offset]


def log_hockey_stick(make: OffsetMaker, epsilon: Real) -> LogBounds:
    """Bound ln of the divergence of p from q at epsilon >= 0.

    ``make`` builds the offset at the present precision.
    """
    bits = FIRST_BITS
    while True:
        with precision(bits):
            factory = CellFactory(make(), bits)
            cells, unsure = _sort_cells(factory, ball(epsilon))
            excesses = (_excess(factory, cell, ball(epsilon)) for cell in unsure)
            doubt = sum(excesses, special.number(0.0))
        inside = _joined(cells)
        if not inside and not unsure:
            return LogBounds(-math.inf, -math.inf)
        total = _sum(make, inside, epsilon, doubt)
        bits *= 2
        if doubt < _RELATIVE * total or bits > _MOST_SORTING_BITS:
            with precision(bits):
                return _log_bounds(total, total + doubt)


def _sum(make: OffsetMaker, inside: list[LossCell], epsilon: Real, doubt: Ball) -> Ball:
    """Return the integral of p - e^epsilon q over cells, as sharp as the doubt about the rest."""
    bits = FIRST_BITS
    while True:
        with precision(bits):
            total = special.number(0.0)
            factory = CellFactory(make(), bits)
            growth = ball(epsilon).exp()
            for cell in inside:
                p, q = factory.masses(cell)
                total += p - growth * q
            enough = special.is_sharp(total) or special.radius(total) < _RELATIVE * doubt
        bits *= 2
        if not inside or enough or bits > MOST_BITS:
            return total


def _log_bounds(low: Ball, high: Ball) -> LogBounds:
    lower = round_down(special.lower(low).log()) if low > 0 else -math.inf
    top = special.upper(high)
    if top <= 0:
        return LogBounds(lower, -math.inf)
    # Neither is true of nan, of which nothing is known.
    return LogBounds(lower, min(0.0, round_up(top.log())) if top > 0 else 0.0)


def _sort_cells(factory: CellFactory, epsilon: Ball) -> tuple[list[LossCell], list[LossCell]]:
    """Return cells that the loss is above epsilon in, and tiny ones where it is not known."""
    inside: list[LossCell] = []
    unsure: list[LossCell] = []
    waiting = factory.first()
    while waiting:
        cell = waiting.pop()
        if cell.upper <= epsilon:
            continue
        if cell.lower >= epsilon:
            inside.append(cell)
            continue
        smaller = _at_root(factory, cell, epsilon) or factory.cut(cell)
        if smaller is None or len(inside) + len(unsure) + len(waiting) > _MOST_CELLS:
            unsure.append(cell)
        else:
            waiting += smaller
    return inside, unsure


def _joined(cells: list[LossCell]) -> list[LossCell]:
    """Return the same set as few cells; their bounds of the loss mean nothing."""

    def order(cell: LossCell) -> tuple[str, float]:
        return type(cell.region).__name__, -math.inf if cell.low is None else cell.low

    joined: list[LossCell] = []
    for cell in sorted(cells, key=order):
        last = joined[-1] if joined else None
        if last and last.region is cell.region and last.high is not None and last.high == cell.low:
            joined[-1] = LossCell(cell.region, last.low, cell.high, last.lower, last.upper)
        else:
            joined.append(cell)
    return joined


def _at_root(factory: CellFactory, cell: LossCell, epsilon: Ball) -> list[LossCell] | None:
    """Cut a cell in which the loss is monotone around the one coordinate where it is epsilon."""
    low, high, slope, middle = cell.low, cell.high, cell.slope, cell.middle
    if low is None or high is None or slope is None or middle is None:
        return None
    if not (slope > 0 or slope < 0):
        return None
    center = (special.number(low) + special.number(high)) / 2
    root = center - (middle - epsilon) / slope
    start, stop = max(low, round_down(root)), min(high, round_up(root))
    # Without a root in the cell, one side of it is empty.
    start, stop = min(start, high), max(stop, low)
    if stop - start > (high - low) / 4:
        return None
    cells = []
    if start > low:
        cells.append(_decided(cell, low, start, above=bool(slope < 0), epsilon=epsilon))
    if stop < high:
        cells.append(_decided(cell, stop, high, above=bool(slope > 0), epsilon=epsilon))
    if stop > start:
        cells.append(factory.cell(cell.region, start, stop))
    return cells


def _decided(cell: LossCell, low: float, high: float, *, above: bool, epsilon: Ball) -> LossCell:
    ends = (epsilon, cell.upper) if above else (cell.lower, epsilon)
    return LossCell(cell.region, low, high, *ends)


def _excess(factory: CellFactory, cell: LossCell, epsilon: Ball) -> Ball:
    """Return an upper bound of the integral of (p - e^epsilon q)_+ over a cell."""
    p, _ = factory.masses(cell)
    share = special.minimum(-(epsilon - cell.upper).expm1(), special.number(1.0))
    return special.upper(special.upper(p) * share)
