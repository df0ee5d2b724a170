"""What is assumed of the data: a quantile function, from a law or from a public sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from smoothdp.errors import InvalidParameter
from smoothdp.queries.read_arguments import Bounds, read_values
from smoothdp.types import FloatArray

_SPREADS = 6000
_DEGREES = 3
STAND_IN = f"Student's T({_DEGREES}) in the middle of bounds {_SPREADS} of its scale apart"
"""What a choice has to suit where nothing is assumed. Nothing is said of errors then."""
NOTHING = f"nothing; the choice suits {STAND_IN}"
# Log odds of the table of a law: to 1e-19 on both sides.
_FAR, _ROWS = 44.0, 8001
_GRID = 4000
_CERTAIN = 30.0


@dataclass(frozen=True, slots=True, eq=False)
class Assumption:
    """A law of one record, clamped to the bounds.

    Attributes:
        text: the assumption in words.
        at_log_odds: the quantile at p = 1 / (1 + e^-y), as a function of y.
        is_default: whether nothing was assumed by the caller.
    """

    text: str
    at_log_odds: Callable[[FloatArray], FloatArray]
    is_default: bool = False

    def quantile(self, p: float) -> float:
        """Return the quantile at one probability."""
        with np.errstate(divide="ignore"):
            y = np.clip(np.log(p) - np.log1p(-p), -_FAR, _FAR)
        return float(self.at_log_odds(np.atleast_1d(y))[0])

    def between(self, low: float, high: float) -> FloatArray:
        """Return quantiles at the middles of equal intervals of [low, high]."""
        p = low + (high - low) * (np.arange(_GRID) + 0.5) / _GRID
        return self.at_log_odds(np.log(p) - np.log1p(-p))

    def mean(self) -> float:
        """Return the mean; the outermost thousandths by intervals of equal log odds."""
        edges = np.linspace(-_FAR, _FAR, _ROWS)
        weights = np.diff(1 / (1 + np.exp(-edges)))
        return float(weights @ self.at_log_odds((edges[1:] + edges[:-1]) / 2) / weights.sum())

    def deviation(self) -> float:
        """Return the standard deviation."""
        edges = np.linspace(-_FAR, _FAR, _ROWS)
        weights = np.diff(1 / (1 + np.exp(-edges)))
        values = self.at_log_odds((edges[1:] + edges[:-1]) / 2) - self.mean()
        return float(np.sqrt(weights @ values**2 / weights.sum()))


def read_assumption(assuming: object, bounds: Bounds) -> Assumption:
    """Return the assumption, clamped to the bounds.

    Args:
        assuming: a frozen distribution of scipy (anything with ``ppf``), a public sample of at
            least 10 numbers, or None: Student's T of 3 degrees in the middle of the bounds,
            which are 6,000 of its scale apart.

    Raises:
        InvalidParameter: something else, or quantiles that are no numbers.
        InvalidData: a sample that is no column of numbers.
    """
    lower, upper = float(bounds[0]), float(bounds[1])
    is_default = assuming is None
    if assuming is None:
        middle, scale = (lower + upper) / 2, (upper - lower) / _SPREADS
        law: Any = _StandIn(middle, scale)
        text = NOTHING
    elif hasattr(assuming, "ppf"):
        law, text = assuming, _law_words(assuming)
    else:
        return _of_sample(assuming, lower, upper)
    odds = np.linspace(-_FAR, _FAR, _ROWS)
    try:
        below, above = law.ppf(1 / (1 + np.exp(-odds))), law.isf(1 / (1 + np.exp(odds)))
        table = np.clip(np.where(odds < 0, below, above).astype(np.float64), lower, upper)
    except (TypeError, ValueError, AttributeError) as error:
        raise _refused(f"{text} ({error})") from None
    is_step = _is_discrete(law)
    if is_step and table.shape == odds.shape:
        # Discrete laws of scipy end in nan far out; ppf and isf may round differently at atoms.
        inside = ~np.isnan(table) | (np.abs(odds) < _CERTAIN)
        nearest = np.abs(np.arange(_ROWS)[:, None] - np.flatnonzero(inside)[[0, -1]]).argmin(axis=1)
        ends = table[np.flatnonzero(inside)[[0, -1]]]
        table = np.maximum.accumulate(np.where(inside, table, ends[nearest]))
    if table.shape != odds.shape or np.isnan(table).any() or np.any(np.diff(table) < 0):
        raise _refused(f"{text}, whose quantiles are no rising numbers")

    def at_log_odds(y: FloatArray) -> FloatArray:
        if is_step:
            return np.asarray(table[np.clip(np.searchsorted(odds, y), 0, _ROWS - 1)])
        return np.asarray(np.interp(y, odds, table))

    return Assumption(text, at_log_odds, is_default)


@dataclass(frozen=True, slots=True)
class _StandIn:
    """Student's T by the two functions that are asked for: scipy.stats takes a second to load."""

    middle: float
    scale: float

    def ppf(self, p: FloatArray) -> FloatArray:
        """Return the quantiles."""
        from scipy.special import stdtrit

        return np.asarray(stdtrit(_DEGREES, p) * self.scale + self.middle)

    def isf(self, p: FloatArray) -> FloatArray:
        """Return the quantiles of 1 - p."""
        from scipy.special import stdtrit

        return np.asarray(-stdtrit(_DEGREES, p) * self.scale + self.middle)


def _is_discrete(law: object) -> bool:
    """Return whether it is a frozen discrete law of scipy, which then is loaded already."""
    family = getattr(law, "dist", None)
    if family is None:
        return False
    from scipy import stats

    return isinstance(family, stats.rv_discrete)


def _of_sample(sample: object, lower: float, upper: float) -> Assumption:
    """Quantiles of a sample, linear between its values; equal values stay together."""
    values = np.clip(np.sort(read_values(sample)).astype(np.float64), lower, upper)
    if len(values) < 10:
        raise InvalidParameter(
            expected="a public sample of at least 10 values",
            got=f"{len(values)}",
            remedy="Give at least 10 values",
        )
    levels = (np.arange(len(values)) + 0.5) / len(values)

    def at_log_odds(y: FloatArray) -> FloatArray:
        return np.asarray(np.interp(1 / (1 + np.exp(-y)), levels, values))

    return Assumption(f"a public sample of {len(values)} values", at_log_odds)


def _law_words(law: Any) -> str:
    dist = getattr(law, "dist", None)
    name = getattr(dist, "name", type(law).__name__)
    arguments = [
        f"{value:g}" for value in getattr(law, "args", ()) if isinstance(value, int | float)
    ]
    arguments += [
        f"{key}={value:g}"
        for key, value in getattr(law, "kwds", {}).items()
        if isinstance(value, int | float)
    ]
    return f"{name}({', '.join(arguments)})"


def _refused(got: str) -> InvalidParameter:
    return InvalidParameter(
        expected="assuming as a frozen distribution of scipy or a public sample",
        got=got,
        remedy="Give a distribution such as scipy.stats.norm(20, 5), or None",
    )
