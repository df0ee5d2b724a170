"""What ``smoothdp collect`` counts over, and which values of a column it refuses.

A value of the column is private: it is never repeated in a message.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from smoothdp.cli.files import read_lines
from smoothdp.types import FloatArray


def read_domain(path: Path) -> list[str]:
    """Return the public values of a file, one a line."""
    names = read_lines(path, "values")
    if not names:
        raise click.UsageError(
            f"Expected one value a line in the --domain file {path}; got an empty file. List all "
            "values that there may be."
        )
    return names


def require_known(values: Sequence[str], domain: Sequence[str], path: Path, *, column: str) -> None:
    """Raise UsageError unless all values of a column are in the domain that a file lists."""
    known = frozenset(domain)
    if any(value not in known for value in values):
        raise click.UsageError(
            f"Expected values of column {column!r} that {path} lists; got "
            "another. Add it to that file if it is public, or mend the data."
        )


def require_bits(numbers: FloatArray, *, column: str) -> None:
    """Raise UsageError unless a column holds 0 and 1 alone."""
    if ((numbers != 0) & (numbers != 1)).any():
        raise click.UsageError(
            f"Expected the values 0 and 1 in column {column!r}, or --above, --bounds or --domain; "
            "got another number. Give --above NUMBER to collect how "
            "many are above it, or --bounds LOW HIGH for the mean."
        )
