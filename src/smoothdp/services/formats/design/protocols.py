"""The protocols of tasks: what their numbers mean, which values slots may hold, what proves them.

A task writes a protocol as ``protocol, size, noise, parameters, slots``:

    protocol                   size  noise                 parameters              slots
    boolean_sum                1     flip probability 2^64                         1
    real_sum                   bits  flip probability 2^64                         bits
    histogram                  bins  omission probability                          bins + 1
    low_communication_histogram bins noise probability     false positive          K
    paired_count               1     noise rate            clump, largest, design  K
    paired_histogram           bins  noise rate            clump, largest, design  K
    split_sum                  R     epsilon of the noise  modulus bits, design    m

``design`` is the number of honest users whose shares of noise are a whole; ``clump`` is the
probability of one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from smoothdp.exact.random.entropy import Entropy
from smoothdp.services.formats.design.values import DUMMY
from smoothdp.shuffle import (
    BooleanSum,
    Histogram,
    LowCommunicationHistogram,
    PairedCount,
    PairedHistogram,
    RealSum,
    SplitSum,
)

CollectProtocol: TypeAlias = (
    BooleanSum
    | RealSum
    | Histogram
    | LowCommunicationHistogram
    | PairedCount
    | PairedHistogram
    | SplitSum
)

PROTOCOLS = (
    "boolean_sum",
    "real_sum",
    "histogram",
    "low_communication_histogram",
    "paired_count",
    "paired_histogram",
    "split_sum",
)
FLIPPED = ("boolean_sum", "real_sum")
"""Protocols whose promise is proved against a shuffler that takes envelopes apart."""
BINNED = ("histogram", "low_communication_histogram", "paired_histogram")
PAIRED = ("paired_count", "paired_histogram")
BOUNDED = ("real_sum", "split_sum")
"""Protocols whose data are numbers between two bounds."""
DESIGNED = (*PAIRED, "split_sum")
"""Protocols whose noise is shared among a number of honest users."""

PARAMETERS = {
    "low_communication_histogram": ("false_positive",),
    "paired_count": ("clump_probability", "largest_clump", "n_honest_design"),
    "paired_histogram": ("clump_probability", "largest_clump", "n_honest_design"),
    "split_sum": ("modulus_bits", "n_honest_design"),
}
"""What the parameters of a task are, in their order; of other protocols there are none."""
WHOLE = ("largest_clump", "n_honest_design", "modulus_bits")
MOST_MODULUS_BITS = 31
"""A share is below 2^31, so that none is the dummy."""
MOST_BINS = 1 << 20
_WORD = 1 << 64


@dataclass(frozen=True, slots=True)
class Design:
    """The numbers of a task that say what its clients send.

    >>> design = Design("histogram", 5, "7/9", (), 6)
    >>> design.n_values, design.is_meant(4), design.is_meant(5), design.is_meant(DUMMY)
    (5, True, False, True)
    """

    protocol: str
    size: int
    noise: str
    parameters: tuple[str, ...]
    slots: int

    def parameter(self, name: str) -> Fraction:
        """Return a parameter of this protocol."""
        return Fraction(self.parameters[PARAMETERS[self.protocol].index(name)])

    @property
    def slots_by_size(self) -> int | None:
        """Slots that follow from the size; None where they are a number of their own."""
        if self.protocol == "histogram":
            return self.size + 1
        return self.size if self.protocol in FLIPPED else None

    @property
    def n_honest_design(self) -> int:
        """Honest users whose shares of noise are a whole; 1 where noise is not shared."""
        return int(self.parameter("n_honest_design")) if self.protocol in DESIGNED else 1

    @property
    def n_values(self) -> int:
        """Values 0, 1, ... that a slot may hold beside a dummy."""
        if self.protocol == "split_sum":
            return 1 << int(self.parameter("modulus_bits"))
        if self.protocol == "paired_histogram":
            return 2 * self.size
        return self.size if self.protocol in BINNED else 2

    @property
    def has_dummies(self) -> bool:
        """Whether slots may hold dummies."""
        return self.protocol in BINNED or self.protocol in PAIRED

    def is_meant(self, value: int) -> bool:
        """Return whether a slot may hold this value: a message, or a dummy where there are some."""
        return 0 <= value < self.n_values or (self.has_dummies and value == DUMMY)

    def collect(self, n_users: int, *, honest_share: Fraction = Fraction(1)) -> CollectProtocol:
        """Return the protocol of so many users, with the noise of the clients.

        Raises:
            InvalidParameter: numbers outside the protocol's domain.
        """
        noise = Fraction(self.noise)
        if self.protocol == "histogram":
            return Histogram(
                n_users, n_bins=self.size, omission_probability=noise, honest_share=honest_share
            )
        if self.protocol == "low_communication_histogram":
            return LowCommunicationHistogram(
                n_users,
                n_bins=self.size,
                noise_probability=noise,
                false_positive=self.parameter("false_positive"),
                honest_share=honest_share,
                n_slots=self.slots,
            )
        if self.protocol == "split_sum":
            return SplitSum(
                n_users,
                noise_epsilon=noise,
                resolution=self.size,
                n_shares=self.slots,
                modulus_bits=int(self.parameter("modulus_bits")),
                # Not the share of the task: whose noise is a whole, in all batches.
                honest_share=Fraction(self.n_honest_design, n_users),
            )
        if self.protocol in PAIRED:
            numbers: dict[str, Any] = {
                "noise_rate": noise,
                "clump_probability": self.parameter("clump_probability"),
                "largest_clump": int(self.parameter("largest_clump")),
                "n_honest_design": self.n_honest_design,
                "honest_share": honest_share,
                "slots": self.slots,
            }
            if self.protocol == "paired_count":
                return PairedCount(n_users, **numbers)
            return PairedHistogram(n_users, n_bins=self.size, **numbers)
        random_users = 2 * n_users * noise / _WORD
        if self.protocol == "boolean_sum":
            return BooleanSum(
                n_users, expected_random_users=random_users, honest_share=honest_share
            )
        return RealSum(
            n_users,
            expected_random_users=random_users,
            n_bits=self.size,
            honest_share=honest_share,
        )

    def delta(self, epsilon: str, honest: int) -> Fraction:
        """Return a bound of delta if so many users are honest and no others hide anything."""
        # A split sum is not made for fewer users than share its noise.
        users = max(honest, self.n_honest_design) if self.protocol == "split_sum" else honest
        return Fraction(self.collect(users).profile(n_honest=honest).delta(epsilon))

    def randomized(
        self, datum: Any, n_users: int, *, rng: Entropy | None = None
    ) -> tuple[int, ...]:
        """Return the values of all M slots for a datum as the protocol reads it, with dummies.

        Their order means nothing: slots are sorted when they are sealed.

        Args:
            datum: a bit, a number in [0, 1] or a bin.
            n_users: of the smallest batch; the noise does not depend on it.
            rng: None for the system's randomness.
        """
        protocol = self.collect(n_users)
        messages: tuple[int, ...] = protocol.randomize(datum, rng=rng)
        if self.has_dummies:
            messages = tuple(value if value < self.n_values else DUMMY for value in messages)
        # The messages of a histogram are fewer than its slots.
        return (*messages, *[DUMMY] * (self.slots - len(messages)))
