"""Densities of noise at its calibrated scale, on a log scale so that tails can be compared."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from smoothdp.plots.canvas import BLUE, GREEN, GREY, ORANGE, label_axes, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]
_COLOURS = (BLUE, ORANGE, GREEN, "black", GREY)
_LINES = ("-", "--")


class Law(Protocol):
    """The part of a noise law that the picture needs."""

    def log_density(self, x: FloatArray) -> FloatArray: ...


def plot_densities(
    laws: Mapping[str, tuple[Law, float]], *, title: str, reach: float = 8.0
) -> Axes:
    """Draw log10 of the density of scale * Z against its value.

    Args:
        laws: law and scale, by label; at most ten.
        title: of the picture.
        reach: the largest value drawn, in units of smooth sensitivity.
    """
    axes = new_axes()
    x = np.linspace(-reach, reach, 801)
    for index, (label, (law, scale)) in enumerate(laws.items()):
        logs = (law.log_density(x / scale) - math.log(scale)) / math.log(10)
        colour = _COLOURS[index % len(_COLOURS)]
        axes.plot(x, logs, color=colour, linestyle=_LINES[index // len(_COLOURS)], label=label)
    axes.set_ylim(bottom=max(-8.0, axes.get_ylim()[0]))
    words = "noise, in units of the smooth sensitivity"
    label_axes(axes, x=words, y="log10 of the density", title=title, size=8)
    return axes
