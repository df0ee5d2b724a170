"""Theorem 5 of paper 1: the sampling histogram with replacement."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from smoothdp.claims.model.model import DataModel
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import ball, precision, round_up
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.parameters.numbers import Parameter, Real, float_bounds
from smoothdp.paper_bounds.bound import Bound
from smoothdp.paper_bounds.liu.setting import (
    Sample,
    read_at_counts,
    read_over_model,
    read_sample,
)
from smoothdp.paper_bounds.liu.upper import log_moment_upper

_BITS = 256


def liu_theorem_5_dp(*, n_records: int, n_draws: int) -> Bound:
    """Return 1 - (1 - 1/n)^T, the delta of ordinary DP, rounded up.

    Verdict: exact at every finite epsilon >= 0: the probability that a given record is drawn
    at all, met by a database where nobody else has its value (proofs/hypergeometric-bounds#9).

    Raises:
        InvalidParameter: n_records below 2 or n_draws below 1.

    >>> round(liu_theorem_5_dp(n_records=100, n_draws=10), 6)
    0.095618
    """
    sample = read_sample(n_records, n_draws=n_draws, sampling_rate=None, replacing=True)
    return Bound.upper(_log_inclusion(sample), at_most=1.0)


def liu_theorem_5_dp_lower(*, n_records: int, n_draws: int) -> float:
    """Return T/(n + T), rounded down: no smaller delta works for ordinary DP.

    What Theorem 5 should read in place of T/(n + 1). Verdict: holds
    (proofs/hypergeometric-bounds#9).

    Raises:
        InvalidParameter: n_records below 2 or n_draws below 1.

    >>> liu_theorem_5_dp_lower(n_records=100, n_draws=10) <= 10 / 110
    True
    """
    sample = read_sample(n_records, n_draws=n_draws, sampling_rate=None, replacing=True)
    return float_bounds(Fraction(sample.n_draws, sample.n_records + sample.n_draws))[0]


def liu_theorem_5_upper(*, counts: Sequence[int], n_draws: int, epsilon: Parameter) -> Bound:
    """Return (e T/n)^max(1, min_i H_i) or 1 - (1 - 1/n)^T, the smaller: rounded up.

    Bounds delta_epsilon(x) for epsilon >= 1 and any number of categories. Theorem 5 asks for
    epsilon = 1 + 2T/n, two categories and a factor 1/(1 - eT/n); its proof sets 2T/n, where
    the bound is false (n = 100, T = 10, counts (5, 95): .0151 > .0015). Verdict: holds
    (proofs/hypergeometric-bounds#10): the likelihood ratio of a neighbour exceeds e only where at
    least H_a of the draws are in the moved record's category. For counts of 0 and 1 the second
    bound is the smaller one.

    Args:
        counts: records per category over the whole universe, empty categories included.
        n_draws: T >= 1. epsilon: >= 1.

    Raises:
        InvalidParameter, InvalidData: arguments outside these domains.

    >>> bound = liu_theorem_5_upper(counts=(500, 9500), n_draws=1000, epsilon="1.2")
    >>> bound < 1e-280, round(bound.log, 2)
    (True, -651.29)
    """
    setting = read_at_counts(counts, epsilon, n_draws, None, replacing=True)
    _require_at_least_one(setting.epsilon)
    with precision(_BITS):
        log_bound = round_up(max(1, min(setting.counts)) * (1 + ball(setting.sample.rate).log()))
    return Bound.upper(min(log_bound, _log_inclusion(setting.sample)))


def liu_theorem_5_smoothed_upper(
    *,
    n_records: int,
    n_draws: int,
    epsilon: Parameter,
    model: DataModel | None = None,
    smallest_probability: Parameter | None = None,
    n_categories: int | None = None,
) -> Bound:
    """Return max over pi of sum_i (1 - pi_i (1 - eT/n))^n or 1 - (1 - 1/n)^T: rounded up.

    The smaller of the two. Bounds smoothed delta for epsilon >= 1 if e T < n; elsewhere it is
    the second term. The non-asymptotic form of Theorem 5's exp(-Theta(n)), for T/n up to any
    constant below 1/e. Verdict: holds: the expectation of `liu_theorem_5_upper`
    (proofs/hypergeometric-bounds#10).

    Args:
        n_records: n; n_draws: T; epsilon: >= 1.
        model: the distributions; or smallest_probability f and n_categories m.

    Raises:
        InvalidParameter: arguments outside these domains.

    >>> bound = liu_theorem_5_smoothed_upper(
    ...     n_records=10**4, n_draws=300, epsilon=1, smallest_probability="0.1", n_categories=2
    ... )
    >>> bound, round(bound.log, 1)
    (5e-324, -962.7)
    """
    setting = read_over_model(
        n_records, epsilon, n_draws, None, model, smallest_probability, n_categories, replacing=True
    )
    sample = setting.sample
    _require_at_least_one(setting.epsilon)
    with precision(_BITS):
        rate = -(1 + ball(sample.rate).log())
        log_bound = 0.0
        if rate > 0:
            log_bound = max(log_moment_upper(rate, row, sample.n_records) for row in setting.rows)
    return Bound.upper(min(log_bound, _log_inclusion(sample)))


def _log_inclusion(sample: Sample) -> float:
    """Return ln(1 - (1 - 1/n)^T), rounded up."""
    with precision(_BITS):
        missed = sample.n_draws * ball(Fraction(-1, sample.n_records)).log1p()
        return min(0.0, round_up((-missed.expm1()).log()))


def _require_at_least_one(epsilon: Real) -> None:
    if not at_most(Fraction(1), epsilon):
        raise InvalidParameter(
            expected="epsilon >= 1",
            got=f"epsilon={float(epsilon):.6g}",
            remedy="Raise epsilon: the bound fails below 1",
        )
