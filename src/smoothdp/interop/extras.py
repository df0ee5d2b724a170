"""Common ground of the bridges: optional imports, profiles, and floats that round up in binary."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee, stated_guarantee
from smoothdp.errors import IncompatibleClaims, InvalidParameter, MissingExtra
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.parameters.numbers import LogRatio, Real, float_bounds


def library(name: str, *, extra: str) -> Any:
    """Return a module of an optional library, or raise MissingExtra."""
    try:
        return import_module(name)
    except ImportError as error:
        if error.name and error.name.split(".")[0] != name.split(".")[0]:
            raise
        raise MissingExtra(f"working with {extra}", extra) from None


def guarantee_of(item: object) -> Guarantee | None:
    """Return the guarantee that an object is or has; smoothed claims are refused."""
    guarantee = stated_guarantee(item)
    if guarantee is not None and guarantee.is_average:
        raise _smoothed()
    return guarantee


def profile_of(item: object) -> PrivacyProfile:
    """Return the profile of a guarantee, a mechanism, a composition, or a profile."""
    is_average = isinstance(item, Guarantee) and item.is_average
    if is_average or getattr(item, "model", None) is not None:
        raise _smoothed()
    if isinstance(item, PrivacyProfile):
        return item
    maker = getattr(item, "profile", None)
    profile = maker() if callable(maker) and not isinstance(item, type) else None
    if not isinstance(profile, PrivacyProfile):
        raise InvalidParameter(
            expected="something with a privacy profile",
            got=f"{item!r}",
            remedy="Give a guarantee such as ApproxDP(1, delta=1e-6), or a mechanism",
        )
    return profile


def binary_up(value: Real) -> float:
    """Return a float whose binary value is not below an exact number.

    >>> from fractions import Fraction
    >>> binary_up(Fraction(3, 10))
    0.30000000000000004
    """
    if isinstance(value, LogRatio):
        return log_bounds(value.ratio).upper
    upper = float_bounds(value)[1]
    return math.nextafter(0.0, 1.0) if value > 0 and upper == 0.0 else upper


def _smoothed() -> IncompatibleClaims:
    return IncompatibleClaims(
        expected="ordinary differential privacy",
        got="a smoothed claim, which other libraries would take for an ordinary one",
        remedy="Give a guarantee that holds for all data",
    )
