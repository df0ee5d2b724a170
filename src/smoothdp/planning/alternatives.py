"""The choices that a plan weighed against its own, and the trimmed mean that a plan replaced."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from fractions import Fraction

from smoothdp.mechanisms.release.statistic_words import statistic_words
from smoothdp.noise.law import NoiseDistribution
from smoothdp.queries import Query, TrimmedMean

WINDOW = "window"
"""The mean of a window, noise scaled to its smooth sensitivity (or (b - a) / n of a mean)."""
EXPONENTIAL = "exponential mechanism"
"""A quantile drawn by ranks."""
HALF_SHIFT = "half shift"
"""A quantile behind a hidden shift of half ranks, window and noise by the rule of `release`."""
GLOBAL = "global sensitivity"
"""The mean of a window, noise scaled to what it moves by at all data."""
CLIPPED = "clipped mean"
"""The mean of all values, clamped to the bounds, in the place of a quantile."""
MIDPOINT = "midpoint"
"""The middle of the bounds, which reads no data."""
PAIR = "window, max law"
"""The mean of a window and bars of its quantile, one law of noise for both."""
METHODS = (WINDOW, PAIR, EXPONENTIAL, HALF_SHIFT, GLOBAL, CLIPPED, MIDPOINT)
WITHOUT_NOISE = (PAIR, EXPONENTIAL, HALF_SHIFT, MIDPOINT)
"""Methods without a law to choose: none is added, or the mechanism chooses its own."""

ERRORS_OF_OTHERS = ("rmse", "privacy_rmse", "rmse_without_noise", "rmse_lower_bound")
ERRORS = (*ERRORS_OF_OTHERS[:3], "rmse_without_privacy", "rmse_lower_bound")
"""What a plan says of errors; None, all of them, where nothing was assumed."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """A choice that was weighed; its errors are those of `Plan`, by an estimated noise scale.

    They are None where nothing was assumed, but for `gaps`, which has no unit.

    Attributes:
        query: the statistic, its window resolved.
        noise: its law, at unit scale; None where nothing is added, or the mechanism chooses it.
        smoothing: t; 0 where the sensitivity is the same at all data, None without a law.
        rmse, privacy_rmse, rmse_without_noise, rmse_lower_bound, half_width: as of `Plan`.
        method: how it is released: "window", "window, max law", "exponential mechanism",
            "half shift", "global sensitivity", "clipped mean" or "midpoint".
        gaps: `privacy_rmse` in mean distances of neighbouring values near the quantile.

    >>> from smoothdp.planning.search import plan
    >>> from smoothdp.claims import PureDP
    >>> from smoothdp.queries import Median
    >>> made = plan(Median((0, 100)), guarantee=PureDP(1), n_records=1000)
    >>> made.runners_up[0].describe(1000).partition("; ")[0]
    'the mean of the 16 middle values'
    """

    query: Query
    noise: NoiseDistribution | None
    smoothing: Fraction | None
    rmse: float | None
    privacy_rmse: float | None
    rmse_without_noise: float | None
    rmse_lower_bound: float | None
    half_width: float | None = None
    method: str = WINDOW
    gaps: float | None = None

    @property
    def has_lower_bound(self) -> bool:
        """Whether a bound on all noise is known that says more than the error without noise."""
        bound, without = self.rmse_lower_bound, self.rmse_without_noise
        return bound is not None and without is not None and bound > without

    def without_errors(self) -> Alternative:
        """Return the choice without its errors in the user's units."""
        return replace(
            self,
            rmse=None,
            privacy_rmse=None,
            rmse_without_noise=None,
            rmse_lower_bound=None,
            half_width=None,
        )

    def name(self, n_records: int) -> str:
        """Return the choice for n records in words, without figures."""
        return choice_words(self.method, self.query, self.noise, self.smoothing, n_records)

    def describe(self, n_records: int) -> str:
        """Return the choice for n records in one line, with errors if something was assumed."""
        gaps = "" if self.gaps is None else f"{self.gaps:.3g} gaps"
        if self.rmse is None:
            return f"{self.name(n_records)}" + (f": {gaps}" if gaps else "")
        least = f", its own least {self.rmse_lower_bound:.4g}" if self.has_lower_bound else ""
        return (
            f"{self.name(n_records)}: "
            f"release {self.rmse:.4g}, sampling {self.rmse_without_noise:.4g}, "
            f"privacy {self.privacy_rmse:.4g}{f' ({gaps})' if gaps else ''}{least}"
            + ("" if self.half_width is None else f", bars +- {self.half_width:.4g}")
        )


def choice_words(
    method: str,
    query: Query,
    noise: NoiseDistribution | None,
    smoothing: Fraction | None,
    n_records: int,
) -> str:
    """Return a choice in words.

    >>> from smoothdp.queries import Median
    >>> choice_words(EXPONENTIAL, Median((0, 9), window=1), None, None, 99)
    'the exponential mechanism on ranks'
    """
    if method == EXPONENTIAL:
        return "the exponential mechanism on ranks"
    if method == HALF_SHIFT:
        return "a half shift"
    if method == MIDPOINT:
        return NO_DATA
    words = statistic_words(query, n_records)
    if method == PAIR:
        return f"{words}; the max law, t = {smoothing_text(smoothing or Fraction(0))}"
    if method in (GLOBAL, CLIPPED):
        return f"{type(noise).__name__} noise to global sensitivity, on {words}"
    return f"{words}; {noise!r}, t = {smoothing_text(smoothing or Fraction(0))}"


NO_DATA = "the middle of the bounds, without data"


def as_alternative(choice: object) -> Alternative:
    """Return the choice of a plan as one of several."""
    return Alternative(*(getattr(choice, field.name) for field in fields(Alternative)))


@dataclass(frozen=True, slots=True)
class Rival:
    """Another way to the same target under the same guarantee.

    Attributes:
        name: the method in words.
        error: its root mean square error, values clamped to the bounds, against what the choice
            of the plan was judged by (`Plan.compared_error`).

    >>> Rival("the middle of the bounds, without data", 3.0).error
    3.0
    """

    name: str
    error: float


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
