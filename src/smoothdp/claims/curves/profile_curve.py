"""From a privacy profile to the trade-off function that it proves."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Protocol

import numpy as np

from smoothdp.claims.curves.atoms import Atoms, log_of
from smoothdp.claims.curves.tradeoff import TradeoffFunction
from smoothdp.exact.logspace.bisection import smallest_true
from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF
from smoothdp.exact.parameters.numbers import Parameter

# e^700 is still a float.
_LARGEST_EPSILON = 700.0
_LEAST_DELTA = "1e-15"
_FLAT = 1e-9

Line = tuple[float, float]
"""Slope, and height at alpha = 0."""


class ReadsBothWays(Protocol):
    """What a curve is drawn from: delta of epsilon and epsilon of delta, never understated."""

    def delta(self, epsilon: Parameter, /) -> float:
        """Return delta(epsilon)."""
        ...

    def log_delta(self, epsilon: Parameter, /) -> float:
        """Return ln delta(epsilon)."""
        ...

    def epsilon(self, delta: Parameter, /) -> float:
        """Return the epsilon that belongs to a delta; inf if none does."""
        ...


def curve_of_profile(profile: ReadsBothWays, *, n_lines: int = 200) -> TradeoffFunction:
    """Return the curve above which every mechanism with this profile lies.

    power(alpha) <= delta(e) + e^e alpha for every e >= 0, and the same with (alpha, power)
    replaced by (1 - power, 1 - alpha), since the profile covers both directions (Dong, Roth,
    Su 2022, Proposition 2.12). The first set of lines counts up to the antidiagonal; beyond
    it the curve is its own mirror image, so both of its ends are kept on their small side.
    """
    last = profile.epsilon(0)
    if math.isinf(last):
        last = profile.epsilon(_LEAST_DELTA)
    if math.isinf(last):
        # Delta never falls that far: the last line is where it stops falling.
        floor = profile.log_delta(_LARGEST_EPSILON) + _FLAT
        last = smallest_true(lambda e: profile.log_delta(e) <= floor, high=_LARGEST_EPSILON)
    last = min(last, _LARGEST_EPSILON)
    lines = []
    for step in range(n_lines - 1, -1, -1) if last > 0 else [0]:
        epsilon = last * step / (n_lines - 1)
        # exp within 4 ulp; the profile read the shortest decimal of epsilon.
        growth = math.exp(epsilon) * (1 + 2 * LIBM_ERROR + epsilon * 2 * UNIT_ROUNDOFF)
        lines.append((growth if epsilon else 1.0, profile.delta(epsilon)))
    if lines[0][1] >= 1.0:
        return TradeoffFunction([0.0], [1.0])
    knots = _steep_knots(_lower_envelope(lines))
    log_runs, first_error = log_of(np.diff([x for x, _ in knots], prepend=0.0))
    log_rises, second_error = log_of(np.diff([y for _, y in knots], prepend=0.0))
    return TradeoffFunction.from_atoms(
        Atoms(
            np.concatenate([log_rises, log_runs[::-1]]),
            np.concatenate([log_runs, log_rises[::-1]]),
            max(first_error, second_error),
        )
    )


def _lower_envelope(lines: list[Line]) -> list[Line]:
    """Return the lines that are least somewhere, steepest first (leaving one out is safe)."""
    kept: list[Line] = []
    for line in lines:
        while kept and line[1] <= kept[-1][1]:
            kept.pop()
        while len(kept) >= 2 and _meet(kept[-2], line) <= _meet(kept[-2], kept[-1]):
            kept.pop()
        if not kept or line[0] < kept[-1][0]:
            kept.append(line)
    return kept


def _steep_knots(lines: list[Line]) -> list[tuple[float, float]]:
    """Return the knots of the least of the lines, from alpha = 0 to the antidiagonal.

    Every knot is put above both of its lines, wherever rounding has put their meeting
    point; then so is every segment above the line it follows.
    """
    knots = [(0.0, lines[0][1])]
    slope, height = lines[0]
    for left, right in pairwise(lines):
        alpha = _meet(left, right)
        power = max(line[1] + line[0] * alpha for line in (left, right)) * (1 + 4 * UNIT_ROUNDOFF)
        if alpha + power >= 1:
            break
        if alpha > knots[-1][0]:
            knots.append((alpha, max(power, knots[-1][1])))
        slope, height = right
    end = (1 - height) / (1 + slope) * (1 - 8 * UNIT_ROUNDOFF)
    if end > knots[-1][0] and 1 - end > knots[-1][1]:
        return [*knots, (end, 1 - end)]
    return knots


def _meet(steep: Line, flat: Line) -> float:
    """Return where two lines cross, about."""
    return (flat[1] - steep[1]) / (steep[0] - flat[0])
