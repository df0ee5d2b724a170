"""composition/: the tilted inversion integral and the points that it sums."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_ROUNDING = (
    "tests/rounding/test_composition.py",
    "tests/oracles/test_compose_rounding.py",
)
_CONTOUR = _ROUNDING
_TRAINING = (*_ROUNDING, "tests/oracles/test_compose_training.py")

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
        "training_runs/gaussian_step/subsampled_law.py",
        "return moments._replace(error=moments.error + 1.1 * error_from(line, 0.0)[0])",
        "return moments._replace(error=0.0)",
        "moments of the subsampled Gaussian said to be exact",
        _TRAINING,
    ),
    Mutant(
        "training_runs/gaussian_step/subsampled_law.py",
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
        "training_runs/gaussian_step/subsampled_lines.py",
        "return 1.01 * float(np.sum(best))",
        "return 0.0",
        "a quadrature rule said to be exact",
        _TRAINING,
    ),
    Mutant(
        "training_runs/gaussian_step/subsampled_lines.py",
        "return 1.01 * math.fsum(math.exp(min(tail + lift, 700.0)) for tail in (left, right))",
        "return 0.0",
        "what lies beyond the panels left out",
        _TRAINING,
    ),
    Mutant(
        "training_runs/gaussian_step/subsampled_lines.py",
        "return -0.5 * x * x - math.log(2) + 1e-9 if x > 0 else 0.0",
        "return -0.5 * x * x - math.log(2) - 0.5 * x if x > 0 else 0.0",
        "too small a normal tail",
        _TRAINING,
    ),
)
