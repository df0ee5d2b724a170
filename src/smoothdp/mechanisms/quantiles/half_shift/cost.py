"""What the parts of a half-shift release cost together, compared with what is promised.

Source: proofs/half-shift#2, #8.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from smoothdp.claims.excess import mu_of_pure
from smoothdp.claims.guarantees.concentrated import ZCDP, TruncatedCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.neighbours import Neighbours
from smoothdp.claims.terms import EpsilonTerms, MuTerms, RhoTerms
from smoothdp.errors import InvalidParameter
from smoothdp.exact.probabilities.discrete_gaussian_mu import discrete_gaussian_mu
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
    terms = guarantee.terms()
    if isinstance(cost, Fraction):
        keeps = isinstance(terms, MuTerms) and cost <= terms.mu**2
    else:
        keeps = cost is not None and cost.implies(guarantee)
    if not keeps:
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
) -> Guarantee | Fraction | None:
    """Return what all parts keep together, of Gaussian DP mu^2; None where they do not add up."""
    about = {guarantee.neighbours, *(made.guarantee.neighbours for made in calibrations)}
    if about != {Neighbours.REPLACE_ONE} or not shift_variance > 0:
        return None
    pairs = zip(calibrations, bars, strict=True)
    if not all(bar is None or bar.is_paid(made.smoothing) for made, bar in pairs):
        return None
    if isinstance(guarantee.terms(), MuTerms):
        return _square(shift_variance, calibrations, bars)
    rho, orders = 1 / (2 * shift_variance), []
    for calibration, bar in zip(calibrations, bars, strict=True):
        terms = calibration.guarantee.terms()
        if not isinstance(terms, RhoTerms):
            return None
        rho += terms.rho + (0 if bar is None else bar.cost)
        if terms.omega is not None:
            orders.append(terms.omega)
    return TruncatedCDP(rho, omega=min(orders)) if orders else ZCDP(rho)


def _square(
    shift_variance: Fraction,
    calibrations: Sequence[Calibration[NoiseDistribution]],
    bars: Sequence[PartBars | None],
) -> Fraction | None:
    """Return mu^2 of all parts together, rounded up; None where a law has no proved mu."""
    square = discrete_gaussian_mu(shift_variance) ** 2
    for calibration, bar in zip(calibrations, bars, strict=True):
        terms = calibration.guarantee.terms()
        if not isinstance(terms, EpsilonTerms) or terms.delta:
            return None
        mu = mu_of_pure(terms.epsilon)
        if mu is None:
            return None
        square += mu**2 + (0 if bar is None else 2 * bar.cost)
    return square
