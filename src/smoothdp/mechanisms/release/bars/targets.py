"""What an interval is asked to cover: the names of `covers=`, and which one goes without saying."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, cast, get_args

from smoothdp.claims.neighbours import Neighbours
from smoothdp.errors import InvalidParameter
from smoothdp.queries import ClampedMean, Mean, Median, Quantile, Quantiles, TrimmedMean

Target = Literal["quantile", "population", "window", "mean"]

_WERE = {"statistic": "window"}
"""Names of older versions, and the present ones."""


def read_target(covers: str) -> Target:
    """Return what ``covers`` names, or raise InvalidParameter.

    >>> read_target("window")
    'window'
    """
    if covers in get_args(Target):
        return cast("Target", covers)
    now = _WERE.get(covers) if isinstance(covers, str) else None
    raise InvalidParameter(
        expected='covers "quantile", "population", "window" or "mean"',
        got=f"covers={covers!r}",
        remedy=f'Use covers="{now}", which is its new name'
        if now
        else 'Use covers="quantile" for a median or quantile, or leave covers out',
    )


def is_quantile(query: object) -> bool:
    """Whether a statistic is a median, or a quantile strictly between the extremes."""
    return isinstance(query, Median) or (isinstance(query, Quantile) and 0 < query.q < 1)


def is_narrow(query: object) -> bool:
    """Whether a given window is below 2 M ranks, M = max(q, 1 - q): for a private n."""
    if not isinstance(query, Median | Quantile) or query.window is None:
        return False
    q = query.q if isinstance(query, Quantile) else Fraction(1, 2)
    return query.window < 2 * max(q, 1 - q)


def default_target(query: object, neighbours: Neighbours = Neighbours.REPLACE_ONE) -> Target:
    """Return what an interval covers unless said: the quantile, the mean of all, else the window.

    Where n is private a window that was given may be too narrow for the quantile.

    >>> from smoothdp.queries import Maximum
    >>> [default_target(kind((0, 9))) for kind in (Median, Mean, Maximum)]
    ['quantile', 'mean', 'window']
    """
    if isinstance(query, Quantiles):
        return "quantile"
    if is_quantile(query):
        is_private = neighbours is Neighbours.ADD_REMOVE
        return "window" if is_private and is_narrow(query) else "quantile"
    leaves_out_none = isinstance(query, TrimmedMean) and (query.trim, query.truncate) == (
        0,
        "inputs",
    )
    return "mean" if leaves_out_none or isinstance(query, Mean | ClampedMean) else "window"
