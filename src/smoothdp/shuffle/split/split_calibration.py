"""The parameters of a split sum for a guarantee: noise, resolution, modulus, number of shares."""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import log_bounds, real_bounds
from smoothdp.exact.parameters.numbers import Real
from smoothdp.shuffle.goals import require_replace_one
from smoothdp.shuffle.split.components import LEAST_SHARES, log_chi_squared, log_least_excess
from smoothdp.shuffle.split.noise_total import NoiseTotal
from smoothdp.shuffle.split.split_profile import log_slack_factor

LARGEST_RESOLUTION = (1 << 20) - 1
MOST_MODULUS_BITS = 62
MOST_SHARES = 64
_ROUNDING_SHARE = Fraction(1, 100)
_WRAP = Fraction(1, 10**9)
_DIGITS = 10**12


def read_goal(guarantee: object) -> ApproxDP:
    """Return the guarantee if split sums can meet it, or raise.

    Raises:
        InvalidParameter: not an ApproxDP with epsilon > 0 and 0 < delta < 1.
        IncompatibleClaims: neighbours other than replace_one.
    """
    good = isinstance(guarantee, ApproxDP)
    if good and isinstance(guarantee, Guarantee):
        require_replace_one(guarantee)
    if (
        not isinstance(guarantee, ApproxDP)
        or not 0 < guarantee.exact_delta < 1
        or not real_bounds(guarantee.exact_epsilon).lower > 0
    ):
        raise InvalidParameter(
            expected="ApproxDP(epsilon, delta=) with epsilon > 0 and 0 < delta < 1",
            got=f"{guarantee!r}",
            remedy=(
                "Shares that a user could be the only one to send show the datum with a small "
                "probability, so no pure, Gaussian or concentrated guarantee holds: give a delta"
            ),
        )
    return guarantee


def noise_epsilon_of(epsilon: Real, noise_share: Fraction) -> Fraction:
    """Return the share of epsilon that the noise of the total keeps, rational, rounded down."""
    if isinstance(epsilon, Fraction):
        return noise_share * epsilon
    return Fraction(
        math.floor(Fraction(real_bounds(epsilon).lower) * noise_share * _DIGITS), _DIGITS
    )


def best_resolution(n_users: int, noise_epsilon: Fraction, honest_share: Fraction) -> int:
    """Return R for which random rounding adds at most 1% to the variance 2 / (epsilon^2 s).

    The least R with n / (4 R^2) <= that, from 2, as 1 takes bits alone, up to 2^20 - 1.

    >>> best_resolution(1000, Fraction(19, 20), Fraction(9, 10))
    101
    """
    square = n_users * noise_epsilon**2 * honest_share / (8 * _ROUNDING_SHARE)
    # ceil of the root of a rational number.
    root = math.isqrt(math.ceil(square))
    root += root * root < square
    return min(max(2, root), LARGEST_RESOLUTION)


def modulus_bits_for(n_users: int, resolution: int, noise: NoiseTotal) -> int:
    """Return log2 q: q is the least power of two that the total and its noise rarely leave.

    q >= n R + 1 + 2 T with P(|A - B| > T) <= 1e-9 / n^2, so that a total that is read as one
    far away adds next to nothing to the mean squared error either.

    Raises:
        InvalidParameter: above 2^62.
    """
    reach = noise.chernoff_reach(_WRAP / n_users**2)
    bits = (n_users * resolution + 2 * reach).bit_length()
    if bits > MOST_MODULUS_BITS:
        raise InvalidParameter(
            expected=f"totals with their noise below 2^{MOST_MODULUS_BITS}",
            got=f"n_users={n_users}, resolution={resolution} and noise up to {reach}",
            remedy="Lower resolution, raise epsilon, or split the users into several sums",
        )
    return bits


def shares_for(
    n_honest: int, modulus_bits: int, goal: ApproxDP, noise_epsilon: Fraction, most: int
) -> int:
    """Return the least m >= 4 with which delta is proved (proofs/split-sums#4), or raise."""
    limit = log_bounds(goal.exact_delta).lower
    limit -= log_slack_factor(goal.exact_epsilon, noise_epsilon)
    limit = math.nextafter(limit, -math.inf)
    found = None
    for n_shares in range(LEAST_SHARES, MOST_SHARES + 1):
        # What one user by itself contributes is a quick refusal.
        if n_honest > 2 and log_least_excess(n_honest, n_shares, modulus_bits) > limit:
            continue
        if log_chi_squared(n_honest, n_shares, modulus_bits) <= limit:
            found = n_shares
            break
    if found is None or found > most:
        need = f"{found}" if found else f"more than {MOST_SHARES}"
        raise InvalidParameter(
            expected=f"most_slots of at least the shares that this guarantee takes, {need}",
            got=f"most_slots={most} at {n_honest} honest users",
            remedy="Raise most_slots or delta, lower noise_share, or add users",
        )
    return found
