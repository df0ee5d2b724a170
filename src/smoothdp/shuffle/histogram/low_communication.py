"""The histogram with little communication: noise is sent rarely, and zeros are kept likely.

The same privacy as `Histogram` at the same gamma, because the accounting does not change if
noise is sent, instead of omitted, with probability gamma. Empty bins now receive V ~
Bin(n, gamma) messages; a threshold hides them, except with a chosen probability.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.logspace.bisection import least_integer
from smoothdp.exact.parameters.numbers import Parameter, exact_int, float_bounds
from smoothdp.exact.probabilities.tails import log_binomial_tail
from smoothdp.exact.random.binomial_table import binomial_draws
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.exact.random.samplers import binomial
from smoothdp.shuffle.accounting.exchange_profile import ExchangeProfile
from smoothdp.shuffle.accounting.float_estimates import half_unit
from smoothdp.shuffle.affordable import require_affordable
from smoothdp.shuffle.envelopes import Envelope, default_overflow
from smoothdp.shuffle.goals import Method
from smoothdp.shuffle.histogram import zero_preserving as zp
from smoothdp.shuffle.histogram.bars import RareNoise
from smoothdp.shuffle.histogram.binned import BinnedProtocol, add_true
from smoothdp.shuffle.histogram.calibration import (
    read_goal,
    read_promise,
    smallest_omission,
)
from smoothdp.shuffle.histogram.estimate import HistogramEstimate
from smoothdp.shuffle.histogram.histogram import log_exchange_delta
from smoothdp.shuffle.histogram.noise_envelope import (
    fewest_slots,
    goal_before_redrawing,
    overflow_of_one,
)
from smoothdp.shuffle.histogram.rare_noise import rare_noise_error, rare_noise_mse
from smoothdp.shuffle.histogram.true_counts import Tally
from smoothdp.shuffle.protocol import read_failure_probability
from smoothdp.shuffle.users.honest_share import (
    DEFAULT_HONEST_SHARE,
    least_honest,
    read_honest_share,
)
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

    What a user sends is padded to K slots by dummies, the message d; noise that does not fit, of
    all bins together, is drawn again, which costs delta as `smoothdp.shuffle.envelopes` says
    (proofs/honest-users#3).

    Args:
        n_users, n_bins, promise, honest_share, catch_all: as in `Histogram`.
        noise_probability: gamma in (0, 1/2].
        false_positive: in (0, 1); default 1/40.
        n_slots: K; None for d + 1, which all noise fits. `calibrate` finds a small one.

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> from smoothdp.claims import ApproxDP
    >>> p = LowCommunicationHistogram.calibrate(
    ...     10**6, n_bins=10**4, guarantee=ApproxDP(1, delta="1e-6"))
    >>> p.threshold, round(p.messages_per_user, 2), p.slots_per_user, p.bytes_per_user
    (82, 1.47, 14, 728)
    """

    source: ClassVar[Source] = Source("balcer-cheu", "Section 3.2, a variant of ours")
    n_users: int
    n_bins: int
    noise_probability: Fraction
    false_positive: Fraction
    threshold: int = field(init=False)
    promise: ApproxDP | None
    honest_share: Fraction
    n_slots: int
    catch_all: bool

    def __init__(
        self,
        n_users: int,
        *,
        n_bins: int,
        noise_probability: Parameter,
        false_positive: Parameter = "1/40",
        promise: Guarantee | None = None,
        honest_share: Parameter = 1,
        n_slots: int | None = None,
        catch_all: bool = False,
    ) -> None:
        n, bins = zp.read_zero_preserving_users(n_users), zp.read_bins(n_bins)
        gamma = zp.read_omission(noise_probability, name="noise_probability")
        chance = read_failure_probability(false_positive)
        slots = bins + 1 if n_slots is None else exact_int(n_slots, name="n_slots", minimum=1)
        overflow = n * overflow_of_one(slots, bins, gamma)
        if overflow >= 1:
            raise InvalidParameter(
                expected="slots that the noise of nearly all users fits",
                got=f"n_slots={slots}",
                remedy=f"Give n_slots up to {bins + 1}; calibrate() finds how many are enough",
            )
        limit = log_bounds(chance * (1 - overflow) / bins).lower

        def hides(threshold: int) -> bool:
            return log_binomial_tail(threshold + 1, n, gamma).upper <= limit

        object.__setattr__(self, "n_users", n)
        object.__setattr__(self, "n_bins", bins)
        object.__setattr__(self, "noise_probability", gamma)
        object.__setattr__(self, "false_positive", chance)
        object.__setattr__(self, "threshold", least_integer(hides, 0, n))
        object.__setattr__(self, "honest_share", read_honest_share(honest_share))
        object.__setattr__(self, "n_slots", slots)
        object.__setattr__(self, "catch_all", bool(catch_all))
        object.__setattr__(self, "promise", read_promise(promise, self.profile()))

    @classmethod
    def calibrate(
        cls,
        n_users: int,
        *,
        n_bins: int,
        guarantee: Guarantee,
        honest_share: Parameter = DEFAULT_HONEST_SHARE,
        method: Method = "exact",
        false_positive: Parameter = "1/40",
        most_messages: Parameter | None = None,
        most_slots: int | None = None,
        catch_all: bool = False,
    ) -> LowCommunicationHistogram:
        """Return the protocol with the noise of `Histogram.calibrate`, sent instead of omitted.

        The envelope has the fewest slots for which redrawing costs a thousandth of delta at most.

        Args:
            n_bins, guarantee, honest_share, method, catch_all: as in `Histogram.calibrate`.
            false_positive: the probability that any empty bin is listed.
            most_messages, most_slots: the most messages on average and slots that a user may
                send; None: any number.

        Raises:
            InvalidParameter: as `Histogram.calibrate`; more messages or slots than allowed.
        """
        goal, share = read_goal(guarantee, method), read_honest_share(honest_share)
        n, bins = zp.read_zero_preserving_users(n_users), zp.read_bins(n_bins)
        overflow = default_overflow(log_bounds(goal.exact_delta), goal.exact_epsilon)
        gamma = smallest_omission(
            log_exchange_delta,
            n,
            goal if method == "paper" else goal_before_redrawing(goal, overflow),
            share=2,
            method=method,
            honest_share=share,
        )
        protocol = cls(
            n,
            n_bins=bins,
            noise_probability=gamma,
            false_positive=false_positive,
            promise=goal,
            honest_share=share,
            n_slots=fewest_slots(least_honest(n, share), bins, gamma, overflow),
            catch_all=catch_all,
        )
        require_affordable(protocol, most_messages=most_messages, most_slots=most_slots)
        return protocol

    # ---- privacy ----------------------------------------------------------------------

    def profile(self, *, n_honest: int | None = None) -> PrivacyProfile:
        """Return the privacy profile: that of `Histogram` at the same gamma, noise redrawn.

        Exact where no noise is redrawn, with d + 1 slots; else an upper bound, which is above the
        exact one by e^epsilon times the probability that somebody draws again.
        """
        honest = self._honest(n_honest)
        free = ExchangeProfile(honest, self.noise_probability, self.n_bins)
        return Envelope(self.n_slots, honest * self._overflow_of_one).profile(free)

    @cached_property
    def _overflow_of_one(self) -> Fraction:
        return overflow_of_one(self.n_slots, self.n_bins, self.noise_probability)

    @property
    def redraw_probability(self) -> Fraction:
        """tau_n: a bound of the probability that any of n users draws noise again.

        Runs by totals (`release`, `simulate`) leave redrawing out: their law is as far off.
        """
        return self.n_users * self._overflow_of_one

    @property
    def messages_per_user(self) -> float:
        """Messages that a user sends on average, dummies left out: 1 + d gamma, or less."""
        return float(1 + self.n_bins * self.noise_probability)

    @property
    def slots_per_user(self) -> int:
        """K: the messages and dummies in every envelope."""
        return self.n_slots

    @property
    def most_messages(self) -> int:
        """K: a malicious user may send as many messages for one bin."""
        return self.n_slots

    @property
    def mean_messages(self) -> float:
        """As `messages_per_user`."""
        return self.messages_per_user

    # ---- accuracy ---------------------------------------------------------------------

    def error(self, failure_probability: Parameter, *, simultaneous: bool = False) -> float:
        """Return an error of a bin, or of all at once, exceeded at most so often; proved."""
        failure = read_failure_probability(failure_probability)
        return rare_noise_error(
            self.n_users,
            self.n_bins if simultaneous else None,
            self.noise_probability,
            self.threshold,
            failure * (1 - self.redraw_probability),
        )

    def mse(self, values: Any = None) -> float:
        """Return the mean squared error of a bin, rounded up.

        Args:
            values: true counts of one or more bins, over which the mean is taken; None for an
                upper bound over all counts: n gamma (1 - gamma) + tau^2.
        """
        counts = None if values is None else self._true_counts(values)
        free = rare_noise_mse(self.n_users, self.noise_probability, self.threshold, counts)
        return free / float(1 - self.redraw_probability) * (1 + 1e-9)

    def describe(self) -> str:
        """Return the protocol and its public parameters in words."""
        return (
            f"histogram of {self.n_users} users over {self.n_bins} bins through a shuffler, noise "
            f"bits sent with probability {shown(self.noise_probability)}, counts up to "
            f"{self.threshold} shown as 0, envelopes of {self.n_slots} slots"
        )

    # ---- run --------------------------------------------------------------------------

    def randomize(self, datum: int, *, rng: Entropy | None = None) -> tuple[int, ...]:
        """Return exactly K slots in random order: bins and dummies, the user's bin among them."""
        source = read_rng(rng)
        bin_index = self.bin_of(datum)
        zp.require_explicit(self.n_slots - 1, "the slots of a user")
        sent = [bin_index, *self.noise_messages(rng=source)]
        return Envelope(self.n_slots, Fraction(0)).filled(sent, dummy=self.n_bins, rng=source)

    def noise_messages(self, *, rng: Entropy | None = None) -> set[int]:
        """Return the bins whose noise bit is 1, fewer than K, whatever the user holds."""
        gamma, many, source = self.noise_probability, self.n_slots, read_rng(rng)
        # Their number, then which they are.
        while many >= self.n_slots:
            many = binomial(self.n_bins, gamma, source)
        # Of a large part of the bins the others are drawn.
        few = min(many, self.n_bins - many)
        chosen: set[int] = set()
        while len(chosen) < few:
            chosen.add(source.below(self.n_bins))
        return chosen if few == many else set(range(self.n_bins)) - chosen

    @property
    def noise_mass(self) -> Fraction:
        """gamma, of noise that is sent."""
        return self.noise_probability

    def printed_error(self, error: float, estimate: HistogramEstimate) -> tuple[float, float]:
        """Return the error of counts as floats, and what of it is left to round them further.

        A listed count is off by a whole number less n gamma, and by ``error``, which is whole.
        """
        hidden = self.n_users * self.noise_mass
        off = half_unit(float(hidden))
        off += half_unit(max(map(abs, estimate.counts.values()), default=0.0))
        spare = min(hidden % 1, 1 - hidden % 1) - off
        found = float_bounds(Fraction(error) + max(Fraction(0), -spare))[1]
        return found, float_bounds(max(Fraction(0), spare))[0]

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
                honest_share=self._share_among(n_users),
                n_slots=self.n_slots,
                catch_all=self.catch_all,
            )
        )

    def _silence(self, n_silent: int) -> str:
        lost = number_up(float(n_silent * self.noise_probability))
        who = "One who sends nothing" if n_silent == 1 else f"{n_silent} who send nothing"
        verb = "lowers" if n_silent == 1 else "lower"
        return f"{who} {verb} every count by {lost} on average: the noise that is missing."

    def _estimated(self, message_counts: IntArray, tolerated: int) -> HistogramEstimate:
        """Return M - n gamma where M is above the threshold; silent users are not seen."""
        listed_bins = np.flatnonzero(message_counts > self.threshold)
        values = message_counts[listed_bins] - float(self.n_users * self.noise_probability)
        law = RareNoise(
            self.n_users,
            self.n_bins,
            self.noise_probability,
            self.threshold,
            tolerated,
            self.redraw_probability,
        )
        counts = dict(zip(listed_bins.tolist(), values.tolist(), strict=True))
        return HistogramEstimate(self.n_bins, counts, law=law)

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
