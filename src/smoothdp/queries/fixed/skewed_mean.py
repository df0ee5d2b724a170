"""The mean of skewed data, clipped at a height that is released first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from smoothdp.claims.neighbours import Neighbours
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.parameters.numbers import exact_text
from smoothdp.queries.fixed.clamped_mean import ClampedMean
from smoothdp.queries.fixed.fixed_statistic import FixedStatistic
from smoothdp.queries.private_size.padded_window import PaddedWindow
from smoothdp.queries.read_arguments import Bounds, Values, bounds_text, read_bounds
from smoothdp.sources import Source
from smoothdp.types import FloatArray

_DEPTH = 1e-8
"""How far down the height is looked for, as a share of the bounds."""
_NARROWEST = Fraction(1, 10**250)


@dataclass(frozen=True, init=False)
class SkewedMean(FixedStatistic):
    """The mean of min(x, a + h), h chosen by the data: for bounds that may be far too wide.

    Seven tenths of the guarantee release h: on the scale of ln max(x - a, (b - a) 1e-8) the mean
    of a window r ranks from the top. The rest releases the mean of the values clamped to
    [a, a + h], as `ClampedMean` does. What comes out is a mean of clipped values, below the plain
    mean where many values are above a + h. It is for values that are skewed upwards, and n that
    is private; where the bounds are within 3 times the largest expected value `ClampedMean` is
    better.

    Source: proofs/private-sums#7.

    Args:
        bounds: (a, b), a < b; fixed without looking at the data.

    Raises:
        InvalidParameter: bounds that are no finite interval, or closer than 1e-250.

    >>> SkewedMean((0, 10**9)).describe()
    'mean of skewed values within [0, 1000000000], clipped at a height that is released first'
    """

    source: ClassVar[Source] = Source("own", "proofs/private-sums#7")
    bounds: Bounds

    def __init__(self, bounds: object) -> None:
        low, high = read_bounds(bounds)
        if high - low < _NARROWEST:
            raise InvalidParameter(
                expected="bounds at least 1e-250 from each other",
                got=f"bounds={bounds_text((low, high))}",
                remedy="Rescale the column",
            )
        object.__setattr__(self, "bounds", (low, high))

    def describe(self) -> str:
        """Return the statistic in words."""
        return (
            f"mean of skewed values within {bounds_text(self.bounds)}, clipped at a height that is "
            "released first"
        )

    def check_neighbours(self, neighbours: Neighbours) -> None:
        """Accept adding or removing a record.

        Raises:
            IncompatibleClaims: other neighbours, for which no bound is proved.
        """
        if neighbours is not Neighbours.ADD_REMOVE:
            raise IncompatibleClaims(
                expected=f"a guarantee about adding or removing a record for the {self.describe()}",
                got=f"neighbours={neighbours.value!r}",
                remedy='Give neighbours="add_remove", or use Mean where n is public',
            )

    @property
    def log_bounds(self) -> Bounds:
        """The ends of the scale on which the height is looked for: public numbers."""
        width = float(self.bounds[1] - self.bounds[0])
        return Fraction(math.log(width * _DEPTH)), Fraction(math.log(width))

    def logarithms(self, values: Values) -> FloatArray:
        """Return ln max(x - a, (b - a) 1e-8) of each row, as a float.

        It is no exact logarithm, but a function of the row alone: each is computed by itself,
        so that equal rows get equal numbers wherever they stand.

        >>> SkewedMean((0, 1)).logarithms(np.array([1.0, 0.0])).tolist()
        [0.0, -18.420680743952367]
        """
        low, high = float(self.bounds[0]), float(self.bounds[1] - self.bounds[0])
        above = np.clip(values.astype(np.float64) - low, high * _DEPTH, high)
        return np.fromiter(map(math.log, above.tolist()), np.float64, len(above))

    def height_window(self, *, rank: Fraction, width: Fraction) -> PaddedWindow:
        """Return the window around a rank from the top, on the scale of `logarithms`."""
        return PaddedWindow(
            1,
            bounds=self.log_bounds,
            width=width,
            offset=-rank,
            name=f"logarithm of the value of rank {exact_text(rank)} from the top",
        )

    def height(self, logarithm: Fraction) -> Fraction:
        """Return h of a released logarithm, within the scale.

        >>> float(SkewedMean((0, 100)).height(Fraction(0)))
        1.0
        """
        width = self.bounds[1] - self.bounds[0]
        least, most = self.log_bounds
        height = Fraction(math.exp(float(min(max(logarithm, least), most))))
        return min(max(height, width / 10**8), width)

    def clipped_at(self, height: Fraction) -> ClampedMean:
        """Return the mean of the values clamped to [a, a + h]."""
        low = self.bounds[0]
        return ClampedMean.between(low, low + height)
