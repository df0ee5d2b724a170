"""From one claim to another: one function per implication, its theorem named.

Every result is implied by the argument; rounding goes to the safe side.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from smoothdp.errors import IncompatibleClaims, InvalidParameter, explain
from smoothdp.exact.balls import ball, log_bounds, precision, round_up
from smoothdp.exact.parameters import LogRatio, Parameter, Real, exact_int, exact_text
from smoothdp.privacy.concentrated import ZCDP, rho_of_pure
from smoothdp.privacy.gaussian import GaussianDP
from smoothdp.privacy.guarantee import Guarantee
from smoothdp.privacy.neighbours import Neighbours
from smoothdp.privacy.profile import read_delta
from smoothdp.privacy.standard import ApproxDP, PureDP


def pure_to_zcdp(guarantee: PureDP) -> ZCDP:
    """Return epsilon^2/2-zCDP (paper 2, Lemma 9 and Proposition 10).

    >>> pure_to_zcdp(PureDP("0.5")).rho
    0.125
    """
    return ZCDP(rho_of_pure(guarantee.exact_epsilon), neighbours=guarantee.neighbours)


def zcdp_to_approx(
    guarantee: ZCDP, *, delta: Parameter, method: Literal["exact", "paper"] = "exact"
) -> ApproxDP:
    """Return (epsilon, delta)-DP from rho-zCDP at a given delta in (0, 1].

    "paper" is Lemma 9 of paper 2: epsilon = rho + 2 sqrt(rho ln(1/delta)). "exact" uses the
    profile of `ZCDP`, which is never worse.

    >>> loose = zcdp_to_approx(ZCDP("0.5"), delta="1e-6", method="paper").epsilon
    >>> zcdp_to_approx(ZCDP("0.5"), delta="1e-6").epsilon < loose
    True
    """
    target = read_delta(delta)
    if target == 0:
        raise InvalidParameter(explain("delta > 0", "delta=0", "zCDP needs a positive delta"))
    if method == "exact":
        epsilon: Real = Fraction(guarantee.profile().epsilon(target))
    else:
        with precision(128):
            rho = ball(guarantee.exact_rho)
            log_inverse = -ball(LogRatio(target)) if target != 1 else ball(0)
            epsilon = Fraction(round_up(rho + 2 * (rho * log_inverse).sqrt()))
    return ApproxDP(epsilon, delta=target, neighbours=guarantee.neighbours)


def zcdp_triangle(first: ZCDP, second: ZCDP) -> ZCDP:
    """Return the claim for P against Q from P against R and R against Q.

    rho = (sqrt a + sqrt b)^2 (paper 2, Lemma 11; its second form 2 (a + b) is looser).

    >>> zcdp_triangle(ZCDP(1), ZCDP(1)).rho >= 4
    True
    """
    a, b = first.exact_rho, second.exact_rho
    product = 4 * a * b
    root = Fraction(math.isqrt(product.numerator * product.denominator << 128) + 1, 1 << 64)
    return ZCDP(a + b + root / product.denominator, neighbours=first.neighbours)


def gaussian_to_approx(guarantee: GaussianDP, *, delta: Parameter) -> ApproxDP:
    """Return (epsilon, delta)-DP from mu-Gaussian DP (paper 5, Corollary 2.5).

    >>> round(gaussian_to_approx(GaussianDP(1), delta="1e-6").epsilon, 4)
    4.8866
    """
    target = read_delta(delta)
    epsilon = guarantee.profile().epsilon(target)
    if math.isinf(epsilon):
        raise InvalidParameter(explain("delta > 0", f"delta={delta}", "Give a positive delta"))
    return ApproxDP(Fraction(epsilon), delta=target, neighbours=guarantee.neighbours)


def gaussian_to_zcdp(guarantee: GaussianDP) -> ZCDP:
    """Return mu^2/2-zCDP: the Renyi divergence of N(0, 1) and N(mu, 1) is a mu^2 / 2.

    >>> gaussian_to_zcdp(GaussianDP(2)).rho
    2.0
    """
    return ZCDP(guarantee.exact_mu**2 / 2, neighbours=guarantee.neighbours)


def pure_to_approx(guarantee: PureDP) -> ApproxDP:
    """Return (epsilon, 0)-DP, which is the same claim."""
    return ApproxDP(exact_text(guarantee.exact_epsilon), delta=0, neighbours=guarantee.neighbours)


def post_processing(guarantee: Guarantee) -> Guarantee:
    """Return the claim for any function of the output: the same (paper 1, Proposition 4)."""
    return guarantee


def group_privacy(guarantee: Guarantee, *, n_records: int) -> Guarantee:
    """Return the claim about any n_records = k records changed together.

    Pure: k epsilon. Approximate: (k epsilon, delta (e^(k epsilon) - 1) / (e^epsilon - 1)).
    zCDP: k^2 rho (paper 2, Lemma 11, k times). Gaussian: k mu.

    Raises:
        IncompatibleClaims: for smoothed DP, whose neighbour of a typical database need not
            be typical, and for truncated CDP, whose orders shrink along the way.

    >>> group_privacy(GaussianDP(1), n_records=3)
    GaussianDP(mu=3, neighbours='replace_one')
    """
    k = exact_int(n_records, name="n_records", minimum=1)
    about = guarantee.neighbours
    if k == 1:
        return guarantee
    if isinstance(guarantee, PureDP):
        return PureDP(_times(guarantee.exact_epsilon, k), neighbours=about)
    if isinstance(guarantee, ZCDP):
        return ZCDP(k * k * guarantee.exact_rho, neighbours=about)
    if isinstance(guarantee, GaussianDP):
        return GaussianDP(k * guarantee.exact_mu, neighbours=about)
    if isinstance(guarantee, ApproxDP):
        return ApproxDP(
            _times(guarantee.exact_epsilon, k), delta=_group_delta(guarantee, k), neighbours=about
        )
    raise IncompatibleClaims(
        explain(
            "a pure, approximate, zero-concentrated or Gaussian claim for group privacy",
            type(guarantee).__name__,
            "Make the claim about whole persons from the start",
        )
    )


def add_remove_to_replace_one(guarantee: Guarantee) -> Guarantee:
    """Return the claim about replacing one record from one about adding or removing it.

    Replacing is removing and adding, so this is group privacy for two (factor two).

    >>> add_remove_to_replace_one(PureDP(1, neighbours="add_remove"))
    PureDP(epsilon=2, neighbours='replace_one')
    """
    if guarantee.neighbours is not Neighbours.ADD_REMOVE:
        raise IncompatibleClaims(
            explain(
                "a claim about add_remove neighbours", guarantee.neighbours.value, "Use it as it is"
            )
        )
    double = group_privacy(guarantee, n_records=2)
    arguments = dict(double.parameters())
    first = next(iter(arguments))
    return type(double)(arguments.pop(first), **arguments)  # type: ignore[call-arg]


def _times(epsilon: Real, k: int) -> Real:
    return LogRatio(epsilon.ratio**k) if isinstance(epsilon, LogRatio) else k * epsilon


def _group_delta(guarantee: ApproxDP, k: int) -> Fraction:
    """Return delta (1 + e^epsilon + ... + e^((k-1) epsilon)), rounded up, at most 1."""
    epsilon, delta = guarantee.exact_epsilon, guarantee.exact_delta
    if delta == 0 or epsilon == 0:
        return min(Fraction(1), k * delta)
    growth = log_bounds(epsilon.ratio).upper if isinstance(epsilon, LogRatio) else None
    top = float(epsilon) if growth is None else growth
    if (k - 1) * top > 700:
        return Fraction(1)
    factor = sum(Fraction(math.nextafter(math.exp(i * top), math.inf)) for i in range(k))
    return min(Fraction(1), delta * factor * (1 + Fraction(1, 10**12)))
