"""Figures of paper 1 that several tests look at: each is computed once in a process."""

from __future__ import annotations

from functools import cache

from smoothdp.papers import ElectionFigure, SmoothedElectionFigure


@cache
def smoothed_election_figure() -> SmoothedElectionFigure:
    """Return Figure 2, left."""
    return SmoothedElectionFigure.compute()


@cache
def election_figure() -> ElectionFigure:
    """Return Figure 1."""
    return ElectionFigure.compute()
