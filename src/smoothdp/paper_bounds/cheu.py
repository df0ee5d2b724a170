"""Cheu, Smith, Ullman, Zeber, Zhilyaev 2019, which paper 5 compares with.

The formulas are theirs as we recall them; that they hold is proved anew
(proofs/random-users#1, #2, #3, #4). Both branches of the choice of lambda meet at lambda = n / 3,
as they should. The exact profile is far below them.
"""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.claims.domains import read_epsilon, read_inner_probability
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import ball, precision, round_up
from smoothdp.exact.logspace.bisection import least_integer, smallest_true
from smoothdp.exact.parameters.numbers import LogRatio, Parameter, exact_int
from smoothdp.paper_bounds.settings import read_random_users

_BITS = 128


def cheu_epsilon(*, n_users: int, expected_random_users: Parameter, delta: Parameter) -> float:
    """Return sqrt(32 ln(4/delta) / L) (1 - L/n), L = lambda - sqrt(2 lambda ln(2/delta)), up.

    The Boolean sum is (epsilon, delta)-DP for lambda >= 14 ln(4/delta). Verdict: holds
    (proofs/random-users#2), and is several times the exact epsilon.

    Args:
        n_users: n; expected_random_users: lambda in (0, n); delta: in (0, 1).

    Returns:
        inf where the condition on lambda does not hold.

    Raises:
        InvalidParameter: arguments outside these domains.

    >>> round(cheu_epsilon(n_users=1000, expected_random_users=400, delta="1e-6"), 6)
    0.913073
    """
    setting = read_random_users(n_users, expected_random_users)
    exact_delta = read_inner_probability(delta)
    return _epsilon(setting.n_users, setting.random_users, exact_delta)


def _epsilon(n: int, users: Fraction, exact_delta: Fraction) -> float:
    with precision(_BITS):
        log_four, log_two = (ball(LogRatio(c / exact_delta)) for c in (Fraction(4), Fraction(2)))
        size = ball(users)
        if not size >= 14 * log_four:
            return math.inf
        least = size - (2 * size * log_two).sqrt()
        return round_up((32 * log_four / least).sqrt() * (1 - least / n))


def cheu_delta(*, n_users: int, expected_random_users: Parameter, epsilon: Parameter) -> float:
    """Return the smallest delta, rounded up, with `cheu_epsilon` <= epsilon; 1 if there is none.

    Args:
        n_users: n; expected_random_users: lambda in (0, n); epsilon: >= 0.

    Raises:
        InvalidParameter: arguments outside these domains.

    >>> round(cheu_delta(n_users=100, expected_random_users=58, epsilon="0.9"), 3)
    0.188
    """
    setting = read_random_users(n_users, expected_random_users)
    goal = float(read_epsilon(epsilon))

    def holds(delta: float) -> bool:
        if delta >= 1.0:
            return True
        return _epsilon(setting.n_users, setting.random_users, Fraction(delta)) <= goal

    return smallest_true(holds, low=1e-300)


def cheu_random_users(*, n_users: int, epsilon: Parameter, delta: Parameter) -> float:
    """Return the smallest lambda, rounded up, with `cheu_epsilon` <= epsilon; inf if none.

    Args:
        n_users: n; epsilon: >= 0; delta: in (0, 1).

    Raises:
        InvalidParameter: arguments outside these domains.

    >>> round(cheu_random_users(n_users=1000, epsilon=1, delta="1e-6"), 1)
    366.9
    """
    n = exact_int(n_users, name="n_users", minimum=1)
    goal, exact_delta = float(read_epsilon(epsilon)), read_inner_probability(delta)

    def holds(users: float) -> bool:
        return users < n and _epsilon(n, Fraction(users), exact_delta) <= goal

    # The bound falls with lambda: with 1/L and with 1 - L/n.
    if not holds(math.nextafter(float(n), 0.0)):
        return math.inf
    return smallest_true(lambda users: users >= n or holds(users))


def cheu_fixed_set_epsilon(*, n_random_users: int, delta: Parameter) -> float:
    """Return ln(1 + sqrt(32 ln(4/delta) / h)), rounded up: Claim C.1 of paper 5 for |H| = h.

    The sum in which the users of H are random is (epsilon, delta/2)-DP for h > 8 ln(4/delta)
    (proofs/random-users#1); paper 5 prints (epsilon, delta/2) as a trade-off function and no more.

    Args:
        n_random_users: h >= 1; delta: in (0, 1).

    Returns:
        inf where the condition on h does not hold.

    Raises:
        InvalidParameter: arguments outside these domains.

    >>> round(cheu_fixed_set_epsilon(n_random_users=50, delta="0.05"), 6)
    0.983823
    """
    size = exact_int(n_random_users, name="n_random_users", minimum=1)
    exact_delta = read_inner_probability(delta)
    with precision(_BITS):
        log_four = ball(LogRatio(4 / exact_delta))
        if not size > 8 * log_four:
            return math.inf
        return round_up((1 + (32 * log_four / size).sqrt()).log())


def cheu_choice(*, n_users: int, epsilon: Parameter, delta: Parameter) -> float:
    """Return the lambda that they choose: 64 ln(4/delta) / epsilon^2, or its large-n branch.

    64 l / epsilon^2 if epsilon >= sqrt(192 l / n), else n - epsilon n^(3/2) / sqrt(432 l), with
    l = ln(4/delta). `cheu_epsilon` is below epsilon there if it applies and, in the second case,
    epsilon >= sqrt(3456) l / n (proofs/random-users#4).

    Args:
        n_users: n; epsilon: > 0; delta: in (0, 1).

    Raises:
        InvalidParameter: arguments outside these domains.

    >>> round(cheu_choice(n_users=10**6, epsilon=1, delta="1e-6"), 2)
    972.92
    """
    n = exact_int(n_users, name="n_users", minimum=1)
    goal, exact_delta = float(read_epsilon(epsilon)), read_inner_probability(delta)
    if goal == 0.0:
        raise InvalidParameter(expected="epsilon > 0", got="epsilon=0", remedy="Raise epsilon")
    return chosen_users(n, goal, float(LogRatio(4 / exact_delta)))


def chosen_users(n_users: int, epsilon: float, log_four: float) -> float:
    """Return `cheu_choice` from log_four = ln(4 / delta), which may belong to any delta > 0."""
    if epsilon >= math.sqrt(192 * log_four / n_users):
        return 64 * log_four / epsilon**2
    return float(n_users - epsilon * n_users**1.5 / math.sqrt(432 * log_four))


def allowed_users(n_users: int, epsilon: float, log_four: float) -> float:
    """Return `chosen_users`, raised to 14 log_four where few would do; inf where none is allowed.

    `cheu_epsilon` asks for 14 ln(4 / delta) <= lambda < n.
    """
    if epsilon <= 0.0:
        return math.inf
    users, least = chosen_users(n_users, epsilon, log_four), 14 * log_four
    if users < least:
        if epsilon < math.sqrt(192 * log_four / n_users):
            return math.inf
        users = least
    return users if users < n_users else math.inf


def least_n_users(epsilon: float, log_four: float) -> int:
    """Return the smallest n for which, and beyond which, `allowed_users` has an answer."""
    if epsilon <= 0.0:
        return 0
    low, high = 1, 2
    while allowed_users(high, epsilon, log_four) == math.inf:
        low, high = high, high * 2
    return least_integer(lambda n: allowed_users(n, epsilon, log_four) < math.inf, low + 1, high)
