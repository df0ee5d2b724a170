"""What every way of computing smoothed delta returns."""

from __future__ import annotations

from typing import NamedTuple

from smoothdp.exact.logspace.bounds import LogBounds


class Bracket(NamedTuple):
    """Bounds of ln of smoothed delta.

    ``vertex_counts`` is the composition that gives the lower bound: records per vertex;
    ``method`` says in words how the bounds were found.
    """

    logs: LogBounds
    vertex_counts: tuple[int, ...]
    method: str
