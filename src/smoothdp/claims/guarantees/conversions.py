"""Claims of another notion or about other neighbours, that a claim implies.

Every function names its theorem and rounds to the safe side. What a claim answers by itself
(`Guarantee.for_group`, `pure_epsilon`, `concentrated_rho`) has no second function here.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from smoothdp.claims.domains import read_delta
from smoothdp.claims.guarantees.concentrated import ZCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.claims.neighbours import require_same
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.balls.balls import ball, precision, round_up
from smoothdp.exact.parameters.numbers import LogRatio, Parameter, square_root


def approx_at(guarantee: Guarantee, *, delta: Parameter) -> ApproxDP:
    """Return (epsilon, delta)-DP at the smallest epsilon that the profile of a claim certifies.

    From mu-Gaussian DP: paper 5, Corollary 2.5.

    Raises:
        InvalidParameter: a delta that no finite epsilon reaches.

    >>> from smoothdp.claims import GaussianDP
    >>> round(approx_at(GaussianDP(1), delta="1e-6").epsilon, 4)
    4.8866
    """
    target = read_delta(delta)
    epsilon = guarantee.profile().epsilon(target)
    if math.isinf(epsilon):
        raise _no_epsilon(target)
    # As a parameter, a float is its shortest decimal: the epsilon that was certified.
    return ApproxDP(epsilon, delta=target, neighbours=guarantee.neighbours)


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
        return approx_at(guarantee, delta=target)
    if method != "paper":
        raise InvalidParameter(
            expected='method "exact" or "paper"',
            got=f"method={method!r}",
            remedy='Leave method out, or name "paper"',
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
    return ZCDP(a + b + square_root(4 * a * b, up=True), neighbours=first.neighbours)


def _no_epsilon(delta: Fraction) -> InvalidParameter:
    return InvalidParameter(
        expected="a delta that some finite epsilon reaches",
        got=f"delta={delta}",
        remedy="Raise delta",
    )


def add_remove_to_replace_one(guarantee: Guarantee) -> Guarantee:
    """Return the claim about replacing one record from one about adding or removing it.

    It is `Guarantee.as_replace_one`.

    Raises:
        IncompatibleClaims: a claim about other neighbours, or one without group privacy.

    >>> from smoothdp.claims import PureDP
    >>> add_remove_to_replace_one(PureDP(1, neighbours="add_remove"))
    PureDP(epsilon=2, neighbours='replace_one')
    """
    if not isinstance(guarantee, Guarantee):
        raise IncompatibleClaims(
            expected="a claim about add_remove neighbours",
            got=f"{guarantee!r}",
            remedy="Give a claim such as the .guarantee of a mechanism",
        )
    return guarantee.as_replace_one()
