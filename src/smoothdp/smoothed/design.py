"""Design questions: how much must be lost, and how smoothed delta falls with n."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from smoothdp.claims.domains import read_epsilon, read_inner_probability
from smoothdp.claims.model.model import DataModel
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.parameters.numbers import Parameter, Real, exact_int
from smoothdp.mechanisms.histogram.sampling_histogram import SamplingHistogram
from smoothdp.mechanisms.sampling.draws import Sampling
from smoothdp.smoothed.brackets.many_laws import ManyLaws
from smoothdp.smoothed.largest_expectation import Question, SmoothedDelta, smoothed_delta
from smoothdp.smoothed.largest_met import Search

_MOST_DRAWS = 64
_FEW = 1_000


@dataclass(frozen=True, slots=True)
class SampleDesign:
    """The largest sample whose histogram meets a target.

    Attributes:
        n_records: n; n_draws: the number of records to draw.
        smoothed: the smoothed delta of that sample, at most the target.
        is_largest: True if one more record drawn is proved to miss the target, or none can be
            drawn in addition; False if one more is only not proved to meet the target.
        undecided: the numbers of draws beyond n_draws of which it is known neither that they meet
            the target nor that they miss it; smoothed delta grows with them.

    Raises:
        InvalidParameter: another number of records or draws than that of ``smoothed``.

    >>> design = largest_sample(DataModel([("1/3", "2/3")]), n_records=50, epsilon=1, delta="1e-3")
    >>> design.n_draws + design.n_lost, design.is_largest
    (50, True)
    """

    n_records: int
    n_draws: int
    smoothed: SmoothedDelta
    is_largest: bool
    undecided: range = range(0)

    def __post_init__(self) -> None:
        sampled = self.smoothed.mechanism
        assert isinstance(sampled, SamplingHistogram)
        if (self.n_records, self.n_draws) != (sampled.n_records, sampled.n_draws):
            raise InvalidParameter(
                expected=f"n_records={sampled.n_records} and n_draws={sampled.n_draws}, whose "
                "smoothed delta stands beside them",
                got=f"n_records={self.n_records!r} and n_draws={self.n_draws!r}",
                remedy="Take what largest_sample() returns",
            )
        later = range(self.n_draws + 1, max(self.n_draws + 1, self.undecided.stop))
        if self.undecided and (self.is_largest or self.undecided != later):
            raise InvalidParameter(
                expected="is_largest where nothing beyond n_draws is undecided",
                got=f"is_largest={self.is_largest!r} and undecided={self.undecided!r}",
                remedy="Take what largest_sample() returns",
            )

    def __reduce__(self) -> tuple[type[SampleDesign], tuple[object, ...]]:
        # The constructor reads a pickle, and compares the fields with each other.
        return type(self), tuple(getattr(self, one.name) for one in fields(self))

    @property
    def n_lost(self) -> int:
        """The number of records that are not drawn: the fewest losses, without replacement."""
        return self.n_records - self.n_draws

    @property
    def largest_text(self) -> str:
        """What is known of more draws, in words."""
        if self.is_largest:
            return "one more is proved too many"
        # With replacement the search has an end, and what is beyond it is not known.
        if not self.undecided or self.undecided[-1] == _MOST_DRAWS * self.n_records:
            return "more may do"
        return f"up to {self.undecided[-1]} may do; beyond is proved too many"


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
    So a search by secants finds the number on the proved upper bound. With three or more
    categories at many records, where only brackets are known, `undecided` holds the numbers of
    draws that the brackets leave open.

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

    if not isinstance(model, DataModel):
        raise InvalidParameter(
            expected="model as a DataModel",
            got=repr(model),
            remedy="Build one with DataModel(vertices)",
        )
    laws = ManyLaws(n, model.hull().vertices)

    def at(n_draws: int, *, side: float | None = log_target) -> SmoothedDelta:
        mechanism = SamplingHistogram(n, n_draws=n_draws, sampling=sampling)
        return Question(mechanism, model, laws).at(exact, log_target=side)

    least = at(1)
    if least.log_delta > log_target:
        raise InvalidParameter(
            expected=f"a delta that drawing one of {n} records meets",
            got=f"delta={delta}, and one draw has {least.delta:.4g}",
            remedy="Raise delta or epsilon, or take more records",
        )
    high, beyond = n, None
    if sampling == "with_replacement":
        # Any number may be drawn.
        high = _MOST_DRAWS * n
        beyond = at(high)
        if beyond.log_delta <= log_target:
            return SampleDesign(n, high, at(high, side=None), is_largest=False)
    # Without replacement T = n is the histogram itself, whose delta is 1.
    found = Search(at, log_target, 1, high)
    # Exact values are cheap, or take what they take; brackets stop where they leave little open.
    if laws.n_categories == 2 or n <= _FEW:
        found.bisect()
    else:
        found.by_lines()
    n_draws, undecided = found.met, found.undecided
    if beyond is not None and found.missed == high and beyond.log_lower <= log_target:
        undecided = range(n_draws + 1, high + 1)
    return SampleDesign(n, n_draws, at(n_draws, side=None), not undecided, undecided)


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
