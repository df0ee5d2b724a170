"""Upper bounds of delta for the sampling histogram without replacement (paper 1, Theorem 3).

eta = T/n, KL(a || b) = a ln(a/b) + (1 - a) ln((1 - a)/(1 - b)), H the counts of a database
over the whole universe, f the least probability of a category. Every bound here is proved and
capped by T/n, which holds for every database (a record that is not sampled changes nothing).

The proof, also of those in `liu_all_epsilon`. Let H' = H - e_a + e_b and let l count the lost
records. By the hypergeometric law, with l about H,
P(h | H') / P(h | H) = (l_a / H_a) (H_b + 1) / (l_b + 1).
(1) Where P(h | H) > e^epsilon P(h | H'), the ratio is below e^-epsilon. So for every s in
    [0, epsilon], l_a / H_a < (1 - eta) e^-s or (l_b + 1) / (H_b + 1) > (1 - eta) e^(epsilon - s).
(2) j given records are all sampled with probability T (T-1) ... / (n (n-1) ...) <= eta^j, so
    E (1 + u)^h_a = sum over j of C(H_a, j) u^j P(j given are sampled) <= (1 + u eta)^H_a for
    u >= 0: Hoeffding's comparison with the binomial. Chernoff then gives
    P(h_a >= theta H_a) <= exp(-H_a KL(theta || eta)) for theta >= eta, and in the same way
    P(l_b >= theta H_b) <= exp(-H_b KL(theta || 1 - eta)) for theta >= 1 - eta.
(3) delta(x) is the largest over pairs (a, b) and both directions. The reverse direction is
    the same statement about counts H_b + 1 and H_a - 1, and the bounds fall in both counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from smoothdp.claims.model.model import DataModel
from smoothdp.exact.balls.balls import ball, log_bounds, precision, round_up
from smoothdp.exact.logspace.bounds import exp_upper, log_sum_upper
from smoothdp.exact.parameters.numbers import Parameter, Real, float_bounds
from smoothdp.paper_bounds.liu_setting import (
    AtCounts,
    OverModel,
    Sample,
    read_at_counts,
    read_over_model,
)

# KL cancels to second order: at rates that differ by 1e-12, this leaves 40 digits.
_BITS = 256


def liu_kl_upper(
    *,
    counts: Sequence[int],
    epsilon: Parameter,
    n_draws: int | None = None,
    sampling_rate: Parameter | None = None,
) -> float:
    """Return exp(-max(1, min_i H_i) KL(1 - e^-epsilon || eta)) or T/n, the smaller: rounded up.

    Bounds delta_epsilon(x) where 1 - e^-epsilon > eta; elsewhere it is T/n. What inequality
    (7) of paper 1 should read. Verdict: holds (proved in this file: s with
    (1 - eta) e^(epsilon - s) = 1 leaves only h_a > (1 - e^-epsilon) H_a).

    Args:
        counts: records per category over the whole universe, empty categories included.
        epsilon: >= 0. n_draws: T; or sampling_rate: T = ceil(rate * n).

    Raises:
        InvalidParameter, InvalidData: arguments outside these domains.

    >>> liu_kl_upper(counts=(60, 40), n_draws=20, epsilon=1) < 1.3e-7
    True
    """
    setting = read_at_counts(counts, epsilon, n_draws, sampling_rate)
    return exp_upper_capped(_log_kl(setting), setting.sample)


def log_liu_kl_upper(
    *,
    counts: Sequence[int],
    epsilon: Parameter,
    n_draws: int | None = None,
    sampling_rate: Parameter | None = None,
) -> float:
    """Return ln of `liu_kl_upper`, rounded up.

    Args, raises: as `liu_kl_upper`.

    >>> round(log_liu_kl_upper(counts=(60, 40), n_draws=20, epsilon=1), 3)
    -17.665
    """
    setting = read_at_counts(counts, epsilon, n_draws, sampling_rate)
    return _log_kl(setting)


def _log_kl(setting: AtCounts) -> float:
    least = max(1, min(setting.counts))
    with precision(_BITS):
        rate = _kl_rate(setting.epsilon, setting.sample)
        log_bound = 0.0 if rate is None else round_up(-(least * rate))
    return min(log_bound, log_cap(setting.sample))


def liu_kl_smoothed_upper(
    *,
    n_records: int,
    epsilon: Parameter,
    n_draws: int | None = None,
    sampling_rate: Parameter | None = None,
    model: DataModel | None = None,
    smallest_probability: Parameter | None = None,
    n_categories: int | None = None,
) -> float:
    """Return max over pi of sum_i (1 - pi_i (1 - e^-kappa))^n or T/n, the smaller: rounded up.

    kappa = KL(1 - e^-epsilon || eta). Bounds smoothed delta where 1 - e^-epsilon > eta;
    elsewhere it is T/n. What Theorem 3(i) and Remark 8 of paper 1 should read; with one f for
    all m categories it is m (1 - f (1 - e^-kappa))^n. Verdict: holds (proved: the expectation
    of `liu_kl_upper` is at most sum_i E e^(-kappa H_i); with k_v records of vertex v that is
    sum_i prod_v (1 - pi_vi (1 - e^-kappa))^k_v, convex in k, so largest with one vertex only).

    Args:
        n_records: n; epsilon: >= 0. n_draws: T; or sampling_rate: T = ceil(rate * n).
        model: the distributions; or smallest_probability f and n_categories m.

    Raises:
        InvalidParameter: arguments outside these domains.

    >>> model = DataModel([("0.3", "0.7"), ("0.6", "0.4")])
    >>> liu_kl_smoothed_upper(n_records=1000, n_draws=200, epsilon=1, model=model) < 1e-25
    True
    """
    setting = read_over_model(
        n_records, epsilon, n_draws, sampling_rate, model, smallest_probability, n_categories
    )
    return exp_upper_capped(_log_kl_smoothed(setting), setting.sample)


def log_liu_kl_smoothed_upper(
    *,
    n_records: int,
    epsilon: Parameter,
    n_draws: int | None = None,
    sampling_rate: Parameter | None = None,
    model: DataModel | None = None,
    smallest_probability: Parameter | None = None,
    n_categories: int | None = None,
) -> float:
    """Return ln of `liu_kl_smoothed_upper`, rounded up.

    Args, raises: as `liu_kl_smoothed_upper`.

    >>> round(log_liu_kl_smoothed_upper(
    ...     n_records=10**4, n_draws=2000, epsilon=1, model=DataModel([("0.3", "0.7")])), 1)
    -1132.9
    """
    setting = read_over_model(
        n_records, epsilon, n_draws, sampling_rate, model, smallest_probability, n_categories
    )
    return _log_kl_smoothed(setting)


def _log_kl_smoothed(setting: OverModel) -> float:
    sample = setting.sample
    with precision(_BITS):
        rate = _kl_rate(setting.epsilon, sample)
        log_bound = 0.0
        if rate is not None:
            log_bound = max(log_moment_upper(rate, row, sample.n_records) for row in setting.rows)
    return min(log_bound, log_cap(sample))


def _kl_rate(epsilon: Real, sample: Sample) -> Any:
    """Return KL(1 - e^-epsilon || eta) as a ball, None unless 1 - e^-epsilon > eta surely."""
    missed = (-ball(epsilon)).exp()
    if sample.is_everything or not missed < ball(1 - sample.rate):
        return None
    log_missed = -ball(epsilon)
    log_missed -= ball(1 - sample.rate).log()
    return missed * log_missed + (1 - missed) * ((-missed).log1p() - ball(sample.rate).log())


def divergence(first: Any, second: Any) -> Any:
    """Return KL(first || second) for balls strictly between 0 and 1."""
    kept, lost = first / second, (1 - first) / (1 - second)
    return first * kept.log() + (1 - first) * lost.log()


def log_moment_upper(rate: Any, row: tuple[Fraction, ...], n_records: int) -> float:
    """Return ln of sum_i (1 - pi_i (1 - e^-rate))^n, rounded up: E sum_i e^(-rate H_i)."""
    shrink = -(-rate).expm1()
    total = -math.inf
    for probability in row:
        term = round_up(n_records * (-(ball(probability) * shrink)).log1p())
        # A ball that straddles 0 may give a factor above 1: at most 1 is known.
        total = log_sum_upper(total, min(0.0, term) if term == term else 0.0)
    return total


def exp_upper_capped(log_bound: float, sample: Sample) -> float:
    """Return e^log_bound or T/n, the smaller, rounded up."""
    return min(exp_upper(log_bound), float_bounds(sample.rate)[1])


def log_cap(sample: Sample) -> float:
    """Return ln(T/n), rounded up: no delta of sampling without replacement is larger."""
    return log_bounds(sample.rate).upper
