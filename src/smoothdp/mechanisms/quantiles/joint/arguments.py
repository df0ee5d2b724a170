"""Read levels, guarantee and data of several quantiles under pure DP."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from typing import cast

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import PureDP
from smoothdp.claims.neighbours import Neighbours
from smoothdp.errors import IncompatibleClaims, InvalidData, InvalidParameter
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.rationals import positive_ends
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction, exact_text

MOST_LEVELS = 1000


def read_levels(levels: object) -> tuple[Fraction, ...]:
    """Return levels 0 < q_1 < ... < q_m < 1 as exact rationals; a float is its shortest decimal.

    Raises:
        InvalidParameter: no list of numbers, one outside (0, 1), or not rising.

    >>> read_levels([0.1, "1/2"])
    (Fraction(1, 10), Fraction(1, 2))
    """
    given = [] if isinstance(levels, str) or not isinstance(levels, Iterable) else list(levels)
    found = tuple(exact_fraction(cast("Parameter", q), name="level") for q in given)
    if not 1 <= len(found) <= MOST_LEVELS:
        raise InvalidParameter(
            expected=f"1 to {MOST_LEVELS} levels, such as [0.25, 0.5, 0.75]",
            got=f"{len(found)} levels" if given else f"levels={levels!r}",
            remedy="Give the levels as a list of numbers",
        )
    for q in found:
        if not 0 < q < 1:
            raise InvalidParameter(
                expected="levels between 0 and 1, both excluded",
                got=f"a level of {exact_text(q)}",
                remedy="Use Minimum or Maximum for the ends",
            )
    if any(p >= q for p, q in pairwise(found)):
        raise InvalidParameter(
            expected="rising levels, no two equal",
            got=", ".join(exact_text(q) for q in found[:8]),
            remedy="Sort the levels and leave out what is there twice",
        )
    return found


def read_pure(guarantee: object) -> PureDP:
    """Return a pure guarantee about replacing one record, epsilon > 0.

    Raises:
        InvalidParameter: another guarantee.
        IncompatibleClaims: one about adding or removing a record, under which the counts of a
            record's side move up for some levels and down for others, and n is private.
    """
    if not isinstance(guarantee, Guarantee) or not isinstance(guarantee, PureDP):
        raise InvalidParameter(
            expected="PureDP(epsilon)", got=f"guarantee={guarantee!r}", remedy="Ask for pure DP"
        )
    if guarantee.epsilon <= 0:
        raise InvalidParameter(
            expected="epsilon > 0", got=f"{guarantee!r}", remedy="Give a positive epsilon"
        )
    if guarantee.neighbours is not Neighbours.REPLACE_ONE:
        raise IncompatibleClaims(
            expected="a guarantee about replacing one record, with the number of records public",
            got=f"{guarantee!r}",
            remedy="Give neighbours='replace_one', or release the quantiles one by one",
        )
    return guarantee


def epsilon_below(guarantee: PureDP) -> Fraction:
    """Return a rational epsilon not above that of the guarantee, equal where it is rational.

    >>> epsilon_below(PureDP("ln(3)")) < Fraction("1.0986123")
    True
    """
    epsilon = guarantee.exact_epsilon
    if isinstance(epsilon, Fraction):
        return epsilon
    ends = positive_ends(lambda: ball(epsilon))
    assert ends is not None  # epsilon > 0
    return ends[0]


def check_size(given: int, n_records: int) -> None:
    """Raise InvalidData unless the data have the number of records that was said."""
    if given != n_records:
        raise InvalidData(
            expected=f"{n_records} records, as the mechanism was made for",
            got=f"{given}",
            remedy="Make a mechanism for this number, which is public",
        )
