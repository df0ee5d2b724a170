"""`plan` as an adviser: what it predicts against what comes, and its choice in hindsight.

Also the break-even of the rule that `release` follows without a plan.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from benchmarks.accuracy.cells import LAWS, Cell, progress, statistic
from benchmarks.accuracy.planned import planned_squares
from benchmarks.accuracy.quantiles import exponential_squares
from benchmarks.accuracy.ratios import Targets
from benchmarks.accuracy.smooth import clamped_squares
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.planning import Plan, plan
from smoothdp.types import FloatArray

_HALF, _NINE = Fraction(1, 2), Fraction(9, 10)
_PLANS: tuple[tuple[Cell, Fraction], ...] = (
    (Cell("normal", 51, "1/20", 1, "pure"), _HALF),
    (Cell("normal", 101, "1/10", 1, "pure"), _HALF),
    (Cell("normal", 101, "1/10", 10, "pure"), _HALF),
    (Cell("normal", 401, "1/10", 1, "pure"), _HALF),
    (Cell("normal", 1001, "1", 1, "pure"), _HALF),
    (Cell("normal", 1001, "1", 1000, "pure"), _HALF),
    (Cell("laplace", 101, "1", 1, "pure"), _HALF),
    (Cell("laplace", 301, "1/4", 10, "pure"), _NINE),
    (Cell("t3", 201, "1/2", 1, "pure"), _HALF),
    (Cell("t3", 1001, "1/2", 1000, "pure"), _HALF),
    (Cell("t3", 2001, "1", 10, "pure"), _NINE),
    (Cell("lognormal", 101, "1/2", 1, "pure"), _HALF),
    (Cell("lognormal", 101, "2", 10, "pure"), _HALF),
    (Cell("lognormal", 401, "1", 1, "pure"), _NINE),
    (Cell("lognormal", 10001, "1", 1000, "pure"), _HALF),
    (Cell("normal", 101, "1/4", 1, "zcdp"), _HALF),
    (Cell("normal", 1001, "1", 10, "zcdp"), _NINE),
    (Cell("laplace", 401, "1/4", 1, "zcdp"), _HALF),
    (Cell("t3", 1001, "1/2", 1, "zcdp"), _HALF),
    (Cell("lognormal", 1001, "1/10", 1, "zcdp"), _HALF),
)


def show_adviser(full: bool, targets: Targets) -> None:
    """Print a line for each plan, and count it for the targets."""
    print(
        "\nThe adviser: predicted over simulated error, and its choice over the best in hindsight"
    )
    print(
        "  by its list: window, half shift, exponential mechanism, global sensitivity, "
        "clipped mean, midpoint"
    )
    choice = targets.row(
        "plan: its choice over the best of its list in hindsight", 1.1, at_most=True
    )
    told = targets.row("plan: predicted and simulated error, the larger over", 1.1, at_most=True)
    for done, (cell, q) in enumerate(_PLANS, 1):
        made = plan(
            statistic(q, cell.bounds()),
            guarantee=cell.guarantee(),
            n_records=cell.n,
            assuming=LAWS[cell.law],
        )
        count = (1200 if full else 200) if cell.n < 5000 else 60
        columns = list(cell.columns(count))
        truth = np.array([statistic(q, cell.bounds(), window=1).value(x) for x in columns])
        errors = {way.method: _error(way, truth, columns) for way in _every_way(made)}
        own = errors[made.method]
        assert made.privacy_rmse is not None
        off, beaten = made.privacy_rmse / own, own / min(errors.values())
        told.add(cell.name(), max(off, 1 / off))
        choice.add(cell.name(), beaten)
        best = min(errors, key=lambda name: errors[name])
        print(
            f"  q={float(q):g} {cell.name():<38} k={cell.kappa(q):<6.3g}{made.method:<22}"
            f"{off:>7.3f}{beaten:>7.3f}  {best}",
            flush=True,
        )
        progress(done, len(_PLANS))


def _every_way(made: Plan) -> list[Plan]:
    """Return the plan, and the best of each other method as a plan."""
    ways = {made.method: made}
    for other in made.runners_up:
        ways.setdefault(other.method, made.instead(other))
    return list(ways.values())


def _error(way: Plan, truth: FloatArray, columns: list[FloatArray]) -> float:
    return math.sqrt(float(planned_squares(way, truth, columns).mean()))


def show_break_even(full: bool, targets: Targets) -> None:
    """Print the error of the exponential mechanism over that of the rule's window, by kappa."""
    del targets
    print("\nDrawn by ranks / window by the rule, pure DP: geometric mean (least to largest)")
    print("  over four laws, the median and the 0.9 quantile, and n; below 1 the draw errs less")
    sizes = (51, 301, 2001) if full else (51, 301)
    for kappa in (2, 3, 4, 5, 6, 8, 12, 15, 30):
        row = []
        for width in (1, 10, 1000):
            found = [
                _break_even(law, n, kappa, width, q)
                for q in (_HALF, _NINE)
                for n in sizes
                for law in LAWS
            ]
            mean = math.exp(float(np.log(found).mean()))
            row.append(f"{mean:.2f} ({min(found):.2f} to {max(found):.2f})")
        print(f"  k = {kappa:<4}" + "".join(f"{text:>26}" for text in row), flush=True)


def _break_even(law: str, n: int, kappa: float, width: int, q: Fraction) -> float:
    epsilon = f"{kappa / (n * float(min(q, 1 - q))):.3g}"
    cell = Cell(law, n, epsilon, width, "pure")
    columns, query = list(cell.columns(10)), statistic(q, cell.bounds())
    truth = np.array([query.value(data) for data in columns])
    window = SmoothNoise.calibrate(query, guarantee=cell.guarantee(), n_records=n)
    ours = clamped_squares(window, truth, columns)
    drawn = exponential_squares(float(q), cell.guarantee(), cell.bounds(), truth, columns)
    return math.sqrt(float(drawn.mean() / ours.mean()))
