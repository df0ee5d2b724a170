"""Bounds of paper 1 exactly as printed, which fail in general: to compare, never to certify."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from smoothdp.claims.domains import read_epsilon
from smoothdp.claims.model.model import DataModel
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import ball, log_bounds, precision, round_up
from smoothdp.exact.logspace.bounds import log_sum_upper
from smoothdp.exact.parameters.numbers import Parameter, Real, float_bounds
from smoothdp.paper_bounds.bound import Bound
from smoothdp.paper_bounds.liu.setting import (
    Sample,
    read_at_counts,
    read_over_model,
    read_sample,
)

_BITS = 256


def liu_remark_8(
    *,
    n_records: int,
    epsilon: Parameter,
    n_draws: int | None = None,
    sampling_rate: Parameter | None = None,
    model: DataModel | None = None,
    smallest_probability: Parameter | None = None,
    n_categories: int | None = None,
) -> Bound:
    """Return Remark 8 as printed: exp(-g f n / 6) + m exp(-f n / 8), rounded up.

    g = ((1 - e^-epsilon) / eta - 1)^2, f the least probability; also Theorem 3(i) of the
    appendix. Verdict: **false** as an upper bound of smoothed delta. n = 200, T = 2,
    Pi = {(1/2, 1/2)}, epsilon = 2 ln(1/(1 - eta)): smoothed delta is 2.83e-4, this is 7.6e-6.
    The Chernoff bound in the proof leaves out a factor eta and uses a form that holds for
    deviations of at most the mean only (proofs/hypergeometric-bounds#8). Where T/n is near 1 it
    says nothing (.998 at n = 1e5). It may exceed 1.
    `liu_kl_smoothed_upper` is what holds.

    Args:
        n_records: n; epsilon: above ln(1/(1 - eta)). n_draws: T; or sampling_rate.
        model: the distributions; or smallest_probability f and n_categories m.

    Raises:
        InvalidParameter: arguments outside these domains.

    >>> half = DataModel([("1/2", "1/2")])
    >>> liu_remark_8(n_records=200, n_draws=2, epsilon="ln(10000/9801)", model=half) < 7.54e-6
    True
    """
    setting = read_over_model(
        n_records, epsilon, n_draws, sampling_rate, model, smallest_probability, n_categories
    )
    sample, rows = setting.sample, setting.rows
    with precision(_BITS):
        share = ball(min(map(min, rows)) * sample.n_records)
        first = round_up(-(_printed_g(setting.epsilon, sample) * share / 6))
        second = round_up(ball(len(rows[0])).log() - share / 8)
    return Bound.upper(log_sum_upper(first, second))


def liu_inequality_7(
    *,
    counts: Sequence[int],
    epsilon: Parameter,
    n_draws: int | None = None,
    sampling_rate: Parameter | None = None,
) -> Bound:
    """Return inequality (7) as printed: exp(-g min_i H_i / 3), rounded up.

    g = ((1 - e^-epsilon) / eta - 1)^2. Verdict: **false** as an upper bound of delta(x).
    n = 100, T = 1, counts (1, 99), epsilon = 1: delta(x) = .01, this is e^-1290
    (proofs/hypergeometric-bounds#8). `liu_kl_upper` is what holds.

    Args:
        counts: records per category over the whole universe, empty categories included.
        epsilon: above ln(1/(1 - eta)). n_draws: T; or sampling_rate.

    Raises:
        InvalidParameter, InvalidData: arguments outside these domains.

    >>> bound = liu_inequality_7(counts=(1, 99), n_draws=1, epsilon=1)
    >>> bound, round(bound.log, 1)
    (5e-324, -1290.1)
    """
    setting = read_at_counts(counts, epsilon, n_draws, sampling_rate)
    with precision(_BITS):
        gain = _printed_g(setting.epsilon, setting.sample)
        return Bound.upper(min(0.0, round_up(-(gain * min(setting.counts) / 3))))


def liu_theorem_5_as_printed(*, n_records: int, n_draws: int) -> float:
    """Return T/(n + 1), which Theorem 5 says delta of ordinary DP exceeds: rounded down.

    Sampling with replacement. Verdict: **false** from T = 3 on, for every n: delta is
    1 - (1 - 1/n)^T, and at T = 3 that is (2 n - 1) / (n^3 (n + 1)) less
    (proofs/hypergeometric-bounds#9).
    `liu_theorem_5_dp_lower` is what holds.

    Raises:
        InvalidParameter: n_records below 2 or n_draws below 1.

    >>> liu_theorem_5_as_printed(n_records=100, n_draws=10) > 0.099
    True
    """
    sample = read_sample(n_records, n_draws=n_draws, sampling_rate=None, replacing=True)
    return float_bounds(Fraction(sample.n_draws, sample.n_records + 1))[0]


def liu_table_1_as_printed(
    *,
    n_records: int,
    noise_epsilon: Parameter,
    n_draws: int | None = None,
    sampling_rate: Parameter | None = None,
) -> float:
    """Return eta * epsilon, the pure epsilon that Table 1 gives for Algorithm 4: rounded up.

    Verdict: holds for epsilon up to 2.5 with noise on the integers and 1.3 above zero
    (proofs/noisy-histograms#3); not for large epsilon: n = 4, T = 1, epsilon = 6 has 1.7529, this
    is 1.5. `liu_table_1` is what holds for all.

    Raises:
        InvalidParameter: arguments outside their domains.

    >>> liu_table_1_as_printed(n_records=4, n_draws=1, noise_epsilon=6)
    1.5
    """
    sample = read_sample(n_records, n_draws=n_draws, sampling_rate=sampling_rate)
    with precision(_BITS):
        return round_up(ball(sample.rate) * ball(read_epsilon(noise_epsilon)))


def _printed_g(epsilon: Real, sample: Sample) -> Any:
    """Return ((1 - e^-epsilon) / eta - 1)^2 as a ball, under the paper's condition."""
    if sample.is_everything or not (-ball(epsilon)).exp() < ball(1 - sample.rate):
        threshold = (
            "infinity" if sample.is_everything else f"{-log_bounds(1 - sample.rate).lower:.6g}"
        )
        raise InvalidParameter(
            expected=f"epsilon > ln(1/(1 - T/n)) = {threshold}, the condition of Theorem 3(i)",
            got=f"epsilon={float(epsilon):.6g}",
            remedy="Raise epsilon, or use liu_all_epsilon_upper",
        )
    kept = 1 - (-ball(epsilon)).exp()
    return (kept / ball(sample.rate) - 1) ** 2
