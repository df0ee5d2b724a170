"""Standard deviation of noise against the smoothing: theorem dashed, exact solid."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from smoothdp.plots.canvas import BLUE, GREEN, GREY, ORANGE, label_axes, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = (ORANGE, GREEN, BLUE, "black")


def plot_deviations(
    smoothings: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    *,
    reference: tuple[float, str],
    title: str,
) -> Axes:
    """Draw standard deviations, logarithmically; curves come in pairs, paper and exact.

    Args:
        smoothings: t.
        curves: a value for every t by label, inf where there is none; at most four pairs.
        reference: a horizontal line: its value and its label.
        title: of the picture.
    """
    axes = new_axes()
    for index, (label, values) in enumerate(curves.items()):
        line = "--" if index % 2 == 0 else "-"
        drawn = [
            (t, value) for t, value in zip(smoothings, values, strict=True) if math.isfinite(value)
        ]
        axes.plot(
            *zip(*drawn, strict=True),
            color=_COLOURS[index // 2],
            linestyle=line,
            marker="o",
            markersize=3,
            label=label,
        )
    axes.axhline(reference[0], color=GREY, linestyle=":", label=reference[1])
    axes.set_yscale("log")
    label_axes(axes, x="smoothing", y="standard deviation", title=title, size=8)
    return axes
