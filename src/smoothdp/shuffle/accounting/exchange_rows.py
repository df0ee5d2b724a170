"""Which terms of an exchange sum matter, a bound of all the others, and the factors of a row.

For the exchange sum see `exchange_sum`; R is the law of Bin(N, p). Row b holds its terms with
that b. What finds the rows is placement; `log_rows_upper` is a proved bound, and the factors are
one binomial law, tilted to where it is needed.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bounds import log_sum_upper
from smoothdp.exact.probabilities.scalar_pmf import cell_deviance
from smoothdp.types import FloatArray, IntArray

# Chernoff's exponent is computed to a relative 1e-14; it is lowered by more.
_SAFE = 1 - 1e-12
_MOST_PARTS = 4096
_GAP = 42.0
# Far down, blocks of dropped rows must be small unless they lie well below the goal.
_DEEP, _DEEPER = 200.0, 25.0
_FAR = 600.0
_GRID = 200
_RELATIVE_CUT = 2.0**-46


class Placement(NamedTuple):
    """Where the terms are that matter, about.

    Attributes:
        a, b: the place of the largest terms. tilt_a, tilt_b: by how much the log-odds of the
            law that is centred there differ from those of the law itself.
        first, last: the rows outside of which terms are negligible.
        highest: terms with a larger a are negligible.
    """

    a: int
    b: int
    tilt_a: float
    tilt_b: float
    first: int
    last: int
    highest: int


class _Exponent(NamedTuple):
    """Chernoff's exponent along the line where the likelihood ratio is e^epsilon.

    The line is logit(a / N) = logit(b / N) + epsilon; a place on it is given by the tilt u,
    the log-odds of b / N less those of p. ``centre`` is the log-odds of p.
    """

    total: int
    probability: float
    epsilon: float
    centre: float

    def share(self, tilt: float) -> float:
        """Return b / N at a tilt; a / N is that at the tilt plus epsilon."""
        odds = math.exp(-abs(self.centre + tilt))
        return 1 / (1 + odds) if self.centre + tilt > 0 else odds / (1 + odds)

    def density(self, tilt: float) -> float:
        """Return the variance of one trial."""
        odds = math.exp(-abs(self.centre + tilt))
        return max(odds / (1 + odds) ** 2, 1e-300)

    def slope(self, tilt: float) -> float:
        """Return a number with the sign of minus the exponent's slope: 0 at its extremes."""
        up = tilt + self.epsilon
        return self.density(tilt) * tilt + self.density(up) * up

    def at(self, tilt: float) -> float:
        """Return the exponent: a and b at their places or beyond."""
        up = tilt + self.epsilon
        if abs(tilt) > _FAR or up > _FAR:
            return math.inf
        return self.part(tilt) + self.part(max(0.0, up))

    def part(self, tilt: float) -> float:
        """Return the exponent of one of the two counts."""
        if abs(tilt) > _FAR:
            return math.inf
        log_moment = math.log1p(self.probability * math.expm1(tilt))
        return self.total * (tilt * self.share(tilt) - log_moment)

    def extremes(self) -> tuple[list[float], list[float]]:
        """Return the tilts of the least exponents, and of the largest ones between them.

        There is one least exponent unless epsilon exceeds both 1.5 and minus the centre.
        """
        steps = 1 if self.epsilon <= max(1.5, -self.centre) else _GRID
        grid = [-self.epsilon * (1 - k / steps) for k in range(steps + 1)]
        least: list[float] = []
        largest: list[float] = []
        for low, high in pairwise(grid):
            rising = self.slope(low) <= 0 < self.slope(high) or steps == 1
            falling = self.slope(low) > 0 >= self.slope(high)
            if not rising and not falling:
                continue
            for _ in range(60):
                middle = (low + high) / 2
                if (self.slope(middle) > 0) == rising:
                    high = middle
                else:
                    low = middle
            (least if rising else largest).append(low)
        return least, largest


def place_rows(total: int, probability: float, epsilon: float) -> list[Placement]:
    """Return where terms matter, one placement for each place where they are largest.

    Mostly one; two if p is close to 1/2 and epsilon above 1.5. Their rows do not overlap.
    """
    centre = math.log(probability) - math.log1p(-probability)
    line = _Exponent(total, probability, epsilon, centre)
    least, largest = line.extremes()
    walls = [0, *(math.floor(total * line.share(tilt)) for tilt in largest), total]
    best = min(line.at(tilt) for tilt in least)
    placed = []
    for place, tilt in enumerate(least):
        gap = _gap(line, tilt) + best
        if line.at(tilt) > gap:
            continue
        b = min(total - 1, round(total * line.share(tilt)))
        placed.append(
            Placement(
                a=round(total * line.share(tilt + epsilon)),
                b=b,
                tilt_a=tilt + epsilon,
                tilt_b=tilt,
                first=min(b, max(walls[place], _edge(line, tilt, gap, -1))),
                last=max(b, min(walls[place + 1] - 1, _edge(line, tilt, gap, 1))),
                highest=_highest(line, gap),
            )
        )
    return placed


def _highest(line: _Exponent, limit: float) -> int:
    """Return an a from which on the exponent of a alone exceeds a limit."""
    low, high = 0.0, 1e-9
    while line.part(high) < limit and line.share(high) < 1:
        low, high = high, 2 * high
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if line.part(middle) < limit else (low, middle)
    return min(line.total, math.ceil(line.total * line.share(high)) + 1)


def _spread(line: _Exponent, tilt: float) -> float:
    """Return the standard deviation in b of the terms around a tilt."""
    below, above = line.density(tilt), line.density(tilt + line.epsilon)
    return 1 / math.sqrt((1 / below + above / below**2) / line.total)


