"""exact/: numbers kept as logarithms with a direction, and their sums."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_ROUNDING = "tests/rounding/test_logarithms.py"
_SPACE = (_ROUNDING, "tests/oracles/test_tails.py")
_SCALED = (_ROUNDING, "tests/oracles/test_scaled.py")
_BISECTION = (_ROUNDING, "tests/oracles/test_bisection.py")

MUTANTS = (
    Mutant(
        "exact/logspace/bounds.py",
        "return max(SMALLEST_FLOAT, math.nextafter(value * (1.0 + LIBM_ERROR), math.inf))",
        "return max(SMALLEST_FLOAT, value)",
        "an exponential to nearest, not up",
        _SPACE,
    ),
    Mutant(
        "exact/logspace/bounds.py",
        "return max(0.0, math.nextafter(value * (1.0 - LIBM_ERROR), 0.0) - SMALLEST_FLOAT * 8)",
        "return value",
        "an exponential to nearest, not down",
        _SPACE,
    ),
    Mutant(
        "exact/logspace/bounds.py",
        "    if log_value > 709.7:\n        return math.inf",
        "    if log_value > 709.7:\n        return 1.7976931348623157e308",
        "a number beyond floats bounded by the largest float",
        _SPACE,
    ),
    Mutant(
        "exact/logspace/bounds.py",
        "LogBounds(_step_down(self.lower + other.lower), _step_up(self.upper + other.upper))",
        "LogBounds(self.lower + other.lower, self.upper + other.upper)",
        "a product whose sum of logarithms is rounded to nearest",
        _SPACE,
    ),
    Mutant(
        "exact/logspace/bounds.py",
        "slack = correction * (3 * LIBM_ERROR + gap * 2.0**-52)",
        "slack = 0.0",
        "a sum without the slack of its logarithm",
        _SPACE,
    ),
    Mutant(
        "exact/logspace/bounds.py",
        "return _step_up(large + (correction + slack))",
        "return large + (correction + slack)",
        "a sum whose last addition is rounded to nearest (up)",
        _SPACE,
    ),
    Mutant(
        "exact/logspace/bounds.py",
        "return _step_down(large + (correction - slack))",
        "return large + (correction - slack)",
        "a sum whose last addition is rounded to nearest (down)",
        _SPACE,
    ),
    Mutant(
        "exact/logspace/bounds.py",
        "gap = math.nextafter(gap, -math.inf if upward else 0.0)",
        "gap = math.nextafter(gap, 0.0 if upward else -math.inf)",
        "a difference whose gap is stepped inwards",
        _SPACE,
    ),
    Mutant(
        "exact/logspace/bounds.py",
        "slack = LIBM_ERROR * (abs(correction) + 1.0)",
        "slack = 0.0",
        "a difference without the slack of its logarithm",
        _SPACE,
    ),
    Mutant(
        "exact/logspace/log_sums.py",
        "max(b.upper for b in bounds)",
        "min(b.upper for b in bounds)",
        "the least upper bound as that of the largest truth",
        _BISECTION,
    ),
    Mutant(
        "exact/logspace/log_sums.py",
        "for value in logs)) + 1e-13",
        "for value in logs)) + 0.0",
        "a long sum without slack",
        _BISECTION,
    ),
    Mutant(
        "exact/balls/scaled.py",
        "return values, 4 * UNIT_ROUNDOFF * (_largest(values) + 1) + LIBM_ERROR",
        "return values, 0.0",
        "logarithms of scaled numbers said to be exact",
        _SCALED,
    ),
    Mutant(
        "exact/balls/scaled.py",
        "return result, 4 * UNIT_ROUNDOFF * (_largest(logs) + 1) + 2 * LIBM_ERROR",
        "return result, 0.0",
        "exponentials of scaled numbers said to be exact",
        _SCALED,
    ),
    Mutant(
        "exact/logspace/bisection.py",
        "return _float(above)",
        "return _float(below)",
        "the last float at which a claim fails, for the first at which it holds",
        _BISECTION,
    ),
    Mutant(
        "exact/logspace/bisection.py",
        "        if top >= high:\n            return math.inf",
        "        if top >= high:\n            return high",
        "the end of the search where the claim never holds",
        _BISECTION,
    ),
    Mutant(
        "exact/logspace/bisection.py",
        "low, high = (low, middle) if holds(middle) else (middle, high)\n    return low, high",
        "low, high = (middle, high) if holds(middle) else (low, middle)\n    return low, high",
        "the half of the bracket in which nothing changes",
        _BISECTION,
    ),
    Mutant(
        "exact/logspace/bisection.py",
        "else (middle + 1, high)\n    return low",
        "else (middle + 1, high)\n    return low - 1",
        "one less than the least whole number that does",
        _BISECTION,
    ),
)
