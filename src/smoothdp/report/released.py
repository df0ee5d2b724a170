"""The words that stand beside a released number: which statistic it is."""

from __future__ import annotations

from smoothdp.claims import Guarantee
from smoothdp.mechanisms.release.by_ranks import draws_by_ranks
from smoothdp.mechanisms.release.defaults import resolve_window
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.mechanisms.release.statistic_words import drawn_words, value_words
from smoothdp.queries import Median, Quantile, Query


def released_words(
    query: Query, *, guarantee: Guarantee, n_records: int, error_bars: bool = False
) -> str:
    """Return which statistic `sd.release` has released, what its rule chose resolved.

    Args:
        query: as it was given to the release. guarantee: of the release. n_records: n, public.
        error_bars: whether the release had a confidence, which makes the default window longer.

    >>> from smoothdp.claims import PureDP
    >>> from smoothdp.queries import Median
    >>> released_words(Median((0, 9)), guarantee=PureDP(1), n_records=1001)
    'the mean of the 13 middle values, in place of the median; each value clamped to [0, 9]'
    """
    request = ReleaseRequest(query, guarantee)
    is_drawn = not error_bars and draws_by_ranks(request, n_records)
    if is_drawn and isinstance(query, Median | Quantile):
        return drawn_words(query)
    return value_words(
        resolve_window(query, guarantee, n_records, error_bars=error_bars), n_records
    )
