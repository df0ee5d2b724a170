"""How a CSV file writes its fields: said by whoever has the file, never guessed from rows."""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TypedDict, cast

from smoothdp.errors import InvalidParameter

_THOUSANDS = (".", ",", " ", "'", "\u00a0", "\u202f", "\u2019")
_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)", re.ASCII)
_LEADING_ZERO = re.compile(r"[+-]?0[0-9]|\+")


class CsvOptions(TypedDict, total=False):
    """The arguments of a `CsvFormat`, as other functions take them."""

    delimiter: str | None
    decimal: str
    thousands: str | None
    na: str | Sequence[str]
    encoding: str


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """The dialect of a CSV file. An empty field is a missing value always.

    Args:
        delimiter: between fields, such as ";"; None: a tab in a .tsv file, else a comma.
        decimal: the mark of decimals: "." or ",".
        thousands: between groups of three digits, such as "." or " "; None: nothing.
        na: texts that stand for a missing value, such as "NA" as R writes it; one or several.
        encoding: of the file, such as "cp1252" or "utf-16"; a byte order mark is left out.

    Raises:
        InvalidParameter: a mark of more than one character, the same mark twice, or an encoding
            that Python does not know.

    >>> office = CsvFormat(delimiter=";", decimal=",", thousands=".", na="NA")
    >>> office.number("1.234,5"), office.number("NA"), office.number("1.2.3")
    (1234.5, nan, nan)
    """

    delimiter: str | None = None
    decimal: str = "."
    thousands: str | None = None
    na: tuple[str, ...] = ()
    encoding: str = "utf-8"

    def __init__(
        self,
        delimiter: str | None = None,
        decimal: str = ".",
        thousands: str | None = None,
        na: str | Sequence[str] = (),
        encoding: str = "utf-8",
    ) -> None:
        _check_marks(delimiter, decimal, thousands)
        marks = (na,) if isinstance(na, str) else na
        if not isinstance(marks, list | tuple) or not all(isinstance(one, str) for one in marks):
            raise InvalidParameter(
                expected="na as a text, or a list of texts",
                got=f"na={na!r}"[:80],
                remedy='Give na="NA" for files that R wrote',
            )
        object.__setattr__(self, "delimiter", delimiter)
        object.__setattr__(self, "decimal", decimal)
        object.__setattr__(self, "thousands", thousands)
        object.__setattr__(self, "na", tuple(mark.strip() for mark in marks))
        object.__setattr__(self, "encoding", _read_encoding(encoding))

    @classmethod
    def read(cls, options: object) -> CsvFormat:
        """Return a format from itself or its arguments by name; None is the default.

        Raises:
            InvalidParameter: an unknown argument, or one outside its domain.

        >>> CsvFormat.read({"delimiter": ";"}).delimiter
        ';'
        """
        if isinstance(options, CsvFormat):
            return options
        names = [field.name for field in fields(cls)]
        if options is None:
            return cls()
        if not isinstance(options, Mapping):
            raise _unknown(f"csv={options!r}"[:80], names)
        if strange := [name for name in options if name not in names]:
            raise _unknown(f"{strange[0]!r}", names)
        return cls(**cast("CsvOptions", options))

    def options(self) -> CsvOptions:
        """Return the arguments by name."""
        return {
            "delimiter": self.delimiter,
            "decimal": self.decimal,
            "thousands": self.thousands,
            "na": self.na,
            "encoding": self.encoding,
        }

    def delimiter_of(self, ending: str) -> str:
        """Return the delimiter of a file by the ending of its name."""
        if self.delimiter is not None:
            return self.delimiter
        return "\t" if ending == ".tsv" else ","

    @property
    def is_plain(self) -> bool:
        """Whether numbers are as Python writes them, and nothing but an empty field is missing."""
        return self.decimal == "." and self.thousands is None and not self.na

    def is_missing(self, text: str) -> bool:
        """Return whether a field holds no value."""
        return text == "" or text.strip() in self.na

    def as_python(self, text: str) -> str:
        """Return a field as Python writes numbers, if it is one in this format; else as it is.

        What only looks like a number, such as 1_000 or 1.2.3 with thousands ".", becomes a text
        that is none.
        """
        word = text.strip()
        if self.thousands is not None and self.thousands in word:
            mark, point = re.escape(self.thousands), re.escape(self.decimal)
            grouped = rf"[+-]?[0-9]{{1,3}}({mark}[0-9]{{3}})+({point}[0-9]*)?"
            if re.fullmatch(grouped, word, re.ASCII) is None:
                return f"not a number: {word}"
            word = word.replace(self.thousands, "")
        if self.decimal != ".":
            if "." in word:
                return f"not a number: {word}"
            word = word.replace(self.decimal, ".")
        return word

    def number(self, text: str) -> float:
        """Return the number of a field; nan where there is none. It may be infinite."""
        if self.is_missing(text) or "_" in text:
            return math.nan
        try:
            return float(text if self.is_plain else self.as_python(text))
        except ValueError:
            return math.nan

    def value(self, text: str) -> str | int | float | None:
        """Return a field as a function of rows gets it: None, a number, or a text.

        Texts of digits that begin with 0 or +, such as codes and telephone numbers, stay texts.

        >>> [CsvFormat(na="NA").value(text) for text in ("12", "1.5", "007", "NA", "Oslo")]
        [12, 1.5, '007', None, 'Oslo']
        """
        if self.is_missing(text):
            return None
        if _LEADING_ZERO.match(text.strip()):
            return text
        number = self.number(text)
        if not math.isfinite(number):
            return text
        word = self.as_python(text)
        # Longer ones are rounded, as everywhere.
        return int(word) if _WHOLE.fullmatch(word) and abs(number) < 2**53 else number


