"""Who of the users that a collection asks answers it."""

from __future__ import annotations

from typing import Any

import numpy as np

from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.exact.random.random_words import uniform_order
from smoothdp.types import IntArray


def who_answers(
    made: Any, n_users: int, *, n_answered: int | None, tolerated: int, rng: Entropy | None
) -> tuple[Any, int, IntArray]:
    """Return the protocol of those who answer, how many are tolerated, and who they are.

    They are drawn at random, whatever anybody holds: what the promise rests on.

    Raises:
        InvalidParameter: numbers of users outside their domains.
        InvalidData: the promise needs more honest users than answer, less those tolerated.

    >>> from smoothdp.shuffle import BooleanSum
    >>> made = BooleanSum(10, expected_random_users=3)
    >>> used, silent, who = who_answers(made, 10, n_answered=8, tolerated=0, rng=None)
    >>> used.n_users, silent, len(who)
    (8, 0, 8)
    """
    used, silent = made.those_who_answered(n_answered, tolerated)
    if n_answered is None or n_answered == n_users:
        return used, silent, np.arange(n_users)
    return used, silent, np.sort(uniform_order(n_users, read_rng(rng))[: used.n_users])


def asked_words(n_users: int, n_answered: int) -> str:
    """Return how many users a result is about.

    >>> asked_words(1000, 900), asked_words(1000, 1000)
    ('900 users of 1000 asked', '1000 users')
    """
    of = "" if n_answered == n_users else f" of {n_users} asked"
    return f"{n_answered} users{of}"
