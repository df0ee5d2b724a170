"""The values of groups, side by side: dots with intervals, without a map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from smoothdp.errors import InvalidParameter
from smoothdp.plots.canvas import BLUE, GREY, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST = 40


def plot_groups(
    names: Sequence[str],
    values: Sequence[float],
    *,
    title: str,
    x_label: str,
    intervals: Sequence[tuple[float, float] | None] | None = None,
    most: int = 40,
) -> Axes:
    """Draw a dot for each group, with its interval if there is one, the largest on top.

    Args:
        names: of the groups. values: one for each.
        title: of the picture. x_label: what the values are.
        intervals: around the values.
        most: how many groups are drawn: the largest and the smallest, half each, and the title
            says so.

    Raises:
        InvalidParameter: no groups, or lists of several lengths.
        MissingExtra: matplotlib is not installed.
    """
    bars = [None] * len(names) if intervals is None else list(intervals)
    if not names or not len(names) == len(values) == len(bars) or most < 2:
        raise InvalidParameter(
            expected="a value for each of at least one group, and most >= 2",
            got=f"{len(names)} names, {len(values)} values, most={most}",
            remedy="Give lists of one length",
        )
    order = sorted(range(len(names)), key=lambda place: values[place])
    if len(order) > most:
        lower = most // 2
        title = f"{title}\nof {len(order)} groups the {most - lower} largest and {lower} smallest"
        order = order[:lower] + order[lower - most :]
    axes = new_axes(7.0, max(2.0, 0.9 + 0.24 * len(order)))
    for height, place in enumerate(order):
        bar = bars[place]
        if bar is not None and all(map(math.isfinite, bar)):
            axes.plot(bar, [height, height], color=GREY, linewidth=1.5, zorder=1)
    axes.scatter([values[place] for place in order], range(len(order)), color=BLUE, s=22, zorder=2)
    # Names are texts, whatever they hold: matplotlib would read a formula between dollars.
    shown = [names[place] for place in order]
    axes.set_yticks(
        range(len(order)),
        [name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…" for name in shown],
        fontsize=8,
        parse_math=False,
    )
    axes.set_xlabel(x_label, parse_math=False)
    axes.set_title(title, fontsize=10, parse_math=False)
    return axes
