"""Deviations of the noise in Figures 2 to 6 of paper 2: by its statements, and exact.

Standard deviations are of (S / s) Z at S = 1, all from `smoothdp.noise.calibration` but the
Gaussian line as printed, a float that certifies nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.claims.guarantees.concentrated import ZCDP, TruncatedCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP, PureDP
from smoothdp.errors import SmoothdpError
from smoothdp.noise import (
    ArsinhNormal,
    Gaussian,
    Laplace,
    LaplaceLogNormal,
    NoiseDistribution,
    PolyPlace,
    StudentT,
    UniformLogNormal,
    variance_lower_bound,
)
from smoothdp.noise.calibration import best_shape, calibrate
from smoothdp.paper_bounds import bun_steinke_proposition_36, bun_steinke_section_3_1_1

DELTA = Fraction(1, 10**6)
OMEGA = 10
# Of paper 2, section 7.1: the arsinh-normal shape is 2 / sqrt(3), to 20 digits.
_ARSINH = Fraction("1.15470053837925152902")
# sqrt(2), to 20 digits, rounded up.
_ROOT_TWO = Fraction("1.41421356237309504881")
_STEPS = 400


@dataclass(frozen=True, slots=True)
class Analysis:
    """One line of a figure: what the noise is and how much is needed.

    Attributes:
        label: of the line. guarantee: what the release keeps, in short.
        formula: of (epsilon, t).
    """

    label: str
    guarantee: str
    formula: Callable[[Fraction, Fraction], float]

    def deviation(self, epsilon: Fraction, smoothing: Fraction) -> float:
        """Return the deviation at smooth sensitivity 1; inf where there is no such noise."""
        try:
            return self.formula(epsilon, smoothing)
        except (SmoothdpError, OverflowError):
            return math.inf


def zcdp(epsilon: Fraction) -> ZCDP:
    """Return epsilon^2/2-zCDP."""
    return ZCDP(epsilon * epsilon / 2)


def truncated(epsilon: Fraction) -> TruncatedCDP:
    """Return (epsilon^2/2, 10)-truncated CDP."""
    return TruncatedCDP(epsilon * epsilon / 2, omega=OMEGA)


def approximate(epsilon: Fraction) -> ApproxDP:
    """Return (epsilon, 1e-6)-DP."""
    return ApproxDP(epsilon, delta=DELTA)


def deviation_of(
    law: NoiseDistribution, guarantee: Guarantee, smoothing: Fraction, *, method: str = "exact"
) -> float:
    """Return the standard deviation of a calibration."""
    return calibrate(law, guarantee, smoothing=smoothing, method=method).standard_deviation


def laplace_log_normal(epsilon: Fraction, t: Fraction) -> float:
    """Theorem 18 at the best sigma (section 3.1.1)."""
    law = LaplaceLogNormal(bun_steinke_section_3_1_1(epsilon, smoothing=t))
    return deviation_of(law, zcdp(epsilon), t, method="paper")


def uniform_log_normal_as_printed(epsilon: Fraction, t: Fraction) -> float:
    """Theorem 22 at sigma = sqrt 2, with the score of Lemma 24."""
    return deviation_of(UniformLogNormal(_ROOT_TWO), zcdp(epsilon), t, method="paper")


def arsinh_normal(epsilon: Fraction, t: Fraction) -> float:
    """Theorem 25 at sigma = 2 / sqrt 3."""
    return deviation_of(ArsinhNormal(_ARSINH), zcdp(epsilon), t, method="paper")


def student_t_as_printed(epsilon: Fraction, t: Fraction) -> float:
    """Theorem 31 at d = 3, with (d + 1) |t|."""
    return deviation_of(StudentT(3), PureDP(epsilon), t, method="paper")


def laplace(epsilon: Fraction, t: Fraction) -> float:
    """Theorem 34."""
    return deviation_of(Laplace(), approximate(epsilon), t, method="paper")


def gaussian_as_printed(epsilon: Fraction, t: Fraction) -> float:
    """Section 3.5 as printed, with a variance ratio of e^t where it is e^(2t): no guarantee."""
    gap = 1 + OMEGA * math.expm1(-float(t))
    if gap <= 0:
        return math.inf
    squared = 2 * gap * (float(epsilon) ** 2 / 2 - (float(t) / (2 * gap)) ** 2)
    return 1 / math.sqrt(squared) if squared > 0 else math.inf


def gaussian(epsilon: Fraction, t: Fraction) -> float:
    """Section 3.5 with the right variance ratio."""
    return deviation_of(Gaussian(), truncated(epsilon), t, method="closed_form")


def lower_bound(epsilon: Fraction, t: Fraction) -> float:
    """Proposition 36 with l = 0, which holds for mechanisms, at the best k."""
    e, x = float(epsilon), float(t)

    def log_bound(k: int) -> float:
        return 2 * _log_expm1(k * x) - _log_expm1(e * e * k * k)

    steps = max(range(1, _STEPS), key=log_bound)
    bound = bun_steinke_proposition_36(epsilon**2 / 2, shift=1, smoothing=t, steps=steps)
    return math.sqrt(bound)


def poly_place_by_theorem(epsilon: Fraction, t: Fraction) -> float:
    """Theorem 8 of paper 4, alpha = epsilon / t."""
    return deviation_of(PolyPlace(epsilon / t), PureDP(epsilon), t, method="paper")


def poly_place(epsilon: Fraction, t: Fraction) -> float:
    """PolyPlace with alpha = epsilon / t, at its exact scale."""
    return deviation_of(PolyPlace(epsilon / t), PureDP(epsilon), t)


def student_t(epsilon: Fraction, t: Fraction) -> float:
    """Student's T with the best degrees of freedom, at its exact scale."""
    law = best_shape(StudentT, PureDP(epsilon), smoothing=t)
    return deviation_of(law, PureDP(epsilon), t)


def pure_lower_bound(epsilon: Fraction, t: Fraction) -> float:
    """Return the deviation that no pure-DP noise goes below (`variance_lower_bound`)."""
    return math.sqrt(variance_lower_bound(PureDP(epsilon), shift=1, smoothing=t))


def concentrated_lower_bound(epsilon: Fraction, t: Fraction) -> float:
    """Return the deviation that no zCDP noise goes below (`variance_lower_bound`)."""
    return math.sqrt(variance_lower_bound(zcdp(epsilon), shift=1, smoothing=t))


def _log_expm1(x: float) -> float:
    """Return ln(e^x - 1), x > 0."""
    return x + math.log1p(-math.exp(-x)) if x > 1 else math.log(math.expm1(x))


PRINTED = (
    Analysis("LLN", "zCDP", laplace_log_normal),
    Analysis("ULN", "zCDP", uniform_log_normal_as_printed),
    Analysis("arsinhN", "zCDP", arsinh_normal),
    Analysis("Student's T", "pure", student_t_as_printed),
    Analysis("Lap", "approximate", laplace),
    Analysis("N, as printed (invalid)", "none", gaussian_as_printed),
    Analysis("lower bound", "zCDP", lower_bound),
)
"""The lines of the paper, by its statements as printed."""

CLOSED = (
    Analysis("N, corrected", "truncated CDP", gaussian),
    Analysis("PolyPlace, Theorem 8 of paper 4", "pure", poly_place_by_theorem),
    Analysis("PolyPlace, exact", "pure", poly_place),
    Analysis("Student's T, exact", "pure", student_t),
    Analysis("lower bound, pure", "pure", pure_lower_bound),
    Analysis("lower bound, zCDP", "zCDP", concentrated_lower_bound),
)
"""Lines beside the printed ones that need no certificate; N as section 3.5 should read."""
