"""A privacy profile: delta against epsilon, on a log scale that goes below floats."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from smoothdp.plots.canvas import BLUE, GREEN, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from smoothdp.privacy.profile import PrivacyProfile


def plot_profile(
    profile: PrivacyProfile,
    *,
    largest_epsilon: float,
    title: str,
    reference: tuple[float, str] | None = None,
) -> Axes:
    """Draw log10 of delta(epsilon) for 0 <= epsilon <= largest_epsilon.

    ``reference`` is a horizontal line: a log10 value and its label.
    """
    axes = new_axes()
    epsilons = [largest_epsilon * step / 120 for step in range(121)]
    logs = [profile.log_delta(epsilon) / math.log(10) for epsilon in epsilons]
    drawn = [(e, value) for e, value in zip(epsilons, logs, strict=True) if value > -math.inf]
    axes.plot(*zip(*drawn, strict=True), color=BLUE, label="delta, exact")
    if reference is not None:
        axes.axhline(reference[0], color=GREEN, linestyle="--", label=reference[1])
    axes.set_xlabel("epsilon")
    axes.set_ylabel("log10 delta")
    axes.set_title(title, fontsize=10)
    axes.legend(frameon=False, fontsize=9)
    return axes
