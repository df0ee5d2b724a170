"""One declaration per parameter of a law: tests, documentation and errors come from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction

_DIGITS = 4


@dataclass(frozen=True, slots=True)
class ParameterSpec:
    """A real parameter: every number above ``above`` is meaningful.

    Numbers are computed (accurately, and in reasonable time) within ``reach``.

    >>> spec = ParameterSpec("sigma", "shape", above=0, reach=("1e-4", "30"), typical=("0.4",))
    >>> spec.read(0.4)
    Fraction(2, 5)
    """

    name: str
    meaning: str
    above: int
    reach: tuple[str, str]
    typical: tuple[str, ...]

    def read(self, value: Parameter) -> Fraction:
        """Return the exact value, or raise with the domain and a remedy.

        Raises:
            InvalidParameter: not a number above ``above``.
            OutOfReach: a number outside ``reach``.
        """
        number = exact_fraction(value, name=self.name)
        if number <= self.above:
            raise InvalidParameter(
                expected=f"{self.name} > {self.above}",
                got=f"{self.name}={shown(number)}",
                remedy=f"Give the {self.meaning} a larger value, such as {self.typical[0]}",
            )
        lowest, highest = self.reach
        if not Fraction(lowest) <= number <= Fraction(highest):
            raise OutOfReach(
                expected=f"{self.name} from {lowest} to {highest}, where the law is computed",
                got=f"{self.name}={shown(number)}",
                remedy=f"Give a less extreme {self.name}, such as {self.typical[0]}",
            )
        return number


def short_decimal(value: float) -> Fraction:
    """Return a shape as a decimal of four digits after the first nonzero one.

    >>> short_decimal(0.0123456)
    Fraction(247, 20000)
    """
    places = _DIGITS - min(0, math.floor(math.log10(value)) + 1)
    return Fraction(round(value * 10**places), 10**places)
