"""A figure made of panels of curves: as text, JSON, CSV and a picture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from smoothdp.plots.canvas import save
from smoothdp.plots.panels import Panel, plot_panels
from smoothdp.text import table

_SHOWN = 8


@dataclass(frozen=True, slots=True)
class PanelFigure:
    """A figure made of panels.

    Attributes:
        name: as ``smoothdp papers figure`` takes it.
        title: in one line.
        note: what the figure says, and which settings fill the gaps of the paper; or "".
        columns: panels side by side.
        panels: the curves; nan where there is none.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    note: ClassVar[str] = ""
    columns: ClassVar[int] = 2
    panels: tuple[Panel, ...]

    def text(self) -> str:
        """Return a table of every panel at a few abscissae."""
        paragraphs = [self.title]
        for panel in self.panels:
            step = max(1, len(panel.xs) // _SHOWN)
            rows = [
                (f"{x:g}", *(f"{ys[position]:.5g}" for ys in panel.curves.values()))
                for position, x in enumerate(panel.xs)
                if position % step == 0
            ]
            paragraphs.append(
                f"{panel.title}: {panel.y_label}\n\n"
                f"{table(rows, header=(panel.x_label, *panel.curves))}"
            )
        return "\n\n".join([*paragraphs, self.note] if self.note else paragraphs)

    def to_dict(self) -> dict[str, object]:
        """Return everything for JSON; None where a curve has no value."""
        return {
            "figure": self.name,
            "panels": [
                {
                    "title": p.title,
                    "y": p.y_label,
                    p.x_label: list(p.xs),
                    "curves": {
                        label: [y if math.isfinite(y) else None for y in ys]
                        for label, ys in p.curves.items()
                    },
                }
                for p in self.panels
            ],
            **({"note": self.note} if self.note else {}),
        }

    def rows(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """Return one row for every point of every curve."""
        points: list[tuple[object, ...]] = [
            (panel.title, label, panel.x_label, x, panel.y_label, y)
            for panel in self.panels
            for label, ys in panel.curves.items()
            for x, y in zip(panel.xs, ys, strict=True)
            if math.isfinite(y)
        ]
        return ("panel", "curve", "x axis", "x", "y axis", "y"), points

    def draw(self, path: str | Path) -> Path:
        """Write the picture, in the arrangement of the paper, and return its path."""
        return save(plot_panels(self.panels, columns=self.columns), path)
