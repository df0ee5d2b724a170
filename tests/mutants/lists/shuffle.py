"""shuffle/: calibration, the worst case over others' data, and errors."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_SUMS = ("tests/rounding/test_shuffle.py",)
_ERRORS = (*_SUMS, "tests/oracles/test_shuffle_sums.py")
_COUNTS = (*_SUMS, "tests/oracles/test_shuffle_histogram_accuracy.py")
_HONEST = (*_SUMS, "tests/oracles/test_honest_share.py")
_BARS = (*_SUMS, "tests/oracles/test_histogram_bars.py")
_TREES = (*_SUMS, "tests/oracles/test_prefix_tree.py")
_HISTOGRAM = (*_SUMS, "tests/references/test_shuffle_histogram.py")

MUTANTS = (
    Mutant(
        "shuffle/flipped/flipped_sum.py",
        "return math.ceil(expected_random_users / (2 * n_users) * (1 << WORD_BITS))",
        "return math.floor(expected_random_users / (2 * n_users) * (1 << WORD_BITS))",
        "fewer flips than asked for",
        _SUMS,
    ),
    Mutant(
        "shuffle/flipped/boolean_sum.py",
        "random_words(bits.size, rng) < np.uint64(self.threshold)",
        "random_words(bits.size, rng) < np.uint64(self.threshold - 1)",
        "one word in 2^64 that is not flipped",
        _SUMS,
    ),
    Mutant(
        "shuffle/flipped/flipped_sum.py",
        "return bit ^ (rng.bits(WORD_BITS) < self.threshold)",
        "return bit ^ (rng.bits(WORD_BITS) < self.threshold - 1)",
        "one word in 2^64 that is not flipped, one bit at a time",
        _SUMS,
    ),
    Mutant(
        "shuffle/flipped/flipped_sum.py",
        "return math.nextafter(reach / gain * (1 + 1e-15), math.inf)",
        "return reach / gain * (1 - 1e-15)",
        "the error of a sum rounded down",
        _ERRORS,
    ),
    Mutant(
        "shuffle/accounting/flip_profile.py",
        "return lower - 1e-14 * (1.0 + abs(lower))",
        "return lower",
        "a limit that is above delta once printed as a float",
        _SUMS,
    ),
    Mutant(
        "shuffle/accounting/worst_case.py",
        "return LogBounds(lower, max(lower, -ranges[0][0]))",
        "return LogBounds(lower, lower)",
        "the best data found for the worst of all",
        _SUMS,
    ),
    Mutant(
        "shuffle/accounting/worst_case.py",
        "bounds = value(n_others - most, least)",
        "bounds = value(n_others - least, least)",
        "the first data of a range for all of it",
        _SUMS,
    ),
    Mutant(
        "shuffle/accounting/worst_case.py",
        "is_within = bounds.upper <= limit",
        "is_within = bounds.lower <= limit",
        "data kept by a lower bound",
        _SUMS,
    ),
    Mutant(
        "shuffle/accounting/worst_case.py",
        "bounds = value(n_others - first - width + 1, first)",
        "bounds = value(n_others - first, first)",
        "the first data of a range certified for all of it",
        _SUMS,
    ),
    Mutant(
        "shuffle/flipped/flip_calibration.py",
        "Context(prec=10, rounding=ROUND_CEILING)",
        'Context(prec=10, rounding="ROUND_FLOOR")',
        "random users rounded down",
        _SUMS,
    ),
    Mutant(
        "shuffle/flipped/flip_calibration.py",
        "growth = exp_bounds(epsilon / n_bits).lower",
        "growth = exp_bounds(epsilon / n_bits).upper",
        "pure DP with the exponential of epsilon rounded up",
        _SUMS,
    ),
    Mutant(
        "shuffle/flipped/flip_calibration.py",
        "growth = math.exp(power) * (1 - 1e-13 - 1e-15 * power)",
        "growth = math.exp(power) * (1 + 1e-13 + 1e-15 * power)",
        "pure DP with a logarithmic epsilon rounded up",
        _SUMS,
    ),
    Mutant(
        "shuffle/accounting/flip_mu.py",
        "return -normal_upper_quantile(below.lower)[1], -normal_upper_quantile(below.upper)[0]",
        "return -normal_upper_quantile(below.upper)[0], -normal_upper_quantile(below.lower)[1]",
        "quantiles of a small power rounded inwards",
        _SUMS,
    ),
    Mutant(
        "shuffle/accounting/flip_mu.py",
        "power = _quantile(self.below(final)[0], self.above(final)[0])[1]",
        "power = _quantile(self.below(first)[0], self.above(first)[0])[1]",
        "a range of totals bounded by its first power",
        _SUMS,
    ),
    Mutant(
        "shuffle/accounting/flip_error.py",
        "goal = math.log(2.0) - log_bounds(failure).lower",
        "goal = -log_bounds(failure).lower",
        "the error of one side for both",
        _ERRORS,
    ),
    Mutant(
        "shuffle/accounting/flip_error.py",
        "relative=1e-9)[1]",
        "relative=1e-9)[0]",
        "an error that is exceeded too often",
        _ERRORS,
    ),
    Mutant(
        "shuffle/accounting/flip_error.py",
        "below = math.ceil(mean - distance) - 1",
        "below = math.ceil(mean - distance) - 2",
        "a total that is off and not counted",
        _ERRORS,
    ),
    Mutant(
        "shuffle/flipped/real_sum.py",
        "rounding = Fraction(self.n_users, 4 * self.n_bits**2)",
        "rounding = Fraction(0)",
        "the rounding of numbers to bits left out of the error",
        _ERRORS,
    ),
    Mutant(
        "shuffle/accounting/flip_curve.py",
        "1.0 - most * (1 + 8 * UNIT_ROUNDOFF) - 4 * UNIT_ROUNDOFF",
        "1.0 - most * (1 - 8 * UNIT_ROUNDOFF) + 4 * UNIT_ROUNDOFF",
        "type II errors rounded up",
        _ERRORS,
    ),
    Mutant(
        "shuffle/accounting/flip_curve.py",
        "return [(n_others - (last - 1), first) for first, last in pairwise(edges)]",
        "return [(n_others - first, first) for first, last in pairwise(edges)]",
        "some data of the others for all of a range",
        _ERRORS,
    ),
    Mutant(
        "shuffle/histogram/accuracy.py",
        "return math.log(exponent) - LIBM_ERROR * (abs(math.log(exponent)) + 2)",
        "return math.log(exponent) + LIBM_ERROR * (abs(math.log(exponent)) + 2)",
        "the failure probability rounded up",
        _COUNTS,
    ),
    Mutant(
        "shuffle/histogram/accuracy.py",
        "tail = log_binomial_tail(bound + 1, n, gamma).upper",
        "tail = log_binomial_tail(bound + 2, n, gamma).upper",
        "an error of one more that is not counted",
        _COUNTS,
    ),
    Mutant(
        "shuffle/histogram/accuracy.py",
        "return (value + slack) * (1 + _RELATIVE)",
        "return (value + slack) * (1 - _RELATIVE)",
        "the mean squared error rounded down",
        _COUNTS,
    ),
    Mutant(
        "shuffle/histogram/calibration.py",
        "if bounds.upper > log_bounds(goal.exact_delta).lower:",
        "if bounds.lower > log_bounds(goal.exact_delta).lower:",
        "a goal met by the lower bound of delta",
        _HISTOGRAM,
    ),
    Mutant(
        "paper_bounds/balcer_cheu.py",
        "return round_up(50 * _log_inverse(delta / divisor) / (square * n_users))",
        "return -round_up(-50 * _log_inverse(delta / divisor) / (square * n_users))",
        "the paper's noise rounded down",
        _HISTOGRAM,
    ),
    Mutant(
        "shuffle/accounting/exchange_profile.py",
        "for p in (gamma, 1 - gamma)])",
        "for p in (gamma,)])",
        "one direction of a replaced bit",
        _HISTOGRAM,
    ),
    Mutant(
        "shuffle/accounting/exchange_profile.py",
        "np.append(atoms.log_q, [-np.inf, outside]),",
        "np.append(atoms.log_q, [-np.inf, -np.inf]),",
        "what lies outside of a window in one law only",
        _HISTOGRAM,
    ),
    Mutant(
        "shuffle/users/honest_share.py",
        "return math.ceil(honest_share * n_users)",
        "return math.floor(honest_share * n_users)",
        "one honest user fewer than the share",
        _HONEST,
    ),
    Mutant(
        "shuffle/histogram/low_communication.py",
        "return Envelope(self.n_slots, honest * self._overflow_of_one).profile(free)",
        "return Envelope(self.n_slots, Fraction(0)).profile(free)",
        "noise that is drawn again for nothing",
        _HONEST,
    ),
    Mutant(
        "shuffle/histogram/bars.py",
        "least = _least(self.n_users - self.tolerated, self.gamma, chance, bins)",
        "least = _least(self.n_users, self.gamma, chance, bins)",
        "silent users who send noise",
        _BARS,
    ),
    Mutant(
        "shuffle/histogram/bars.py",
        "if silent == 0:",
        "if silent >= 0:",
        "empty bins that cannot be listed where users are tolerated",
        _BARS,
    ),
    Mutant(
        "shuffle/strings/levels_profile.py",
        "compose([(level, n_levels)])",
        "compose([(level, n_levels - 1)])",
        "one level left out",
        _TREES,
    ),
)
