"""Where a release without a plan draws a quantile by ranks: a rule on public facts alone.

With kappa = n min(q, 1 - q) epsilon (epsilon = sqrt(2 rho) of concentrated claims, n the public
number of records, or a guess of it where n is private) the exponential mechanism on ranks takes
the place of a window with smooth noise

    below kappa = 4      under pure and approximate DP, one record replaced
    below kappa = 2.5    where a record is added or removed

unless the caller fixed a window, a smoothing or a law, or wants error bars, which a draw has not.
Both errors are then of the order of the bounds; there the draw errs less by up to a half. With
bounds close to the data it is the better one a little longer, with wide ones shorter: how close
they are, a rule does not know. `smoothdp.plan` does, if it is told.

Source: measured by `python -m benchmarks.accuracy` (proofs/release-rules#1, #6), and
docs/decisions/0021-the-adviser.
"""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.claims.neighbours import Neighbours
from smoothdp.claims.terms import EpsilonTerms
from smoothdp.mechanisms.quantiles.exponential.exponential_quantile import ExponentialQuantile
from smoothdp.mechanisms.release.defaults import Rule
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.queries import Median, Quantile, Query

FEW = {Neighbours.REPLACE_ONE: 4.0, Neighbours.ADD_REMOVE: 2.5}
"""Below so much kappa a quantile is drawn by ranks."""


def draws_by_ranks(request: ReleaseRequest, size: int | Fraction | None) -> bool:
    """Return whether the rule draws what is asked for by ranks.

    Args:
        request: what is asked for. size: n where it is public, else a guess of it; None: unknown.

    >>> from smoothdp.claims import PureDP
    >>> request = ReleaseRequest.read(Median((0, 9)), guarantee=PureDP("0.1"))
    >>> draws_by_ranks(request, 79), draws_by_ranks(request, 80)
    (True, False)
    """
    level = _level(request.query)
    if size is None or level is None or not 0 < level < 1:
        return False
    is_fixed = request.noise is not None or request.smoothing is not None
    if is_fixed or request.coverage is not None or not _has_room(request):
        return False
    guarantee = request.guarantee
    is_pure = isinstance(guarantee.terms(), EpsilonTerms)
    if not is_pure and guarantee.neighbours is not Neighbours.ADD_REMOVE:
        return False
    few = FEW.get(guarantee.neighbours, 0.0)
    return float(size * min(level, 1 - level)) * Rule.of(guarantee).epsilon < few


def by_ranks(request: ReleaseRequest) -> ExponentialQuantile:
    """Return the mechanism that draws what is asked for by ranks."""
    level = _level(request.query)
    assert level is not None
    assert isinstance(request.query, Query)
    return ExponentialQuantile(
        level, bounds=request.query.bounds, guarantee=request.guarantee, round_to=request.step
    )


def _level(query: object) -> Fraction | None:
    """Return q of a median or quantile whose window is open; None of all else."""
    if type(query) is Median and query.window is None:
        return Fraction(1, 2)
    if type(query) is Quantile and query.window is None:
        return query.q
    return None


def _has_room(request: ReleaseRequest) -> bool:
    """Return whether some multiple of the output's step lies within the bounds."""
    if request.step is None or not isinstance(request.query, Query):
        return True
    low, high = request.query.bounds
    return math.ceil(low / request.step) <= math.floor(high / request.step)
