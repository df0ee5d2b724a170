"""A table of a paper, recomputed: as text, JSON and CSV."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from smoothdp.text import table

DASH = "\N{EM DASH}"
"""Stands where there is no value; a line below the table says why."""


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table with a header.

    Attributes:
        name: as ``smoothdp papers table`` takes it.
        title: in one line.
        note: what the table says, and which settings fill the gaps of the paper.
        missing: what the dash of an empty cell stands for.
        header: of the columns.
        cells: the rows: text, numbers, or None where there is nothing.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    note: ClassVar[str] = ""
    missing: ClassVar[str] = "nothing"
    header: tuple[str, ...]
    cells: tuple[tuple[object, ...], ...]

    def text(self) -> str:
        """Return the table and its findings as text."""
        rows = [tuple(shown(cell) for cell in row) for row in self.cells]
        cells = table(rows, header=self.header)
        if any(DASH in row for row in rows):
            cells += f"\n{DASH}: {self.missing}"
        return "\n\n".join(part for part in (self.title, cells, self.note) if part)

    def to_dict(self) -> dict[str, object]:
        """Return everything for JSON: a list of rows by column; None where there is nothing."""
        return {
            "table": self.name,
            "rows": [
                {
                    column: None if isinstance(cell, float) and not math.isfinite(cell) else cell
                    for column, cell in zip(self.header, row, strict=True)
                }
                for row in self.cells
            ],
            **({"note": self.note} if self.note else {}),
        }

    def rows(self) -> tuple[tuple[str, ...], tuple[tuple[object, ...], ...]]:
        """Return the header and the rows, for CSV."""
        return self.header, self.cells


def shown(cell: object) -> str:
    """Return a cell as text; a dash where there is none, or no finite number.

    >>> shown(0.1234567), shown("T"), shown(None) == shown(float("nan")) == DASH
    ('0.12346', 'T', True)
    """
    if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
        return DASH
    return f"{cell:.5g}" if isinstance(cell, float) else str(cell)
