"""exact/: from balls and exact numbers to floats."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_BALLS = ("tests/rounding/test_balls.py", "tests/oracles/test_gaussian_profile.py")
_CURVES = ("tests/rounding/test_balls.py", "tests/oracles/test_gaussian_profile.py")
_LAWS = ("tests/rounding/test_balls.py", "tests/oracles/test_noise_laws_in_balls.py")
# Of two errors that a ball gets beside those of its arithmetic.
_BELOW_PRECISION = (
    "Points and coefficients are chosen so that this error is below e^-4 units of the working "
    "precision, whatever it is; the sum is formed at that precision, whose own radius is larger."
)

MUTANTS = (
    Mutant(
        "exact/balls/balls.py",
        "return as_float if arb(as_float) <= lower else math.nextafter(as_float, -math.inf)",
        "return as_float",
        "the lower end of a ball to nearest",
        _BALLS,
    ),
    Mutant(
        "exact/balls/balls.py",
        "return as_float if arb(as_float) >= upper else math.nextafter(as_float, math.inf)",
        "return as_float",
        "the upper end of a ball to nearest",
        _BALLS,
    ),
    Mutant(
        "exact/balls/balls.py",
        "return LogBounds(sys.float_info.max, math.inf)",
        "return LogBounds(sys.float_info.max, sys.float_info.max)",
        "e^x beyond floats bounded by the largest float",
        _BALLS,
    ),
    Mutant(
        "exact/balls/balls.py",
        "_whole(value.upper().ceil())",
        "_whole(value.upper().floor())",
        "a fixed-point number rounded down on its upper side",
        _BALLS,
    ),
    Mutant(
        "exact/balls/balls.py",
        "scaled = excess * (1 << bits)\n        return math.floor(scaled), math.ceil(scaled)",
        "scaled = excess * (1 << bits)\n        return math.floor(scaled), math.floor(scaled)",
        "a ratio in fixed point rounded down on its upper side",
        _BALLS,
    ),
    Mutant(
        "exact/parameters/numbers.py",
        "upper = nearest if exact >= value else math.nextafter(nearest, math.inf)",
        "upper = nearest",
        "the float not below a rational to nearest",
        _BALLS,
    ),
    Mutant(
        "exact/parameters/numbers.py",
        "lower = nearest if exact <= value else math.nextafter(nearest, -math.inf)",
        "lower = nearest",
        "the float not above a rational to nearest",
        _BALLS,
    ),
    Mutant(
        "exact/balls/shown.py",
        'bounds.upper if rounding == "up" else bounds.lower',
        'bounds.lower if rounding == "up" else bounds.upper',
        "a logarithm printed from its wrong side",
        _BALLS,
    ),
    Mutant(
        "exact/balls/shown.py",
        '"up": ROUND_CEILING',
        '"up": ROUND_FLOOR',
        "a bound printed below itself",
        _BALLS,
    ),
    Mutant(
        "exact/balls/compare.py",
        "return _compare(first, second) <= 0",
        "return _compare(first, second) < 0",
        "an equal number is not at most it",
        _BALLS,
    ),
    Mutant(
        "claims/excess.py",
        "return LogBounds(-math.inf, round_up(-distance * distance / 2))",
        "return LogBounds(-math.inf, -math.inf)",
        "a Gaussian tail far out taken as 0",
        _CURVES,
    ),
    Mutant(
        "exact/balls/compare.py",
        "return round_down(x), round_up(x)",
        "return float(x), float(x)",
        "a normal quantile to nearest",
        _CURVES,
    ),
    Mutant(
        "claims/excess.py",
        "return minimum(r / 2, -(-r).expm1()).log() / 2",
        "return minimum(r / 4, -(-r).expm1()).log() / 2",
        "half the root in the bound of total variation",
        _BALLS,
    ),
    Mutant(
        "exact/balls/log_normal.py",
        "return (cell.series(x) + cell.error).log() + x * (cell.center - x / 2)",
        "return cell.series(x).log() + x * (cell.center - x / 2)",
        "a power series without what it leaves out",
        _LAWS,
        equivalent=_BELOW_PRECISION,
    ),
    Mutant(
        "exact/balls/log_normal.py",
        "total += arb(0, arb(terms.log_error).exp().abs_upper())",
        "total += arb(0)",
        "the trapezoidal rule without its error",
        _LAWS,
        equivalent=_BELOW_PRECISION,
    ),
)
