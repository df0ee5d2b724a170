"""delta of a paired histogram: one user moves from one bin to another.

In each bin the counts (U, V) of signs are those of the noise, or one + more. Only their likelihood
ratio matters, so each bin is a list of atoms (mass without the user, mass with); the other bins
hide nothing and reveal nothing. The delta of the whole histogram is the hockey stick of the product
"with x without" from "without x with", by sorted ratios and prefix sums (proofs/paired-counts#4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.neighbours import Neighbours
from smoothdp.exact.balls.balls import exp_bounds
from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF, LogBounds
from smoothdp.exact.parameters.numbers import Real
from smoothdp.shuffle.paired.clump_law import ClumpLaw
from smoothdp.shuffle.paired.exact_delta import (
    DEPTHS,
    ROOM,
    decayed_sums,
    deep_enough,
    log_of_bounds,
)
from smoothdp.shuffle.paired.view_rows import Rows, view_rows
from smoothdp.types import FloatArray

_LARGEST = 1e300


class BinAtoms(NamedTuple):
    """Masses of what a bin shows without the user's sign and with it, in groups of one ratio.

    Each is within a factor 1 +- error of the truth, and at most ``outside`` of each law is missing.
    """

    without: FloatArray
    having: FloatArray
    error: float
    outside: float


def bin_atoms(law: ClumpLaw, rate: Fraction) -> BinAtoms:
    """Return the atoms at the design's honest users, where all of U > V has the ratio 1 / p.

    U <= V: ((1 - p) s(u), (1 - p) p s(u - 1)) for U = u. Beyond the last pair the ratio is 1 / p
    again.

    >>> from smoothdp.shuffle.paired.clump_law import clump_law
    >>> atoms = bin_atoms(clump_law(3, Fraction(1, 4), 2, depth=60.0), Fraction(1, 2))
    >>> round(float(atoms.without.sum()), 12), round(float(atoms.having.sum()), 12)
    (1.0, 1.0)
    """
    sums, error = decayed_sums(law, rate)
    p = math.exp(-float(rate))
    rest = -math.expm1(-float(rate))
    before = np.concatenate([[0.0], sums[:-1]])
    last = float(sums[-1]) / (1.0 + p)
    without = np.concatenate([rest * sums, [p / (1.0 + p) + p * p * last]])
    having = np.concatenate([rest * p * before, [1.0 / (1.0 + p) + p * last]])
    return BinAtoms(without, having, error + 16 * LIBM_ERROR, law.outside)


def row_atoms(rows: Rows) -> BinAtoms:
    """Return the atoms with fewer honest users: (U, V) against (U - 1, V), row by row."""
    masses = rows.masses
    shifted = np.concatenate([np.zeros((masses.shape[0], 1)), masses[:, :-1]], axis=1)
    empty = np.zeros((1, masses.shape[1]))
    # U > V by t: one row nearer. V - U = t >= 0: one row further, and one pair less.
    without = np.concatenate([masses[1:].ravel(), masses.ravel()])
    having = np.concatenate([masses[:-1].ravel(), np.concatenate([shifted[1:], empty]).ravel()])
    return BinAtoms(without, having, rows.error, rows.outside)


def log_moved(atoms: BinAtoms, epsilon: Real) -> LogBounds:
    """Bound ln of the hockey stick of having x without from without x having.

    Masses that are off by a factor 1 +- e are as if e^epsilon were off by ((1 + e) / (1 - e))^2: so
    the computed masses are taken as exact at an E below, or above, the true one. Any set of pairs
    of atoms gives a lower bound, and the pairs of positive terms at a smaller E an upper one.
    """
    growth = exp_bounds(epsilon)
    slip = ((1 + atoms.error) / (1 - atoms.error)) ** 2
    margin = 1 + 32 * UNIT_ROUNDOFF
    low = min(growth.lower, _LARGEST) / (slip * margin)
    high = min(growth.upper, _LARGEST) * slip * margin
    upper, rounding = _stick(atoms, low)
    lower, _ = _stick(atoms, high)
    most = (upper + rounding) * slip + 2 * atoms.outside
    least = max(0.0, lower - _stick_rounding(rounding, high, low)) / slip
    least -= growth.upper * 2 * atoms.outside
    return log_of_bounds(max(0.0, least), min(1.0, most * margin))


def _stick_rounding(rounding: float, high: float, low: float) -> float:
    return rounding * (high / low) * 1.01


def _stick(atoms: BinAtoms, growth: float) -> tuple[float, float]:
    """Return the sum over pairs of atoms of (P1 P0' - E P0 P1')_+ and its rounding."""
    alive = (atoms.having > 0) | (atoms.without > 0)
    having, without = atoms.having[alive], atoms.without[alive]
    with np.errstate(divide="ignore"):
        # Infinite where the mass without the sign is 0: above all others.
        ratios = having / without
    order = np.argsort(ratios, kind="stable")
    ratios, having, without = ratios[order], having[order], without[order]
    below = np.searchsorted(ratios, ratios / growth, side="left")
    sums_without = np.concatenate([[0.0], np.cumsum(without)])[below]
    sums_having = np.concatenate([[0.0], np.cumsum(having)])[below]
    first, second = having * sums_without, growth * without * sums_having
    total = float(np.maximum(first - second, 0.0).sum())
    roundings = (2 * ratios.size + 32) * UNIT_ROUNDOFF
    return total, roundings * float((first + second).sum())


def log_moved_delta(law: ClumpLaw, rate: Fraction, epsilon: Real) -> LogBounds:
    """Bound ln delta of a paired histogram for a law of the pairs of a bin."""
    return log_moved(bin_atoms(law, rate), epsilon)


@dataclass(frozen=True, slots=True)
class PairedHistogramProfile(PrivacyProfile):
    """One user changes the bin; each bin has the noise of `PairedCountProfile`.

    Attributes:
        n_honest: h <= n_design. n_design: m0, of which a share has shape 1 / m0.
        noise_rate, clump_probability, largest_clump: as there.
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
        """Bound ln delta(epsilon); the other direction exchanges the two bins."""
        if self.n_honest == self.n_design:
            return deep_enough(
                lambda law: log_moved_delta(law, self.noise_rate, epsilon),
                self.n_honest,
                self.clump_probability,
                self.largest_clump,
            )
        found = LogBounds(-math.inf, 0.0)
        for depth in DEPTHS:
            rows = view_rows(
                self.n_honest,
                self.n_design,
                self.noise_rate,
                self.clump_probability,
                self.largest_clump,
                depth=depth,
            )
            found = log_moved(row_atoms(rows), epsilon)
            if found.upper > ROOM - depth:
                break
        return found
