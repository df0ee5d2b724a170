"""composition/: the tilted inversion integral and the points that it sums."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_ROUNDING = (
    "tests/rounding/test_composition.py",
    "tests/oracles/test_compose_rounding.py",
)
_CONTOUR = _ROUNDING
_TRAINING = (*_ROUNDING, "tests/oracles/test_compose_training.py")
_FEW = (
    "tests/rounding/test_few_steps.py",
    "tests/theorems/test_tilted_contour_proof.py::test_what_moves_falls",
)

MUTANTS = (
    Mutant(
        "composition/routes/contour.py",
        "return size * 1.0001 + _NEGLIGIBLE",
        "return 0.0",
        "a contour cut off without counting it",
        _CONTOUR,
    ),
    Mutant(
        "composition/routes/contour.py",
        "log_size -= 0.5 * variance * last * last",
        "log_size -= variance * last * last",
        "the decay of a normal part squared",
        _CONTOUR,
    ),
    Mutant(
        "composition/routes/contour.py",
        "self.sides.append((terms, rounding * 1.001,",
        "self.sides.append((terms, 0.0,",
        "the nodes of a contour said to be exact",
        _CONTOUR,
    ),
    Mutant(
        "composition/routes/contour.py",
        "slack = rounding + lever * (angle_error + UNIT_ROUNDOFF * abs(distance))",
        "slack = rounding",
        "the angles of a contour said to be exact",
        _CONTOUR,
    ),
    Mutant(
        "composition/routes/contour.py",
        "exponent + math.log(upper) + slip + 4 * LIBM_ERROR",
        "exponent + math.log(upper) - slip - 4 * LIBM_ERROR",
        "the rounding of the exponent taken off the upper side",
        _CONTOUR,
    ),
    Mutant(
        "composition/routes/contour.py",
        "lower = found[-1][0] - found[-1][1]",
        "lower = found[0][0] - found[0][1]",
        "the lower bound from the kernel of the upper one",
        _CONTOUR,
    ),
    Mutant(
        "composition/routes/contour.py",
        "for kernel in (upper_kernel, lower_kernel):",
        "for kernel in (lower_kernel, upper_kernel):",
        "the two kernels of smoothing exchanged",
        _CONTOUR,
    ),
    Mutant(
        "composition/routes/contour.py",
        "return 2.0**-47 * (1 + reach)",
        "return 0.0 * (1 + reach)",
        "kernels of smoothing said to be exact",
        _CONTOUR,
    ),
    Mutant(
        "composition/routes/inversion.py",
        "return LogBounds(log_difference_lower(found.lower, aliases), found.upper)",
        "return found",
        "a lower bound with the aliases in it",
        _CONTOUR,
    ),
    Mutant(
        "composition/routes/inversion.py",
        "return log_sum_upper(left, right)",
        "return left",
        "the aliases of larger losses left out",
        _CONTOUR,
    ),
    Mutant(
        "composition/laws/product.py",
        "return total + 4 * UNIT_ROUNDOFF * size if math.isfinite(size) else math.inf",
        "return total - 4 * UNIT_ROUNDOFF * size if math.isfinite(size) else math.inf",
        "the largest loss rounded down",
        _CONTOUR,
    ),
    Mutant(
        "composition/laws/product.py",
        "error = error * 1.0001 + 2 * UNIT_ROUNDOFF * abs(total)",
        "error = 0.0",
        "moments said to be exact",
        _CONTOUR,
    ),
    Mutant(
        "composition/laws/product.py",
        "return value + moments.error + 8 * UNIT_ROUNDOFF * size",
        "return value - moments.error - 8 * UNIT_ROUNDOFF * size",
        "Markov's bound rounded down",
        _CONTOUR,
    ),
    Mutant(
        "composition/laws/product.py",
        "return Slack(mass * (1 + 1e-12), loss * (1 + 1e-12))",
        "return Slack(mass / 2, loss / 2)",
        "half of the slack of the laws",
        _CONTOUR,
    ),
    Mutant(
        "training_runs/gaussian_step/line_points.py",
        "return line.constant + 1.01 * mass, 1.01 * loss",
        "return line.constant, 0.0",
        "points along a line said to be exact",
        _TRAINING,
    ),
    Mutant(
        "training_runs/gaussian_step/path_law.py",
        "return moments._replace(error=moments.error + 1.1 * error_from(line, 0.0)[0])",
        "return moments._replace(error=0.0)",
        "moments of the subsampled Gaussian said to be exact",
        _TRAINING,
    ),
    Mutant(
        "training_runs/gaussian_step/path_law.py",
        "return min(1.0, 1.0001 * size)",
        "return min(1.0, 0.5 * size)",
        "half of the bound of a transform's decay",
        _TRAINING,
    ),
    Mutant(
        "training_runs/gaussian_step/subsampled_law.py",
        "log_mass = log_tail(cut - m) + math.log(mass) + 1e-9",
        "log_mass = log_tail(cut) + math.log(mass) + 1e-9",
        "the chance of a large loss under the wrong law",
        _TRAINING,
    ),
    Mutant(
        "training_runs/gaussian_step/ratio.py",
        "return 1.01 * float(np.sum(best))",
        "return 0.0",
        "a quadrature rule said to be exact",
        _TRAINING,
    ),
    Mutant(
        "training_runs/gaussian_step/ratio.py",
        "return 1.01 * math.fsum(math.exp(min(tail + lift, 700.0)) for tail in (left, right))",
        "return 0.0",
        "what lies beyond the panels left out",
        _TRAINING,
    ),
    Mutant(
        "training_runs/gaussian_step/ratio.py",
        "return -0.5 * x * x - math.log(2) + 1e-9 if x > 0 else 0.0",
        "return -0.5 * x * x - math.log(2) - 0.5 * x if x > 0 else 0.0",
        "too small a normal tail",
        _TRAINING,
    ),
    Mutant(
        "composition/routes/moved.py",
        "pairs = 0.5 * (total * total - squares * (1 - 1e-12)) * (1 + 1e-12)",
        "pairs = 0.0",
        "two losses that move said to fall at once",
        _FEW,
    ),
    Mutant(
        "composition/routes/moved.py",
        "n = times - (other == one)",
        "n = times",
        "one loss that moves beside all others, itself among them",
        _FEW,
    ),
    Mutant(
        "composition/routes/moved.py",
        "self.one = self.one * (before * still) + self.none * (count * before * moves)",
        "self.one = self.one * (before * still) + self.none * (before * moves)",
        "one loss that moves counted once, not once for each step",
        _FEW,
    ),
    Mutant(
        "composition/routes/moved.py",
        "size = math.exp(log_mass.upper - moments.log_mgf)",
        "size = math.exp(log_mass.upper)",
        "the share of an atom at 0 not of the tilted law",
        _FEW,
    ),
    Mutant(
        "composition/routes/contour.py",
        "values = values - taken.none - taken.one",
        "values = values - taken.none",
        "one loss that moves counted twice",
        _FEW,
    ),
    Mutant(
        "training_runs/gaussian_step/subsampled_lines.py",
        "self.m * s[1:] * fall + 2 * shrunk * risen",
        "self.m * s[1:] * fall",
        "two ways up without the turn of their sizes",
        _FEW,
    ),
    Mutant(
        "training_runs/gaussian_step/subsampled_lines.py",
        "float(np.exp(np.minimum(logs, 700.0)) * (apart + turned) @ np.diff(s))",
        "0.0",
        "two ways up that cancel altogether",
        _FEW,
    ),
    Mutant(
        "composition/epsilon_ends.py",
        "if at(here + far, math.inf).upper <= goal.lower:",
        "if at(here + far, math.inf).lower <= goal.lower:",
        "an upper end by the lower bound",
        _FEW,
    ),
    Mutant(
        "composition/epsilon_ends.py",
        "return bounds(Fraction(math.nextafter(epsilon, -way)))",
        "return bounds(Fraction(math.nextafter(epsilon, way)))",
        "an end that holds only beyond it",
        _FEW,
        equivalent="ends pass the root by a thousandth of the bracket, a unit is less",
    ),
    Mutant(
        "composition/routes/screen.py",
        "bend = self.step**2 / 8 * float(self.weights @ self.frequencies**2)",
        "bend = 0.0",
        "a mesh of a screen said to see all between its points",
        ("tests/oracles/test_compose_screen.py",),
    ),
    Mutant(
        "training_runs/gaussian_step/plain_sums.py",
        "return 1.01 * math.fsum(math.exp(min(700.0, tail - log_mgf)) for tail in (left, right))",
        "return 0.0",
        "what a line leaves out at its ends not counted",
        (
            *(*_TRAINING, "tests/theorems/test_tilted_contour_proof.py"),
            "tests/theorems/test_mixtures_of_gaussians_proof.py::"
            "test_a_line_that_is_too_short_says_so",
        ),
    ),
)
