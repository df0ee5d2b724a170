"""The fewest random users that meet a guarantee: exactly, or by the formula of the literature.

The profile falls as lambda grows: flipping every shuffled bit once more, with the right
probability, turns the protocol of a smaller lambda into that of a larger one, whatever the data
(proofs/flipped-bits#7). So a bisection is safe, and lambda may be rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.claims.terms import EpsilonTerms, MuTerms
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import exp_bounds, log_bounds
from smoothdp.exact.logspace.bisection import smallest_true
from smoothdp.exact.parameters.numbers import Parameter, Real, float_bounds, float_of
from smoothdp.paper_bounds.cheu import allowed_users, least_n_users
from smoothdp.shuffle.accounting.flip_mu import (
    EXACT_UP_TO,
    exact_mu,
    is_mu_at_most,
    likely_mu,
    mu_at,
)
from smoothdp.shuffle.accounting.flip_profile import FlipProfile, certified_limit
from smoothdp.shuffle.accounting.flipped_bits import log_flip_delta
from smoothdp.shuffle.goals import Method, check_method, require_replace_one
from smoothdp.shuffle.users.honest_share import least_honest, least_users, read_honest_share

_LEAST_SHARE = 1e-18
# How far above the root for one data set a share is certified for all, where that takes long:
# next to the root almost every data set has to be looked at by itself.
_ABOVE_ROOT = 2e-3
_ITERATIONS = 12
# Below the logarithm of the largest float; what is flipped so rarely is never flipped.
_LOG_GROWTH = 700.0
_DIGITS = Context(prec=10, rounding=ROUND_CEILING)


def calibrated_random_users(
    n_users: int,
    *,
    n_bits: int,
    guarantee: Guarantee,
    honest_share: Parameter,
    method: Method = "exact",
    certified: bool = True,
) -> Fraction:
    """Return lambda for (n, r, guarantee); see `BooleanSum.calibrate`.

    The noise of the honest users alone meets the guarantee, and the others add as much each: lambda
    is that of the honest users times n over their number, so that q is the same.
    ``certified=False`` solves for others that hold zeros only: about right, to compare designs,
    and no guarantee.
    """
    check_method(method)
    share = read_honest_share(honest_share)
    honest = least_honest(n_users, share)
    if isinstance(guarantee, Guarantee):
        require_replace_one(guarantee)
    if method == "paper":
        found = _by_the_paper(honest, n_bits, guarantee, share)
    else:
        found = _for_honest(honest, n_bits, guarantee, certified)
    return found * n_users / honest


def _for_honest(n_users: int, n_bits: int, guarantee: Guarantee, certified: bool) -> Fraction:
    """Return lambda for users who are all honest."""
    terms = guarantee.terms() if isinstance(guarantee, Guarantee) else None
    match terms:
        case MuTerms(mu):
            share = _gaussian_share(n_users, n_bits, mu, certified)
        case EpsilonTerms(epsilon, delta):
            share = _pure_share(n_bits, epsilon)
            if delta > 0:
                limit = certified_limit(delta)
                share = min(share, _approximate_share(n_users, n_bits, epsilon, limit, certified))
        case _:
            raise InvalidParameter(
                expected="PureDP, ApproxDP or GaussianDP",
                got=type(guarantee).__name__,
                remedy="Give guarantee=ApproxDP(epsilon, delta=), or a PureDP or GaussianDP",
            )
    users = _rounded_up(share * n_users)
    if users >= n_users:
        users = share * n_users
    if not users < n_users:
        raise InvalidParameter(
            expected="a guarantee that some expected_random_users below n_users meets",
            got=f"{guarantee!r}",
            remedy="Raise epsilon, delta or mu: this guarantee demands that nothing is learnt",
        )
    return users


def _rounded_up(value: Fraction) -> Fraction:
    return Fraction(_DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator)))


def _pure_share(n_bits: int, epsilon: Real) -> Fraction:
    """Return a lambda / n at which r ln((1 - q) / q) <= epsilon: 2 / (1 + e^(epsilon / r))."""
    if isinstance(epsilon, Fraction):
        growth = exp_bounds(epsilon / n_bits).lower
    else:
        power = min(float(epsilon) / n_bits, _LOG_GROWTH)
        # The power is right to a few roundings, which count as often as it is large.
        growth = math.exp(power) * (1 - 1e-13 - 1e-15 * power)
    return min(Fraction(1), 2 / (1 + Fraction(min(growth, 1e300))))


def _approximate_share(
    n_users: int, n_bits: int, epsilon: Real, limit: float, certified: bool
) -> Fraction:
    """Return the least lambda / n with delta(epsilon) <= e^limit for all data of the others.

    Solved for one data set at a time, then certified for all just above the largest.
    """
    n_others = (n_users - 1) * n_bits

    def solved(n_ones: int) -> float:
        def holds(share: float) -> bool:
            if share >= 1.0:
                return True
            bounds = log_flip_delta(n_others - n_ones, n_ones, Fraction(share) / 2, n_bits, epsilon)
            return bounds.upper <= limit

        return smallest_true(holds, low=_LEAST_SHARE)

    root = solved(0)
    slack = FlipProfile(Fraction(min(root, 1.0)) / 2, n_bits, n_others).certified_above
    candidate = root * (1 + slack)
    while certified and candidate < 1.0:
        profile = FlipProfile(Fraction(candidate) / 2, n_bits, n_others)
        violation = profile.violation(epsilon, limit)
        if violation is None:
            return Fraction(candidate)
        if not violation[1]:
            slack *= 4
        candidate = max(candidate, solved(violation[0])) * (1 + slack)
    return min(Fraction(1), Fraction(candidate))


def _gaussian_share(n_users: int, n_bits: int, mu: Fraction, certified: bool) -> Fraction:
    """Return the least lambda / n with mu-Gaussian DP for all data of the others."""
    n_others = (n_users - 1) * n_bits
    if mu == 0:
        return Fraction(1)
    is_small = n_others <= EXACT_UP_TO

    def mu_of(share: float) -> float:
        flip = Fraction(share) / 2
        if is_small:
            return mu_at(n_others, 0, flip=flip, n_bits=n_bits, tolerance=1e-6).upper
        # About right is enough to compare designs, and where what is certified lies above anyway.
        return likely_mu(n_others, 0, flip=flip, n_bits=n_bits)

    close = 1e-6 if is_small else 2e-4 if certified else 2e-3
    high = (
        math.nan
        if is_small
        else _iterated_share(mu_of, float(mu), close, _likely_share(n_users, n_bits, float(mu)))
    )
    if math.isnan(high):
        high = _bisected_share(mu_of, mu, close)
    if not certified:
        return Fraction(high)
    step = 1e-6 if is_small else _ABOVE_ROOT
    while high < 1.0:
        if is_small:
            if Fraction(exact_mu(Fraction(high) / 2, n_bits, n_others)[1]) <= mu:
                return Fraction(high)
            high *= 1 + step
        else:
            # Certified for all data at the target itself, so much above that it is soon done.
            high *= 1 + step
            flip = Fraction(min(high, 1.0)) / 2
            if is_mu_at_most(float_bounds(mu)[0], flip=flip, n_bits=n_bits, n_others=n_others):
                break
        step *= 2
    return min(Fraction(1), Fraction(high))


def _bisected_share(mu_of: Callable[[float], float], mu: Fraction, close: float) -> float:
    low, high = _LEAST_SHARE, 1.0
    while high > low * (1 + close):
        middle = math.sqrt(low * high)
        holds = middle >= 1.0 or Fraction(mu_of(middle)) <= mu
        low, high = (low, middle) if holds else (middle, high)
    return high


def _iterated_share(
    mu_of: Callable[[float], float], mu: float, close: float, share: float
) -> float:
    """Return the share where mu is met, by secants of the logarithms; nan if not led there.

    From a share near by; at first mu is taken to go as share^-1/2.
    """
    slope, before = -0.5, (math.nan, math.nan)
    for _ in range(_ITERATIONS):
        found = mu_of(share)
        if abs(found - mu) <= close * mu:
            return share
        if not found > 0.0:
            break
        here = (math.log(share), math.log(found))
        measured = (here[1] - before[1]) / (here[0] - before[0])
        if -2.0 < measured < -0.2:
            slope = measured
        step = (math.log(mu) - here[1]) / slope
        share, before = share * math.exp(min(14.0, max(-14.0, step))), here
        if not _LEAST_SHARE < share < 1.0:
            break
    return math.nan


def _likely_share(n_users: int, n_bits: int, mu: float) -> float:
    """Return the share at which normal noise of the same variance would have mu."""
    ratio = n_bits / (n_users * mu**2)
    # q (1 - q) / (1 - 2 q)^2 is that ratio.
    return 4 * ratio / (1 + 4 * ratio + math.sqrt(1 + 4 * ratio))


# ---- by the paper --------------------------------------------------------------------


def _by_the_paper(
    n_users: int, n_bits: int, guarantee: Guarantee, honest_share: Fraction
) -> Fraction:
    """Return lambda of Cheu et al. 2019 for honest users, or raise with the smallest n."""
    if not isinstance(guarantee, ApproxDP) or guarantee.exact_delta == 0 or n_bits > 1:
        raise InvalidParameter(
            expected='ApproxDP with delta > 0 and one bit a user for method="paper"',
            got=f"{guarantee!r}, n_bits={n_bits}",
            remedy='Use method="exact"',
        )
    epsilon = float_of(guarantee.exact_epsilon)
    log_four = math.log(4) - log_bounds(guarantee.exact_delta).lower
    users = allowed_users(n_users, epsilon, log_four)
    if not 0 < users < n_users:
        raise InvalidParameter(
            expected="n_users large enough for the formula of Cheu et al.",
            got=f"{n_users} honest users",
            remedy=(
                f"The smallest is {least_users(least_n_users(epsilon, log_four), honest_share)}; "
                "or use "
                'method="exact", which needs fewer users'
            ),
        )
    chosen = _rounded_up(Fraction(users))
    profile = FlipProfile(chosen / (2 * n_users), 1, n_users - 1)
    limit = certified_limit(guarantee.exact_delta)
    if profile.violation(guarantee.exact_epsilon, limit) is not None:
        raise InvalidParameter(
            expected="a lambda of Cheu et al. that the exact profile confirms",
            got=f"lambda={float(chosen)}",
            remedy='Use method="exact"',
        )
    return chosen
