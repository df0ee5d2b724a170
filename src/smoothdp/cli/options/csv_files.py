"""How a CSV file writes its fields, as it stands on the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import click

from smoothdp.cli.options.command_line import gathered

_TEXT = (
    click.option("--delimiter", help=r"Between the fields of a CSV file, e.g. ';' or '\t'."),
    click.option("--na", multiple=True, help="A text that stands for a missing value, e.g. NA."),
    click.option("--encoding", help="Of the CSV file, e.g. cp1252 or utf-16. Default: utf-8."),
)
_NUMBERS = (
    click.option("--decimal", help="Its mark of decimals: '.' (default) or ','."),
    click.option("--thousands", help="Its mark between thousands, e.g. '.'. Default: none."),
)


@dataclass(frozen=True)
class CsvTextOptions:
    """The format of a CSV file of texts; None, or nothing, where an option is left out."""

    delimiter: str | None
    na: tuple[str, ...]
    encoding: str | None

    def given(self) -> dict[str, Any]:
        """Return what was given, as `read_column` takes it."""
        options: dict[str, Any] = {}
        if self.delimiter is not None:
            options["delimiter"] = self.delimiter.replace("\\t", "\t")
        if self.na:
            options["na"] = self.na
        if self.encoding is not None:
            options["encoding"] = self.encoding
        return options


@dataclass(frozen=True)
class CsvFileOptions(CsvTextOptions):
    """The format of a CSV file of numbers too."""

    decimal: str | None
    thousands: str | None

    def given(self) -> dict[str, Any]:
        """Return what was given, as `read_column` takes it."""
        options = CsvTextOptions.given(self)
        if self.decimal is not None:
            options["decimal"] = self.decimal
        if self.thousands is not None:
            options["thousands"] = self.thousands
        return options


CSV_TEXT = tuple(field.name for field in fields(CsvTextOptions))
"""The parameters that say how a CSV file of texts is written."""


def csv_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --delimiter, --na, --encoding, --decimal and --thousands, as ``csv``."""
    command = gathered(CsvFileOptions, "csv")(command)
    for option in reversed((*_TEXT, *_NUMBERS)):
        command = option(command)
    return command


def csv_text_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that reads categories --delimiter, --na and --encoding, as ``csv``."""
    command = gathered(CsvTextOptions, "csv")(command)
    for option in reversed(_TEXT):
        command = option(command)
    return command
