"""Noise at its calibrated scale: densities, tails, and standard deviations by smoothing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from smoothdp.errors import InvalidParameter
from smoothdp.plots.canvas import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    STYLES,
    label_axes,
    new_axes,
    power_ticks,
)
from smoothdp.plots.inputs import by_label
from smoothdp.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DENSITY_COLOURS = (BLUE, ORANGE, GREEN, "black", GREY)
_DENSITY_LINES = ("-", "--")
_PAIR_COLOURS = (ORANGE, GREEN, BLUE, "black")
_PAIR_MARKS = "os^D"
_NOISE_LABEL = "noise, in units of the smooth sensitivity"
_DEPTH = 12


class HasDensity(Protocol):
    """A noise law, as far as the picture of densities needs it."""

    def log_density(self, x: FloatArray) -> FloatArray: ...


class HasSurvival(Protocol):
    """A noise law, as far as the picture of tails needs it."""

    def log_survival(self, x: FloatArray) -> FloatArray: ...


def plot_densities(
    laws: Mapping[str, tuple[HasDensity, float]], *, title: str, reach: float = 8.0
) -> Axes:
    """Draw log10 of the density of scale * Z against its value, so that tails can be compared.

    Args:
        laws: law and scale, by label; at most ten.
        title: of the picture.
        reach: the largest value drawn, in units of smooth sensitivity.
    """
    axes = new_axes()
    x = np.linspace(-reach, reach, 801)
    for index, (label, (law, scale)) in enumerate(laws.items()):
        logs = (law.log_density(x / scale) - math.log(scale)) / math.log(10)
        colour = _DENSITY_COLOURS[index % len(_DENSITY_COLOURS)]
        axes.plot(
            x,
            logs,
            color=colour,
            linestyle=_DENSITY_LINES[index // len(_DENSITY_COLOURS)],
            label=label,
        )
    axes.set_ylim(bottom=max(-8.0, axes.get_ylim()[0]))
    label_axes(axes, x=_NOISE_LABEL, y="log10 of the density", title=title, size=8)
    return axes


def plot_tails(
    laws: Mapping[str, tuple[HasSurvival, float]], *, title: str, reach: float = 1e4
) -> Axes:
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
    label_axes(axes, x=_NOISE_LABEL, y="P(|noise| > x)", title=title, legend="lower left")
    return axes


def plot_deviations(
    smoothings: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    *,
    reference: tuple[float, str],
    title: str,
) -> Axes:
    """Draw standard deviations, logarithmically; curves come in pairs: printed, then exact.

    A pair has its colour and mark: hollow and dashed as printed, full and solid exactly.

    Args:
        smoothings: t.
        curves: a value for every t by label, inf where there is none; at most four pairs.
        reference: a horizontal line: its value and its label.
        title: of the picture.
    """
    axes = new_axes(width=8.6)
    for index, (label, values) in enumerate(curves.items()):
        printed, colour = index % 2 == 0, _PAIR_COLOURS[index // 2]
        drawn = [
            (t, value) for t, value in zip(smoothings, values, strict=True) if math.isfinite(value)
        ]
        axes.plot(
            *zip(*drawn, strict=True),
            color=colour,
            linestyle="--" if printed else "-",
            marker=_PAIR_MARKS[index // 2],
            markersize=5 if printed else 3.5,
            markerfacecolor="white" if printed else colour,
            label=label,
        )
    axes.axhline(reference[0], color=GREY, linestyle="--", linewidth=1, label=reference[1])
    axes.set_yscale("log")
    x, y = "smoothing gamma", "standard deviation / smooth sensitivity"
    label_axes(axes, x=x, y=y, title=title, size=8)
    # Outside: curves run through every corner.
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return axes
