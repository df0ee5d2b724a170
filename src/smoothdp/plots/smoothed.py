"""Smoothed delta against the number of records, with 1/n beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from smoothdp.plots.canvas import BLUE, GREEN, GREY, ORANGE, label_axes, new_axes, power_of_ten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLES = ((BLUE, "o", "-"), (ORANGE, "s", "-"), (GREEN, "^", "-"), ("black", "x", "--"))
_NEAR = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
_FAR = (0, 5, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)


def plot_smoothed(
    sizes: Sequence[int], curves: Mapping[str, Sequence[float]], *, title: str
) -> Axes:
    """Draw delta against n, logarithmically, and doubly so below 1e-10.

    Args:
        sizes: numbers of records.
        curves: log10 of delta for every size, by label; at most four.
    """
    axes = new_axes()
    for (label, values), (colour, marker, line) in zip(curves.items(), _STYLES, strict=False):
        axes.plot(sizes, values, color=colour, marker=marker, linestyle=line, label=label)
    reference = [-math.log10(n) for n in sizes]
    axes.plot(sizes, reference, color=GREY, linestyle=":", label="1/n")
    lowest = min(map(min, (*curves.values(), reference)))
    axes.set_xscale("log")
    if max(sizes) < 100 * min(sizes):
        axes.set_xticks(list(sizes), [str(n) for n in sizes], minor=False)
        axes.set_xticks([], minor=True)
    axes.set_yscale("symlog", linthresh=10)
    ticks = [-tick for tick in (_NEAR if lowest > -10 else _FAR) if -tick >= 1.2 * lowest]
    axes.set_yticks(ticks, [power_of_ten(tick) for tick in ticks], minor=False)
    axes.set_yticks([], minor=True)
    axes.set_ylim(1.2 * lowest, 0.3)
    label_axes(axes, x="records", y="smoothed delta", title=title, legend="lower left")
    return axes
