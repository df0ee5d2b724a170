"""US presidential elections: votes of the two leading candidates.

Provenance of ``us_elections.csv`` (1920-2024) and ``us_units_2020.csv`` (50 states, the
District of Columbia, the districts of Maine and Nebraska, and both statewide rows): compiled
and cross-checked from several public records; 1920-2016 follow the tables that agree with
Leip's Atlas, 2020 and 2024 the Federal Election Commission. Sources differ by up to 1.2% of
votes (New York fusion lines) and never by more than 0.003 in the two-party share.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple


class Election(NamedTuple):
    """One election: year, the two leading candidates and their popular votes."""

    year: int
    candidates: tuple[str, str]
    votes: tuple[int, int]


class Unit(NamedTuple):
    """One unit of the election of 2020: its name and the votes of Biden and Trump."""

    name: str
    votes: tuple[int, int]


def elections() -> list[Election]:
    """Return the 27 elections from 1920 to 2024, in order.

    >>> elections()[-2].votes
    (81283501, 74223975)
    """
    return [
        Election(
            year=int(row["year"]),
            candidates=(row["candidate_1"], row["candidate_2"]),
            votes=(int(row["votes_1"]), int(row["votes_2"])),
        )
        for row in _rows("us_elections.csv")
    ]


def units_2020() -> list[Unit]:
    """Return the 56 units of 2020, states first.

    >>> max(units_2020(), key=lambda unit: unit.votes[0] / sum(unit.votes)).name
    'DC'
    """
    return [
        Unit(row["unit"], (int(row["biden"]), int(row["trump"])))
        for row in _rows("us_units_2020.csv")
    ]


def _rows(name: str) -> Iterator[dict[str, str]]:
    text = files("smoothdp.papers.smoothed_dp").joinpath(name).read_text(encoding="utf-8")
    return iter(csv.DictReader(text.splitlines()))
