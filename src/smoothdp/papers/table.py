"""A table of a paper, recomputed: as text, JSON and CSV."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from smoothdp.text import table


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table with a header.

    Attributes:
        name: as ``smoothdp papers table`` takes it.
        title: in one line.
        note: what the table says, and which settings fill the gaps of the paper.
        header: of the columns.
        cells: the rows: text, numbers, or None where there is nothing.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    note: ClassVar[str] = ""
    header: tuple[str, ...]
    cells: tuple[tuple[object, ...], ...]

    def text(self) -> str:
        """Return the table and its findings as text."""
        rows = [tuple(_shown(cell) for cell in row) for row in self.cells]
        paragraphs = [self.title, table(rows, header=self.header), self.note]
        return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)

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


def _shown(cell: object) -> str:
    if cell is None:
        return "-"
    return f"{cell:.5g}" if isinstance(cell, float) else str(cell)
