"""Which windows and trimmings a plan tries."""

from __future__ import annotations

from smoothdp.errors import InvalidData
from smoothdp.queries import Mean, Median, Quantile, Query, TrimmedMean

_GROWTH = 1.22
_WIDEST = 0.3
_MOST_TRIMMED = 0.45


def candidate_queries(
    query: Query, n_records: int, *, may_change_trim: bool = False
) -> list[Query]:
    """Return the statistics to compare: windows up to .3 of the shorter side, or the query.

    Trims up to .45 where another may take the place of the query's, which is among them.

    Raises:
        InvalidData: too few records for the statistic.
    """
    if isinstance(query, Median) and query.window is None:
        shorter_side = (n_records - 1) // 2
        return [Median(query.bounds, window=w) for w in _windows(shorter_side)]
    if isinstance(query, Quantile) and query.window is None:
        rank = query.rank(n_records)
        shorter_side = min(rank - 1, n_records - rank)
        return [Quantile(query.q, bounds=query.bounds, window=w) for w in _windows(shorter_side)]
    if sum(query.drops(n_records)) >= n_records:
        raise InvalidData(
            expected=f"records for the {query.describe()}",
            got=f"{n_records}",
            remedy="Take more records",
        )
    if isinstance(query, TrimmedMean) and may_change_trim:
        # As a count, so that the trimming asked for is among them.
        trims = sorted({*_trims(n_records), query.drops(n_records)[0]})
        return [TrimmedMean(m, bounds=query.bounds) for m in trims]
    return [query]


def plain(query: Query) -> Query:
    """Return the statistic that would be published without privacy."""
    if isinstance(query, Median):
        return Median(query.bounds, window=1)
    if isinstance(query, Quantile):
        return Quantile(query.q, bounds=query.bounds, window=1)
    return Mean(query.bounds) if isinstance(query, TrimmedMean) else query


def without_window(query: Query) -> Query:
    """Return a median or quantile as one whose window is open; others as they are."""
    if isinstance(query, Median):
        return Median(query.bounds)
    return Quantile(query.q, bounds=query.bounds) if isinstance(query, Quantile) else query


def _windows(shorter_side: int) -> list[int]:
    widths, width = [1], 3.0
    while width <= max(1.0, _WIDEST * shorter_side):
        widths.append(round((width - 1) / 2) * 2 + 1)
        width *= _GROWTH
    return sorted(set(widths))


def _trims(n_records: int) -> list[int]:
    trims, trim = [0], 1.0
    while trim <= _MOST_TRIMMED * n_records:
        trims.append(round(trim))
        trim *= _GROWTH
    return sorted(set(trims))
