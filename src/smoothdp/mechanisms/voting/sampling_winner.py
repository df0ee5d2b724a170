"""The winner of a voting rule on a random sample of the votes, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from typing import ClassVar

import numpy as np

from smoothdp.claims.curves.atoms import Atoms
from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.errors import InvalidData
from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF, LogBounds
from smoothdp.exact.logspace.log_sums import largest
from smoothdp.exact.parameters.numbers import Parameter, Real
from smoothdp.exact.random.entropy import Entropy
from smoothdp.mechanisms.sampling.draws import DrawnRecords, Sampling, read_draws
from smoothdp.mechanisms.sampling.finite_law import (
    FiniteLawMechanism,
    FiniteLawProfile,
    OutputLaw,
    both_ways,
    replaced,
)
from smoothdp.mechanisms.voting.majority import MajorityProfile
from smoothdp.mechanisms.voting.plurality_law import plurality_law
from smoothdp.mechanisms.voting.ranking_law import ranking_laws
from smoothdp.mechanisms.voting.rules import Rule, n_categories, read_rule, winner_of
from smoothdp.sources import Source

_LOG_HALF = math.log(0.5) + 1e-15


@dataclass(frozen=True, init=False)
class SamplingWinner(DrawnRecords, FiniteLawMechanism[int]):
    """Draw n_draws of n_records votes at random and publish the winner of a voting rule.

    Nothing is added: the randomness is in which votes are drawn. The output is the index of
    a candidate. Every tie goes to the lowest index: between winners, for the second place of
    the runoff and between its finalists; a tied pair gives both half a Copeland point.

    A vote is a candidate for plurality. For the other rules it is a ranking, and counts list
    the n_candidates! rankings in lexicographic order, best candidate first.

    Source: Liu, Wang, Xia, Smoothed Differential Privacy, Section 1.

    Args:
        n_records: n, the number of votes, public; 2 <= n < 2^50.
        n_draws: T, the number of votes drawn; 1 <= T <= n without replacement.
        sampling_rate: instead of n_draws: T = ceil(rate * n), in exact arithmetic.
        rule: "plurality" (default), "borda" (m - 1 points for a first place down to 0),
            "copeland" (pairwise majorities) or "runoff" (the two with most first places,
            then the majority between them).
        n_candidates: m >= 2; at most 4 for the rules on rankings.
        sampling: "without_replacement" (default) or "with_replacement".

    Raises:
        InvalidParameter: a parameter outside these domains.

    delta(x) is exact up to stated bounds: in milliseconds for two candidates and any number
    of votes; for plurality among six candidates in 5 seconds at 1e4 votes and 15 at 1e5; for
    rankings of three candidates in seconds at samples of 50, or where 20 of some thousand votes
    are lost. Beyond it raises OutOfReach. A release can be drawn at any size.

    >>> m = SamplingWinner(20, n_draws=15, n_candidates=3)
    >>> round(m.delta([8, 7, 5], epsilon="0.1"), 12)
    0.293297748116
    >>> SamplingWinner(6, n_draws=3, rule="borda", n_candidates=3).release(
    ...     counts=[6, 0, 0, 0, 0, 0]).value
    0
    """

    source: ClassVar[Source] = Source("liu-wang-xia", "Section 1")
    n_records: int
    n_draws: int
    rule: Rule
    n_candidates: int
    sampling: Sampling

    def __init__(
        self,
        n_records: int,
        *,
        n_candidates: int,
        n_draws: int | None = None,
        sampling_rate: Parameter | None = None,
        rule: Rule = "plurality",
        sampling: Sampling = "without_replacement",
    ) -> None:
        draws = read_draws(
            n_records,
            n_draws=n_draws,
            sampling_rate=sampling_rate,
            sampling=sampling,
            exact_histogram=False,
        )
        checked, candidates = read_rule(rule, n_candidates)
        self._set_draws(draws)
        object.__setattr__(self, "rule", checked)
        object.__setattr__(self, "n_candidates", candidates)

    def describe(self) -> str:
        """Return the mechanism and its public parameters in words."""
        return f"{self.rule} winner among {self.n_candidates} candidates, {self.draws.describe()}"

    def check_counts(self, counts: tuple[int, ...]) -> None:
        """Raise InvalidData for counts of another number of categories."""
        n_expected = n_categories(self.rule, self.n_candidates)
        if len(counts) != n_expected:
            counted = (
                "candidates" if self.rule == "plurality" else "rankings, in lexicographic order"
            )
            raise InvalidData(
                expected=f"counts of {n_expected} {counted}",
                got=f"{len(counts)}",
                remedy=f"Give {n_expected} counts, zeros included",
            )

    def output_law(self, counts: tuple[int, ...]) -> OutputLaw:
        """Return the law of the winner at validated counts."""
        return self.laws([counts])[0]

    def laws(self, databases: Sequence[tuple[int, ...]]) -> list[OutputLaw]:
        """Return the laws at several databases with about the same counts."""
        replacing = self.draws.replacing
        if self.rule == "plurality" or self.n_candidates == 2:
            return [_plurality(counts, self.n_draws, replacing) for counts in databases]
        return ranking_laws(
            self.rule, self.n_candidates, databases, self.n_draws, replacing=replacing
        )

    def profile_at(self, counts: tuple[int, ...]) -> PrivacyProfile:
        # Two rankings are votes for one or the other, and every rule is the majority.
        if len(counts) == 2 and not self.draws.replacing:
            return MajorityProfile(counts, self.n_draws, self.cap.logs)
        return WinnerProfile(self, counts)

    def _output(self, counts: tuple[int, ...], rng: Entropy) -> int:
        return winner_of(self.rule, self._sample(counts, rng), self.n_candidates)


@lru_cache(maxsize=4096)
def _plurality(counts: tuple[int, ...], n_draws: int, replacing: bool) -> OutputLaw:
    bounds = plurality_law(counts, n_draws, replacing=replacing)
    alive = [b for b in bounds if b.upper > -math.inf]
    # Half a difference of two floats, and the rounding of the middle.
    width = max(b.upper - b.lower for b in alive) / 2
    size = max(abs(b.lower) for b in alive)
    middles = np.array(
        [b.lower + (b.upper - b.lower) / 2 if b in alive else -math.inf for b in bounds]
    )
    middles.flags.writeable = False
    return OutputLaw(middles, width * (1 + 4 * UNIT_ROUNDOFF) + 4 * UNIT_ROUNDOFF * size)


@dataclass(frozen=True)
class WinnerProfile(FiniteLawProfile):
    """delta_epsilon(x) of the winner: laws of all neighbours, and nothing lost near 1.

    Where one candidate wins with more than a half in both laws, its term is left out of both
    directions: their maximum stays the same. For if its term t = p - e^epsilon q is positive
    in one direction, let F be that direction's sum and R the other's, which then lacks it.
    F = R at epsilon = 0, and with every unit of e^epsilon F falls by q or more while t > 0,
    R by at most 1 - p < q. So F <= R.
    """

    mechanism: SamplingWinner

    @cached_property
    def pairs(self) -> tuple[Atoms, ...]:
        """The laws of the winner at the counts and at each neighbour."""
        law_at_counts = self.mechanism.output_law(self.counts)
        # Neighbours that add the same category share the work on rankings.
        gained = sorted(replaced(self.counts), key=self._gained)
        laws_at_neighbours = [
            law
            for _, group in groupby(gained, key=self._gained)
            for law in self.mechanism.laws(list(group))
        ]
        return tuple(law_at_counts.against(law) for law in laws_at_neighbours)

    def _gained(self, counts: tuple[int, ...]) -> int:
        return next(b for b, n in enumerate(counts) if n > self.counts[b])

    @cached_property
    def deciding(self) -> tuple[Atoms, ...]:
        """The pairs in both directions, without a candidate that wins by more than a half."""
        return tuple(both_ways(map(_without_favourite, self.pairs)))

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        """Bound ln delta_epsilon(x): the largest over the neighbours and both directions."""
        cap = self.mechanism.cap.logs
        worst = largest([atoms.log_excess(epsilon) for atoms in self.deciding])
        return LogBounds(min(worst.lower, cap.upper), min(worst.upper, cap.upper))


def _without_favourite(pair: Atoms) -> Atoms:
    top = int(np.argmax(pair.log_p))
    if min(pair.log_p[top], pair.log_q[top]) <= _LOG_HALF + pair.error:
        return pair
    others = np.arange(pair.log_p.size) != top
    return Atoms(pair.log_p[others], pair.log_q[others], pair.error)
