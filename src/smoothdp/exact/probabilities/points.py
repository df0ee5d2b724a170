"""One probability at a time, by ball arithmetic: the anchors of the fast sums.

At 128 bits the logarithm is right to about 1e-29 for counts up to 1e9, so the bounds
returned are neighbouring floats.
"""

from __future__ import annotations

from functools import lru_cache

from flint import arb

from smoothdp.exact.balls.balls import enclose, precision
from smoothdp.exact.logspace.bounds import LogBounds

_BITS = 128


def hypergeometric_point(i: int, n_draws: int, count_a: int, count_b: int) -> LogBounds:
    """Bound ln P(i) for i in the support: n_draws without replacement, i of category a.

    P(i) = C(count_a, i) C(count_b, n_draws - i) / C(count_a + count_b, n_draws).
    """
    with precision(_BITS):
        cells = arb(i + 1).lgamma() + arb(count_a - i + 1).lgamma()
        cells += arb(n_draws - i + 1).lgamma() + arb(count_b - n_draws + i + 1).lgamma()
        return enclose(_margins(n_draws, count_a, count_b) - cells)


@lru_cache(maxsize=1024)
def _margins(n_draws: int, count_a: int, count_b: int) -> arb:
    """Enclose the part of ln P that does not depend on i."""
    total = count_a + count_b
    with precision(_BITS):
        log_p = arb(count_a + 1).lgamma() + arb(count_b + 1).lgamma()
        return log_p - _log_binomial(total, n_draws)


@lru_cache(maxsize=1024)
def _log_binomial(total: int, chosen: int) -> arb:
    with precision(_BITS):
        log_total = arb(total + 1).lgamma()
        return log_total - arb(chosen + 1).lgamma() - arb(total - chosen + 1).lgamma()


def binomial_point(i: int, n_draws: int, count_a: int, count_b: int) -> LogBounds:
    """Bound ln P(i) for i in the support: n_draws with replacement, i of category a.

    P(i) = C(n_draws, i) count_a^i count_b^(n_draws - i) / (count_a + count_b)^n_draws.
    """
    rest = n_draws - i
    with precision(_BITS):
        log_p = _log_binomial(n_draws, i) - n_draws * arb(count_a + count_b).log()
        if i:
            log_p += i * arb(count_a).log()
        if rest:
            log_p += rest * arb(count_b).log()
        return enclose(log_p)
