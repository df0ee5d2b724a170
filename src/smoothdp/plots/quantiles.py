"""Released quantiles: the distribution function through them, their intervals, and a box."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from smoothdp.errors import InvalidParameter
from smoothdp.plots.canvas import BLUE, GREY, ORANGE, label_axes, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BOX, _HALF = -0.1, 0.035
_QUARTILES = (0.25, 0.5, 0.75)


def plot_quantiles(
    levels: Sequence[float],
    values: Sequence[float],
    *,
    title: str,
    x_label: str,
    intervals: Sequence[tuple[float, float]] | None = None,
) -> Axes:
    """Draw levels against values, joined by lines, and below them a box from quartile to quartile.

    Intervals are made before values are sorted: one may lie beside its dot. The box is drawn where
    the quartiles are among the levels; its whiskers end at the first and the last level.

    Args:
        levels: increasing, above 0 and below 1. values: one for each, as released.
        title: of the picture. x_label: what the values are.
        intervals: (lower, upper) for each level.

    Raises:
        InvalidParameter: no levels, levels that do not increase from above 0 to below 1, or lists
            of several lengths.
        MissingExtra: matplotlib is not installed.
    """
    heights = [float(level) for level in levels]
    bars = [None] * len(heights) if intervals is None else list(intervals)
    rising = all(a < b for a, b in zip([0.0, *heights], [*heights, 1.0], strict=True))
    if not heights or not rising or not len(heights) == len(values) == len(bars):
        raise InvalidParameter(
            expected="increasing levels between 0 and 1, with a value and an interval for each",
            got=f"{len(heights)} levels, {len(values)} values, {len(bars)} intervals",
            remedy="Give lists of one length, as a release of Quantiles has them",
        )
    axes = new_axes()
    for place, (height, bar) in enumerate(zip(heights, bars, strict=True)):
        if bar is not None and all(map(math.isfinite, bar)):
            label = "interval of one level" if place == 0 else "_"
            axes.plot(bar, [height, height], color=GREY, linewidth=2.5, alpha=0.7, label=label)
    axes.plot(values, heights, color=BLUE, marker="o", markersize=4, label="released quantiles")
    if all(quartile in heights for quartile in _QUARTILES):
        _box(axes, *(values[heights.index(quartile)] for quartile in _QUARTILES), ends=values)
    axes.set_ylim(_BOX - 0.07, 1.0)
    axes.set_yticks([0.0, 0.25, 0.5, 0.75, 1.0])
    label_axes(axes, x="", y="share of the records below", title="")
    axes.set_xlabel(x_label, parse_math=False)
    axes.set_title(title, fontsize=10, parse_math=False)
    return axes


def _box(axes: Axes, low: float, middle: float, high: float, *, ends: Sequence[float]) -> None:
    """Draw a box from quartile to quartile, with the median, and whiskers to the outer levels."""
    bottom, top = _BOX - _HALF, _BOX + _HALF
    outline = [low, high, high, low, low], [bottom, bottom, top, top, bottom]
    axes.plot(*outline, color=ORANGE, linewidth=1.5, linestyle="--", label="quartiles")
    axes.plot([middle, middle], [bottom, top], color=ORANGE, linewidth=2.5, label="_")
    for quartile, end in ((low, ends[0]), (high, ends[-1])):
        axes.plot([quartile, end], [_BOX, _BOX], color=ORANGE, linewidth=1.0, label="_")
