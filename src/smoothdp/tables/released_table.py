"""`ReleasedTable`: what leaves a table, with one guarantee for all of it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from smoothdp.data.frames import make_frame
from smoothdp.report.html.page import HtmlReport
from smoothdp.tables.facts import Cell, TableFacts
from smoothdp.tables.table_views import draw_table, notebook_view, table_page, table_text

__all__ = ["Cell", "ReleasedTable"]


@dataclass(frozen=True, slots=True)
class ReleasedTable(TableFacts):
    """The statistics of every group, released under one guarantee.

    It never holds the data, a sensitivity at the data, a true count, or a seed.

    Attributes:
        by: the columns of keys.
        groups: for each key its cells, by the name of the statistic.
        statistics: each name with the statistic and its noise, in words.
        spent: what each of them, the keys and the counts cost one unit, by name.
        guarantee: the promise of the whole table, known before the data were read.
        unit: whom it is about: "row" or "person".
        person: how persons' rows were bounded, if they are the unit.
        is_private: False when seeded randomness was used.
        confidence: of the intervals of all that say nothing else, if it was given.
        confidences: that of each interval there is, by the name of the statistic.
        covers: what the interval of each statistic covers, in words; empty without intervals.
        label, library_version, sources: as of a `Release`.
        rows: which rows it is about, in words; empty for all.
        selection: how private keys were chosen, in words; empty for public ones.
        frame: what kind of data came in.
        marks: by what cells are marked as noise, in words; None: they are not judged.
        person_column: the persons' ids; empty where rows are the unit. A ledger keeps one unit.
    """

    def to_frame(self) -> Any:
        """Return the table as a frame of the kind that came in.

        Of pandas, polars or pyarrow; of pyarrow for a relation of DuckDB; of pandas for a file, a
        mapping, and other frames. The columns as a dict where that library is not installed.

        Its values are those released, with all their digits: for whole numbers ask for
        round_to=1 before. Its last column, "note", names the statistics that may be noise in a
        group; it is there where groups can be judged, whether any is marked or not.
        """
        return make_frame(self.columns(), self.frame)

    def plot(self, name: str | None = None, *, most: int = 40) -> Any:
        """Draw one statistic, a dot and its interval for each group; return matplotlib axes.

        Args:
            name: of the statistic; None: the first.
            most: groups that are drawn, the largest and the smallest.

        Raises:
            InvalidParameter: no such statistic.
            MissingExtra: matplotlib is not installed.
        """
        return draw_table(self, name, most=most)

    def to_html(self) -> str:
        """Return a page that stands alone: values, pictures, promise, what was spent on what.

        Raises:
            MissingExtra: matplotlib is not installed.
        """
        return self.page().html()

    def page(self, *, command: str = "") -> HtmlReport:
        """Return that page, to be written to a file.

        Args:
            command: what the reader types for another such table; nothing: not said.

        Raises:
            MissingExtra: matplotlib is not installed.
        """
        return table_page(self, command=command)

    def text(self) -> str:
        """Return the table, its statistics and its promise as lines."""
        return table_text(self)

    def _repr_html_(self) -> str:
        """Return the first rows and the promise for a notebook."""
        return notebook_view(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the table and its promise as plain values, for JSON."""
        return {
            "type": "ReleasedTable",
            "by": list(self.by),
            "columns": self.value_columns(),
            "statistics": dict(self.statistics),
            "spent": {name: json.loads(part.to_json()) for name, part in self.spent.items()},
            "guarantee": self.sentence(),
            "claim": json.loads(self.guarantee.to_json()),
            "rows": self.rows,
            "selection": self.selection,
            "unit": self.unit,
            "person": None if self.person is None else asdict(self.person),
            "is_private": self.is_private,
            "confidence": self.confidence,
            "confidences": dict(self.confidences),
            "notes": None if self.marks is None else {"by": self.marks, "groups": self.notes()},
            "covers": dict(self.covers),
            "label": None if self.label is None else self.label.to_dict(),
            "version": self.library_version,
        }

    def to_json(self) -> str:
        """Return the table as JSON."""
        return json.dumps(self.to_dict(), indent=2)
