"""Reading the setting of the Boolean sum for the bounds of the literature."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction, exact_int


class Setting(NamedTuple):
    """n users, lambda of them random on average; a bit is flipped with probability flip."""

    n_users: int
    random_users: Fraction
    flip: Fraction


def read_setting(n_users: int, expected_random_users: Parameter) -> Setting:
    """Return a setting with 0 < lambda < n, or raise InvalidParameter."""
    n = exact_int(n_users, name="n_users", minimum=1)
    users = exact_fraction(expected_random_users, name="expected_random_users")
    if not 0 < users < n:
        raise InvalidParameter(
            expected=f"0 < expected_random_users < n_users={n}",
            got=f"expected_random_users={expected_random_users}",
            remedy="Give the expected number of users whose bit is random",
        )
    return Setting(n, users, users / (2 * n))


def read_open_delta(delta: Parameter) -> Fraction:
    """Return a delta in (0, 1), or raise InvalidParameter."""
    value = exact_fraction(delta, name="delta")
    if not 0 < value < 1:
        raise InvalidParameter(
            expected="0 < delta < 1", got=f"delta={delta}", remedy="Give a probability"
        )
    return value
