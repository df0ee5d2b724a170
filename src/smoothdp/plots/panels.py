"""Several panels of curves in one picture, as papers arrange them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from smoothdp.plots.canvas import BLUE, GREEN, GREY, ORANGE, label_axes, new_figure, with_grid

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
    rows = -(-len(panels) // columns)
    figure = new_figure(5.2 * columns, 3.9 * rows)
    for number, panel in enumerate(panels, 1):
        axes = with_grid(figure.add_subplot(rows, columns, number))
        for (label, ys), (colour, line) in zip(panel.curves.items(), _STYLES, strict=False):
            axes.plot(panel.xs, ys, color=colour, linestyle=line, label=label)
        if panel.log_scale:
            axes.set_yscale("log")
        if panel.log_x:
            axes.set_xscale("log")
        label_axes(axes, x=panel.x_label, y=panel.y_label, title=panel.title, size=8)
    return axes
