"""Which nodes of a long contour matter, where every law has two atoms.

Laws with atoms decay at no t, but many different ones are hardly ever in phase. With tilted masses
w, v at a distance of 2 a, and h = w v / (w + v),

    -ln |psi(t)| >= h (1 - cos 2 a t)

(proofs/tilted-contour#9). So with C(t) the sum of k h cos 2 a t over all laws, the product of the
|psi|^k is at most e^(C(t) - C(0)). Between two points of a mesh of step s, C is at most the larger
of the two, and (s^2 / 8) sum 4 k h a^2 more. Cells where that leaves less than e^-40 are not
summed, only added as a bound.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from smoothdp.composition.laws.oscillation import oscillating_sums, short_step
from smoothdp.composition.laws.product import Product
from smoothdp.types import FloatArray, IntArray

_NEGLIGIBLE = 40.0
# The mesh may add this share of C(0); laws of less in all are not screened.
_SLACK = 0.125
_LEAST = 80.0


class Screen(NamedTuple):
    """Atoms of all laws at a tilt, and the step of the mesh that suits them."""

    weights: FloatArray
    frequencies: FloatArray
    step: float

    @property
    def whole(self) -> float:
        """C(0)."""
        return float(np.sum(self.weights))

    def cells(self, last: float) -> int:
        """Return the number of cells up to ``last``."""
        return math.ceil(last / self.step) + 1

    def matter(self, last: float) -> FloatArray:
        """Return where the cells begin, up to ``last``, in which nodes may matter."""
        n_cells = self.cells(last)
        sums = oscillating_sums(self.weights, self.frequencies, step=self.step, count=n_cells + 1)
        t = self.step * np.arange(n_cells + 1, dtype=np.float64)
        ends = sums.values.real + sums.constant + sums.slope * t
        # A frequency 2 a is exact; its weight and the sums carry less than 1e-9 of C(0).
        bend = self.step**2 / 8 * float(self.weights @ self.frequencies**2)
        above = np.maximum(ends[:-1], ends[1:]) + bend - self.whole * (1 - 1e-9)
        return t[:-1][above > -_NEGLIGIBLE]

    def kept(self, *, step: float, count: int) -> IntArray:
        """Return the numbers of the nodes m step, m < count, that may matter."""
        starts = self.matter(step * (count - 1))
        first = np.floor(starts / step).astype(np.int64)
        width = math.ceil(self.step / step) + 2
        numbers = np.unique(np.add.outer(first, np.arange(width)))
        return numbers[numbers < count]


def screen_of(product: Product, tilt: float) -> Screen | None:
    """Return what is needed to leave out nodes, None if some law has no two atoms, or few do."""
    if product.gaussian or len(product.parts) < 2:
        return None
    weights, frequencies = [], []
    for law, count in product.parts:
        atoms = law.two_atoms(tilt)
        if atoms is None:
            return None
        weights.append(count * atoms.weight)
        frequencies.append(2 * atoms.half_distance)
    h, w = np.array(weights), np.array(frequencies)
    whole = float(np.sum(h))
    if whole < _LEAST:
        return None
    return Screen(h, w, short_step(math.sqrt(8 * _SLACK * whole / float(h @ w**2))))


def left_out(tilt: float, spread: float, *, step: float, first: float, last: float) -> float:
    """Return a bound of all nodes left out between two t > 0, relative to e^(K(c) - c e).

    Both kernels of smoothing are at most 2 (1 + c + t) e^(s^2 (c + 1)^2 / 2), and
    |z (z + 1)| >= t^2.
    """
    area = (1 + tilt) * (step / first**2 + 1 / first) + step / first + math.log(last / first)
    lift = 0.5 * (spread * (tilt + 1)) ** 2 - _NEGLIGIBLE
    return 1.0001 * 2 / math.pi * area * math.exp(lift)
