"""Persons with several rows: how many of them are kept, and what a person pays for a row's part."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.guarantees.guarantee import Guarantee, times
from smoothdp.claims.neighbours import Neighbours
from smoothdp.claims.terms import EpsilonTerms, MuTerms, RhoTerms
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.balls.balls import ball, log_bounds, precision, round_up
from smoothdp.exact.parameters.numbers import LogRatio, Real, exact_int, square_root
from smoothdp.sources import Source


@dataclass(frozen=True, init=False)
class Person:
    """A person is all rows with one id; so many of them are kept, by coins of the person's own.

    Kept are g keys drawn uniformly among the person's, r rows drawn uniformly in each, and c of
    these, drawn uniformly. A cap that is left out is c. Rows without an id are dropped. One id is
    taken to be one person: of a person under j ids j times as many rows are kept.

    Source: proofs/tables#5, #6, #7.

    Args:
        column: of the ids.
        rows: c >= 1, the most rows of a person that are kept.
        groups: g >= 1, the most groups that they are kept in.
        rows_per_group: r >= 1, the most of them in one group.

    Raises:
        InvalidParameter: no column, or a cap below 1.

    >>> import smoothdp as sd
    >>> person = Person("id", rows=9, groups=4, rows_per_group=4)
    >>> person.cost(sd.ZCDP("0.02", neighbours="add_remove"))
    ZCDP(rho=33/50, neighbours='add_remove')
    """

    source: ClassVar[Source] = Source("own", "proofs/tables#5")
    column: str
    rows: int
    groups: int | None
    rows_per_group: int | None

    def __init__(
        self,
        column: str,
        *,
        rows: int,
        groups: int | None = None,
        rows_per_group: int | None = None,
    ) -> None:
        if not isinstance(column, str) or not column:
            raise InvalidParameter(
                expected="the column of the persons' ids",
                got=f"{column!r}"[:80],
                remedy='Give Person("id", rows=10)',
            )
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "rows", exact_int(rows, name="rows", minimum=1))
        for name, cap in (("groups", groups), ("rows_per_group", rows_per_group)):
            read = None if cap is None else exact_int(cap, name=name, minimum=1)
            object.__setattr__(self, name, read)

    @property
    def most_groups(self) -> int:
        """How many groups can hold kept rows of one person: min(g, c)."""
        return self.rows if self.groups is None else min(self.groups, self.rows)

    @property
    def most_rows_per_group(self) -> int:
        """How many kept rows of one person one group can hold: min(r, c)."""
        return self.rows if self.rows_per_group is None else min(self.rows_per_group, self.rows)

    @property
    def worst_split(self) -> tuple[int, ...]:
        """Kept rows of one person by group, at the most: full groups, and one with the rest.

        Every cost here is a convex function of the rows in a group, summed over the groups: it is
        largest at an extreme point of what the caps allow, and all of these are this split.
        """
        full, rest = divmod(self.rows, self.most_rows_per_group)
        if full >= self.most_groups:
            return (self.most_rows_per_group,) * self.most_groups
        return (self.most_rows_per_group,) * full + ((rest,) if rest else ())

    def cost(self, row_guarantee: Guarantee) -> Guarantee:
        """Return what a person pays where each row pays a guarantee in the group that it is in.

        K1 epsilon, K2 rho, sqrt(K2) mu: K1 and K2 are the largest sums of kept rows by group, and
        of their squares. (epsilon, delta): each group by group privacy, and the groups add up, at
        the worst split.

        Args:
            row_guarantee: what a group's release promises one row, with neighbours="add_remove".

        Raises:
            IncompatibleClaims: a claim about replacing a row, or of a kind whose cost for several
                rows in several groups is not known.

        >>> import smoothdp as sd
        >>> Person("id", rows=7, rows_per_group=1).cost(sd.PureDP("0.1", neighbours="add_remove"))
        PureDP(epsilon=7/10, neighbours='add_remove')
        """
        _check(row_guarantee)
        terms = row_guarantee.terms()
        if isinstance(terms, EpsilonTerms):
            changes: dict[str, object] = {"epsilon": times(terms.epsilon, sum(self.worst_split))}
            if "delta" in row_guarantee.parameter_names:
                factor = self._delta_factor(terms.epsilon)
                changes["delta"] = Fraction(1) if terms.delta else Fraction(0)
                if factor is not None:
                    changes["delta"] = min(Fraction(1), factor * terms.delta)
            return row_guarantee.changed(**changes)
        if isinstance(terms, MuTerms):
            root = square_root(Fraction(self._squares), up=True)
            return row_guarantee.changed(mu=root * terms.mu)
        if isinstance(terms, RhoTerms) and self._has_orders(terms):
            return row_guarantee.changed(rho=self._squares * terms.rho)
        raise _no_cost(row_guarantee)

    def row_share(self, guarantee: Guarantee) -> Guarantee:
        """Return what a person's guarantee leaves for one row: the inverse of `cost`, rounded down.

        Args:
            guarantee: of a person, with neighbours="add_remove".

        Raises:
            IncompatibleClaims: as for `cost`.

        >>> import smoothdp as sd
        >>> Person("id", rows=5, groups=1).row_share(sd.ZCDP("12.5", neighbours="add_remove"))
        ZCDP(rho=1/2, neighbours='add_remove')
        """
        _check(guarantee)
        terms = guarantee.terms()
        if isinstance(terms, EpsilonTerms):
            epsilon = _rational_below(terms.epsilon) / sum(self.worst_split)
            changes: dict[str, object] = {"epsilon": epsilon}
            if "delta" in guarantee.parameter_names:
                factor = self._delta_factor(epsilon)
                changes["delta"] = Fraction(0) if factor is None else terms.delta / factor
            return guarantee.changed(**changes)
        if isinstance(terms, MuTerms):
            return guarantee.changed(mu=terms.mu / square_root(Fraction(self._squares), up=True))
        if isinstance(terms, RhoTerms) and self._has_orders(terms):
            return guarantee.changed(rho=terms.rho / self._squares)
        raise _no_cost(guarantee)

    def row_cost(self, row_guarantee: Guarantee) -> Guarantee:
        """Return what one row pays, before the bounding, where a kept row pays a guarantee.

        A row more may push another one out: that is known to move two kept rows at most only if
        the kept rows are a uniform c-subset of the person's. Under g keys and r rows in each it
        can move r + 1.

        Raises:
            IncompatibleClaims: a cap on groups or on rows in a group, or a claim that says nothing
                about two rows.

        >>> import smoothdp as sd
        >>> Person("id", rows=5).row_cost(sd.PureDP("0.1", neighbours="add_remove"))
        PureDP(epsilon=1/5, neighbours='add_remove')
        """
        _check(row_guarantee)
        if self.groups is not None or self.rows_per_group is not None:
            raise IncompatibleClaims(
                expected="rows bounded by rows= alone for a promise about one row: with a cap on "
                "groups, or in a group, one row may move many kept ones",
                got=f"{self!r}",
                remedy="Leave groups and rows_per_group out, or state the promise about persons",
            )
        return row_guarantee.for_group(2)

    def words(self) -> str:
        """Return the caps in words."""
        caps = [f"at most {self.rows} rows of each person"]
        if self.groups is not None:
            caps.append(f"in at most {self.most_groups} groups")
        if self.rows_per_group is not None:
            caps.append(f"at most {self.most_rows_per_group} in each")
        return ", ".join(caps)

    def sentence(self) -> str:
        """Return what the promise about a person rests on."""
        return (
            f"The table was made of {self.words()}, drawn at random; one id in {self.column!r} is "
            "taken to be one person, and rows without an id are left out."
        )

    @property
    def _squares(self) -> int:
        """K2."""
        return sum(rows * rows for rows in self.worst_split)

    def _has_orders(self, terms: RhoTerms) -> bool:
        """Orders below omega add up over groups; in a group they are lost for several rows."""
        return terms.omega is None or self.most_rows_per_group == 1

    def _delta_factor(self, epsilon: Real) -> Fraction | None:
        """Return the sum of (e^(r epsilon) - 1) / (e^epsilon - 1) over the worst split, rounded up.

        None where it is beyond all floats.
        """
        split = self.worst_split
        if epsilon == 0 or split[0] == 1:
            return Fraction(sum(split))
        with precision(192):
            one = ball(epsilon)
            total = sum(((rows * one).expm1() / one.expm1() for rows in split), ball(0))
            return Fraction(round_up(total)) if total < ball(10**300) else None


def _rational_below(epsilon: Real) -> Fraction:
    if isinstance(epsilon, LogRatio):
        return Fraction(log_bounds(epsilon.ratio).lower)
    return epsilon


def _check(guarantee: object) -> None:
    if not isinstance(guarantee, Guarantee) or guarantee.neighbours is not Neighbours.ADD_REMOVE:
        raise IncompatibleClaims(
            expected="a guarantee about adding or removing: a person is added or removed with all "
            "rows",
            got=f"{guarantee!r}"[:80],
            remedy="Give one with neighbours='add_remove'",
        )


def _no_cost(guarantee: Guarantee) -> IncompatibleClaims:
    return IncompatibleClaims(
        expected="PureDP, ApproxDP, ZCDP or GaussianDP for persons with several rows: for other "
        "claims, such as approximate or truncated zCDP, nothing is proved",
        got=f"{guarantee!r}",
        remedy="Give one of these",
    )
