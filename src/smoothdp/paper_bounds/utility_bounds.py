"""What delta says about a Bayesian adversary: Lemma 2, Corollary 3 and Lemma 10 of paper 1,
as they should read.

u is the adversary's utility of equation (3) at the threshold E / (E + 1), E = e^epsilon; d
and d' are the hockey-stick divergences of the two databases in both directions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from smoothdp.claims.domains import read_delta, read_epsilon
from smoothdp.errors import InvalidParameter
from smoothdp.exact.logspace.bounds import LIBM_ERROR
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction, exact_int


class UtilityRange(NamedTuple):
    """Bounds of the adversary's utility."""

    lower: float
    upper: float


def utility_upper(delta: Parameter, *, epsilon: Parameter, n_categories: int) -> float:
    """Return (1 + (m - 1) / (E + 1)) delta(x), rounded up, at most 1; 0 if delta(x) is.

    What is true of Corollary 3 of paper 1. For two categories the constant is (E + 2) / (E + 1)
    <= 3/2, where the paper has 2, which is false for 15 categories and E = 2 if the missing
    record need not be that of x. This holds for any record: where the named category is not the
    true one, its share of the posterior is at most P_c / (P_c + P_X). For the record of x itself
    see `smoothdp.paper_bounds.liu_lemma_1`, which is smaller.

    Args:
        delta: delta_epsilon(x), the largest over neighbours and directions.
        epsilon: >= 0; it belongs to the threshold E / (E + 1).
        n_categories: m >= 2.

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> round(utility_upper("0.01", epsilon=0, n_categories=2), 12)
    0.015
    """
    categories = exact_int(n_categories, name="n_categories", minimum=2)
    growth = math.exp(min(700.0, float(read_epsilon(epsilon)))) * (1 - 4 * LIBM_ERROR)
    given = read_delta(delta)
    if given == 0:
        return 0.0
    bound = float(given) * (1 + (categories - 1) / (growth + 1))
    return min(1.0, math.nextafter(bound * (1 + LIBM_ERROR / 4), math.inf))


def utility_of_two(forward: float, backward: float) -> UtilityRange:
    """Return (d + d') / 2 <= u <= d + d', for two categories: Lemmas 2 and 10.

    u and the utility u' for the other missing record add up to d + d' exactly, and u is the
    larger. The paper has a strict upper bound, which fails at 0, states it for any number of
    categories, for which it is false, and has a third in place of the half.

    Raises:
        InvalidParameter: divergences outside [0, 1].

    >>> utility_of_two(0.25, 0.5)
    UtilityRange(lower=0.37499999999999994, upper=0.7500000000000001)
    """
    given = [exact_fraction(d, name="a divergence") for d in (forward, backward)]
    if not all(0 <= d <= 1 for d in given):
        raise InvalidParameter(
            expected="divergences in [0, 1]",
            got=f"forward={forward}, backward={backward}",
            remedy="Give hockey-stick divergences",
        )
    both = float(forward) + float(backward)
    if both == 0.0:
        return UtilityRange(0.0, 0.0)
    return UtilityRange(math.nextafter(both / 2, 0.0), min(1.0, math.nextafter(both, math.inf)))
