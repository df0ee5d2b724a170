"""What a plan weighed against its choice, and what it put in the place of a wish."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from smoothdp.noise.law import NoiseDistribution
from smoothdp.queries import Query, TrimmedMean


@dataclass(frozen=True, slots=True)
class Alternative:
    """A choice that was weighed; its errors are those of `Plan`, by an estimated noise scale.

    >>> from smoothdp.planning.make import plan
    >>> from smoothdp.privacy import PureDP
    >>> from smoothdp.queries import Median
    >>> made = plan(Median((0, 100)), guarantee=PureDP(1), n_records=1000)
    >>> made.runners_up[0].describe().startswith("median")
    True
    """

    query: Query
    noise: NoiseDistribution
    smoothing: Fraction
    rmse: float
    privacy_rmse: float
    rmse_without_noise: float
    rmse_lower_bound: float
    half_width: float | None = None

    def describe(self) -> str:
        """Return the choice in one line."""
        least = ""
        if self.rmse_lower_bound > self.rmse_without_noise:
            least = f", its own least {self.rmse_lower_bound:.4g}"
        return (
            f"{self.query.describe()}; {self.noise!r}, t = {smoothing_text(self.smoothing)}: "
            f"release {self.rmse:.4g}, sampling {self.rmse_without_noise:.4g}, "
            f"privacy {self.privacy_rmse:.4g}{least}"
            + ("" if self.half_width is None else f", bars +- {self.half_width:.4g}")
        )


@dataclass(frozen=True, slots=True)
class Replaced:
    """The trimmed mean that was asked for, where a plan trims otherwise.

    Attributes:
        query: what was asked for.
        rmse: its error as in `Plan`, by an estimated noise scale; None where no noise serves.

    >>> Replaced(TrimmedMean("0.05", bounds=(0, 9)), 0.25).query.trim
    Fraction(1, 20)
    """

    query: TrimmedMean
    rmse: float | None


def smoothing_text(smoothing: Fraction) -> str:
    """Return a smoothing as a short decimal.

    >>> smoothing_text(Fraction(19, 250))
    '0.076'
    """
    return f"{float(smoothing):.6g}"
