"""Rows by group: which keys a table has, and which rows belong to each."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

import numpy as np

from smoothdp.data.batches import LabelKind
from smoothdp.data.frames import frame_columns, is_frame
from smoothdp.data.row_rules import label_kind
from smoothdp.data.table import MISSING, Categories, Label, Table, same_label
from smoothdp.errors import InvalidParameter
from smoothdp.types import IntArray

Key: TypeAlias = tuple[Label, ...]
_MOST_KEYS = 1_000_000


def read_public_keys(keys: object, by: Sequence[str]) -> tuple[Key, ...]:
    """Return the groups of a table that are public, each once.

    Args:
        keys: a list of labels (where ``by`` is one column), of tuples of labels, or of mappings
            from column to label; or a mapping from each column to its labels, for all of their
            combinations; or a frame with these columns.

    Raises:
        InvalidParameter: no key, one twice, another shape, or a label that is no text, number
            or truth value.

    >>> read_public_keys({"region": ["N", "S"], "year": [2025, 2026]}, ["region", "year"])[1]
    ('N', 2026)
    """
    listed = list(_listed(keys, by))
    seen: set[object] = set()
    for key in listed:
        same = tuple(map(same_label, key))
        if same in seen:
            raise InvalidParameter(
                expected="each public key once",
                got=f"{key[0] if len(key) == 1 else key!r} twice",
                remedy="Leave the second one out",
            )
        seen.add(same)
    if not listed or len(listed) > _MOST_KEYS:
        raise InvalidParameter(
            expected=f"between 1 and {_MOST_KEYS} public keys",
            got=f"{len(listed)}",
            remedy="List the groups that the table is to have",
        )
    key_kinds(listed, by)
    return tuple(listed)


def key_kinds(keys: Sequence[Key], by: Sequence[str]) -> dict[str, LabelKind]:
    """Return for each column of which kind its public labels are.

    Raises:
        InvalidParameter: labels of several kinds in one column.

    >>> key_kinds([("N", 2025), ("S", 2026)], ["region", "year"])
    {'region': 'text', 'year': 'number'}
    """
    kinds: dict[str, LabelKind] = {}
    for place, name in enumerate(by):
        for key in keys:
            kind = label_kind(key[place])
            if kind is None or kinds.setdefault(name, kind) != kind:
                raise InvalidParameter(
                    expected=f"labels of one type for {name!r}: texts, numbers or truth values",
                    got="several types" if kind is not None else f"{key[place]!r}",
                    remedy="Write all of them as the data have them, such as '8' or 8",
                )
    return kinds


def _listed(keys: object, by: Sequence[str]) -> Iterator[Key]:
    if is_frame(keys):
        columns = frame_columns(keys, by)
        yield from (_key(row, by) for row in zip(*columns.values(), strict=True))
        return
    if isinstance(keys, dict):
        if set(keys) != set(by):
            raise _shape(f"labels for {', '.join(map(repr, keys)) or 'nothing'}", by)
        yield from (_key(row, by) for row in product(*(list(keys[name]) for name in by)))
        return
    if isinstance(keys, str) or not isinstance(keys, Sequence | np.ndarray | set | frozenset):
        raise _shape(f"keys={keys!r}"[:60], by)
    for key in keys:
        if isinstance(key, dict):
            if set(key) != set(by):
                raise _shape(f"{key!r}"[:60], by)
            yield _key([key[name] for name in by], by)
        elif isinstance(key, tuple | list):
            yield _key(key, by)
        else:
            yield _key([key], by)


def _key(labels: Sequence[object], by: Sequence[str]) -> Key:
    plain = [label.item() if isinstance(label, np.generic) else label for label in labels]
    key = tuple(label for label in plain if isinstance(label, str | int | float | bool))
    if not len(key) == len(plain) == len(by):
        raise _shape(f"{tuple(plain)!r}"[:60], by)
    return key


def _shape(got: str, by: Sequence[str]) -> InvalidParameter:
    return InvalidParameter(
        expected=f"keys as a list with a label for each of {', '.join(map(repr, by))}",
        got=got,
        remedy="Give tuples in the order of by=, or a list of labels for each column",
    )


def told_apart(keys: Sequence[Key]) -> list[Key]:
    """Return keys with truth values as texts where a column has numbers too.

    A mapping takes True and 1 for one key, and would show one group under the other's label. The
    keys of a table that is released alone decide it.

    >>> told_apart([(1,), (True,), ("True",)]), told_apart([(True,), ("N",)])
    ([(1,), ('True (truth value)',), ('True',)], [(True,), ('N',)])
    """
    return list(zip(*map(_column_apart, zip(*keys, strict=True)), strict=True))


def _column_apart(labels: Sequence[Label]) -> list[Label]:
    kinds = {isinstance(label, bool) for label in labels if not isinstance(label, str)}
    mark = ""
    while len(kinds) > 1 and {f"{bit}{mark}" for bit in (True, False)} & set(labels):
        mark += " (truth value)"
    is_mixed = len(kinds) > 1
    return [f"{one}{mark}" if is_mixed and isinstance(one, bool) else one for one in labels]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Groups:
    """The rows of each group; those of no group are left out.

    Attributes:
        order: rows, group by group. starts: where each group starts in it, and the end.
    """

    order: IntArray
    starts: IntArray

    def rows(self, group: int) -> IntArray:
        """Return the rows of one group."""
        return self.order[self.starts[group] : self.starts[group + 1]]


def group_places(places: IntArray, n_groups: int) -> Groups:
    """Return the rows of each group from the group of each row; MISSING is in none."""
    # Rows of no group come last; numpy sorts 16 bits by counting.
    places = np.where(places < 0, n_groups, places)
    if n_groups < 1 << 15:
        places = places.astype(np.int16)
    order = np.argsort(places, kind="stable")
    sizes = np.bincount(places, minlength=n_groups)[:n_groups]
    return Groups(order, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))


def public_places(table: Table, by: Sequence[str], keys: Sequence[Key]) -> IntArray:
    """Return for each row the place of its key among the public ones, or MISSING."""
    return _places([table.categories[name] for name in by], keys)


def _places(columns: Sequence[Categories], keys: Sequence[Key]) -> IntArray:
    """Return for each row the place of its key, or MISSING."""
    places: IntArray = np.zeros(len(columns[0].codes), np.int64)
    prefixes: list[Hashable] = [()] * len(keys)
    for depth, column in enumerate(columns):
        # Column by column, so that no number exceeds the number of keys times that of labels.
        labels = [same_label(key[depth]) for key in keys]
        of_label = {label: code for code, label in enumerate(dict.fromkeys(labels))}
        of_prefix = {prefix: code for code, prefix in enumerate(dict.fromkeys(prefixes))}
        longer: list[Hashable] = list(zip(prefixes, labels, strict=True))
        pairs = {
            of_prefix[prefix] * len(of_label) + of_label[label]: None
            for prefix, label in zip(prefixes, labels, strict=True)
        }
        translate = [of_label.get(same_label(label), MISSING) for label in column.labels]
        codes = np.array([*translate, MISSING], np.int64)[column.codes]
        known = np.array(list(pairs), np.int64)
        order = np.argsort(known)
        joined = places * len(of_label) + codes
        found = np.minimum(np.searchsorted(known[order], joined), len(known) - 1)
        is_known = (places >= 0) & (codes >= 0) & (known[order][found] == joined)
        places = np.where(is_known, order[found], MISSING)
        prefixes = longer
    return places
