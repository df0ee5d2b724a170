"""The one place where matplotlib is imported, and the look that all figures share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from smoothdp.errors import InvalidParameter, MissingExtra
from smoothdp.whole_file import whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette: told apart by colour-blind readers, and in grey print.
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"
PURPLE = "#9A4C7D"
STYLES = (
    (BLUE, "-"),
    (ORANGE, "--"),
    (GREEN, "-."),
    ("black", ":"),
    (PURPLE, (0, (6, 1, 1, 1, 1, 1))),
    (GREY, (0, (1, 3))),
)
"""Colour and line of the first, second, ... curve: told apart by either alone."""


def new_axes(width: float = 7.0, height: float = 4.2) -> Axes:
    """Return empty axes of a new figure, drawn off screen.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("plotting", "plot") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, alpha=0.3, linewidth=0.5)
    return axes


def save(axes: Axes, path: str | Path) -> Path:
    """Write the figure to a file, whole or not at all, and return its path."""
    target = Path(path)
    if not target.suffix:
        raise InvalidParameter(
            expected="a picture file such as out.png",
            got=str(path),
            remedy="Add .png, .svg or .pdf",
        )
    figure = axes.get_figure()
    assert figure is not None
    formats = figure.canvas.get_supported_filetypes()
    if target.suffix[1:].lower() not in formats:
        raise InvalidParameter(
            expected="a picture format that matplotlib writes",
            got=target.suffix,
            remedy="Use .png, .svg or .pdf",
        )
    with whole_file(target) as partial:
        figure.savefig(partial, format=target.suffix[1:].lower(), dpi=150)  # type: ignore[union-attr]
    return target
