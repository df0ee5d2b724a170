"""Records of a CSV file, streamed with the standard library."""

from __future__ import annotations

import csv
import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from operator import itemgetter
from pathlib import Path

from smoothdp.data.csv_format import CsvFormat
from smoothdp.data.missing import without_missing
from smoothdp.data.refusals import column_index, no_rows, unreadable
from smoothdp.errors import InvalidData

_ROWS_AT_ONCE = 65536
_LISTS_AT_ONCE = 512
"""Rows are lists while they are read: so many stay in the cache, and out of the collector's way."""
_UNKNOWN = "\ufffd"
STDIN = Path("-")
"""The path that stands for standard input, which holds CSV."""


def is_csv(path: Path) -> bool:
    """Return whether the name of a file says that it is CSV, or stands for standard input."""
    return path == STDIN or csv_ending(path) in (".csv", ".tsv")


def csv_ending(path: Path) -> str:
    """Return the ending of a file's name without .gz, in small letters."""
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()


def csv_values(
    path: Path, column: str, csv_format: CsvFormat, missing: str | None
) -> Iterator[list[str]]:
    """Yield the texts of a column, in chunks; see `smoothdp.data.missing`."""
    is_empty = True
    with csv_records(path, csv_format, may_refuse=True, at_once=_LISTS_AT_ONCE) as (header, chunks):
        pick, widths = itemgetter(column_index(path, header, column)), {len(header)}
        for texts in _gathered(path, chunks, pick, widths):
            if csv_format.na:
                texts = ["" if csv_format.is_missing(text) else text for text in texts]
            yield without_missing(texts, missing, column)
            is_empty = False
    if is_empty:
        raise no_rows(path)


def _gathered(
    path: Path,
    chunks: Iterator[list[list[str]]],
    pick: Callable[[list[str]], str],
    widths: set[int],
) -> Iterator[list[str]]:
    """Yield the texts of one column in larger chunks than the rows are read in."""
    texts: list[str] = []
    for rows in chunks:
        if set(map(len, rows)) != widths:
            raise _ragged(path, *widths)
        texts.extend(map(pick, rows))
        if len(texts) >= _ROWS_AT_ONCE:
            yield texts
            texts = []
    if texts:
        yield texts


def csv_columns(
    path: Path, names: Sequence[str], csv_format: CsvFormat, *, everything: bool = False
) -> Iterator[dict[str, list[str]]]:
    """Yield columns of texts, in chunks; no record is refused, and a field that is not there is
    empty. ``everything``: those that are not named too.
    """
    with csv_records(path, csv_format, may_refuse=False) as (header, chunks):
        places = {name: column_index(path, header, name) for name in names}
        if everything or not names:
            places |= {name: header.index(name) for name in header}
        width = len(header)
        for rows in chunks:
            full = [row if len(row) == width else row + [""] * (width - len(row)) for row in rows]
            yield {name: list(map(itemgetter(place), full)) for name, place in places.items()}


@contextmanager
def csv_records(
    path: Path, csv_format: CsvFormat, *, may_refuse: bool, at_once: int = _ROWS_AT_ONCE
) -> Iterator[tuple[list[str], Iterator[list[list[str]]]]]:
    """Open a CSV file; yield its header, and its records in chunks.

    Args:
        may_refuse: whether a record may be refused: bytes of another encoding, or a quotation
            mark that is not closed. Otherwise the header alone may.
        at_once: records in a chunk.
    """
    try:
        with _opened(path, csv_format, "strict" if may_refuse else "replace") as file:
            delimiter = csv_format.delimiter_of(csv_ending(path))
            reader: Iterator[list[str]]
            if may_refuse:
                reader = csv.reader(file, delimiter=delimiter, strict=True)
            else:
                reader = _line_by_line(file, delimiter)
            header = [name.strip() for name in next(reader, [])]
            if any(_UNKNOWN in name for name in header):
                raise _other_bytes(path, csv_format)
            yield header, _chunks(reader, at_once)
    except UnicodeError:
        raise _other_bytes(path, csv_format) from None
    except csv.Error:
        raise InvalidData(
            expected=f"well-formed CSV in {path}",
            got="a line that is not",
            remedy="Close every quotation mark, and double those inside a quoted field",
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, error) from None


def _chunks(reader: Iterator[list[str]], at_once: int) -> Iterator[list[list[str]]]:
    while rows := list(islice(reader, at_once)):
        yield rows


def _line_by_line(file: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    """Yield one record for each line, by that line alone.

    A quotation mark that is not closed would else take the lines after it into its field, and
    one row of somebody would change thousands of others. Lines without one need no such care.
    """

    def plain(lines: Iterator[str]) -> Iterator[str]:
        for line in lines:
            if '"' in line:
                quoted.append(line)
                return
            yield line

    lines, quoted = iter(file), list[str]()
    while True:
        try:
            for record in csv.reader(plain(lines), delimiter=delimiter, quoting=csv.QUOTE_NONE):
                yield record or [""]
        except csv.Error:
            # A line that the reader gives up, such as one without end: a row of no values.
            yield [""]
            continue
        if not quoted:
            return
        yield _one_line(quoted.pop(), delimiter)


def _one_line(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [""])
    except csv.Error:
        return [""]


@contextmanager
def _opened(path: Path, csv_format: CsvFormat, errors: str) -> Iterator[io.TextIOBase]:
    encoding = csv_format.encoding
    if path == STDIN:
        # Left open: it is not ours.
        file = io.TextIOWrapper(sys.stdin.buffer, encoding, errors, newline="")
        try:
            yield file
        finally:
            file.detach()
    elif path.suffix.lower() == ".gz":
        with gzip.open(path, "rt", encoding=encoding, errors=errors, newline="") as unpacked:
            yield unpacked
    else:
        with path.open(encoding=encoding, errors=errors, newline="") as plain:
            yield plain


def _other_bytes(path: Path, csv_format: CsvFormat) -> InvalidData:
    known = "UTF-8" if csv_format.encoding == "utf-8-sig" else csv_format.encoding
    return InvalidData(
        expected=f"{known} text in {path}",
        got="other bytes",
        remedy='Convert the file to UTF-8, or name its encoding, such as encoding="cp1252"',
    )


def _ragged(path: Path, width: int) -> InvalidData:
    return InvalidData(
        expected=f"{width} {'field' if width == 1 else 'fields'} in every row of {path}",
        got="another number in some row",
        remedy="Give every row as many fields as the header, or name the delimiter of the file",
    )
