"""The shift that a theorem of papers 2 and 4 gives as it is printed, with its own constants.

Each theorem bounds the loss of Z against e^t' Z + s' for |t'| <= t and |s'| <= s, in both
directions, in pure DP or as epsilon^2/2-zCDP, by

    law                       theorem                     epsilon
    Laplace log-normal        2, Theorem 18               t / sigma + e^(3 sigma^2 / 2) s
    uniform log-normal        2, Theorem 22, sigma^2 >= 2 t / sigma + e^(3 sigma^2 / 2)
                                                          sqrt(2 / pi) / sigma s
    arsinh-normal             2, Theorem 25               sqrt(t (t / sigma^2 + 1 / sigma + 2))
                                                          + (2 / (3 sigma) + sigma / 2) s
    Student's T (pure)        2, Theorem 31               (d + 1) t + (d + 1) / (2 sqrt(d)) s
    generalised Cauchy (pure) 4, Claim 16, of NRS 2007    (c + 1) (t + s)
    PolyPlace (pure)          4, Theorem 8                alpha s, where alpha t <= epsilon
    Laplace (approximate)     2, Theorem 34               (e^t - 1) ln(1/delta) - t + s

Without a dilation (t = 0) there are also the three log-normal laws in pure DP (paper 2, Lemmas
20, 24 and 28), Laplace noise in pure DP (section 1.1) and Gaussian noise in zCDP (Lemma 8).
Theorem 8 is for alpha = epsilon / gamma, so it is read at gamma = epsilon / alpha: an S that is
t-smooth is gamma-smooth for every gamma >= t (Lemma 15 of paper 2).

Section 3.5 of paper 2, Gaussian noise under truncated CDP, is false as printed and gives no
shift here. `closed_form` has the statements as they should read, with better constants.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from smoothdp.claims.guarantees.concentrated import TruncatedCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP, PureDP
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.rationals import positive_ends
from smoothdp.exact.balls.special import Ball
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
    theorem_31_amount,
)
from smoothdp.noise.theorems.refusals import (
    false_as_printed,
    no_room,
    not_in_the_papers,
    outside_the_theorem,
)
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


def paper_shift(law: NoiseDistribution, guarantee: Guarantee, smoothing: Fraction) -> ShiftClaim:
    """Return the shift of the printed theorem, rounded down.

    Pure claims serve approximate DP and (through Proposition 10 of paper 2) zCDP and truncated
    CDP; zCDP claims serve truncated CDP and (through its Lemma 9) approximate DP.

    Args:
        law: the noise; guarantee: the target; smoothing: t >= 0.

    Raises:
        InvalidParameter: no theorem about the pair, one that is false, or no positive shift.

    >>> from smoothdp.claims.guarantees.standard import PureDP
    >>> found = paper_shift(PolyPlace(10), PureDP(1), Fraction(1, 10))
    >>> float(found.exact_shift), found.label
    (0.1, 'proved')
    """
    t = read_smoothing(smoothing)
    if isinstance(law, PolyPlace):
        return poly_place_shift(law, guarantee, t)
    return _statement(law, guarantee, t).shift(law, t)


def _statement(law: NoiseDistribution, guarantee: Guarantee, t: Fraction) -> Statement:
    if isinstance(law, Gaussian):
        return _gaussian(law, guarantee, t)
    if isinstance(law, Laplace):
        return laplace_statement(law, guarantee, t)
    if isinstance(law, StudentT):
        d = law.exact_degrees
        return Statement(
            required(theorem_31_amount(guarantee), law, guarantee, "pure DP: Theorem 31"),
            lambda: ball((d + 1) * t),
            lambda: scores.student_t_score(d),
            "(degrees + 1) * smoothing < epsilon",
            Source(BUN_STEINKE, "Theorem 31"),
        )
    if isinstance(law, GeneralizedCauchy):
        c = law.exact_power
        return Statement(
            required(pure_amount(guarantee), law, guarantee, "pure DP: Claim 16"),
            lambda: ball((c + 1) * t),
            lambda: ball(c + 1),
            "(power + 1) * smoothing < epsilon",
            Source(HLADIK_TETEK, "Claim 16, after Nissim, Raskhodnikova and Smith"),
        )
    if isinstance(law, UniformLogNormal):
        sigma = law.exact_sigma
        if sigma**2 < 2:
            raise outside_the_theorem("sigma >= sqrt(2), for Theorem 22 as printed", law)
        return log_normal_statement(
            law,
            guarantee,
            t,
            lambda: scores.uniform_log_normal_score_as_printed(sigma),
            "Lemma 24" if _is_pure(guarantee) else "Theorem 22",
        )
    if isinstance(law, LaplaceLogNormal):
        sigma = law.exact_sigma
        return log_normal_statement(
            law,
            guarantee,
            t,
            lambda: scores.laplace_log_normal_score(sigma),
            "Lemma 20" if _is_pure(guarantee) else "Theorem 18",
        )
    if isinstance(law, ArsinhNormal):
        return arsinh_normal_statement(law, guarantee, t)
    raise not_in_the_papers(law, guarantee, "none: the law is in no paper")


def log_normal_statement(
    law: LaplaceLogNormal | UniformLogNormal,
    guarantee: Guarantee,
    t: Fraction,
    score: Callable[[], Ball],
    where: str,
) -> Statement:
    """Return epsilon = t / sigma + score * s."""
    sigma = law.exact_sigma
    return Statement(
        _log_normal_amount(law, guarantee, t),
        lambda: ball(t / sigma),
        score,
        "smoothing / sigma < epsilon, where epsilon^2 / 2 = rho",
        Source(BUN_STEINKE, where),
    )


def arsinh_normal_statement(law: ArsinhNormal, guarantee: Guarantee, t: Fraction) -> Statement:
    """Return Theorem 25 of paper 2; Lemma 28 in pure DP without a dilation."""
    sigma = law.exact_sigma
    return Statement(
        _log_normal_amount(law, guarantee, t),
        lambda: statements.theorem_25_dilation_cost(sigma, t),
        lambda: scores.arsinh_normal_score_as_printed(sigma),
        "t (t / sigma^2 + 1 / sigma + 2) < 2 rho with t the smoothing",
        Source(BUN_STEINKE, "Lemma 28" if _is_pure(guarantee) else "Theorem 25"),
    )


def _log_normal_amount(law: NoiseDistribution, guarantee: Guarantee, t: Fraction) -> Amount:
    if _is_pure(guarantee) and t == 0:
        amount = pure_amount(guarantee)
    else:
        amount = concentrated_amount(guarantee)
    words = "zCDP: Theorems 18, 22 and 25; pure DP at smoothing 0 alone: Lemmas 20, 24 and 28"
    return required(amount, law, guarantee, words)


def _is_pure(guarantee: Guarantee) -> bool:
    return isinstance(guarantee, PureDP) or (
        isinstance(guarantee, ApproxDP) and guarantee.exact_delta == 0
    )


def laplace_statement(law: Laplace, guarantee: Guarantee, t: Fraction) -> Statement:
    """Return Theorem 34 of paper 2; without a dilation, ordinary Laplace noise."""
    where = "approximate DP with delta < e^-2: Theorem 34; at smoothing 0 pure DP: section 1.1"
    if t == 0:
        amount = required(pure_amount(guarantee), law, guarantee, where)
        return Statement(
            amount,
            lambda: ball(0),
            lambda: ball(1),
            "epsilon > 0",
            Source(BUN_STEINKE, "section 1.1"),
        )
    if not isinstance(guarantee, ApproxDP) or not guarantee.exact_delta:
        raise not_in_the_papers(law, guarantee, where)
    epsilon, delta = guarantee.exact_epsilon, guarantee.exact_delta
    # ln(1/delta) > 2, decided with room: 0.13533 < e^-2.
    if delta > Fraction("0.13533"):
        raise not_in_the_papers(law, guarantee, where)
    return Statement(
        Amount(lambda: ball(epsilon), ""),
        lambda: statements.theorem_34_cost(delta, t),
        lambda: ball(1),
        "(e^t - 1) ln(1/delta) - t < epsilon with t the smoothing",
        Source(BUN_STEINKE, "Theorem 34"),
    )


def _gaussian(law: Gaussian, guarantee: Guarantee, t: Fraction) -> Statement:
    """Return Lemma 8 of paper 2: a^2 / (2 sigma^2)-zCDP at distance a, for t = 0."""
    if t == 0:
        amount = concentrated_amount(guarantee)
        return Statement(
            required(amount, law, guarantee, "zCDP: Lemma 8"),
            lambda: ball(0),
            lambda: ball(1),
            "rho > 0",
            Source(BUN_STEINKE, "Lemma 8"),
        )
    if not isinstance(guarantee, TruncatedCDP):
        raise not_in_the_papers(law, guarantee, "truncated CDP: section 3.5")
    raise false_as_printed(
        law,
        "section 3.5 of paper 2",
        "it takes e^t for the ratio of variances, which is e^(2t), and loses up to 2.4 times "
        "the rho that it claims",
    )


def poly_place_shift(law: PolyPlace, guarantee: Guarantee, t: Fraction) -> ShiftClaim:
    """Return s = epsilon / alpha, of Theorem 8 of paper 4."""
    amount = required(pure_amount(guarantee), law, guarantee, "pure DP: Theorem 8")
    alpha = law.exact_alpha
    source = Source(HLADIK_TETEK, "Theorem 8, at smoothing epsilon / alpha")
    # Equality is the usual case, which no precision would decide in balls.
    ends = positive_ends(lambda: amount.epsilon() / ball(alpha))
    if ends is None or not pure_amount_reaches(guarantee, alpha * t):
        raise no_room(
            "alpha * smoothing <= epsilon", law, t, "Lower alpha or the smoothing, or raise epsilon"
        )
    # Where alpha = epsilon / smoothing, that is the shift and not a number below it.
    return claim(max(ends[0], t) if ends[1] >= t else ends[0], source, amount.route)
