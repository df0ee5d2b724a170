"""What a table promises, and what accuracy to expect of it: said before any data are read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from html import escape
from typing import Any

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.label import Label
from smoothdp.mechanisms.private_size.rules import least_size_with_bars
from smoothdp.queries import Count, Query
from smoothdp.tables.asked.column_statistic import COUNT, KEYS, ColumnStatistic
from smoothdp.tables.facts import person_words, promise_words
from smoothdp.tables.person import Person
from smoothdp.tables.request import TableRequest
from smoothdp.tables.table_mechanism import TableMechanism, request_words
from smoothdp.tables.usefulness import Marks
from smoothdp.text import number_up, table as text_table


@dataclass(frozen=True, slots=True)
class TableCheck:
    """A table as it will be released, in words.

    Attributes:
        guarantee: the promise. unit: whom it is about. person: how persons' rows are bounded.
        columns: what is read, in words. groups: which there are, in words.
        rows: which rows it is about; empty for all. label: name, purpose and who.
        spent: what each part costs. expected: what accuracy to expect of it, in words.
        covers: what the interval of each covers; empty without intervals.
    """

    guarantee: Guarantee
    unit: str
    person: Person | None
    columns: str
    groups: str
    rows: str
    label: Label | None
    spent: Mapping[str, Guarantee]
    expected: Mapping[str, str]
    covers: Mapping[str, str]

    def text(self) -> str:
        """Return the check as lines."""
        lines = [
            *([("Table", self.label.words())] if self.label is not None else []),
            ("Reads", self.columns),
            *([("About", self.rows)] if self.rows else []),
            ("Groups", self.groups),
            *([("Persons", person_words(self.person))] if self.person is not None else []),
            ("Promise", repr(self.guarantee)),
        ]
        parts = [
            f"{name}\n  costs one {self.unit}: {part!r}\n  {self.expected.get(name, '')}".rstrip()
            for name, part in self.spent.items()
        ]
        bars = "\n".join(f"The interval of {n}: {words}" for n, words in self.covers.items())
        said = (text_table(lines), *parts, bars, self.sentence())
        return "\n\n".join(filter(None, said))

    def sentence(self) -> str:
        """Return the promise in plain English: about one row, or about one person's rows."""
        return promise_words(self.guarantee, self.person)

    def to_dict(self) -> dict[str, Any]:
        """Return the check as plain values, for JSON."""
        return {
            "type": "TableCheck",
            "label": None if self.label is None else self.label.to_dict(),
            "columns": self.columns,
            "rows": self.rows,
            "groups": self.groups,
            "guarantee": self.sentence(),
            "claim": json.loads(self.guarantee.to_json()),
            "unit": self.unit,
            "person": None if self.person is None else asdict(self.person),
            "spent": {name: json.loads(part.to_json()) for name, part in self.spent.items()},
            "expected": dict(self.expected),
            "covers": dict(self.covers),
        }

    def _repr_html_(self) -> str:
        """Return the check for a notebook."""
        return f"<pre>{escape(self.text())}</pre>"


def check_table(request: TableRequest) -> TableCheck:
    """Return what a table promises and is expected to err by; no data are read.

    Raises:
        InvalidParameter, IncompatibleClaims: as `smoothdp.tables.release_table`.
    """
    mechanism = TableMechanism.of(request)
    spent = {one.name: request.cost(one.guarantee) for one in request.statistics}
    marks = mechanism.marks()
    expected = {one.name: _expected(mechanism, one, marks) for one in request.statistics}
    if request.count is not None and mechanism.count_noise is not None:
        spent = {COUNT: request.cost(request.count), **spent}
        deviation = number_up(mechanism.count_noise.law.deviation, 3)
        shown = "" if request.shows_count else "; not shown, it chooses windows"
        expected = {
            COUNT: f"{request.counted()}, noise of standard deviation {deviation}{shown}",
            **expected,
        }
    if request.selection is not None:
        spent = {KEYS: request.selection.guarantee, **spent}
        with_counts = f"; with each its n: {request.counted()}" if request.shows_count else ""
        expected = {KEYS: f"{request.selection.words()}{with_counts}", **expected}
    names = " and ".join(map(repr, request.by))
    selection = request.selection
    groups = f"{len(request.keys)} public ones" if selection is None else selection.words()
    return TableCheck(
        guarantee=request.guarantee,
        unit=mechanism.unit,
        person=request.person,
        columns=mechanism.columns,
        groups=f"{groups}, by {names}",
        rows=request_words(request),
        label=request.label,
        spent=spent,
        expected=expected,
        covers=request.covers(),
    )


def _expected(mechanism: TableMechanism, statistic: ColumnStatistic, marks: Marks) -> str:
    """Return words about the error of one statistic; the noise of a window is data's own."""
    what = mechanism.request.words(statistic)
    name, least = statistic.name, marks.judges[statistic.name].least
    if not math.isfinite(least):
        return f"{what}; noise of the order of the bounds: half of the window lies outside the data"
    rows, many = marks.rows(name), _predicted(mechanism.request, least)
    if not statistic.needs_size:
        noise = mechanism.statistic(statistic, None).describe()
        if isinstance(statistic.query, Count):
            return f"{noise}; hardly told from 0 below {rows}"
        return (
            f"{noise}; in groups of fewer than about {rows} rows the noise may be a tenth of what "
            f"the figure may be at all, or more{many}"
        )
    return (
        f"{what}; noise by how the values lie, far below the bounds in groups of about {rows} "
        f"rows or more, of their order in smaller ones{many}{_bars(mechanism.request, statistic)}"
    )


def _bars(request: TableRequest, statistic: ColumnStatistic) -> str:
    """Return words about how large a group has to be for an interval that says something."""
    if statistic.coverage is None:
        return ""
    query, target = statistic.query, statistic.coverage.target
    assert isinstance(query, Query)
    least = least_size_with_bars(query, statistic.guarantee, covers=target)
    if not math.isfinite(least):
        return "; its interval is that of the bounds"
    if least <= 1:
        return ""
    return (
        f"; its interval is that of the bounds in groups of fewer than about {least:.0f} "
        f"rows{_predicted(request, least)}"
    )


def _predicted(request: TableRequest, least: float) -> str:
    """Return how many groups are too small by a public guess of their sizes."""
    guess = request.n_guess
    if guess is None:
        return ""
    if isinstance(guess, Fraction):
        return "" if guess >= least else f"; by n_guess = {float(guess):g} all groups are so small"
    few = sum(size < least for size in guess.values())
    return f"; by n_guess {few} of {len(guess)} groups are so small" if few else ""
