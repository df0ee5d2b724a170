"""What a unit in several keys pays: (epsilon, delta) pairs composed, exactly."""

from __future__ import annotations

from collections.abc import Callable

from smoothdp.claims.domains import read_delta, read_epsilon
from smoothdp.claims.guarantees.guarantee import times
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import Parameter, Real, exact_int
from smoothdp.keys.certified import ONE, ZERO, Probability, probability


def total_delta(
    epsilon_total: Parameter, *, epsilon: Parameter, delta: Parameter, n_keys: int
) -> float:
    """Return delta at an epsilon of g selections that are (epsilon, delta)-DP each.

    With P = e^epsilon / (1 + e^epsilon) and E = epsilon_total, in exact arithmetic rounded up:

        1 - (1 - delta)^g (1 - sum_i binom(g, i) P^i (1-P)^(g-i) (1 - e^(E - (2i-g) epsilon))_+)

    Exact for g truncated geometric laws with this delta each; no selection has more.

    Source: Kairouz, Oh, Viswanath (2015), Theorem 3.3; proofs/private-keys#4.

    Args:
        epsilon_total: E >= 0. epsilon: of one key, >= 0. delta: of one key, in [0, 1].
        n_keys: g >= 1, the keys that one unit can be in.

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> total_delta(2, epsilon="0.5", delta="1e-6", n_keys=4)
    3.999994000004001e-06
    """
    share = read_delta(delta)
    if share == 1:
        return ONE.upper
    return total_probability(
        read_epsilon(epsilon_total),
        epsilon=read_epsilon(epsilon),
        delta=lambda: ball(share),
        is_zero=share == 0,
        n_keys=exact_int(n_keys, name="n_keys", minimum=1),
    ).upper


def total_probability(
    total: Real, *, epsilon: Real, delta: Callable[[], Ball], is_zero: bool, n_keys: int
) -> Probability:
    """Return the same from an enclosure of delta < 1 at the present precision."""
    # Which losses (2i - g) epsilon exceed the total is decided exactly.
    exceeding = 0
    while 2 * exceeding < n_keys and not at_most(times(epsilon, n_keys - 2 * exceeding), total):
        exceeding += 1
    if is_zero and exceeding == 0:
        return ZERO
    return probability(lambda: _total_ball(total, epsilon, delta(), exceeding, n_keys))


def _total_ball(total: Real, epsilon: Real, delta: Ball, exceeding: int, n_keys: int) -> Ball:
    rate, least = ball(epsilon), ball(total)
    odds = (-rate).exp()
    # Weights from the largest loss downwards: P^g, then times i / (g - i + 1) e^-epsilon.
    weight = 1 / (1 + odds) ** n_keys
    excess = ball(0)
    for fewer in range(exceeding):
        loss = (n_keys - 2 * fewer) * rate
        excess += weight * -(least - loss).expm1()
        weight = weight * odds * (n_keys - fewer) / (fewer + 1)
    log_kept = n_keys * (-delta).log1p()
    return -log_kept.expm1() + log_kept.exp() * excess
