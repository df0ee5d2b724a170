"""Medians and other quantiles: error by privacy against the sample quantile.

Exactly given the data for smoothdp (clamped to the bounds, as its rivals are) and for the
continuous exponential mechanism (EM); OpenDP and diffprivlib by draws of the libraries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from benchmarks.accuracy.cells import LAWS, Cell, progress, statistic
from benchmarks.accuracy.planned import planned_squares, window_of
from benchmarks.accuracy.ratios import Ratio, Targets, ratio
from benchmarks.accuracy.smooth import clamped_squares
from benchmarks.baselines import diffprivlib_peer, exponential_mechanism, opendp_peer
from smoothdp.claims import ZCDP, PureDP
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.planning import plan
from smoothdp.types import FloatArray

_GRIDS = (101, 401, 1001, 5001)
_STRONG, _FAIR, _WEAK = 120, 60, 15
_HALF, _NINE, _ONE = Fraction(1, 2), Fraction(9, 10), Fraction(1, 10)
# Statistic, n, epsilon: from useless to free, by n min(q, 1 - q) epsilon.
_REDUCED = (
    (_HALF, 101, "1/10"),
    (_HALF, 401, "1/10"),
    (_HALF, 1001, "1/10"),
    (_HALF, 1001, "1"),
    (_NINE, 401, "1/2"),
    (_NINE, 1001, "1"),
    (_NINE, 1001, "2"),
)


def settings(full: bool) -> Iterator[tuple[Cell, Fraction, int]]:
    """Yield cells, ranks and how many data sets to draw."""
    for kind in ("pure", "zcdp"):
        if not full:
            for q, n, epsilon in _REDUCED:
                for width in (1, 1000):
                    yield Cell("lognormal", n, epsilon, width, kind), q, 40
            # For OpenDP's grid of candidates.
            yield Cell("lognormal", 1001, "1", 10, kind), _HALF, 40
            continue
        for q in (_HALF, _NINE, _ONE):
            for law in LAWS:
                for n, count in {101: 120, 1001: 60, 10001: 40, 100001: 12}.items():
                    for epsilon in ("1/10", "1/2", "1", "2"):
                        for width in (1, 10, 1000):
                            yield Cell(law, n, epsilon, width, kind), q, count
            for law in ("normal", "lognormal"):
                for epsilon in ("1/10", "1"):
                    yield Cell(law, 10**6, epsilon, 10, kind), q, 3


def show_quantiles(full: bool, targets: Targets) -> None:
    """Print a line for each cell, and count the cells for the targets."""
    print("\nQuantiles: error of the peer / error of smoothdp (95% interval); above 1 is a win")
    print(
        "  rule: the window of `release`, which takes a half shift under zCDP; plan: told the law;"
        " k = n min(q, 1 - q) epsilon"
    )
    if not opendp_peer.is_installed():
        print("  OpenDP is not installed: its columns are empty")
    if not diffprivlib_peer.is_installed():
        print("  diffprivlib is not installed; its quantile is EM with the same slope")
    head = f"  {'cell':<48}{'EM / rule':>28}{'EM / plan':>28}{'1 value / EM':>13}"
    print(f"{head}{'OpenDP, best of 4 / rule':>28}{'OpenDP 1001 / rule':>28}{'diffprivlib':>28}")
    cells = list(settings(full))
    for done, (cell, q, count) in enumerate(cells, 1):
        _line(cell, q, count, targets)
        progress(done, len(cells))


def _line(cell: Cell, q: Fraction, count: int, targets: Targets) -> None:
    bounds, guarantee, kappa = cell.bounds(), cell.guarantee(), cell.kappa(q)
    query = statistic(q, bounds)
    columns = list(cell.columns(count))
    truth = np.array([query.value(data) for data in columns])
    made = SmoothNoise.calibrate(query, guarantee=guarantee, n_records=cell.n)
    ours = clamped_squares(made, truth, columns)
    planned = plan(query, guarantee=guarantee, n_records=cell.n, assuming=LAWS[cell.law])
    best = planned_squares(planned, truth, columns)
    rival = exponential_squares(float(q), guarantee, bounds, truth, columns)
    against = ratio(rival, ours)
    grids: dict[int, Ratio] = {}
    pure = isinstance(guarantee, PureDP)
    strong = cell.width == 1 and kappa >= _STRONG
    wanted = _GRIDS if strong else (1001,)
    # More draws where a target depends on them.
    repeats = max(1, (1200 if strong and pure else 160) // len(columns))
    weak = ratio(rival, clamped_squares(_single(q, cell), truth, columns)) if strong else None
    for grid in wanted:
        peer = opendp_peer.quantile(float(q), cell.n, guarantee, list(np.linspace(*bounds, grid)))
        if peer is not None:
            grids[grid] = ratio(_drawn(peer, truth, columns, repeats), ours)
    library = ""
    if isinstance(guarantee, PureDP) and cell.width == 1:
        drawn = diffprivlib_peer.quantile(float(q), guarantee, bounds)
        if drawn is not None:
            found = ratio(_drawn(drawn, truth, columns, repeats), ours)
            library = str(found)
            if kappa >= _STRONG:
                targets.row("diffprivlib's quantile, k >= 120, pure", 1.5).add(cell.name(), found)
    _count(cell, q, against, grids, weak, targets)
    least = min(grids.values(), key=lambda found: found.value) if len(grids) > 1 else ""
    name = f"q={float(q):g} {cell.name()} k={kappa:.3g}"
    one = "" if weak is None else f"{1 / weak.value:.3g}"
    print(
        f"  {name:<48}{against!s:>28}{ratio(rival, best)!s:>28}{one:>13}"
        f"{least!s:>28}{grids.get(1001, '')!s:>28}{library:>28}",
        flush=True,
    )


def _single(q: Fraction, cell: Cell) -> SmoothNoise:
    """Return the plan for one order statistic: what smooth sensitivity is without a window."""
    return window_of(
        plan(
            statistic(q, cell.bounds(), window=1),
            guarantee=cell.guarantee(),
            n_records=cell.n,
            assuming=LAWS[cell.law],
        )
    )


def exponential_squares(
    q: float,
    guarantee: PureDP | ZCDP,
    bounds: tuple[float, float],
    targets: FloatArray,
    columns: list[FloatArray],
) -> FloatArray:
    """Return E (y - target)^2 for each column, y by the continuous exponential mechanism."""
    z = exponential_mechanism.slope(guarantee)
    found = []
    for data, target in zip(columns, targets, strict=True):
        rank = np.floor(q * (len(data) - 1) + 0.5) + 0.5
        found.append(
            exponential_mechanism.squared_error(data, float(rank), bounds, z, float(target))
        )
    return np.array(found)


def _drawn(
    peer: Callable[[FloatArray], float],
    truth: FloatArray,
    columns: list[FloatArray],
    repeats: int,
) -> FloatArray:
    """Return the mean square of some draws for each column."""
    return np.array(
        [
            np.mean([(peer(data) - target) ** 2 for _ in range(repeats)])
            for data, target in zip(columns, truth, strict=True)
        ]
    )


def _count(
    cell: Cell,
    q: Fraction,
    against: Ratio,
    grids: dict[int, Ratio],
    weak: Ratio | None,
    targets: Targets,
) -> None:
    """Count a cell in the rows of the table of targets that it belongs to."""
    kappa, kind, name = cell.kappa(q), cell.kind, f"q={float(q):g} {cell.name()}"
    pure = kind == "pure"
    if kappa >= _STRONG:
        row = targets.row(f"EM, k >= 120, any bounds, {kind}", 1.5 if pure else 1.15)
        row.add(name, against)
        if len(grids) > 1 and pure:
            found = min(grids.values(), key=lambda one: one.value)
            targets.row("OpenDP, best of 101 to 5001 candidates, k >= 120, pure", 1.3).add(
                name, found
            )
        if cell.width == 10 and 1001 in grids:
            targets.row("OpenDP, 1001 candidates over bounds x10, k >= 120", 5).add(
                name, grids[1001]
            )
    elif kappa >= _FAIR:
        row = targets.row(f"EM, 60 <= k < 120, {kind}", 1.25 if pure else 1.15)
        row.add(name, against)
    elif kappa >= _WEAK and cell.width == 1:
        targets.row("EM, 15 <= k < 60, tight bounds (a tie or a loss)", 0.8).add(name, against)
    elif kappa >= _WEAK and cell.width == 1000:
        targets.row("EM, 15 <= k < 60, bounds x1000", 1).add(name, against)
        if kappa < (40 if pure else 20):
            targets.row("the same, k < 40 (pure) or 20 (zCDP): the median", 5, judged="median").add(
                name, against
            )
    if weak is not None and pure:
        text = "one order statistic against EM, k >= 120 (the known weakness)"
        targets.row(text, 0, judged="reported").add(name, weak)
