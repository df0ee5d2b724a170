"""Amounts that add up exactly: a rational number plus the logarithm of one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from smoothdp.errors import InvalidData
from smoothdp.exact.balls.balls import ball, precision, round_down, round_up
from smoothdp.exact.balls.compare import at_most, float_up
from smoothdp.exact.parameters.numbers import LogRatio, Real, exact_fraction, exact_text

# Longer sums are rounded up, rationals to so many bits.
_LONGEST = 20_000
_KEPT = 512
_BITS = 256


@dataclass(frozen=True, slots=True)
class Amount:
    """The number rational + ln(ratio), exactly: so ln 3 spent of a budget of ln 3 just fits.

    Sums longer than 20,000 bits, and than both terms, are rounded up: at most to a float.

    >>> third = Amount.of(Fraction(1, 3))
    >>> (third + third + third).at_most(Amount.of(Fraction(1)))
    True
    """

    rational: Fraction = Fraction(0)
    ratio: Fraction = Fraction(1)

    @classmethod
    def of(cls, value: Real) -> Amount:
        """Return an exact number as an amount."""
        return cls(ratio=value.ratio) if isinstance(value, LogRatio) else cls(value)

    @classmethod
    def parse(cls, text: str) -> Amount:
        """Return the amount that `text` wrote.

        Raises:
            InvalidData: text that is no amount.
        """
        rational, separator, ratio = text.partition(" + ln ")
        try:
            parts = exact_fraction(rational, name="amount"), Fraction(1)
            if separator:
                parts = parts[0], exact_fraction(ratio, name="ratio")
        except ValueError:
            parts = Fraction(0), Fraction(0)
        if not parts[1] > 0:
            raise InvalidData(
                expected="an amount as text, such as 3/10 or 1/2 + ln 3",
                got=f"{text[:40]!r}",
                remedy="Copy an amount as a ledger or a budget prints it",
            )
        return cls(*parts)

    def text(self) -> str:
        """Return the amount as text that reads back exactly."""
        rational = exact_text(self.rational)
        return rational if self.ratio == 1 else f"{rational} + ln {exact_text(self.ratio)}"

    def __add__(self, other: Amount) -> Amount:
        rational = _shorter(self.rational + other.rational, self.rational, other.rational)
        ratio = self.ratio * other.ratio
        if _length(ratio) > max(_LONGEST, _length(self.ratio), _length(other.ratio)):
            with precision(_BITS):
                rational += Fraction(round_up(ball(LogRatio(ratio))))
            ratio = Fraction(1)
        return Amount(rational, ratio)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.rational - other.rational, self.ratio / other.ratio)

    def times(self, count: int) -> Amount:
        """Return the sum of ``count`` such amounts."""
        return Amount(self.rational * count, self.ratio**count)

    def at_most(self, other: Amount) -> bool:
        """Return whether this is at most the other, decided exactly."""
        ratio = self.ratio / other.ratio
        gap = other.rational - self.rational
        return gap >= 0 if ratio == 1 else at_most(LogRatio(ratio), gap)

    def upper(self) -> Real:
        """Return the number itself where it is a rational or a logarithm, else one above."""
        plain = self._plain()
        return self._rounded(up=True) if plain is None else plain

    def lower(self) -> Real:
        """Return the number itself where it is a rational or a logarithm, else one below."""
        plain = self._plain()
        return self._rounded(up=False) if plain is None else plain

    def float_upper(self) -> float:
        """Return a float not below the amount."""
        return float_up(self.upper())

    def _plain(self) -> Real | None:
        if self.ratio == 1:
            return self.rational
        return LogRatio(self.ratio) if self.rational == 0 else None

    def _rounded(self, *, up: bool) -> Fraction:
        with precision(_BITS):
            total = ball(self.rational) + ball(LogRatio(self.ratio))
            return Fraction(round_up(total) if up else max(0.0, round_down(total)))


ZERO = Amount()


def _length(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _shorter(total: Fraction, first: Fraction, second: Fraction) -> Fraction:
    """Return a sum, rounded up if it got much longer than both of its terms."""
    length = total.denominator.bit_length()
    longest = max(first.denominator.bit_length(), second.denominator.bit_length())
    if length <= max(_LONGEST, longest):
        return total
    shift = max(0, _KEPT + length - total.numerator.bit_length())
    return Fraction(-((-total.numerator << shift) // total.denominator), 1 << shift)
