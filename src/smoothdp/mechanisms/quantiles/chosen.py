"""Which mechanism releases quantiles: chosen by public facts alone.

    one quantile    zCDP, truncated CDP and Gaussian DP, one record replaced, and neither window,
                    smoothing, noise nor confidence given: half-shift. Else the window.
    several         zCDP, truncated CDP, Gaussian DP: half-shift. Pure DP: joint noise, or the
                    joint exponential mechanism. Approximate DP: whichever of these is predicted
                    to be nearer. Where n is private, and pure DP with intervals: a release of
                    each with its part of the budget.

Source: docs/decisions/0019-quantiles-by-half-shifts, docs/decisions/0020-several-pure-quantiles.
"""

from __future__ import annotations

import math

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.neighbours import Neighbours
from smoothdp.claims.terms import EpsilonTerms, MuTerms, RhoTerms
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import float_of
from smoothdp.mechanisms.quantiles.half_shift.budget import concentrated
from smoothdp.mechanisms.quantiles.half_shift.half_shift import HalfShift
from smoothdp.mechanisms.quantiles.independent import IndependentQuantiles, SingleMaker
from smoothdp.mechanisms.quantiles.joint_release import JointQuantiles
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.queries import Median, Quantile, Quantiles

_WINDOW_RANKS = 1.75
"""Root-mean-square error of a window in ranks, times epsilon, under pure DP."""


def takes_half_shift(request: ReleaseRequest) -> bool:
    """Whether a half-shift release answers a request for one quantile by default.

    >>> from smoothdp.claims import PureDP, ZCDP
    >>> for promise in ZCDP("1/2"), PureDP(1):
    ...     takes_half_shift(ReleaseRequest.read(Median((0, 9)), guarantee=promise))
    True
    False
    """
    is_open = request.noise is None and request.smoothing is None
    has_bars = request.coverage is not None
    return is_open and shifts_by_default(request.query, request.guarantee, has_bars=has_bars)


def shifts_by_default(query: object, guarantee: Guarantee, *, has_bars: bool) -> bool:
    """Whether one quantile is released by a half shift where neither law nor smoothing is given.

    With intervals it is not: those of a window of whole ranks are shorter.
    """
    return (
        type(query) in (Median, Quantile)
        and isinstance(query, Median | Quantile)
        and query.window is None
        and not has_bars
        and isinstance(guarantee.terms(), RhoTerms | MuTerms)
        and guarantee.neighbours is Neighbours.REPLACE_ONE
    )


def several(
    request: ReleaseRequest, *, n_records: int | None, single: SingleMaker
) -> HalfShift | JointQuantiles | IndependentQuantiles:
    """Return the mechanism for `Quantiles`.

    Args:
        request: what is asked for. n_records: n where it is public.
        single: makes the mechanism of one quantile.
    """
    query = request.query
    assert isinstance(query, Quantiles)
    if n_records is not None:
        has_bars = request.coverage is not None
        if uses_half_shift(request.guarantee, len(query), has_bars=has_bars):
            return HalfShift.of_request(request, n_records=n_records)
        joint = JointQuantiles.of_request(request, n_records=n_records)
        if joint is not None:
            return joint
    return IndependentQuantiles.of_request(request, n_records=n_records, single=single)


def uses_half_shift(guarantee: Guarantee, n_values: int, *, has_bars: bool = False) -> bool:
    """Whether so many quantiles are released by half shifts under a guarantee.

    Under approximate DP where the predicted noise in ranks, (1 + sqrt m) / (2 sqrt(2 rho)) of the
    zCDP that implies it, is below that of the joint exponential mechanism,
    sqrt((8/3)(2m + 1)) / epsilon (proofs/joint-quantiles#10), or with intervals below that of
    windows with 1 / m of epsilon each.
    """
    if guarantee.neighbours is not Neighbours.REPLACE_ONE:
        return False
    terms = guarantee.terms()
    if isinstance(terms, RhoTerms | MuTerms):
        return True
    if not isinstance(terms, EpsilonTerms) or terms.delta == 0:
        return False
    try:
        rho = concentrated(guarantee).terms()
    except InvalidParameter:
        return False
    assert isinstance(rho, RhoTerms)
    shifted = (1 + math.sqrt(n_values)) / (2 * math.sqrt(2 * float_of(rho.rho)))
    epsilon = float_of(terms.epsilon)
    alone = _WINDOW_RANKS * n_values
    ranks = alone if has_bars or n_values < 2 else min(alone, math.sqrt(8 * (2 * n_values + 1) / 3))
    return epsilon == 0 or shifted < ranks / epsilon
