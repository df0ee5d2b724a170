"""Whether a total of flipped bits keeps a promise: decided by its exact profile."""

from __future__ import annotations

from fractions import Fraction

from smoothdp.claims.guarantees.gaussian import GaussianDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP, PureDP
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls import log_bounds
from smoothdp.exact.curves import at_most
from smoothdp.exact.parameters import float_bounds
from smoothdp.shuffle.accounting.flip_mu import is_mu_at_most, mu_at
from smoothdp.shuffle.accounting.flip_profile import FlipProfile, certified_limit
from smoothdp.shuffle.goals import require_replace_one

KINDS = (PureDP, ApproxDP, GaussianDP)
"""What a total of flipped bits can promise."""


def check_kind(guarantee: object) -> None:
    """Raise unless a guarantee is of a kind that flipped bits can keep.

    Raises:
        InvalidParameter: not PureDP, ApproxDP or GaussianDP.
        IncompatibleClaims: neighbours other than replace_one.
    """
    if not isinstance(guarantee, KINDS):
        raise InvalidParameter(
            expected="PureDP, ApproxDP or GaussianDP",
            got=type(guarantee).__name__ if isinstance(guarantee, Guarantee) else repr(guarantee),
            remedy="Give promise=ApproxDP(epsilon, delta=), or a PureDP or GaussianDP",
        )
    require_replace_one(guarantee)


def keeps(profile: FlipProfile, promise: Guarantee) -> bool:
    """Return whether the certified profile lies below a promise; False where that is not proved.

    Pure: r ln((1 - q) / q) <= epsilon, decided exactly. Approximate: delta(epsilon) for every
    data set of the others, by the cover that calibration uses. Gaussian: the certified mu.

    >>> profile = FlipProfile(Fraction(29, 100), 1, 99)
    >>> keeps(profile, ApproxDP("0.3", delta="6e-5")), keeps(profile, ApproxDP("0.3", delta="5e-5"))
    (True, False)
    """
    if isinstance(promise, GaussianDP):
        return is_mu_at_most(
            float_bounds(promise.exact_mu)[0],
            flip=profile.flip,
            n_bits=profile.n_bits,
            n_others=profile.n_others,
        )
    assert isinstance(promise, PureDP | ApproxDP)
    if at_most(profile.pure_epsilon, promise.exact_epsilon):
        return True
    delta = Fraction(0) if isinstance(promise, PureDP) else promise.exact_delta
    if delta == 0:
        return False
    if delta == 1:
        return True
    return profile.violation(promise.exact_epsilon, log_bounds(delta).lower) is None


def is_certified(profile: FlipProfile, promise: Guarantee) -> bool:
    """Return whether a promise that is kept may stand in for a search of delta.

    A promise may if delta is proved so far below the promised delta that, as a float rounded up,
    the proved bound is not above the promised one.
    """
    if not isinstance(promise, ApproxDP) or not 0 < promise.exact_delta < 1:
        return False
    limit = certified_limit(promise.exact_delta)
    return profile.violation(promise.exact_epsilon, limit) is None


def false_promise(profile: FlipProfile, promise: Guarantee) -> InvalidParameter:
    """Return the error that says which figures the profile has instead."""
    if isinstance(promise, GaussianDP):
        # Of others that hold zeros only: the worst data have as much or more.
        lower = mu_at(profile.n_others, 0, flip=profile.flip, n_bits=profile.n_bits).lower
        truth = f"mu above {lower}"
    elif isinstance(promise, ApproxDP) and promise.exact_delta > 0:
        truth = f"delta of at least {profile.delta(promise.exact_epsilon)} there"
    else:
        truth = f"epsilon of at least {profile.epsilon(0)}"
    return InvalidParameter(
        expected=f"a promise that the exact profile keeps: {truth}",
        got=f"{promise!r}",
        remedy="Promise less, or raise expected_random_users: calibrate() finds it",
    )
