"""The choices that a plan weighed against its own, and the trimmed mean that a plan replaced."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from smoothdp.mechanisms.release.statistic_words import statistic_words
from smoothdp.noise.law import NoiseDistribution
from smoothdp.queries import Query, TrimmedMean

ERRORS_OF_OTHERS = ("rmse", "privacy_rmse", "rmse_without_noise", "rmse_lower_bound")
ERRORS = (*ERRORS_OF_OTHERS[:3], "rmse_without_privacy", "rmse_lower_bound")
"""What a plan says of errors; None, all of them, where nothing was assumed."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """A choice that was weighed; its errors are those of `Plan`, by an estimated noise scale.

    They are None where nothing was assumed.

    >>> from smoothdp.planning.search import plan
    >>> from smoothdp.claims import PureDP
    >>> from smoothdp.queries import Median
    >>> made = plan(Median((0, 100)), guarantee=PureDP(1), n_records=1000)
    >>> made.runners_up[0].describe(1000).partition("; ")[0]
    'the mean of the 16 middle values'
    """

    query: Query
    noise: NoiseDistribution
    smoothing: Fraction
    rmse: float | None
    privacy_rmse: float | None
    rmse_without_noise: float | None
    rmse_lower_bound: float | None
    half_width: float | None = None

    @property
    def has_lower_bound(self) -> bool:
        """Whether a bound on all noise is known that says more than the error without noise."""
        bound, without = self.rmse_lower_bound, self.rmse_without_noise
        return bound is not None and without is not None and bound > without

    def without_errors(self) -> Alternative:
        """Return the choice without its errors."""
        return replace(
            self,
            rmse=None,
            privacy_rmse=None,
            rmse_without_noise=None,
            rmse_lower_bound=None,
            half_width=None,
        )

    def describe(self, n_records: int) -> str:
        """Return the choice for n records in one line, with errors if something was assumed."""
        words = statistic_words(self.query, n_records)
        choice = f"{words}; {self.noise!r}, t = {smoothing_text(self.smoothing)}"
        if self.rmse is None:
            return choice
        least = f", its own least {self.rmse_lower_bound:.4g}" if self.has_lower_bound else ""
        return (
            f"{choice}: "
            f"release {self.rmse:.4g}, sampling {self.rmse_without_noise:.4g}, "
            f"privacy {self.privacy_rmse:.4g}{least}"
            + ("" if self.half_width is None else f", bars +- {self.half_width:.4g}")
        )


@dataclass(frozen=True, slots=True)
class Replaced:
    """The trimmed mean that was asked for, where a plan trims otherwise.

    Attributes:
        query: what was asked for.
        rmse: its error as in `Plan`, by an estimated noise scale; None where no noise serves, or
            nothing was assumed.
        is_served: whether some noise serves it.

    >>> Replaced(TrimmedMean("0.05", bounds=(0, 9)), 0.25).query.trim
    Fraction(1, 20)
    """

    query: TrimmedMean
    rmse: float | None
    is_served: bool = True


def smoothing_text(smoothing: Fraction) -> str:
    """Return a smoothing as a short decimal.

    >>> smoothing_text(Fraction(19, 250))
    '0.076'
    """
    return f"{float(smoothing):.6g}"
