"""Several panels of curves in one picture, as papers arrange them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from smoothdp.errors import MissingExtra
from smoothdp.plots.canvas import BLUE, GREEN, GREY, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLES = ((BLUE, "-"), (ORANGE, "--"), (GREEN, "--"), ("black", ":"), (GREY, "-."))


class Panel(NamedTuple):
    """One panel: curves by label over common abscissae; at most five."""

    title: str
    x_label: str
    y_label: str
    xs: Sequence[float]
    curves: Mapping[str, Sequence[float]]
    log_scale: bool = False
    log_x: bool = False


def plot_panels(panels: Sequence[Panel], *, columns: int = 2) -> Axes:
    """Draw panels on a grid, and return the axes of the last.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("plotting", "plot") from None
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(5.2 * columns, 3.9 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    for place, panel in enumerate(panels, 1):
        axes = figure.add_subplot(rows, columns, place)
        for (label, ys), (colour, line) in zip(panel.curves.items(), _STYLES, strict=False):
            axes.plot(panel.xs, ys, color=colour, linestyle=line, label=label)
        if panel.log_scale:
            axes.set_yscale("log")
        if panel.log_x:
            axes.set_xscale("log")
        axes.set_title(panel.title, fontsize=10)
        axes.set_xlabel(panel.x_label)
        axes.set_ylabel(panel.y_label)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(visible=True, alpha=0.3, linewidth=0.5)
        axes.legend(frameon=False, fontsize=8)
    return axes
