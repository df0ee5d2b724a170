"""The rows that a table is made of: those with a key, bounded by person, and which keys they have.

Persons are bounded once. Keys, counts and statistics see the rows that are kept, and nothing else:
a statistic on all rows of a shown key would not be covered by the guarantee.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from smoothdp.data.table import MISSING, Categories, Label, Table, same_label
from smoothdp.exact.random.entropy import Entropy
from smoothdp.tables.bound_rows import bound_rows
from smoothdp.tables.grouping import Groups, Key, group_places, public_places
from smoothdp.tables.person import Person
from smoothdp.tables.private_keys import KeySelection
from smoothdp.types import IntArray


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KeptRows:
    """Rows with a key, and a person where persons are asked for.

    Attributes:
        rows: of the table, rising. places: the key of each, as a number.
        persons: the person of each, as a number; None where rows are the unit.
    """

    rows: IntArray
    places: IntArray
    persons: IntArray | None

    @classmethod
    def of(cls, table: Table, places: IntArray, person: Person | None, rng: Entropy) -> KeptRows:
        """Return the rows that have a key, at most so many of each person (proofs/tables#6)."""
        if person is None:
            rows = np.flatnonzero(places >= 0).astype(np.int64)
            return cls(rows, places[rows], None)
        persons = table.categories[person.column].codes
        rows = bound_rows(persons, places, person, rng)
        return cls(rows, places[rows], persons[rows])

    def counts(self, n_keys: int) -> IntArray:
        """Return how many units each key has: persons, or rows where rows are the unit."""
        places = self.places
        if self.persons is not None:
            # Each person counts once for a key: sorted, one of equal pairs is taken.
            pairs = np.sort(self.persons * np.int64(max(1, n_keys)) + places)
            places = pairs[np.diff(pairs, prepend=-1) > 0] % np.int64(max(1, n_keys))
        return np.bincount(places, minlength=n_keys).astype(np.int64)

    def groups(self, n_groups: int) -> Groups:
        """Return the rows of the table by group."""
        found = group_places(self.places, n_groups)
        return Groups(self.rows[found.order], found.starts)


def public_groups(
    table: Table,
    *,
    by: Sequence[str],
    keys: Sequence[Key],
    person: Person | None,
    rng: Entropy,
) -> Groups:
    """Return the kept rows of each public key."""
    return KeptRows.of(table, public_places(table, by, keys), person, rng).groups(len(keys))


def shown_groups(
    table: Table,
    *,
    by: Sequence[str],
    selection: KeySelection,
    person: Person | None,
    rng: Entropy,
) -> tuple[tuple[Key, ...], Groups, list[int] | None]:
    """Return the private keys that are shown, in an order of their own, and their kept rows.

    With their counts with noise, if these are shown beside. Which keys are shown, and the counts,
    are covered by the guarantee of the selection; the rows are private.
    """
    columns = [table.categories[name] for name in by]
    places, codes = _present(columns)
    kept = KeptRows.of(table, places, person, rng)
    shown, counts = selection.shown(kept.counts(len(codes)), rng)
    keys = [_key(columns, codes[place]) for place in shown]
    # Sorted: an order by rows would tell of the rows.
    order = sorted(range(len(keys)), key=lambda at: [same_label(label) for label in keys[at]])
    new_places = np.full(len(codes) + 1, MISSING, np.int64)
    new_places[shown[order]] = np.arange(len(order))
    groups = KeptRows(kept.rows, new_places[kept.places], kept.persons).groups(len(order))
    return (
        tuple(keys[at] for at in order),
        groups,
        None if counts is None else [int(counts[at]) for at in order],
    )


def present_keys(columns: Sequence[Categories]) -> tuple[tuple[Key, ...], IntArray]:
    """Return the keys that rows have, and for each row the place of its key or MISSING."""
    places, codes = _present(columns)
    return tuple(_key(columns, one) for one in codes), places


def _present(columns: Sequence[Categories]) -> tuple[IntArray, IntArray]:
    """Return for each row the place of its key or MISSING, and the codes of each key."""
    places = columns[0].codes
    codes: IntArray = np.arange(len(columns[0].labels), dtype=np.int64)[:, np.newaxis]
    for column in columns[1:]:
        # Column by column, so that no number exceeds that of the rows times that of labels.
        n_labels = max(1, len(column.labels))
        both = (places >= 0) & (column.codes >= 0)
        found, inverse = np.unique(
            places[both] * n_labels + column.codes[both], return_inverse=True
        )
        places = np.full(len(places), MISSING, np.int64)
        places[both] = inverse
        codes = np.column_stack([codes[found // n_labels], found % n_labels])
    return places, codes


def _key(columns: Sequence[Categories], codes: IntArray) -> Key:
    pairs = zip(columns, codes.tolist(), strict=True)
    return tuple(_shown_label(column.labels[code]) for column, code in pairs)


def _shown_label(label: Label) -> Label:
    """Return one form of all labels that mean the same, whichever row came first."""
    if isinstance(label, bool):
        return label
    if isinstance(label, str):
        return str(label)
    if isinstance(label, int) or label.is_integer():
        return int(label)
    return float(label)
