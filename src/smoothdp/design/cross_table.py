"""A cross table of public columns: every combination of their values is a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from smoothdp.data.read_table import read_table
from smoothdp.design.cells import MOST_CELLS
from smoothdp.errors import InvalidData, InvalidParameter

_NO_VALUE = "no value"


def cross_table(
    data: Any,
    columns: Sequence[str],
    *,
    names: Mapping[str, Mapping[str, str | None]] | None = None,
    only_occurring: bool = False,
    csv: Mapping[str, Any] | None = None,
) -> dict[tuple[str, ...], int]:
    """Return the number of records in every cell of a cross table, empty cells included.

    The records must be public, as what is designed from the cells is as private as they are. A
    record without a value of a column is in a cell "no value".

    Args:
        data: what `release_table` takes: columns by name, a frame, or the path of a file.
        columns: of the table, each once.
        names: of a column all the values there may be, with the names that cells get (None: the
            value itself); of other columns the values that occur count as all.
        only_occurring: leave empty cells out: they are declared impossible.
        csv: how a CSV file is written.

    Raises:
        InvalidData: a value that names does not have, a file that cannot be read, more than a
            million cells.
        InvalidParameter: no column, one twice, or names of another one.

    >>> people = {"region": ["N", "S", "N"], "job": ["nurse", "nurse", "smith"]}
    >>> cross_table(people, ["region", "job"], names={"region": {"N": "North", "S": None}})
    {('North', 'nurse'): 1, ('North', 'smith'): 1, ('S', 'nurse'): 1, ('S', 'smith'): 0}
    """
    listed = dict(names or {})
    if not columns or len(set(columns)) < len(columns) or not set(listed) <= set(columns):
        raise InvalidParameter(
            expected="columns of the table, each once, and names of these columns",
            got=f"columns {', '.join(columns)}; names of {', '.join(listed) or 'none'}",
            remedy="Name each column once",
        )
    table = read_table(data, categories=columns, numbers=[], csv=csv)
    axes, codes = [], []
    for name in columns:
        column = table.categories[name]
        found = [str(label) for label in column.labels]
        values = dict(listed[name]) if name in listed else dict.fromkeys(found)
        unknown = [value for value in found if value not in values]
        if unknown:
            raise InvalidData(
                expected=f"every value of {name!r} among its names",
                got="another",
                remedy="Add the values that are missing",
            )
        order = {value: place for place, value in enumerate(values)}
        axis = [shown or value for value, shown in values.items()]
        # A row without a value has the code -1: the last of the places.
        places = np.array([*(order[value] for value in found), len(axis)], dtype=np.int64)
        codes.append(places[column.codes])
        axes.append([*axis, *([_NO_VALUE] if (column.codes < 0).any() else [])])
        if len(set(axes[-1])) < len(axes[-1]):
            raise InvalidData(
                expected=f"a name of its own for every value of {name!r}",
                got="one name twice",
                remedy="Name the values apart",
            )
    shape = [len(axis) for axis in axes]
    n_cells = int(np.prod([float(length) for length in shape]))
    if n_cells > MOST_CELLS:
        raise InvalidData(
            expected=f"at most {MOST_CELLS} cells",
            got=f"{n_cells}",
            remedy="Cross fewer columns",
        )
    if table.n_rows == 0:
        return {} if only_occurring else dict.fromkeys(product(*axes), 0)
    flat = np.ravel_multi_index(tuple(codes), shape)
    counts = np.bincount(flat, minlength=n_cells).tolist()
    return {
        labels: count
        for labels, count in zip(product(*axes), counts, strict=True)
        if count or not only_occurring
    }
