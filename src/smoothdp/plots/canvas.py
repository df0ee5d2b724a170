"""The one file that makes figures of matplotlib, and the look that all of them share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from smoothdp.errors import InvalidParameter, MissingExtra
from smoothdp.whole_file import whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette: told apart by colour-blind readers, and in grey print.
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"
PURPLE = "#9A4C7D"
PINK = "#CC79A7"
STYLES = (
    (BLUE, "-"),
    (ORANGE, "--"),
    (GREEN, "-."),
    ("black", ":"),
    (PURPLE, (0, (6, 1, 1, 1, 1, 1))),
    (GREY, (0, (1, 3))),
)
"""Colour and line of the first, second, ... curve: told apart by either alone."""


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, drawn off screen.

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
    return figure


def new_axes(width: float = 7.0, height: float = 4.2) -> Axes:
    """Return the empty axes of a new figure.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    return with_grid(new_figure(width, height).add_subplot())


def with_grid(axes: Axes) -> Axes:
    """Return axes with a faint grid, and without a frame above and on the right."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, alpha=0.3, linewidth=0.5)
    return axes


def label_axes(
    axes: Axes,
    *,
    x: str,
    y: str,
    title: str,
    legend: Literal["best", "lower left"] = "best",
    size: int = 9,
) -> None:
    """Give axes their words, and a legend with letters of a size, as all pictures have them."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, fontsize=10)
    axes.legend(frameon=False, fontsize=size, loc=legend)


def power_of_ten(exponent: float) -> str:
    """Return the label of a tick at a log10: 1 or 1e-40."""
    return "1" if exponent == 0 else f"1e{exponent:.0f}"


def power_ticks(axes: Axes, exponents: Sequence[float]) -> None:
    """Label the vertical axis, which holds log10, with powers of ten."""
    axes.set_yticks(list(exponents), [power_of_ten(exponent) for exponent in exponents])


def picture_path(path: str | Path) -> Path:
    """Return the path of a picture that can be drawn, for those who draw after they have charged.

    Raises:
        InvalidParameter: no format that matplotlib writes.
        MissingExtra: matplotlib is not installed.

    >>> picture_path("out.png").suffix
    '.png'
    """
    target = Path(path)
    if not target.suffix:
        raise InvalidParameter(
            expected="a picture file such as out.png",
            got=str(path),
            remedy="Add .png, .svg or .pdf",
        )
    formats = new_figure(1, 1).canvas.get_supported_filetypes()
    if target.suffix[1:].lower() not in formats:
        raise InvalidParameter(
            expected="a picture format that matplotlib writes",
            got=target.suffix,
            remedy="Use .png, .svg or .pdf",
        )
    return target


def save(axes: Axes, path: str | Path) -> Path:
    """Write the figure to a file, whole or not at all, and return its path."""
    target, figure = picture_path(path), axes.get_figure()
    assert figure is not None
    with whole_file(target) as partial:
        figure.savefig(partial, format=target.suffix[1:].lower(), dpi=150)  # type: ignore[union-attr]
    return target
