"""The two-term bound that needs no condition on epsilon: paper 1, Theorem 3, extended.

The proof is in `liu_upper`, steps (1) to (3), with the exponent split in the middle:
s = epsilon / 2, c = (1 - eta) e^(-epsilon/2), g = (1 - eta) e^(epsilon/2). It explains why
the paper's curves at epsilon = .5, 1, 2 fall too, where its condition asks for 6.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from smoothdp.claims.model.model import DataModel
from smoothdp.exact.balls.balls import ball, precision, round_up
from smoothdp.exact.logspace.bounds import log_sum_upper
from smoothdp.exact.parameters.numbers import LogRatio, Parameter, Real
from smoothdp.paper_bounds.liu_setting import (
    AtCounts,
    OverModel,
    Sample,
    read_at_counts,
    read_over_model,
)
from smoothdp.paper_bounds.liu_upper import (
    divergence,
    exp_upper_capped,
    log_cap,
    log_moment_upper,
)

_BITS = 256


def liu_all_epsilon_upper(
    *,
    counts: Sequence[int],
    epsilon: Parameter,
    n_draws: int | None = None,
    sampling_rate: Parameter | None = None,
) -> float:
    """Return the two-term bound of delta_epsilon(x), at most T/n, for every epsilon: rounded up.

    The largest over pairs (A, B) of exp(-A KL(c || 1 - eta)) + exp(-B KL(theta || 1 - eta)),
    c = (1 - eta) e^(-epsilon/2), theta = ((1 - eta) e^(epsilon/2) (B + 1) - 1) / B. The second
    term is 0 from theta = 1 on and 1 up to theta = 1 - eta. The pairs are the two smallest
    counts, in both orders, as (A, B) and as (A + 1, B - 1). Verdict: holds (proved: the first
    term is P(l_a < c H_a), the second P(l_b > theta H_b), and both fall in the counts).

    Args:
        counts: records per category over the whole universe, empty categories included.
        epsilon: >= 0. n_draws: T; or sampling_rate: T = ceil(rate * n).

    Raises:
        InvalidParameter, InvalidData: arguments outside these domains.

    >>> liu_all_epsilon_upper(counts=(6000, 4000), n_draws=9000, epsilon=1) < 1e-17
    True
    """
    setting = read_at_counts(counts, epsilon, n_draws, sampling_rate)
    return exp_upper_capped(_log_bound(setting), setting.sample)


def log_liu_all_epsilon_upper(
    *,
    counts: Sequence[int],
    epsilon: Parameter,
    n_draws: int | None = None,
    sampling_rate: Parameter | None = None,
) -> float:
    """Return ln of `liu_all_epsilon_upper`, rounded up.

    Args, raises: as `liu_all_epsilon_upper`.

    >>> round(log_liu_all_epsilon_upper(counts=(6000, 4000), n_draws=9000, epsilon=1), 2)
    -39.47
    """
    setting = read_at_counts(counts, epsilon, n_draws, sampling_rate)
    return _log_bound(setting)


def _log_bound(setting: AtCounts) -> float:
    sample, cap = setting.sample, log_cap(setting.sample)
    small, large = sorted(setting.counts)[:2]
    if small == 0 or sample.is_everything:
        return cap
    # step (3): every other pair has both counts at least as large as one of these.
    pairs = {(small, large), (large, small), (large + 1, small - 1), (small + 1, large - 1)}
    with precision(_BITS):
        half = _half(setting.epsilon)
        return min(cap, max(_two_terms(a, b, half, sample) for a, b in pairs))


def _two_terms(moved: int, other: int, half: Any, sample: Sample) -> float:
    missed = ball(1 - sample.rate)
    first = min(0.0, round_up(-(moved * _lower_rate(half, missed))))
    if other == 0:
        second = 0.0
    else:
        theta = (missed * half.exp() * (other + 1) - 1) / other
        if theta >= 1:
            second = -math.inf
        elif theta > missed and theta < 1:
            second = min(0.0, round_up(-(other * divergence(theta, missed))))
        else:
            second = 0.0
    return log_sum_upper(first, second)


def _lower_rate(half: Any, missed: Any) -> Any:
    """Return KL(c || 1 - eta) for c = (1 - eta) e^-half."""
    ratio = (-half).exp()
    kept = (-(missed * ratio)).log1p() - (-missed).log1p()
    return -(missed * ratio) * half + (1 - missed * ratio) * kept


def liu_all_epsilon_smoothed_upper(
    *,
    n_records: int,
    epsilon: Parameter,
    n_draws: int | None = None,
    sampling_rate: Parameter | None = None,
    model: DataModel | None = None,
    smallest_probability: Parameter | None = None,
    n_categories: int | None = None,
) -> float:
    """Return the two-term bound of smoothed delta, at most T/n, for every epsilon: rounded up.

    The largest over pi of
    sum_i (1 - pi_i (1 - e^-k1))^n + e^(epsilon/2) sum_i (1 - pi_i (1 - e^-k2))^n with
    k1 = KL(c || 1 - eta), k2 = KL(g || 1 - eta), g = (1 - eta) e^(epsilon/2); the second sum
    is 0 where g >= 1. Verdict: holds (proved), loose: at n = 1e6, 0.2% lost and the vertices of
    Figure 2 its logarithm is 1.2 (epsilon = 7) to 6 (.5) times too small. Proof: Chernoff with
    1 + u = the odds ratio of g and 1 - eta bounds the second term at B = M - 1 by
    e^(epsilon/2) e^(-k2 M), and at B = M by less, so with M = min_i H_i
    delta(x) <= e^(-k1 M) + e^(epsilon/2) e^(-k2 M); then as in `liu_kl_smoothed_upper`.

    Args:
        n_records: n; epsilon: >= 0. n_draws: T; or sampling_rate: T = ceil(rate * n).
        model: the distributions; or smallest_probability f and n_categories m.

    Raises:
        InvalidParameter: arguments outside these domains.

    >>> model = DataModel([("0.0554", "0.9446"), ("0.5334", "0.4666")])
    >>> liu_all_epsilon_smoothed_upper(
    ...     n_records=10**6, sampling_rate="0.998", epsilon=2, model=model
    ... ) < 1e-11
    True
    """
    setting = read_over_model(
        n_records, epsilon, n_draws, sampling_rate, model, smallest_probability, n_categories
    )
    return exp_upper_capped(_log_smoothed_bound(setting), setting.sample)


def log_liu_all_epsilon_smoothed_upper(
    *,
    n_records: int,
    epsilon: Parameter,
    n_draws: int | None = None,
    sampling_rate: Parameter | None = None,
    model: DataModel | None = None,
    smallest_probability: Parameter | None = None,
    n_categories: int | None = None,
) -> float:
    """Return ln of `liu_all_epsilon_smoothed_upper`, rounded up.

    Args, raises: as `liu_all_epsilon_smoothed_upper`.

    >>> round(log_liu_all_epsilon_smoothed_upper(
    ...     n_records=10**5, n_draws=50_000, epsilon=1, model=DataModel([("0.3", "0.7")])), 1)
    -2320.5
    """
    setting = read_over_model(
        n_records, epsilon, n_draws, sampling_rate, model, smallest_probability, n_categories
    )
    return _log_smoothed_bound(setting)


def _log_smoothed_bound(setting: OverModel) -> float:
    sample, cap = setting.sample, log_cap(setting.sample)
    if sample.is_everything:
        return cap
    with precision(_BITS):
        half = _half(setting.epsilon)
        missed = ball(1 - sample.rate)
        lower_rate, raised = _lower_rate(half, missed), missed * half.exp()
        upper_rate = divergence(raised, missed) if raised < 1 else None
        largest = -math.inf
        for row in setting.rows:
            total = log_moment_upper(lower_rate, row, sample.n_records)
            if upper_rate is not None:
                second = log_moment_upper(upper_rate, row, sample.n_records) + round_up(half)
                total = log_sum_upper(total, math.nextafter(second, math.inf))
            elif not raised >= 1:
                total = 0.0
            largest = max(largest, total)
    return min(cap, largest)


def _half(epsilon: Real) -> Any:
    return ball(epsilon) / 2 if isinstance(epsilon, LogRatio) else ball(Fraction(epsilon) / 2)
