"""Sums of fixed sensitivity: their reach, the rounding of a row, and the noise."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_PROOF = ("tests/theorems/test_private_sums_proof.py",)
_FIXED = ("tests/conformance/test_fixed_statistics.py", "tests/theorems/test_private_sums_proof.py")
_BARS = ("tests/oracles/test_fixed_bars.py",)
_LAWS = ("tests/oracles/test_discrete_noise.py", "tests/statistical/test_sum_noise.py")
_SKEWED = ("tests/oracles/test_skewed_mean.py",)
_NOISE = ("tests/statistical/test_sum_noise.py",)

MUTANTS = (
    Mutant(
        "queries/fixed/total.py",
        "return math.ceil(low / self.grid), math.floor(high / self.grid)",
        "return math.floor(low / self.grid), math.ceil(high / self.grid)",
        "bounds of a sum rounded outwards",
        _PROOF,
    ),
    Mutant(
        "queries/fixed/total.py",
        "most = max(abs(first), abs(last)) if add_remove else last - first",
        "most = last - first",
        "a sum of large values of one sign moved by its width only",
        _PROOF,
    ),
    Mutant(
        "queries/fixed/total.py",
        "return Reach(most, most * most)",
        "return Reach(most, most)",
        "a Gaussian whose square is no square",
        _FIXED,
    ),
    Mutant(
        "queries/fixed/clamped_mean.py",
        "replaced = 1 if neighbours is Neighbours.ADD_REMOVE else 2",
        "replaced = 1",
        "a replaced record that counts as one added",
        _FIXED,
    ),
    Mutant(
        "queries/fixed/clamped_mean.py",
        "return Reach(replaced * g, replaced * g * g)",
        "return Reach(replaced * g, replaced * g)",
        "the squares of the two sums of a mean as their total",
        _FIXED,
    ),
    Mutant(
        "queries/fixed/clamped_mean.py",
        "return total, g * len(m) - total",
        "return total, g * len(m)",
        "a row that adds m and G: more than G",
        _PROOF,
    ),
    Mutant(
        "queries/fixed/clamped_mean.py",
        "half = Fraction(1, 2 * self.parts)",
        "half = Fraction(0)",
        "an interval of the mean without its rounding",
        _BARS,
    ),
    Mutant(
        "queries/fixed/clamped_mean.py",
        "Fraction(above - size, both) - half",
        "Fraction(above, both) - half",
        "an interval that ends at the value",
        _BARS,
    ),
    Mutant(
        "queries/fixed/variance.py",
        "terms = (m * m, 2 * m * rest, rest * rest)",
        "terms = (m * m, 2 * m * rest, g * g - m * m)",
        "three sums to which a row adds more than G squared",
        _PROOF,
    ),
    Mutant(
        "queries/fixed/variance.py",
        "return Reach(replaced * square, replaced * square * square)",
        "return Reach(replaced * self.parts, replaced * square)",
        "the reach of two sums for three",
        _FIXED,
    ),
    Mutant(
        "queries/fixed/fixed_statistic.py",
        "    doubtful = 8 * (abs(lower - origin) + abs(upper - origin) + 2 * step)\n",
        "    doubtful = Fraction(0)\n",
        "rows next to a half step rounded by floats",
        _PROOF,
    ),
    Mutant(
        "queries/fixed/fixed_statistic.py",
        "steps = np.clip(result, least, most).astype(np.int64)",
        "steps = result.astype(np.int64)",
        "a row beyond the bounds by a step",
        _PROOF,
    ),
    Mutant(
        "queries/fixed/skewed_mean.py",
        "return min(max(height, width / 10**8), width)",
        "return height",
        "a height beyond the bounds",
        _SKEWED,
    ),
    Mutant(
        "mechanisms/additive/whole_laws.py",
        "inside = 1 - 2 * law.tail(z + 1)",
        "inside = 1 - law.tail(z + 1)",
        "an interval that counts one side of the noise",
        _LAWS,
    ),
    Mutant(
        "mechanisms/additive/whole_laws.py",
        "inside = 1 - 2 * law.tail(z + 1)",
        "inside = 1 - 2 * law.tail(z + 2)",
        "an interval one too short",
        _LAWS,
    ),
    Mutant(
        "mechanisms/additive/whole_laws.py",
        "bool(inside**count >= ball(1 - miss))",
        "bool(inside >= ball(1 - miss))",
        "an interval of two sums for one",
        _LAWS,
    ),
    Mutant(
        "mechanisms/additive/whole_laws.py",
        "/ (1 + (-ball(1 / self.scale)).exp())",
        "",
        "a tail of the one-sided law",
        _LAWS,
    ),
    Mutant(
        "mechanisms/additive/whole_laws.py",
        "return two_sided_geometric(1 / self.scale, rng)",
        "return two_sided_geometric(2 / self.scale, rng)",
        "half the noise",
        _NOISE,
    ),
    Mutant(
        "mechanisms/additive/integer_noise.py",
        "return DiscreteLaplaceLaw(total / epsilon)",
        "return DiscreteLaplaceLaw(1 / epsilon)",
        "noise for a row that adds 1",
        _NOISE,
    ),
    Mutant(
        "mechanisms/additive/integer_noise.py",
        "return DiscreteGaussianLaw(Fraction(square) / (2 * terms.rho))",
        "return DiscreteGaussianLaw(Fraction(square) / (4 * terms.rho))",
        "half the variance",
        _FIXED,
    ),
    Mutant(
        "mechanisms/fixed/draws.py",
        "return tuple(number + law.draw(rng) for number in opened(sums))",
        "noise = law.draw(rng)\n    return tuple(number + noise for number in opened(sums))",
        "one draw for all sums",
        _NOISE,
    ),
    Mutant(
        "mechanisms/fixed/skewed_noise.py",
        "rest = part_of(self.guarantee, 1 - HEIGHT_SHARE)",
        "rest = self.guarantee",
        "the mean after the height gets all of the guarantee",
        _SKEWED,
    ),
)
