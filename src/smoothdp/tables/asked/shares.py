"""How the guarantee of a table is split among what is released of each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction, exact_text

DEFAULTS = {"keys": Fraction(1, 10), "n": Fraction(1, 10)}
"""The shares of private keys, and of a count that is bought to choose windows."""

_WORDS = {"keys": "private keys ('keys')", "n": "counts ('n'), which choose windows or are shown"}


def read_shares(
    shares: Mapping[str, Parameter] | None, *, names: Sequence[str], extra: Sequence[str]
) -> dict[str, Fraction]:
    """Return a share of the guarantee for each name, which add up to 1 at most.

    Args:
        shares: as given, by name; what is left out shares the rest equally.
        names: the statistics. extra: "keys" and "n", where they are released.

    Raises:
        InvalidParameter: an unknown name, a share that is not above 0, more than 1 in all, or
            nothing left for a statistic.

    >>> read_shares({"wage": "1/2"}, names=["wage", "age"], extra=["n"])
    {'wage': Fraction(1, 2), 'n': Fraction(1, 10), 'age': Fraction(2, 5)}
    """
    wanted = [*extra, *names]
    given: dict[str, Fraction] = {}
    for name, value in (shares or {}).items():
        if name not in wanted:
            unbought = name == "n"
            raise InvalidParameter(
                expected=f"shares for {', '.join(map(repr, wanted))}",
                got=f"one for {name!r}" + (", and no count is bought" if unbought else ""),
                remedy="Leave it out, or ask for counts"
                if unbought
                else "Name what the table releases",
            )
        share = exact_fraction(value, name=f"share of {name}")
        if share <= 0:
            raise InvalidParameter(
                expected=f"a share of {name} above 0",
                got=f"{value}",
                remedy="Leave it out for an equal share, or give a number such as 0.2",
            )
        given[name] = share
    # Without statistics, keys and counts share all of it.
    unsaid = [name for name in extra if names and name not in given]
    given |= {name: DEFAULTS[name] for name in unsaid}
    open_names = [name for name in wanted if name not in given]
    left = Fraction(1) - sum(given.values())
    if left < 0 or (left == 0 and open_names):
        raise InvalidParameter(
            expected="shares that leave something for every statistic and add up to 1 at most",
            got=f"{exact_text(1 - left)} in all"
            + "".join(f", with {DEFAULTS[name]} for {_WORDS[name]}" for name in unsaid),
            remedy="Lower them, or leave some out"
            + (f", or give {' and '.join(map(repr, unsaid))} a share too" if unsaid else ""),
        )
    return {**given, **dict.fromkeys(open_names, left / max(1, len(open_names)))}


def with_n_share(
    shares: Mapping[str, Parameter] | None, n_share: Parameter | None
) -> Mapping[str, Parameter] | None:
    """Return the shares with that of the counts, which may be said in one of two ways.

    Raises:
        InvalidParameter: it is said in both.

    >>> with_n_share({"wage": "1/2"}, "1/5")
    {'wage': '1/2', 'n': '1/5'}
    """
    if shares is not None and not isinstance(shares, Mapping):
        raise InvalidParameter(
            expected="shares by name",
            got=f"{shares!r}"[:80],
            remedy='Give shares={"wage": "0.5"}, for example',
        )
    if n_share is None:
        return shares
    if "n" in (shares or {}):
        raise InvalidParameter(
            expected="the share of the counts once, as n_share or in shares",
            got=f"n_share={n_share} and shares with 'n'",
            remedy="Leave one of them out",
        )
    return {**(shares or {}), "n": n_share}
