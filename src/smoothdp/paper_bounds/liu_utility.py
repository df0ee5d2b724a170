"""Delta and the Bayesian adversary: Lemmas 1, 2 and 10, Corollary 3, inequality (2)."""

from __future__ import annotations

from typing import Any

from smoothdp.claims.domains import read_delta
from smoothdp.exact.balls.balls import ball, precision, round_up
from smoothdp.exact.parameters.numbers import Parameter, exact_int
from smoothdp.paper_bounds.liu_setting import read_capped_epsilon
from smoothdp.paper_bounds.utility_bounds import utility_of_two as liu_lemma_2
from smoothdp.paper_bounds.utility_bounds import utility_of_two as liu_lemma_10
from smoothdp.paper_bounds.utility_bounds import utility_upper as liu_corollary_3

__all__ = [
    "liu_corollary_3",
    "liu_inequality_2",
    "liu_lemma_1",
    "liu_lemma_2",
    "liu_lemma_10",
]

_BITS = 128


def liu_lemma_1(delta: Parameter, *, epsilon: Parameter, n_categories: int) -> float:
    """Return (1 + (m - 1) / (m - 1 + E)) delta, E = e^epsilon, rounded up, at most 1.

    Bounds the adversary's utility u at threshold E/(E + 1), where Lemma 1 has 2 delta:
    for an (epsilon, delta)-DP mechanism; and at one database x with delta = delta(x), if the
    missing record is the one that x has. (Corollary 3 claims 2 delta(x) whatever the record
    is, which is false; `liu_corollary_3` is what holds there.) Verdict: holds, sharper than
    printed (proved).

    Proof. Let P_c be the output law if the record is c, X the true one; R_c the outputs where c
    is guessed, that is P_c > E N_c with N_c the sum of the other P_j. Write p_c = P_X(R_c),
    q_jc = P_j(R_c), A_c = sum over R_c of P_c - E N_c, and
    U_c = sum over R_c of P_X (P_c - E N_c)/(P_c + N_c), so that u = sum of the U_c.
    (1) U_c <= p_c, and for c other than X, U_c <= A_c/(E + 1), as P_X <= N_c.
    (2) d(c, X) <= delta gives A_c + E sum_j q_jc <= delta, over j other than c and X.
    (3) d(X, j) <= delta gives U_X + sum_c (p_c - E q_jc) <= delta, over c other than X and j.
    Add (3) over the m - 1 values of j and use (2):
    (m-1) U_X + (m-2) sum_c p_c + sum_c A_c <= 2 (m-1) delta. By (1) and U_X <= delta,
    U_X + sum_c U_c <= delta + (m-1) delta/(m-1+E).

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
    (proved). Proof: where P > 2E Q, P - E Q > P/2, which gives 2 d(x, x'); where
    P < Q/(2E), Q - E P > Q/2 > E P, which gives e^-epsilon d(x', x).

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
