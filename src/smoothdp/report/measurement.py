"""A measurement of one histogram mechanism at given counts, ready to be shown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from smoothdp.claims.domains import read_epsilon
from smoothdp.claims.guarantees.guarantee import factor_text
from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.exact.balls.compare import float_up
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import LogRatio, Parameter, Real, exact_fraction, exact_text
from smoothdp.mechanisms.histogram.accounting.utility import odds
from smoothdp.mechanisms.histogram.histogram_mechanism import HistogramProfile
from smoothdp.paper_bounds import liu_corollary_3
from smoothdp.plots.canvas import save
from smoothdp.plots.profile import plot_profile
from smoothdp.text import SAMPLE_UNSEEN, lesser, log10_up, number_down, number_up, table, upper_text

if TYPE_CHECKING:
    from smoothdp.mechanisms import BernoulliHistogram, SamplingHistogram

CountsAre = Literal["public", "given", "private"]
"""Whether counts are declared public, or given by the caller and perhaps not public, or read
from private data."""

_BELOW_TITLE: dict[CountsAre, str] = {
    "public": "",
    "given": "\nas private as the counts",
    "private": "\nPRIVATE: as private as the data",
}
_LN10 = math.log(10)
_THRESHOLD_STEP = 10**15


@dataclass(frozen=True)
class Measurement:
    """delta(x) of a histogram mechanism at given counts, with ordinary DP beside it.

    Attributes:
        mechanism: what was measured.
        counts: records per category, by name, in order; None in what is printed or stored if
            they are private.
        epsilon: the exact epsilon; threshold: the adversary's accuracy t.
        delta: floats around delta(x); log_delta: its natural logarithm, at any depth.
        log_utility: bounds of ln of the adversary's utility, None where out of reach;
            then utility_limit is what delta(x) proves of it, (1 + (m - 1) / (E + 1)) delta(x),
            if the threshold is at least 1/2: where only epsilon is given, at E / (E + 1) itself.
        worst_case_delta: the delta of ordinary DP.
        all_named: whether the counts name every category, also those that nobody is in.
        counts_are: "public", "given" or "private": what may be shown. Private counts and the
            names of their categories never are; and unless they are public, a line says that the
            figures are as private as the data.

    >>> import smoothdp as sd
    >>> mechanism = sd.SamplingHistogram(20, n_draws=10)
    >>> measurement = sd.report.measure_histogram(mechanism, {"yes": 12, "no": 8}, epsilon="0.5")
    >>> measurement.delta[1] < measurement.worst_case_delta, measurement.below_one_over_n
    (True, True)

    Raises:
        InvalidParameter: figures that do not follow from mechanism, counts, epsilon and threshold.
    """

    mechanism: SamplingHistogram | BernoulliHistogram
    counts: dict[str, int] = field(repr=False)
    epsilon: Real
    threshold: Fraction
    delta: tuple[float, float]
    log_delta: LogBounds
    log_utility: LogBounds | None
    utility_limit: float | None
    worst_case_delta: float
    all_named: bool = True
    counts_are: CountsAre = "given"
    _found: tuple[object, ...] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        asked = (self.mechanism, dict(self.counts), self.epsilon, self.threshold)
        stated = _Figures(*(getattr(self, name) for name in _Figures._fields))
        if self._found is not None and (*asked, *stated) == self._found:
            return
        # At E / (E + 1) itself, or at the threshold as it stands.
        found = [_figures(*asked, tied=tied) for tied in (True, False)]
        if stated not in found:
            raise InvalidParameter(
                expected=f"figures that follow from mechanism and counts, {found[0]}",
                got=f"{stated}",
                remedy="Take what measure_histogram() returns, and call it for other arguments",
            )

    def __reduce__(self) -> tuple[type[Measurement], tuple[object, ...]]:
        # The constructor reads a pickle, and computes the figures anew.
        return type(self), tuple(getattr(self, one.name) for one in fields(self)[:-1])

    @property
    def below_one_over_n(self) -> bool:
        """True if delta(x) < 1/n: what paper 1 asks for, and no pass mark."""
        return self.log_delta.upper < -math.log(self.mechanism.n_records)

    def text(self) -> str:
        """Return the table and the sentence."""
        n = self.mechanism.n_records
        utility = "not computed: too many outputs to enumerate"
        if self.utility_limit is not None:
            utility = (
                f"at most {number_up(self.utility_limit)}  (proved from delta(x); there are too "
                "many outputs to enumerate)"
            )
            if self.utility_limit == 0:
                utility = "0  (proved from delta(x), which is 0)"
        if self.log_utility is not None:
            utility = (
                f"{upper_text(self.log_utility.upper)}  (gain of one who knows all other "
                f"records; guesses right at most {number_down(self.threshold)} of the time "
                "count for nothing)"
            )
        beside = "below" if self.below_one_over_n else "NOT below"
        rows = [
            ("mechanism", self.mechanism.describe()),
            ("counts", self.counts_text()),
            ("epsilon", self.epsilon_text()),
            (
                "delta(x)",
                f"{self.delta_text()}  (exact, rounded up; log10 {log10_up(self.log_delta.upper)})"
                if self.log_delta.upper > -math.inf
                else "0  (exact)",
            ),
            (
                "ordinary DP",
                f"{number_up(self.mechanism.inclusion())}  (its delta at every finite epsilon)",
            ),
            ("adversary's utility", utility),
            ("1/n", f"{1 / n:.4g}  (delta(x) is {beside} it; no pass mark)"),
        ]
        return f"{table(rows)}\n\n{self.sentence()}"

    def counts_text(self) -> str:
        """Return the counts by name, unless they are private."""
        if self.counts_are == "private":
            return "not shown: they and their categories are private, unless declared --public"
        return ", ".join(f"{name}: {value}" for name, value in self.counts.items())

    def sentence(self) -> str:
        """Return the result in plain English."""
        others, unseen = "another of these categories", ""
        if not self.all_named:
            others = "another of the categories that occur"
            unseen = (
                "A record moved to a category that nobody is in would stand out, and is not "
                "covered: name all categories (--universe) to cover it.\n"
            )
        return (
            f"At these counts, replacing any one record by {others} changes the probability of "
            f"any set of published histograms by at most a factor {factor_text(self.epsilon)}, "
            f"plus {self.delta_text()}.\n{unseen}{self.caution()}\n{SAMPLE_UNSEEN}\n"
            "For every database at once, only the ordinary DP line holds."
        )

    def caution(self) -> str:
        """Return the warning that belongs to the exact figures."""
        if self.counts_are == "public":
            return (
                "This holds at these counts, which were declared public, and is as public as they "
                "are."
            )
        if self.counts_are == "given":
            return (
                "This holds at these counts and is as private as they are: use it for public, "
                "hypothetical or modelled counts."
            )
        return (
            "PRIVATE: delta(x), the utility and all that is said of them are exact functions of "
            "the data and as private as the data: do not publish them."
        )

    def epsilon_text(self) -> str:
        """Return epsilon, with its exact form where that is another."""
        return _real_text(self.epsilon)

    def delta_text(self) -> str:
        """Return delta(x) rounded up, never above ordinary DP."""
        # The logarithm, or the float, of a bound may lie just above that of ordinary DP.
        if self.delta[1] >= self.worst_case_delta:
            return number_up(self.mechanism.inclusion())
        return lesser(upper_text(self.log_delta.upper), number_up(self.mechanism.inclusion()))

    def to_dict(self) -> dict[str, object]:
        """Return everything for JSON; logarithms are natural, floats rounded up."""
        return {
            "mechanism": self.mechanism.describe(),
            "n_records": self.mechanism.n_records,
            "counts": None if self.counts_are == "private" else self.counts,
            "counts_are": self.counts_are,
            "caution": self.caution(),
            "epsilon": float(self.epsilon),
            "epsilon_exact": exact_text(self.epsilon),
            "threshold": float(self.threshold),
            "delta": self.delta[1],
            "delta_lower": self.delta[0],
            # JSON has no infinity: the logarithm of 0 is null.
            "log_delta": _finite(self.log_delta.upper),
            "log10_delta": _finite(self.log_delta.upper / _LN10 * (1 - 4e-16)),
            "worst_case_delta": self.worst_case_delta,
            "adversary_utility": self.log_utility.linear()[1] if self.log_utility else None,
            "adversary_utility_limit": self.utility_limit,
            "log_adversary_utility": _finite(self.log_utility.upper) if self.log_utility else None,
            "one_over_n": 1 / self.mechanism.n_records,
            "delta_below_one_over_n": self.below_one_over_n,
            "unseen": SAMPLE_UNSEEN,
            "sentence": self.sentence(),
        }

    def draw(self, path: str | Path) -> Path:
        """Write a picture of delta(x) against epsilon, and return its path."""
        axes = plot_profile(
            self.mechanism.at(self.counts.values()),
            largest_epsilon=max(1.0, 2 * float(self.epsilon)),
            title=self.mechanism.describe() + _BELOW_TITLE[self.counts_are],
            reference=(-math.log10(self.mechanism.n_records), "1/n (no pass mark)"),
        )
        return save(axes, path)


def measure_histogram(
    mechanism: SamplingHistogram | BernoulliHistogram,
    counts: Mapping[str, int],
    *,
    epsilon: Parameter | None = None,
    threshold: Parameter | None = None,
    all_named: bool = True,
    counts_are: CountsAre = "given",
) -> Measurement:
    """Measure a mechanism at given counts.

    One of epsilon and threshold is enough: they are tied by threshold = E / (E + 1) with
    E = e^epsilon (Lemma 2 of paper 1). An irrational threshold is rounded down, which can
    only raise the utility.

    Args:
        mechanism: what is measured. counts: records per category, by name.
        epsilon, threshold: see above.
        all_named: False if only the categories that occur were counted: the sentence then says
            that a record which moves to another category is not covered.
        counts_are: "public" if they are declared public; "given" (default); "private" if they
            were read from private data: then neither they nor their categories are shown.

    Raises:
        InvalidParameter: neither is given, or one is outside its domain; another ``counts_are``.
        InvalidData: counts that do not fit the mechanism.

    >>> from smoothdp.mechanisms import SamplingHistogram
    >>> mechanism = SamplingHistogram(10, n_draws=9)
    >>> measurement = measure_histogram(mechanism, {"yes": 6, "no": 4}, epsilon=1)
    >>> 0 < measurement.delta[1] < 0.9
    True
    """
    if counts_are not in get_args(CountsAre):
        raise InvalidParameter(
            expected='"public", "given" or "private"',
            got=f"counts_are={counts_are!r}",
            remedy='Choose one of these; "given" for counts that may not be public',
        )
    exact_epsilon, exact_threshold = _resolve_threshold(epsilon, threshold)
    tied = threshold is None or odds(exact_threshold) == exact_epsilon
    found = _figures(mechanism, dict(counts), exact_epsilon, exact_threshold, tied=tied)
    return Measurement(
        mechanism=mechanism,
        counts=dict(counts),
        epsilon=exact_epsilon,
        threshold=exact_threshold,
        **found._asdict(),
        all_named=all_named,
        counts_are=counts_are,
        _found=(mechanism, dict(counts), exact_epsilon, exact_threshold, *found),
    )


class _Figures(NamedTuple):
    """What is computed; the fields of a `Measurement` of these names."""

    delta: tuple[float, float]
    log_delta: LogBounds
    log_utility: LogBounds | None
    utility_limit: float | None
    worst_case_delta: float


def _figures(
    mechanism: SamplingHistogram | BernoulliHistogram,
    counts: dict[str, int],
    epsilon: Real,
    threshold: Fraction,
    *,
    tied: bool,
) -> _Figures:
    """Return the figures; ``tied`` if the threshold is that of epsilon, perhaps rounded down."""
    values = list(counts.values())
    profile = mechanism.at(values)
    assert isinstance(profile, HistogramProfile)
    delta, log_delta = profile.both_bounds(epsilon)
    log_utility = _worst_utility(mechanism, values, threshold)
    utility_limit = None
    if log_utility is None and threshold >= Fraction(1, 2):
        # One that is tied to epsilon needs no second delta: the limit is that of E / (E + 1).
        nearby, nearby_delta = epsilon, delta[1]
        if not tied:
            nearby = odds(threshold)
            nearby_delta = profile.delta(nearby)
        utility_limit = liu_corollary_3(
            Fraction(nearby_delta), epsilon=nearby, n_categories=len(values)
        )
    return _Figures(
        delta,
        log_delta,
        log_utility,
        utility_limit,
        mechanism.worst_case_delta(epsilon=epsilon),
    )


def _worst_utility(
    mechanism: SamplingHistogram | BernoulliHistogram, counts: list[int], threshold: Fraction
) -> LogBounds | None:
    """Return bounds of the utility, the worst over whose record the adversary is after."""
    bounds = []
    for category, count in enumerate(counts):
        if count:
            known = [*counts[:category], count - 1, *counts[category + 1 :]]
            try:
                bounds.append(mechanism.log_adversary_utility(known, threshold=threshold))
            except OutOfReach:
                return None
    return LogBounds(max(b.lower for b in bounds), max(b.upper for b in bounds))


def _real_text(value: Real) -> str:
    if isinstance(value, LogRatio):
        return f"{float(value):.6g}  (= {value})"
    # Rounded up: at an epsilon rounded down delta may be more than what stands beside it.
    return number_up(float_up(value), 6)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _resolve_threshold(
    epsilon: Parameter | None, threshold: Parameter | None
) -> tuple[Real, Fraction]:
    """Return epsilon and threshold from one of them: threshold = E / (E + 1), E = e^epsilon.

    Raises:
        InvalidParameter: neither is given, or one is outside its domain.
    """
    if epsilon is None and threshold is None:
        raise InvalidParameter(
            expected="epsilon or threshold",
            got="neither",
            remedy="Give epsilon=1, for example, or threshold=0.51",
        )
    if threshold is not None:
        exact_threshold = exact_fraction(threshold, name="threshold")
        if not Fraction(1, 2) <= exact_threshold < 1 and epsilon is None:
            raise InvalidParameter(
                expected="1/2 <= threshold < 1 (it sets epsilon = ln(t / (1 - t)))",
                got=f"threshold={threshold}",
                remedy="Raise the threshold, or give epsilon beside it",
            )
        if epsilon is None:
            return odds(exact_threshold), exact_threshold
    assert epsilon is not None
    exact_epsilon = read_epsilon(epsilon)
    if threshold is not None:
        return exact_epsilon, exact_threshold
    if isinstance(exact_epsilon, LogRatio):
        return exact_epsilon, exact_epsilon.ratio / (1 + exact_epsilon.ratio)
    # t = 1 / (1 + e^-epsilon), rounded down to 15 places, two units below the float.
    steps = math.floor(_THRESHOLD_STEP / (1 + math.exp(-min(700.0, float(exact_epsilon))))) - 2
    return exact_epsilon, max(Fraction(1, 2), Fraction(steps, _THRESHOLD_STEP))
