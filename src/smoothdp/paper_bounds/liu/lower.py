"""Lower bounds of delta for the sampling histogram without replacement, and its exact values.

A lower bound says how private the mechanism is not: it is rounded down.
"""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.claims.model.model import DataModel
from smoothdp.exact.balls.balls import ball, precision, round_down
from smoothdp.exact.parameters.numbers import Parameter, float_bounds
from smoothdp.paper_bounds.bound import Bound
from smoothdp.paper_bounds.liu.setting import Sample, read_rows, read_sample

_BITS = 256


def liu_exact_lower(
    *,
    n_records: int,
    n_draws: int | None = None,
    sampling_rate: Parameter | None = None,
    model: DataModel | None = None,
    smallest_probability: Parameter | None = None,
) -> Bound:
    """Return (1 - f)^(n - T) - (1 - T/n) (1 - f)^n, at most smoothed delta: rounded down.

    f is the least probability that any distribution of the model gives any value. It holds at
    every finite epsilon, and is met up to o(1) for large ones: it is the curve of Figure 2
    (left). Verdict: holds (in no paper; proofs/smoothed-delta#7). If all records of value a are
    in the sample, no database with one less of them can give this output; with all records
    from pi that has probability (1 - pi_a)^(n - T). It falls in pi_a: the least pi_a is best.

    Args:
        n_records: n. n_draws: T; or sampling_rate: T = ceil(rate * n).
        model: the distributions; or smallest_probability f, which some distribution of the
            model must really give some value (a smaller f makes the bound too large).

    Raises:
        InvalidParameter: arguments outside these domains.

    >>> model = DataModel([("0.0554", "0.9446"), ("0.5334", "0.4666")])
    >>> round(liu_exact_lower(n_records=1000, sampling_rate="0.998", model=model), 6)
    0.892269
    >>> round(liu_exact_lower(n_records=10**6, n_draws=998_000, model=model).log, 2)
    -113.99
    """
    sample, least = _read_sample_and_least(
        n_records, n_draws, sampling_rate, model, smallest_probability
    )
    lost = sample.n_records - sample.n_draws
    with precision(_BITS):
        # (1 - f)^(n-T) (1 - (1 - eta) (1 - f)^T), the second factor without cancelling.
        absent = (-ball(least)).log1p()
        kept = ball(sample.rate) - ball(1 - sample.rate) * (sample.n_draws * absent).expm1()
        return Bound.lower(min(0.0, round_down(lost * absent + kept.log())))


def liu_theorem_3_lower(
    *,
    n_records: int,
    n_draws: int | None = None,
    sampling_rate: Parameter | None = None,
    model: DataModel | None = None,
    smallest_probability: Parameter | None = None,
) -> Bound:
    """Return (T/n) f^n, at most smoothed delta: rounded down.

    Theorem 3(ii) of paper 1 (proved there as (iii)), with its directions corrected: the
    database of n equal records has probability >= f^n where the proof says <=, and
    ln f < 0. Verdict: holds, loose: `liu_exact_lower` is larger, by e^(Theta(n))
    (proofs/hypergeometric-bounds#7).

    Args, raises: as `liu_exact_lower`.

    >>> round(liu_theorem_3_lower(n_records=4, n_draws=2, smallest_probability="1/2"), 12)
    0.03125
    >>> bound = liu_theorem_3_lower(n_records=4000, n_draws=2000, smallest_probability="1/2")
    >>> bound, round(bound.log, 2)
    (0.0, -2773.28)
    """
    sample, least = _read_sample_and_least(
        n_records, n_draws, sampling_rate, model, smallest_probability
    )
    if least == 0:
        return Bound.lower(-math.inf)
    with precision(_BITS):
        return Bound.lower(
            round_down(ball(sample.rate).log() + sample.n_records * ball(least).log())
        )


def liu_theorem_3_dp(
    *, n_records: int, n_draws: int | None = None, sampling_rate: Parameter | None = None
) -> float:
    """Return T/n, rounded up: Theorem 3(iii), ordinary DP of the sampling histogram.

    Verdict: holds with equality. No delta below T/n works, and T/n does, at every finite
    epsilon >= 0 (a record that is not sampled changes nothing).

    Raises:
        InvalidParameter: arguments outside their domains.

    >>> liu_theorem_3_dp(n_records=1000, sampling_rate="0.998") >= 0.998
    True
    """
    sample = read_sample(n_records, n_draws=n_draws, sampling_rate=sampling_rate)
    return float_bounds(sample.rate)[1]


def liu_theorem_4(
    *, n_records: int, n_draws: int | None = None, sampling_rate: Parameter | None = None
) -> float:
    """Return T/n, rounded up: Theorem 4, the sampling average of values on a continuum.

    Verdict: holds, and more is true: delta(x) = T/n for every x and every finite epsilon, so
    under every model. A new value that is no difference of two sums of the others shows
    whether it was sampled; T/n is never exceeded. On a finite grid, such as floats, it fails:
    records (0, 0, 0, 1, 1, 1) with T = 3 and e^epsilon = 2 have 1/10, not 1/2.

    Raises:
        InvalidParameter: arguments outside their domains.

    >>> liu_theorem_4(n_records=100, n_draws=10) >= 0.1
    True
    """
    return liu_theorem_3_dp(n_records=n_records, n_draws=n_draws, sampling_rate=sampling_rate)


def _read_sample_and_least(
    n_records: int,
    n_draws: int | None,
    sampling_rate: Parameter | None,
    model: DataModel | None,
    smallest_probability: Parameter | None,
) -> tuple[Sample, Fraction]:
    """Return the sample and f; given by itself f is at most 1/2: two categories or more."""
    sample = read_sample(n_records, n_draws=n_draws, sampling_rate=sampling_rate)
    categories = None if smallest_probability is None else 2
    rows = read_rows(
        model=model, smallest_probability=smallest_probability, n_categories=categories
    )
    return sample, min(map(min, rows))
