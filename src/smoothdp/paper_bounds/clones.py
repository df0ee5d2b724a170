"""Amplification by clones (Feldman, McMillan, Talwar) and the privacy blanket, numerically.

Every user sends a bit that is random with some probability, whatever the datum. If those who
did are revealed, C ~ Bin(n - 1, p) fair coins hide the protected user's bit, flipped with
probability q; the analyser sees both counts. This is data processing the wrong way round, so it
bounds delta for all data of the others at once: valid, and loose by about sqrt(2 (1 - q)) in mu
(proofs/random-users#5).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from smoothdp.claims.domains import read_epsilon, read_inner_probability
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import ball, enclose, log_bounds, precision
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.logspace.bisection import narrowed
from smoothdp.exact.logspace.bounds import (
    LOG_ZERO,
    LogBounds,
    log_difference_lower,
    log_difference_upper,
)
from smoothdp.exact.logspace.log_sums import largest, log_total
from smoothdp.exact.parameters.numbers import LogRatio, Parameter, Real, exact_int
from smoothdp.exact.probabilities.points import binomial_point
from smoothdp.exact.probabilities.tails import log_binomial_tail
from smoothdp.paper_bounds.bound import Bound
from smoothdp.paper_bounds.settings import read_random_users

_NATS = 50.0


def clones_delta(*, n_users: int, expected_random_users: Parameter, epsilon: Parameter) -> Bound:
    """Return delta by clones as of 2023, clone probability lambda / n, rounded up.

    Verdict: holds (proofs/random-users#5); equal to `blanket_delta` for one bit a user.

    Args:
        n_users: n; expected_random_users: lambda in (0, n); epsilon: >= 0.

    Raises:
        InvalidParameter: arguments outside these domains.

    >>> round(clones_delta(n_users=100, expected_random_users=58, epsilon="0.3"), 9)
    0.000132833
    """
    setting = read_random_users(n_users, expected_random_users)
    logs = _log_delta(setting.n_users, setting.flip, 2 * setting.flip, read_epsilon(epsilon))
    return Bound.upper(min(0.0, logs.upper), at_most=1.0)


def clones_2021_delta(
    *, n_users: int, expected_random_users: Parameter, epsilon: Parameter
) -> Bound:
    """Return delta by clones as of 2021, clone probability e^-e0 = q / (1 - q), rounded up.

    Verdict: holds, by the same argument: fewer clones are revealed than there are
    (proofs/random-users#5).

    Args:
        n_users: n; expected_random_users: lambda in (0, n); epsilon: >= 0.

    Raises:
        InvalidParameter: arguments outside these domains.

    >>> round(clones_2021_delta(n_users=100, expected_random_users=58, epsilon="0.3"), 5)
    0.00062
    """
    setting = read_random_users(n_users, expected_random_users)
    clone = setting.flip / (1 - setting.flip)
    logs = _log_delta(setting.n_users, setting.flip, clone, read_epsilon(epsilon))
    return Bound.upper(min(0.0, logs.upper), at_most=1.0)


def blanket_delta(*, n_users: int, expected_random_users: Parameter, epsilon: Parameter) -> Bound:
    """Return the privacy blanket's expectation (Balle, Bell, Gascon, Nissim 2019), rounded up.

    E[(L_1 + ... + L_M)_+] / (p n) with M ~ Bin(n, p), p = lambda / n, and L the difference
    P(w) - e^epsilon P'(w) of the reports of 0 and 1 at a uniform bit w, over the uniform law.
    With b of m bits equal to 1 the sum is 2 ((m - b) g - b h), and (m - b) Bin(m, 1/2)(b) =
    (m / 2) Bin(m - 1, 1/2)(b) turns it into `clones_delta`: they are the same number
    (proofs/random-users#6).

    Args, raises: as `clones_delta`.

    >>> setting = {"n_users": 100, "expected_random_users": 58, "epsilon": "0.3"}
    >>> blanket_delta(**setting) == clones_delta(**setting)
    True
    """
    return clones_delta(
        n_users=n_users, expected_random_users=expected_random_users, epsilon=epsilon
    )


_LEAST_USERS = 1e-290
"""Where a search ends: so few users are as good as none."""


def clones_random_users(
    *, n_users: int, epsilon: Parameter, delta: Parameter, year: int = 2023
) -> float:
    """Return the smallest lambda, rounded up, with delta by clones at most delta.

    Args:
        n_users: n; epsilon: >= 0; delta: in (0, 1); year: 2021 or 2023, of the analysis.

    Raises:
        InvalidParameter: arguments outside these domains.

    >>> round(clones_random_users(n_users=1000, epsilon=1, delta="1e-6"), 1)
    73.1
    """
    if year not in (2021, 2023):
        raise InvalidParameter(
            expected="year 2021 or 2023",
            got=f"year={year!r}",
            remedy="Choose year=2021 or year=2023",
        )
    n = exact_int(n_users, name="n_users", minimum=1)
    target, exact_delta = read_epsilon(epsilon), read_inner_probability(delta)
    goal = log_bounds(exact_delta).lower

    def holds(users: float) -> bool:
        if users >= n:
            return True
        flip = Fraction(users) / (2 * n)
        clone = 2 * flip if year == 2023 else flip / (1 - flip)
        return _log_delta(n, flip, clone, target).upper <= goal

    # Coarse steps from below, because few clones are fast: the lambda compares designs.
    low, high = _LEAST_USERS, 1.0
    if holds(low):
        return low
    while not holds(high):
        low, high = high, 2 * high
    return narrowed(holds, low, min(high, float(n)), relative=1e-4)[1]


def _log_delta(n: int, flip: Fraction, clone: Fraction, epsilon: Real) -> LogBounds:
    """Bound ln of the mean of delta_C over the number of clones C ~ Bin(n - 1, clone)."""
    if at_most(LogRatio((1 - flip) / flip), epsilon):
        return LOG_ZERO
    mean = float((n - 1) * clone)
    reach = _NATS + math.sqrt(2 * _NATS * (mean + 1)) * 1.1
    low, high = max(0, math.floor(mean - reach)), min(n - 1, math.ceil(mean + reach))
    hit, miss = clone.numerator, clone.denominator - clone.numerator
    test = _Test.at(flip, epsilon)
    terms = [
        binomial_point(c, n - 1, hit, miss).shifted(test.log_delta(c)) for c in range(low, high + 1)
    ]
    outside = [
        log_binomial_tail(high + 1, n - 1, clone).upper,
        log_binomial_tail(n - low, n - 1, 1 - clone).upper,
    ]
    return LogBounds(
        log_total([term.lower for term in terms]) - 1e-12,
        log_total([*(term.upper for term in terms), *outside]) + 1e-12,
    )


class _Test(NamedTuple):
    """The best test for c fair coins and one bit flipped with probability q.

    Reject where y of the c + 1 bits are 1 and y <= tau (c + 1); then delta is
    g P(A = y) - (E - 1) P(A < y), A ~ Bin(c, 1/2), g = 1 - q - E q.
    """

    tau: float
    log_g: LogBounds
    log_growth_less_one: LogBounds

    @classmethod
    def at(cls, flip: Fraction, epsilon: Real) -> _Test:
        with precision(192):
            q, growth = ball(flip), ball(epsilon).exp()
            g = 1 - q - growth * q
            tau = float(g / ((1 - 2 * q) * (1 + growth)))
            less_one = (growth - 1).log() if epsilon else None
            return cls(
                tau,
                enclose(g.log()),
                LogBounds(-math.inf, -math.inf) if less_one is None else enclose(less_one),
            )

    def log_delta(self, c: int) -> LogBounds:
        threshold = self.tau * (c + 1)
        rounded = math.floor(threshold)
        # A wrong threshold only lowers the value: where rounding may matter, three are tried.
        near = abs(threshold - round(threshold)) < 1e-6
        tries = {rounded, round(threshold) - 1, round(threshold)} if near else {rounded}
        values = [self._at(c, rounded) for rounded in tries if 0 <= rounded <= c]
        if not values:
            return LOG_ZERO
        return largest(values)

    def _at(self, c: int, t: int) -> LogBounds:
        gain = self.log_g.shifted(binomial_point(t, c, 1, 1) if c else LogBounds(0.0, 0.0))
        # P(A <= t - 1) = P(A >= c - t + 1).
        loss = self.log_growth_less_one.shifted(log_binomial_tail(c - t + 1, c, Fraction(1, 2)))
        return LogBounds(
            log_difference_lower(gain.lower, loss.upper) if gain.lower > loss.upper else -math.inf,
            log_difference_upper(gain.upper, loss.lower) if gain.upper > loss.lower else -math.inf,
        )