def _gap(line: _Exponent, tilt: float) -> float:
    """Return by how much larger an exponent may be before its row is left out."""
    below, above = line.density(tilt), line.density(tilt + line.epsilon)
    # The sum is about e^-exponent times a rough factor.
    length = 1 / (-math.expm1(-tilt - line.epsilon) + 1 / math.sqrt(1 + line.total * above))
    factor = math.log1p(_spread(line, tilt)) + 2 * math.log(length)
    factor -= math.log1p(line.total * math.sqrt(above * below))
    factor -= math.log1p(line.total * line.density(0.0))
    return _GAP - min(0.0, factor) + (_DEEPER if line.at(tilt) > _DEEP else 0.0)


def _edge(line: _Exponent, tilt: float, limit: float, direction: int) -> int:
    """Return the row at which the exponent exceeds a limit, in a direction from a tilt."""
    total = line.total
    step = min(1.0, 10 * _spread(line, tilt) / (total * line.density(tilt)) + 1e-9)
    inside, outside = tilt, tilt + direction * step
    while line.at(outside) < limit:
        place = total * line.share(outside)
        if direction < 0 and place < 0.5:
            return 0
        if direction > 0 and place > total - 0.5:
            return total - 1
        step *= 2
        inside, outside = outside, outside + direction * step
    for _ in range(12):
        middle = (inside + outside) / 2
        if line.at(middle) < limit:
            inside = middle
        else:
            outside = middle
    return min(total - 1, max(0, round(total * line.share(outside)) + direction))


def log_rows_upper(
    first: int, last: int, n_trials: int, probability: Fraction, growth: float, goal: float
) -> float:
    """Return a float not below ln of the sum over rows first..last of P(b) P(Y >= t_b - 1).

    t_b is the least a with a (N - b) >= E b (N - a), N = n_trials + 1, E = ``growth``. A block
    of rows has at most P(Y in the block) P(Y >= t - 1), t that of its first row, each by
    Chernoff's bound; blocks above ``goal``, a logarithm, are halved, down to single rows.
    """
    if first > last:
        return -math.inf
    total = n_trials + 1
    hit, whole = probability.numerator, probability.denominator
    mean = n_trials * hit

    def exponent(k: int) -> float:
        above = cell_deviance(k, mean, whole)
        return _SAFE * (above + cell_deviance(n_trials - k, n_trials * (whole - hit), whole))

    def bound(low: int, high: int) -> float:
        spent = 0.0
        if high * whole < mean:
            spent = exponent(high)
        elif low * whole > mean:
            spent = exponent(low)
        shifted = growth * low
        start = math.ceil(total * shifted / (total - low + shifted) * (1 - 1e-12)) - 1
        if start * whole > mean:
            spent += exponent(min(start, n_trials))
        return -spent

    result, waiting = -math.inf, [(first, last)]
    parts = 0
    while waiting:
        low, high = waiting.pop()
        here = bound(low, high)
        parts += 1
        if here <= goal or low == high or parts > _MOST_PARTS:
            result = log_sum_upper(result, here)
        else:
            middle = (low + high) // 2
            waiting += [(low, middle), (middle + 1, high)]
    return result


def tilted_law(
    places: IntArray, centre: int, total: int, odds: Fraction, tilt: float
) -> tuple[FloatArray, float]:
    """Return R(k) / R(centre) e^(c (k - centre)) at consecutive k, and c.

    c is the logarithm of a float over the true odds, about the tilt, so the products of
    ratios have no rounding of the odds in them: three roundings a step.
    """
    tilted = max(float(odds), 1e-300) * math.exp(tilt)
    log_tilt = log_bounds(Fraction(tilted) / odds).upper
    middle = centre - int(places[0])
    k = places.astype(np.float64)
    up, down = k[middle:-1], k[middle:0:-1]
    result = np.ones(places.size)
    result[middle + 1 :] = np.multiply.accumulate((total - up) / (up + 1.0) * tilted)
    falling = np.multiply.accumulate(down / ((total - down + 1.0) * tilted))
    result[:middle] = falling[::-1]
    return result, log_tilt


def log_ratio(k: int, total: int, odds: Fraction) -> float:
    """Return ln of R(k + 1) / R(k), about."""
    return math.log(max(total - k, 0.5) / (k + 1)) + log_bounds(odds).upper


def share_beyond(
    sums: tuple[FloatArray, FloatArray, FloatArray],
    lowest: int,
    last: int,
    total: int,
    odds: Fraction,
    log_tilt: float,
) -> float | None:
    """Bound the share of A and B that lies beyond the window, at every threshold up to last.

    Beyond its end h the law falls at least geometrically, by r: A(h + 1) <= R(h) r / (1 - r).
    The shares are largest at the last threshold. None if they matter.
    """
    laws, first_sums, second_sums = sums
    highest = lowest + laws.size - 1
    if highest == total:
        return 0.0
    ratio = (total - highest) / (highest + 1) * float(odds) * (1 + 1e-15)
    if ratio >= 1.0 or last == highest:
        return None
    beyond = float(laws[-1]) * math.exp(-log_tilt * (highest - last)) * ratio / (1 - ratio)
    first, second = float(first_sums[last - lowest]), float(second_sums[last - lowest])
    share = max(beyond / first, beyond * (highest - last + 1 / (1 - ratio)) / second)
    return share * (1 + 1e-9) if share <= _RELATIVE_CUT else None


def add_up(values: FloatArray) -> float:
    """Sum positive numbers by blocks of 256, and the blocks exactly."""
    return math.fsum(np.add.reduceat(values, np.arange(0, values.size, 256)).tolist())
