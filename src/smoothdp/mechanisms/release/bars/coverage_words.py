"""What an interval contains, and how surely, in one sentence."""

from __future__ import annotations

from fractions import Fraction

from smoothdp.exact.parameters.numbers import exact_text
from smoothdp.mechanisms.release.bars.targets import Target
from smoothdp.mechanisms.release.statistic_words import (
    clamped_words,
    stands_for,
    statistic_words,
)
from smoothdp.queries import Median, Quantile, Query
from smoothdp.queries.private_size.padded_window import PaddedWindow
from smoothdp.queries.read_arguments import bounds_text
from smoothdp.queries.statistic import Statistic


def coverage_words(
    target: Target,
    query: Statistic,
    n_records: int | None,
    *,
    confidence: Fraction,
    sd_bound: Fraction | None,
    is_nominal: bool,
) -> str:
    """Return the sentence: "contains ... with probability at least ...".

    Args:
        target: what is covered. query: the statistic, window and all. n_records: n if public.
        confidence, sd_bound, is_nominal: as of `Coverage`.
    """
    level = f"{float(confidence):.15g}"
    if is_nominal:
        what = "mean between the trimming quantiles"
        if target == "mean":
            deviation = "" if sd_bound is None else f", deviation at most {float(sd_bound):g}"
            what = f"mean of values clamped to the bounds{deviation}"
        return f"contains, with a nominal probability of {level}, the population's {what} (nominal)"
    surely = f"with probability at least {level}, whatever the records are"
    if target == "population":
        return (
            f"contains, with probability at least {level}, {quantile_name(query)} of the "
            "population the records were drawn from independently, whatever its distribution; "
            f"{_clamped(query)}"
        )
    if target == "quantile":
        return f"contains {quantile_name(query)} of these records {surely}; {_clamped(query)}"
    if target == "mean":
        return f"contains the mean of these records {surely}; {_clamped(query)}"
    around = _around(query, n_records)
    if around:
        return f"contains {around} {surely}; {_clamped(query)}"
    if isinstance(query, Query) and n_records is not None:
        words = statistic_words(query, n_records)
        return f"contains {words} of these records {surely}; {clamped_words(query)}"
    whose = "records" if isinstance(query, Query | PaddedWindow) else "data"
    surely = surely.replace("the records", f"the {whose}")
    return f"contains of these {whose} the {query.describe()}, {surely}"


def quantile_name(query: Statistic) -> str:
    """Return the plain quantile that a median, a quantile or its window stands for.

    >>> quantile_name(Quantile("0.9", bounds=(0, 9), window=3))
    'the 0.9-quantile'
    """
    q = Fraction(1, 2)
    if isinstance(query, Quantile):
        q = query.q
    elif isinstance(query, PaddedWindow):
        q = query.level
    if q == Fraction(1, 2):
        return "the median"
    short = f"{float(q):.15g}"
    return f"the {short if Fraction(short) == q else exact_text(q)}-quantile"


def _around(query: Statistic, n_records: int | None) -> str:
    """Return the window that stands in for a quantile; "" for what is no such window."""
    if isinstance(query, Median | Quantile) and n_records is not None:
        if not stands_for(query, n_records):
            return ""
        values = n_records - sum(query.drops(n_records))
        return f"the mean of the {values} values around it (not the quantile)"
    if isinstance(query, PaddedWindow) and query.stands_for_quantile:
        if query.width == 1 and query.level == Fraction(1, 2):
            return "the median of these records"
        return f"the mean of the {float(query.width):.4g} ranks around it (not the quantile)"
    return ""


def _clamped(query: Statistic) -> str:
    return f"each value clamped to {bounds_text(query.bounds)}"
