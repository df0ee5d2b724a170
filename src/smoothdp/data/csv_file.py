"""One column of a CSV file, streamed with the standard library."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from operator import itemgetter
from pathlib import Path

from smoothdp.errors import InvalidData, explain

_ROWS_AT_ONCE = 65536


def csv_values(path: Path, column: str, delimiter: str) -> Iterator[list[str]]:
    """Yield the texts of a column, in chunks; a missing value is an error."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            header = next(reader, [])
            place = column_place(path, header, column)
            pick = itemgetter(place)
            row, width = 1, len(header)
            while rows := list(islice(reader, _ROWS_AT_ONCE)):
                ragged = next((i for i, r in enumerate(rows) if len(r) != width), None)
                if ragged is not None:
                    raise InvalidData(
                        explain(
                            f"{width} fields in every row of {path}",
                            f"{len(rows[ragged])} in row {row + ragged} after the header",
                            "Mend that row",
                        )
                    )
                values = list(map(pick, rows))
                if "" in values:
                    raise InvalidData(
                        explain(
                            f"a value in every row of column {column!r}",
                            f"none in row {row + values.index('')} after the header",
                            "Replace missing values by a category or constant of their own",
                        )
                    )
                yield values
                row += len(rows)
    except UnicodeDecodeError:
        raise InvalidData(
            explain(f"UTF-8 text in {path}", "other bytes", "Convert the file to UTF-8")
        ) from None
    except csv.Error as error:
        raise InvalidData(
            explain(f"well-formed CSV in {path}", f"{error}", "Mend the quoting")
        ) from None
    if row == 1:
        raise InvalidData(explain(f"rows in {path}", "a header alone", "Check the file"))


def column_place(path: Path, header: list[str], column: str) -> int:
    """Return where a column stands in a header that names it exactly once."""
    names = [name.strip() for name in header]
    if names.count(column) == 1:
        return names.index(column)
    got = f"it {names.count(column)} times" if column in names else f"columns {', '.join(names)}"
    raise InvalidData(explain(f"one column {column!r} in {path}", got, "Name a column of the file"))
