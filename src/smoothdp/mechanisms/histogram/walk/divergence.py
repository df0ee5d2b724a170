"""D(A, B) by the walk: the entry points, one for each way of sampling."""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.errors import OutOfReach
from smoothdp.exact.balls.balls import ball, enclose, precision
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.logspace.bounds import LOG_ZERO, UNIT_ROUNDOFF, LogBounds, log_sum_upper
from smoothdp.exact.parameters.numbers import LogRatio, Real
from smoothdp.exact.probabilities.points import binomial_point, hypergeometric_point
from smoothdp.mechanisms.histogram.walk.boundary import (
    ONE,
    Boundary,
    drawn_boundary,
    kept_boundary,
    lost_boundary,
    lost_is_flat,
    mirrored_boundary,
)
from smoothdp.mechanisms.histogram.walk.drawn_rows import DrawnRows
from smoothdp.mechanisms.histogram.walk.hypergeometric_rows import HypergeometricRows
from smoothdp.mechanisms.histogram.walk.independent_rows import IndependentRows
from smoothdp.mechanisms.histogram.walk.mirrored_rows import MirroredRows
from smoothdp.mechanisms.histogram.walk.remainder import Edge, log_above, log_below
from smoothdp.mechanisms.histogram.walk.row_law import RowLaw
from smoothdp.mechanisms.histogram.walk.start import state_at
from smoothdp.mechanisms.histogram.walk.walked import walk
from smoothdp.mechanisms.histogram.walk.window import (
    highest_row,
    log_height,
    peak_row,
    rows_within,
)

_NATS = 24.0
_ENOUGH = 2.0**-34
_LARGEST = 600.0
_LN2 = math.log(2)
_MOST = 10**13
"""Rows are about 18 times the root of this: a few seconds."""
_MOST_ROWS = 10**8


def is_resolved(bounds: LogBounds) -> bool:
    """Whether a bracket is narrow, or says 0: not so next to a tie of a few rows.

    >>> is_resolved(LogBounds(-1.0, -1.0)), is_resolved(LogBounds(-math.inf, -50.0))
    (True, False)
    """
    return bounds == LOG_ZERO or bounds.upper - bounds.lower < 1e-8 + 1e-14 * abs(bounds.upper)


def walked_hypergeometric(
    count_a: int, count_b: int, others: int, n_draws: int, epsilon: Real
) -> LogBounds:
    """Bound ln D(count_a, count_b), without replacement (proofs/boundary-walk#1).

    Domain: count_a >= 1, count_b >= 0, others >= 0, 1 <= n_draws < n.
    """
    n = count_a + count_b + others
    if n_draws < count_a and at_most(LogRatio(Fraction(count_a, count_a - n_draws)), epsilon):
        return LOG_ZERO
    if count_a == 1 or at_most(LogRatio(Fraction(count_a)), epsilon):
        # Only the infinite ratio exceeds e^epsilon (proofs/two-smallest#2).
        return hypergeometric_point(count_a, n_draws, count_a, n - count_a)
    _refuse_beyond(n)
    lost = n + 1 - n_draws
    if lost_is_flat(count_a, count_b, epsilon):
        law = HypergeometricRows(count_b + 1, count_a, others, lost)
        factor = Fraction(n + 1, lost * (count_b + 1))
        return walked_sum(law, lost_boundary(count_a, count_b, epsilon), factor, Fraction(0))
    law = HypergeometricRows(count_a, count_b + 1, others, n_draws)
    factor = Fraction(n + 1, lost * count_a)
    return walked_sum(law, kept_boundary(count_a, count_b, epsilon), factor, epsilon)


def walked_independent(
    count_a: int, count_b: int, keep_probability: Fraction, epsilon: Real
) -> LogBounds:
    """Bound ln D(count_a, count_b), each record kept with a probability in (0, 1).

    Domain: count_a >= 1, count_b >= 0 (proofs/boundary-walk#1).
    """
    kept, lost = keep_probability.numerator, keep_probability.denominator
    lost -= kept
    if count_a == 1 or at_most(LogRatio(Fraction(count_a)), epsilon):
        return binomial_point(count_a, count_a, kept, lost)
    _refuse_beyond(count_a + count_b)
    share = Fraction(kept + lost, lost)
    if lost_is_flat(count_a, count_b, epsilon):
        law = IndependentRows(count_b + 1, count_a, lost, kept)
        boundary = lost_boundary(count_a, count_b, epsilon)
        return walked_sum(law, boundary, share / (count_b + 1), Fraction(0))
    law = IndependentRows(count_a, count_b + 1, kept, lost)
    return walked_sum(law, kept_boundary(count_a, count_b, epsilon), share / count_a, epsilon)


