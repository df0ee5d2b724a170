"""Several panels of curves in one picture, as papers arrange them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from smoothdp.errors import InvalidParameter
from smoothdp.plots.canvas import (
    BLUE,
    GREY,
    PINK,
    STYLES,
    label_axes,
    new_figure,
    power_ticks,
    with_grid,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NONE: Mapping[str, Any] = MappingProxyType({})
_MARKS = "os^vDx"
# From the outer region to the inner one.
_SHADES = ((GREY, 0.18), (BLUE, 0.35))
_TICKS = 8
_STEPS = [digit * 10**zeros for zeros in range(8) for digit in (1, 2, 5)]


class Look(NamedTuple):
    """How the curves of a panel are drawn, where not as a line from point to point.

    Attributes:
        steps: curves that are steps, by label: the ends (x, y) of the stairs, each y holding from
            the x before. They stand for the curve's values at the abscissae of the panel.
        regions: shaded, by label: the labels of the curves below and above, from the outermost on.
        fits: dotted, in the colour of the curve that is fitted: fit to curve. The points of fitted
            curves are marked, and joined by a thin line.
        reference: the label of a curve that is dashed and pink, as paper 1 draws ordinary DP.
        powers: whether the values are log10, to be read as powers of ten.
    """

    steps: Mapping[str, Sequence[tuple[float, float]]] = _NONE
    regions: Mapping[str, tuple[str, str]] = _NONE
    fits: Mapping[str, str] = _NONE
    reference: str = ""
    powers: bool = False


class Panel(NamedTuple):
    """One panel: curves by label over common abscissae; at most six lines."""

    title: str
    x_label: str
    y_label: str
    xs: Sequence[float]
    curves: Mapping[str, Sequence[float]]
    log_scale: bool = False
    log_x: bool = False
    look: Look = Look()


def plot_panels(panels: Sequence[Panel], *, columns: int = 2, width: float = 5.2) -> Axes:
    """Draw panels on a grid, each so many inches wide, and return the axes of the last.

    A label has one colour and line in all panels; panels with the same labels share a legend.

    Raises:
        InvalidParameter: more than six lines in a panel.
        MissingExtra: matplotlib is not installed.
    """
    rows = -(-len(panels) // columns)
    figure = new_figure(width * columns, 0.75 * width * rows)
    shared = len(panels) > 1 and len({tuple(panel.curves) for panel in panels}) == 1
    styles: dict[str, int] = {}
    for number, panel in enumerate(panels, 1):
        axes = with_grid(figure.add_subplot(rows, columns, number))
        _choose_styles(styles, _lines(panel))
        _draw(axes, panel, styles)
        if panel.log_scale:
            axes.set_yscale("log")
        if panel.log_x:
            axes.set_xscale("log")
        elif max(panel.xs) >= 10_000:
            axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
        if panel.look.powers:
            _label_powers(axes)
        y_label = panel.y_label.removeprefix("log10 of " if panel.look.powers else "")
        label_axes(axes, x=panel.x_label, y=y_label, title=panel.title, size=8)
        legend = axes.get_legend()
        if shared and legend is not None:
            legend.remove()
    if shared:
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside lower center", ncols=len(labels), frameon=False,
            fontsize=8,
        )  # fmt: skip
    return axes


def _lines(panel: Panel) -> list[str]:
    """Return the labels of the curves that are lines of their own style."""
    look = panel.look
    other = {edge for region in look.regions.values() for edge in region}
    other |= {look.reference, *look.fits}
    return [label for label in panel.curves if label not in other]


def _choose_styles(styles: dict[str, int], labels: Sequence[str]) -> None:
    """Give each label that has none the first style that the others of its panel leave."""
    if len(labels) > len(STYLES):
        raise InvalidParameter(
            expected=f"at most {len(STYLES)} lines in one panel",
            got=len(labels),
            remedy="Draw them in several panels",
        )
    taken = {styles[label] for label in labels if label in styles}
    free = iter([style for style in range(len(STYLES)) if style not in taken])
    for label in labels:
        if label not in styles:
            styles[label] = next(free)


def _draw(axes: Axes, panel: Panel, styles: Mapping[str, int]) -> None:
    """Draw the curves of a panel, its regions first."""
    look = panel.look
    shades = _SHADES[-len(look.regions) :] if look.regions else ()
    for (label, (below, above)), (colour, alpha) in zip(look.regions.items(), shades, strict=True):
        ends = (_drawable(panel, below), _drawable(panel, above))
        axes.fill_between(panel.xs, *ends, color=colour, alpha=alpha, linewidth=0, label=label)
    fitted = set(look.fits.values())
    for label in _lines(panel):
        colour, line = STYLES[styles[label]]
        if label in look.steps:
            # Each value holds from the x before: the inverse of a distribution function does.
            xs, ys = zip(*look.steps[label], strict=True)
            axes.plot(xs, ys, color=colour, linestyle=line, drawstyle="steps-pre", label=label)
        elif label in fitted:
            axes.plot(
                panel.xs, _drawable(panel, label), color=colour, linewidth=0.8, label=label,
                marker=_MARKS[styles[label]], markersize=4,
            )  # fmt: skip
        else:
            axes.plot(panel.xs, _drawable(panel, label), color=colour, linestyle=line, label=label)
    for label, curve in look.fits.items():
        colour, _ = STYLES[styles[curve]]
        axes.plot(
            panel.xs, _drawable(panel, label), color=colour, linestyle=":", linewidth=1.6,
            label=label,
        )  # fmt: skip
    if look.reference:
        values = _drawable(panel, look.reference)
        axes.plot(panel.xs, values, color=PINK, linestyle="--", label=look.reference)


def _drawable(panel: Panel, label: str) -> list[float]:
    """Return the values of a curve, nan where a log scale has no place for them."""
    return [
        y if math.isfinite(y) and (y > 0 or not panel.log_scale) else math.nan
        for y in panel.curves[label]
    ]


def _label_powers(axes: Axes) -> None:
    """Label the vertical axis, which holds log10, with powers of ten; never above 1."""
    lowest = min(axes.get_ylim()[0], -1.0)
    step = next(step for step in _STEPS if step * _TICKS >= -lowest)
    power_ticks(axes, range(0, math.ceil(lowest) - 1, -step))
    axes.set_ylim(lowest, -0.03 * lowest)
