"""What a table promises, and what accuracy to expect of it: said before any data are read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.label import Label
from smoothdp.mechanisms.release.usefulness import useful_size
from smoothdp.queries import FixedStatistic
from smoothdp.tables.facts import person_words, promise_words
from smoothdp.tables.person import Person
from smoothdp.tables.request import COUNT, KEYS, ColumnStatistic, TableRequest
from smoothdp.tables.table_mechanism import TableMechanism, request_words
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
    expected = {one.name: _expected(mechanism, one) for one in request.statistics}
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


def _expected(mechanism: TableMechanism, statistic: ColumnStatistic) -> str:
    """Return words about the error of one statistic; the noise of a window is data's own."""
    what = mechanism.request.words(statistic)
    if not statistic.needs_size or isinstance(statistic.query, FixedStatistic):
        noise = mechanism.statistic(statistic, None)
        return f"{what}; {noise.describe()}"
    useful = useful_size(statistic.query, statistic.guarantee)
    if not math.isfinite(useful):
        return f"{what}; noise of the order of the bounds: half of the window lies outside the data"
    least = math.ceil(useful)
    return (
        f"{what}; noise by how the values lie, far below the bounds in groups of about {least} "
        "rows or more, of their order in smaller ones"
    )
