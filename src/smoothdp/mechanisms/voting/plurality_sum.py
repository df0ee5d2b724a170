"""The sum over samples that one candidate wins, in which no term is tiny by itself.

The formula of the sum is at the top of `plurality_law`. The limit s rises
step by step, and the truncated laws of the rivals are convolved along with it: the new
count of a rival adds one shifted row per subset of the others, instead of a convolution.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from smoothdp.errors import OutOfReach
from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF, LogBounds
from smoothdp.exact.probabilities.windows import log_binomial_pmf, log_poisson_pmf
from smoothdp.types import FloatArray

MOST_WORK = 2e11
"""Additions for the laws at a database and all its neighbours: about a minute."""

_DEPTH = 60.0  # what is left out is about e^-60 of one, and is bounded
_DEEPEST = 400.0
_ENOUGH = 2.0**-48
_GROWTH = 100.0
_FLUSHED = 1e-200
_LOST = 1e-150  # far more than all that is flushed or underflows
_STEP_OVERHEAD = 3000  # additions that take as long as starting one


class Rival(NamedTuple):
    """A candidate j != c: its votes, whether it wins ties against c, its odds and g_j."""

    size: int
    first: bool
    odds: Fraction
    pull: float


class Centre(NamedTuple):
    """Candidate c and its rivals: odds, s* and kappa of the formula, bounds of s, and K."""

    size: int
    rivals: tuple[Rival, ...]
    odds: Fraction
    votes: int
    drift: float
    least: int
    most: int
    log_constant: LogBounds


def win_sum(centre: Centre, n_draws: int, *, replacing: bool) -> LogBounds:
    """Bound ln of the sum over s and h of the formula.

    Raises:
        OutOfReach: more than `MOST_WORK` additions for a database and its neighbours.
    """
    depth = _DEPTH
    while True:
        total, missing, error = _sum(centre, n_draws, depth, replacing)
        if missing <= _ENOUGH * total or depth > _DEEPEST:
            break
        depth *= 1.5
    upper = math.log(total + missing)
    lower = math.log(total) if total > 0 else -math.inf
    error += 2 * LIBM_ERROR * abs(upper)
    return LogBounds(lower - error, upper + error)


def _sum(centre: Centre, n_draws: int, depth: float, replacing: bool) -> tuple[float, float, float]:
    """Return the sum, a bound of what is left out, and its relative error.

    Left out are: by Bernstein 2 e^-depth of every law, e^-depth of its thin ends, e^-depth
    where the drift or a pull makes it so; each times at most the growth of the drift.
    """
    own, rivals, drift = centre.odds, centre.rivals, centre.drift
    reach = depth / abs(drift) if drift else math.inf
    low = centre.least if drift <= 0 else max(centre.least, math.ceil(centre.votes - reach))
    high = centre.most if drift >= 0 else min(centre.most, math.floor(centre.votes + reach))
    wins = _table(centre.size, own, low, high, depth, replacing)
    ends = (centre.least - centre.votes, centre.most - centre.votes)
    growth = math.exp(max(0.0, drift * ends[0], drift * ends[1]))
    missing = 4 * (len(rivals) + 1) * growth * math.exp(-depth) * 1.01 + _LOST
    n_steps = wins.values.size
    if n_steps == 0:
        return 0.0, missing, 0.0
    start, stop = wins.low, wins.low + n_steps
    tables = []
    for rival in rivals:
        least = math.floor(start - depth / rival.pull) - 1 if rival.pull else 0
        most = min(stop - 1 - rival.first, n_draws if replacing else rival.size)
        tables.append(_table(rival.size, rival.odds, max(0, least), most, depth, replacing))
    middle = (len(rivals) + 1) // 2
    length = sum(table.values.size for table in tables)
    _check_reach(len(rivals) + 1, middle, n_steps, length)
    halves = (
        _Half(list(rivals[:middle]), tables[:middle], start),
        _Half(list(rivals[middle:]), tables[middle:], start),
    )
    pull = sum(rival.pull for rival in rivals)
    anchor, moves, terms = start, 0, []
    for s in range(start, stop):
        if s > start:
            if pull * (s - anchor) > _GROWTH:
                anchor, moves = s, moves + 1
                for half in halves:
                    half.move_anchor(s)
            for half in halves:
                half.advance(s)
        weight = math.exp(drift * (s - centre.votes) - pull * (s - anchor))
        terms.append(float(wins.values[s - start]) * weight * _at(*halves, n_draws - s))
    # Roundings on the way of one product: convolutions, one addition per rival and step in
    # every subset that holds it, the last product; exponentials and their arguments.
    units = 2.0 * length + middle * (middle + 1) * n_steps + 16.0
    units += (moves + 4) * (20 + _GROWTH + pull) + 4 * pull * (n_steps + depth)
    units += 4 * abs(drift) * max(abs(start - centre.votes), abs(stop - centre.votes))
    error = wins.error + sum(table.error for table in tables) + 1.1 * units * UNIT_ROUNDOFF
    return math.fsum(terms), missing, error


def _check_reach(n_candidates: int, middle: int, n_steps: int, length: int) -> None:
    rows = middle * 2**middle
    laws = n_candidates * (n_candidates * (n_candidates - 1) + 1)
    work = float(laws) * n_steps * rows * (length + _STEP_OVERHEAD)
    if work > MOST_WORK:
        raise OutOfReach(
            expected=(
                f"at most {MOST_WORK:.0e} additions for the plurality winner among "
                f"{n_candidates} candidates"
            ),
            got=f"{work:.1e}",
            remedy=(
                "Merge candidates (two are computed for any number of votes) or draw fewer "
                "votes; delta is at most worst_case_delta()"
            ),
        )


def _at(first: _Half, second: _Half, total: int) -> float:
    """Return the weight of the rivals' counts that add up to total."""
    a, b = first.sums[-1], second.sums[-1]
    remaining = total - first.lows[-1] - second.lows[-1]
    low, high = max(0, remaining - b.size + 1), min(a.size - 1, remaining)
    if low > high:
        return 0.0
    return float(a[low : high + 1] @ b[remaining - high : remaining - low + 1][::-1])


