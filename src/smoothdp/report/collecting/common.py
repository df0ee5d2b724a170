"""What every collection checks first, and what is known of it before any data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from smoothdp.claims.domains import read_inner_probability
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.shuffle.envelopes import RedrawnProfile
from smoothdp.shuffle.protocol import ShuffleProtocol
from smoothdp.shuffle.split.split_profile import SplitProfile

FEWER = {"95%": Fraction(19, 20), "80%": Fraction(4, 5)}
"""Shares of the honest users that are counted on, for which delta is said too."""


def public_facts(protocol: ShuffleProtocol[Any, Any], guarantee: ApproxDP) -> dict[str, Any]:
    """Return the fields of a `Collection` that no data enter."""
    profile, epsilon = protocol.profile(), guarantee.exact_epsilon
    honest = protocol.honest_assumed
    fewer = {
        share: protocol.profile(n_honest=max(1, math.floor(part * honest))).log_delta(epsilon)
        for share, part in FEWER.items()
    }
    return {
        "messages_per_user": protocol.messages_per_user,
        "slots_per_user": protocol.slots_per_user,
        "bytes_per_user": protocol.bytes_per_user,
        "n_users": protocol.n_users,
        "n_honest": honest,
        "profile": profile,
        "epsilon": guarantee.epsilon,
        "log_delta": profile.log_delta(epsilon),
        "fewer": fewer,
        "is_exact": not isinstance(profile, RedrawnProfile | SplitProfile),
    }


def check_collected(guarantee: object) -> None:
    """Raise InvalidParameter for a claim that is not (epsilon, delta), as the errors here are."""
    if not isinstance(guarantee, ApproxDP):
        raise InvalidParameter(
            expected="guarantee=ApproxDP(epsilon, delta=) for a collection",
            got=f"{guarantee!r}",
            remedy="Give one; a protocol of smoothdp.shuffle takes other claims",
        )


def named_protocol(name: object, protocols: Mapping[str, Any]) -> Any:
    """Return what a protocol's name stands for, or raise InvalidParameter."""
    if not isinstance(name, str) or name not in protocols:
        raise InvalidParameter(
            expected=f"protocol {' or '.join(protocols)} for what is collected",
            got=f"protocol={name!r}",
            remedy="Name one of these, or leave it out",
        )
    return protocols[name]


def failure_of(confidence: Parameter) -> Fraction:
    """Return 1 - confidence, exactly, or raise InvalidParameter."""
    return 1 - read_inner_probability(confidence, name="confidence", example="0.95")


def command_words(named: Mapping[str, Any]) -> str:
    """Return the options of `smoothdp collect` that name a protocol.

    >>> command_words({"protocol": "real-sum", "n_bits": 2})
    '--protocol real-sum --n-bits 2'
    """
    return " ".join(f"--{name.replace('_', '-')} {value}" for name, value in named.items())
