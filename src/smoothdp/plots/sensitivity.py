"""Smooth sensitivity against the smoothing, at one public database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from smoothdp.plots.canvas import GREY, STYLES, label_axes, new_axes
from smoothdp.plots.inputs import by_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from smoothdp.queries import SensitivityCurve

_LN10 = float(np.log(10))


def plot_sensitivity(
    curves: Mapping[str, SensitivityCurve] | SensitivityCurve,
    *,
    title: str,
    smoothings: Sequence[float] | None = None,
) -> Axes:
    """Draw the smooth sensitivity S(t) against t, both logarithmically.

    S(t) is a function of the data, as private as the data: for public data and studies only,
    and the picture says so.

    Args:
        curves: `query.sensitivity_curve(data)` by label; one to six.
        title: of the picture.
        smoothings: the t to draw, > 0, increasing; 1e-4 to 10 by default.

    Raises:
        InvalidParameter: more than six curves, or a t outside its domain.
        MissingExtra: matplotlib is not installed.
    """
    axes = new_axes()
    rates = np.geomspace(1e-4, 10.0, 121).tolist() if smoothings is None else list(smoothings)
    for (label, curve), (colour, line) in zip(
        by_label(curves, label="S(t)").items(), STYLES, strict=False
    ):
        logs = [curve.log_smooth_sensitivity(smoothing=rate) / _LN10 for rate in rates]
        axes.plot(rates, logs, color=colour, linestyle=line, label=label)
    axes.set_xscale("log")
    axes.text(
        0.99, 0.99, "public data only", transform=axes.transAxes, ha="right", va="top",
        fontsize=8, color=GREY,
    )  # fmt: skip
    words = "log10 smooth sensitivity"
    label_axes(axes, x="smoothing t", y=words, title=title, legend="lower left")
    return axes
