"""Numbers kept as natural logarithms, with a direction.

A probability such as 1e-5000 is a float here: its logarithm. Whatever is turned back
into a float is rounded outwards, and a positive number never becomes 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from smoothdp.errors import Contradiction

SMALLEST_FLOAT = 5e-324
"""The smallest positive float: what a positive number below it is rounded up to."""

# numpy's and math's exp, log, log1p and expm1 are assumed to be within 4 ulp
# (checked by the test suite on import); one ulp is at most 2^-52 of the value.
LIBM_ERROR = 4 * 2.0**-52
UNIT_ROUNDOFF = 2.0**-53


class LogBounds(NamedTuple):
    """Natural logarithms around a truth: lower <= ln(truth) <= upper; zero is -inf."""

    lower: float
    upper: float

    def shifted(self, other: LogBounds) -> LogBounds:
        """Return bounds of the product of the two truths."""
        return LogBounds(_step_down(self.lower + other.lower), _step_up(self.upper + other.upper))

    def met(self, other: LogBounds) -> LogBounds:
        """Return what two enclosures of one truth have in common.

        Raises:
            Contradiction: they have nothing in common, so one of them is false.

        >>> LogBounds(-2.0, -1.0).met(LogBounds(-1.5, 0.0))
        LogBounds(lower=-1.5, upper=-1.0)
        """
        common = LogBounds(max(self.lower, other.lower), min(self.upper, other.upper))
        if not (common.lower <= common.upper and self.lower <= self.upper):
            raise Contradiction(
                expected="two enclosures of one number that meet",
                got=f"ln within {tuple(self)} and within {tuple(other)}",
                remedy="Report it with the call: the fault is ours, and no figure is given",
            )
        return common

    def linear(self) -> tuple[float, float]:
        """Return floats (lower, upper) around the truth itself, rounded outwards.

        >>> LogBounds(-20000.0, -19999.0).linear()
        (0.0, 5e-324)
        """
        return exp_lower(self.lower), exp_upper(self.upper)


LOG_ZERO = LogBounds(-math.inf, -math.inf)
LOG_ONE = LogBounds(0.0, 0.0)


def _step_down(value: float) -> float:
    return value if math.isinf(value) else math.nextafter(value, -math.inf)


def _step_up(value: float) -> float:
    return value if math.isinf(value) else math.nextafter(value, math.inf)


def exp_upper(log_value: float) -> float:
    """Return a float not below e^log_value; 0 only for -inf."""
    if log_value == -math.inf:
        return 0.0
    if log_value == 0.0:
        return 1.0
    if log_value > 709.7:
        return math.inf
    value = math.exp(log_value)
    return max(SMALLEST_FLOAT, math.nextafter(value * (1.0 + LIBM_ERROR), math.inf))


def exp_lower(log_value: float) -> float:
    """Return a float not above e^log_value."""
    if log_value == -math.inf:
        return 0.0
    if log_value == 0.0:
        return 1.0
    if log_value > 709.7:
        return 1.7976931348623157e308
    value = math.exp(log_value)
    return max(0.0, math.nextafter(value * (1.0 - LIBM_ERROR), 0.0) - SMALLEST_FLOAT * 8)


def log_sum_upper(first: float, second: float) -> float:
    """Return a float not below ln(e^first + e^second)."""
    return _log_sum(first, second, upward=True)


def log_sum_lower(first: float, second: float) -> float:
    """Return a float not above ln(e^first + e^second)."""
    return _log_sum(first, second, upward=False)


def _log_sum(first: float, second: float, *, upward: bool) -> float:
    large, small = max(first, second), min(first, second)
    if small == -math.inf:
        return large
    gap = large - small
    correction = math.log1p(math.exp(-gap))
    # Rounding the gap moves its exponential by gap * 2^-53 relative.
    slack = correction * (3 * LIBM_ERROR + gap * 2.0**-52)
    if upward:
        return _step_up(large + (correction + slack))
    return _step_down(large + (correction - slack))


def log_difference_upper(first: float, second: float) -> float:
    """Return a float not below ln(e^first - e^second), for first >= second."""
    return _log_difference(first, second, upward=True)


def log_difference_lower(first: float, second: float) -> float:
    """Return a float not above ln(e^first - e^second), for first >= second."""
    return _log_difference(first, second, upward=False)


def _log_difference(first: float, second: float, *, upward: bool) -> float:
    if second == -math.inf:
        return first
    gap = second - first
    if gap >= 0.0:
        return -math.inf
    # The rounding of the subtraction moves the gap by one unit: step it outwards.
    gap = math.nextafter(gap, -math.inf if upward else 0.0)
    if gap == 0.0:
        return -math.inf
    remainder = -math.expm1(gap)
    remainder *= 1.0 + (LIBM_ERROR if upward else -LIBM_ERROR)
    correction = math.log(remainder)
    slack = LIBM_ERROR * (abs(correction) + 1.0)
    if upward:
        return _step_up(first + min(0.0, correction + slack))
    return _step_down(first + (correction - slack))
