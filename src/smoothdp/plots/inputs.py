"""What the pictures take: a claim, mechanism or protocol, or the curve itself, by label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from smoothdp.claims.curves.pair import Pair
from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.curves.tradeoff import TradeoffFunction
from smoothdp.errors import InvalidParameter
from smoothdp.plots.canvas import STYLES

if TYPE_CHECKING:
    from collections.abc import Callable


class HasProfile(Protocol):
    """A claim, a mechanism, a protocol, a calibration: whatever has a privacy profile."""

    @property
    def profile(self) -> Callable[..., PrivacyProfile]:
        """`profile()` returns the privacy profile."""


def profile_of(measured: PrivacyProfile | HasProfile) -> PrivacyProfile:
    """Return a profile, or the profile of a claim, mechanism or protocol.

    Raises:
        InvalidParameter: an object without a profile.
    """
    if isinstance(measured, PrivacyProfile):
        return measured
    if not callable(getattr(measured, "profile", None)):
        raise InvalidParameter(
            expected="a privacy profile, or a claim, mechanism or protocol with .profile()",
            got=repr(measured)[:80],
            remedy="Measure at given counts with mechanism.at(counts)",
        )
    return measured.profile()


def tradeoff_of(
    testable: TradeoffFunction | Pair | PrivacyProfile | HasProfile,
) -> TradeoffFunction:
    """Return a trade-off function, or that of a pair, profile, claim, mechanism or protocol."""
    if isinstance(testable, TradeoffFunction):
        return testable
    if isinstance(testable, Pair):
        return testable.tradeoff()
    return profile_of(testable).tradeoff()


def by_label(curves: Any, *, label: str) -> Mapping[str, Any]:
    """Return several curves by label, or one under a label of its own.

    Raises:
        InvalidParameter: none, or more than there are styles to tell apart.
    """
    named = curves if isinstance(curves, Mapping) else {label: curves}
    if not 0 < len(named) <= len(STYLES):
        raise InvalidParameter(
            expected=f"1 to {len(STYLES)} curves in one picture",
            got=len(named),
            remedy="Draw the curves in several pictures",
        )
    return named
