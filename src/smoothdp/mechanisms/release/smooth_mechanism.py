"""The mechanism at smooth sensitivity for a request: with bars, by one law for both or by two."""

from __future__ import annotations

from dataclasses import replace

from smoothdp.mechanisms.release.bars.bare_bars import BareBars
from smoothdp.mechanisms.release.bars.budget import is_worth
from smoothdp.mechanisms.release.bars.pair_noise import PairNoise, takes_pair
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.mechanisms.release.resolved import resolve_request
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise


def smooth_mechanism(
    request: ReleaseRequest, *, n_records: int | None
) -> SmoothNoise | PairNoise | BareBars:
    """Return the mechanism that a request asks for; raises as `SmoothNoise.calibrate`.

    Args:
        request: what is asked for. n_records: n where it is public.

    >>> from smoothdp.claims import PureDP
    >>> from smoothdp.mechanisms.release.bars.coverage import Coverage
    >>> from smoothdp.queries import Median
    >>> request = ReleaseRequest.read(
    ...     Median((0, 9)), guarantee=PureDP(1), coverage=Coverage.read("0.9", covers="quantile")
    ... )
    >>> type(smooth_mechanism(request, n_records=1001)).__name__
    'PairNoise'
    """
    resolved = resolve_request(request, n_records=n_records)
    asked = resolved.request
    is_refused = asked.coverage is not None and not is_worth(asked.guarantee, resolved.smoothing)
    if is_refused and asked.is_guess_released:
        # A released count led here: nothing is refused any more, and [a, b] costs nothing.
        assert asked.coverage is not None
        bare = replace(resolved, request=replace(asked, coverage=None))
        return BareBars(SmoothNoise.of_resolved(bare), asked.coverage)
    return (
        PairNoise.of_resolved(resolved)
        if takes_pair(resolved)
        else SmoothNoise.of_resolved(resolved)
    )
