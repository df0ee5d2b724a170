"""The numbers that a release can have as its value: a grid that is chosen without the values.

So a rounded value keeps every guarantee of the ideal one (proofs/the-released-number#1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction, exact_text
from smoothdp.noise.calibration import Calibration
from smoothdp.noise.joint.max_law import MaxLawCalibration
from smoothdp.noise.law import NoiseDistribution
from smoothdp.queries.read_arguments import Bounds
from smoothdp.queries.statistic import Statistic

_FINER = 30
"""The default step is 2^-30 of the least standard deviation, if doubles allow it."""
_MANTISSA = 53
_SMALLEST_EXPONENT = -1074
_SHORT = 6
_LARGEST_FLOAT = Fraction(math.nextafter(math.inf, 0.0))


@dataclass(frozen=True, slots=True)
class OutputGrid:
    """The multiples of ``step`` within ``bounds``: all values that can come out.

    Attributes:
        step: the distance of two neighbouring values, > 0.
        bounds: results outside are replaced by the nearest value inside; None: as far as
            floats reach.
        whole: whether values are ints; the step must then be a whole number.

    Raises:
        InvalidParameter: there is no multiple of the step inside the bounds.

    >>> OutputGrid(Fraction(1, 10), (Fraction(1, 3), Fraction(2))).limits()
    (4, 20)
    """

    step: Fraction
    bounds: Bounds | None = None
    whole: bool = False

    def __post_init__(self) -> None:
        lowest, highest = self.limits()
        if lowest > highest and self.bounds is not None:
            lower, upper = map(exact_text, self.bounds)
            raise InvalidParameter(
                expected="a multiple of the output's step within the bounds",
                got=f"step={exact_text(self.step)}, bounds=({lower}, {upper})",
                remedy="Round to smaller steps, widen the bounds, or shift the data towards 0",
            )

    def limits(self) -> tuple[int, int]:
        """Return the least and the largest value, in steps."""
        lower, upper = self.bounds or (-_LARGEST_FLOAT, _LARGEST_FLOAT)
        return math.ceil(lower / self.step), math.floor(upper / self.step)

    def number(self, index: int) -> float | int:
        """Return a value: an int if the grid is one of ints, else the nearest float."""
        value = index * self.step
        return int(value) if self.whole else float(value)

    def describe(self) -> str:
        """Return the grid in words."""
        text = exact_text(self.step)
        exponent = self.step.numerator.bit_length() - self.step.denominator.bit_length()
        if len(text) > _SHORT and self.step == Fraction(2) ** exponent:
            text = f"2^{exponent}"
        return f"rounded to a multiple of {text}"


def read_step(round_to: Parameter) -> Fraction:
    """Return the step that the caller wants, > 0; raises InvalidParameter otherwise."""
    step = exact_fraction(round_to, name="round_to")
    if step <= 0 or not Fraction(1, 10**300) <= step <= 10**300:
        raise InvalidParameter(
            expected="round_to between 1e-300 and 1e300",
            got=f"round_to={round_to}",
            remedy="Give round_to=1 for whole numbers, 0.01 for two decimals",
        )
    return step


def default_step(
    query: Statistic, calibration: Calibration[NoiseDistribution], n_records: int | None
) -> Fraction:
    """Return a power of two: about 2^-30 of the least noise that any data lead to.

    The step is coarser where the grid within the bounds would not consist of floats. The step
    depends on the query, the noise and n alone.
    """
    least = query.log_least_sensitivity(calibration.smoothing, n_records)
    return step_for(query.bounds, calibration, least)


def pair_step(query: Statistic, calibration: MaxLawCalibration, n_records: int | None) -> Fraction:
    """Return the step for the max law, whose noise is in units of the sensitivity."""
    least = query.log_least_sensitivity(calibration.smoothing, n_records)
    spread = math.log(calibration.moment("square")) / 2
    return step_below(query.bounds, None if least is None else least + spread)


def step_for(
    bounds: Bounds, calibration: Calibration[NoiseDistribution], log_least: float | None
) -> Fraction:
    """Return the default step for values within bounds, from ln of the least sensitivity."""
    if log_least is None:
        return step_below(bounds, None)
    spread = math.log(_spread(calibration.law)) - math.log(calibration.shift)
    return step_below(bounds, log_least + spread)


def step_below(bounds: Bounds, log_noise: float | None) -> Fraction:
    """Return a power of two: about 2^-30 of the noise, and no finer than floats in the bounds.

    >>> step_below((Fraction(0), Fraction(100)), 0.0) == Fraction(1, 2**30)
    True
    """
    finest = finest_step(bounds)
    if log_noise is None:
        return finest
    exponent = math.floor(log_noise / math.log(2)) - _FINER
    return max(Fraction(2) ** max(exponent, _SMALLEST_EXPONENT), finest)


def finest_step(bounds: Bounds) -> Fraction:
    """Return the least power of two whose multiples within the bounds are all floats.

    >>> finest_step((Fraction(0), Fraction(3))) == Fraction(1, 2**51)
    True
    """
    lower, upper = bounds
    exponent = _exponent_above(max(abs(lower), abs(upper))) - _MANTISSA
    return Fraction(2) ** max(exponent, _SMALLEST_EXPONENT)


def _spread(law: NoiseDistribution) -> float:
    """Return the standard deviation of a law, or where it is infinite the 84% quantile."""
    variance = law.variance
    return math.sqrt(variance) if math.isfinite(variance) else law.quantile(0.84)


def _exponent_above(value: Fraction) -> int:
    """Return the least e with 2^e >= value > 0."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length() - 1
    while Fraction(2) ** exponent < value:
        exponent += 1
    return exponent
