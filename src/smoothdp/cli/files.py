"""Files that commands take, and what is said where one is not there."""

from __future__ import annotations

from pathlib import Path

import click

import smoothdp as sd
from smoothdp.data.refusals import reason


def read_lines(path: Path, what: str) -> list[str]:
    """Return the lines of a text file without blanks at their ends; ``what`` it should hold."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(
            f"Expected a readable file of {what} {path}; got {reason(error)}. Check the path."
        ) from None
    return [line for line in map(str.strip, lines) if line]


def open_ledger(path: Path) -> sd.Ledger:
    """Return the ledger of a file that is there."""
    if not path.exists():
        raise click.UsageError(
            f"Expected a ledger at {path}; got no such file. Make one with: "
            f"smoothdp account create {path} --epsilon EPSILON --delta DELTA."
        )
    return sd.Ledger(path)


def ask_ledger(path: Path | None, guarantee: object) -> sd.Ledger | None:
    """Return the ledger of a file, if one is named, once it has room; before data are read."""
    if path is None:
        return None
    ledger = open_ledger(path)
    ledger.check(guarantee)
    return ledger
