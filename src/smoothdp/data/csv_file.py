"""One column of a CSV file, streamed with the standard library."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from operator import itemgetter
from pathlib import Path

from smoothdp.data.missing import without_missing
from smoothdp.data.refusals import column_index, no_rows, unreadable
from smoothdp.errors import InvalidData

_ROWS_AT_ONCE = 65536


def csv_values(path: Path, column: str, delimiter: str, missing: str | None) -> Iterator[list[str]]:
    """Yield the texts of a column, in chunks; see `smoothdp.data.missing`."""
    is_empty = True
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            header = next(reader, [])
            pick = itemgetter(column_index(path, [name.strip() for name in header], column))
            while rows := list(islice(reader, _ROWS_AT_ONCE)):
                if set(map(len, rows)) != {len(header)}:
                    raise _ragged(path, len(header))
                yield without_missing(list(map(pick, rows)), missing, column)
                is_empty = False
    except UnicodeDecodeError:
        raise InvalidData(
            expected=f"UTF-8 text in {path}", got="other bytes", remedy="Convert the file to UTF-8"
        ) from None
    except csv.Error:
        raise InvalidData(
            expected=f"well-formed CSV in {path}",
            got="a line that is not",
            remedy="Close every quotation mark, and double those inside a quoted field",
        ) from None
    except OSError as error:
        raise unreadable(path, error) from None
    if is_empty:
        raise no_rows(path)


def _ragged(path: Path, width: int) -> InvalidData:
    return InvalidData(
        expected=f"{width} {'field' if width == 1 else 'fields'} in every row of {path}",
        got="another number in some row",
        remedy="Give every row as many fields as the header",
    )
