"""shuffle/split/: what shares reveal, the noise of all users, the profile and the error."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_SPLIT = (
    "tests/rounding/test_split_sums.py",
    "tests/oracles/test_split_sum.py",
    "tests/references/test_split_sums.py",
)

MUTANTS = (
    Mutant(
        "shuffle/split/components.py",
        "weights, slack = self._weights(index)",
        "weights, slack = self._weights(index)[0], 0.0",
        "sums of components without their rounding",
        _SPLIT,
    ),
    Mutant(
        "shuffle/split/components.py",
        "entropies = (2 - m) * numbers",
        "entropies = (3 - m) * numbers",
        "graphs of a degree more",
        _SPLIT,
    ),
    Mutant(
        "shuffle/split/components.py",
        "left = log_index - weights",
        "left = -weights",
        "the component of one vertex without its share s / n",
        _SPLIT,
    ),
    Mutant(
        "shuffle/split/components.py",
        "terms = left[1:n] + right[n - 1 : 0 : -1]",
        "terms = left[1:n] + right[n - 1 : 0 : -1] - 1.0",
        "terms of the recursion too small",
        _SPLIT,
    ),
    Mutant(
        "shuffle/split/components.py",
        "closed = Fraction(modulus * (n * n + n), math.comb(n * m, m))",
        "closed = Fraction(modulus * n, math.comb(n * m, m))",
        "users whose shares go to one place counted once",
        _SPLIT,
    ),
    Mutant(
        "shuffle/split/split_profile.py",
        "return round_up(2 * (1 + slack.exp()).log() - slack.expm1().log() - ball(4).log())",
        "return round_up((1 + slack.exp()).log() - slack.expm1().log() - ball(4).log())",
        "a factor of chi-squared that is too small",
        _SPLIT,
    ),
    Mutant(
        "shuffle/split/split_profile.py",
        "return left if real_bounds(epsilon).lower >= used else 0.0",
        "return left",
        "one honest user whose total is hidden for nothing",
        _SPLIT,
    ),
    Mutant(
        "shuffle/split/split_profile.py",
        "if self.n_honest >= self.n_designed:\n            rate",
        "if self.n_honest >= self.n_designed // 2:\n            rate",
        "noise of half of the users for all of it",
        _SPLIT,
    ),
    Mutant(
        "shuffle/split/split_profile.py",
        "if not (self.n_honest >= self.n_designed and used >= self.noise_epsilon):",
        "if not used >= self.noise_epsilon:",
        "totals of too few users that are pure all the same",
        _SPLIT,
    ),
    Mutant(
        "shuffle/split/noise_total.py",
        "last = max(0, math.ceil((shift - threshold / rate) / 2) - 1)",
        "last = max(0, math.ceil((shift - threshold / rate) / 2))",
        "a point counted where the ratio is below e^c",
        _SPLIT,
    ),
    Mutant(
        "shuffle/split/noise_total.py",
        "total += ratio * missing",
        "total -= ratio * missing",
        "the near half of the excess taken away",
        _SPLIT,
    ),
    Mutant(
        "shuffle/split/noise_total.py",
        "values += slack + 1e-13 * tilt * (reach + 1)",
        "values -= 1.0",
        "tails e times too light",
        _SPLIT,
    ),
    Mutant(
        "shuffle/split/split_accuracy.py",
        "return (self.modulus - 1 - self.n_users * self.resolution) // 2",
        "return self.modulus - 1 - self.n_users * self.resolution",
        "totals that are read wrongly taken for right",
        _SPLIT,
    ),
    Mutant(
        "shuffle/split/split_accuracy.py",
        "rounding = Fraction(self.n_users, 4)",
        "rounding = Fraction(self.n_users, 8)",
        "half of the variance of rounding",
        _SPLIT,
    ),
    Mutant(
        "shuffle/split/split_calibration.py",
        "if log_chi_squared(n_honest, n_shares, modulus_bits) <= limit:",
        "if log_least_excess(n_honest, n_shares, modulus_bits) <= limit:",
        "shares by the lower bound of chi-squared",
        _SPLIT,
    ),
    Mutant(
        "shuffle/split/split_calibration.py",
        "limit -= log_slack_factor(goal.exact_epsilon, noise_epsilon)",
        "limit -= 0.0",
        "chi-squared compared with all of delta",
        _SPLIT,
    ),
)
