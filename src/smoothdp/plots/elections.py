"""The picture of Figure 1 of paper 1: privacy of elections, year by year."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from smoothdp.plots.canvas import BLUE, GREEN, GREY, ORANGE, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_LN10 = math.log(10)


class Row(Protocol):
    """What the picture needs of an election; natural logarithms."""

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
    axes.set_xlabel("election")
    axes.set_ylabel("log10")
    axes.set_title(title, fontsize=10)
    axes.legend(frameon=False, fontsize=9)
    return axes
