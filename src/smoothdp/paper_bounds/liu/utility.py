"""Delta and the Bayesian adversary: Lemmas 1, 2 and 10, Corollary 3, inequality (2).

u is the adversary's utility of equation (3) at the threshold E / (E + 1), E = e^epsilon; d
and d' are the hockey-stick divergences of the two databases in both directions.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from smoothdp.claims.domains import read_delta, read_epsilon
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import ball, precision, round_up
from smoothdp.exact.logspace.bounds import LIBM_ERROR
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction, exact_int
from smoothdp.paper_bounds.liu.setting import read_capped_epsilon

_BITS = 128


class UtilityRange(NamedTuple):
    """Bounds of the adversary's utility."""

    lower: float
    upper: float


def liu_lemma_1(delta: Parameter, *, epsilon: Parameter, n_categories: int) -> float:
    """Return (1 + (m - 1) / (m - 1 + E)) delta, E = e^epsilon, rounded up, at most 1.

    Bounds the adversary's utility u at threshold E/(E + 1), where Lemma 1 has 2 delta:
    for an (epsilon, delta)-DP mechanism; and at one database x with delta = delta(x), if the
    missing record is the one that x has. (Corollary 3 claims 2 delta(x) whatever the record
    is, which is false; `liu_corollary_3` is what holds there.) Verdict: holds, sharper than
    printed (proofs/adversary-utility#4).

    Args:
        delta: in [0, 1]. epsilon: >= 0. n_categories: m >= 2.

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> round(liu_lemma_1("0.01", epsilon=0, n_categories=3), 12)
    0.016666666667
    """
    others = exact_int(n_categories, name="n_categories", minimum=2) - 1
    with precision(_BITS):
        factor: Any = 1 + others / (others + ball(read_capped_epsilon(epsilon)).exp())
        return min(1.0, max(0.0, round_up(factor * ball(read_delta(delta)))))


def liu_inequality_2(delta: Parameter, *, epsilon: Parameter) -> float:
    """Return (2 + e^-epsilon) delta(x), rounded up, at most 1: inequality (2), corrected.

    Bounds the probability, over an output a of M(x), that P(a | x)/P(a | x') is not within
    [1/(2E), 2E], E = e^epsilon. The paper has 2 delta, which is false: P = (.2, .0904, .7096),
    Q with the first two swapped, epsilon = .1 have .2904 > 2 delta = .2002. Verdict: holds
    (proofs/hypergeometric-bounds#11).

    Args:
        delta: in [0, 1]. epsilon: >= 0.

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> round(liu_inequality_2("0.01", epsilon=0), 12)
    0.03
    """
    with precision(_BITS):
        factor = 2 + (-ball(read_capped_epsilon(epsilon))).exp()
        return min(1.0, max(0.0, round_up(factor * ball(read_delta(delta)))))


def liu_corollary_3(delta: Parameter, *, epsilon: Parameter, n_categories: int) -> float:
    """Return (1 + (m - 1) / (E + 1)) delta(x), rounded up, at most 1; 0 if delta(x) is.

    What is true of Corollary 3 of paper 1. For two categories the constant is (E + 2) / (E + 1)
    <= 3/2, where the paper has 2, which is false for 15 categories and E = 2 if the missing
    record need not be that of x (proofs/adversary-utility#6). This holds for any record (#5): where
    the named category is not the true one, its share of the posterior is at most
    P_c / (P_c + P_X). For the record of x itself see `liu_lemma_1`, which is smaller.

    Args:
        delta: delta_epsilon(x), the largest over neighbours and directions.
        epsilon: >= 0; it belongs to the threshold E / (E + 1).
        n_categories: m >= 2.

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> round(liu_corollary_3("0.01", epsilon=0, n_categories=2), 12)
    0.015
    """
    categories = exact_int(n_categories, name="n_categories", minimum=2)
    growth = math.exp(min(700.0, float(read_epsilon(epsilon)))) * (1 - 4 * LIBM_ERROR)
    exact_delta = read_delta(delta)
    if exact_delta == 0:
        return 0.0
    bound = float(exact_delta) * (1 + (categories - 1) / (growth + 1))
    return min(1.0, math.nextafter(bound * (1 + LIBM_ERROR / 4), math.inf))


def liu_lemma_2(forward: float, backward: float) -> UtilityRange:
    """Return (d + d') / 2 <= u <= d + d', for two categories: Lemmas 2 and 10.

    u and the utility u' for the other missing record add up to d + d' exactly, and u is the
    larger (proofs/adversary-utility#2). The paper has a strict upper bound, which fails at 0,
    states it for any number of categories, for which it is false (#3), and has a third in place
    of the half.

    Raises:
        InvalidParameter: divergences outside [0, 1].

    >>> liu_lemma_2(0.25, 0.5)
    UtilityRange(lower=0.37499999999999994, upper=0.7500000000000001)
    """
    divergences = [exact_fraction(d, name="a divergence") for d in (forward, backward)]
    if not all(0 <= d <= 1 for d in divergences):
        raise InvalidParameter(
            expected="divergences in [0, 1]",
            got=f"forward={forward}, backward={backward}",
            remedy="Give hockey-stick divergences",
        )
    total = float(forward) + float(backward)
    if total == 0.0:
        return UtilityRange(0.0, 0.0)
    return UtilityRange(math.nextafter(total / 2, 0.0), min(1.0, math.nextafter(total, math.inf)))


liu_lemma_10 = liu_lemma_2
