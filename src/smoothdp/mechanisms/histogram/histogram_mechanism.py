"""What the mechanisms that publish the histogram of a sample share (Algorithm 2 of paper 1).

The file holds the worst neighbour by the two smallest counts, and the adversary's utility.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.domains import read_epsilon
from smoothdp.claims.neighbours import Neighbours
from smoothdp.errors import InvalidParameter
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.logspace.log_sums import largest
from smoothdp.exact.parameters.numbers import LogRatio, Parameter, Real, exact_fraction
from smoothdp.mechanisms.sampling.counts import read_counts
from smoothdp.mechanisms.sampling.sampled import SampledMechanism

_FAR = 2**1010


class HistogramMechanism(SampledMechanism[tuple[int, ...]]):
    """A mechanism that samples records at random and publishes how many fell where."""

    @abstractmethod
    def pair_divergence(self, count_a: int, count_b: int, epsilon: Real) -> LogBounds:
        """Bound ln D(count_a, count_b), for count_a >= 2 and count_b >= 1."""

    @abstractmethod
    def _log_utility(self, known: tuple[int, ...], threshold: Fraction) -> LogBounds:
        """Bound ln u for validated arguments."""

    def profile_at(self, counts: tuple[int, ...]) -> PrivacyProfile:
        return HistogramProfile(self, counts)

    def worst_case_delta(self, *, epsilon: Parameter) -> float:
        """Return the delta of ordinary DP at epsilon: exact, rounded up.

        It is the probability that a given record is in the sample at all, for every finite
        epsilon >= 0: a coupling shows that it is never more, and a database with a single
        record in some category attains it (proofs/two-smallest#6, #7; Theorem 3(iii) of
        paper 1).
        """
        return super().worst_case_delta(epsilon=epsilon)

    def adversary_utility(
        self, counts_without_target: Iterable[object], *, threshold: Parameter
    ) -> float:
        """Return the adversary's utility, eq. (3) of paper 1, never below the truth.

        For two categories it lies between half of d + d' and d + d', the two hockey sticks of
        the pair (proofs/adversary-utility#2); for more it may exceed that (#3).

        Args:
            counts_without_target: records per category without the record that the
                adversary is after; they add up to n_records - 1.
            threshold: t, the accuracy below which a guess counts for nothing; at least
                1 / (number of categories), where guessing starts, and below 1.

        Raises:
            InvalidData, InvalidParameter: arguments outside these domains.
            OutOfReach: three or more categories and more outputs than can be enumerated.
        """
        return self.log_adversary_utility(counts_without_target, threshold=threshold).linear()[1]

    def log_adversary_utility(
        self, counts_without_target: Iterable[object], *, threshold: Parameter
    ) -> LogBounds:
        """Return bounds of ln of the adversary's utility (see `adversary_utility`)."""
        known = read_counts(
            counts_without_target, total=self.n_records - 1, name="counts_without_target"
        )
        limit = Fraction(1, len(known))
        fraction = exact_fraction(threshold, name="threshold")
        if not limit <= fraction < 1:
            raise InvalidParameter(
                expected=f"{limit} <= threshold < 1 with {len(known)} categories",
                got=f"threshold={threshold}",
                remedy="Choose an accuracy better than guessing and below certainty",
            )
        return self._log_utility(known, fraction)


@dataclass(frozen=True, slots=True)
class HistogramProfile(PrivacyProfile):
    """delta_epsilon(x) of a histogram mechanism at one database, all neighbours.

    Without replacement it is 0 once every count is at least T / (1 - e^-epsilon), and only then
    (proofs/smoothed-delta#10).
    """

    mechanism: HistogramMechanism
    counts: tuple[int, ...]

    @property
    def neighbours(self) -> Neighbours:
        return Neighbours.REPLACE_ONE

    def delta_bounds(self, epsilon: Parameter) -> tuple[float, float]:
        """Return floats (lower, upper) around delta_epsilon(x)."""
        return self.both_bounds(read_epsilon(epsilon))[0]

    def both_bounds(self, epsilon: Real) -> tuple[tuple[float, float], LogBounds]:
        """Return floats around delta_epsilon(x), and around its logarithm, computed once."""
        logs = self.log_delta_bounds(epsilon)
        cap = self.mechanism.inclusion_bounds()
        if min(self.counts) <= 1:
            return cap, logs
        lower, upper = logs.linear()
        return (min(lower, cap[1]), min(upper, cap[1])), logs

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        """Bound ln delta_epsilon(x), the worst of four values (proofs/two-smallest#4, #7).

        Raises:
            OutOfReach: more outputs matter than can be summed.
        """
        smallest = sorted(self.counts)[:2]
        cap = self.mechanism.cap.logs
        if smallest[0] <= 1:
            return cap
        bounds = [self.mechanism.pair_divergence(a, b, epsilon) for a, b in worst_pairs(smallest)]
        worst = largest(bounds)
        return LogBounds(worst.lower, min(worst.upper, cap.upper))


def finite_ratio(epsilon: Real) -> Real:
    """Return an epsilon at which delta is the same, and e^epsilon is a float.

    Without replacement, and where each record is kept by chance, a likelihood ratio is infinite
    or below 2^100 (proofs/two-smallest#2): beyond e^700 delta no longer falls.
    """
    far = isinstance(epsilon, LogRatio) and epsilon.ratio > _FAR
    return Fraction(700) if far else epsilon


def worst_pairs(smallest: Sequence[int]) -> list[tuple[int, int]]:
    """Return the arguments (H_a, H_b) of D among which the worst neighbour is found.

    ``smallest`` holds the two smallest counts, at least 2 each: D falls when either of its
    arguments grows (proofs/two-smallest#3), so both orders in both directions suffice
    (proofs/two-smallest#4).

    >>> worst_pairs([2, 5])
    [(2, 5), (5, 2), (6, 1), (3, 4)]
    """
    small, large = smallest
    directed = [(small, large), (large, small), (large + 1, small - 1), (small + 1, large - 1)]
    return list(dict.fromkeys(directed))
