"""Upper bounds of delta for the sampling histogram without replacement (paper 1, Theorem 3).

eta = T/n, KL(a || b) = a ln(a/b) + (1 - a) ln((1 - a)/(1 - b)), H the counts of a database
over the whole universe, f the least probability of a category. Every bound here is proved and
capped by T/n, which holds for every database (proofs/two-smallest#6).

The proofs (proofs/hypergeometric-bounds#1, #2, #3, #4, #5, #6; with the bounds of closed form in
proofs/smoothed-delta#11) bound the outputs at which the likelihood ratio of a neighbour exceeds
e^epsilon: many of the moved record's category are drawn, or many of the other one are lost.
Hypergeometric moments are at most binomial ones.

The two-term bound needs no condition on epsilon: the two ratios share it in halves. It explains
why the paper's curves at epsilon = .5, 1, 2 fall too, where its condition asks for 6.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from smoothdp.claims.model.model import DataModel
from smoothdp.exact.balls.balls import ball, log_bounds, precision, round_up
from smoothdp.exact.logspace.bounds import log_sum_upper
from smoothdp.exact.parameters.numbers import LogRatio, Parameter, Real, float_bounds
from smoothdp.paper_bounds.bound import Bound
from smoothdp.paper_bounds.liu.setting import Sample, read_at_counts, read_over_model

# KL cancels to second order: at rates that differ by 1e-12, 256 bits leave 40 digits.
_BITS = 256


def liu_kl_upper(
    *,
    counts: Sequence[int],
    epsilon: Parameter,
    n_draws: int | None = None,
    sampling_rate: Parameter | None = None,
) -> Bound:
    """Return exp(-max(1, min_i H_i) KL(1 - e^-epsilon || eta)) or T/n, the smaller: rounded up.

    Bounds delta_epsilon(x) where 1 - e^-epsilon > eta; elsewhere it is T/n. What inequality
    (7) of paper 1 should read. Verdict: holds (proofs/hypergeometric-bounds#3).

    Args:
        counts: records per category over the whole universe, empty categories included.
        epsilon: >= 0. n_draws: T; or sampling_rate: T = ceil(rate * n).

    Raises:
        InvalidParameter, InvalidData: arguments outside these domains.

    >>> bound = liu_kl_upper(counts=(60, 40), n_draws=20, epsilon=1)
    >>> bound < 1.3e-7, round(bound.log, 3)
    (True, -17.665)
    """
    setting = read_at_counts(counts, epsilon, n_draws, sampling_rate)
    least = max(1, min(setting.counts))
    with precision(_BITS):
        rate = _kl_rate(setting.epsilon, setting.sample)
        log_bound = 0.0 if rate is None else round_up(-(least * rate))
    return _capped(log_bound, setting.sample)


def liu_kl_smoothed_upper(
    *,
    n_records: int,
    epsilon: Parameter,
    n_draws: int | None = None,
    sampling_rate: Parameter | None = None,
    model: DataModel | None = None,
    smallest_probability: Parameter | None = None,
    n_categories: int | None = None,
) -> Bound:
    """Return max over pi of sum_i (1 - pi_i (1 - e^-kappa))^n or T/n, the smaller: rounded up.

    kappa = KL(1 - e^-epsilon || eta). Bounds smoothed delta where 1 - e^-epsilon > eta;
    elsewhere it is T/n. What Theorem 3(i) and Remark 8 of paper 1 should read; with one f for
    all m categories it is m (1 - f (1 - e^-kappa))^n. Verdict: holds
    (proofs/hypergeometric-bounds#4): the expectation of `liu_kl_upper` is at most
    sum_i E e^(-kappa H_i), which is convex in the numbers of records of the vertices.

    Args:
        n_records: n; epsilon: >= 0. n_draws: T; or sampling_rate: T = ceil(rate * n).
        model: the distributions; or smallest_probability f and n_categories m.

    Raises:
        InvalidParameter: arguments outside these domains.

    >>> bound = liu_kl_smoothed_upper(
    ...     n_records=10**4, n_draws=2000, epsilon=1, model=DataModel([("0.3", "0.7")])
    ... )
    >>> bound, round(bound.log, 1)
    (5e-324, -1132.9)
    """
    setting = read_over_model(
        n_records, epsilon, n_draws, sampling_rate, model, smallest_probability, n_categories
    )
    sample = setting.sample
    with precision(_BITS):
        rate = _kl_rate(setting.epsilon, sample)
        log_bound = 0.0
        if rate is not None:
            log_bound = max(log_moment_upper(rate, row, sample.n_records) for row in setting.rows)
    return _capped(log_bound, sample)


def liu_all_epsilon_upper(
    *,
    counts: Sequence[int],
    epsilon: Parameter,
    n_draws: int | None = None,
    sampling_rate: Parameter | None = None,
) -> Bound:
    """Return the two-term bound of delta_epsilon(x), at most T/n, for every epsilon: rounded up.

    The largest over pairs (A, B) of exp(-A KL(c || 1 - eta)) + exp(-B KL(theta || 1 - eta)),
    c = (1 - eta) e^(-epsilon/2), theta = ((1 - eta) e^(epsilon/2) (B + 1) - 1) / B. The second
    term is 0 from theta = 1 on and 1 up to theta = 1 - eta. The pairs are the two smallest
    counts, in both orders, as (A, B) and as (A + 1, B - 1). Verdict: holds
    (proofs/hypergeometric-bounds#5): the first term bounds P(l_a < c A), l counting what is lost,
    and the second P(l_b > theta B).

    Args:
        counts: records per category over the whole universe, empty categories included.
        epsilon: >= 0. n_draws: T; or sampling_rate: T = ceil(rate * n).

    Raises:
        InvalidParameter, InvalidData: arguments outside these domains.

    >>> bound = liu_all_epsilon_upper(counts=(6000, 4000), n_draws=9000, epsilon=1)
    >>> bound < 1e-17, round(bound.log, 2)
    (True, -39.47)
    """
    setting = read_at_counts(counts, epsilon, n_draws, sampling_rate)
    sample = setting.sample
    small, large = sorted(setting.counts)[:2]
    if small == 0 or sample.is_everything:
        return _capped(0.0, sample)
    # The four pairs of counts that may be the worst (proofs/two-smallest#4).
    pairs = {(small, large), (large, small), (large + 1, small - 1), (small + 1, large - 1)}
    with precision(_BITS):
        half = _half(setting.epsilon)
        return _capped(max(_two_terms(a, b, half, sample) for a, b in pairs), sample)


def _two_terms(moved: int, raised: int, half: Any, sample: Sample) -> float:
    missed = ball(1 - sample.rate)
    first = min(0.0, round_up(-(moved * _lower_rate(half, missed))))
    if raised == 0:
        second = 0.0
    else:
        theta = (missed * half.exp() * (raised + 1) - 1) / raised
        if theta >= 1:
            second = -math.inf
        elif theta > missed and theta < 1:
            second = min(0.0, round_up(-(raised * _divergence(theta, missed))))
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
) -> Bound:
    """Return the two-term bound of smoothed delta, at most T/n, for every epsilon: rounded up.

    The largest over pi of
    sum_i (1 - pi_i (1 - e^-k1))^n + e^(epsilon/2) sum_i (1 - pi_i (1 - e^-k2))^n with
    k1 = KL(c || 1 - eta), k2 = KL(g || 1 - eta), g = (1 - eta) e^(epsilon/2); the second sum
    is 0 where g >= 1. Verdict: holds (proofs/hypergeometric-bounds#6), loose: at n = 1e6, 0.2%
    lost and the vertices of Figure 2 its logarithm is 1.2 (epsilon = 7) to 6 (.5) times too
    small. It is the expectation of e^(-k1 M) + e^(epsilon/2) e^(-k2 M), M = min_i H_i.

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
    sample = setting.sample
    if sample.is_everything:
        return _capped(0.0, sample)
    with precision(_BITS):
        half = _half(setting.epsilon)
        missed = ball(1 - sample.rate)
        lower_rate, raised = _lower_rate(half, missed), missed * half.exp()
        upper_rate = _divergence(raised, missed) if raised < 1 else None
        largest = -math.inf
        for row in setting.rows:
            total = log_moment_upper(lower_rate, row, sample.n_records)
            if upper_rate is not None:
                second = log_moment_upper(upper_rate, row, sample.n_records) + round_up(half)
                total = log_sum_upper(total, math.nextafter(second, math.inf))
            elif not raised >= 1:
                total = 0.0
            largest = max(largest, total)
    return _capped(largest, sample)


def _half(epsilon: Real) -> Any:
    return ball(epsilon) / 2 if isinstance(epsilon, LogRatio) else ball(Fraction(epsilon) / 2)


def _kl_rate(epsilon: Real, sample: Sample) -> Any:
    """Return KL(1 - e^-epsilon || eta) as a ball, None unless 1 - e^-epsilon > eta surely."""
    missed = (-ball(epsilon)).exp()
    if sample.is_everything or not missed < ball(1 - sample.rate):
        return None
    log_missed = -ball(epsilon)
    log_missed -= ball(1 - sample.rate).log()
    return missed * log_missed + (1 - missed) * ((-missed).log1p() - ball(sample.rate).log())


def _divergence(first: Any, second: Any) -> Any:
    """Return KL(first || second) for balls strictly between 0 and 1."""
    kept, lost = first / second, (1 - first) / (1 - second)
    return first * kept.log() + (1 - first) * lost.log()


def log_moment_upper(rate: Any, row: tuple[Fraction, ...], n_records: int) -> float:
    """Return ln of sum_i (1 - pi_i (1 - e^-rate))^n, rounded up: E sum_i e^(-rate H_i).

    (proofs/hypergeometric-bounds#4)
    """
    shrink = -(-rate).expm1()
    total = -math.inf
    for probability in row:
        term = round_up(n_records * (-(ball(probability) * shrink)).log1p())
        # A ball that straddles 0 may give a factor above 1: at most 1 is known.
        total = log_sum_upper(total, min(0.0, term) if term == term else 0.0)
    return total


def _capped(log_bound: float, sample: Sample) -> Bound:
    """Return e^log_bound or T/n, the smaller: no delta without replacement is larger."""
    log_bound = min(log_bound, log_bounds(sample.rate).upper)
    return Bound.upper(log_bound, at_most=float_bounds(sample.rate)[1])
