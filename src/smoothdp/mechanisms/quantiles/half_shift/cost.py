"""What the parts of a half-shift release cost together, compared with what is promised.

Source: proofs/half-shift#2, #5.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from smoothdp.claims.guarantees.concentrated import ZCDP, TruncatedCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.neighbours import Neighbours
from smoothdp.claims.terms import RhoTerms
from smoothdp.errors import InvalidParameter
from smoothdp.mechanisms.quantiles.half_shift.bars import PartBars
from smoothdp.noise.calibration import Calibration
from smoothdp.noise.law import NoiseDistribution


def check_cost(
    guarantee: Guarantee,
    shift_variance: Fraction,
    calibrations: Sequence[Calibration[NoiseDistribution]],
    bars: Sequence[PartBars | None],
) -> None:
    """Raise InvalidParameter unless the parts together keep the guarantee."""
    cost = total(guarantee, shift_variance, calibrations, bars)
    if cost is None or not cost.implies(guarantee):
        raise InvalidParameter(
            expected="a half shift, noise and bars that together keep the guarantee",
            got=f"{guarantee!r}, with parts that cost {cost!r}",
            remedy="Make it with HalfShift.calibrate",
        )


def total(
    guarantee: Guarantee,
    shift_variance: Fraction,
    calibrations: Sequence[Calibration[NoiseDistribution]],
    bars: Sequence[PartBars | None],
) -> Guarantee | None:
    """Return what all parts keep together; None where they do not add up."""
    if guarantee.neighbours is not Neighbours.REPLACE_ONE or not shift_variance > 0:
        return None
    rho, orders = 1 / (2 * shift_variance), []
    for calibration, bar in zip(calibrations, bars, strict=True):
        terms = calibration.guarantee.terms()
        if (
            calibration.guarantee.neighbours is not Neighbours.REPLACE_ONE
            or not isinstance(terms, RhoTerms)
            or (bar is not None and not bar.is_paid(calibration.smoothing))
        ):
            return None
        rho += terms.rho + (0 if bar is None else bar.cost)
        if terms.omega is not None:
            orders.append(terms.omega)
    return TruncatedCDP(rho, omega=min(orders)) if orders else ZCDP(rho)
