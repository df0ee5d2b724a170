"""Filters and derived columns: what becomes of a row depends on that row alone, so neighbours
remain neighbours (stability 1): what is kept of a table is the union of what is kept of each row,
so that one more row adds at most what is kept of it. No row is refused: one that a rule fails on is
left out, or has no value. Source: proofs/tables#2.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from typing import TypeAlias, cast

import numpy as np

from smoothdp.data.batches import Batch, LabelKind
from smoothdp.data.table import Categories, Label, read_categories, read_numbers, same_label
from smoothdp.errors import InvalidParameter
from smoothdp.types import BoolArray, FloatArray, IntArray

Row: TypeAlias = Mapping[str, object]
Rule: TypeAlias = Callable[[Row], object]
Where: TypeAlias = Mapping[str, object] | Callable[[Row], object]

_RANGES: dict[str, Callable[[object, object], object]] = {
    "at_least": lambda value, bound: value >= bound,  # type: ignore[operator]
    "above": lambda value, bound: value > bound,  # type: ignore[operator]
    "at_most": lambda value, bound: value <= bound,  # type: ignore[operator]
    "below": lambda value, bound: value < bound,  # type: ignore[operator]
}
_YEAR_LAST = re.compile(r"[0-9]{1,2}([./-])[0-9]{1,2}\1[0-9]{4}(?:[ T].*)?")
"""A date whose order as a text is not that of time: 02.01.2026 would come after 01.12.2026."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What a column must be; a row without a value there does not pass.

    Attributes:
        column: its name. wanted: labels that pass, or those that do not (``negated``).
        kind: of the labels. ranges: comparisons with bounds, of numbers or of texts.
    """

    column: str
    wanted: frozenset[tuple[str, Label]]
    kind: LabelKind
    negated: bool = False
    ranges: tuple[tuple[str, float | str], ...] = ()

    def mask(self, batch: Batch) -> BoolArray:
        """Return which rows pass."""
        if self.ranges and self.kind == "number":
            numbers = batch.numbers(self.column)
            passed = ~np.isnan(numbers)
            for name, bound in self.ranges:
                passed &= np.asarray(_RANGES[name](numbers, bound), np.bool_)
            return passed
        labels = batch.labels(self.column, self.kind)
        good = [self._passes(label) for label in labels.labels]
        return np.array([*good, False], np.bool_)[labels.codes]

    def words(self) -> str:
        """Return the condition in words."""
        if self.ranges:
            bounds = " and ".join(
                f"{name.replace('_', ' ')} {bound if isinstance(bound, str) else f'{bound:.15g}'}"
                for name, bound in self.ranges
            )
            return f"{self.column} {bounds}"
        said = " or ".join(sorted(repr(label) for _, label in self.wanted))
        return f"{self.column} {'other than ' if self.negated else ''}{said}"

    def _passes(self, label: Label) -> bool:
        if self.ranges:
            return isinstance(label, str) and all(_RANGES[n](label, b) for n, b in self.ranges)
        return (_labelled(label) in self.wanted) is not self.negated


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Which rows a table is about, by a public predicate.

    Attributes:
        conditions: all of which a row must pass. rule: or a function of a row.
    """

    conditions: tuple[Condition, ...] = ()
    rule: Rule | None = None

    @classmethod
    def read(cls, where: object) -> RowFilter:
        """Return the filter of ``where=``.

        Args:
            where: a mapping from a column to its value, a list of values, {"not": value or
                list}, or bounds such as {"at_least": 18, "below": 65} (also "above", "at_most";
                of numbers, or of texts such as dates "2026-01-31"); or a function of a row.

        Raises:
            InvalidParameter: another shape.

        >>> RowFilter.read({"age": {"at_least": 18}}).conditions[0].ranges
        (('at_least', 18.0),)
        """
        if isinstance(where, RowFilter):
            return where
        if where is None:
            return cls()
        if callable(where):
            return cls(rule=where)
        if not isinstance(where, Mapping) or not all(isinstance(name, str) for name in where):
            raise _no_filter(f"where={where!r}"[:80])
        return cls(tuple(_condition(name, value) for name, value in where.items()))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read for it."""
        return tuple(condition.column for condition in self.conditions)

    def words(self) -> str:
        """Return the filter in words; nothing for all rows.

        >>> RowFilter.read({"age": {"at_least": 18}, "region": ["S", "N"]}).words()
        "rows with age at least 18 and region 'N' or 'S'"
        """
        if self.rule is not None:
            return f"rows that pass {getattr(self.rule, '__name__', 'a function of a row')}"
        said = " and ".join(condition.words() for condition in self.conditions)
        return f"rows with {said}" if said else ""

    def mask(self, batch: Batch) -> BoolArray | None:
        """Return which rows pass; None where all do."""
        if self.rule is not None:
            answers = (_is_true(answer) for answer in _asked(self.rule, batch.rows()))
            return np.fromiter(answers, np.bool_, batch.n_rows)
        passed: BoolArray | None = None
        for condition in self.conditions:
            mask = condition.mask(batch)
            passed = mask if passed is None else passed & mask
        return passed


def _condition(column: str, asked: object) -> Condition:
    negated = False
    if isinstance(asked, Mapping):
        if set(asked) == {"not"}:
            asked, negated = asked["not"], True
        else:
            return _range(column, asked)
    values = list(asked) if isinstance(asked, list | tuple | set | frozenset) else [asked]
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    kinds = {label_kind(value) for value in plain}
    if None in kinds or len(kinds) != 1:
        raise _no_filter(f"{column}: {asked!r}"[:80])
    kind = cast("LabelKind", kinds.pop())
    return Condition(column, frozenset(map(_labelled, plain)), kind, negated)


def _labelled(label: object) -> tuple[str, Label]:
    return cast("tuple[str, Label]", same_label(label))


def _range(column: str, asked: Mapping[object, object]) -> Condition:
    ranges: list[tuple[str, float | str]] = []
    for name, bound in asked.items():
        if name not in _RANGES:
            near = get_close_matches(str(name), [*_RANGES, "not"], n=1)
            raise InvalidParameter(
                expected=f"where as columns with values or bounds, {', '.join(_RANGES)}, or not "
                f"alone, for {column!r}",
                got=f"{name!r}"[:40],
                remedy=f"Did you mean {near[0]!r}?" if near else "Leave it out",
            )
        if isinstance(bound, str):
            if _YEAR_LAST.fullmatch(bound.strip()):
                raise InvalidParameter(
                    expected=f"dates with the year first in where, for {column!r}: texts are "
                    "compared letter by letter",
                    got=f"{bound!r}"[:40],
                    remedy="Write 2026-01-31 where the column does; of a column with the year last "
                    "only a function of a row in Python tells earlier from later",
                )
            ranges.append((str(name), bound))
            continue
        if isinstance(bound, bool) or not isinstance(bound, int | float | Fraction | Decimal):
            raise _no_filter(f"{column}: {dict(asked)!r}"[:80])
        # As the data are read: 0.3 in a file is at least 0.3.
        number = float(bound)
        if math.isnan(number):
            raise _no_filter(f"{column}: {dict(asked)!r}"[:80])
        ranges.append((str(name), number))
    kinds = {type(bound) for _, bound in ranges}
    if len(kinds) != 1:
        raise _no_filter(f"{column}: {dict(asked)!r}"[:80])
    kind: LabelKind = "text" if kinds == {str} else "number"
    return Condition(column, frozenset(), kind, ranges=tuple(ranges))


def label_kind(label: object) -> LabelKind | None:
    """Return of what kind a public label is; None if it is none.

    >>> label_kind("8"), label_kind(8), label_kind(True)
    ('text', 'number', 'truth')
    """
    if isinstance(label, bool | np.bool_):
        return "truth"
    if isinstance(label, int | float | np.integer | np.floating) and label == label:
        return "number"
    return "text" if isinstance(label, str) else None


def read_rules(derive: object) -> dict[str, Rule]:
    """Return the functions of ``derive=`` by the names of the columns that they make.

    Raises:
        InvalidParameter: no mapping from names to functions.
    """
    if derive is None:
        return {}
    if not isinstance(derive, Mapping) or not all(
        isinstance(name, str) and callable(rule) for name, rule in derive.items()
    ):
        raise InvalidParameter(
            expected="derive as a mapping from the name of a column to a function of a row",
            got=f"derive={derive!r}"[:80],
            remedy='Give derive={"hourly": lambda row: row["wage"] / row["hours"]}',
        )
    return dict(derive)


@dataclass(frozen=True, slots=True, eq=False)
class DerivedBatch:
    """Some rows with columns that functions of a row make; where one fails, nothing is there."""

    batch: Batch
    made: Mapping[str, list[object]]

    @classmethod
    def of(cls, batch: Batch, rules: Mapping[str, Rule]) -> Batch:
        """Return a batch with derived columns; a function sees those before it."""
        for name, rule in rules.items():
            answers = [_plain(answer) for answer in _asked(rule, batch.rows())]
            earlier = batch.made if isinstance(batch, cls) else {}
            inner = batch.batch if isinstance(batch, cls) else batch
            batch = cls(inner, {**earlier, name: answers})
        return batch

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.batch.n_rows

    def labels(self, name: str, kind: LabelKind | None) -> Categories:
        """Return a column of labels."""
        made = self.made.get(name)
        return self.batch.labels(name, kind) if made is None else read_categories(made)

    def numbers(self, name: str) -> FloatArray | IntArray:
        """Return a column of numbers."""
        made = self.made.get(name)
        return self.batch.numbers(name) if made is None else read_numbers(made, name)

    def rows(self) -> Iterator[dict[str, object]]:
        """Yield each row."""
        for place, row in enumerate(self.batch.rows()):
            yield {**row, **{name: made[place] for name, made in self.made.items()}}


def _asked(rule: Rule, rows: Iterator[dict[str, object]]) -> Iterator[object]:
    """Yield what a function says of each row; None where it fails. It warns nobody."""
    for row in rows:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answer = rule(row)
        except Exception:
            answer = None
        yield answer


def _is_true(answer: object) -> bool:
    return isinstance(answer, bool | np.bool_) and bool(answer)


def _plain(answer: object) -> object:
    """Return a label or a number, None for anything else."""
    if isinstance(answer, np.generic):
        answer = answer.item()
    return answer if isinstance(answer, str | int | float | Decimal | Fraction) else None


def _no_filter(got: str) -> InvalidParameter:
    return InvalidParameter(
        expected="where as columns with a value, a list of values of one type, or bounds of one "
        "type",
        got=got,
        remedy='Give region = ["N", "S"] or age = { at_least = 18, below = 65 } under [where] (in '
        'Python {"age": {"at_least": 18, "below": 65}}, or a function of a row)',
    )


def require_new(rules: Sequence[str], present: Sequence[str]) -> None:
    """Refuse a derived column with the name of one that is there."""
    for name in rules:
        if name in present:
            raise InvalidParameter(
                expected="a new name for a derived column",
                got=f"{name!r}, which the data have",
                remedy="Call it by another name",
            )
