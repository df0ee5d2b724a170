"""What a released table holds: keys, values, and the promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.label import Label
from smoothdp.sources import Source
from smoothdp.tables.grouping import Key
from smoothdp.tables.person import Person
from smoothdp.text import percent_text

ONE_PERSON = "one person's rows"
NOTE = "note"
"""The column that says which values of a group may be noise."""
_NOISE = "may be noise"
Value = float | int


@dataclass(frozen=True, slots=True)
class Cell:
    """One released number: with its interval, if the table has error bars.

    ``is_noise``: marked by public and released numbers alone as one whose noise may be as large
    as what it may be at all.
    """

    value: Value
    interval: tuple[float, float] | None = None
    is_noise: bool = False


def person_words(person: Person) -> str:
    """Return the column of ids, and the caps.

    >>> person_words(Person("id", rows=5))
    "one for each id in 'id'; kept are at most 5 rows of each person"
    """
    return f"one for each id in {person.column!r}; kept are {person.words()}"


def promise_words(guarantee: Guarantee, person: Person | None) -> str:
    """Return a guarantee in plain English, about one row or about one person's rows.

    >>> import smoothdp as sd
    >>> promise = sd.PureDP(1, neighbours="add_remove")
    >>> "one person's rows" in promise_words(promise, Person("id", rows=5))
    True
    """
    if person is None:
        return guarantee.sentence()
    return f"{guarantee.sentence(unit=ONE_PERSON)} {person.sentence()}"


@dataclass(frozen=True, slots=True)
class TableFacts:
    """What a table publishes, and what it says about itself.

    It never holds the data, a sensitivity at the data, a true count, or a seed.

    Attributes:
        by: the columns of keys.
        groups: for each key its cells, by the name of the statistic.
        statistics: each name with the statistic and its noise, in words.
        spent: what each of them, the keys and the counts cost one unit, by name.
        guarantee: the promise of the whole table, known before the data were read.
        unit: whom it is about: "row" or "person".
        person: how persons' rows were bounded, if they are the unit.
        is_private: False when seeded randomness was used.
        confidence: of the intervals of all that say nothing else, if it was given.
        confidences: that of each interval there is, by the name of the statistic.
        covers: what the interval of each statistic covers, in words; empty without intervals.
        label, library_version, sources: as of a `Release`.
        rows: which rows it is about, in words; empty for all.
        selection: how private keys were chosen, in words; empty for public ones.
        frame: what kind of data came in.
        marks: by what cells are marked as noise, in words; None: they are not judged.
        person_column: the persons' ids; empty where rows are the unit. A ledger keeps one unit.
    """

    by: tuple[str, ...]
    groups: Mapping[Key, Mapping[str, Cell]]
    statistics: Mapping[str, str]
    spent: Mapping[str, Guarantee]
    guarantee: Guarantee
    unit: str
    person: Person | None
    is_private: bool
    confidence: float | None
    covers: Mapping[str, str]
    label: Label | None
    library_version: str
    sources: tuple[Source, ...]
    rows: str = ""
    selection: str = ""
    frame: str = "columns"
    confidences: Mapping[str, float] = field(default_factory=dict)
    marks: str | None = None
    person_column: str = ""

    def sentence(self) -> str:
        """Return the promise in plain English."""
        if not self.is_private:
            return "NOT PRIVATE: made with seeded randomness, for tests and simulation only."
        return promise_words(self.guarantee, self.person)

    def bars_words(self) -> list[str]:
        """Return for each statistic what its interval covers, and how surely."""
        said = []
        for name, words in self.covers.items():
            confidence = self.confidences.get(name)
            if confidence is None:
                said.append(f"{name}: {words}")
                continue
            surely = f"with probability at least {percent_text(confidence)}, by itself"
            said.append(f"{name} low, {name} high: covers {words}; {surely}")
        return said

    def value_columns(self) -> dict[str, list[Any]]:
        """Return the table by column: keys, values, and the ends of the intervals."""
        columns: dict[str, list[Any]] = {
            name: [key[place] for key in self.groups] for place, name in enumerate(self.by)
        }
        for name in self.statistics:
            cells = [row[name] for row in self.groups.values()]
            columns[name] = [cell.value for cell in cells]
            if any(cell.interval is not None for cell in cells):
                for end, side in enumerate(("low", "high")):
                    columns[f"{name} {side}"] = [
                        None if cell.interval is None else cell.interval[end] for cell in cells
                    ]
        return columns

    def notes(self) -> list[str]:
        """Return for each group which of its values may be no more than noise, in words."""
        return [
            f"{_NOISE}: {', '.join(names)}" if names else ""
            for names in (
                [name for name, cell in row.items() if cell.is_noise]
                for row in self.groups.values()
            )
        ]

    def columns(self) -> dict[str, list[Any]]:
        """Return `value_columns`, and what may be noise, where cells are judged."""
        columns = self.value_columns()
        if self.marks is None:
            return columns
        return {**columns, note_name(columns): self.notes()}


def note_name(columns: Mapping[str, object]) -> str:
    """Return a name for the column of notes that no other has.

    >>> note_name({"region": [], "note": []})
    'note on noise'
    """
    name = NOTE if NOTE not in columns else f"{NOTE} on noise"
    while name in columns:
        name += "_"
    return name
