"""How much a claim leaves open, in numbers that a reader can weigh, and when that is much.

The number is that of a guess: somebody knows all the rest, holds two possibilities for the row to
be equally likely, sees the output and guesses. They are right at most (1 + delta(0)) / 2 of the
time: e^epsilon / (1 + e^epsilon) under pure DP, Phi(mu / 2) under mu-Gaussian DP.

A claim is called weak (a convention, no theorem) if

* epsilon is above 3: odds may change by more than 20 to 1, and that guess may be right more than
  95% of the time, which elsewhere in statistics counts as evidence;
* delta is 1/1000 or more: it may be the chance that all is told of a row, and data have
  thousands of rows;
* delta is 1/n or more, where n is known: publishing one row, drawn at random, with all that it
  holds keeps such a claim;
* without an epsilon in the claim, the guess may be right more often than with epsilon = 3.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from smoothdp.exact.balls.balls import exp_bounds
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.parameters.numbers import Parameter, Real
from smoothdp.privacy.profile import read_delta
from smoothdp.text import number_up, ratio_up

if TYPE_CHECKING:
    from smoothdp.privacy.guarantee import Guarantee

WEAK_EPSILON = Fraction(3)
"""Above it odds may change by more than 20 to 1."""
WEAK_DELTA = Fraction(1, 1000)
WEAK_GUESS = Fraction(9526, 10000)
"""e^3 / (1 + e^3), rounded up."""
_CERTAIN = Fraction(9999, 10000)
_LARGEST_SHOWN = 700


def guess_upper(claim: Guarantee) -> Fraction:
    """Return how often a guess between two equally likely possibilities is right, at most.

    >>> from smoothdp.privacy import PureDP
    >>> 0.7310 < guess_upper(PureDP(1)) < 0.7311
    True
    """
    return min(Fraction(1), (1 + Fraction(claim.profile().delta(0))) / 2)


def strength_words(
    claim: Guarantee,
    *,
    unit: str,
    n_records: int | None = None,
    delta_at_zero: Parameter | None = None,
) -> str:
    """Return what may still be learned about a unit, and a plain warning where that is much.

    ``delta_at_zero`` bounds delta(0) of what is published, where that is known better than by
    the claim: the exact curve of a mechanism often says 54% where (1, 1e-6) says 73%.
    """
    right, reasons = guess_upper(claim), weaknesses(claim, n_records=n_records)
    if delta_at_zero is not None:
        right = min(right, (1 + read_delta(delta_at_zero)) / 2)
    often = f"is right at most {number_up(100 * right)}% of the time"
    if claim.is_average:
        often += " on average"
    if right > _CERTAIN:
        often = "may be right every time"
    said = (
        f"A guess between two equally likely possibilities for {unit}, by somebody who knows all "
        f"the rest, {often}."
    )
    return f"{said} This is weak: {'; '.join(reasons)}." if reasons else said


def weaknesses(claim: Guarantee, *, n_records: int | None = None) -> list[str]:
    """Return why a claim is called weak, in words; none if it is not.

    >>> from smoothdp.privacy import ApproxDP
    >>> weaknesses(ApproxDP(3, delta="1e-6"))
    []
    >>> weaknesses(ApproxDP(4, delta="1e-6"))
    ['epsilon is above 3, so odds may change by more than 20 to 1']
    """
    given = claim.parameters()
    epsilon, delta = given.get("epsilon"), given.get("delta")
    found = []
    if epsilon is None and guess_upper(claim) > WEAK_GUESS:
        found.append("that is more often than the 95.26% of epsilon = 3")
    if epsilon is not None and not at_most(epsilon, WEAK_EPSILON):
        found.append("epsilon is above 3, so odds may change by more than 20 to 1")
    if isinstance(delta, Fraction):
        if delta >= WEAK_DELTA:
            found.append(
                f"delta is {ratio_up(delta)}, no small chance of an output without any promise"
            )
        elif n_records is not None and delta * n_records >= 1:
            found.append(
                "delta is at least 1/n, so publishing one row, drawn at random, could keep it"
            )
    return found


def factor_text(epsilon: Real) -> str:
    """Return e^epsilon, with its value rounded up where floats reach it.

    >>> factor_text(Fraction(1)), factor_text(Fraction(100)), factor_text(Fraction(10**6))
    ('e^1 (2.719)', 'e^100 (2.689e+43)', 'e^1000000')
    """
    from smoothdp.privacy.guarantee import float_up

    exponent = float_up(epsilon)
    text = number_up(exponent)
    power = f"e^({text})" if "e" in text else f"e^{text}"
    if exponent > _LARGEST_SHOWN:
        return power
    return f"{power} ({number_up(exp_bounds(epsilon).upper)})"
