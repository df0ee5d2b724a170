"""How far apart Y and Y + 1 are, for a binomial Y: one tail with a linear weight.

The shift sum is the sum over y of (P(y) - E P(y - 1))_+, P the law of Bin(n, p), E = e^epsilon.
With N = n + 1, R the law of Bin(N, p) and q = 1 - p, P(y) = R(y) (N - y) / (N q) and
P(y - 1) = R(y) y / (N p), so the sum is

    (p + E q) / (N p q) sum over y < m of R(y) (m - y),  m = N p / (p + E q):

positive terms only. The other direction, P(y - 1) against P(y), is the same with p and q
exchanged.
"""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.exact.balls.balls import ball, enclose, precision, round_down
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.logspace.ratio_sum import expected_length, log_ratio_sum
from smoothdp.exact.parameters.numbers import LogRatio, Real
from smoothdp.exact.probabilities.points import binomial_point
from smoothdp.types import FloatArray


def log_shift_sum(n_trials: int, probability: Fraction, epsilon: Real) -> LogBounds:
    """Bound ln of the shift sum, for n_trials >= 1, 0 < probability < 1, epsilon >= 0.

    >>> bounds = log_shift_sum(1, Fraction(1, 2), Fraction(0))
    >>> bounds.lower <= math.log(0.5) <= bounds.upper
    True
    """
    total, p, q = n_trials + 1, probability, 1 - probability
    first, part = _threshold(total, p, epsilon)
    if first == 0:
        # Only y = 0 is left, whatever epsilon is.
        with precision(192):
            return enclose(n_trials * ball(LogRatio(q)))
    odds = float(q / p)

    def ratio(d: FloatArray) -> FloatArray:
        return (first - d) / (total - first + 1.0 + d) * odds

    def weight(d: FloatArray) -> FloatArray:
        return part + d

    log_ratio = math.log(first / (total - first + 1)) + math.log(q) - math.log(p)
    curvature = 1 / (first + 1) + 1 / (total - first + 1)
    tail = log_ratio_sum(
        ratio,
        weight,
        n_terms=first + 1,
        length=expected_length(min(0.0, log_ratio), curvature),
        ratio_roundings=4,
        weight_roundings=2,
    )
    with precision(192):
        growth = ball(epsilon).exp()
        scale = enclose(((ball(p) + growth * ball(q)) / (total * ball(p) * ball(q))).log())
    anchor = binomial_point(first, total, p.numerator, q.numerator)
    return anchor.shifted(tail).shifted(scale)


def _threshold(total: int, p: Fraction, epsilon: Real) -> tuple[int, float]:
    """Return the largest y below m = N p / (p + E q), and m - y, to one rounding."""
    q = 1 - p
    if isinstance(epsilon, LogRatio) or epsilon == 0:
        growth = epsilon.ratio if isinstance(epsilon, LogRatio) else Fraction(1)
        exact = total * p / (p + growth * q)
        first = math.ceil(exact) - 1
        return first, float(exact - first)
    bits = 192
    while True:
        with precision(bits):
            place = total * ball(p) / (ball(p) + ball(epsilon).exp() * ball(q))
            # e^epsilon is irrational for a rational epsilon other than 0, and so is m.
            whole = place.floor().unique_fmpz()
            if whole is not None:
                part = place - ball(int(whole))
                if part > 0 and part.rel_accuracy_bits() > 60:
                    return int(whole), round_down(part)
        bits *= 2
