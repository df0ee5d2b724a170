"""Each paper's tables, figures and verdicts, recomputed."""

from smoothdp.papers.smoothed_dp import Figure1

FIGURES = {"smoothed-dp/1": Figure1}
"""Figures by name, as ``smoothdp papers figure NAME`` takes it."""

__all__ = ["FIGURES", "Figure1"]
