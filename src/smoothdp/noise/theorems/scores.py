"""The largest slope of each log density, sup |f'| / f: what a shift costs per unit, at most."""

from __future__ import annotations

from fractions import Fraction

from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.special import Ball

# The bracket of the root is this wide; the score errs by its square.
_BISECTIONS = 60


def student_t_score(degrees: Fraction) -> Ball:
    """Return (d + 1) / (2 sqrt d): (d + 1) x / (d + x^2) at x = sqrt d (paper 2, Theorem 31)."""
    return ball(degrees + 1) / (2 * special.sqrt(ball(degrees)))


def generalized_cauchy_score(power: Fraction) -> Ball:
    """Return (c - 1)^((c - 1) / c): c x^(c-1) / (1 + x^c) is largest at x^c = c - 1."""
    return (ball((power - 1) / power) * ball(power - 1).log()).exp()


def laplace_log_normal_score(sigma: Fraction) -> Ball:
    """Return e^(3 sigma^2 / 2), approached at 0 (paper 2, Lemma 20).

    The law is a mixture of Laplace laws, so that -f'/f falls from there.
    """
    return ball(3 * sigma**2 / 2).exp()


def arsinh_normal_score_as_printed(sigma: Fraction) -> Ball:
    """Return 2 / (3 sigma) + sigma / 2, not below the score (paper 2, Lemma 28)."""
    return ball(2 / (3 * sigma) + sigma / 2)


def uniform_log_normal_score_as_printed(sigma: Fraction) -> Ball:
    """Return e^(3 sigma^2 / 2) sqrt(2 / pi) / sigma (paper 2, Lemma 24: sigma^2 >= 2)."""
    root = special.sqrt(2 / special.pi())
    return ball(3 * sigma**2 / 2).exp() * root / ball(sigma)


def uniform_log_normal_score(sigma: Fraction) -> Ball:
    """Return the exact score of the uniform log-normal law, for every sigma > 0.

    With u = sigma + ln(z) / sigma and lambda = phi / Q, the score at z is
    c(u) = e^(sigma^2 - sigma u) lambda(u) / sigma. (ln c)' = lambda - u - sigma, because
    lambda' = lambda (lambda - u); and lambda(u) - u falls from infinity to 0, because
    0 < lambda' < 1. So c has one maximum, where lambda(u) - u = sigma. On a bracket [a, b] of
    that root ln c exceeds ln c(a) by at most (b - a) (lambda(a) - a - sigma).
    """
    shape = ball(sigma)
    # 1 / (u + 1/u) < lambda(u) - u < 1 / u for u > 0, and lambda > 0.
    low, high = -sigma - 2, 1 / sigma + 1
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        gap = _hazard(ball(middle)) - ball(middle) - shape
        if gap > 0:
            low = middle
        elif gap < 0:
            high = middle
        else:
            break
    u = ball(low)
    hazard = _hazard(u)
    least = (shape * (shape - u)).exp() * hazard / shape
    slack = ball(high - low) * (hazard - u - shape)
    return special.interval(least, least * slack.exp())


def _hazard(u: Ball) -> Ball:
    return special.normal_log_density(u).exp() / special.normal_tail(u)
