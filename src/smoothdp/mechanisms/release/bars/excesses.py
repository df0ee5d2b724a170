"""How far what is to be covered may be from the released statistic: k of quantile-bars.

All of it is a function of public numbers: n where it is public, level, window and smoothing.
"""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.bars.mixture import Mixture, population_mixture
from smoothdp.queries import Median, Quantile
from smoothdp.queries.excess import excess_at_rank
from smoothdp.queries.private_size.padded_window import PaddedWindow
from smoothdp.queries.statistic import Statistic

_HALF = Fraction(1, 2)


def excess_mixture(
    coverage: Coverage, query: Statistic, n_records: int | None, smoothing: Fraction
) -> Mixture:
    """Return the excesses of what is covered, in units of S; one of 0 for the window itself.

    Args:
        coverage: checked for the query. query: window and all. n_records: n where it is public.
        smoothing: t.

    Source: proofs/quantile-bars#3, #4, #8.

    >>> from smoothdp.queries import Median
    >>> covers = Coverage.read("0.95", covers="quantile")
    >>> mixture = excess_mixture(covers, Median((0, 9), window=5), 1001, Fraction(1, 50))
    >>> round(float(mixture.excess[0]), 6)
    2.0
    """
    if isinstance(query, PaddedWindow):
        is_window = coverage.target != "quantile"
        return Mixture.single(0.0 if is_window else float(query.width / (2 * query.step)))
    if not isinstance(query, Median | Quantile) or n_records is None:
        return Mixture.single(0.0)
    if coverage.target == "quantile":
        return Mixture.single(plain_excess(query, n_records, smoothing))
    if coverage.target == "population":
        level, drops = level_of(query), query.drops(n_records)
        return population_mixture(n_records, level, drops, smoothing, coverage.miss)
    return Mixture.single(0.0)


def level_of(query: Median | Quantile) -> Fraction:
    """Return q, exactly."""
    return query.q if isinstance(query, Quantile) else _HALF


def plain_excess(query: Median | Quantile, n_records: int, smoothing: Fraction) -> float:
    """Return k of every plain q-quantile, and of the value of the query's rank.

    The plain q-quantiles are [x_(ceil(q n)), x_(floor(q n) + 1)], in rationals: .07 of 100 is 7,
    not the 8 of floats.

    Source: proofs/quantile-bars#3.

    >>> plain_excess(Quantile("0.07", bounds=(0, 1), window=3), 100, Fraction(1, 10))
    2.0
    """
    place = level_of(query) * n_records
    low, high = math.ceil(place), math.floor(place) + 1
    if isinstance(query, Quantile):
        rank = query.rank(n_records)
        low, high = min(rank, low), max(rank, high)
    drops = query.drops(n_records)
    up = excess_at_rank(n_records, drops, low, smoothing).up
    return max(up, excess_at_rank(n_records, drops, high - 1, smoothing).down)
