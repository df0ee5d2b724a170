"""What ``release``, ``measure`` and ``plan`` do with missing values: one option, one note."""

from __future__ import annotations

import click

missing_option = click.option(
    "--missing", help='A public constant for missing values, or "public-drop".'
)


def missing_note(missing: str | None) -> str:
    """Return what was done with missing values, as the promise has to say it."""
    if missing is None:
        return ""
    if missing == "public-drop":
        return "Rows without a value were left out: who has none is declared public."
    return f"Missing values count as {missing}, a public constant."
