"""Some rows of a table as they come from where they are: by column, or row by row.

No row is refused here. The schema may be: columns that are absent, of several lengths, or of a
type that holds no such values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from smoothdp.data.csv_format import CsvFormat
from smoothdp.data.refusals import no_type
from smoothdp.data.table import (
    MISSING,
    Categories,
    Label,
    categories_of_codes,
    is_missing,
    read_categories,
    read_numbers,
)
from smoothdp.errors import InvalidData
from smoothdp.types import FloatArray, IntArray

LabelKind = Literal["text", "number", "truth"]
"""What a public label is: a text, a number, or a truth value."""
_TRUTHS = {"true": True, "false": False}


class Batch(Protocol):
    """Some rows.

    Attributes:
        n_rows: how many.
    """

    @property
    def n_rows(self) -> int:
        """How many rows there are."""

    def labels(self, name: str, kind: LabelKind | None) -> Categories:
        """Return a column of labels; ``kind`` says how a file without types is read."""

    def numbers(self, name: str) -> FloatArray | IntArray:
        """Return a column of numbers, nan where there is none."""

    def rows(self) -> Iterator[dict[str, object]]:
        """Yield each row by the names of its columns; None where a value is missing."""


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Where a table comes from.

    Attributes:
        kind: "pandas", "polars", "pyarrow", another library, "columns" or "file".
        batches: a function of the names of the columns that are wanted, and of whether all the
            others are too, for functions of rows. It raises InvalidData for a schema that is
            refused.
    """

    kind: str
    batches: Callable[[Sequence[str], bool], Iterator[Batch]]


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """A column of labels that its library has encoded.

    Attributes:
        codes: for each row the place of its label, MISSING where there is none.
        labels: distinct ones. type_name: of the column, in words.
    """

    codes: IntArray
    labels: tuple[object, ...]
    type_name: str

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[object]:
        labels = (*self.labels, None)
        return (labels[code] for code in self.codes.tolist())

    @property
    def kind(self) -> LabelKind:
        """What its labels are."""
        return "truth" if self.type_name == "Boolean" else "text"


Column = Sequence[object] | np.ndarray | Encoded


@dataclass(frozen=True, slots=True, eq=False)
class ColumnsBatch:
    """Columns that hold Python's values or arrays of numpy, of one length."""

    n_rows: int
    columns: Mapping[str, Column]

    @classmethod
    def of(cls, columns: Mapping[str, Column]) -> ColumnsBatch:
        """Return the batch of some columns, or raise InvalidData if they differ in length."""
        lengths = {len(column) for column in columns.values()}
        if len(lengths) > 1:
            raise InvalidData(
                expected="columns of one length",
                got="several",
                remedy="Give a value for every row, None where it is missing",
            )
        return cls(lengths.pop() if lengths else 0, columns)

    def labels(self, name: str, kind: LabelKind | None) -> Categories:
        """Return a column of labels."""
        column = self.columns[name]
        if isinstance(column, Encoded):
            require_kind(name, kind, column.kind)
            return categories_of_codes(column.codes, column.labels)
        if isinstance(column, np.ndarray):
            require_kind(name, kind, _kind_of(column.dtype))
        return read_categories(column)

    def numbers(self, name: str) -> FloatArray | IntArray:
        """Return a column of numbers."""
        column = self.columns[name]
        if isinstance(column, Encoded):
            raise no_type(name, column.type_name, "numbers")
        return read_numbers(column, name)

    def rows(self) -> Iterator[dict[str, object]]:
        """Yield each row."""
        names = list(self.columns)
        for values in zip(*self.columns.values(), strict=True):
            yield dict(zip(names, map(_plain, values), strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class TextBatch:
    """Columns of a CSV file: what a text is depends on what it is compared with."""

    n_rows: int
    columns: Mapping[str, list[str]]
    csv_format: CsvFormat

    def labels(self, name: str, kind: LabelKind | None) -> Categories:
        """Return a column of labels, each of the kind; others are missing."""
        return labels_of_texts(self.columns[name], kind, self.csv_format)

    def numbers(self, name: str) -> FloatArray:
        """Return a column of numbers: a field that is none counts as missing."""
        texts = self.columns[name]
        if self.csv_format.is_plain:
            try:
                # As a whole, where every field is a number.
                if "_" not in "".join(texts):
                    return np.array([text or "nan" for text in texts], np.float64)
            except ValueError:
                pass
        return np.fromiter(map(self.csv_format.number, texts), np.float64, len(texts))

    def rows(self) -> Iterator[dict[str, object]]:
        """Yield each row, with numbers where a field is plainly one."""
        value, names = self.csv_format.value, list(self.columns)
        for texts in zip(*self.columns.values(), strict=True):
            yield {name: value(text) for name, text in zip(names, texts, strict=True)}


def labels_of_texts(
    texts: Sequence[str], kind: LabelKind | None, csv_format: CsvFormat
) -> Categories:
    """Return the labels of texts without types; a text that is not of the kind is missing.

    >>> labels_of_texts(["8", "x", "08"], "number", CsvFormat()).codes
    array([ 0, -1,  0])
    """
    known: dict[str, int] = {}
    places: dict[Label, int] = {}
    codes = np.empty(len(texts), np.int64)
    for row, text in enumerate(texts):
        code = known.get(text)
        if code is None:
            label = _label_of_text(text, kind, csv_format)
            code = MISSING if label is None else places.setdefault(label, len(places))
            known[text] = code
        codes[row] = code
    return Categories(codes, tuple(places))


def _label_of_text(text: str, kind: LabelKind | None, csv_format: CsvFormat) -> Label | None:
    if csv_format.is_missing(text):
        return None
    if kind == "number":
        number = csv_format.number(text)
        if not math.isfinite(number):
            return None
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
    if kind == "truth":
        return _TRUTHS.get(text.strip().lower())
    return text


def require_kind(name: str, wanted: LabelKind | None, found: LabelKind | None) -> None:
    """Refuse public labels of another type than a column has by its schema.

    Raises:
        InvalidData: the types differ, so that no row could have such a label.
    """
    if wanted is not None and found is not None and wanted != found:
        words = {"text": "texts", "number": "numbers", "truth": "truth values"}
        raise InvalidData(
            expected=f"{words[found]} for the column {name!r}, which is of that type",
            got=words[wanted],
            remedy="Write the public values in the type of the column: 'a', 1 or True",
        )


def _plain(value: object) -> object:
    if is_missing(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


def _kind_of(dtype: np.dtype[np.generic]) -> LabelKind | None:
    kinds: dict[str, LabelKind] = {"i": "number", "u": "number", "f": "number", "b": "truth"}
    return "text" if dtype.kind == "U" else kinds.get(dtype.kind)
