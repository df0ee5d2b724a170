"""Three regions of the line, in whose coordinates a law and its shifted copy are smooth.

For s > 0 the line falls into x < 0, 0 < x < s and x > s, with coordinates u in
x = -e^u, x = s / (1 + e^-u) and x = s + e^u. There ln|x| and ln|x - s| are analytic and
monotone in u, and every noise law is analytic in ln|x| (proofs/divergence-enclosures#4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from smoothdp.exact.balls import special
from smoothdp.exact.balls.special import Ball


class Logs(NamedTuple):
    """ln|x|, ln|x - s| and ln|dx/du|, or their derivatives in u."""

    near: Ball
    far: Ball
    jacobian: Ball


@dataclass(frozen=True)
class Left:
    """x = -e^u."""

    shift: Ball
    has_tail = True

    def logs(self, u: Ball) -> Logs:
        """Return the three logarithms at u."""
        return Logs(u, _log_sum(u, self.shift), u)

    def gap(self, u: Ball) -> Ball:
        """Return ln|x - s| - ln|x|, accurate where it is small."""
        return special.log(1 + self.shift * (-u).exp())

    def slopes(self, u: Ball) -> Logs:
        """Return the derivatives of the three logarithms."""
        unit = special.number(1.0)
        return Logs(unit, 1 / (1 + self.shift * (-u).exp()), unit)

    def limit(self, *, upper: bool) -> tuple[Ball | None, Ball | None]:
        """Return ln|x| and ln|x - s| at the lower end of u, None for -inf."""
        del upper
        return None, self.shift.log()

    def width(self, u: Ball, *, upper: bool) -> Ball:
        """Return the distance of x from the finite end of the region."""
        del upper
        return u.exp()

    def coordinate(self, x: Ball) -> Ball:
        """Return u for an x of the region."""
        return (-x).log()


@dataclass(frozen=True)
class Middle:
    """x = s / (1 + e^-u)."""

    shift: Ball
    has_tail = False

    def logs(self, u: Ball) -> Logs:
        # One of the two from the other keeps complex balls small.
        if special.real(u) > 0:
            rise = special.log(1 + (-u).exp())
            fall = rise + u
        else:
            fall = special.log(1 + u.exp())
            rise = fall - u
        log_shift = self.shift.log()
        return Logs(log_shift - rise, log_shift - fall, log_shift - rise - fall)

    def gap(self, u: Ball) -> Ball:
        return -u

    def slopes(self, u: Ball) -> Logs:
        share = 1 / (1 + (-u).exp())
        share_left = 1 / (1 + u.exp())
        return Logs(share_left, -share, share_left - share)

    def limit(self, *, upper: bool) -> tuple[Ball | None, Ball | None]:
        ends = (None, self.shift.log())
        return (ends[1], ends[0]) if upper else ends

    def width(self, u: Ball, *, upper: bool) -> Ball:
        return self.shift / (1 + (u if upper else -u).exp())

    def coordinate(self, x: Ball) -> Ball:
        return (x / (self.shift - x)).log()


@dataclass(frozen=True)
class Right:
    """x = s + e^u; for s = 0 it stands for both sides of the line."""

    shift: Ball
    has_tail = True

    def logs(self, u: Ball) -> Logs:
        return Logs(_log_sum(u, self.shift) if self.shift > 0 else u, u, u)

    def gap(self, u: Ball) -> Ball:
        return -special.log(1 + self.shift * (-u).exp())

    def slopes(self, u: Ball) -> Logs:
        unit = special.number(1.0)
        return Logs(1 / (1 + self.shift * (-u).exp()), unit, unit)

    def limit(self, *, upper: bool) -> tuple[Ball | None, Ball | None]:
        del upper
        return (self.shift.log() if self.shift > 0 else None), None

    def width(self, u: Ball, *, upper: bool) -> Ball:
        del upper
        return u.exp()

    def coordinate(self, x: Ball) -> Ball:
        return (x - self.shift).log()


def _log_sum(u: Ball, shift: Ball) -> Ball:
    """Return ln(e^u + s), with the larger term outside to keep complex balls small."""
    if special.real(u).exp() > shift:
        return u + special.log(1 + shift * (-u).exp())
    return shift.log() + special.log(1 + u.exp() / shift)


Region = Left | Middle | Right


def regions(shift: Ball) -> tuple[Region, ...]:
    """Return the regions for a shift >= 0; one, to be counted twice, for 0."""
    if shift > 0:
        return Left(shift), Middle(shift), Right(shift)
    return (Right(shift),)
