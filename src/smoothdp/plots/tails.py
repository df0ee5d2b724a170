"""Tails of noise at its calibrated scale: how often it is larger than x."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from smoothdp.errors import InvalidParameter
from smoothdp.plots.canvas import STYLES, label_axes, new_axes, power_ticks
from smoothdp.plots.inputs import by_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]
_DEPTH = 12


class Law(Protocol):
    """The part of a noise law that the picture needs."""

    def log_survival(self, x: FloatArray) -> FloatArray: ...


def plot_tails(laws: Mapping[str, tuple[Law, float]], *, title: str, reach: float = 1e4) -> Axes:
    """Draw P(|scale Z| > x) against x, both logarithmically.

    Light tails fall off a cliff, heavy ones (a power of x) are straight lines: rare releases
    that are far off.

    Args:
        laws: law and scale, by label; one to six.
        title: of the picture.
        reach: the largest x, in units of smooth sensitivity, > 0.

    Raises:
        InvalidParameter: arguments outside these domains.
        MissingExtra: matplotlib is not installed.
    """
    if not 0 < reach < math.inf:
        raise InvalidParameter(
            expected="0 < reach < inf",
            got=f"reach={reach}",
            remedy="Give reach as the largest x to draw, such as 10000",
        )
    axes = new_axes()
    x = np.geomspace(reach * 1e-6, reach, 400)
    for (label, (law, scale)), (colour, line) in zip(
        by_label(laws, label="noise").items(), STYLES, strict=False
    ):
        logs = (law.log_survival(x / scale) + math.log(2)) / math.log(10)
        shown = logs >= -_DEPTH
        axes.plot(x[shown], logs[shown], color=colour, linestyle=line, label=label)
    axes.set_xscale("log")
    power_ticks(axes, range(0, -_DEPTH - 1, -2))
    axes.set_ylim(-_DEPTH, 0.3)
    words = "noise, in units of the smooth sensitivity"
    label_axes(axes, x=words, y="P(|noise| > x)", title=title, legend="lower left")
    return axes
