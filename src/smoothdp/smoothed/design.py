"""Design questions: how much must be lost, and how smoothed delta falls with n."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from smoothdp.claims.domains import read_epsilon, read_inner_probability
from smoothdp.claims.model.model import DataModel
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.parameters.numbers import Parameter, Real, exact_int
from smoothdp.mechanisms.histogram.sampling_histogram import SamplingHistogram
from smoothdp.mechanisms.sampling.draws import Sampling
from smoothdp.smoothed.largest_expectation import SmoothedDelta, smoothed_delta

_MOST_DRAWS = 64


@dataclass(frozen=True, slots=True)
class SampleDesign:
    """The largest sample whose histogram meets a target.

    Attributes:
        n_records: n; n_draws: the number of records to draw.
        smoothed: the smoothed delta of that sample, at most the target.
        is_largest: True if one more record drawn is proved to miss the target, or none can be
            drawn in addition; False if one more is only not proved to meet the target.

    >>> design = largest_sample(DataModel([("1/3", "2/3")]), n_records=50, epsilon=1, delta="1e-3")
    >>> design.n_draws + design.n_lost, design.is_largest
    (50, True)
    """

    n_records: int
    n_draws: int
    smoothed: SmoothedDelta
    is_largest: bool

    @property
    def n_lost(self) -> int:
        """The number of records that are not drawn: the fewest losses, without replacement."""
        return self.n_records - self.n_draws


def largest_sample(
    model: DataModel,
    *,
    n_records: int,
    epsilon: Parameter,
    delta: Parameter,
    sampling: Sampling = "without_replacement",
) -> SampleDesign:
    """Return the largest sample whose histogram has at most a given smoothed delta.

    The answer to "how many records must be lost". Smoothed delta grows with the sample:
    draws left out at random are post-processing of the histogram (paper 1, Proposition 4).
    So bisection finds the number on the proved upper bound.

    Args:
        model: the set of distributions, fixed without the private data.
        n_records: n, the number of records.
        epsilon: >= 0; delta: the target, 0 < delta < 1, also as text such as "1e-5000".
        sampling: "without_replacement" (default) or "with_replacement"; with replacement at
            most 64 n draws are considered: then a record is missed with probability e^-64.

    Raises:
        InvalidParameter: arguments outside these domains, or no sample meets the target.

    >>> model = DataModel([("0.3", "0.7"), ("0.6", "0.4")])
    >>> design = largest_sample(model, n_records=1000, epsilon=2, delta="1e-6")
    >>> design.n_draws, design.n_lost, design.is_largest
    (949, 51, True)
    """
    exact = read_epsilon(epsilon)
    target = read_inner_probability(delta)
    log_target = log_bounds(target).lower
    n = exact_int(n_records, name="n_records", minimum=2)

    def at(n_draws: int) -> SmoothedDelta:
        mechanism = SamplingHistogram(n, n_draws=n_draws, sampling=sampling)
        return smoothed_delta(mechanism, model, epsilon=exact)

    best, beyond = at(1), None
    if best.log_delta > log_target:
        raise InvalidParameter(
            expected=f"a delta that drawing one of {n} records meets",
            got=f"delta={delta}, and one draw has {best.delta:.4g}",
            remedy="Raise delta or epsilon, or take more records",
        )
    low, high = 1, n
    if sampling == "with_replacement":
        # Any number may be drawn.
        high = _MOST_DRAWS * n
        beyond = at(high)
        if beyond.log_delta <= log_target:
            return SampleDesign(n, high, beyond, is_largest=False)
    while high - low > 1:
        middle = (low + high) // 2
        if (tried := at(middle)).log_delta <= log_target:
            best, low = tried, middle
        else:
            beyond, high = tried, middle
    # Without replacement T = n is the histogram itself, whose delta is 1.
    missed = sampling != "with_replacement" and high == n
    if beyond is not None:
        missed = missed or beyond.log_lower > log_bounds(target).upper
    return SampleDesign(n, low, best, is_largest=missed)


def smoothed_by_size(
    model: DataModel,
    *,
    sizes: Iterable[int],
    sampling_rate: Parameter,
    epsilon: Parameter,
    sampling: Sampling = "without_replacement",
) -> tuple[SmoothedDelta, ...]:
    """Return smoothed delta for several numbers of records, at one sampling rate.

    Figure 2 (left) of paper 1 is such a curve. T = ceil(rate * n): where that is n, nothing
    is lost and delta is 1.

    Raises:
        InvalidParameter: no size, or an argument outside its domain.

    >>> model = DataModel([("0.3", "0.7"), ("0.6", "0.4")])
    >>> curve = smoothed_by_size(model, sizes=[100, 1000], sampling_rate="0.9", epsilon=2)
    >>> [f"{result.delta:.2e}" for result in curve]
    ['2.83e-02', '1.67e-11']
    """
    exact: Real = read_epsilon(epsilon)
    chosen = [exact_int(size, name="a size", minimum=2) for size in sizes]
    if not chosen:
        raise InvalidParameter(
            expected="at least one size", got="none", remedy="Give numbers of records"
        )
    return tuple(
        smoothed_delta(
            SamplingHistogram(size, sampling_rate=sampling_rate, sampling=sampling),
            model,
            epsilon=exact,
        )
        for size in chosen
    )
