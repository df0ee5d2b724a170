"""One protocol that a collection may take, with what it costs and what it trusts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from smoothdp.shuffle.flipped.flipped_sum import FlippedSum, float_up
from smoothdp.shuffle.histogram.low_communication import LowCommunicationHistogram
from smoothdp.shuffle.paired.count import PairedCount
from smoothdp.shuffle.split.split_sum import SplitSum
from smoothdp.shuffle.strings.prefix_tree import PrefixTree
from smoothdp.sources import Source
from smoothdp.text import number_up

FAILURE = Fraction(1, 20)
"""Errors of offers are those that 95% of the runs stay below."""

_ABSENT = {
    SplitSum: "unbiased for those who answered",
    PairedCount: "unbiased for those who answered",
    LowCommunicationHistogram: "counted by n_answered",
    PrefixTree: "counted by n_answered",
}


@dataclass(frozen=True)
class Offer:
    """A protocol calibrated for the guarantee, or why there is none.

    All figures are the protocol's own.

    Attributes:
        name: of the protocol, and of the variant if there are several.
        protocol: calibrated; None if the guarantee or the limits leave none.
        refused: why it does not fit, or "".
        groups: into how many groups of users the collection is divided, each user in one, at
            random; `error` and `rmse` count the draw, at its worst.
        by_name: it is only taken if it is asked for by name.
        of_bits: users hold 0 or 1, so that a `RealSum` rounds nothing.
        named: how `smoothdp.report.collect_share` and its like are asked for it, and commands:
            the name of the protocol, and the bits of a real sum. Empty if they do not run it.

    >>> from smoothdp.shuffle import BooleanSum
    >>> Offer("BooleanSum", BooleanSum(1000, expected_random_users=50)).slots
    1
    """

    source: ClassVar[Source] = Source("balcer-cheu", "protocols compared, rule of ours")
    name: str
    protocol: Any = None
    refused: str = ""
    groups: int = 1
    by_name: bool = False
    of_bits: bool = False
    named: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fits(self) -> bool:
        """Whether it meets the guarantee within the limits."""
        return not self.refused

    @cached_property
    def error(self) -> float:
        """What the error of one estimate exceeds in 5% of the runs at most, in users."""
        if self.of_bits and isinstance(self.protocol, FlippedSum):
            return self.protocol.noise_error(FAILURE)
        if self.groups == 1:
            return float(self.protocol.error(FAILURE))
        # Half of the failures are for noise, half for who is drawn into the group.
        return float(self.groups * self.protocol.error(FAILURE / 2)) + self._drawing_error

    @property
    def _drawing_error(self) -> float:
        """How far the scaled count of a random group is off, but for half of `FAILURE`.

        By Hoeffding's bound, which holds for draws without replacement.
        """
        spread = self.protocol.n_users * math.log(4 / FAILURE) / 2
        return self.groups * math.sqrt(spread) * (1 + 1e-12)

    @cached_property
    def rmse(self) -> float:
        """The root mean squared error of one estimate, of a count that is shown, in users."""
        if self.of_bits and isinstance(self.protocol, FlippedSum):
            return math.sqrt(float_up(self.protocol.noise_mse()))
        # A count so small that it is hidden as 0 has another error, which `error` covers.
        hides = isinstance(self.protocol, LowCommunicationHistogram | PrefixTree)
        values = [self.protocol.n_users] if hides else None
        drawn = self.protocol.n_users / 4 if self.groups > 1 else 0.0
        return float(self.groups * math.sqrt(self.protocol.mse(values) + drawn))

    @property
    def messages(self) -> float:
        """Messages that a user sends on average."""
        return float(self.protocol.messages_per_user)

    @property
    def slots(self) -> int:
        """Slots that a user sends, dummies among them."""
        return int(self.protocol.slots_per_user)

    @property
    def n_bytes(self) -> int:
        """Bytes that a user sends, each slot sealed for the analyser."""
        return int(self.protocol.bytes_per_user)

    @property
    def influence(self) -> float:
        """By how much one user who sends anything moves an estimate; inf if without limit."""
        return float(self.groups * self.protocol.influence_of_one_liar)

    def total_error(self, liars: int) -> float:
        """Return the error with so many liars among the users."""
        return self.error + (liars * self.influence if liars else 0.0)

    @property
    def absent(self) -> str:
        """What is done about users who do not answer."""
        return _ABSENT.get(type(self.protocol), "rescaled by n_answered")

    @property
    def collusion(self) -> str:
        """What is left if the shuffler helps the analyser."""
        if not isinstance(self.protocol, FlippedSum):
            return "nothing"
        return f"epsilon {number_up(self.protocol.local_profile().epsilon(0))}"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values, for JSON."""
        if self.protocol is None:
            return {"protocol": self.name, "fits": False, "refused": self.refused}
        return {
            "protocol": self.name,
            "fits": self.fits,
            "refused": self.refused,
            "rmse": self.rmse,
            "error_95": self.error,
            "messages_per_user": self.messages,
            "slots_per_user": self.slots,
            "bytes_per_user": self.n_bytes,
            "one_liar": self.influence if math.isfinite(self.influence) else None,
            "absent_users": self.absent,
            "left_if_the_shuffler_colludes": self.collusion,
            "only_by_name": self.by_name,
        }
