"""exact/: discrete laws, their tails and windows, and sums of ratios."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_ROUNDING = "tests/rounding/test_probabilities.py"
_PMF = (_ROUNDING, "tests/oracles/test_pmf.py")
_TAILS = (_ROUNDING, "tests/oracles/test_tails.py")
_RATIO = (_ROUNDING, "tests/oracles/test_tails.py")
_SHIFT = (
    "tests/references/test_shuffle_histogram.py",
    "tests/oracles/test_shuffle_histogram_accounting.py::test_shift_sum",
)
_EXCHANGE = (_ROUNDING, "tests/oracles/test_shuffle_histogram_accounting.py")

MUTANTS = (
    Mutant(
        "exact/logspace/ratio_sum.py",
        "remainder = (float(products[-1]) + 1e-300) * last / (1.0 - last)",
        "remainder = 0.0",
        "a sum without the tail that is left out",
        _RATIO,
    ),
    Mutant(
        "exact/logspace/ratio_sum.py",
        "error = 1.05 * units * UNIT_ROUNDOFF",
        "error = 0.0",
        "a sum of ratios without its rounding",
        _RATIO,
    ),
    Mutant(
        "exact/logspace/ratio_sum.py",
        "total_upper = (total * (1.0 + error)",
        "total_upper = (total * (1.0 - error)",
        "the rounding of a sum taken off its upper side",
        _RATIO,
    ),
    Mutant(
        "exact/logspace/ratio_sum.py",
        "total_lower = total * (1.0 - error)",
        "total_lower = total * (1.0 + error)",
        "the rounding of a sum added to its lower side",
        _RATIO,
    ),
    Mutant(
        "exact/probabilities/tails.py",
        "LogBounds(log_difference_lower(0.0, tail.upper), log_difference_upper(0.0, tail.lower))",
        "LogBounds(log_difference_lower(0.0, tail.lower), log_difference_upper(0.0, tail.upper))",
        "one minus a tail from the wrong sides of the tail",
        _TAILS,
    ),
    Mutant(
        "exact/probabilities/tails.py",
        "first.shifted(_sum(ratio, n_trials - k + 1, curvature))",
        "first.shifted(_sum(ratio, n_trials - k, curvature))",
        "a binomial tail without its last term",
        _TAILS,
    ),
    Mutant(
        "exact/probabilities/tails.py",
        "first.shifted(_sum(ratio, highest - k + 1, curvature))",
        "first.shifted(_sum(ratio, highest - k, curvature))",
        "a hypergeometric tail without its last term",
        _TAILS,
    ),
    Mutant(
        "exact/probabilities/stirling.py",
        "EXCESS_ERROR = 40 * UNIT_ROUNDOFF",
        "EXCESS_ERROR = 0 * UNIT_ROUNDOFF",
        "factorials said to be exact",
        _PMF,
    ),
    Mutant(
        "exact/probabilities/stirling.py",
        "DEVIANCE_ERROR = 40 * UNIT_ROUNDOFF",
        "DEVIANCE_ERROR = 0 * UNIT_ROUNDOFF",
        "deviances said to be exact",
        _PMF,
    ),
    Mutant(
        "shuffle/accounting/shift_sum.py",
        "first = math.ceil(exact) - 1",
        "first = math.ceil(exact) - 2",
        "a shift sum without the term at its threshold",
        _SHIFT,
    ),
    Mutant(
        "shuffle/accounting/shift_sum.py",
        "n_terms=first + 1,",
        "n_terms=first,",
        "a shift sum without its last term",
        _SHIFT,
    ),
    Mutant(
        "paper_bounds/chen_long.py",
        "log_difference_upper(first.upper, shifted.lower)",
        "log_difference_upper(first.upper, shifted.upper)",
        "a difference of tails from the wrong side of the second",
        (_ROUNDING,),
    ),
    Mutant(
        "shuffle/accounting/exchange_sum.py",
        "error = 1.05 * (error + 4 * LIBM_ERROR)",
        "error = 0.0",
        "an exchange sum without its rounding",
        (_ROUNDING,),
        equivalent="The bound adds up all roundings as if they had one sign. They cancel: sums "
        "over up to ten million users err by some ten units, which the slack of the last "
        "logarithm, four LIBM_ERROR and one for each unit of its size, covers as well.",
    ),
    Mutant(
        "shuffle/accounting/exchange_sum.py",
        "least = sums * (1 - error) - loose",
        "least = sums * (1 + error) + loose",
        "the rounding of an exchange sum added to its lower side",
        _EXCHANGE,
    ),
    Mutant(
        "shuffle/accounting/exchange_rows.py",
        "            spent = exponent(low)",
        "            spent = exponent(high)",
        "dropped rows bounded by the rarest of them",
        _EXCHANGE,
    ),
    Mutant(
        "shuffle/accounting/exchange_rows.py",
        "            spent = exponent(high)\n        elif",
        "            spent = exponent(low)\n        elif",
        "dropped rows below the mean bounded by the rarest of them",
        _EXCHANGE,
    ),
    Mutant(
        "shuffle/accounting/exchange_rows.py",
        "(total - low + shifted) * (1 - 1e-12)) - 1",
        "(total - low + shifted) * (1 + 1e-12)) + 1",
        "dropped rows with too high a threshold",
        _EXCHANGE,
    ),
    Mutant(
        "shuffle/accounting/exchange_rows.py",
        "result = log_sum_upper(result, here)",
        "result = max(result, here)",
        "the largest block of dropped rows for all of them",
        _EXCHANGE,
    ),
    Mutant(
        "exact/logspace/suffix_sums.py",
        "return _EXPONENTIAL * (2 - (-size // _tile(size, rate)))",
        "return 0.0",
        "discounted sums said to have no exponentials",
        _EXCHANGE,
    ),
    Mutant(
        "exact/logspace/convolution.py",
        "return values, 1.01 * each * norms",
        "return values, 0.0",
        "a Fourier transform said to be exact",
        ("tests/oracles/test_convolution.py",),
    ),
)
