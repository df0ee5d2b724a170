"""Which values of a column a released number is the mean of, in words.

A median or quantile without a window of its own gets one (`resolve_window`): what is released,
and what error bars are about, is then the mean of that window, and the words say so.
"""

from __future__ import annotations

from smoothdp.queries import (
    Maximum,
    Mean,
    Median,
    Minimum,
    Quantile,
    Query,
    TrimmedMean,
    WindowMean,
)
from smoothdp.queries.read_arguments import bounds_text
from smoothdp.queries.statistic import Statistic

_NAMED = (Maximum, Mean, Median, Minimum, Quantile, TrimmedMean, WindowMean)
"""Windows of order statistics; another statistic describes itself."""


def statistic_words(query: Statistic, n_records: int | None) -> str:
    """Return the statistic of n records in words: the mean of which values.

    Args:
        query: the statistic, its window resolved. n_records: n, public; None for a `Custom`.

    >>> statistic_words(Median((0, 9), window=39), 1000)
    'the mean of the 40 middle values'
    >>> statistic_words(Quantile("0.9", bounds=(0, 9), window=39), 1000)
    'the mean of the 39 values around rank 900 of 1000'
    """
    if not isinstance(query, _NAMED) or n_records is None:
        return query.describe()
    if isinstance(query, Minimum | Maximum):
        return "the smallest value" if isinstance(query, Minimum) else "the largest value"
    low, high = query.drops(n_records)
    left = n_records - low - high
    if isinstance(query, Median):
        return "the middle value" if left == 1 else f"the mean of the {left} middle values"
    if isinstance(query, Quantile):
        rank = f"rank {query.rank(n_records)} of {n_records}"
        if left == 1:
            return f"the value of {rank}"
        return f"the mean of the {left} values around {rank}"
    if low == high == 0:
        return f"the mean of all {n_records} values"
    values = "the one value" if left == 1 else f"the {left} values"
    dropped = f"{low} a side"
    if low != high:
        dropped = f"the {low} smallest and the {high} largest"
    return f"the mean of {values} left after dropping {dropped}"


def clamped_words(query: Query) -> str:
    """Return what is clamped to the bounds.

    >>> clamped_words(Median((0, 9)))
    'each value clamped to [0, 9]'
    """
    clamped = "each value" if query.truncate == "inputs" else "the mean"
    return f"{clamped} clamped to {bounds_text(query.bounds)}"


def drawn_words(query: Median | Quantile) -> str:
    """Return what stands beside a quantile that was drawn by ranks.

    >>> drawn_words(Quantile("0.9", bounds=(0, 9)))
    'the 0.9 quantile, drawn by ranks; each value clamped to [0, 9]'
    """
    plain = "the median" if isinstance(query, Median) else f"the {float(query.q):g} quantile"
    return f"{plain}, drawn by ranks; {clamped_words(query)}"


def stands_for(query: Statistic, n_records: int | None) -> str:
    """Return the plain statistic that a window stands in for; "" if none.

    >>> stands_for(Median((0, 9), window=39), 1000)
    'the median'
    """
    if n_records is None:
        return ""
    if isinstance(query, Median):
        is_plain = query.drops(n_records)[0] == (n_records - 1) // 2
        return "" if is_plain else "the median"
    if isinstance(query, Quantile):
        is_plain = sum(query.drops(n_records)) == n_records - 1
        return "" if is_plain else f"the {float(query.q):g} quantile"
    return ""


def value_words(query: Statistic, n_records: int | None) -> str:
    """Return what stands beside a released number: which statistic it is, and in whose place.

    >>> value_words(Median((0, 9), window=39), 1001)
    'the mean of the 39 middle values, in place of the median; each value clamped to [0, 9]'
    """
    if not isinstance(query, _NAMED) or n_records is None:
        return query.describe()
    plain = stands_for(query, n_records)
    instead = f", in place of {plain}" if plain else ""
    return f"{statistic_words(query, n_records)}{instead}; {clamped_words(query)}"