class _Table(NamedTuple):
    """Probabilities of ``low``, low + 1, ... and a relative bound of their errors."""

    low: int
    values: FloatArray
    error: float


def _table(
    count: int, odds: Fraction, low: int, high: int, depth: float, replacing: bool
) -> _Table:
    """Return the law of a candidate's count on [low, high]; e^-depth thrice is left out.

    By Bernstein's inequality P(|X - mean| >= w) <= 2 e^-depth for
    w = depth/3 + sqrt(depth^2/9 + 2 depth variance).
    """
    mean = float(count * odds if replacing else count * odds / (1 + odds))
    variance = mean if replacing else mean / (1 + float(odds))
    width = depth / 3 + math.sqrt(depth * depth / 9 + 2 * depth * variance) + 1
    low, high = max(low, math.floor(mean - width)), min(high, math.ceil(mean + width))
    if low > high:
        return _Table(low, np.zeros(0), 0.0)
    # One count more on both sides: a lone 0 beside a long fraction is not taken below.
    k = np.arange(low - 1, high + 2)
    if replacing:
        logs, errors = log_poisson_pmf(k, count * odds)
    else:
        logs, errors = log_binomial_pmf(k, count, odds / (1 + odds))
    logs, errors = logs[1:-1], errors[1:-1]
    likely = np.flatnonzero(logs >= -depth - math.log(k.size))
    if likely.size == 0:
        return _Table(low, np.zeros(0), 0.0)
    window = slice(int(likely[0]), int(likely[-1]) + 1)
    error = float(errors[window].max()) + LIBM_ERROR + UNIT_ROUNDOFF
    return _Table(low + window.start, np.exp(logs[window]), error)


class _Half:
    """The truncated laws of some rivals, convolved over every subset of them.

    ``sums[mask]`` holds, for every total of the rivals in mask, the weight of their counts
    up to the present limits, each times e^(pull (count - anchor)).
    """

    def __init__(self, rivals: list[Rival], tables: list[_Table], start: int) -> None:
        self.rivals, self.tables, self.anchor = rivals, tables, start
        self.lows, self.sums = [0], [np.ones(1)]
        for j, (rival, table) in enumerate(zip(rivals, tables, strict=True)):
            k = table.low + np.arange(table.values.size)
            weights = np.where(k <= start - rival.first, table.values, 0.0)
            # Beyond the present limit the exponential may be large, and is not used.
            weights *= np.exp(np.minimum(0.0, rival.pull * (k - start)))
            for mask in range(1 << j):
                self.lows.append(self.lows[mask] + table.low)
                size = self.sums[mask].size + max(0, table.values.size - 1)
                sums = np.convolve(self.sums[mask], weights) if weights.size else np.zeros(size)
                self.sums.append(sums)

    def advance(self, s: int) -> None:
        """Raise the limits to s."""
        for j, (rival, table) in enumerate(zip(self.rivals, self.tables, strict=True)):
            row = s - rival.first - table.low
            if 0 <= row < table.values.size:
                weight = float(table.values[row])
                weight *= math.exp(rival.pull * (s - rival.first - self.anchor))
                for mask in range(len(self.sums)):
                    if mask >> j & 1:
                        shorter = self.sums[mask ^ 1 << j]
                        self.sums[mask][row : row + shorter.size] += weight * shorter

    def move_anchor(self, s: int) -> None:
        """Let the exponentials start at s, and drop what has become negligible."""
        for mask in range(1, len(self.sums)):
            pull = sum(r.pull for j, r in enumerate(self.rivals) if mask >> j & 1)
            if pull:
                self.sums[mask] *= math.exp(-pull * (s - self.anchor))
                self.sums[mask][self.sums[mask] < _FLUSHED] = 0.0
        self.anchor = s
