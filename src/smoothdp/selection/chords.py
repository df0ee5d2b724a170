"""The profile of what is run, from above: chords between points, at once for many epsilons."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from smoothdp.composition.laws.atoms import AtomsLaw
from smoothdp.composition.laws.grid_pair import convex_points, log_sticks
from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.types import FloatArray

# Of a chord, relatively: exp, expm1 and their quotient.
_ROUNDINGS = 64 * UNIT_ROUNDOFF
_LARGEST_LOSS = 650.0


class Lines(NamedTuple):
    """The lines z <= E w + D and z <= (w + D + E - 1) / E around the type I and II errors, E and D
    rounded up, and about minus the slope of D at each E: the mass of Q beyond."""

    growths: FloatArray
    sticks: FloatArray
    tails: FloatArray


@dataclass(frozen=True, eq=False)
class Chords:
    """D(E), nowhere below that of an item: points (ln E, ln D), and chords in E between them.

    The truth is convex and falls, so chords of upper bounds are upper bounds.
    """

    losses: FloatArray
    logs: FloatArray

    @classmethod
    def of(cls, law: AtomsLaw) -> Chords:
        """Return the points of a law that is above the item.

        D(e) <= e^mass D_here(e - loss) is the slack of the law.
        """
        mesh = np.unique(np.concatenate([law.losses, [0.0]]))
        logs, _, error = log_sticks(law.log_masses, law.losses, law.log_infinite.upper, mesh)
        slack = law.slack
        losses = np.nextafter(mesh + slack.loss, math.inf) if slack.loss else mesh
        raised = np.minimum(np.nextafter(logs + (error + slack.mass), math.inf), 0.0)
        return cls(losses, np.where(np.isneginf(logs), -math.inf, raised))

    def log_upper(self, epsilons: FloatArray) -> FloatArray:
        """Return floats not below ln D at epsilons of any sign; at -inf D is 1."""
        losses, logs = self.losses, self.logs
        right = np.searchsorted(losses, epsilons, side="left")
        found = np.zeros(epsilons.size)
        found[right == losses.size] = logs[-1]
        # Before the first point: the chord from D = 1 at E = 0.
        first = right == 0
        ahead = epsilons[first] - losses[0]
        with np.errstate(divide="ignore"):
            chord = np.log(-np.expm1(ahead) + np.exp(ahead + logs[0]))
        found[first] = np.where(ahead < 0, chord, logs[0])
        inner = (right > 0) & (right < losses.size)
        at, after = epsilons[inner], right[inner]
        before = after - 1
        width = losses[after] - losses[before]
        # (1 - t) D_before + t D_after, both shares without cancellation.
        share = np.expm1(at - losses[after]) / np.expm1(-width)
        other = np.exp(at - losses[after]) * np.expm1(losses[before] - at) / np.expm1(-width)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = share + other * np.exp(logs[after] - logs[before])
            found[inner] = logs[before] + np.log(value)
        # Where nothing is left, nothing is left beyond.
        found[np.isnan(found)] = -math.inf
        found += _ROUNDINGS * (1 + np.abs(np.where(np.isfinite(found), found, 0.0)))
        return np.minimum(found, 0.0)

    @cached_property
    def lines(self) -> Lines:
        """The lines at the corners of the least convex curve through the points at E >= 1."""
        keep = (self.losses >= 0) & (self.losses <= _LARGEST_LOSS)
        losses, logs = self.losses[keep], self.logs[keep]
        if losses.size > 1:
            corners, changes = convex_points(losses, logs)
            losses, logs = losses[corners], logs[corners]
            changes = np.exp(changes[1:])
            tails = np.concatenate([np.cumsum(changes[::-1])[::-1], [0.0]])
        else:
            tails = np.zeros(losses.size)
        growths = np.exp(losses) * (1 + _ROUNDINGS)
        return Lines(growths, np.exp(logs) * (1 + _ROUNDINGS), tails)

    def most(self, shares: FloatArray) -> FloatArray:
        """Return for each mass w of one law floats not below the mass z of the other.

        Every line bounds z. Among the lines of one kind the least is next to where the mass beyond
        is w: D is convex (proofs/repeat-and-select#4).
        """
        growths, sticks, tails = self.lines
        if not growths.size:
            return np.ones_like(shares)
        falling = -tails
        near = np.searchsorted(falling, -shares)
        # P beyond E is D + E times Q beyond: the second kind is least where it is 1 - w.
        far = np.searchsorted(-(sticks + growths * tails), -(1 - shares))
        least = np.ones_like(shares)
        for step in (-1, 0, 1):
            one = np.clip(near + step, 0, growths.size - 1)
            least = np.minimum(least, growths[one] * shares + sticks[one])
            two = np.clip(far + step, 0, growths.size - 1)
            # 1 - (1 - w - D) / E falls in E where 1 - w - D is negative: E up is safe elsewhere.
            rest = (shares + sticks[two] + (growths[two] - 1)) / growths[two]
            least = np.minimum(least, rest * (1 + _ROUNDINGS))
        return np.minimum(least * (1 + _ROUNDINGS), 1.0)
