"""Curves of log10 of a delta against anything: the rate of a sample, the number of records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from smoothdp.plots.canvas import GREY, STYLES, label_axes, new_axes, power_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500)


def plot_bound_curves(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    x: str,
    y: str,
    title: str,
    reference: tuple[float, str] | None = None,
    mark: tuple[float, str] | None = None,
    least: float = -300.0,
    log_x: bool = False,
) -> Axes:
    """Draw up to six curves of log10 values; points below ``least`` are left out.

    Args:
        curves: by label, where and how high.
        x, y, title: words. reference: a horizontal line, its log10 and label.
        mark: a vertical line, where and its label.
        least: log10 of the least value drawn. log_x: draw the horizontal axis logarithmically.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    axes, lowest = new_axes(), 0.0
    for (label, (xs, ys)), (colour, line) in zip(curves.items(), STYLES, strict=False):
        seen = [(a, b) for a, b in zip(xs, ys, strict=True) if math.isfinite(b) and b >= least]
        name = label if seen else f"{label}, below the picture"
        axes.plot(
            [a for a, _ in seen], [b for _, b in seen], color=colour, linestyle=line, label=name
        )
        lowest = min([lowest, *(b for _, b in seen)])
    if reference is not None:
        axes.axhline(reference[0], color=GREY, linestyle="--", linewidth=1, label=reference[1])
        lowest = min(lowest, reference[0])
    if mark is not None:
        axes.axvline(mark[0], color=GREY, linestyle=":", linewidth=1, label=mark[1])
    if log_x:
        axes.set_xscale("log")
    step = next((step for step in _STEPS if step * 7 >= -lowest), math.ceil(-lowest / 6))
    power_ticks(axes, [-step * k for k in range(math.floor(-lowest / step) + 1)])
    axes.set_ylim(min(1.03 * lowest, -1.0), -0.03 * min(lowest, -1.0))
    label_axes(axes, x=x, y=y, title=title, legend="best")
    return axes
