"""A privacy profile: delta against epsilon, on a log scale that goes below floats."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from smoothdp.errors import InvalidParameter
from smoothdp.plots.canvas import BLUE, GREEN, GREY, STYLES, label_axes, new_axes, power_ticks
from smoothdp.plots.inputs import HasProfile, by_label, profile_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from smoothdp.claims.curves.profile import PrivacyProfile

_LN10 = math.log(10)
_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)


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
    axes.plot(*_curve(profile, largest_epsilon, 120, -math.inf), color=BLUE, label="delta, exact")
    if reference is not None:
        axes.axhline(reference[0], color=GREEN, linestyle="--", label=reference[1])
    label_axes(axes, x="epsilon", y="log10 delta", title=title)
    return axes


def plot_profiles(
    items: Mapping[str, PrivacyProfile | HasProfile] | PrivacyProfile | HasProfile,
    *,
    largest_epsilon: float,
    title: str,
    least_log10: float = -300.0,
    reference: tuple[float, str] | None = None,
    n_points: int = 121,
) -> Axes:
    """Draw one to six privacy profiles: delta against epsilon, logarithmically, to 1e-300.

    Args:
        items: profiles, or claims, mechanisms and protocols with ``.profile()``, by label.
        largest_epsilon: the right end, > 0.
        title: of the picture.
        least_log10: log10 of the least delta drawn, < 0, also below the least float.
        reference: a horizontal line: a log10 value and its label.
        n_points: epsilons at which each profile is asked.

    Raises:
        InvalidParameter: arguments outside these domains.
        MissingExtra: matplotlib is not installed.
    """
    if not (0 < largest_epsilon < math.inf and -math.inf < least_log10 < 0 and n_points > 1):
        raise InvalidParameter(
            expected="0 < largest_epsilon, least_log10 < 0 and n_points > 1",
            got=f"{largest_epsilon}, {least_log10}, {n_points}",
            remedy="Draw from epsilon 0 to a finite largest_epsilon, at two points or more",
        )
    axes, lowest = new_axes(), 0.0
    for (label, curve), (colour, line) in zip(
        by_label(items, label="delta").items(), STYLES, strict=False
    ):
        xs, ys = _curve(profile_of(curve), largest_epsilon, n_points - 1, least_log10)
        axes.plot(xs, ys, color=colour, linestyle=line, label=label)
        lowest = min([lowest, *ys])
    if reference is not None:
        axes.axhline(reference[0], color=GREY, linestyle="--", linewidth=1, label=reference[1])
        lowest = min(lowest, reference[0])
    step = next((step for step in _STEPS if step * 7 >= -lowest), -lowest / 6)
    lowest = min(lowest, -step)
    if step >= 1:
        power_ticks(axes, [-step * k for k in range(math.floor(-lowest / step) + 1)])
        label_axes(axes, x="epsilon", y="delta", title=title)
    else:
        label_axes(axes, x="epsilon", y="log10 delta", title=title)
    axes.set_ylim(1.03 * lowest, -0.03 * lowest)
    axes.set_xlim(0, largest_epsilon)
    return axes


def _curve(
    profile: PrivacyProfile, largest: float, n_steps: int, least: float
) -> tuple[list[float], list[float]]:
    """Return epsilons and log10 of delta there; where delta is 0 or too small nothing."""
    xs, ys = [], []
    for step in range(n_steps + 1):
        epsilon = largest * step / n_steps
        value = profile.log_delta(epsilon) / _LN10
        if value > -math.inf and value >= least:
            xs.append(epsilon)
            ys.append(value)
    return xs, ys
