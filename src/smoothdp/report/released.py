"""The words that stand beside a released number: which statistic it is."""

from __future__ import annotations

from smoothdp.claims import Guarantee
from smoothdp.mechanisms.quantiles.chosen import shifts_by_default
from smoothdp.mechanisms.quantiles.half_shift.rules import shifted_words
from smoothdp.mechanisms.release.bars.targets import read_target
from smoothdp.mechanisms.release.by_ranks import draws_by_ranks
from smoothdp.mechanisms.release.defaults import resolve_window
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.mechanisms.release.statistic_words import drawn_words, value_words
from smoothdp.queries import Median, Quantile, Query


def released_words(
    query: Query, *, guarantee: Guarantee, n_records: int, covers: str | None = None
) -> str:
    """Return which statistic `sd.release` has released, what its rule chose resolved.

    Args:
        query: as it was given to the release. guarantee: of the release. n_records: n, public.
        covers: what its interval covers, which decides the default window; None: no interval.

    Raises:
        InvalidParameter: a ``covers`` that is none.

    >>> from smoothdp.claims import PureDP
    >>> from smoothdp.queries import Median
    >>> released_words(Median((0, 9)), guarantee=PureDP(1), n_records=1001)
    'the mean of the 13 middle values, in place of the median; each value clamped to [0, 9]'
    """
    if shifts_by_default(query, guarantee, has_bars=covers is not None):
        assert isinstance(query, Median | Quantile)
        return shifted_words(query, guarantee, n_records)
    is_drawn = covers is None and draws_by_ranks(ReleaseRequest(query, guarantee), n_records)
    if is_drawn and isinstance(query, Median | Quantile):
        return drawn_words(query)
    target = None if covers is None else read_target(covers)
    return value_words(resolve_window(query, guarantee, n_records, covers=target), n_records)
