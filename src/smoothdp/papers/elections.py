"""US presidential elections 1920-2024: votes of the two leading candidates.

Provenance of ``us_elections.csv``: compiled and cross-checked from several public records;
1920-2016 follow the tables that agree with Leip's Atlas, 2020 and 2024 the Federal
Election Commission. Sources differ by up to 1.2% of votes (New York fusion lines) and
never by more than 0.003 in the two-party share.
"""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import NamedTuple


class Election(NamedTuple):
    """One election: year, the two leading candidates and their popular votes."""

    year: int
    candidates: tuple[str, str]
    votes: tuple[int, int]


def elections() -> list[Election]:
    """Return the 27 elections from 1920 to 2024, in order.

    >>> elections()[-2].votes
    (81283501, 74223975)
    """
    text = files("smoothdp.papers").joinpath("us_elections.csv").read_text(encoding="utf-8")
    return [
        Election(
            year=int(row["year"]),
            candidates=(row["candidate_1"], row["candidate_2"]),
            votes=(int(row["votes_1"]), int(row["votes_2"])),
        )
        for row in csv.DictReader(text.splitlines())
    ]
