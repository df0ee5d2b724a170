"""The picture of Figure 1 of paper 1: privacy of elections, year by year."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from smoothdp.plots.canvas import BLUE, GREEN, GREY, ORANGE, label_axes, new_axes, power_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_LN10 = math.log(10)


class Row(Protocol):
    """The numbers of one election that the picture needs; natural logarithms."""

    @property
    def year(self) -> int: ...
    @property
    def n_votes(self) -> int: ...
    @property
    def log_delta(self) -> float: ...
    @property
    def log_utility(self) -> float: ...


def plot_elections(rows: Sequence[Row], *, title: str) -> Axes:
    """Draw delta(x), the adversary's utility and 1/n against the year, log scale."""
    axes = new_axes()
    years = [row.year for row in rows]
    axes.plot(years, [0.0] * len(rows), color=GREY, linestyle=":", label="ordinary DP (about 1)")
    axes.plot(
        years, [-math.log10(r.n_votes) for r in rows], color=GREEN, linestyle="--", label="1/n"
    )
    axes.plot(
        years, [r.log_delta / _LN10 for r in rows], color=BLUE, marker="o", label="delta(x), exact"
    )
    axes.plot(
        years,
        [r.log_utility / _LN10 for r in rows],
        color=ORANGE,
        marker="x",
        linestyle="none",
        label="adversary's utility",
    )
    lowest = min(min(row.log_delta, row.log_utility) for row in rows) / _LN10
    power_ticks(axes, range(0, math.floor(lowest) - 1, -5))
    label_axes(axes, x="election", y="delta(x) and utility", title=title)
    return axes
