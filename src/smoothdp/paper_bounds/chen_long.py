"""Theorem 2 and Corollary 3.2 of paper 5 as printed: false, for comparison, never to certify.

C ~ Bin(n, lambda / 2n) with distribution function F (the compound law of Definition 3.1 is this
binomial). The claim is f(alpha) = 1 - F(F^-1(alpha) + 1): testing C + 1 against C.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from smoothdp.claims.domains import read_epsilon, read_inner_probability
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import exp_bounds, real_bounds
from smoothdp.exact.balls.compare import normal_upper_quantile
from smoothdp.exact.logspace.bisection import least_integer, smallest_true
from smoothdp.exact.logspace.bounds import (
    LOG_ZERO,
    LogBounds,
    exp_upper,
    log_difference_lower,
    log_difference_upper,
)
from smoothdp.exact.logspace.log_sums import largest
from smoothdp.exact.parameters.numbers import (
    Parameter,
    Real,
    exact_fraction,
    exact_int,
    exact_probability,
)
from smoothdp.exact.probabilities.tails import log_binomial_tail
from smoothdp.paper_bounds.bound import Bound
from smoothdp.paper_bounds.settings import RandomUsers, read_random_users

_EXACT_UP_TO = 300


def chen_long_tradeoff(
    alpha: Parameter,
    *,
    n_users: int,
    expected_random_users: Parameter,
    reading: Literal["linear", "step"] = "linear",
) -> float:
    """Return the type II error that Theorem 2 claims at a type I error, to about 1e-14.

    Verdict: **false**. n = 2, lambda = 4/5, alpha = 9/25: the true error is 4/25, below 9/50
    (linear); n = 4, lambda = 6/5, alpha = 83521/160000: .0844 < .1095 (step). As printed it is a
    step function, not a trade-off function; "linear" joins its corners, which is the exact curve
    of C + 1 against C.

    Args:
        alpha: in [0, 1].
        n_users: n; expected_random_users: lambda in (0, n).
        reading: "linear" or "step".

    Raises:
        InvalidParameter: arguments outside these domains.

    >>> round(chen_long_tradeoff("9/25", n_users=2, expected_random_users="4/5"), 12)
    0.18
    """
    setting = read_random_users(n_users, expected_random_users)
    level = exact_probability(alpha, name="alpha")
    if reading not in ("linear", "step"):
        raise InvalidParameter(
            expected='reading "linear" or "step"',
            got=f"reading={reading!r}",
            remedy='Choose reading="linear" or reading="step"',
        )
    return _claimed(setting, level, reading)[1]


def chen_long_mu(
    *, n_users: int, expected_random_users: Parameter, least_alpha: Parameter = 0
) -> float:
    """Return mu* of Corollary 3.2 over least_alpha <= alpha <= 1 - least_alpha, linear reading.

    Verdict: mu* as printed (least_alpha = 0) is **infinite** for every n and lambda: f(0) < 1.
    A figure that shows a finite mu shows its grid: at n = 100, lambda = 58 it is .2289 on
    [.1, .9] and .3176 on [1e-9, 1 - 1e-9]. The protocol itself has the finite mu .1114.

    Args:
        n_users: n; expected_random_users: lambda in (0, n); least_alpha: in [0, 1/2].

    Raises:
        InvalidParameter: arguments outside these domains.

    >>> chen_long_mu(n_users=100, expected_random_users=58)
    inf
    >>> round(chen_long_mu(n_users=100, expected_random_users=58, least_alpha="0.01"), 4)
    0.2386
    """
    setting = read_random_users(n_users, expected_random_users)
    least = exact_fraction(least_alpha, name="least_alpha")
    if not 0 <= least <= Fraction(1, 2):
        raise InvalidParameter(
            expected="0 <= least_alpha <= 1/2",
            got=f"least_alpha={least_alpha}",
            remedy="Lower least_alpha",
        )
    if least == 0:
        return math.inf
    # A piecewise-linear curve is above a convex one if its corners and its ends are.
    best = 0.0
    for level in (least, 1 - least):
        power, beta = _claimed(setting, level, "linear")
        best = max(best, _gap(float(level), float(1 - level), power, beta))
    for m in range(_quantile(setting, least), _quantile(setting, 1 - least)):
        best = max(best, _gap(*_corner(setting, m), *_corner(setting, m + 1)))
    return best


def _gap(alpha: float, miss: float, power: float, beta: float) -> float:
    """Return Phi^-1(power) - Phi^-1(alpha), each by the smaller of mass and complement."""
    if beta <= 0.0 or alpha <= 0.0:
        return math.inf
    return _upper_quantile(alpha, miss) - _upper_quantile(power, beta)


def _upper_quantile(mass: float, complement: float) -> float:
    """Return the x that a normal variable exceeds with probability mass."""
    if mass <= complement:
        return normal_upper_quantile(math.log(mass))[1] if mass > 0.0 else math.inf
    return -normal_upper_quantile(math.log(complement))[0] if complement > 0.0 else -math.inf


def chen_long_delta(*, n_users: int, expected_random_users: Parameter, epsilon: Parameter) -> Bound:
    """Return delta(epsilon) of the claimed curve: C against C + 1, the worse direction, up.

    Verdict: **false** in general (Theorem 2). For lambda above about 2.5 n^(2/3) it was above the
    exact delta wherever compared; that is no proof.

    Args:
        n_users: n; expected_random_users: lambda in (0, n); epsilon: >= 0.

    Raises:
        InvalidParameter: arguments outside these domains.

    >>> round(chen_long_delta(n_users=100, expected_random_users=58, epsilon="0.5"), 6)
    0.001953
    """
    setting = read_random_users(n_users, expected_random_users)
    target = read_epsilon(epsilon)
    logs = log_shift_delta(setting.n_users, setting.flip, target)
    return Bound.upper(min(0.0, logs.upper), at_most=1.0)


def chen_long_random_users(*, n_users: int, epsilon: Parameter, delta: Parameter) -> float:
    """Return the smallest lambda with `chen_long_delta` <= delta: a claim, not a guarantee.

    Args:
        n_users: n; epsilon: >= 0; delta: in (0, 1).

    Raises:
        InvalidParameter: arguments outside these domains.

    >>> round(chen_long_random_users(n_users=1000, epsilon=1, delta="1e-6"), 1)
    68.0
    """
    n = exact_int(n_users, name="n_users", minimum=1)
    target, exact_delta = read_epsilon(epsilon), read_inner_probability(delta)
    goal = math.log(exact_delta)

    def holds(users: float) -> bool:
        if users >= n:
            return True
        flip = Fraction(users) / (2 * n)
        return log_shift_delta(n, flip, target).upper <= goal

    return smallest_true(holds, low=1e-3)


def _claimed(setting: RandomUsers, level: Fraction, reading: str) -> tuple[float, float]:
    """Return (power, beta) that Theorem 2 claims at a type I error, each on its small side."""
    quantile = _quantile(setting, level)
    power, beta = _corner(setting, quantile + 1)
    if reading == "step":
        return power, beta
    # Between the corners (F(m - 1), 1 - F(m)) and (F(m), 1 - F(m + 1)), m = F^-1(alpha).
    before, after = _corner(setting, quantile - 1), _corner(setting, quantile)
    if level <= Fraction(1, 2):
        width, step = after[0] - before[0], float(level) - before[0]
    else:
        width, step = before[1] - after[1], before[1] - float(1 - level)
    share = min(1.0, max(0.0, step / width)) if width > 0.0 else 1.0
    corner = after
    return (
        (1 - share) * corner[0] + share * power,
        (1 - share) * corner[1] + share * beta,
    )


def _corner(setting: RandomUsers, m: int) -> tuple[float, float]:
    """Return F(m) and 1 - F(m)."""
    n, flip = setting.n_users, setting.flip
    return (
        exp_upper(log_binomial_tail(n - m, n, 1 - flip).upper),
        exp_upper(log_binomial_tail(m + 1, n, flip).upper),
    )


def _exact_mass(setting: RandomUsers, m: int) -> Fraction:
    """Return F(m) as a rational number."""
    n, q = setting.n_users, setting.flip
    return sum((math.comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(m + 1)), Fraction(0))


def _quantile(setting: RandomUsers, level: Fraction) -> int:
    """Return F^-1(alpha), the least m with F(m) >= alpha; -1 for alpha = 0.

    At a corner the comparison is exact up to 300 users.
    """
    if level == 0:
        return -1
    is_low = level <= Fraction(1, 2)
    goal = float(level) if is_low else float(1 - level)

    def reached(m: int) -> bool:
        mass, complement = _corner(setting, m)
        side_mass = mass if is_low else complement
        if abs(side_mass - goal) < 1e-9 * goal and setting.n_users <= _EXACT_UP_TO:
            return _exact_mass(setting, m) >= level
        return side_mass >= goal if is_low else side_mass <= goal

    return least_integer(reached, 0, setting.n_users)


def log_shift_delta(n_trials: int, probability: Fraction, epsilon: Real) -> LogBounds:
    """Bound ln max over directions of sum (b(y) - e^epsilon b'(y))_+, b' the law shifted by 1.

    C against C + 1: the ratio P(C = y) / P(C = y - 1) = (n - y + 1) p / (y (1 - p)) falls, so
    delta = P(C <= m) - E P(C <= m - 1) with m the last y at which it is at least E; the other
    direction is the same for n - C. A threshold that is off by one only lowers the value, so
    three are tried.

    >>> bounds = log_shift_delta(10, Fraction(1, 2), Fraction(1, 2))
    >>> bounds.lower <= math.log(0.0935791566) + 1e-9 <= bounds.upper + 2e-9
    True
    """
    directions = [
        _log_shift_in_direction(n_trials, p, epsilon) for p in (probability, 1 - probability)
    ]
    return largest(directions)


def _log_shift_in_direction(n: int, p: Fraction, epsilon: Real) -> LogBounds:
    growth = exp_bounds(epsilon)
    centre = math.floor((n + 1) * float(p) / (float(p) + growth.lower * float(1 - p)))
    best = LOG_ZERO
    for m in (centre - 1, centre, centre + 1):
        if 0 <= m <= n:
            bounds = _log_shift_at(n, p, m, epsilon)
            best = LogBounds(max(best.lower, bounds.lower), max(best.upper, bounds.upper))
    return best


def _log_shift_at(n: int, p: Fraction, m: int, epsilon: Real) -> LogBounds:
    """Bound ln (P(C <= m) - E P(C <= m - 1)), tails of n - C."""
    first = log_binomial_tail(n - m, n, 1 - p)
    second = log_binomial_tail(n - m + 1, n, 1 - p)
    log_growth = real_bounds(epsilon)
    if second == LOG_ZERO:
        return first
    shifted = second.shifted(log_growth)
    return LogBounds(
        log_difference_lower(first.lower, shifted.upper)
        if first.lower > shifted.upper
        else -math.inf,
        log_difference_upper(first.upper, shifted.lower)
        if first.upper > shifted.lower
        else -math.inf,
    )
