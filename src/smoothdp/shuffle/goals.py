"""What a calibration is asked for: the checks that all protocols share."""

from __future__ import annotations

from typing import Literal

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.neighbours import Neighbours
from smoothdp.errors import IncompatibleClaims, InvalidParameter

Method = Literal["exact", "paper"]


def check_method(method: object) -> None:
    """Raise InvalidParameter unless a method is "exact" or "paper"."""
    if method not in ("exact", "paper"):
        raise InvalidParameter(
            expected='method "exact" or "paper"',
            got=f"method={method!r}",
            remedy='Use method="exact"; "paper" is the formula of the literature, to compare',
        )


def require_replace_one(guarantee: Guarantee) -> None:
    """Raise IncompatibleClaims unless a guarantee is about replacing one record."""
    if guarantee.neighbours is not Neighbours.REPLACE_ONE:
        raise IncompatibleClaims(
            expected='neighbours="replace_one"',
            got=guarantee.neighbours.value,
            remedy="The number of users is public here: state the claim for replaced records",
        )
