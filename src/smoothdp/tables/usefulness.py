"""Which cells of a table may be no more than noise: by public and released numbers alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.mechanisms.additive.whole_laws import WholeLaw
from smoothdp.mechanisms.fixed.skewed_noise import SkewedNoise
from smoothdp.mechanisms.fixed.sum_noise import SumNoise
from smoothdp.mechanisms.release.usefulness import useful_size
from smoothdp.queries import ClampedMean, Sum, Variance
from smoothdp.queries.statistic import Statistic
from smoothdp.tables.asked.column_statistic import ColumnStatistic

GUESS = "n_guess"
LOW_COUNT = "the count with noise, less two of its deviations"
"""What cells are judged by, in words."""
_SHARE = 10
"""Noise of a tenth of what a statistic may be at all tells little: from there on it is marked."""
_VARIANCE = 4
"""A variance is at most a quarter of the squared width of the bounds."""
_DEVIATIONS = 2
"""A number of fewer deviations of its noise is hardly told from 0, or a mean from its bounds."""
_HALF = 2
"""An interval over half of the bounds says little."""


@dataclass(frozen=True, slots=True)
class Judge:
    """When a result is no more than noise, by numbers that are public or released.

    Attributes:
        least: it is, of fewer rows.
        ends: it is, within two deviations of the noise from one of these.
        deviation: of the noise, about; of one row where ``per_row``, else of all rows.
        width: it is, with an interval over half of this.
    """

    least: float
    ends: tuple[float, ...] = ()
    deviation: float = 0.0
    per_row: bool = False
    width: float = math.inf

    @classmethod
    def of(cls, statistic: ColumnStatistic, mechanism: object) -> Judge:
        """Return it for a statistic.

        Medians, quantiles and trimmed means need n min(q, 1 - q) epsilon of 15, below which errors
        come to the order of the bounds. Sums and means need as many rows as make a deviation of
        the noise a tenth of what they may be at all; means of skewed data twice the rank that the
        height is looked for at; a count two deviations of its noise.

        Args:
            statistic: with its part of the guarantee.
            mechanism: that of the statistic, where its noise does not depend on the rows.
        """
        query = statistic.query
        if isinstance(mechanism, SkewedNoise):
            return cls(2 * float(mechanism.rank))
        if isinstance(mechanism, SumNoise):
            return cls._of_sums(mechanism)
        assert isinstance(query, Statistic)
        low, high = map(float, query.bounds)
        return cls(useful_size(query, statistic.guarantee), width=high - low)

    @classmethod
    def _of_sums(cls, mechanism: SumNoise) -> Judge:
        query, law = mechanism.query, mechanism.law
        deviation = law.deviation * float(query.unit)
        if isinstance(query, Sum):
            least = _SHARE * deviation / float(max(map(abs, query.bounds)))
            return cls(least, (0.0,), deviation)
        if isinstance(query, ClampedMean | Variance):
            low, high = map(float, query.bounds)
            width = high - low
            if isinstance(query, ClampedMean):
                return cls(_SHARE * deviation, (low, high), width * deviation, True, width)
            return cls(_VARIANCE * _SHARE * deviation, (0.0,), width**2 * deviation, True)
        return cls.of_count(law)

    @classmethod
    def of_count(cls, law: WholeLaw) -> Judge:
        """Return it for a count: fewer rows than two deviations of the noise.

        >>> from fractions import Fraction
        >>> from smoothdp.mechanisms.additive.whole_laws import DiscreteLaplaceLaw
        >>> round(Judge.of_count(DiscreteLaplaceLaw(Fraction(10))).least, 1)
        28.3
        """
        return cls(_DEVIATIONS * law.deviation)

    def is_noise(self, size: float, value: float, interval: tuple[float, float] | None) -> bool:
        """Return whether a result of about ``size`` rows is no more than noise."""
        reach = _DEVIATIONS * self.deviation / (max(1.0, size) if self.per_row else 1)
        near = any(abs(value - end) < reach for end in self.ends)
        wide = interval is not None and interval[1] - interval[0] >= self.width / _HALF
        return size < self.least or near or wide


@dataclass(frozen=True, slots=True)
class Marks:
    """Which results of a table are judged, and how.

    Attributes:
        judges: by name. sized: the names of which a number of rows is known that is public or
            released. by: what number that is, in words; empty for that of counts alone.
    """

    judges: Mapping[str, Judge]
    sized: frozenset[str]
    by: str

    def is_noise(
        self,
        name: str,
        size: float | Fraction | None,
        value: float,
        interval: tuple[float, float] | None,
    ) -> bool:
        """Return whether a result may be noise; False where no size may be known."""
        if size is None or name not in self.sized:
            return False
        return self.judges[name].is_noise(float(size), value, interval)

    def words(self) -> str | None:
        """Return by what cells are marked; None where no number of rows is known."""
        if not self.sized:
            return None
        names = [name for name in self.judges if name in self.sized]
        fewer = ", ".join(f"{name} below {self.rows(name)}" for name in names)
        said = [f"{self.by or 'the count itself'} ({fewer})"]
        if any(self.judges[name].ends for name in names):
            said.append("a value within two deviations of its noise from 0 or a bound")
        if any(math.isfinite(self.judges[name].width) for name in names):
            said.append("an interval over half of the bounds")
        open_names = [name for name in self.judges if name not in self.sized]
        unknown = f"; not judged, no number of rows being known: {', '.join(open_names)}"
        return f"judged by {'; '.join(said)}" + (unknown if open_names else "")

    def rows(self, name: str) -> str:
        """Return from how many rows on a result is more than noise, in words."""
        least = self.judges[name].least
        return f"{math.ceil(least)}" if math.isfinite(least) else "any number"
