"""A law of the loss in small cells, the largest likelihood ratio first.

The bounds of proofs/repeat-and-select#4 and #5 are sums over them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from smoothdp.composition.laws.atoms import AtomsLaw
from smoothdp.composition.laws.grid_pair import Knots, upper_law
from smoothdp.selection.chords import Chords
from smoothdp.types import FloatArray, IntArray

_FINEST = 1 / 300
_SHARE = 0.04
_N_LOSSES, _N_DEPTHS = 200, 150
_N_MERGED = 600
_LOG_DEPTH = -36.0
_MOST_PIECES, _MOST_CELLS = 400, 1200
_APART = 1e-7
_NOTHING = 1e-15


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
            apart = (np.diff(at, prepend=-1.0) > _APART * end) & (at < end * (1 - _APART))
            at = np.append(at[apart], end)
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
        if merged:
            p, q = _merged(p, q)
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


def _merged(p: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Join neighbours, those far out first: what an observer does who sees less."""
    first = int(np.searchsorted(np.cumsum(p), _NOTHING))
    last = p.size - int(np.searchsorted(np.cumsum(q[::-1]), _NOTHING))
    if last - first <= _N_MERGED:
        return p, q
    inner = np.arange(first, last, -(-(last - first) // _N_MERGED))
    starts = np.unique(np.concatenate([[0], inner, [min(last, p.size - 1)]]))
    return np.add.reduceat(p, starts), np.add.reduceat(q, starts)


def _split(p: FloatArray, q: FloatArray, steepness: float) -> tuple[FloatArray, FloatArray]:
    """Divide atoms so that cells are small, and smaller near both ends, as far as that matters."""
    unit = 1.0 / max(1.0, steepness)
    share = _SHARE
    while True:
        pieces = np.maximum(_pieces(p, unit, share), _pieces(q, unit, share))
        if pieces.sum() <= max(_MOST_CELLS, 2 * p.size):
            break
        share *= 1.5
    return np.repeat(p / pieces, pieces), np.repeat(q / pieces, pieces)


def _pieces(masses: FloatArray, unit: float, share: float) -> IntArray:
    """Return into how many pieces each atom goes."""
    both = np.cumsum(masses), np.cumsum(masses[::-1])[::-1]
    # Without the atom itself: a large one at an end has small pieces there.
    ends = np.maximum(np.minimum(*both) - masses, 0.0)
    finest = np.minimum(_FINEST * share / _SHARE, share * (ends + unit))
    return np.clip(np.ceil(masses / finest), 1, _MOST_PIECES).astype(np.int64)
