"""One law whose delta is closed beside a few atoms: a finite sum, however far its tail falls.

With S symmetric and A the joint losses of the atoms, independent of each other,

    E[(1 - e^(e - A - S))_+] = sum_a p_a D(e - a),   D(x) = 1 - e^x + e^x D(-x) for x < 0,

D the delta of S alone (proofs/tilted-contour#12). A contour of a law that is often exactly 0 is
long; this is quick and sharp.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.claims.curves.atoms import Atoms
from smoothdp.composition.laws.law import Still
from smoothdp.composition.laws.product import Product
from smoothdp.composition.routes.grouping import grouped
from smoothdp.exact.balls.balls import ball, enclose, precision
from smoothdp.exact.logspace.bounds import (
    LOG_ZERO,
    UNIT_ROUNDOFF,
    LogBounds,
    log_sum_lower,
    log_sum_upper,
)

# Each atom takes two values of the closed delta, in balls.
_MOST_ATOMS = 32


@dataclass(frozen=True, eq=False)
class OneClosed:
    """The closed law and the joint atoms of all others, None if there are no others."""

    still: Still
    atoms: Atoms | None

    def log_bounds(self, epsilon: float) -> LogBounds:
        """Bound ln delta of the finite losses at an epsilon of any sign."""
        if self.atoms is None:
            return _delta(self.still, epsilon, epsilon)
        total, error = LOG_ZERO, self.atoms.error
        for log_p, log_q in zip(self.atoms.log_p.tolist(), self.atoms.log_q.tolist(), strict=True):
            if log_p == -math.inf:
                continue
            loss, size = log_p - log_q, abs(log_p) + abs(log_q) + abs(epsilon) + 1
            # Both logarithms are within the error of what they stand for; all is rounded.
            slip, mass = 2 * error + 8 * UNIT_ROUNDOFF * size, error + 4 * UNIT_ROUNDOFF * size
            found = _delta(self.still, epsilon - loss - slip, epsilon - loss + slip)
            part = found.shifted(LogBounds(log_p - mass, log_p + mass))
            total = LogBounds(
                log_sum_lower(total.lower, part.lower), log_sum_upper(total.upper, part.upper)
            )
        return total


def one_closed(product: Product) -> OneClosed | None:
    """Return what one closed law and a few atoms make of a product; None if it is not of these."""
    closed = [(law.still, count) for law, count in product.parts if law.still is not None]
    if product.gaussian or len(closed) != 1 or closed[0][1] != 1:
        return None
    still = closed[0][0]
    assert still is not None
    rest = tuple((law, count) for law, count in product.parts if law.still is None)
    if not rest:
        return OneClosed(still, None)
    atoms = grouped(Product(rest, product.gaussian))
    return (
        OneClosed(still, atoms) if atoms is not None and atoms.log_p.size <= _MOST_ATOMS else None
    )


def _delta(still: Still, low: float, high: float) -> LogBounds:
    """Bound ln D on an interval: above at its low end and below at its high end."""
    return LogBounds(_at(still, high).lower, _at(still, low).upper)


def _at(still: Still, x: float) -> LogBounds:
    if x >= 0:
        return still.log_excess(Fraction(x))
    far = still.log_excess(Fraction(-x)).shifted(LogBounds(x, x))
    with precision(128):
        near = enclose((-ball(Fraction(x)).expm1()).log())
    return LogBounds(log_sum_lower(near.lower, far.lower), log_sum_upper(near.upper, far.upper))
