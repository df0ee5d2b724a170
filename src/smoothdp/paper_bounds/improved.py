"""Statements of papers 2 and 4 on noise with better constants, proved here and not there.

Each is named after the printed one, which it is never above. Calibration by them is
method="closed_form".
"""

from __future__ import annotations

from fractions import Fraction

from smoothdp.exact.balls.balls import ball
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.noise.laws.generalized_cauchy import generalized_cauchy_score
from smoothdp.noise.laws.student_t import student_t_score
from smoothdp.noise.laws.uniform_log_normal import uniform_log_normal_score
from smoothdp.paper_bounds.settings import (
    linear_loss,
    read_above,
    read_magnitude,
    upper_float,
)


def bun_steinke_theorem_22_improved(
    sigma: Parameter, *, shift: Parameter, dilation: Parameter
) -> float:
    """Return |t| / sigma + c(sigma) |s|, c the exact score of the uniform log-normal law.

    As `bun_steinke_theorem_22`, for every sigma > 0 and never above it. Not in the paper;
    proved in `uniform_log_normal_score`.

    Raises:
        InvalidParameter: sigma not above 0.

    >>> round(bun_steinke_theorem_22_improved("0.3", shift=1, dilation=0), 9)
    4.87790423
    """
    shape = read_above(sigma, 0, name="sigma")
    return linear_loss(uniform_log_normal_score, shape, 1 / shape, shift, dilation)


def bun_steinke_theorem_31_improved(
    degrees: Parameter, *, shift: Parameter, dilation: Parameter
) -> float:
    """Return max(1, d) |t| + |s| (d + 1) / (2 sqrt d), never above Theorem 31.

    Not in the paper: with the Jacobian, d/dt of t + ln f(e^t x) is in [-d, 1]. So finite variance
    reaches up to t = epsilon / 2, and the Cauchy law up to t = epsilon.

    Raises:
        InvalidParameter: degrees not above 0.

    >>> bun_steinke_theorem_31_improved(1, shift=0, dilation="0.9")
    0.9
    """
    d = read_above(degrees, 0, name="degrees")
    return linear_loss(student_t_score, d, max(Fraction(1), d), shift, dilation)


def hladik_tetek_claim_16_loss_improved(
    power: Parameter, *, shift: Parameter, dilation: Parameter
) -> float:
    """Return max(1, c - 1) |t| + (c - 1)^((c - 1) / c) |s|, rounded up: generalised Cauchy, c > 1.

    The sum of the two exact scores, never above `hladik_tetek_claim_16_loss`. Not in the paper.

    Raises:
        InvalidParameter: power not above 1.

    >>> hladik_tetek_claim_16_loss_improved(2, shift=1, dilation="0.5")
    1.5
    """
    c = read_above(power, 1, name="power")
    s, t = read_magnitude(shift, name="shift"), read_magnitude(dilation, name="dilation")
    slope = max(Fraction(1), c - 1)
    return upper_float(lambda: ball(slope * t) + ball(s) * generalized_cauchy_score(c))
