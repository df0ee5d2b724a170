"""``python -m benchmarks.accuracy.picture FILE``: medians against the exponential mechanism.

The ratio of errors by privacy over n epsilon / 2, lognormal data, epsilon = 1, `release` by rule.
"""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np

from benchmarks.accuracy.cells import Cell, statistic
from benchmarks.accuracy.quantiles import exponential_squares
from benchmarks.accuracy.ratios import ratio
from benchmarks.accuracy.smooth import clamped_squares
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.plots.canvas import save
from smoothdp.plots.panels import Panel, plot_panels

_SIZES = (9, 15, 25, 41, 75, 151, 301, 1001, 4001)
_HALF = Fraction(1, 2)


def panel(kind: str) -> Panel:
    """Return the curves of a kind of guarantee."""
    curves: dict[str, list[float]] = {}
    for label, width, window in (
        ("bounds 6 deviations wide", 1, None),
        ("bounds 60 wide", 10, None),
        ("bounds 6,000 wide", 1000, None),
        ("one order statistic, 6 wide", 1, 1),
    ):
        curves[label] = [
            _ratio(Cell("lognormal", n, "1", width, kind), window=window) for n in _SIZES
        ]
    curves["equal errors"] = [1.0] * len(_SIZES)
    return Panel(
        title={"pure": "pure DP", "zcdp": "zCDP, rho = epsilon^2 / 2"}[kind],
        x_label="n epsilon / 2",
        y_label="error of EM / error of smoothdp",
        xs=[n / 2 for n in _SIZES],
        curves=curves,
        log_scale=True,
        log_x=True,
    )


def _ratio(cell: Cell, *, window: int | None) -> float:
    bounds, guarantee = cell.bounds(), cell.guarantee()
    columns = list(cell.columns(40))
    plain = statistic(_HALF, bounds, window=1)
    truth = np.array([plain.value(data) for data in columns])
    query = statistic(_HALF, bounds, window=window)
    made = SmoothNoise.calibrate(query, guarantee=guarantee, n_records=cell.n)
    rival = exponential_squares(0.5, guarantee, bounds, truth, columns)
    return ratio(rival, clamped_squares(made, truth, columns)).value


def main(path: str) -> None:
    """Write the picture."""
    print(save(plot_panels([panel("pure"), panel("zcdp")]), path))


if __name__ == "__main__":
    main(*sys.argv[1:])
