"""The two samplers that open a sealed summary: the value with noise, and ln S with noise.

Both enter as exact numbers (proofs/the-released-number#2, #5).
"""

from __future__ import annotations

from fractions import Fraction

from smoothdp.claims.open_sealed import opened
from smoothdp.exact.random.lazy import LazyLaw, RoundedDraws
from smoothdp.exact.random.log_rounded import LogRoundedDraws
from smoothdp.queries.statistic import PrivateSummary


def value_draws(
    summary: PrivateSummary,
    law: LazyLaw,
    *,
    shift: Fraction,
    step: Fraction,
    limits: tuple[int, int],
) -> RoundedDraws:
    """Return the draws of f + (S / s) Z in steps of the grid: as private as the data.

    Args:
        summary: f and S, sealed. law: of Z.
        shift: s. step: of the grid. limits: the least and the largest result.
    """
    difference, decay = opened(summary.sensitivity)
    return RoundedDraws(
        law,
        centre=opened(summary.value) / step,
        factor=difference / (shift * step),
        decay=decay,
        lowest=limits[0],
        highest=limits[1],
    )


def log_sensitivity_draws(
    summary: PrivateSummary,
    law: LazyLaw,
    *,
    spread: Fraction,
    step: Fraction,
    limits: tuple[int, int],
) -> LogRoundedDraws:
    """Return the draws of ln S + B in steps of a grid: as private as the data.

    Args:
        summary: S, sealed. law: of B at unit scale. spread: its scale, > 0.
        step: of the grid. limits: the least and the largest result.
    """
    difference, decay = opened(summary.sensitivity)
    return LogRoundedDraws(
        law,
        ratio=difference,
        decay=decay,
        slope=1 / step,
        factor=spread / step,
        lowest=limits[0],
        highest=limits[1],
    )
