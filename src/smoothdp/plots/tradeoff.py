"""A trade-off curve: what an attacker who wants few false alarms must miss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from smoothdp.plots.canvas import GREY, STYLES, label_axes, new_axes
from smoothdp.plots.inputs import HasProfile, by_label, tradeoff_of
from smoothdp.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from smoothdp.claims.curves.pair import Pair
    from smoothdp.claims.curves.profile import PrivacyProfile
    from smoothdp.claims.curves.tradeoff import TradeoffFunction

    Testable = TradeoffFunction | Pair | PrivacyProfile | HasProfile

_LEAST_ALPHA = 1e-9


def plot_tradeoff(
    items: Mapping[str, Testable] | Testable, *, title: str, log_scale: bool = False
) -> Axes:
    """Draw one to six trade-off curves: the type II error beta against the type I error alpha.

    Every curve lies on the safe side: at its alpha no test misses less. The grey line,
    alpha + beta = 1, is what guessing gets; the nearer a curve, the more private.

    Args:
        items: trade-off functions, pairs, profiles, or claims, mechanisms and protocols, by label.
        title: of the picture.
        log_scale: draw the power 1 - beta instead, and both logarithmically, from 1e-9: how often
            an attacker who can afford hardly any false alarm is right.

    Raises:
        InvalidParameter: something without a curve, or more than six.
        MissingExtra: matplotlib is not installed.
    """
    axes = new_axes(width=7.0 if log_scale else 5.4, height=4.8)
    grid = np.geomspace(_LEAST_ALPHA, 1.0, 200) if log_scale else np.linspace(0.0, 1.0, 201)
    guess = grid if log_scale else 1.0 - grid
    axes.plot(grid, guess, color=GREY, linewidth=1, linestyle="-", label="guessing")
    for (label, testable), (colour, line) in zip(
        by_label(items, label="exact" if log_scale else "beta").items(), STYLES, strict=False
    ):
        curve = tradeoff_of(testable)
        alphas = _alphas(curve, grid)
        ys = [(curve.power if log_scale else curve)(float(alpha)) for alpha in alphas]
        axes.plot(alphas, ys, color=colour, linestyle=line, label=label)
    y_label = "misses (type II error)"
    if log_scale:
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(_LEAST_ALPHA, 1.3)
        axes.set_ylim(_LEAST_ALPHA, 1.3)
        y_label = "found (power, 1 - type II error)"
    else:
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.set_aspect("equal")
    label_axes(axes, x="false alarms (type I error)", y=y_label, title=title)
    return axes


def _alphas(curve: TradeoffFunction, grid: FloatArray) -> FloatArray:
    """Return the grid and the curve's own knots, in order, so that corners are sharp."""
    knots = curve.alphas
    knots = knots[:: max(1, knots.size // 1000)]
    return np.unique(np.concatenate([grid, knots[knots >= grid[0]]]))
