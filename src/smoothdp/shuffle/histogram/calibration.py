"""The smallest noise that meets a guarantee: exactly, or as paper 3 has it.

Delta at the returned omission probability is evaluated and meets the guarantee. That the
probability is the smallest rests on delta falling as the probability grows, which was so in every
test for the histogram and is unproved; for a single count delta oscillates by a few percent, so
that the probability is one of the smallest.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import ball, log_bounds, precision
from smoothdp.exact.logspace.bisection import least_integer, smallest_true
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Real, exact_fraction, exact_text, sign
from smoothdp.paper_bounds.balcer_cheu import omission_upper
from smoothdp.shuffle.goals import Method, check_method, require_replace_one
from smoothdp.shuffle.protocol import LARGEST_USERS
from smoothdp.shuffle.users.honest_share import least_honest, least_users

LogDelta = Callable[[int, Fraction, Real], LogBounds]
"""From (n_honest, omission probability, epsilon) to bounds of ln delta."""

_HALF = Fraction(1, 2)
_BELOW_FLOATS = -700.0


def read_goal(guarantee: Guarantee, method: str) -> ApproxDP:
    """Return the guarantee if noise of this kind can meet it, or raise.

    Raises:
        InvalidParameter: not an ApproxDP with 0 < delta < 1; an unknown method.
        IncompatibleClaims: neighbours other than replace_one.
    """
    check_method(method)
    if not isinstance(guarantee, ApproxDP) or not 0 < guarantee.exact_delta < 1:
        raise InvalidParameter(
            expected="ApproxDP(epsilon, delta=) with 0 < delta < 1",
            got=f"{guarantee!r}",
            remedy=(
                "With a positive probability nothing hides a user here, so no pure, Gaussian or "
                "concentrated guarantee holds: give a delta"
            ),
        )
    require_replace_one(guarantee)
    return guarantee


def smallest_omission(
    log_delta: LogDelta,
    n_users: int,
    goal: ApproxDP,
    *,
    share: int,
    method: Method,
    honest_share: Fraction,
) -> Fraction:
    """Return the omission probability gamma in (0, 1/2] for a goal, or raise.

    Args:
        share: in how many parts the paper splits epsilon and delta (2 for a histogram).
        honest_share: the share of the users whose noise alone meets the goal.

    Raises:
        InvalidParameter: too few users; with "paper", epsilon / share above 1.
    """
    honest = least_honest(n_users, honest_share)
    if method == "paper":
        gamma = paper_omission(honest, goal, share=share)
    else:
        gamma = _exact_omission(log_delta, honest, goal)
    if gamma is None:
        needed = smallest_users(
            log_delta, goal, share=share, method=method, honest_share=honest_share
        )
        part = "" if honest_share == 1 else f" and honest_share={exact_text(honest_share)}"
        raise InvalidParameter(
            expected=f"n_users of at least {needed} for this guarantee{part}",
            got=f"n_users={n_users}",
            remedy=(
                "Add users, or raise epsilon or delta"
                + (', or use method="exact"' if method == "paper" else "")
            ),
        )
    return gamma


def _exact_omission(log_delta: LogDelta, n_users: int, goal: ApproxDP) -> Fraction | None:
    def meets(gamma: float) -> bool:
        exact = exact_fraction(gamma, name="omission_probability")
        return exact > 0 and _certain(log_delta(n_users, exact, goal.exact_epsilon), goal)

    # Four times the noise at a time: delta at 1/2 may be far below the goal, and slow.
    sufficient = min(0.5, 1.0 / n_users)
    while not meets(sufficient):
        if sufficient == 0.5:
            return None
        sufficient = min(0.5, 4.0 * sufficient)
    smallest = smallest_true(lambda gamma: gamma >= sufficient or meets(gamma))
    return exact_fraction(min(sufficient, smallest), name="omission_probability")


def read_promise(promise: Guarantee | None, profile: PrivacyProfile) -> ApproxDP | None:
    """Return a promise that the exact profile keeps, or raise InvalidParameter."""
    if promise is None:
        return None
    goal = read_goal(promise, "exact")
    if not is_kept(goal, profile):
        raise InvalidParameter(
            expected=f"a promise with delta of at least {profile.delta(goal.exact_epsilon)} there",
            got=f"{goal!r}",
            remedy="Raise the omission probability: calibrate() finds it",
        )
    return goal


def is_kept(promise: ApproxDP, profile: PrivacyProfile) -> bool:
    """Return whether an exact profile keeps a promise with certainty."""
    return _certain(profile.log_delta_bounds(promise.exact_epsilon), promise)


def _certain(bounds: LogBounds, goal: ApproxDP) -> bool:
    """Whether delta is at most the goal's, as a logarithm and as the float that is printed."""
    if bounds.upper > log_bounds(goal.exact_delta).lower:
        return False
    return bounds.upper < _BELOW_FLOATS or Fraction(bounds.linear()[1]) <= goal.exact_delta


def paper_omission(n_users: int, goal: ApproxDP, *, share: int) -> Fraction | None:
    """Return 50 ln(2/delta') / (epsilon'^2 n), rounded up, with epsilon' = epsilon / share.

    delta' likewise. None above 1/2: then the paper has no protocol.

    Raises:
        InvalidParameter: epsilon' outside (0, 1].
    """
    _check_paper_epsilon(goal, share)
    gamma = omission_upper(n_users, goal.exact_epsilon, goal.exact_delta, divisor=share)
    return Fraction(gamma) if gamma <= 0.5 else None


def _check_paper_epsilon(goal: ApproxDP, share: int) -> None:
    epsilon = goal.exact_epsilon
    with precision(128):
        inside = sign(epsilon) > 0 and bool(ball(epsilon) <= share)
    if not inside:
        raise InvalidParameter(
            expected=f"0 < epsilon <= {share}, as paper 3 assumes",
            got=f"epsilon={goal.epsilon}",
            remedy='Use method="exact", which takes any epsilon > 0',
        )


def smallest_users(
    log_delta: LogDelta, goal: ApproxDP, *, share: int, method: Method, honest_share: Fraction
) -> int:
    """Return the least number of users for which a guarantee can be met.

    The least of which the honest share is enough. "exact": the least number of honest users with
    delta <= goal at gamma = 1/2, where more users are proved to lower delta. "paper": the least
    number >= 100 ln(2/delta') / epsilon'^2.

    Raises:
        InvalidParameter: more than 2^30 users would be needed; with "paper", epsilon' above 1.
    """
    if method == "paper":
        _check_paper_epsilon(goal, share)

    def holds(n: int) -> bool:
        if method == "paper":
            return paper_omission(n, goal, share=share) is not None
        return _certain(log_delta(n, _HALF, goal.exact_epsilon), goal)

    top = 1
    most = LARGEST_USERS if method == "paper" else 1 << 30
    while not holds(top):
        if top >= most:
            raise InvalidParameter(
                expected=f"a guarantee that {most} users can meet",
                got=f"epsilon={goal.epsilon}, delta={goal.delta}",
                remedy="Raise epsilon or delta",
            )
        top = min(most, 4 * top)
    honest = least_integer(holds, max(1, top // 4), top) if top > 1 else 1
    return least_users(honest, honest_share)
