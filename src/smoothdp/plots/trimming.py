"""Errors of trimmed means against the trimming, one line for each way to add noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from smoothdp.plots.canvas import BLUE, GREEN, GREY, ORANGE, new_figure, with_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette; a mark for each colour, so that grey print tells them apart too.
_STYLES = {
    "grey": (GREY, ""),
    "black": ("black", "o"),
    "blue": (BLUE, "s"),
    "vermilion": (ORANGE, "^"),
    "green": (GREEN, "v"),
    "purple": ("#CC79A7", "D"),
    "orange": ("#E69F00", "x"),
    "sky blue": ("#56B4E9", "+"),
}


class TrimmingLine(NamedTuple):
    """Values at the trimming levels of a panel; nan and inf are left out."""

    label: str
    values: Sequence[float]
    colour: str
    dash: str = "-"


class TrimmingPanel(NamedTuple):
    """One panel: lines over common trimming levels."""

    title: str
    trims: Sequence[float]
    lines: Sequence[TrimmingLine]


def plot_trimming(
    panels: Sequence[TrimmingPanel], *, x_label: str, y_label: str, log_scale: bool = True
) -> Axes:
    """Draw panels side by side over one scale of values, and return the axes of the last.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    figure = new_figure(6.0 * len(panels), 5.6)
    first: Axes | None = None
    for number, panel in enumerate(panels, 1):
        axes = with_grid(figure.add_subplot(1, len(panels), number, sharey=first))
        first = first or axes
        for line in panel.lines:
            _draw(axes, panel.trims, line)
        if log_scale:
            axes.set_yscale("log")
        axes.set_title(panel.title, fontsize=10)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.legend(
            frameon=False, fontsize=8, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.14)
        )
    return axes


def _draw(axes: Axes, trims: Sequence[float], line: TrimmingLine) -> None:
    drawn = [(x, y) for x, y in zip(trims, line.values, strict=True) if math.isfinite(y)]
    colour, mark = _STYLES[line.colour]
    axes.plot(
        [x for x, _ in drawn],
        [y for _, y in drawn],
        color=colour,
        linestyle=line.dash,
        marker=mark,
        markersize=3.5,
        linewidth=1.2,
        label=line.label,
    )
