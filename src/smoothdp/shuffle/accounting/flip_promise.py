"""Whether a total of flipped bits keeps a promise: decided by its exact profile."""

from __future__ import annotations

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.terms import EpsilonTerms, MuTerms
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.parameters.numbers import float_bounds
from smoothdp.shuffle.accounting.flip_mu import is_mu_at_most, mu_at
from smoothdp.shuffle.accounting.flip_profile import FlipProfile, certified_limit
from smoothdp.shuffle.goals import require_replace_one


def check_kind(guarantee: object) -> None:
    """Raise unless a guarantee is of a kind that flipped bits can keep.

    Raises:
        InvalidParameter: not PureDP, ApproxDP or GaussianDP.
        IncompatibleClaims: neighbours other than replace_one.
    """
    terms = guarantee.terms() if isinstance(guarantee, Guarantee) else None
    if not isinstance(guarantee, Guarantee) or not isinstance(terms, EpsilonTerms | MuTerms):
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

    >>> from fractions import Fraction
    >>> from smoothdp.claims import ApproxDP
    >>> profile = FlipProfile(Fraction(29, 100), 1, 99)
    >>> keeps(profile, ApproxDP("0.3", delta="6e-5")), keeps(profile, ApproxDP("0.3", delta="5e-5"))
    (True, False)
    """
    terms = promise.terms()
    if isinstance(terms, MuTerms):
        return is_mu_at_most(
            float_bounds(terms.mu)[0],
            flip=profile.flip,
            n_bits=profile.n_bits,
            n_others=profile.n_others,
        )
    assert isinstance(terms, EpsilonTerms)
    if at_most(profile.pure_epsilon, terms.epsilon):
        return True
    if terms.delta in (0, 1):
        return terms.delta == 1
    return profile.violation(terms.epsilon, log_bounds(terms.delta).lower) is None


def is_certified(profile: FlipProfile, promise: Guarantee) -> bool:
    """Return whether a promise that is kept may stand in for a search of delta.

    A promise may if delta is proved so far below the promised delta that, as a float rounded up,
    the proved bound is not above the promised one.
    """
    terms = promise.terms()
    if not isinstance(terms, EpsilonTerms) or not 0 < terms.delta < 1:
        return False
    return profile.violation(terms.epsilon, certified_limit(terms.delta)) is None


def false_promise(profile: FlipProfile, promise: Guarantee) -> InvalidParameter:
    """Return the error that says which figures the profile has instead."""
    terms = promise.terms()
    if isinstance(terms, MuTerms):
        # Of others that hold zeros only: the worst data have as much or more.
        lower = mu_at(profile.n_others, 0, flip=profile.flip, n_bits=profile.n_bits).lower
        truth = f"mu above {lower}"
    elif isinstance(terms, EpsilonTerms) and terms.delta > 0:
        truth = f"delta of at least {profile.delta(terms.epsilon)} there"
    else:
        truth = f"epsilon of at least {profile.epsilon(0)}"
    return InvalidParameter(
        expected=f"a promise that the exact profile keeps: {truth}",
        got=f"{promise!r}",
        remedy="Promise less, or raise expected_random_users: calibrate() finds it",
    )
