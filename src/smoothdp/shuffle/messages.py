"""What users send and analysers read: whole numbers, with anything else rejected and counted.

A message is a whole number of the protocol's alphabet 0 .. n_values - 1. The number may travel as a
`Message`, which names its protocol, so that the analyser recognises another protocol's message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import NamedTuple

import numpy as np

from smoothdp.errors import InvalidData
from smoothdp.types import IntArray

OTHER_PROTOCOL = "of another protocol"
MALFORMED = "malformed"
OUT_OF_ALPHABET = "outside the alphabet"
TOO_MANY = "more than the users can send"


class Message(NamedTuple):
    """A message that says which protocol it belongs to.

    Analysers take bare whole numbers as well; of a `Message` they also check the protocol.

    >>> Message("BooleanSum", 1).value
    1
    """

    protocol: str
    value: int


@dataclass(frozen=True, slots=True)
class ReadMessages:
    """The messages an analyser uses, and how many it rejected, by reason.

    Attributes:
        values: the accepted messages, an array of whole numbers.
        rejected: reason -> count, only reasons that occurred.
        n_missing: how many messages fewer than the protocol's users send; 0 where the
            number of messages is random.
    """

    values: IntArray
    rejected: Mapping[str, int]
    n_missing: int

    @property
    def n_rejected(self) -> int:
        """The number of rejected messages."""
        return sum(self.rejected.values())

    def sentence(self) -> str:
        """Return what was rejected or missing and what follows for the guarantee, or ""."""
        if not self.rejected and not self.n_missing:
            return ""
        shortfalls = [f"{count} {reason}" for reason, count in self.rejected.items()]
        if self.n_missing:
            shortfalls.append(f"{self.n_missing} missing")
        return (
            f"Messages not used: {', '.join(shortfalls)}; the rest was analysed. Each user whose "
            "messages are not genuine adds no noise: the guarantee is profile(n_honest=m), m "
            "the number of honest users, which this list cannot tell for certain."
        )


def read_messages(
    messages: Iterable[object], *, protocol: str, n_values: int, at_most: int, expected: int = 0
) -> ReadMessages:
    """Return the messages that are whole numbers in 0 .. n_values - 1, at most ``at_most``.

    A shuffled list is in uniform order, so the first ``at_most`` are a uniform choice.

    Args:
        messages: an array or iterable of whole numbers or `Message`.
        protocol: the name that a `Message` must carry.
        n_values: size of the alphabet.
        at_most: the largest number of messages that all users together can send.
        expected: the number they send, if it is fixed.

    Raises:
        InvalidData: not an iterable.

    >>> read = read_messages([1, 0, "x", Message("Other", 1)], protocol="Mine", n_values=2,
    ...     at_most=1)
    >>> read.values, dict(read.rejected)
    (array([1]), {'malformed': 1, 'of another protocol': 1, 'more than the users can send': 1})
    """
    rejected: dict[str, int] = {}
    values: IntArray
    if isinstance(messages, np.ndarray) and messages.dtype.kind in "iu" and messages.ndim == 1:
        inside = (messages >= 0) & (messages < n_values)
        values = messages[inside].astype(np.int64)
        if values.size < messages.size:
            rejected[OUT_OF_ALPHABET] = messages.size - values.size
    else:
        if isinstance(messages, str | bytes) or not isinstance(messages, Iterable):
            raise InvalidData(
                expected="messages as a list or array",
                got=f"{type(messages).__name__}",
                remedy="Give all shuffled messages as one list or array",
            )
        accepted: list[int] = []
        for message in messages:
            reason = _fault(message, protocol, n_values)
            if reason:
                rejected[reason] = rejected.get(reason, 0) + 1
            else:
                accepted.append(int(message.value if isinstance(message, Message) else message))  # type: ignore[call-overload]
        values = np.array(accepted, dtype=np.int64)
    if values.size > at_most:
        rejected[TOO_MANY] = int(values.size) - at_most
        values = values[:at_most]
    return ReadMessages(values, rejected, max(0, expected - int(values.size)))


def _fault(message: object, protocol: str, n_values: int) -> str:
    if isinstance(message, Message):
        if message.protocol != protocol:
            return OTHER_PROTOCOL
        message = message.value
    if not isinstance(message, Integral) or isinstance(message, bool):
        return MALFORMED
    return "" if 0 <= int(message) < n_values else OUT_OF_ALPHABET
