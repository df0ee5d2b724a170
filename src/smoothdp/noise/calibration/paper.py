"""The shift that a theorem of papers 2 and 4 gives: as it is printed, or as it should read.

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
shift here.

`closed_form_shift` has the statements as they should read. For each law the file of the law says
what differs from print, and why. All but Theorem 8 and section 3.5 have the form
epsilon = cost(t) + rate * s, by the triangle inequality of the divergence (Lemma 11 for zCDP;
sums of losses for pure DP): first the dilation, then the shift, in units of the smaller scale.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP, PureDP
from smoothdp.claims.terms import EpsilonTerms, RhoTerms
from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.balls.rationals import positive_ends
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import LogRatio, Real
from smoothdp.noise.abstract_law import AbstractLaw
from smoothdp.noise.shift_claim import ShiftClaim, no_room, not_in_the_papers, read_smoothing
from smoothdp.sources import Source

BUN_STEINKE = "bun-steinke-averages"
HLADIK_TETEK = "hladik-tetek"


def paper_shift(law: AbstractLaw, guarantee: Guarantee, smoothing: Fraction) -> ShiftClaim:
    """Return the shift of the printed theorem, rounded down.

    Pure claims serve approximate DP and (through Proposition 10 of paper 2) zCDP and truncated
    CDP; zCDP claims serve truncated CDP and (through its Lemma 9) approximate DP.

    Args:
        law: the noise; guarantee: the target; smoothing: t >= 0.

    Raises:
        InvalidParameter: no theorem about the pair, one that is false, or no positive shift.

    >>> from smoothdp.noise import PolyPlace
    >>> from smoothdp.claims.guarantees.standard import PureDP
    >>> claim = paper_shift(PolyPlace(10), PureDP(1), Fraction(1, 10))
    >>> float(claim.exact_shift), claim.label
    (0.1, 'proved')
    """
    return law._printed_claim(guarantee, read_smoothing(smoothing))


def closed_form_shift(law: AbstractLaw, guarantee: Guarantee, smoothing: Fraction) -> ShiftClaim:
    """Return the shift that the closed form proves, never below the printed shift.

    What it shares with print and what it improves: the exact scores and the exact cost of a
    dilation for Student's T and the generalised Cauchy law, the exact score for the uniform
    log-normal law (so that every sigma is allowed), the right ratio of variances for the
    Gaussian law. For the other laws it is the printed theorem.

    Args:
        law: the noise; guarantee: the target; smoothing: t >= 0.

    Raises:
        InvalidParameter: no closed form for the pair, or no positive shift.

    >>> from smoothdp.noise import StudentT
    >>> from smoothdp.claims.guarantees.standard import PureDP
    >>> printed = paper_shift(StudentT(3), PureDP(1), Fraction(1, 10))
    >>> closed = closed_form_shift(StudentT(3), PureDP(1), Fraction(1, 10))
    >>> round(1 / float(printed.exact_shift), 3), round(1 / float(closed.exact_shift), 3)
    (1.925, 1.65)
    """
    return law._closed_form_claim(guarantee, read_smoothing(smoothing))


class Amount(NamedTuple):
    """A privacy loss epsilon, computed at the present precision, and how it follows."""

    epsilon: Callable[[], Ball]
    route: str


def pure_amount(guarantee: Guarantee) -> Amount | None:
    """Return the epsilon for which epsilon-DP implies the guarantee; None if none is known.

    zCDP and truncated CDP: epsilon^2 / 2 = rho (paper 2, Proposition 10). What allows no loss at
    all, in whatever notion, is 0-DP.
    """
    match guarantee.terms():
        case EpsilonTerms(epsilon):
            return Amount(lambda: ball(epsilon), "")
        case RhoTerms(rho):
            return _root(rho, " through Proposition 10")
    return _nothing(guarantee)


def theorem_31_amount(guarantee: Guarantee) -> Amount | None:
    """Return the x that Theorem 31 of paper 2 may bound: D_a <= min(x, a x^2 / 2).

    As `pure_amount`; beyond rho = 2 it is x = rho, the other side of the minimum.
    """
    match guarantee.terms():
        case RhoTerms(rho) if rho > 2:
            return Amount(lambda: ball(rho), "")
    return pure_amount(guarantee)


def concentrated_amount(guarantee: Guarantee) -> Amount | None:
    """Return the epsilon for which epsilon^2/2-zCDP implies the guarantee; None if none does.

    (epsilon, delta)-DP: rho + 2 sqrt(rho ln(1/delta)) = epsilon (paper 2, Lemma 9).
    """
    match guarantee.terms():
        case EpsilonTerms(epsilon, delta) if 0 < delta < 1:
            return Amount(lambda: _lemma_9(epsilon, delta), " through Lemma 9")
        case RhoTerms(rho):
            return _root(rho, "")
    return _nothing(guarantee)


def pure_amount_reaches(guarantee: Guarantee, needed: Fraction) -> bool:
    """Return whether the epsilon of `pure_amount` is at least ``needed``, decided exactly."""
    match guarantee.terms():
        case EpsilonTerms(epsilon):
            return at_most(needed, epsilon)
        case RhoTerms(rho):
            return needed**2 <= 2 * rho
    return needed == 0 and guarantee.pure_epsilon() == 0


def _root(rho: Fraction, route: str) -> Amount:
    return Amount(lambda: special.sqrt(2 * ball(rho)), route)


def _nothing(guarantee: Guarantee) -> Amount | None:
    """Return 0 for a claim that allows no loss, which every other claim follows from."""
    return Amount(lambda: ball(0), "") if guarantee.pure_epsilon() == 0 else None


def _lemma_9(epsilon: Real, delta: Fraction) -> Ball:
    # sqrt(rho) = sqrt(L + epsilon) - sqrt(L), without the difference.
    log_inverse = -ball(LogRatio(delta))
    amount = ball(epsilon)
    roots = special.sqrt(log_inverse + amount) + special.sqrt(log_inverse)
    return special.sqrt(special.number(2.0)) * amount / roots


class Statement(NamedTuple):
    """epsilon = cost + rate * s, and the least epsilon/t in words."""

    amount: Amount
    cost: Callable[[], Ball]
    rate: Callable[[], Ball]
    room: str
    source: Source

    def shift(self, law: AbstractLaw, t: Fraction) -> ShiftClaim:
        """Return the largest s that the statement gives, rounded down.

        Raises:
            InvalidParameter: the dilation alone spends the whole epsilon.
        """
        ends = positive_ends(lambda: (self.amount.epsilon() - self.cost()) / self.rate())
        if ends is None:
            raise no_room(self.room, law, t, "Lower the smoothing, or raise the guarantee")
        return claim(ends[0], self.source, self.amount.route)


def claim(shift: Fraction, source: Source, route: str) -> ShiftClaim:
    """Return a proved shift, beyond which the statement says nothing."""
    return ShiftClaim(shift, None, "proved", source, source.where + route)


def required(
    amount: Amount | None, law: AbstractLaw, guarantee: Guarantee, statement: str
) -> Amount:
    """Return an amount, or raise InvalidParameter where no statement leads to the guarantee."""
    if amount is None:
        raise not_in_the_papers(law, guarantee, statement)
    return amount


def log_normal_statement(
    law: AbstractLaw,
    sigma: Fraction,
    guarantee: Guarantee,
    t: Fraction,
    score: Callable[[], Ball],
    where: str,
) -> Statement:
    """Return epsilon = t / sigma + score * s."""
    return Statement(
        log_normal_amount(law, guarantee, t),
        lambda: ball(t / sigma),
        score,
        "smoothing / sigma < epsilon, where epsilon^2 / 2 = rho",
        Source(BUN_STEINKE, where),
    )


def log_normal_amount(law: AbstractLaw, guarantee: Guarantee, t: Fraction) -> Amount:
    """Return the amount of a theorem about zCDP that is one about pure DP at smoothing 0."""
    if is_pure(guarantee) and t == 0:
        amount = pure_amount(guarantee)
    else:
        amount = concentrated_amount(guarantee)
    words = "zCDP: Theorems 18, 22 and 25; pure DP at smoothing 0 alone: Lemmas 20, 24 and 28"
    return required(amount, law, guarantee, words)


def is_pure(guarantee: Guarantee) -> bool:
    """Return whether a guarantee is pure DP, by whatever name."""
    return isinstance(guarantee, PureDP) or (
        isinstance(guarantee, ApproxDP) and guarantee.exact_delta == 0
    )
