"""The law of what the noise shows, (U, V), row by row of U - V: for fewer honest users.

U counts + and V counts - of the noise: U = A + C, V = B + C. With shares of any shape,
P(U = m + t, V = m) is the convolution of the law of C with k -> P(A = k + t) P(B = k): row t, and
the same for V - U = t. At the design's number of honest users the rows are multiples of one
another, and one sum is enough (`exact_delta`); with fewer, neighbouring rows are compared
(proofs/paired-counts#5).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.neighbours import Neighbours
from smoothdp.errors import OutOfReach
from smoothdp.exact.balls.balls import exp_bounds
from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF, LogBounds
from smoothdp.exact.parameters.numbers import Real
from smoothdp.shuffle.paired.clump_law import clump_law
from smoothdp.shuffle.paired.exact_delta import DEPTHS, ROOM, log_of_bounds
from smoothdp.shuffle.paired.geometric_shares import share_law
from smoothdp.types import FloatArray

_MOST_CELLS = 20_000_000
_MOST_WORK = 3e10
_LARGEST = 1e300


class Rows(NamedTuple):
    """masses[t, m] = P(U = m + t, V = m), each within a factor 1 +- error; ``outside`` the rest.

    The rest is that of both signs and all rows together. A last row and column are zero.
    """

    masses: FloatArray
    error: float
    outside: float


@lru_cache(maxsize=4)
def view_rows(
    n_honest: int,
    n_design: int,
    rate: Fraction,
    probability: Fraction,
    largest: int,
    *,
    depth: float,
) -> Rows:
    """Return the rows for h honest users whose shares have shape 1 / n_design each.

    Raises:
        OutOfReach: more than 2e7 cells.

    >>> rows = view_rows(1, 2, Fraction(1), Fraction(1, 4), 2, depth=60.0)
    >>> whole = rows.masses[0].sum() + 2 * rows.masses[1:].sum()
    >>> bool(abs(whole - 1) < 1e-9)
    True
    """
    pairs = clump_law(n_honest, probability, largest, depth=depth)
    share = share_law(Fraction(n_honest, n_design), rate, depth=depth)
    first, lost = _start(pairs.masses, depth)
    masses, signs = pairs.masses[first:], share.masses
    width, height = masses.size + signs.size, signs.size
    if width * height > _MOST_CELLS or float(width) * height**2 > _MOST_WORK:
        raise OutOfReach(
            expected=f"noise of at most {_MOST_CELLS} pairs of counts",
            got=f"{width * height}",
            remedy="Ask for the design's honest users, or raise epsilon",
        )
    rows = np.zeros((height + 1, width + 1))
    for t in range(height):
        both = signs[t:] * signs[: height - t]
        rows[t, : masses.size + height - t - 1] = np.convolve(masses, both)
    error = pairs.error + 2 * share.error + 1.01 * (height + 4) * UNIT_ROUNDOFF
    return Rows(rows, error, pairs.outside + 2 * share.outside + lost)


def _start(masses: FloatArray, depth: float) -> tuple[int, float]:
    """Return from where on the law matters, and a bound of the mass before."""
    below = np.cumsum(masses)
    limit = np.exp(-depth)
    first = int(np.searchsorted(below, limit))
    return first, float(below[first - 1]) * 1.001 if first else 0.0


@dataclass(frozen=True, slots=True)
class FewerHonestProfile(PrivacyProfile):
    """One sign is replaced among the noise of fewer honest users than the design counts on.

    Attributes:
        n_honest: h >= 1. n_design: m0, of which a share has shape 1 / m0.
        noise_rate, clump_probability, largest_clump: as in `PairedCountProfile`.
    """

    n_honest: int
    n_design: int
    noise_rate: Fraction
    clump_probability: Fraction
    largest_clump: int

    @property
    def neighbours(self) -> Neighbours:
        """Replace-one."""
        return Neighbours.REPLACE_ONE

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        """Bound ln delta(epsilon), by all neighbouring cells; both directions are alike."""
        found = LogBounds(-np.inf, 0.0)
        for depth in DEPTHS:
            rows = view_rows(
                self.n_honest,
                self.n_design,
                self.noise_rate,
                self.clump_probability,
                self.largest_clump,
                depth=depth,
            )
            found = replaced_sign(rows, epsilon)
            if found.upper > ROOM - depth:
                break
        return found


def replaced_sign(rows: Rows, epsilon: Real) -> LogBounds:
    """Bound ln of the hockey stick between (U, V + 1) and (U + 1, V).

    In a cell whose counts differ by t >= 1, one world has row t + 1, one pair less, and the other
    row t - 1; whichever is +, so both differences count. Where t = 0 the worlds agree.
    """
    growth = exp_bounds(epsilon)
    near, far = rows.masses[:-2], rows.masses[2:]
    # far[m - 1] beside near[m].
    shifted = np.concatenate([np.zeros((far.shape[0], 1)), far[:, :-1]], axis=1)
    # Rows that were left out are next to the last ones: compared with 0.
    last = rows.masses[-2:]
    slip = rows.error + 4 * UNIT_ROUNDOFF
    sums = []
    for sense, factor in ((1, growth.lower), (-1, growth.upper)):
        factor = min(factor, _LARGEST)
        up, down = 1 + sense * slip, factor * (1 - sense * slip)
        total = float(np.maximum(near * up - shifted * down, 0.0).sum())
        total += float(np.maximum(shifted * up - near * down, 0.0).sum())
        if sense > 0:
            total += float(last.sum()) * up
        sums.append(total)
    roundings = 1 + (rows.masses.shape[0] + rows.masses.shape[1] + 64) * UNIT_ROUNDOFF
    upper = min(1.0, (sums[0] + rows.outside) * roundings)
    lower = sums[1] / roundings - growth.upper * rows.outside
    return log_of_bounds(max(0.0, lower), upper)
