"""Pictures: each function returns matplotlib axes, and `save` writes them to a file.

matplotlib is imported inside the calls, so it stays an extra (`pip install "smoothdp[plot]"`).
Colours are told apart by colour-blind readers, and every curve has its own kind of line.
"""

from smoothdp.plots.canvas import picture_path, save
from smoothdp.plots.error_by_budget import plot_error_by_budget
from smoothdp.plots.groups import plot_groups
from smoothdp.plots.inline import inline_svg
from smoothdp.plots.noise import plot_densities, plot_tails
from smoothdp.plots.profile import plot_profile, plot_profiles
from smoothdp.plots.quantiles import plot_quantiles
from smoothdp.plots.sensitivity import plot_sensitivity
from smoothdp.plots.tradeoff import plot_tradeoff

__all__ = [
    "inline_svg",
    "picture_path",
    "plot_densities",
    "plot_error_by_budget",
    "plot_groups",
    "plot_profile",
    "plot_profiles",
    "plot_quantiles",
    "plot_sensitivity",
    "plot_tails",
    "plot_tradeoff",
    "save",
]
