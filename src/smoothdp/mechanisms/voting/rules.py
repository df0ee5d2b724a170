"""Voting rules as functions of a histogram of votes; ties go to the lowest index.

A rule is given by tallies: whole numbers that add up over the votes. The winner is a
function of a tally, so that votes with equal tallies need not be told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import combinations, permutations
from math import factorial
from typing import Literal, NamedTuple, get_args

import numpy as np

from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import exact_int
from smoothdp.types import IntArray

Rule = Literal["plurality", "borda", "copeland", "runoff"]
MOST_RANKED = 4


class Tally(NamedTuple):
    """What one vote of each category adds, and the winner that the totals decide.

    ``votes`` holds one row per category. ``winner(totals, n_votes)`` takes one row per
    number of the tally and one column per case; the winner is -1 where another tally decides.
    """

    votes: tuple[tuple[int, ...], ...]
    winner: Callable[[IntArray, int], IntArray]


def rankings(n_candidates: int) -> tuple[tuple[int, ...], ...]:
    """Return all rankings, best candidate first, in lexicographic order.

    >>> rankings(3)[:3]
    ((0, 1, 2), (0, 2, 1), (1, 0, 2))
    """
    return tuple(permutations(range(n_candidates)))


def read_rule(rule: object, n_candidates: object) -> tuple[Rule, int]:
    """Return a validated rule and number of candidates, or raise InvalidParameter."""
    if rule not in get_args(Rule):
        raise InvalidParameter(
            expected='rule "plurality", "borda", "copeland" or "runoff"',
            got=f"rule={rule!r}",
            remedy='Use rule="plurality" for votes for one candidate, else a rule on rankings',
        )
    m = exact_int(n_candidates, name="n_candidates", minimum=2)
    if rule != "plurality" and m > MOST_RANKED:
        raise InvalidParameter(
            expected=(
                f"n_candidates <= {MOST_RANKED} for rule={rule!r}, whose categories are the "
                "n_candidates! rankings"
            ),
            got=f"n_candidates={m}",
            remedy="Merge candidates, or use plurality",
        )
    return rule, m  # type: ignore[return-value]


def n_categories(rule: Rule, n_candidates: int) -> int:
    """Return how many different votes there are."""
    return n_candidates if rule == "plurality" else factorial(n_candidates)


def winner_of(rule: Rule, histogram: Sequence[int], n_candidates: int) -> int:
    """Return the index of the winning candidate of a histogram of votes.

    Plurality: most votes. Borda: most points, m - 1 for a first place down to 0 for a last.
    Copeland: most pairwise majorities, half a point for a tied pair. Runoff: of the two
    candidates with most first places, the one that more votes rank above the other. Every
    tie goes to the lowest index, also for the second place of the runoff.

    Args:
        histogram: votes per candidate for plurality, else per ranking, in lexicographic
            order.

    >>> winner_of("plurality", (2, 3, 3), 3)
    1
    >>> winner_of("runoff", (4, 0, 0, 3, 0, 2), 3)
    1
    """
    votes = np.array(histogram, dtype=np.int64)
    n_votes = int(votes.sum())
    for tally in tallies(rule, n_candidates):
        totals = votes @ np.array(tally.votes, dtype=np.int64)
        winner = int(tally.winner(totals[:, None], n_votes)[0])
        if winner >= 0:
            return winner
    raise AssertionError("every histogram has a winner")


@lru_cache(maxsize=64)
def tallies(rule: Rule, n_candidates: int) -> tuple[Tally, ...]:
    """Return the tallies of a rule: for every histogram exactly one of them decides."""
    m = n_candidates
    if rule == "plurality":
        return (Tally(tuple(_unit(m, c) for c in range(m)), _most),)
    if rule == "borda":
        points = tuple(tuple(m - 1 - r.index(c) for c in range(m)) for r in rankings(m))
        return (Tally(points, _most),)
    pairs = tuple(combinations(range(m), 2))
    if rule == "copeland":
        votes = tuple(tuple(_prefers(r, i, j) for i, j in pairs) for r in rankings(m))
        return (Tally(votes, _copeland(m)),)
    return tuple(
        Tally(
            tuple((*_unit(m, r[0]), _prefers(r, i, j)) for r in rankings(m)), _runoff_between(i, j)
        )
        for i, j in pairs
    )


def _unit(m: int, candidate: int) -> tuple[int, ...]:
    return tuple(int(c == candidate) for c in range(m))


def _prefers(ranking: tuple[int, ...], i: int, j: int) -> int:
    return int(ranking.index(i) < ranking.index(j))


def _most(totals: IntArray, n_votes: int) -> IntArray:
    del n_votes
    winners: IntArray = np.argmax(totals, axis=0)  # the first of equals
    return winners


def _copeland(m: int) -> Callable[[IntArray, int], IntArray]:
    def winner(totals: IntArray, n_votes: int) -> IntArray:
        half_points = np.zeros((m, totals.shape[1]), dtype=np.int64)
        for (i, j), above in zip(combinations(range(m), 2), totals, strict=True):
            margin = np.sign(2 * above - n_votes)
            half_points[i] += 1 + margin
            half_points[j] += 1 - margin
        return _most(half_points, n_votes)

    return winner


def _runoff_between(i: int, j: int) -> Callable[[IntArray, int], IntArray]:
    """Decide the cases whose two finalists are i and j, i < j."""

    def winner(totals: IntArray, n_votes: int) -> IntArray:
        first_places, above = totals[:-1], totals[-1]
        finalists = np.sort(np.argsort(-first_places, axis=0, kind="stable")[:2], axis=0)
        decided = (finalists[0] == i) & (finalists[1] == j)
        return np.where(decided, np.where(2 * above >= n_votes, i, j), -1)

    return winner
