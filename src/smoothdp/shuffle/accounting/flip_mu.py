"""The exact mu of Gaussian DP of a total of flipped bits.

mu is the largest Phi^-1(power) - Phi^-1(alpha) over the knots of the curve, for the worst data
of the others, who hold no more ones than zeros (proofs/flipped-bits#11). mu is finite because no
output is more than ((1 - q) / q)^r times as likely; rare totals decide it, so all tails are
logarithms.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from smoothdp.exact.balls.compare import normal_upper_quantile
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.shuffle.accounting.flipped_bits import log_flip_tail
from smoothdp.shuffle.accounting.worst_case import Value, violation

_TOLERANCE = 1e-4
_SHARP = 1e-9
EXACT_UP_TO = 2000
# Where a range of ones is within the limit, one of so many times the width often is.
_GROWTH = 32
_DEVIATIONS = (-6, -4, -2, -1, 0, 1, 2, 4, 6)


def exact_mu(flip: Fraction, n_bits: int, n_others: int) -> tuple[float, float]:
    """Return floats (lower, upper) around mu, the worst over all data of the others.

    To relative 1e-9 up to 2,000 bits of the others and 1e-4 beyond. As for epsilon, mu of one
    data set at a time is found, then a figure just above the largest is certified for all.
    """
    tolerance = _SHARP if n_others <= EXACT_UP_TO else _TOLERANCE
    lower, candidate = mu_at(n_others, 0, flip=flip, n_bits=n_bits, tolerance=tolerance / 4)
    candidate *= 1 + tolerance / 4
    while True:
        value = partial(mu_at, flip=flip, n_bits=n_bits, tolerance=tolerance / 4, enough=candidate)
        suspect = _violation(value, n_others, candidate)
        if suspect is None:
            return lower, candidate
        mu = value(n_others - suspect[0], suspect[0], enough=0.0)
        lower = max(lower, mu.lower)
        candidate = max(candidate, mu.upper) * (1 + tolerance / 4)


def is_mu_at_most(limit: float, *, flip: Fraction, n_bits: int, n_others: int) -> bool:
    """Return whether mu is certainly at most a limit, for all data of the others."""
    if mu_at(n_others, 0, flip=flip, n_bits=n_bits, tolerance=_TOLERANCE).lower > limit:
        return False
    value = partial(mu_at, flip=flip, n_bits=n_bits, enough=limit)
    return _violation(value, n_others, limit) is None


def _violation(value: Value, n_others: int, limit: float) -> tuple[int, bool] | None:
    """Return a number of ones with mu not certainly at most a limit, or None.

    With k ones and with k zeros mu is the same (proofs/flipped-bits#11): up to half are looked at.
    """
    return violation(value, n_others, limit=limit, most_ones=n_others // 2, growth=_GROWTH)


def likely_mu(n_zeros: int, n_ones: int, *, flip: Fraction, n_bits: int) -> float:
    """Return the largest difference of quantiles at few totals: about mu, and not above it.

    At both ends, where one outcome decides, and around the mean of the total.
    """
    curve = CountTests(n_zeros, n_ones, flip, n_bits)
    q, last_total = float(flip), n_zeros + n_ones + n_bits - 1
    mean = (n_zeros + n_bits / 2) * q + (n_ones + n_bits / 2) * (1 - q)
    spread = math.sqrt((last_total + 1) * q * (1 - q))
    near = (round(mean + z * spread) for z in _DEVIATIONS)
    totals = {0, last_total, *(min(last_total, max(0, total)) for total in near)}
    return max(curve.at(total) for total in totals)


def mu_at(
    n_zeros: int,
    n_ones: int,
    *,
    flip: Fraction,
    n_bits: int,
    tolerance: float = _SHARP,
    enough: float = 0.0,
) -> LogBounds:
    """Bound mu for given data of the others, to a relative tolerance.

    Or no closer than to say that it is at most ``enough``, or above, where that is not 0.

    Along the totals t both quantiles grow: those of the ends of a range bound all within it.
    """
    curve = CountTests(n_zeros, n_ones, flip, n_bits)
    last_total = n_zeros + n_ones + n_bits - 1
    at_total, over_range = curve.at, curve.over
    lower = max(at_total(0), at_total(last_total))
    ranges = [(-over_range(0, last_total), 0, last_total)]
    while True:
        upper, first, final = ranges[0]
        is_close = -upper <= max(lower * (1 + tolerance), enough)
        if first == final or is_close or 0.0 < enough < lower:
            return LogBounds(lower, max(lower, -upper))
        heapq.heappop(ranges)
        middle = (first + final) // 2
        for start, stop in ((first, middle), (middle + 1, final)):
            range_bound = over_range(start, stop)
            if start == stop:
                lower = max(lower, at_total(start))
            heapq.heappush(ranges, (-range_bound, start, stop))


@dataclass(frozen=True)
class CountTests:
    """The tests "total <= t", one user holding zeros (power) or ones (alpha)."""

    n_zeros: int
    n_ones: int
    flip: Fraction
    n_bits: int

    def below(self, total: int) -> tuple[LogBounds, LogBounds]:
        """Bound ln of P(total or less) under zeros and under ones."""
        return (
            log_flip_tail(self.n_zeros + self.n_bits, self.n_ones, self.flip, total),
            log_flip_tail(self.n_zeros, self.n_ones + self.n_bits, self.flip, total),
        )

    def above(self, total: int) -> tuple[LogBounds, LogBounds]:
        """Bound ln of P(more than total) under zeros and under ones."""
        ones_left = self.n_zeros + self.n_ones + self.n_bits - total - 1
        return (
            log_flip_tail(self.n_ones, self.n_zeros + self.n_bits, self.flip, ones_left),
            log_flip_tail(self.n_ones + self.n_bits, self.n_zeros, self.flip, ones_left),
        )

    def at(self, total: int) -> float:
        """Return Phi^-1(power) - Phi^-1(alpha) at one total, rounded down."""
        power = _quantile(self.below(total)[0], self.above(total)[0])[0]
        alpha = _quantile(self.below(total)[1], self.above(total)[1])[1]
        return math.nextafter(power - alpha, -math.inf)

    def over(self, first: int, final: int) -> float:
        """Bound Phi^-1(power) - Phi^-1(alpha) from above over the totals from first to final."""
        power = _quantile(self.below(final)[0], self.above(final)[0])[1]
        alpha = _quantile(self.below(first)[1], self.above(first)[1])[0]
        best = math.nextafter(power - alpha, math.inf)
        # P0 / P1 of a tail falls from total to total, so the first ratio is the largest; and
        # the quantile moves by less than the logarithm of the ratio over the hazard.
        if power < 0.0:
            zeros, ones = self.below(first)
            best = min(best, _over_hazard(zeros.upper - ones.lower, -power))
        if alpha > 0.0:
            zeros, ones = self.above(final)
            best = min(best, _over_hazard(ones.upper - zeros.lower, alpha))
        return best


def _over_hazard(log_ratio: float, z: float) -> float:
    """Return log_ratio over the normal hazard at z >= 0, rounded up.

    The hazard rises and is above (3 z + sqrt(z^2 + 8)) / 4 (Sampford 1953).
    """
    return 4.0 * log_ratio / (3.0 * z + math.sqrt(z * z + 8.0)) * (1 + 1e-14)


def _quantile(below: LogBounds, above: LogBounds) -> tuple[float, float]:
    """Bound Phi^-1 of a probability, given with its complement, by the smaller of the two."""
    if below.upper < above.upper:
        return -normal_upper_quantile(below.lower)[1], -normal_upper_quantile(below.upper)[0]
    return normal_upper_quantile(above.upper)[0], normal_upper_quantile(above.lower)[1]
