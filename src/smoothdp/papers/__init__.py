"""Each paper's tables, figures and verdicts, recomputed."""

from smoothdp.papers.smoothed_dp import ElectionFigure

FIGURES = {"smoothed-dp/1": ElectionFigure}
"""Figures by name, as ``smoothdp papers figure NAME`` takes it."""

__all__ = ["FIGURES", "ElectionFigure"]
