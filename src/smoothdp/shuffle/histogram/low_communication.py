"""The histogram with little communication: noise is sent rarely, and zeros are kept likely.

The same privacy as `Histogram` at the same gamma, because the accounting does not change if
noise is sent, instead of omitted, with probability gamma. Empty bins now receive V ~
Bin(n, gamma) messages; a threshold hides them, except with a chosen probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.logspace.bisection import least_integer
from smoothdp.exact.logspace.bounds import log_sum_upper
from smoothdp.exact.parameters.numbers import Parameter, float_bounds
from smoothdp.exact.probabilities.tails import log_binomial_tail
from smoothdp.exact.random.binomial_table import binomial_draws
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.shuffle.accounting.exchange_profile import ExchangeProfile
from smoothdp.shuffle.goals import Method
from smoothdp.shuffle.histogram import zero_preserving as zp
from smoothdp.shuffle.histogram.accuracy import certainly_rare, log_of_exponent
from smoothdp.shuffle.histogram.binned import BinnedProtocol, add_true
from smoothdp.shuffle.histogram.calibration import (
    read_goal,
    read_promise,
    smallest_omission,
)
from smoothdp.shuffle.histogram.estimate import HistogramEstimate, require_bin
from smoothdp.shuffle.histogram.histogram import log_exchange_delta
from smoothdp.shuffle.histogram.true_counts import Tally
from smoothdp.shuffle.protocol import read_failure_probability
from smoothdp.sources import Source
from smoothdp.text import number_up
from smoothdp.types import IntArray


@dataclass(frozen=True, init=False)
class LowCommunicationHistogram(BinnedProtocol):
    """Count the users in each of d bins with 1 + d gamma messages a user on average.

    A user in bin j sends the message j, and for every bin one message more with probability
    gamma. A bin with M messages is estimated as M - n gamma if M > tau, else 0; tau is the
    least number with d P(Bin(n, gamma) > tau) <= false_positive. So all empty bins are 0 at
    once except with that probability, where `Histogram` is certain, and tau grows with ln d.

    Args:
        n_users, n_bins, promise: as in `Histogram`.
        noise_probability: gamma in (0, 1/2].
        false_positive: in (0, 1); default 1/40.

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> from smoothdp.claims import ApproxDP
    >>> p = LowCommunicationHistogram.calibrate(
    ...     10**6, n_bins=10**6, guarantee=ApproxDP(1, delta="1e-6"))
    >>> p.threshold, round(p.mean_messages, 1)
    (83, 43.7)
    """

    source: ClassVar[Source] = Source("balcer-cheu", "Section 3.2, a variant of ours")
    n_users: int
    n_bins: int
    noise_probability: Fraction
    false_positive: Fraction
    threshold: int = field(init=False)
    promise: ApproxDP | None

    def __init__(
        self,
        n_users: int,
        *,
        n_bins: int,
        noise_probability: Parameter,
        false_positive: Parameter = "1/40",
        promise: Guarantee | None = None,
    ) -> None:
        n, bins = zp.read_zero_preserving_users(n_users), zp.read_bins(n_bins)
        gamma = zp.read_omission(noise_probability, name="noise_probability")
        chance = read_failure_probability(false_positive)
        limit = log_bounds(chance / bins).lower

        def hides(threshold: int) -> bool:
            return log_binomial_tail(threshold + 1, n, gamma).upper <= limit

        object.__setattr__(self, "n_users", n)
        object.__setattr__(self, "n_bins", bins)
        object.__setattr__(self, "noise_probability", gamma)
        object.__setattr__(self, "false_positive", chance)
        object.__setattr__(self, "threshold", least_integer(hides, 0, n))
        object.__setattr__(self, "promise", read_promise(promise, self.profile()))

    @classmethod
    def calibrate(
        cls,
        n_users: int,
        *,
        n_bins: int,
        guarantee: Guarantee,
        method: Method = "exact",
        false_positive: Parameter = "1/40",
    ) -> LowCommunicationHistogram:
        """Return the protocol with the noise of `Histogram.calibrate`, sent instead of omitted."""
        goal = read_goal(guarantee, method)
        n, bins = zp.read_zero_preserving_users(n_users), zp.read_bins(n_bins)
        gamma = smallest_omission(log_exchange_delta, n, goal, share=2, method=method)
        return cls(
            n,
            n_bins=bins,
            noise_probability=gamma,
            false_positive=false_positive,
            promise=goal,
        )

    # ---- privacy ----------------------------------------------------------------------

    def profile(self, *, n_honest: int | None = None) -> ExchangeProfile:
        """Return the exact privacy profile: that of `Histogram` at the same gamma."""
        return ExchangeProfile(self._honest(n_honest), self.noise_probability, self.n_bins)

    @property
    def mean_messages(self) -> float:
        """Messages that a user sends on average: 1 + d gamma."""
        return float(1 + self.n_bins * self.noise_probability)

    # ---- accuracy ---------------------------------------------------------------------

    def error(self, failure_probability: Parameter, *, simultaneous: bool = False) -> float:
        """Return an error of a bin, or of all at once, exceeded at most so often; proved.

        For A >= n gamma a bin with s > A fails if V <= tau - s or V > n gamma + A, one with
        0 < s <= A only by the latter, an empty one if V > max(tau, n gamma + A). At most
        min(d, n // (A + 1)) bins have s > A, and min(d, n) are not empty. Bins are
        independent.
        """
        failure = read_failure_probability(failure_probability)
        limit = log_of_exponent(failure)
        n, gamma, tau = self.n_users, self.noise_probability, self.threshold
        mean = n * gamma

        def holds(bound: int) -> bool:
            above = log_binomial_tail(math.floor(mean + bound) + 1, n, gamma).upper
            # V <= tau - s, and s is at least bound + 1.
            below = log_binomial_tail(n - (tau - bound - 1), n, 1 - gamma).upper
            if bound + 1 > tau:
                below = -math.inf
            large = log_sum_upper(above, below)
            if not simultaneous:
                return certainly_rare([(large, 1)], limit)
            hidden = log_binomial_tail(max(tau, math.floor(mean + bound)) + 1, n, gamma).upper
            many = max(1, min(self.n_bins, n // (bound + 1)))
            events = [(large, many), (above, min(self.n_bins, n)), (hidden, self.n_bins)]
            return certainly_rare([event for event in events if event[0] > -math.inf], limit)

        return float(least_integer(holds, math.ceil(mean), n + tau))

    def mse(self, values: Any = None) -> float:
        """Return the mean squared error of a bin, rounded up.

        Args:
            values: true counts of one or more bins, over which the mean is taken; None for an
                upper bound over all counts: n gamma (1 - gamma) + tau^2.
        """
        n, gamma = self.n_users, self.noise_probability
        spread = float(n * gamma * (1 - gamma))
        if values is None:
            # Where kept, the error is V - n gamma; where not, s <= tau.
            return (spread + float(self.threshold) ** 2) * (1 + 1e-9)
        counts = self._true_counts(values)
        total = 0.0
        for count in counts:
            lost = 0.0
            if count and count <= self.threshold:
                tail = log_binomial_tail(n - (self.threshold - count), n, 1 - gamma)
                lost = count**2 * tail.linear()[1]
            total += lost + spread
        return total / max(1, len(counts)) * (1 + 1e-9)

    def describe(self) -> str:
        """Return the protocol and its public parameters in words."""
        return (
            f"histogram of {self.n_users} users over {self.n_bins} bins through a shuffler, noise "
            f"bits sent with probability {shown(self.noise_probability)}, counts up to "
            f"{self.threshold} shown as 0"
        )

    # ---- run --------------------------------------------------------------------------

    def randomize(self, datum: int, *, rng: Entropy | None = None) -> tuple[int, ...]:
        """Return the user's bin, and every bin whose noise bit is 1."""
        source = read_rng(rng)
        bin_index = require_bin(datum, self.n_bins)
        zp.require_explicit(self.n_bins, "the messages of a user")
        noise = zp.bernoulli_array(self.noise_probability, self.n_bins, source)
        return (bin_index, *np.flatnonzero(noise).tolist())

    @property
    def noise_share(self) -> Fraction:
        """gamma."""
        return self.noise_probability

    @property
    def hidden_up_to(self) -> float:
        """tau - n gamma, rounded up."""
        return float_bounds(self.threshold - self.n_users * self.noise_probability)[1]

    def _for_users(self, n_users: int) -> LowCommunicationHistogram:
        return self._kept_by(
            LowCommunicationHistogram(
                n_users,
                n_bins=self.n_bins,
                noise_probability=self.noise_probability,
                false_positive=self.false_positive,
            )
        )

    def _silence(self, n_silent: int) -> str:
        lost = number_up(float(n_silent * self.noise_probability))
        who = "One who sends nothing" if n_silent == 1 else f"{n_silent} who send nothing"
        verb = "lowers" if n_silent == 1 else "lower"
        return f"{who} {verb} every count by {lost} on average: the noise that is missing."

    def _estimated(self, message_counts: IntArray, tolerated: int) -> HistogramEstimate:  # noqa: ARG002
        """Return M - n gamma where M is above the threshold; silent users are not seen."""
        listed_bins = np.flatnonzero(message_counts > self.threshold)
        values = message_counts[listed_bins] - float(self.n_users * self.noise_probability)
        return HistogramEstimate(
            self.n_bins, dict(zip(listed_bins.tolist(), values.tolist(), strict=True))
        )

    def shuffled_counts(self, counts: Any, *, rng: Entropy | None = None) -> IntArray:
        """Draw what the analyser sees, the messages of each of at most 1e7 bins."""
        return self._view(self.check_counts(counts), read_rng(rng))

    def _view(self, tally: Tally, rng: Entropy) -> IntArray:
        # Empty bins do receive messages here: all of them are drawn.
        zp.require_explicit(self.n_bins, "noise in every bin; Histogram has none in empty ones")
        noise = binomial_draws(self.n_users, self.noise_probability, self.n_bins, rng)
        return add_true(noise, tally)

    def _run_users(self, data: Tally, rng: Entropy) -> HistogramEstimate:
        return self.estimate_counts(self._view(data, rng))

    def _run_counts(self, counts: Tally, rng: Entropy) -> HistogramEstimate:
        return self.estimate_counts(self._view(counts, rng))
