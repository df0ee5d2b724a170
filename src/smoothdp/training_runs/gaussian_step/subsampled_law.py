"""The loss of the subsampled Gaussian: integrals along lines (`subsampled_lines`).

E e^(zL) is an integral of N(y) G(y)^w over y:

mixture against base: L = ln G under the mixture, w = z + 1;
base against mixture: L = -ln G under N(0, 1), w = -z;
symmetric: losses l > 0 of the first, their mirror image (w = -z), both over y > m / 2, and
    the rest of the mass at l = 0. The symmetric law has D(E) = q D_Gauss(1 + (E - 1) / q) for
    E >= 1, the bound of sampling without replacement (Balle, Barthe, Gaboardi 2018, Theorem 9).

Tails beyond the panels, e^(s^2 / 2) times those on the real line or less: G^w <= G(y_min)^(c+1) to
the left and <= (q + (1 - q) e^-a(y_max))^(c+1) e^((c+1) a) to the right for w = c + 1; (1 - q)^-c
and |G(y_max + is)|^-c for w = -c, as |G| >= 1 - q for b <= pi / 2.

The end of a half line is off by u m, its mass by less than 4 u (m + 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Literal

import numpy as np

from smoothdp.composition.laws.law import Split, Still
from smoothdp.exact.balls.balls import ball, enclose, precision
from smoothdp.exact.balls.special import normal_tail
from smoothdp.exact.logspace.bounds import LOG_ZERO, LogBounds
from smoothdp.training_runs.gaussian_step.line_points import (
    Points,
    atom_at_zero,
    error_from,
    size_from,
    without_last,
)
from smoothdp.training_runs.gaussian_step.one_step import log_mixture_excess
from smoothdp.training_runs.gaussian_step.path_law import MOST_CACHED, REAL, PathLaw
from smoothdp.training_runs.gaussian_step.path_panels import Branch
from smoothdp.training_runs.gaussian_step.plain_sums import PlainSums
from smoothdp.training_runs.gaussian_step.ratio import N_NODES, log_tail
from smoothdp.training_runs.gaussian_step.subsampled_lines import Mixture

View = Literal["mixture", "base", "symmetric"]
# e^-45 = 3e-20 of a tail is left out.
_TAIL = 45.0
_MOST_POINTS = 4e4


@dataclass(frozen=True, eq=False)
class SubsampledGaussianLaw(PathLaw):
    """The loss of a Gaussian shift by mu, seen with probability ``rate`` in (0, 1).

    Attributes:
        rate, mu: q in (0, 1) and m > 0.
        view: which loss.
        above, below: if not None, the law of y above or below that point alone, y under the
            mixture: a law of less than all mass. See `split`.
    """

    rate: Fraction
    mu: Fraction
    view: View
    above: float | None = None
    below: float | None = None
    _splits: dict[float, Split] = field(default_factory=dict, repr=False, compare=False)
    _sums: dict[float, PlainSums] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def _mixture(self) -> Mixture:
        return Mixture(self.rate, self.mu)

    @property
    def largest(self) -> float:
        if self.view == "base":
            # -ln G <= -ln(1 - q).
            return math.nextafter(-math.log1p(-float(self.rate)) * (1 + 1e-14), math.inf)
        if self.below is not None:
            size, _ = self._mixture.log_ratio(np.array([self.below]), np.zeros(1))
            return float(size[0]) * (1 + 1e-12) + 1e-12
        return math.inf

    @property
    def largest_tilt(self) -> float:
        # The window takes at most _MOST_POINTS points.
        width = _MOST_POINTS * 2 * self._half(math.inf) / N_NODES
        if self.view == "base":
            return max(1.0, (width * width / 8 - _TAIL) / -math.log1p(-float(self.rate)))
        return max(1.0, width / float(self.mu) - 20.0)

    def _branches(self, tilt: float) -> list[Branch]:
        """Return the powers of G and where they are integrated."""
        m, q = float(self.mu), float(self.rate)
        reach = math.sqrt(2 * (_TAIL - tilt * math.log1p(-q)))
        if self.view == "base":
            return [Branch(-tilt, -reach, reach, False, False)]
        # Beyond a = ln((c + 1) / q) the mixture is all but the shifted normal.
        shifted = (tilt + 1) * m + math.sqrt(2 * (_TAIL + 2))
        wide = (tilt + 1) * m + math.sqrt(2 * _TAIL + m * m * tilt * (tilt + 1))
        high = min(wide, max(shifted, (math.log((tilt + 2) / q) + m * m / 2) / m))
        low = -math.sqrt(2 * _TAIL)
        if self.view == "symmetric" and self.above is None:
            losses = Branch(tilt + 1, m / 2, high, True, False)
            branches = [losses, Branch(-tilt, m / 2, reach, True, False)]
        elif self.above is not None:
            # The part of the tail far below e^-45 of its mass is left out in turn.
            far = math.sqrt(self.above * self.above + 2 * _TAIL)
            branches = [Branch(tilt + 1, self.above, max(high, far), True, False)]
        else:
            branches = [Branch(tilt + 1, low, high, False, False)]
        if self.below is not None:
            branches[0] = branches[0]._replace(high=self.below, ends_right=True)
        return branches

    def split(self, loss: float) -> Split | None:
        if self.view == "base" or self.above is not None or self.below is not None or loss <= 0:
            return None
        m, q = float(self.mu), float(self.rate)
        size = min(loss, 700.0)
        odds = math.expm1(size) / q
        # A rate of 1e-5 takes what is left of the floats.
        log_odds = math.log1p(odds) if odds < math.inf else size - math.log(q)
        cut = (log_odds + m * m / 2) / m
        # Panels of the head of a half line fit between both of its ends.
        grid, start = (2 * self._half(math.inf), m / 2) if self.view == "symmetric" else (0.25, 0.0)
        cut = start + grid * round((cut - start) / grid)
        if cut <= m / 2 or cut <= m:
            return None
        split = self._splits.get(cut)
        if split is None:
            head = SubsampledGaussianLaw(self.rate, self.mu, self.view, None, cut)
            tail = SubsampledGaussianLaw(self.rate, self.mu, self.view, cut, None)
            mass = (1 - q) * math.exp(log_tail(cut) - log_tail(cut - m)) + q
            log_mass = log_tail(cut - m) + math.log(mass) + 1e-9
            split = self._splits[cut] = Split(head, tail, log_mass)
        return split

    def _more_points(self) -> list[Points]:
        if self.view != "symmetric" or self.above is not None:
            return []
        return [atom_at_zero(log_mass_at_zero(self.rate, self.mu).upper)]

    # ---- the whole line ---------------------------------------------------------------

    def _plain(self, tilt: float) -> PlainSums | None:
        """Return the sums over the whole line, which need no panels; None for parts of it."""
        if self.view == "symmetric" or self.above is not None or self.below is not None:
            return None
        plain = self._sums.get(tilt)
        if plain is None:
            if len(self._sums) >= 8 * MOST_CACHED:
                self._sums.clear()
            plain = PlainSums(self._mixture, self._branches(tilt)[0])
            self._sums[tilt] = plain
        return plain

    def moving_decay(self, tilt: float, last: float) -> float:
        if self.still is None or last <= REAL:
            return 1.0
        line = self._lines(tilt)[self._choice(tilt, last)]
        # The last point is the atom at 0 (proofs/tilted-contour#11).
        size = size_from(without_last(line.points), last) + error_from(line, last)[0]
        size += self._mixture.both_ways_up(tilt, line.height, last, self.moments(tilt).log_mgf)
        return min(1.0, size * 1.0001)

    @cached_property
    def still(self) -> Still | None:
        if self.view != "symmetric" or self.above is not None or self.below is not None:
            return None
        log_mass = log_mass_at_zero(self.rate, self.mu)
        if log_mass.lower == -math.inf:
            return None
        return Still(log_mass, partial(log_mixture_excess, self.rate, self.mu))


@lru_cache(maxsize=256)
def log_mass_at_zero(rate: Fraction, mu: Fraction) -> LogBounds:
    """Bound ln of 1 - P(y > mu/2) - Q(y > mu/2), P the mixture and Q = N(0, 1)."""
    with precision(192):
        q, shift = ball(rate), ball(mu)
        value = 1 - (2 - q) * normal_tail(shift / 2) - q * normal_tail(-shift / 2)
        return enclose(value.log()) if value > 0 else LOG_ZERO
