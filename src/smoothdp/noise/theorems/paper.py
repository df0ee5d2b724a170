"""The shift that a statement of papers 2 and 4 gives for a law and a guarantee."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from smoothdp.errors import InvalidParameter, explain
from smoothdp.exact.ball_fractions import positive_ends
from smoothdp.exact.balls import ball
from smoothdp.exact.parameters import exact_fraction
from smoothdp.exact.shown import shown
from smoothdp.exact.special import Ball, sqrt
from smoothdp.noise.arsinh_normal import ArsinhNormal
from smoothdp.noise.gaussian import Gaussian
from smoothdp.noise.generalized_cauchy import GeneralizedCauchy
from smoothdp.noise.laplace import Laplace
from smoothdp.noise.laplace_log_normal import LaplaceLogNormal
from smoothdp.noise.law import NoiseDistribution
from smoothdp.noise.poly_place import PolyPlace
from smoothdp.noise.shift_claim import ShiftClaim
from smoothdp.noise.student_t import StudentT
from smoothdp.noise.theorems import scores, statements
from smoothdp.noise.theorems.amounts import (
    Amount,
    concentrated_amount,
    pure_amount,
    pure_amount_reaches,
)
from smoothdp.noise.theorems.refusals import no_room, not_in_the_papers
from smoothdp.noise.uniform_log_normal import UniformLogNormal
from smoothdp.privacy.concentrated import TruncatedCDP
from smoothdp.privacy.guarantee import Guarantee
from smoothdp.privacy.standard import ApproxDP
from smoothdp.sources import Source

_BUN_STEINKE = "bun-steinke-averages"


class Statement(NamedTuple):
    """epsilon = cost + rate * s, and the least epsilon/t in words."""

    amount: Amount
    cost: Callable[[], Ball]
    rate: Callable[[], Ball]
    room: str
    source: Source


def paper_shift(law: NoiseDistribution, guarantee: Guarantee, smoothing: Fraction) -> ShiftClaim:
    """Return the shift that the papers' statement gives, never above what it proves.

    The statements are read as in `statements`. Pure claims serve approximate DP and (through
    Proposition 10) zCDP and truncated CDP; zCDP claims serve truncated CDP and (through
    Lemma 9) approximate DP.

    Args:
        law: the noise; guarantee: the target; smoothing: t >= 0.

    Raises:
        InvalidParameter: no statement about the pair, or no positive shift.

    >>> from smoothdp.privacy.standard import PureDP
    >>> claim = paper_shift(PolyPlace(10), PureDP(1), Fraction(1, 10))
    >>> float(claim.exact_shift), claim.label
    (0.1, 'proved')
    """
    t = read_smoothing(smoothing)
    if isinstance(law, Gaussian):
        return _gaussian(law, guarantee, t)
    if isinstance(law, PolyPlace):
        return _poly_place(law, guarantee, t)
    statement = _statement(law, guarantee, t)
    ends = positive_ends(lambda: (statement.amount.epsilon() - statement.cost()) / statement.rate())
    if ends is None:
        raise no_room(statement.room, law, t, "Lower the smoothing, or raise the guarantee")
    return _claim(ends[0], statement.source, statement.amount.route)


def read_smoothing(smoothing: Fraction) -> Fraction:
    """Return an exact t >= 0; 0 is global sensitivity.

    Raises:
        InvalidParameter: anything else.
    """
    t = exact_fraction(smoothing, name="smoothing")
    if t < 0:
        raise InvalidParameter(
            explain("smoothing >= 0", f"smoothing={shown(t)}", "Give a smoothing, such as 0.1")
        )
    return t


def _claim(shift: Fraction, source: Source, route: str) -> ShiftClaim:
    return ShiftClaim(shift, None, "proved", source, source.where + route)


def _statement(law: NoiseDistribution, guarantee: Guarantee, t: Fraction) -> Statement:
    if isinstance(law, Laplace):
        return _laplace(law, guarantee, t)
    if isinstance(law, StudentT):
        d = law.exact_degrees
        return Statement(
            _or_refuse(pure_amount(guarantee), law, guarantee, "pure DP: Theorem 31"),
            lambda: ball(max(Fraction(1), d) * t),
            lambda: scores.student_t_score(d),
            "max(1, degrees) * smoothing < epsilon",
            Source(_BUN_STEINKE, "Theorem 31, with max(1, d) for the dilation"),
        )
    if isinstance(law, GeneralizedCauchy):
        c = law.exact_power
        return Statement(
            _or_refuse(pure_amount(guarantee), law, guarantee, "pure DP: Claim 16"),
            lambda: ball(max(Fraction(1), c - 1) * t),
            lambda: scores.generalized_cauchy_score(c),
            "max(1, power - 1) * smoothing < epsilon",
            Source("hladik-tetek", "Claim 16, with the exact scores"),
        )
    return _concentrated(law, guarantee, t)


def _concentrated(law: NoiseDistribution, guarantee: Guarantee, t: Fraction) -> Statement:
    if isinstance(law, LaplaceLogNormal | UniformLogNormal | ArsinhNormal):
        sigma = law.exact_sigma
        amount = _or_refuse(
            concentrated_amount(guarantee), law, guarantee, "zCDP: Theorems 18, 22 and 25"
        )
        room = "smoothing / sigma < epsilon, where epsilon^2 / 2 = rho"
        if isinstance(law, LaplaceLogNormal):
            return Statement(
                amount,
                lambda: ball(t / sigma),
                lambda: scores.laplace_log_normal_score(sigma),
                room,
                Source(_BUN_STEINKE, "Theorem 18"),
            )
        if isinstance(law, UniformLogNormal):
            return Statement(
                amount,
                lambda: ball(t / sigma),
                lambda: scores.uniform_log_normal_score(sigma),
                room,
                Source(_BUN_STEINKE, "Theorem 22, with the exact score"),
            )
        return Statement(
            amount,
            lambda: statements.theorem_25_dilation_cost(sigma, t),
            lambda: scores.arsinh_normal_score_as_printed(sigma),
            "t (t / sigma^2 + 1 / sigma + 2) < 2 rho with t the smoothing",
            Source(_BUN_STEINKE, "Theorem 25"),
        )
    raise not_in_the_papers(law, guarantee, "none: the law is in no paper")


def _laplace(law: Laplace, guarantee: Guarantee, t: Fraction) -> Statement:
    statement = "approximate DP with delta < e^-2: Theorem 34"
    if not isinstance(guarantee, ApproxDP) or not guarantee.exact_delta:
        raise not_in_the_papers(law, guarantee, statement)
    epsilon, delta = guarantee.exact_epsilon, guarantee.exact_delta
    # ln(1/delta) > 2, decided with room: 0.13533 < e^-2.
    if delta > Fraction("0.13533"):
        raise not_in_the_papers(law, guarantee, statement)
    return Statement(
        Amount(lambda: ball(epsilon), ""),
        lambda: statements.theorem_34_cost(delta, t),
        lambda: ball(1),
        "(e^t - 1) ln(1/delta) - t < epsilon with t the smoothing",
        Source(_BUN_STEINKE, "Theorem 34"),
    )


def _gaussian(law: Gaussian, guarantee: Guarantee, t: Fraction) -> ShiftClaim:
    if not isinstance(guarantee, TruncatedCDP):
        raise not_in_the_papers(law, guarantee, "truncated CDP: section 3.5")
    rho, omega = guarantee.exact_rho, guarantee.exact_omega
    gap = positive_ends(lambda: statements.section_3_5_gap(omega, t))
    ends = gap and positive_ends(
        lambda: sqrt_positive(statements.section_3_5_squared_shift(rho, omega, t))
    )
    if ends is None:
        raise no_room(
            "omega < 1 / (1 - e^(-2t)) and t < sqrt(rho) (1 - omega (1 - e^(-2t))), "
            "t the smoothing",
            law,
            t,
            "Lower the smoothing or omega, or raise rho",
        )
    return _claim(ends[0], Source(_BUN_STEINKE, "Section 3.5, with the variance ratio e^(2t)"), "")


def sqrt_positive(value: Ball) -> Ball:
    """Return the square root of a positive number, and any other number as it is."""
    return sqrt(value) if value > 0 else value


def _poly_place(law: PolyPlace, guarantee: Guarantee, t: Fraction) -> ShiftClaim:
    amount = _or_refuse(pure_amount(guarantee), law, guarantee, "pure DP: Theorem 8")
    alpha = law.exact_alpha
    source = Source("hladik-tetek", "Theorem 8, at smoothing epsilon / alpha")
    # Equality is the usual case, which no precision would decide in balls.
    ends = positive_ends(lambda: amount.epsilon() / ball(alpha))
    if ends is None or not pure_amount_reaches(guarantee, alpha * t):
        raise no_room(
            "alpha * smoothing <= epsilon", law, t, "Lower alpha or the smoothing, or raise epsilon"
        )
    # Where alpha = epsilon / smoothing, that is the shift and not a number below it.
    return _claim(max(ends[0], t) if ends[1] >= t else ends[0], source, amount.route)


def _or_refuse(
    amount: Amount | None, law: NoiseDistribution, guarantee: Guarantee, statement: str
) -> Amount:
    if amount is None:
        raise not_in_the_papers(law, guarantee, statement)
    return amount