def _check_marks(delimiter: object, decimal: object, thousands: object) -> None:
    if delimiter is not None and (
        not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n'
    ):
        raise InvalidParameter(
            expected="delimiter as one character",
            got=f"delimiter={delimiter!r}"[:80],
            remedy='Give ";" or "\\t", for example',
        )
    if decimal not in (".", ","):
        raise InvalidParameter(
            expected='decimal "." or ","', got=f"decimal={decimal!r}"[:80], remedy="Give one"
        )
    if thousands is not None and thousands not in _THOUSANDS:
        raise InvalidParameter(
            expected="thousands as a point, a comma, an apostrophe or a space",
            got=f"thousands={thousands!r}"[:80],
            remedy="Leave it out if numbers have no such mark",
        )
    if decimal in (thousands, delimiter or ",") or thousands == (delimiter or ","):
        raise InvalidParameter(
            expected="different marks between fields, before decimals and between thousands",
            got=f"delimiter={delimiter or ','!r}, decimal={decimal!r}, thousands={thousands!r}",
            remedy='Name the delimiter of the file too, such as delimiter=";"',
        )


def _read_encoding(encoding: object) -> str:
    try:
        codec = codecs.lookup(cast("str", encoding))
        is_text = codec._is_text_encoding
    except (LookupError, TypeError, ValueError):
        is_text = False
    if not is_text:
        raise InvalidParameter(
            expected="an encoding of texts that Python knows",
            got=f"encoding={encoding!r}"[:80],
            remedy='Give "cp1252" for files of older Windows programs, "utf-16" or "utf-8"',
        )
    # The byte order mark is no part of the first name.
    return "utf-8-sig" if codec.name == "utf-8" else codec.name


def _unknown(got: str, names: Sequence[str]) -> InvalidParameter:
    return InvalidParameter(
        expected=f"csv with {', '.join(names[:-1])} or {names[-1]}",
        got=got,
        remedy='Give csv={"delimiter": ";", "decimal": ","}, for example',
    )
