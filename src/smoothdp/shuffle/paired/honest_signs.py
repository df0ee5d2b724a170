"""How many users of a paired protocol can be honest at most, by the signs that all of them sent.

An honest user sends one sign and W more, W the noise that fits into K - 1 slots, of a law that does
not depend on the datum. By Markov's inequality h of them send at most h + s signs with a
probability of at most x^-s E(x^W)^h for every x in (0, 1], and at least so many for every x >= 1
(proofs/paired-counts#10).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from smoothdp.exact.logspace.bisection import least_integer
from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF
from smoothdp.shuffle.paired.geometric_shares import CountLaw
from smoothdp.types import FloatArray

_LOG_ALARM = math.log(1e12)
_FLATTEST, _STEEPEST, _HIGHEST = 1e-6, 50.0, 100.0
"""|t| lies between the first two, and t K is at most the third."""
_STEPS = 400


class HonestSigns(NamedTuple):
    """Upper bounds of log E(e^(t W)) at many t < 0, and at many t > 0.

    Attributes:
        slots: K.
        few: t < 0 and the bound there. many: t > 0 and the bound there.
    """

    slots: int
    few: tuple[FloatArray, FloatArray]
    many: tuple[FloatArray, FloatArray]

    def most_by_few(self, n_signs: int, n_users: int) -> int:
        """Return the most honest users that so few signs leave possible, but for 1 in 10^12.

        The others may send signs, never take any away.
        """
        slopes, logs = self.few
        # Beside one sign each n_signs - h are left for the noise of h: fewer than none for none.
        return self._most(slopes, logs, n_signs, 1, min(n_users, n_signs))

    def most_by_many(self, n_signs: int, n_users: int) -> int:
        """Return the most honest users that so many signs leave possible, but for 1 in 10^12.

        The others send at most K each.
        """
        slopes, logs = self.many
        # n_signs - h - (n_users - h) K are left for the noise of h.
        return self._most(slopes, logs, n_signs - n_users * self.slots, 1 - self.slots, n_users)

    def _most(
        self, slopes: FloatArray, logs: FloatArray, offset: int, each: int, n_users: int
    ) -> int:
        """Return the largest h up to n_users at which no t shows h users with offset - h each."""

        def refuted(honest: int) -> bool:
            # For each t linear in h, and falling: from one h on.
            noise = offset - honest * each
            logs_of_all = honest * logs - slopes * noise
            slack = 4 * UNIT_ROUNDOFF * (honest * np.abs(logs) + np.abs(slopes * noise))
            return bool((logs_of_all + slack).min() < -_LOG_ALARM)

        if not refuted(n_users):
            return n_users
        return 0 if refuted(0) else least_integer(refuted, 0, n_users) - 1


def honest_signs(law: CountLaw, slots: int) -> HonestSigns:
    """Return the bounds for envelopes of so many slots.

    >>> from fractions import Fraction
    >>> from smoothdp.shuffle.paired.noise_cap import noise_law
    >>> law = noise_law(1, 900, Fraction(9, 20), Fraction(1, 10), 8)
    >>> signs = honest_signs(law, 49)
    >>> signs.most_by_few(500, 1000), signs.most_by_many(30_000, 1000)
    (471, 409)
    """
    masses = law.masses[:slots]
    counts = np.arange(masses.size)
    # Given that it fits: the probability of that is at least the sum, but for its error.
    fits = float(masses.sum())
    error = 2 * law.error + 4 * (masses.size + 3) * (UNIT_ROUNDOFF + LIBM_ERROR)
    error += 2 * UNIT_ROUNDOFF * _STEEPEST * slots

    def bounds(slopes: FloatArray) -> tuple[FloatArray, FloatArray]:
        powers = np.exp(np.outer(slopes, counts))
        left_out = law.outside * np.maximum(1.0, np.exp(slopes * slots))
        return slopes, np.log((powers @ masses + left_out) / fits) + error

    most = min(_STEEPEST, _HIGHEST / slots)
    return HonestSigns(
        slots,
        bounds(-np.geomspace(_FLATTEST, _STEEPEST, _STEPS)),
        bounds(np.geomspace(_FLATTEST, most, _STEPS)),
    )
