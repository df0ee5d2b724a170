"""How many messages the noise of one user has: the cap on the whole noise of an envelope.

A user with d cells (bins; 1 for a count) sends NB(2 d / m0) signs and two messages for each pair
of d clumps. An honest user redraws all of it until it fits into K - 1 slots
(proofs/paired-counts#8).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.shuffle.paired.clump_law import clump_law
from smoothdp.shuffle.paired.geometric_shares import CountLaw, rational_up, share_law, survival
from smoothdp.types import FloatArray

_DEPTH = 300.0


@lru_cache(maxsize=64)
def noise_law(
    n_cells: int, n_design: int, rate: Fraction, probability: Fraction, largest: int
) -> CountLaw:
    """Return the law of how many messages the noise of one user has, without a cap.

    >>> law = noise_law(1, 90_000, Fraction(9, 20), Fraction(1, 1000), 1)
    >>> bool(abs(law.masses.sum() - 1) < 1e-9)
    True
    """
    signs = share_law(Fraction(2 * n_cells, n_design), rate, depth=_DEPTH)
    pairs = clump_law(n_cells, probability, largest, depth=_DEPTH)
    doubled = np.zeros(2 * pairs.masses.size - 1)
    doubled[::2] = pairs.masses
    masses = np.convolve(signs.masses, doubled)
    error = signs.error + pairs.error + (signs.masses.size + 2) * UNIT_ROUNDOFF
    return CountLaw(masses, error, signs.outside + pairs.outside)


@lru_cache(maxsize=64)
def noise_tails(
    n_cells: int, n_design: int, rate: Fraction, probability: Fraction, largest: int
) -> FloatArray:
    """Return upper bounds of P(more than k noise messages of a user) for k = -1, 0, 1, ...

    >>> tails = noise_tails(1, 90_000, Fraction(9, 20), Fraction(1, 1000), 1)
    >>> bool(tails[2] < tails[1] < tails[0])
    True
    """
    law = noise_law(n_cells, n_design, rate, probability, largest)
    return survival(law.masses, law.outside, law.error)


def least_slots(tails: FloatArray, n_design: int, overflow: Fraction) -> int:
    """Return the least K with m0 P(more than K - 1 noise messages) <= tau.

    >>> tails = noise_tails(1, 90_000, Fraction(9, 20), Fraction(1, 10**9), 1)
    >>> least_slots(tails, 90_000, Fraction(1, 10**9))
    42
    """
    fits = np.flatnonzero(tails <= float(overflow) / n_design * (1 - 1e-12))
    # tails[j] is that of k = j - 1 = K - 1 messages.
    return int(fits[0])


def overflow_of(tails: FloatArray, n_design: int, slots: int) -> Fraction:
    """Return a bound of tau = m0 P(more than K - 1 noise messages), rounded up to 53 bits."""
    place = min(slots, tails.size - 1)
    return rational_up(math.nextafter(float(tails[place]) * n_design, math.inf))
