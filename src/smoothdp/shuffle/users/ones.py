"""Reading how many users hold a 1, as a holder of true counts gives it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from smoothdp.errors import InvalidData
from smoothdp.shuffle.users.user_data import read_count, require_n_users


def read_ones(counts: Any, n_users: int) -> int:
    """Return the number of ones, given alone or as (zeros, ones); or raise InvalidData.

    >>> read_ones((7, 3), 10), read_ones(3, 10)
    (3, 3)
    """
    if isinstance(counts, Sequence | np.ndarray):
        if isinstance(counts, str) or len(counts) != 2:
            raise InvalidData(
                expected="counts as (zeros, ones)",
                got="something else",
                remedy="Give the numbers of users with a 0 and with a 1",
            )
        zeros, ones = map(read_count, counts)
        require_n_users(zeros + ones, n_users, is_sum=True)
        return ones
    ones = read_count(counts)
    if ones > n_users:
        raise InvalidData(
            expected=f"at most n_users={n_users} ones",
            got="more",
            remedy="Count each user who holds a 1 once",
        )
    return ones
