"""The share of users on whose honesty a promise rests, and what it takes besides."""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.exact.parameters.numbers import Parameter, positive_probability

DEFAULT_HONEST_SHARE = Fraction(9, 10)
"""What calibrations, commands and plans assume unless told otherwise; constructors assume 1."""


def read_honest_share(honest_share: Parameter) -> Fraction:
    """Return a share in (0, 1], exactly, or raise InvalidParameter."""
    remedy = "Give the share of the users who are sure to follow the protocol, such as 9/10"
    return positive_probability(honest_share, name="honest_share", remedy=remedy)


def least_honest(n_users: int, honest_share: Fraction) -> int:
    """Return m0 = ceil(share n): how many users must be honest, the protected one included.

    >>> least_honest(10_001, Fraction(9, 10))
    9001
    """
    return math.ceil(honest_share * n_users)


def least_users(n_honest: int, honest_share: Fraction) -> int:
    """Return the least n of which the share is at least so many honest users.

    >>> least_users(9001, Fraction(9, 10)), least_honest(10_001, Fraction(9, 10))
    (10001, 9001)
    """
    return math.floor((n_honest - 1) / honest_share) + 1


def honest_condition(n_users: int, n_honest: int) -> str:
    """Return what a promise of the shuffle model rests on, in words that every output carries.

    That who answers depends on nobody's datum or coins is a condition: if only the users who
    happen to carry noise are lost, nearly all users answered and nothing is hidden
    (proofs/honest-users#1, #2).

    >>> honest_condition(10_000, 9000)[:64]
    'provided that at least 9,000 of the 10,000 users follow the prot'
    """
    return (
        f"provided that at least {n_honest:,} of the {n_users:,} users follow the protocol, that "
        "who answers does not depend on what they hold or draw, and that the shuffler does not "
        "help the analyser"
    )
