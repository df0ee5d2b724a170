"""The part of a binomial law that holds all but e^-50 of it, from its odds alone."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.types import FloatArray

_NATS = 50.0


class TiltedWindow(NamedTuple):
    """P(low), P(low + 1), ... of a binomial law.

    Attributes:
        n_trials, odds, odds_roundings: as given to `tilted_window`.
        low: the first count.
        mass: the probabilities, none left out between the first and the last.
        error: relative error of every mass, and of every step beside that which `steps` returns.
        dropped: no more than this probability lies outside.
    """

    n_trials: int
    odds: float
    odds_roundings: float
    low: int
    mass: FloatArray
    error: float
    dropped: float

    @property
    def high(self) -> int:
        """The last count."""
        return self.low + self.mass.size - 1

    def steps(self) -> tuple[FloatArray, float]:
        """Return P(i) - P(i - 1) from low to one beyond the last, with P = 0 outside.

        Beside them the absolute error of every step, further than ``error`` of it.

        >>> tilted_window(2, 1.0, odds_roundings=0).steps()[0].tolist()
        [0.25, 0.25, -0.25, -0.25]
        """
        mass = self.mass
        successes = np.arange(self.low, self.high + 1, dtype=np.float64)
        # P(i - 1) / P(i): the step is formed without the difference of two nearly equal masses.
        ratio = successes / (self.n_trials - successes + 1.0) / (self.odds or 1.0)
        steps = np.append(mass * (1.0 - ratio), -mass[-1])
        steps[0] = mass[0]
        before = np.concatenate([[0.0], mass[:-1]])
        step_error = (6.0 + self.odds_roundings) * float((mass + before).max()) * UNIT_ROUNDOFF
        return steps, step_error


def tilted_window(n_trials: int, odds: float, *, odds_roundings: float) -> TiltedWindow:
    """Return Bin(n_trials, odds / (1 + odds)) but for e^-50 at each end.

    Probabilities follow from the ratio of neighbours, (n - i) / (i + 1) odds, starting at the
    mode, and are divided by their sum: 3 roundings a step beside those of the odds, for the
    numerator and for the sum. The window is that of Bernstein's inequality,
    P(|X - mean| >= x) <= 2 exp(-x^2 / (2 variance + 2 x / 3)).

    Args:
        n_trials: 0 <= n < 2^50.
        odds: >= 0, finite.
        odds_roundings: error of the odds in units of 2^-53.

    >>> window = tilted_window(2, 1.0, odds_roundings=0)
    >>> window.low, window.mass
    (0, array([0.25, 0.5 , 0.25]))
    """
    mean = n_trials * (odds / (1.0 + odds))
    reach = _NATS / 3 + math.sqrt((_NATS / 3) ** 2 + 2 * _NATS * mean / (1.0 + odds)) + 2
    # The mean as a float is off by less than 1 below 2^50.
    low = max(0, math.floor(mean - reach))
    high = min(n_trials, math.ceil(mean + reach))
    mode = min(high, max(low, math.floor(mean)))
    ahead = np.arange(mode, high, dtype=np.float64)
    behind = np.arange(mode, low, -1, dtype=np.float64)
    up = np.multiply.accumulate((n_trials - ahead) / (ahead + 1.0) * odds)
    # behind is empty if odds = 0, which puts all mass at 0.
    down = np.multiply.accumulate(behind / (n_trials - behind + 1.0) / (odds or 1.0))
    mass = np.concatenate([down[::-1], [1.0], up])
    mass /= mass.sum()
    dropped = 0.0 if low == 0 and high == n_trials else 2.0 * math.exp(-_NATS)
    units = (3.0 + odds_roundings) * 2 * max(mode - low, high - mode) + 2 * mass.size**0.5 + 60
    error = 1.01 * units * UNIT_ROUNDOFF + dropped
    return TiltedWindow(n_trials, odds, odds_roundings, low, mass, error, dropped)
