"""Figures 1 to 6 of paper 2 (Bun, Steinke), one class each, with the settings of 2 to 6."""

from __future__ import annotations

from smoothdp.papers.average_case_averages.private_mean_figure import PrivateMeanFigure
from smoothdp.papers.average_case_averages.trimming_figure import TrimmingFigure

__all__ = [
    "PrivateMeanFigure2",
    "PrivateMeanFigure3",
    "PrivateMeanFigure4",
    "PrivateMeanFigure5",
    "PrivateMeanFigure6",
    "TrimmingFigure",
]

_TITLE = "excess variance of the private trimmed mean, N(0, 1) data"


class PrivateMeanFigure2(PrivateMeanFigure):
    """Figure 2 of paper 2: n = 201, epsilon = 1."""

    __slots__ = ()
    title = f"{_TITLE}, n = 201, epsilon = 1"
    number, n_records, epsilon, quick_samples = 2, 201, "1", 4000
    trims = (5, 10, 15, 18, 20, *range(25, 100, 5))


class PrivateMeanFigure3(PrivateMeanFigure):
    """Figure 3 of paper 2: n = 501, epsilon = 1."""

    __slots__ = ()
    title = f"{_TITLE}, n = 501, epsilon = 1"
    number, n_records, epsilon, quick_samples = 3, 501, "1", 3000
    trims = (10, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100, 120, 150, 180, 210, 240)


class PrivateMeanFigure4(PrivateMeanFigure):
    """Figure 4 of paper 2: n = 1001, epsilon = 1."""

    __slots__ = ()
    title = f"{_TITLE}, n = 1001, epsilon = 1"
    number, n_records, epsilon, quick_samples = 4, 1001, "1", 2000
    trims = (12, 18, 24, 30, 40, 50, 60, 70, 85, 100, 120, 150, 200, 250, 300, 400)


class PrivateMeanFigure5(PrivateMeanFigure):
    """Figure 5 of paper 2: n = 5001, epsilon = 1."""

    __slots__ = ()
    title = f"{_TITLE}, n = 5001, epsilon = 1"
    number, n_records, epsilon, quick_samples = 5, 5001, "1", 800
    trims = (15, 20, 30, 40, 50, 60, 80, 100, 120, 160, 200, 300, 400, 600)


class PrivateMeanFigure6(PrivateMeanFigure):
    """Figure 6 of paper 2: n = 5001, epsilon = 0.2."""

    __slots__ = ()
    title = f"{_TITLE}, n = 5001, epsilon = 0.2"
    number, n_records, epsilon, quick_samples = 6, 5001, "0.2", 400
    trims = (40, 60, 80, 100, 120, 160, 200, 250, 300, 400, 500, 600, 800, 1000, 1300, 1600)
