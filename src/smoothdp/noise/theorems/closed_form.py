"""Closed forms of this library for the shift: the papers' statements as they should read.

What they share with print and what they improve is in `statements`: the exact scores and the
exact cost of a dilation for Student's T and the generalised Cauchy law, the exact score for the
uniform log-normal law (so that every sigma is allowed), the right ratio of variances for the
Gaussian law. For the other laws they are the printed theorems.
"""

from __future__ import annotations

from fractions import Fraction

from smoothdp.claims.guarantees.concentrated import TruncatedCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.rationals import positive_ends
from smoothdp.exact.balls.special import Ball, sqrt
from smoothdp.noise.gaussian import Gaussian
from smoothdp.noise.generalized_cauchy import GeneralizedCauchy
from smoothdp.noise.law import NoiseDistribution
from smoothdp.noise.shift_claim import ShiftClaim
from smoothdp.noise.student_t import StudentT
from smoothdp.noise.theorems import scores, statements
from smoothdp.noise.theorems.amounts import pure_amount, theorem_31_amount
from smoothdp.noise.theorems.paper import log_normal_statement, paper_shift
from smoothdp.noise.theorems.refusals import no_room
from smoothdp.noise.theorems.statement import (
    BUN_STEINKE,
    HLADIK_TETEK,
    Statement,
    claim,
    read_smoothing,
    required,
)
from smoothdp.noise.uniform_log_normal import UniformLogNormal
from smoothdp.sources import Source


def closed_form_shift(
    law: NoiseDistribution, guarantee: Guarantee, smoothing: Fraction
) -> ShiftClaim:
    """Return the shift of the closed form, never above what it proves and never below print.

    Args:
        law: the noise; guarantee: the target; smoothing: t >= 0.

    Raises:
        InvalidParameter: no closed form for the pair, or no positive shift.

    >>> from smoothdp.claims.guarantees.standard import PureDP
    >>> printed = paper_shift(StudentT(3), PureDP(1), Fraction(1, 10))
    >>> closed = closed_form_shift(StudentT(3), PureDP(1), Fraction(1, 10))
    >>> round(1 / float(printed.exact_shift), 3), round(1 / float(closed.exact_shift), 3)
    (1.925, 1.65)
    """
    t = read_smoothing(smoothing)
    if isinstance(law, Gaussian) and isinstance(guarantee, TruncatedCDP) and t:
        return _gaussian(law, guarantee, t)
    statement = _statement(law, guarantee, t)
    return paper_shift(law, guarantee, t) if statement is None else statement.shift(law, t)


def _statement(law: NoiseDistribution, guarantee: Guarantee, t: Fraction) -> Statement | None:
    """Return the statement of a law for which ours is not the printed one."""
    if isinstance(law, StudentT):
        d = law.exact_degrees
        return Statement(
            required(theorem_31_amount(guarantee), law, guarantee, "pure DP: Theorem 31"),
            lambda: ball(max(Fraction(1), d) * t),
            lambda: scores.student_t_score(d),
            "max(1, degrees) * smoothing < epsilon",
            Source(BUN_STEINKE, "Theorem 31, with max(1, d) for the dilation"),
        )
    if isinstance(law, GeneralizedCauchy):
        c = law.exact_power
        return Statement(
            required(pure_amount(guarantee), law, guarantee, "pure DP: Claim 16"),
            lambda: ball(max(Fraction(1), c - 1) * t),
            lambda: scores.generalized_cauchy_score(c),
            "max(1, power - 1) * smoothing < epsilon",
            Source(HLADIK_TETEK, "Claim 16, with the exact scores"),
        )
    if isinstance(law, UniformLogNormal):
        sigma = law.exact_sigma
        return log_normal_statement(
            law,
            guarantee,
            t,
            lambda: scores.uniform_log_normal_score(sigma),
            "Theorem 22, with the exact score",
        )
    return None


def _gaussian(law: Gaussian, guarantee: TruncatedCDP, t: Fraction) -> ShiftClaim:
    rho, omega = guarantee.exact_rho, guarantee.exact_omega
    gap = positive_ends(lambda: statements.section_3_5_gap(omega, t))
    ends = gap and positive_ends(
        lambda: _root_of_positive(statements.section_3_5_squared_shift(rho, omega, t))
    )
    if ends is None:
        raise no_room(
            "omega < 1 / (1 - e^(-2t)) and t < sqrt(rho) (1 - omega (1 - e^(-2t))), "
            "t the smoothing",
            law,
            t,
            "Lower the smoothing or omega, or raise rho",
        )
    source = Source(BUN_STEINKE, "Section 3.5, with the variance ratio e^(2t)")
    return claim(ends[0], source, "")


def _root_of_positive(value: Ball) -> Ball:
    """Return the square root of a positive number, and any other number as it is."""
    return sqrt(value) if value > 0 else value
