"""What counts and histograms by cancelling pairs share: noise, envelope, promise, accuracy."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Generic, Self, TypeVar

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.domains import read_delta
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.claims.label import Label
from smoothdp.claims.release import Release
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.parameters.numbers import (
    Parameter,
    exact_int,
    exact_positive,
    float_bounds,
    proper_probability,
)
from smoothdp.exact.random.entropy import Entropy
from smoothdp.shuffle.accounting.exchange_profile import slack_mu, stated_guarantee
from smoothdp.shuffle.envelopes import Envelope, slot_bytes
from smoothdp.shuffle.histogram.calibration import is_kept, read_goal
from smoothdp.shuffle.messages import ReadMessages, read_messages
from smoothdp.shuffle.paired.accuracy import LeftNoise
from smoothdp.shuffle.paired.clump_law import mean_pairs
from smoothdp.shuffle.paired.design import read_clump
from smoothdp.shuffle.paired.geometric_shares import mean_of_share
from smoothdp.shuffle.paired.honest_signs import HonestSigns, honest_signs
from smoothdp.shuffle.paired.noise_cap import noise_law, noise_tails, overflow_of
from smoothdp.shuffle.paired.noise_draws import Noise, drawn_noise
from smoothdp.shuffle.protocol import ShuffleProtocol, read_users
from smoothdp.shuffle.users.honest_share import honest_condition, least_honest, read_honest_share
from smoothdp.types import FloatArray, IntArray

Estimate = TypeVar("Estimate")


@dataclass(frozen=True, init=False)
class PairedProtocol(ShuffleProtocol[int, Estimate], Generic[Estimate]):
    """Every user sends one sign, cancelling noise, and dummies up to K slots.

    The noise of the honest users adds up to A signs +, B signs - and C pairs of both: A and B
    geometric of ratio p = e^-rho, which is all of the error, and C, which costs nothing, the sum
    of rare clumps. A histogram has such noise for each bin (proofs/paired-counts#5).
    """

    n_users: int
    noise_rate: Fraction
    clump_probability: Fraction
    largest_clump: int
    honest_share: Fraction
    slots: int | None
    n_honest_design: int
    promise: ApproxDP | None

    def _set(
        self,
        n_users: int,
        noise_rate: Parameter,
        clump_probability: Parameter,
        largest_clump: int,
        honest_share: Parameter,
        slots: int | None,
        n_honest_design: int | None,
        promise: Guarantee | None,
    ) -> None:
        """Fill the fields and check the promise against the exact profile."""
        users = read_users(n_users)
        share = read_honest_share(honest_share)
        design = least_honest(users, share)
        if n_honest_design is not None:
            design = exact_int(n_honest_design, name="n_honest_design", minimum=1)
        rate = exact_positive(noise_rate, name="noise_rate")
        if not Fraction(1, 10**6) <= rate <= 100:
            raise InvalidParameter(
                expected="1e-6 <= noise_rate <= 100",
                got=f"noise_rate={noise_rate}",
                remedy="Give rho, about 45 hundredths of epsilon",
            )
        remedy = "Give the share of users who send a clump of pairs: calibrate() finds it"
        chance = proper_probability(clump_probability, name="clump_probability", remedy=remedy)
        object.__setattr__(self, "n_users", users)
        object.__setattr__(self, "noise_rate", rate)
        object.__setattr__(self, "clump_probability", chance)
        object.__setattr__(self, "largest_clump", read_clump(largest_clump))
        object.__setattr__(self, "honest_share", share)
        object.__setattr__(self, "n_honest_design", design)
        object.__setattr__(self, "promise", None)
        object.__setattr__(self, "slots", None if slots is None else self._read_slots(slots))
        object.__setattr__(self, "promise", self._read_promise(promise))

    def _read_slots(self, slots: int) -> int:
        count = exact_int(slots, name="slots", minimum=1)
        if self._overflow(count) * max(Fraction(1), self._shape) >= Fraction(1, 2):
            raise InvalidParameter(
                expected="slots that the noise of a user fits into almost always",
                got=f"slots={slots}",
                remedy="Let calibrate() choose them, or leave them out to ask for profiles only",
            )
        return count

    def _read_promise(self, promise: Guarantee | None) -> ApproxDP | None:
        if promise is None:
            return None
        goal = read_goal(promise, "exact")
        profile = self.profile()
        if not is_kept(goal, profile):
            raise InvalidParameter(
                expected=f"a promise with delta of at least {profile.delta(goal.exact_epsilon)} "
                "there",
                got=f"{goal!r}",
                remedy="Raise clump_probability or lower noise_rate: calibrate() finds them",
            )
        return goal

    # ---- what a subclass says ---------------------------------------------------------

    @property
    @abstractmethod
    def n_cells(self) -> int:
        """Noises of one user: 1, or one for each bin."""

    @property
    @abstractmethod
    def dummy(self) -> int:
        """The message that means nothing, the largest of the alphabet."""

    @abstractmethod
    def noise_messages(self, *, rng: Entropy | None = None) -> list[int]:
        """Return what a user sends beside the own sign, whatever they hold, without dummies."""

    @abstractmethod
    def estimate_counts(self, message_counts: IntArray) -> Estimate:
        """Return the estimate from the number of messages of each kind, - before +, no dummies."""

    @abstractmethod
    def _free_profile(self, n_honest: int) -> PrivacyProfile:
        """Return the exact profile without a cap, for at most the design's honest users."""

    # ---- envelopes --------------------------------------------------------------------

    @property
    def _noise(self) -> tuple[int, int, Fraction, Fraction, int]:
        """What the law of the noise of one user takes."""
        return (
            self.n_cells,
            self.n_honest_design,
            self.noise_rate,
            self.clump_probability,
            self.largest_clump,
        )

    @cached_property
    def _tails(self) -> FloatArray:
        return noise_tails(*self._noise)

    @cached_property
    def _signs(self) -> HonestSigns:
        return honest_signs(noise_law(*self._noise), self.slots_per_user)

    def _overflow(self, slots: int) -> Fraction:
        return overflow_of(self._tails, self.n_honest_design, slots)

    @cached_property
    def envelope(self) -> Envelope:
        """K slots, and tau: how often the noise of any of m0 users is drawn again, at most.

        Raises:
            InvalidParameter: a protocol made by hand, without a cap.
        """
        if self.slots is None:
            raise InvalidParameter(
                expected=f"a {type(self).__name__} with envelopes of a fixed size",
                got="one made by hand, without a cap on the noise of a user",
                remedy=f"Make it with {type(self).__name__}.calibrate()",
            )
        return Envelope(self.slots, self._overflow(self.slots))

    @property
    def _tau(self) -> Fraction:
        """tau of all who are present; 0 without a cap."""
        if self.slots is None:
            return Fraction(0)
        return self.envelope.overflow * max(Fraction(1), self._shape)

    @property
    def slots_per_user(self) -> int:
        """K: every envelope holds exactly so many slots, messages and dummies."""
        return self.envelope.slots

    @property
    def message_bits(self) -> int:
        """Bits that a message, or a dummy, takes."""
        return self.dummy.bit_length()

    @property
    def bytes_per_user(self) -> int:
        """Bytes of one envelope, each slot sealed for the analyser alone."""
        return self.slots_per_user * slot_bytes(self.message_bits)

    @cached_property
    def messages_per_user(self) -> float:
        """Messages that are no dummies, on average: the own one and noise, rounded up."""
        pairs = float_bounds(mean_pairs(1, self.clump_probability, self.largest_clump))[1]
        signs = mean_of_share(Fraction(1, self.n_honest_design), self.noise_rate)
        free = 2 * self.n_cells * (pairs + signs)
        return 1 + free * (1 + 1e-12)

    # ---- privacy ----------------------------------------------------------------------

    @property
    def honest_assumed(self) -> int:
        """m0 = ceil(honest_share n): the honest users that `profile` counts on."""
        return least_honest(self.n_users, self.honest_share)

    def _honest(self, n_honest: int | None) -> int:
        return self.honest_assumed if n_honest is None else super()._honest(n_honest)

    def profile(self, *, n_honest: int | None = None) -> PrivacyProfile:
        """Return the privacy profile of what the analyser sees: exact without a cap, else a bound.

        Args:
            n_honest: users who follow the protocol, the protected one included; the others may
                send anything, or nothing, and tell the analyser. None: m0. For more than m0 the
                profile of m0, which is a bound: every further share hides more.
        """
        free = self._free_profile(min(self._honest(n_honest), self.n_honest_design))
        return free if self.slots is None else self.envelope.profile(free)

    @cached_property
    def guarantee(self) -> Guarantee:
        """The promise; else (epsilon, 1e-6)-DP with the exact epsilon if there is one."""
        return stated_guarantee(self.profile(), self.promise)

    @property
    def honest_needed(self) -> int:
        """The design's m0 where there is a promise: below it delta rises steeply; else 1."""
        return 1 if self.promise is None else self.n_honest_design

    def condition(self) -> str:
        """Return what the guarantee rests on, in words that every output carries."""
        return honest_condition(self.n_users, self.honest_assumed)

    def collusion_sentence(self) -> str:
        """Return what is left if the shuffler and the analyser work together."""
        return (
            "If the shuffler and the analyser work together, nothing is hidden: the sign of a "
            "user stands beside little or no noise of their own."
        )

    def gaussian_mu(self, delta: Parameter = 0) -> float:
        """Return mu of Gaussian DP, rounded up; with delta > 0, where delta(e) exceeds it.

        inf at delta = 0: with a positive probability nothing hides a user.
        """
        return slack_mu(self.profile(), read_delta(delta))

    # ---- users who stay away, are silent or lie --------------------------------------

    @property
    def messages_allowed(self) -> int:
        """K."""
        return self.slots_per_user

    def honest_at_most(self, n_messages: int) -> int:
        """Return how many users can be honest at most: K slots each."""
        return min(self.n_users, n_messages // self.slots_per_user)

    def honest_by_few_signs(self, n_signs: int) -> int:
        """Return how many users can be honest at most if no more signs than these are there.

        Wrong with probability below 1e-12. The number does not depend on anybody's datum
        (proofs/paired-counts#10).

        Args:
            n_signs: >= 0, of all n_users envelopes, dummies and what means nothing left out.

        Raises:
            InvalidParameter: no such number, or a protocol made by hand, without a cap.

        >>> from smoothdp.claims import ApproxDP
        >>> from smoothdp.shuffle import PairedCount
        >>> p = PairedCount.calibrate(1000, guarantee=ApproxDP(1, delta="1e-6"))
        >>> p.honest_by_few_signs(900), p.honest_by_many_signs(20_000)
        (690, 628)
        """
        count = exact_int(n_signs, name="n_signs", minimum=0)
        return self._signs.most_by_few(count, self.n_users)

    def honest_by_many_signs(self, n_signs: int) -> int:
        """Return how many users can be honest at most if so many signs are there.

        As `honest_by_few_signs`, of too many, if no user sends more than the `messages_allowed`.
        What means nothing may be among them: no honest user sends it.
        """
        count = exact_int(n_signs, name="n_signs", minimum=0)
        return self._signs.most_by_many(count, self.n_users)

    def _silence(self, n_silent: int) -> str:
        who = "One who sends nothing is" if n_silent == 1 else f"{n_silent} who send nothing are"
        return f"{who} left out: the estimate is of those who sent an envelope."

    # ---- accuracy ---------------------------------------------------------------------

    @property
    def _shape(self) -> Fraction:
        """The shape of A and B with all n users present."""
        return Fraction(self.n_users, self.n_honest_design)

    @property
    def _left(self) -> LeftNoise:
        """What is left of the noise, of all who are present."""
        return LeftNoise(self._shape, self.noise_rate, self._tau)

    # ---- run --------------------------------------------------------------------------

    def _draw(self, n_cells: int, rng: Entropy) -> Noise:
        return drawn_noise(
            n_cells,
            self.n_honest_design,
            rate=self.noise_rate,
            probability=self.clump_probability,
            largest=self.largest_clump,
            rng=rng,
        )

    def _fitting_noise(self, n_users: int, rng: Entropy) -> Noise:
        """Draw the noise of users, each redrawn until it fits; without a cap, as it is.

        All is drawn again where one does not fit: that is the same law, given that all fit.
        """
        while True:
            noise = self._draw(n_users * self.n_cells, rng)
            if self.slots is None or noise.most_messages_in(self.n_cells) < self.slots:
                return noise

    def read(self, messages: Iterable[object]) -> ReadMessages:
        """Return the messages and dummies, K of each who answered; the others are counted."""
        expected = self.n_users * self.slots_per_user
        return read_messages(
            messages,
            protocol=type(self).__name__,
            n_values=self.dummy + 1,
            at_most=expected,
            expected=expected,
        )

    def release(
        self,
        data: Iterable[int] | None = None,
        *,
        counts: object = None,
        label: Label | object = None,
        rng: Entropy | None = None,
    ) -> Release[Estimate]:
        """Run the protocol and return the estimate with its guarantee; see `ShuffleProtocol`.

        Raises:
            InvalidParameter: a protocol made by hand, without a cap.
        """
        self.envelope  # noqa: B018 - refuses
        return super().release(data, counts=counts, label=label, rng=rng)

    def _noise_words(self) -> str:
        """Return the noise, the envelope and who is counted on, in words."""
        size = "no cap" if self.slots is None else f"envelopes of {self.slots} slots"
        return (
            f"noise of rate {shown(self.noise_rate)} and cancelling pairs in clumps of up to "
            f"{self.largest_clump} with probability {shown(self.clump_probability)}, {size}, "
            f"counting on {self.honest_assumed} honest users"
        )

    def _share_for(self, n_users: int) -> Fraction:
        """Return the share of fewer users that are as many honest ones as are counted on."""
        return min(Fraction(1), Fraction(self.honest_assumed, n_users))

    def _arguments_for(self, n_users: int) -> dict[str, Any]:
        """Return the constructor's arguments for fewer users with the same noise each."""
        return {
            "n_users": n_users,
            "noise_rate": self.noise_rate,
            "clump_probability": self.clump_probability,
            "largest_clump": self.largest_clump,
            "honest_share": self._share_for(n_users),
            "slots": self.slots,
            "n_honest_design": self.n_honest_design,
        }

    def _for_users(self, n_users: int) -> Self:
        return self._kept_by(type(self)(**self._arguments_for(n_users)))
