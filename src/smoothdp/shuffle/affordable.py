"""What a user can afford to send: a protocol that needs more is refused, with its figures."""

from __future__ import annotations

from typing import Protocol

from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction, exact_int
from smoothdp.text import number_up


class Sends(Protocol):
    """What says how much a user sends."""

    @property
    def messages_per_user(self) -> float:
        """Messages on average."""

    @property
    def slots_per_user(self) -> int:
        """Slots of all envelopes."""


def require_affordable(
    protocol: Sends,
    *,
    most_messages: Parameter | None = None,
    most_slots: int | None = None,
) -> None:
    """Raise InvalidParameter if a user would send more messages on average, or more slots.

    >>> from smoothdp.shuffle import RealSum
    >>> require_affordable(RealSum(9, expected_random_users=3, n_bits=8), most_slots=8)
    """
    name = type(protocol).__name__
    if most_slots is not None:
        slots = exact_int(most_slots, name="most_slots", minimum=1)
        if protocol.slots_per_user > slots:
            raise InvalidParameter(
                expected=f"most_slots of at least {protocol.slots_per_user} for {name}",
                got=f"most_slots={slots}",
                remedy="Allow as many, or take a protocol that sends less",
            )
    if most_messages is not None:
        most = exact_fraction(most_messages, name="most_messages")
        if protocol.messages_per_user > most:
            needed = number_up(protocol.messages_per_user)
            raise InvalidParameter(
                expected=f"most_messages of at least {needed} for {name}",
                got=f"most_messages={most_messages}",
                remedy="Allow as many, or take a protocol that sends less",
            )
