"""mechanisms/release/: the grid, the split of the budget, and error bars."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_GRID = ("tests/rounding/test_release.py",)
_BARS = (*_GRID, "tests/oracles/test_error_bars.py::test_the_interval_by_hand")

MUTANTS = (
    Mutant(
        "mechanisms/release/grid.py",
        "return math.ceil(lower / self.step), math.floor(upper / self.step)",
        "return math.floor(lower / self.step), math.floor(upper / self.step)",
        "a grid that begins below the bounds",
        _GRID,
    ),
    Mutant(
        "mechanisms/release/grid.py",
        "return math.ceil(lower / self.step), math.floor(upper / self.step)",
        "return math.ceil(lower / self.step), math.ceil(upper / self.step)",
        "a grid that ends above the bounds",
        _GRID,
    ),
    Mutant(
        "queries/query.py",
        "near, far, width = max(low, high), low + high, n_records - low - high",
        "near, far, width = 0, low + high, n_records - low - high",
        "a step for more noise than some data lead to",
        _GRID,
    ),
    Mutant(
        "mechanisms/release/grid.py",
        "_exponent_above(max(abs(lower), abs(upper))) - _MANTISSA",
        "_exponent_above(max(abs(lower), abs(upper))) - _MANTISSA - 1",
        "a step so small that values are no floats",
        _GRID,
    ),
    Mutant(
        "mechanisms/release/bars/pivot.py",
        "return smallest_true(enough) * (1 + _ERROR)",
        "return smallest_true(enough) * (1 - _ERROR)",
        "the factor of error bars rounded down",
        _BARS,
    ),
    Mutant(
        "mechanisms/release/bars/pivot.py",
        "return lambda x: 2 * law.survival(x)",
        "return lambda x: law.survival(x)",
        "error bars for one side",
        _BARS,
    ),
    Mutant(
        "mechanisms/release/bars/budget.py",
        "return cost, smoothing / cost",
        "return cost, smoothing / cost * (1 - Fraction(1, 10**12))",
        "noise on ln S that costs a little more than it says",
        _BARS,
    ),
    Mutant(
        "mechanisms/release/bars/budget.py",
        "* (1 + 1e-12))\n    while per_rho * cost * spread**2 < smoothing**2:",
        "* (1 - 1e-12))\n    while False:",
        "normal noise on ln S that costs a little more than it says",
        _BARS,
    ),
    Mutant(
        "mechanisms/release/bars/budget.py",
        "<= _DEAREST * Rule.of(guarantee).epsilon",
        "<= 5 * _DEAREST * Rule.of(guarantee).epsilon",
        "error bars that cost nearly all of the budget",
        _BARS,
    ),
    Mutant(
        "mechanisms/release/bars/error_bars.py",
        "square = per_cost * self.cost * self.spread**2",
        "square = 2 * per_cost * self.cost * self.spread**2",
        "error bars accepted at half their cost in zCDP",
        _BARS,
    ),
    Mutant(
        "mechanisms/release/bars/error_bars.py",
        "self.spread * self.cost >= t if pure",
        "2 * self.spread * self.cost >= t if pure",
        "error bars accepted at half their cost in pure DP",
        _BARS,
    ),
    Mutant(
        "mechanisms/release/bars/ends.py",
        "log_half += float(LOG_STEP) / 2 + _FLOAT_ERROR",
        "log_half += _FLOAT_ERROR",
        "error bars without half a step of ln S",
        _BARS,
    ),
    Mutant(
        "mechanisms/release/bars/ends.py",
        "_LEAST_HALF)) + step / 2",
        "_LEAST_HALF))",
        "error bars without half a step of the value",
        _BARS,
    ),
    Mutant(
        "mechanisms/release/bars/error_bars.py",
        "return float_bounds(lower)[0], float_bounds(upper)[1]",
        "return float_bounds(lower)[1], float_bounds(upper)[0]",
        "the ends of an interval rounded inwards",
        _BARS,
    ),
    Mutant(
        "mechanisms/release/bars/error_bars.py",
        "whole = Fraction(log_bounds(whole.ratio).lower)",
        "whole = Fraction(log_bounds(whole.ratio).upper)",
        "the rest of a logarithmic epsilon rounded up",
        _BARS,
    ),
    Mutant(
        "mechanisms/release/bars/coverage.py",
        "return max(least, lower - shift), min(greatest, upper + shift)",
        "return max(least, lower - shift), min(greatest, upper)",
        "an interval for a mean widened on one side",
        _BARS,
    ),
)
