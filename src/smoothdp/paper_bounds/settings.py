"""Arguments of the papers' bounds: shapes and losses of noise, users of a Boolean sum."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import ball, precision, round_up
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import (
    Parameter,
    exact_fraction,
    exact_int,
    exact_text,
)

_BITS = 192


def upper_float(compute: Callable[[], Ball]) -> float:
    """Return a float not below what ``compute`` encloses."""
    with precision(_BITS):
        return round_up(compute())


def read_above(value: Parameter, least: int, *, name: str) -> Fraction:
    """Return an exact number above ``least``, or raise InvalidParameter."""
    number = exact_fraction(value, name=name)
    if number <= least:
        raise InvalidParameter(
            expected=f"{name} > {least}", got=f"{name}={exact_text(number)}", remedy=f"Raise {name}"
        )
    return number


def read_magnitude(value: Parameter, *, name: str) -> Fraction:
    """Return |value|: shifts and dilations of both signs cost the same in these bounds."""
    return abs(exact_fraction(value, name=name))


def linear_loss(
    score: Callable[[Fraction], Ball],
    shape: Fraction,
    slope: Fraction,
    shift: Parameter,
    dilation: Parameter,
) -> float:
    """Return slope |t| + score(shape) |s|."""
    s, t = read_magnitude(shift, name="shift"), read_magnitude(dilation, name="dilation")
    return upper_float(lambda: ball(slope * t) + ball(s) * score(shape))


class RandomUsers(NamedTuple):
    """n users, lambda of them random on average; a bit is flipped with probability flip."""

    n_users: int
    random_users: Fraction
    flip: Fraction


def read_random_users(n_users: int, expected_random_users: Parameter) -> RandomUsers:
    """Return n and lambda with 0 < lambda < n, or raise InvalidParameter."""
    n = exact_int(n_users, name="n_users", minimum=1)
    users = exact_fraction(expected_random_users, name="expected_random_users")
    if not 0 < users < n:
        raise InvalidParameter(
            expected=f"0 < expected_random_users < n_users={n}",
            got=f"expected_random_users={expected_random_users}",
            remedy="Give the expected number of users whose bit is random",
        )
    return RandomUsers(n, users, users / (2 * n))
