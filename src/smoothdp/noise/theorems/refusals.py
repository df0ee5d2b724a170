"""Why a law cannot keep a promise: one error per reason."""

from __future__ import annotations

from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.parameters.numbers import Real


def not_in_the_papers(law: object, guarantee: object, statement: str) -> InvalidParameter:
    """The papers state nothing about this law and this guarantee."""
    return InvalidParameter(
        expected=f"a guarantee that the papers prove for this law ({statement})",
        got=f"{law!r} and {guarantee!r}",
        remedy='Use method="exact", or another law',
    )


def outside_the_theorem(condition: str, law: object) -> InvalidParameter:
    """The printed theorem is about other shapes."""
    return InvalidParameter(
        expected=condition,
        got=f"{law!r}",
        remedy='Use method="closed_form" or "exact", or another shape',
    )


def false_as_printed(law: object, statement: str, why: str) -> InvalidParameter:
    """The printed theorem is false, and gives no guarantee."""
    return InvalidParameter(
        expected="a theorem that holds as it is printed",
        got=f"{law!r}, about which {statement} is false ({why})",
        remedy='Use method="closed_form", which has it as it should read, or "exact"',
    )


def no_room(condition: str, law: object, smoothing: Real, remedy: str) -> InvalidParameter:
    """The dilation alone spends the whole guarantee."""
    return InvalidParameter(
        expected=condition, got=f"smoothing={shown(smoothing)} with {law!r}", remedy=remedy
    )


def unbounded_loss(law: object, tail: str) -> InvalidParameter:
    """Pure DP with a tail that falls faster than every power."""
    return InvalidParameter(
        expected="a law with a power tail, for pure DP under smooth sensitivity",
        got=f"{law!r}, whose {tail} tail loses without bound under a dilation, however small",
        remedy="Use PolyPlace, StudentT or GeneralizedCauchy, or ask for zCDP or approximate DP",
    )


def no_exact_shift(law: object) -> InvalidParameter:
    """Pure DP for a law whose worst loss is not known here."""
    return InvalidParameter(
        expected="a law whose exact pure-DP shift is proved",
        got=f"{law!r}",
        remedy="Use PolyPlace, StudentT or GeneralizedCauchy",
    )
