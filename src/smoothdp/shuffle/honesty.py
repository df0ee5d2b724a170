"""How many users followed a protocol, as far as the messages tell."""

from __future__ import annotations

import math

from smoothdp.exact.bisection import least_integer

_LOG_ALARM = math.log(1e12)


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
    variance = noise_bits * probability * (1.0 - probability)

    def refuted(honest: int) -> bool:
        # Convex in h, and at most n_messages at 0: refuted from one h on.
        reach = math.sqrt(_LOG_ALARM**2 / 9 + 2 * _LOG_ALARM * honest * variance)
        least = honest * mean - _LOG_ALARM / 3 - reach
        return least * (1 - 1e-12) - 1e-9 > n_messages

    if not refuted(n_users):
        return n_users
    return least_integer(refuted, 0, n_users) - 1
