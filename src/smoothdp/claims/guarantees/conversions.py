"""From one claim to another: one function per implication, its theorem named.

Every result is implied by the argument; rounding goes to the safe side.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from smoothdp.claims.domains import read_delta
from smoothdp.claims.excess import rho_of_pure
from smoothdp.claims.guarantees.concentrated import ZCDP
from smoothdp.claims.guarantees.gaussian import GaussianDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP, PureDP
from smoothdp.claims.neighbours import Neighbours, require_same
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.balls.balls import ball, precision, round_up
from smoothdp.exact.parameters.numbers import LogRatio, Parameter


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

    Raises:
        InvalidParameter: delta outside (0, 1], another method, or a delta that no finite epsilon
            reaches.

    >>> loose = zcdp_to_approx(ZCDP("0.5"), delta="1e-6", method="paper").epsilon
    >>> zcdp_to_approx(ZCDP("0.5"), delta="1e-6").epsilon < loose
    True
    """
    target = read_delta(delta)
    if method == "exact":
        return _at_delta(guarantee, target)
    if method != "paper":
        raise InvalidParameter(
            expected='method "exact" or "paper"',
            got=f"method={method!r}",
            remedy="Use one of the two",
        )
    if target == 0:
        raise _no_epsilon(target)
    with precision(128):
        rho = ball(guarantee.exact_rho)
        log_inverse = -ball(LogRatio(target)) if target != 1 else ball(0)
        epsilon = round_up(rho + 2 * (rho * log_inverse).sqrt())
    return ApproxDP(Fraction(epsilon), delta=target, neighbours=guarantee.neighbours)


def zcdp_triangle(
    first: ZCDP, second: ZCDP, *, method: Literal["exact", "paper"] = "exact"
) -> ZCDP:
    """Return the claim for P against Q from a claim P against R and a claim R against Q.

    Paper 2, Lemma 11: "exact" is (sqrt a + sqrt b)^2, "paper" the looser 2 (a + b).

    Raises:
        IncompatibleClaims: claims about different neighbours.

    >>> zcdp_triangle(ZCDP(1), ZCDP(4)), zcdp_triangle(ZCDP(1), ZCDP(4), method="paper")
    (ZCDP(rho=9, neighbours='replace_one'), ZCDP(rho=10, neighbours='replace_one'))
    """
    require_same(first.neighbours, second.neighbours)
    a, b = first.exact_rho, second.exact_rho
    if method == "paper":
        return ZCDP(2 * (a + b), neighbours=first.neighbours)
    return ZCDP(a + b + _root_up(4 * a * b), neighbours=first.neighbours)


def _root_up(value: Fraction) -> Fraction:
    """Return the square root of a rational: exact for a square, else up by 2^-64 of it."""
    product = value.numerator * value.denominator
    shift = max(0, 128 - product.bit_length() // 2)
    root = math.isqrt(product << 2 * shift)
    if root * root != product << 2 * shift:
        root += 1
    return Fraction(root, value.denominator << shift)


def _at_delta(guarantee: Guarantee, delta: Fraction) -> ApproxDP:
    """Return the claim at the smallest epsilon that the profile certifies."""
    epsilon = guarantee.profile().epsilon(delta)
    if math.isinf(epsilon):
        raise _no_epsilon(delta)
    # As a parameter, a float is its shortest decimal: the epsilon that was certified.
    return ApproxDP(epsilon, delta=delta, neighbours=guarantee.neighbours)


def _no_epsilon(delta: Fraction) -> InvalidParameter:
    return InvalidParameter(
        expected="a delta that some finite epsilon reaches",
        got=f"delta={delta}",
        remedy="Raise delta",
    )


def gaussian_to_approx(guarantee: GaussianDP, *, delta: Parameter) -> ApproxDP:
    """Return (epsilon, delta)-DP from mu-Gaussian DP (paper 5, Corollary 2.5).

    Raises:
        InvalidParameter: delta outside [0, 1], or one that no finite epsilon reaches.

    >>> round(gaussian_to_approx(GaussianDP(1), delta="1e-6").epsilon, 4)
    4.8866
    """
    return _at_delta(guarantee, read_delta(delta))


def gaussian_to_zcdp(guarantee: GaussianDP) -> ZCDP:
    """Return mu^2/2-zCDP: the Renyi divergence of N(0, 1) and N(mu, 1) is a mu^2 / 2.

    >>> gaussian_to_zcdp(GaussianDP(2)).rho
    2.0
    """
    return ZCDP(guarantee.concentrated_rho(), neighbours=guarantee.neighbours)


def pure_to_approx(guarantee: PureDP) -> ApproxDP:
    """Return (epsilon, 0)-DP, which is the same claim."""
    return ApproxDP(guarantee.exact_epsilon, delta=0, neighbours=guarantee.neighbours)


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
    return guarantee.for_group(n_records)


def add_remove_to_replace_one(guarantee: Guarantee) -> Guarantee:
    """Return the claim about replacing one record from one about adding or removing it.

    Replacing is removing and adding, so this is group privacy for two (factor two).

    Raises:
        IncompatibleClaims: a claim about other neighbours, or one without group privacy.

    >>> add_remove_to_replace_one(PureDP(1, neighbours="add_remove"))
    PureDP(epsilon=2, neighbours='replace_one')
    """
    if guarantee.neighbours is not Neighbours.ADD_REMOVE:
        raise IncompatibleClaims(
            expected="a claim about add_remove neighbours",
            got=guarantee.neighbours.value,
            remedy="Use it as it is",
        )
    return guarantee.for_group(2).changed(neighbours=Neighbours.REPLACE_ONE)
