"""Smooth sensitivity of a large column, beside numpy.sort of the same column."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import Row, best_time, show
from smoothdp.queries import Maximum, Mean, Median, Minimum, Quantile, Query, TrimmedMean

BOUNDS = (-1000, 1000)


def timed(what: str, query: Query, x: NDArray[np.generic], smoothing: str, reach: str = "") -> Row:
    """Time the exact value and the exact smooth sensitivity together."""
    call: Callable[[], object] = lambda: query.summary(x, smoothing=smoothing)  # noqa: E731
    return Row(what, best_time(call, calls=1, batches=3), reach)


def main() -> None:
    """Print the table of issue "release", section 1, and columns that are hard on purpose."""
    x = np.random.default_rng(1).standard_normal(10**7)
    sort = Row(
        "numpy.sort of the same 1e7 doubles",
        best_time(lambda: np.sort(x), calls=1, batches=3),
        "",
        False,
    )
    trimmed = TrimmedMean("0.05", bounds=BOUNDS)
    output = TrimmedMean("0.05", bounds=BOUNDS, truncate="output")
    show(
        "Exact value and smooth sensitivity, n = 1e7, normal data, bounds 1000 away",
        [
            sort,
            timed("median, t = 0.1", Median(BOUNDS), x, "0.1", "reach x1.5"),
            timed("median, t = 0.001", Median(BOUNDS), x, "0.001", "reach x3"),
            timed("5% trimmed mean, t = 0.1", trimmed, x, "0.1", "reach x5"),
            timed("5% trimmed mean, t = 0.001", trimmed, x, "0.001", "reach x5"),
            timed("5% trimmed mean, output truncated, t = 0.1", output, x, "0.1"),
            timed("90% quantile, window of 15, t = 0.1", ninety(), x, "0.1"),
            timed("mean, t = 0.1", Mean(BOUNDS), x, "0.1"),
            timed("median, t = 0.00001", Median(BOUNDS), x, "0.00001"),
        ],
    )
    whole = np.arange(10**7)
    ties = np.random.default_rng(2).integers(0, 100, 10**7)
    wide = Median((0, 10**7))
    tied = np.random.default_rng(3).random(10**7)
    tied[tied < 0.3] = 0
    show(
        "The same on columns of ties",
        [
            sort,
            timed("median of 0, 1, ..., 1e7 - 1, t = 0.001", wide, whole, "0.001"),
            timed("median of 0, 1, ..., 1e7 - 1, t = 0.00001", wide, whole, "0.00001"),
            timed("median of 100 different values, t = 0.1", wide, ties, "0.1"),
            timed("median of zeros, t = 0.1", Median(BOUNDS), np.zeros(10**7), "0.1"),
            timed("minimum, 30% of values at the bound, t = 0.1", Minimum((0, 1)), tied, "0.1"),
            timed("maximum, 30% of values at the bound, t = 0.1", Maximum((-1, 0)), -tied, "0.1"),
        ],
    )
    million = x[: 10**6]
    show(
        "All smoothings at once (the hull of the curve), n = 1e6",
        [
            Row(
                "numpy.sort of the same 1e6 doubles",
                best_time(lambda: np.sort(million), calls=1, batches=3),
                "",
                False,
            ),
            curve("5% trimmed mean", trimmed, million),
            curve("median", Median(BOUNDS), million),
        ],
    )


def curve(what: str, query: Query, x: NDArray[np.generic]) -> Row:
    """Time the whole curve."""
    return Row(what, best_time(lambda: query.sensitivity_curve(x), calls=1, batches=2), "")


def ninety() -> Quantile:
    """Return the quantile of the table."""
    return Quantile("0.9", bounds=BOUNDS, window=15)


if __name__ == "__main__":
    main()
