"""How a CSV file writes its fields, as it stands on the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import click

from smoothdp.cli.options.command_line import gathered
from smoothdp.data.csv_format import CsvOptions

_OPTIONS = (
    click.option("--delimiter", help=r"Between the fields of a CSV file, e.g. ';' or '\t'."),
    click.option("--decimal", help="Its mark of decimals: '.' (default) or ','."),
    click.option("--thousands", help="Its mark between thousands, e.g. '.'. Default: none."),
    click.option("--na", multiple=True, help="A text that stands for a missing value, e.g. NA."),
    click.option("--encoding", help="Of the file, e.g. cp1252 or utf-16. Default: utf-8."),
)


@dataclass(frozen=True)
class CsvFileOptions:
    """The format of a CSV file; None, or nothing, where an option is left out."""

    delimiter: str | None
    decimal: str | None
    thousands: str | None
    na: tuple[str, ...]
    encoding: str | None

    def given(self) -> CsvOptions:
        """Return what was given, as `read_column` takes it."""
        options: CsvOptions = {}
        if self.delimiter is not None:
            options["delimiter"] = self.delimiter.replace("\\t", "\t")
        if self.decimal is not None:
            options["decimal"] = self.decimal
        if self.thousands is not None:
            options["thousands"] = self.thousands
        if self.na:
            options["na"] = self.na
        if self.encoding is not None:
            options["encoding"] = self.encoding
        return options


CSV = tuple(field.name for field in fields(CsvFileOptions))
"""The parameters that say how a CSV file writes its fields."""


def csv_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --delimiter, --decimal, --thousands, --na and --encoding, as ``csv``."""
    command = gathered(CsvFileOptions, "csv")(command)
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
