"""Smoothed delta: the largest expectation of delta(x) over the databases of a model."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

from smoothdp.claims.domains import read_epsilon, read_inner_probability
from smoothdp.claims.guarantees.smoothed import SmoothedDP
from smoothdp.claims.model.model import DataModel
from smoothdp.errors import InvalidData, InvalidParameter, PrivacyWarning
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Parameter, Real
from smoothdp.mechanisms.histogram.histogram_mechanism import HistogramMechanism
from smoothdp.mechanisms.histogram.sampling_histogram import SamplingHistogram
from smoothdp.mechanisms.sampling.sampled import SampledMechanism
from smoothdp.smoothed.brackets.many_laws import ManyLaws
from smoothdp.smoothed.many_values.many_values import (
    LARGEST_LINE,
    TOLERANCE,
    bounded,
    every_composition,
)
from smoothdp.smoothed.several_epsilons import least_epsilon
from smoothdp.smoothed.two_values.delta_line import Bracket, DeltaLine
from smoothdp.smoothed.two_values.two_values import two_values
from smoothdp.text import upper_text

_CLOSER = 0.25
_LEAST_LOG = -100_000 * math.log(10)
"""Below, a claim says 1e-100000; ``log_delta`` goes on."""


@dataclass(frozen=True, slots=True)
class SmoothedDelta:
    """Smoothed delta with its bounds.

    Attributes:
        delta: an upper bound, as a float; lower: a lower bound.
        log_delta: ln of the upper bound; log_lower: ln of the lower bound.
        vertex_counts: records per vertex of ``model.hull()`` in the worst composition known:
            the one that gives the lower bound, or the middle of those whose mean it is.
        method: how it was computed.
        guarantee: the claim that it proves.

    Raises:
        InvalidParameter: figures that smoothed_delta() did not prove.

    >>> from smoothdp.mechanisms import SamplingHistogram
    >>> mechanism, model = SamplingHistogram(4, n_draws=2), DataModel([("1/2", "1/2")])
    >>> result = smoothed_delta(mechanism, model, epsilon=1)
    >>> result.lower <= result.delta, result.vertex_counts
    (True, (4,))
    """

    delta: float
    lower: float
    log_delta: float
    log_lower: float
    vertex_counts: tuple[int, ...]
    method: str
    guarantee: SmoothedDP
    _asked: Question | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.guarantee, SmoothedDP):
            raise _false(f"{self.guarantee!r}", "a SmoothedDP")
        asked = self._question()
        if self.guarantee.model != asked.model:
            raise _false("a guarantee over another model", "one over the model that was asked")
        proved = asked.proved(self.guarantee.exact_epsilon)
        if not (self.delta >= proved.delta and self.log_delta >= proved.log_upper):
            raise _false(
                f"delta={self.delta!r} and log_delta={self.log_delta!r}",
                f"what is proved, delta={proved.delta!r} and log_delta={proved.log_upper!r}",
            )
        if not (self.log_lower <= proved.log_lower and self.lower <= proved.lower):
            raise _false(
                f"log_lower={self.log_lower!r}", f"what is proved, log_lower={proved.log_lower!r}"
            )
        stated = self.guarantee.exact_delta
        certain = log_bounds(stated).upper if stated else -math.inf
        if stated < Fraction(self.delta) and certain < self.log_delta:
            raise _false(f"{self.guarantee!r}", f"a guarantee with delta of at least {self.delta}")

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        # A pickle holds the question: no figure in it could be edited.
        asked = self._question()
        epsilon = self.guarantee.exact_epsilon
        return _asked_again, (asked.mechanism, asked.model, epsilon, asked.sharpen, asked.tolerance)

    def __copy__(self) -> SmoothedDelta:
        return self

    def __deepcopy__(self, memo: object) -> SmoothedDelta:
        # Nothing in it can be changed.
        return self

    @property
    def exact_delta(self) -> Fraction:
        """The upper bound as a rational number: what the guarantee says, never above ordinary DP.

        ``delta`` may be the float above it.
        """
        return self.guarantee.exact_delta

    def at_epsilons(self, epsilons: Iterable[Parameter]) -> tuple[SmoothedDelta, ...]:
        """Return the smoothed delta of the same mechanism and model at several epsilons.

        What does not depend on epsilon, such as the probabilities of counts, is computed once.

        Raises:
            InvalidParameter: no epsilon, or one below 0.

        >>> from smoothdp.mechanisms import SamplingHistogram
        >>> model = DataModel([("1/5", "3/10", "1/2")])
        >>> result = smoothed_delta(SamplingHistogram(40, n_draws=30), model, epsilon=1)
        >>> [f"{other.delta:.3g}" for other in result.at_epsilons([1, 2])]
        ['0.134', '0.115']
        """
        if isinstance(epsilons, str | bytes) or not isinstance(epsilons, Iterable):
            raise InvalidParameter(
                expected="several epsilons",
                got=repr(epsilons),
                remedy="Give a list, such as [1, 2]",
            )
        chosen = [read_epsilon(epsilon) for epsilon in epsilons]
        if not chosen:
            raise InvalidParameter(
                expected="at least one epsilon", got="none", remedy="Give epsilons, such as [1, 2]"
            )
        asked = self._question()
        return tuple(asked.at(epsilon) for epsilon in chosen)

    def epsilon(self, delta: Parameter) -> float:
        """Return an epsilon at which smoothed delta is proved to be at most ``delta``.

        By some nine evaluations, kept for other deltas, and one at the answer: it is where that one
        meets delta, or where a chord does, above which smoothed delta is not because it is convex
        in e^epsilon (proofs/boundary-walk#7). It is above the least such epsilon by as much as the
        brackets are wide, and by about 0.02 over the slope of ln delta.

        Raises:
            InvalidParameter: delta outside (0, 1).
            OutOfReach: no epsilon up to 300 has so small a delta.

        >>> from smoothdp.mechanisms import SamplingHistogram
        >>> model = DataModel([("1/5", "3/10", "1/2")])
        >>> result = smoothed_delta(SamplingHistogram(40, n_draws=30), model, epsilon=1)
        >>> epsilon = result.epsilon("0.12")
        >>> round(epsilon, 3), result.at_epsilons([epsilon])[0].delta <= 0.12
        (1.287, True)
        """
        wanted, asked = read_inner_probability(delta), self._question()
        if asked.mechanism.inclusion() <= wanted:  # ordinary DP, at every epsilon
            return 0.0
        # The float above e^log_delta shall be at most delta as well.
        target = log_bounds(wanted).lower - 1e-13
        closer = replace(asked, tolerance=min(asked.tolerance, _CLOSER))

        def log_upper(epsilon: float) -> float:
            return closer.at(read_epsilon(epsilon)).log_delta

        # A float of this epsilon may be below it: the one above is not.
        here = math.nextafter(self.guarantee.epsilon, math.inf)
        return least_epsilon(log_upper, target, (here, self.log_delta), asked.knots)

    @property
    def mechanism(self) -> SampledMechanism[Any]:
        """The mechanism whose smoothed delta this is."""
        return self._question().mechanism

    def _question(self) -> Question:
        if self._asked is None:
            raise _false("a SmoothedDelta made by hand", "a result of smoothed_delta()")
        return self._asked


class Proved(NamedTuple):
    """The best ends that are known at one epsilon, as logarithms and as floats."""

    log_lower: float
    log_upper: float
    lower: float
    delta: float


@dataclass(frozen=True, slots=True)
class Question:
    """A mechanism and a model, with what is kept between epsilons: ``known`` is what was proved.

    ``knots`` are the epsilons, and ln delta there, that `SmoothedDelta.epsilon` reads.
    """

    mechanism: SampledMechanism[Any]
    model: DataModel
    laws: ManyLaws
    sharpen: bool = False
    tolerance: float = TOLERANCE
    known: dict[Real, Proved] = field(default_factory=dict, repr=False, compare=False)
    knots: dict[float, float] = field(default_factory=dict, repr=False, compare=False)

    def proved(self, epsilon: Real) -> Proved:
        """Return the best ends at an epsilon, evaluated if that has not been done."""
        if epsilon not in self.known:
            self.at(epsilon)
        return self.known[epsilon]

    def at(self, epsilon: Real, *, log_target: float | None = None) -> SmoothedDelta:
        """Return smoothed delta at epsilon; with a target, only so close that its side is known."""
        mechanism = self.mechanism
        bracket = _bracket(self, epsilon, log_target)
        # Every delta(x) is at most the chance to be drawn, a rational number: what is said is too.
        log_upper = min(0.0, bracket.logs.upper, mechanism.cap.logs.upper)
        upper = min(mechanism.inclusion_bounds()[1], LogBounds(log_upper, log_upper).linear()[1])
        most = min(mechanism.inclusion(), _exact_upper(log_upper, upper))
        if most:  # ln of the chance to be drawn is rounded: what is said is never above `most`
            log_upper = min(log_upper, log_bounds(most).upper)
        lower = min(upper, bracket.logs.linear()[0])
        found = Proved(bracket.logs.lower, log_upper, lower, upper)
        best = self.known.get(epsilon, found)
        self.known[epsilon] = Proved(
            max(best.log_lower, found.log_lower),
            min(best.log_upper, found.log_upper),
            max(best.lower, found.lower),
            min(best.delta, found.delta),
        )
        return SmoothedDelta(
            delta=upper,
            lower=lower,
            log_delta=log_upper,
            log_lower=bracket.logs.lower,
            vertex_counts=bracket.vertex_counts,
            method=bracket.method,
            guarantee=SmoothedDP(epsilon, delta=most, model=self.model),
            _asked=self,
        )


def _false(got: str, expected: str) -> InvalidParameter:
    return InvalidParameter(expected=expected, got=got, remedy="Take what smoothed_delta() returns")


def smoothed_delta(
    mechanism: SampledMechanism[Any],
    model: DataModel,
    *,
    epsilon: Parameter,
    sharpen: bool = False,
    tolerance: float = TOLERANCE,
) -> SmoothedDelta:
    """Return the smoothed delta of a mechanism over a model (Definition 3, Algorithm 1).

    The largest expectation of delta_epsilon(x) over databases of independent records, each
    from any distribution of the model: that is over compositions of its vertices
    (proofs/smoothed-delta#1). Histograms of two categories at any number of
    records, others by all compositions while there are at most a million; beyond, a
    histogram gets a proved bracket by its two smallest counts (proofs/smoothed-brackets), and
    ``method`` says so: within ``tolerance`` for one distribution, unless many categories are about
    as rare, and about as close for two to four. For several the upper end holds for every mixture,
    and the lower end is that of one distribution, or of records that choose theirs at random.

    Args:
        mechanism: a sampled mechanism over the atoms of the model.
        model: the set of distributions, fixed without the private data.
        epsilon: >= 0.
        sharpen: with two categories and up to 100,000 records, evaluate all compositions
            even where the ends of the model already give the value to within 1e-4.
        tolerance: for brackets, how far apart in ln the ends may be: positive, 0.7 (a factor of
            two) by default. A small one takes longer, and may not be reached.

    Raises:
        InvalidParameter: arguments outside these domains.
        OutOfReach: another mechanism than a histogram and too many compositions; the
            message says how many, and what to do.

    Warns:
        PrivacyWarning: a vertex gives some value probability 0.

    >>> from smoothdp.mechanisms import SamplingHistogram
    >>> model = DataModel([("0.3", "0.7"), ("0.6", "0.4")])
    >>> result = smoothed_delta(SamplingHistogram(4, n_draws=2), model, epsilon="0.2")
    >>> round(result.delta, 9), result.vertex_counts
    (0.446136138, (4, 0))
    """
    exact = read_epsilon(epsilon)
    if not isinstance(mechanism, SampledMechanism):
        raise InvalidParameter(
            expected="a sampled mechanism",
            got=repr(mechanism),
            remedy="Give a mechanism such as SamplingHistogram",
        )
    if not isinstance(model, DataModel):
        raise InvalidParameter(
            expected="model as a DataModel",
            got=repr(model),
            remedy="Build one with DataModel(vertices)",
        )
    try:
        mechanism.check_counts((mechanism.n_records, *[0] * (model.n_atoms - 1)))
    except InvalidData as error:
        raise InvalidParameter(
            expected="a model over the values of the mechanism",
            got=f"{model.n_atoms} values",
            remedy="Give every distribution one probability for each value, 0 where it has none",
        ) from error
    if not (isinstance(tolerance, int | float) and 0 < tolerance < math.inf):
        raise InvalidParameter(
            expected="a positive tolerance, a gap in ln",
            got=f"tolerance={tolerance!r}",
            remedy="Leave it out for a factor of two, or give 0.1 for ten percent",
        )
    return _asked_again(mechanism, model, exact, sharpen, float(tolerance))


def _asked_again(
    mechanism: SampledMechanism[Any],
    model: DataModel,
    epsilon: Real,
    sharpen: bool,
    tolerance: float,
) -> SmoothedDelta:
    """Return smoothed delta for validated arguments; a pickle of it calls this."""
    laws = ManyLaws(mechanism.n_records, model.hull().vertices)
    return Question(mechanism, model, laws, sharpen, tolerance).at(epsilon)


def _bracket(asked: Question, epsilon: Real, log_target: float | None) -> Bracket:
    mechanism, vertices = asked.mechanism, asked.laws.vertices
    if isinstance(mechanism, HistogramMechanism):
        alone = _without_a_value(mechanism, vertices)
        if alone is not None:
            return alone
        if isinstance(mechanism, SamplingHistogram) and len(vertices[0]) == 2:
            draws = mechanism.draws
            if max(draws.n_records, draws.n_draws) < LARGEST_LINE:
                line = DeltaLine.of(draws, epsilon)
                chances = tuple(vertex[0] for vertex in vertices)
                return two_values(line, chances, sharpen=asked.sharpen)
    exact = every_composition(mechanism, vertices, epsilon)
    if exact is not None:
        return exact
    assert isinstance(mechanism, HistogramMechanism)
    return bounded(mechanism, asked.laws, epsilon, tolerance=asked.tolerance, log_target=log_target)


def _without_a_value(
    mechanism: HistogramMechanism, vertices: tuple[tuple[Fraction, ...], ...]
) -> Bracket | None:
    """Return the cap of delta where delta reaches it: a value that nobody has, or nothing lost.

    Proof: proofs/smoothed-delta#7.
    """
    n = mechanism.n_records
    # inclusion() may be rounded up to 1; its logarithm is 0 only where nothing is lost.
    keeps_all = mechanism.cap.logs.lower == 0.0
    reaching = [index for index, vertex in enumerate(vertices) if keeps_all or min(vertex) == 0]
    if not reaching:
        return None
    if not keeps_all:
        warnings.warn(
            "A distribution of the model gives a value probability 0: databases in which "
            "nobody has it, and a record that moves there stands out, are in the model, so "
            "smoothed delta is that of ordinary DP. Leave the value out of the universe if "
            "no record can have it.",
            PrivacyWarning,
            stacklevel=6,
        )
    counts = tuple(n if index == reaching[0] else 0 for index in range(len(vertices)))
    why = "nothing is lost" if keeps_all else "a value that nobody has"
    return Bracket(mechanism.cap.logs, counts, f"{why}: delta(x) is that of ordinary DP")


def _exact_upper(log_value: float, value: float) -> Fraction:
    """Return a rational number not below e^log_value, below floats too."""
    if value > 1e-300 or log_value == -math.inf:
        return Fraction(value)
    # As a rational number, e^-(10^10) would not fit into the memory.
    return Fraction(upper_text(max(log_value, _LEAST_LOG), digits=17))
