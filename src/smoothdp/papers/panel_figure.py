"""A figure made of panels of curves: as text, JSON, CSV and a picture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from smoothdp.papers.table import DASH, shown
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
        missing: why there is no value at some points: what the dash in the table stands for.
        columns: panels side by side.
        panels: the curves; nan where there is no value.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    note: ClassVar[str] = ""
    missing: ClassVar[str] = "no value"
    columns: ClassVar[int] = 2
    panels: tuple[Panel, ...]

    def text(self) -> str:
        """Return a table of every panel at a few abscissae."""
        paragraphs = [self.title]
        for panel in self.panels:
            step = max(1, len(panel.xs) // _SHOWN)
            rows = [
                (f"{x:.7g}", *(shown(ys[position]) for ys in panel.curves.values()))
                for position, x in enumerate(panel.xs)
                if position % step == 0
            ]
            paragraphs.append(
                f"{panel.title}: {panel.y_label}\n\n"
                f"{table(rows, header=(panel.x_label, *panel.curves))}"
            )
            if any(DASH in row for row in rows):
                paragraphs[-1] += f"\n{DASH}: {self.missing}"
        return "\n\n".join([*paragraphs, *self.findings()])

    def findings(self) -> list[str]:
        """Return what is said below the tables, in paragraphs."""
        return [self.note] if self.note else []

    def to_dict(self) -> dict[str, object]:
        """Return everything for JSON; None where a curve has no value."""
        return {
            "figure": self.name,
            "panels": [_panel_dict(panel) for panel in self.panels],
            **({"note": "\n\n".join(self.findings())} if self.findings() else {}),
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


def _panel_dict(panel: Panel) -> dict[str, object]:
    look = panel.look
    found: dict[str, object] = {
        "title": panel.title,
        "y": panel.y_label,
        panel.x_label: list(panel.xs),
        "curves": {
            label: [y if math.isfinite(y) else None for y in ys]
            for label, ys in panel.curves.items()
        },
    }
    for name, drawn in (("steps", look.steps), ("regions", look.regions), ("fits", look.fits)):
        if drawn:
            found[name] = dict(drawn)
    return found
