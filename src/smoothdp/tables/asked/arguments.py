"""Arguments of a table that are no statistics: groups, promise, person, guesses of sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import cast

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.neighbours import Neighbours
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_positive
from smoothdp.tables.grouping import Key
from smoothdp.tables.person import Person


def read_by(by: object) -> tuple[str, ...]:
    """Return the columns of the keys, each once; raises InvalidParameter otherwise."""
    names = (by,) if isinstance(by, str) else tuple(by) if isinstance(by, list | tuple) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise InvalidParameter(
            expected="by as the name of a column, or a list of names",
            got=f"by={by!r}"[:80],
            remedy='Give by=["region", "year"]',
        )
    if len(set(names)) < len(names):
        raise InvalidParameter(
            expected="each column of by= once", got=f"by={names!r}", remedy="Leave one out"
        )
    return names


def check_guarantee(guarantee: object) -> None:
    """Refuse what is no guarantee about adding or removing a row.

    Raises:
        InvalidParameter: no guarantee.
        IncompatibleClaims: one about replacing a row: the sizes of groups are private.
    """
    if not isinstance(guarantee, Guarantee):
        raise InvalidParameter(
            expected="a guarantee such as PureDP(1, neighbours='add_remove')",
            got=f"guarantee={guarantee!r}"[:80],
            remedy="Give one of smoothdp.claims",
        )
    if guarantee.neighbours is not Neighbours.ADD_REMOVE:
        raise IncompatibleClaims(
            expected="a guarantee about adding or removing a row: replacing one may move it from "
            "one group to another, whose sizes are private",
            got=f"{guarantee!r}",
            remedy="Give one such as PureDP(1, neighbours='add_remove'); replacing a row is adding "
            "one and removing one, at twice the epsilon",
        )


def check_person(person: object) -> None:
    """Refuse what is no `Person`; raises InvalidParameter."""
    if person is not None and not isinstance(person, Person):
        raise InvalidParameter(
            expected="person as a Person: the column of ids, and how many rows are kept of each",
            got=f"person={person!r}"[:80],
            remedy='Give Person("id", rows=10), or leave it out if each row is another person',
        )


def read_guess(
    guess: object, keys: Sequence[Key] | None
) -> Fraction | Mapping[Key, Fraction] | None:
    """Return the guess of a group's size: one for all, or one for each key if they are public."""
    if guess is None:
        return None
    if not isinstance(guess, Mapping):
        return exact_positive(cast("Parameter", guess), name="n_guess")
    if keys is None:
        raise InvalidParameter(
            expected="n_guess as one number where the keys are private",
            got="one for each key",
            remedy="Give one number, or leave it out: a count comes with each key",
        )
    by_key = {key if isinstance(key, tuple) else (key,): value for key, value in guess.items()}
    absent = [key for key in keys if key not in by_key]
    if absent or len(by_key) > len(keys):
        raise InvalidParameter(
            expected="n_guess as one number, or one for each public key",
            got=f"none for {absent[0]!r}" if absent else "more than there are keys",
            remedy="Give a guess for every group; too few is safer than too many",
        )
    return {key: exact_positive(by_key[key], name="n_guess") for key in keys}
