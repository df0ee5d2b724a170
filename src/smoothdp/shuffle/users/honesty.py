"""How many users followed a protocol, as far as the messages tell."""

from __future__ import annotations

import math
from typing import TypedDict

from smoothdp.exact.logspace.bisection import least_integer

_LOG_ALARM = math.log(1e12)


class MessagesOfOne(TypedDict):
    """What an honest user sends: so many for sure, and each noise bit with a probability."""

    sure: int
    noise_bits: int
    probability: float


def most_honest_users(
    n_messages: int, n_users: int, *, sure: int, noise_bits: int, probability: float
) -> int:
    """Return the most honest users that so few messages leave possible, but for 1 in 10^12.

    An honest user sends ``sure`` messages and ``noise_bits`` more with a probability each, all
    independent; the others may add messages, never take any away. By Bernstein's inequality h
    users send fewer than h (sure + bits p) - t with probability at most e^-L for
    t = L / 3 + sqrt(L^2 / 9 + 2 L v), v the variance.

    >>> most_honest_users(990_000, 10_000, sure=1, noise_bits=100, probability=0.996)
    9845
    """
    mean = sure + noise_bits * probability

    def refuted(honest: int) -> bool:
        # Convex in h, and at most n_messages at 0: refuted from one h on.
        least = honest * mean - _reach(honest, noise_bits, probability)
        return least * (1 - 1e-12) - 1e-9 > n_messages

    if not refuted(n_users):
        return n_users
    return least_integer(refuted, 0, n_users) - 1


def most_messages_of(honest: int, *, sure: int, noise_bits: int, probability: float) -> float:
    """Return a number of messages that so many honest users exceed in 1 of 10^12 runs at most.

    The same law and inequality as above, on its other side.

    >>> most_messages_of(1000, sure=1, noise_bits=5, probability=0.1) < 1700
    True
    """
    mean = sure + noise_bits * probability
    likely = honest * mean + _reach(honest, noise_bits, probability)
    return min(float(honest * (sure + noise_bits)), likely * (1 + 1e-12) + 1e-9)


def most_honest_despite(
    n_messages: int,
    n_users: int,
    *,
    sure: int,
    noise_bits: int,
    probability: float,
    allowed: int | None = None,
) -> int:
    """Return the most honest users that so many messages leave possible, but for 1 in 10^12.

    The others send at most ``allowed`` messages each, which the shuffler sees to; None: as many as
    an honest user may, ``sure + noise_bits``.

    >>> most_honest_despite(1500, 1000, sure=1, noise_bits=5, probability=0.1)
    1000
    >>> most_honest_despite(3000, 1000, sure=1, noise_bits=5, probability=0.1)
    698
    >>> most_honest_despite(1900, 1000, sure=1, noise_bits=5, probability=0.1, allowed=3)
    835
    """
    each = sure + noise_bits if allowed is None else allowed

    def refuted(honest: int) -> bool:
        # Concave in h, and not refuted at 0 within the limit: refuted from one h on.
        most = most_messages_of(honest, sure=sure, noise_bits=noise_bits, probability=probability)
        return n_messages > most + (n_users - honest) * each

    if not refuted(n_users):
        return n_users
    return 0 if refuted(0) else least_integer(refuted, 0, n_users) - 1


def _reach(honest: int, noise_bits: int, probability: float) -> float:
    """Return how far from its mean the noise of so many users is once in 10^12, by Bernstein."""
    variance = honest * noise_bits * probability * (1.0 - probability)
    return _LOG_ALARM / 3 + math.sqrt(_LOG_ALARM**2 / 9 + 2 * _LOG_ALARM * variance)
