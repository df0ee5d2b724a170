"""What privacy costs: the expected error against the budget, or against n."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from smoothdp.errors import InvalidParameter
from smoothdp.plots.canvas import GREY, STYLES, label_axes, new_axes
from smoothdp.plots.inputs import by_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Point(Protocol):
    """The numbers of one budget, as `errors_by_epsilon` and `errors_by_size` return them."""

    @property
    def x(self) -> float: ...
    @property
    def rmse(self) -> float: ...
    @property
    def rmse_without_privacy(self) -> float: ...
    @property
    def rmse_lower_bound(self) -> float: ...


def plot_error_by_budget(
    plans: Mapping[str, Sequence[Point]] | Sequence[Point], *, title: str, x_label: str = "epsilon"
) -> Axes:
    """Draw expected errors against epsilon or n, with the errors that no noise goes below.

    Args:
        plans: points by label, in the order of x; one to three labels. The error without
            privacy is drawn from the first.
        title: of the picture; x_label: of the horizontal axis.

    Raises:
        InvalidParameter: no points, or more than three labels.
        MissingExtra: matplotlib is not installed.
    """
    named = by_label(plans, label="best plan")
    if len(named) > 3 or not all(named.values()):
        raise InvalidParameter(
            expected="1 to 3 lists of points",
            got=len(named),
            remedy="Give lists of sd.planning.errors_by_epsilon",
        )
    axes = new_axes()
    for (label, points), (colour, _) in zip(named.items(), STYLES, strict=False):
        for words, line, values in (
            (label, "-", [p.rmse for p in points]),
            (f"{label}: no noise goes below", ":", [p.rmse_lower_bound for p in points]),
        ):
            drawn = [(p.x, y) for p, y in zip(points, values, strict=True) if math.isfinite(y)]
            marker = "o" if line == "-" else None
            axes.plot(
                *zip(*drawn, strict=True),
                color=colour,
                linestyle=line,
                marker=marker,
                markersize=4,
                label=words,
            )
    first = next(iter(named.values()))
    xs, plain = [p.x for p in first], [p.rmse_without_privacy for p in first]
    axes.plot(xs, plain, color=GREY, linestyle="--", label="without privacy")
    axes.set_xscale("log")
    axes.set_yscale("log")
    label_axes(axes, x=x_label, y="expected error (root mean square)", title=title)
    return axes
