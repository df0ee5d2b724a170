"""Means: the whole error against the mean of the law.

The trimmed mean's noise is counted exactly given the data, rivals by draws. The best rival is
the best in hindsight; Karwa-Vadhan (KV) and CoinPress are told the true deviation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from benchmarks.accuracy.cells import LAWS, SEED, Cell, progress
from benchmarks.accuracy.planned import window_of
from benchmarks.accuracy.ratios import Ratio, Targets, digits, ratio
from benchmarks.accuracy.smooth import parts
from benchmarks.baselines import diffprivlib_peer, means, opendp_peer
from smoothdp.claims import PureDP
from smoothdp.mechanisms.release.defaults import default_trim
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.planning import plan
from smoothdp.queries import TrimmedMean
from smoothdp.types import FloatArray

Rival = Callable[[FloatArray, np.random.Generator], float]
_REPEATS = 3


def rivals(cell: Cell) -> dict[str, Rival]:
    """Return the rival means."""
    sigma = float(LAWS[cell.law].std())
    given = {"bounds": cell.bounds(), "guarantee": cell.guarantee()}
    made: dict[str, Callable[..., float]] = {
        "clamp": means.clamped,
        "clip 1%": partial(means.clipped_at_quantiles, level=0.01),
        "clip 5%": means.clipped_at_quantiles,
        "KV": partial(means.karwa_vadhan, sigma=sigma),
        "KV 25%": partial(means.karwa_vadhan, sigma=sigma, part=0.25),
        "CoinPress 2": partial(means.coinpress, sigma=sigma, steps=2),
        "CoinPress 4": partial(means.coinpress, sigma=sigma),
        "CoinPress 8": partial(means.coinpress, sigma=sigma, steps=8),
    }
    return {name: partial(_call, call, given) for name, call in made.items()}


def _call(
    call: Callable[..., float],
    given: Mapping[str, object],
    data: FloatArray,
    rng: np.random.Generator,
) -> float:
    return call(data, rng=rng, **given)


def settings(full: bool) -> Iterator[tuple[Cell, int]]:
    """Yield cells and how many data sets to draw."""
    for kind in ("pure", "zcdp"):
        if not full:
            for law, n, epsilon in (
                ("normal", 101, "1"),
                ("normal", 1001, "1"),
                ("laplace", 1001, "1"),
                ("t3", 1001, "1/10"),
                ("t3", 1001, "1"),
                ("lognormal", 1001, "1"),
            ):
                for width in (1, 1000) if n > 101 and law != "lognormal" else (1,):
                    yield Cell(law, n, epsilon, width, kind), 240
            continue
        for law in LAWS:
            for n, count in {101: 800, 1001: 500, 10001: 200, 100001: 40}.items():
                for epsilon in ("1/10", "1/2", "1", "2"):
                    for width in (1, 10, 1000):
                        yield Cell(law, n, epsilon, width, kind), count


def show_means(full: bool, targets: Targets) -> None:
    """Print a line for each cell, and count the cells for the targets."""
    print("\nMeans: error of the best rival in hindsight / error of a trimmed mean")
    print("  10% and 5%: at least so much trimmed on each side, by rule; plan: told the law")
    print("  price: error of the plan / that of the sample mean without privacy")
    head = f"  {'cell':<38}{'best rival':>13}{'10%':>28}{'5%':>28}"
    print(f"{head}{'plan':>28}{'clamp / 10%':>13}{'price':>8}")
    cells = list(settings(full))
    for done, (cell, count) in enumerate(cells, 1):
        _line(cell, count, targets)
        progress(done, len(cells))
    _peers()


def _line(cell: Cell, count: int, targets: Targets) -> None:
    law, bounds, guarantee = LAWS[cell.law], cell.bounds(), cell.guarantee()
    target = float(law.mean())
    columns = list(cell.columns(count))
    squares: dict[str, FloatArray] = {}
    for name, mechanism in rivals(cell).items():
        rng = np.random.default_rng(SEED)
        draws = [[mechanism(x, rng) for _ in range(_REPEATS)] for x in columns]
        squares[name] = ((np.array(draws) - target) ** 2).mean(axis=1)
    ours = []
    for least in (0.1, 0.05, None):
        trim = default_trim(guarantee, cell.n, least=least or 0.1)
        query = TrimmedMean(trim, bounds=bounds)
        if least is None:
            planned = plan(
                query, guarantee=guarantee, n_records=cell.n, assuming=law, may_change_trim=True
            )
            made = window_of(planned)
        else:
            made = SmoothNoise.calibrate(query, guarantee=guarantee, n_records=cell.n)
        values, noise = parts(made, columns)
        ours.append((values - target) ** 2 + noise)
    rival = min(squares, key=lambda name: squares[name].mean())
    found = [ratio(squares[rival], one) for one in ours]
    clamp = ratio(squares["clamp"], ours[0])
    price = math.sqrt(ours[2].mean()) / float(law.std()) * math.sqrt(cell.n)
    texts = "".join(f"{one!s:>28}" for one in found)
    print(
        f"  {cell.name():<38}{rival:>13}{texts}{digits(clamp.value):>13}{price:>8.3g}",
        flush=True,
    )
    _count(cell, found, clamp, targets)


def _count(cell: Cell, found: list[Ratio], clamp: Ratio, targets: Targets) -> None:
    """Count a cell in the rows of the table of targets that it belongs to."""
    name = cell.name()
    if cell.law in ("laplace", "t3") and cell.size() >= 100:
        for width, what in ((1, "tight bounds"), (1000, "bounds x1000")):
            if cell.width == width:
                row = targets.row(f"mean of Laplace or T(3), n epsilon >= 100, {what}", 1.05)
                row.add(name, found[0])
        if cell.width == 1000 and cell.size() <= 2000:
            targets.row("clamped mean of them, bounds x1000, n epsilon <= 2000", 100).add(
                name, clamp
            )
    if cell.law == "normal" and cell.size() >= 500:
        targets.row("mean of normal data, n epsilon >= 500, 10% trimmed", 0.94).add(name, found[0])
        targets.row("mean of normal data, n epsilon >= 500, 5% trimmed", 0.96).add(name, found[1])


def _peers() -> None:
    """Print the libraries' means over the baseline's, which stands for both above."""
    cell = Cell("normal", 1001, "1", 1, "pure")
    guarantee, bounds = cell.guarantee(), cell.bounds()
    assert isinstance(guarantee, PureDP)
    column = next(cell.columns(1))
    centre = float(np.clip(column, *bounds).mean())
    expected = math.sqrt(2) * (bounds[1] - bounds[0]) / cell.n
    for name, peer in (
        ("OpenDP", opendp_peer.mean(cell.n, guarantee, bounds)),
        ("diffprivlib", diffprivlib_peer.mean(guarantee, bounds)),
    ):
        if peer is None:
            print(f"  {name} is not installed; its mean is the clamped one")
            continue
        errors = np.array([peer(column) - centre for _ in range(2000)])
        found = math.sqrt((errors**2).mean()) / expected
        print(f"  mean of {name} / clamp: {found:.3f} +- {math.sqrt(5 / 4 / 2000):.3f}")
