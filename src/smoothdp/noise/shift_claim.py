"""The largest shift at which a noise law keeps a promise: what is claimed, or why not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.parameters.numbers import Parameter, Real, exact_fraction
from smoothdp.sources import Source

LABELS = ("proved", "certified", "numerical")
"""Strongest first: a proof, a computation in balls, and a computation in plain floats."""

_DIGITS = 12


@dataclass(frozen=True, slots=True)
class ShiftClaim:
    """The largest shift s: noise (S / s) Z meets the guarantee wherever S is smooth.

    Attributes:
        exact_shift: a shift that meets it; every smaller one does.
        upper: a shift that no exact analysis can exceed (refuted, or an upper bound that
            is proved), None if nothing is known.
        label: "proved", "certified" or "numerical": how ``exact_shift`` is known.
        source: where the argument comes from.
        reason: the theorem or the route, in a few words.
    """

    exact_shift: Fraction
    upper: Fraction | None
    label: str
    source: Source
    reason: str

    @property
    def relative_gap(self) -> float:
        """(upper - s) / s, rounded up; inf if there is no upper value."""
        if self.upper is None:
            return float("inf")
        gap = (self.upper - self.exact_shift) / self.exact_shift
        return max(0.0, float(gap) * (1 + 1e-15))


def read_smoothing(smoothing: Parameter) -> Fraction:
    """Return an exact t >= 0; 0 is global sensitivity.

    Raises:
        InvalidParameter: anything else.
    """
    t = exact_fraction(smoothing, name="smoothing")
    if t < 0:
        raise InvalidParameter(
            expected="smoothing >= 0",
            got=f"smoothing={shown(t)}",
            remedy="Give a smoothing, such as 0.1",
        )
    return t


def below(value: float) -> Fraction:
    """Return a rational of 12 decimal digits, not above a positive float: quick to compute with.

    >>> below(0.1234567890123456)
    Fraction(30864197253, 250000000000)
    """
    exponent = _DIGITS - 1 - math.floor(math.log10(value))
    scale = Fraction(10) ** exponent
    return Fraction(math.floor(Fraction(value) * scale)) / scale


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
