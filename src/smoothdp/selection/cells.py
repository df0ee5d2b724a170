"""A law of the loss in small cells, the largest likelihood ratio first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from smoothdp.composition.laws.atoms import AtomsLaw
from smoothdp.composition.laws.grid_pair import Knots, upper_law
from smoothdp.selection.chords import Chords
from smoothdp.types import FloatArray

_FINEST = 1 / 300
_SHARE = 0.04
_N_LOSSES, _N_DEPTHS = 200, 150
_N_MERGED = 500
_LOG_DEPTH = -36.0
_MOST_PIECES = 400
_APART = 1e-7


@dataclass(frozen=True, eq=False)
class Cells:
    """Masses p and q of cells, the ratio p / q falls; and the mass of p where q has none.

    Attributes:
        p, q: floats; what q lacks to 1 lies beyond the last cell.
        infinite: a float, above or below the mass at infinity, as wanted.
        slip: the true law lies below e^slip p against q, or above (1 - slip) p and q with the
            rest the same in both.
    """

    p: FloatArray
    q: FloatArray
    infinite: float
    slip: float

    @classmethod
    def above(cls, base: Chords, steepness: float) -> Cells:
        """Return cells of a law above an item: chords of D between a few hundred points."""
        losses = base.losses[base.losses > 0]
        logs = base.log_upper(losses)
        if losses.size:
            end = float(losses[-1])
            deep = np.flatnonzero(logs <= _LOG_DEPTH)
            if deep.size:
                end = float(losses[deep[0]])
            wanted = np.linspace(float(logs[0]), max(_LOG_DEPTH, float(logs[-1])), _N_DEPTHS)
            places = np.minimum(np.searchsorted(-logs, -wanted), losses.size - 1)
            found = [np.linspace(0.0, end, _N_LOSSES), losses[places]]
            found.append(losses[losses <= end] if losses.size <= _N_LOSSES else losses[:0])
            at = np.unique(np.concatenate(found))
            # Slopes between points that all but agree would be rounding.
            apart = np.diff(at, prepend=-1.0) > _APART * end
            at = at[(at <= end) & apart]
        else:
            at = np.zeros(1)
        values = np.minimum.accumulate(base.log_upper(at))
        law = upper_law(Knots(at, values, values))
        return cls._of(law, steepness, law.log_infinite.upper)

    @classmethod
    def below(cls, law: AtomsLaw, steepness: float) -> Cells:
        """Return cells of a law below an item, whose losses are certain: atoms merged."""
        assert law.slack.loss == 0
        return cls._of(law, steepness, law.log_infinite.lower, merged=True)

    @classmethod
    def _of(
        cls, law: AtomsLaw, steepness: float, log_infinite: float, *, merged: bool = False
    ) -> Cells:
        order = np.argsort(-law.losses, kind="stable")
        p = np.exp(law.log_masses[order])
        q = np.exp(law.log_masses[order] - law.losses[order])
        if merged and p.size > 2 * _N_MERGED:
            starts = np.arange(0, p.size, -(-p.size // _N_MERGED))
            p, q = np.add.reduceat(p, starts), np.add.reduceat(q, starts)
        infinite = math.exp(log_infinite) if log_infinite > -math.inf else 0.0
        p, q = _split(p, q, steepness)
        # Of masses: exp, and the division of an atom, which leaves its ratio as it is.
        slip = math.expm1(law.slack.mass + law.slack.loss) + 1e-13
        return cls(p, q, infinite * (1 + (-1e-13 if merged else 1e-13)), slip)

    @cached_property
    def above_p(self) -> FloatArray:
        """P of all that comes before each edge."""
        return self.infinite + np.concatenate([[0.0], np.cumsum(self.p)])

    @cached_property
    def above_q(self) -> FloatArray:
        """Q of all that comes before each edge."""
        return np.concatenate([[0.0], np.cumsum(self.q)])

    @cached_property
    def below_p(self) -> FloatArray:
        """P of all that comes after each edge."""
        return np.concatenate([np.cumsum(self.p[::-1])[::-1], [0.0]])

    @cached_property
    def below_q(self) -> FloatArray:
        """Q of all that comes after each edge, what only Q has included."""
        rest = max(0.0, 1.0 - math.fsum(self.q.tolist()))
        return rest + np.concatenate([np.cumsum(self.q[::-1])[::-1], [0.0]])


def _split(p: FloatArray, q: FloatArray, steepness: float) -> tuple[FloatArray, FloatArray]:
    """Divide atoms so that cells are small, and smaller near both ends, as far as that matters."""
    unit = 1.0 / max(1.0, steepness)
    pieces_p: list[FloatArray] = []
    pieces_q: list[FloatArray] = []
    ends = np.minimum(np.cumsum(p), np.cumsum(p[::-1])[::-1])
    ends = np.minimum(ends, np.minimum(np.cumsum(q), np.cumsum(q[::-1])[::-1]))
    for mass_p, mass_q, end in zip(p.tolist(), q.tolist(), ends.tolist(), strict=True):
        mass = max(mass_p, mass_q)
        # `end` includes the atom itself: a large atom at an end has its own small pieces there.
        finest = min(_FINEST, _SHARE * (max(0.0, end - mass) + unit))
        number = min(_MOST_PIECES, max(1, math.ceil(mass / finest)))
        pieces_p.append(np.full(number, mass_p / number))
        pieces_q.append(np.full(number, mass_q / number))
    return np.concatenate(pieces_p), np.concatenate(pieces_q)