def walked_multinomial(
    count_a: int, count_b: int, others: int, n_draws: int, epsilon: Real
) -> LogBounds:
    """Bound ln D(count_a, count_b), with replacement (proofs/boundary-walk#6).

    Domain: count_a >= 2, count_b >= 1, others >= 1, n_draws >= 1.
    """
    _refuse_beyond(max(count_a + count_b + others, n_draws))
    if count_b < count_a - 1:
        mirrored = MirroredRows(count_b, count_a, others, n_draws)
        boundary = mirrored_boundary(count_a, count_b, epsilon)
        return walked_sum(mirrored, boundary, Fraction(1), Fraction(0))
    law = DrawnRows(count_a, count_b, others, n_draws)
    return walked_sum(law, drawn_boundary(count_a, count_b, epsilon), Fraction(1), Fraction(0))


def _refuse_beyond(number: int) -> None:
    """Refuse numbers of records or draws whose square root is too many rows."""
    if number > _MOST:
        raise OutOfReach(
            expected=f"at most {_MOST:.0e} records, and draws, for the outputs that matter",
            got=f"about {float(number):.0e}",
            remedy="Take fewer draws or records, or the bounds of smoothed delta",
        )


def _refuse_rows(number: int) -> None:
    """Refuse more rows than the most records need: the window is a guess, the work is not."""
    if number > _MOST_ROWS:
        raise OutOfReach(
            expected=f"at most {_MOST_ROWS:.0e} rows of outputs that matter",
            got=f"about {float(number):.0e}",
            remedy="Take fewer draws or records, or the bounds of smoothed delta",
        )


def walked_sum(law: RowLaw, boundary: Boundary, factor: Fraction, epsilon: Real) -> LogBounds:
    """Bound ln of factor e^epsilon times the sum of Q(j) W_j over all rows."""
    lowest, _ = law.rows
    highest = highest_row(law, boundary)
    if highest < lowest:
        return _certain_alone(law, boundary, factor, epsilon)

    def height(j: int) -> float:
        return log_height(law, boundary, j)

    peak = peak_row(height, lowest, highest)
    nats = _NATS
    while True:
        bottom, top = rows_within(height, peak, (lowest, highest), nats)
        _refuse_rows(top - bottom + 1)
        shape = law.shape(top, 0.0)
        k = (boundary.at(top) >> 64) + 1
        state = state_at(law, top, k, shape.mean, shape.deviation)
        walked = walk(law, boundary, top, bottom, state)
        if not (0 < walked.total < math.inf and walked.error < 0.5):
            # Floats do not reach so far: nothing is claimed.
            return LogBounds(-math.inf, 0.0)
        base = walked.exponent * _LN2
        remainder = log_above(law, boundary, Edge(top, walked.first), highest)
        if bottom > lowest:
            # The row where everything is drawn is among those below.
            certain = law.certain
            least = lowest if certain is None else certain[0]
            edge = Edge(bottom, walked.last)
            remainder = log_sum_upper(remainder, log_below(law, boundary, edge, least))
        if remainder < base + math.log(walked.total * _ENOUGH) or nats > 1000:
            break
        nats *= 1.5
    with precision(128):
        log_factor = ball(factor).log() + ball(epsilon) + ball(2).log() * walked.exponent
        low = walked.total * (1 - walked.error) - walked.loss
        high = walked.total * (1 + walked.error) + walked.loss
        beside = remainder - base + 1e-9 + 1e-15 * abs(base)
        lower = -math.inf
        if low > 0:
            lower = enclose(log_factor + ball(Fraction(low)).log()).lower
        upper = 0.0
        if beside < _LARGEST:
            high += math.exp(beside)
            upper = enclose(log_factor + ball(Fraction(high)).log()).upper
    return LogBounds(lower, min(0.0, upper))


def _certain_alone(law: RowLaw, boundary: Boundary, factor: Fraction, epsilon: Real) -> LogBounds:
    """Bound the sum where only the row whose i is certain reaches beyond the boundary."""
    if law.certain is None:
        return LOG_ZERO
    row, only = law.certain
    beyond = only * ONE - boundary.at(row)
    if beyond <= 0:
        return LOG_ZERO
    point = law.marginal(row)
    ends = []
    for units in (beyond - 3, beyond + 3):
        if units <= 0:
            ends.append(-math.inf)
            continue
        with precision(128):
            total = ball(Fraction(units, ONE)).log() + ball(factor).log() + ball(epsilon)
            total += ball(2).log() * point.exponent + ball(Fraction(point.mantissa)).log()
            ends.append(enclose(total).upper)
    slack = 8 * UNIT_ROUNDOFF
    low, high = ends
    return LogBounds(
        low - slack - 1e-15 * abs(low) if low > -math.inf else low, min(0.0, high + slack)
    )
