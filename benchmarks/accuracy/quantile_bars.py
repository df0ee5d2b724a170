"""Error bars of quantiles: length in ranks, coverage of any data and of any population, speed.

``python -m benchmarks.accuracy.quantile_bars [--full]``
"""

from __future__ import annotations

import math
import sys
import time
import zlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.accuracy.cells import LAWS, SEED, guarantee_of
from benchmarks.accuracy.ratios import Ratio, Targets
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.mechanisms.release.smooth_mechanism import smooth_mechanism
from smoothdp.noise import PolyPlace
from smoothdp.queries import Median
from smoothdp.types import FloatArray

_LEVEL = 0.95
_FAR = 1e7
_LARGEST = 1e5


def show_quantile_bars(full: bool, targets: Targets) -> None:
    """Print lengths and coverages, and weigh them against their targets."""
    runs = 4000 if full else 500
    print(f"\nError bars at 95% that contain the median, {runs} releases a line")
    print("  mean half-width in ranks times epsilon (zCDP: sqrt(2 rho)), equal gaps, bounds far")
    for kind, epsilon, reach in (
        *(("pure", e, 8.7) for e in ("2", "1", "1/2", "1/10")),
        ("zcdp", "1", 4.7),
        ("zcdp", "1/5", 5.6),
    ):
        half = _half_width(kind, epsilon, runs // 5)
        print(f"  {kind} epsilon={epsilon:<5} {half:.3g}", flush=True)
        text = f"half-width in ranks x epsilon, {kind}, at most {reach}"
        targets.row(text, reach, at_most=True).add(f"{kind} epsilon={epsilon}", half)
    print("  coverage of the plain median, n = 1001, epsilon = 1; the shorter the nearer to .95")
    for kind in ("pure", "zcdp"):
        for name in ("normal", "lognormal", "t3", "uniform", "two values"):
            found, error = _plain_coverage(kind, name, runs)
            print(f"  {kind} {name:<12}{found:.4f} +- {error:.4f}", flush=True)
            score = (found - _LEVEL) / error
            row = "coverage of the median: standard errors above nominal"
            targets.row(row, -3).add(f"{kind} {name}", score)
            if name == "two values":
                row = "the same on two values: standard errors from nominal"
                targets.row(row, 3, at_most=True).add(kind, abs(score))
            elif kind == "pure":
                targets.row("coverage of the median, four laws, pure", 0.985, at_most=True).add(
                    name, Ratio(found, found - 3 * error, found)
                )
    print("  bars for the population's median: coverage, and length over that without privacy")
    for kind in ("pure", "zcdp"):
        for n, reach in ((1001, 1.45), (10_001, 1.25)):
            for name in ("normal", "lognormal"):
                found, error, wide = _population(kind, name, n, runs if n < 5000 else runs // 5)
                print(f"  {kind} {name:<10} n={n:<6} {found:.4f}   length x {wide:.3g}", flush=True)
                text = f"length for the population's median / without privacy, n = {n}"
                targets.row(text, reach, at_most=True).add(f"{kind} {name}", wide)
                targets.row("coverage of the population's median", _LEVEL).add(
                    f"{kind} {name} n={n}", Ratio(found, found, found + 3 * error)
                )
        found, error, _ = _population(kind, "coin", 1001, runs)
        print(f"  {kind} a fair coin n=1001   {found:.4f}", flush=True)
        targets.row("coverage of the population's median", _LEVEL).add(
            f"{kind} coin", Ratio(found, found, found + 3 * error)
        )
    print("  the max law's length over the least of two laws, k = 2, ten shares of epsilon")
    for t in ("0.07", "0.09", "0.12", "0.2"):
        ratio = _against_split(t)
        print(f"  t = {t} epsilon: {ratio:.3g}", flush=True)
        targets.row("max law / two laws, length, t >= .07 epsilon", 0.82, at_most=True).add(
            f"t={t}", ratio
        )
    seconds = _seconds()
    print(f"  a release with bars for the population, n = 1001: {1000 * seconds:.3g} ms")
    targets.row("ms for a release with bars for the population, pure", 50, at_most=True).add(
        "n=1001", 1000 * seconds
    )


def _made(kind: str, epsilon: str, n: int, covers: str, bounds: tuple[float, float]) -> Any:
    request = ReleaseRequest.read(
        Median(bounds),
        guarantee=guarantee_of(epsilon, kind),
        coverage=Coverage.read("0.95", covers=covers),
    )
    return smooth_mechanism(request, n_records=n)


def _ends(made: Any, data: FloatArray, rng: SeededRandom) -> tuple[float, float]:
    low, high = made.release(data, rng=rng).interval
    return low, high


def _rng(*name: object) -> SeededRandom:
    return SeededRandom(SEED + zlib.crc32(repr(name).encode()))


def _half_width(kind: str, epsilon: str, runs: int) -> float:
    n = 20_001
    data = np.arange(n, dtype=np.float64)
    made = _made(kind, epsilon, n, "quantile", (-_FAR, _FAR))
    rng = _rng("half", kind, epsilon)
    ends = [_ends(made, data, rng) for _ in range(runs)]
    lengths = [high - low for low, high in ends]
    return float(np.mean(lengths)) / 2 * float(Fraction(epsilon))


def _plain_coverage(kind: str, name: str, runs: int) -> tuple[float, float]:
    n = 1001
    made = _made(kind, "1", n, "quantile", (-60.0, 1440.0))
    rng, numpy_rng = _rng(kind, name), np.random.default_rng([SEED, zlib.crc32(name.encode())])
    hits = 0
    for _ in range(runs):
        if name == "two values":
            data = np.repeat([40.0, 60.0], [(n + 1) // 2, n // 2])
        elif name == "uniform":
            data = numpy_rng.random(n) * 100
        else:
            data = np.clip(LAWS[name].rvs(size=n, random_state=numpy_rng), -60, 1440)
        low, high = _ends(made, data, rng)
        hits += low <= float(np.sort(data)[n // 2]) <= high
    found = hits / runs
    return found, math.sqrt(_LEVEL * (1 - _LEVEL) / runs)


def _population(kind: str, name: str, n: int, runs: int) -> tuple[float, float, float]:
    rng, numpy_rng = _rng("population", kind, name, n), np.random.default_rng([SEED, n])
    column: Callable[[], FloatArray]
    if name == "coin":
        bounds, truth, wide = (0.0, 1.0), 0.0, math.nan

        def column() -> FloatArray:
            return (numpy_rng.random(n) < 0.5 - 1e-9).astype(np.float64)
    else:
        law = LAWS[name]
        truth = float(law.median())
        deviation = 0.5 / math.sqrt(n) / float(law.pdf(truth))
        spread = float(law.std())
        # Bounds 1e5 spreads apart, for which the rule prepares.
        bounds = (truth - _LARGEST / 2 * spread, truth + _LARGEST / 2 * spread)
        wide = 3.92 * deviation

        def column() -> FloatArray:
            return np.asarray(law.rvs(size=n, random_state=numpy_rng))

    made = _made(kind, "1", n, "population", bounds)
    ends = [_ends(made, column(), rng) for _ in range(runs)]
    found = float(np.mean([low <= truth <= high for low, high in ends]))
    length = float(np.mean([high - low for low, high in ends]))
    return found, math.sqrt(_LEVEL * (1 - _LEVEL) / runs), length / wide


def _against_split(t: str) -> float:
    from smoothdp.claims import PureDP
    from smoothdp.mechanisms.release.bars.certified import max_law_factor, split_factor
    from smoothdp.mechanisms.release.bars.mixture import Mixture
    from smoothdp.mechanisms.release.bars.pair_noise import default_offset
    from smoothdp.mechanisms.release.bars.pivot import ScaleNoise
    from smoothdp.noise.joint.max_law import MaxLaw

    rate, excess = Fraction(t), Mixture.single(2)
    offset = default_offset(PureDP(1), rate, target="quantile")
    law = MaxLaw(offset).calibrate(PureDP(1), smoothing=rate)
    ours = max_law_factor(law, excess, miss=1 - _LEVEL) * law.moment("stretch")
    least = math.inf
    for share in range(8, 60, 4):
        cost = Fraction(share, 100)
        spread = float(rate / cost)
        if spread >= 1 or (1 - cost) <= rate:
            continue
        noise = PolyPlace((1 - cost) / rate).calibrate(PureDP(1 - cost), smoothing=rate)
        factor = split_factor(
            noise.law,
            excess.times(noise.shift),
            miss=1 - _LEVEL,
            scale_noise=ScaleNoise.LAPLACE,
            spread=spread,
        )
        least = min(least, factor / noise.shift / (1 - spread * spread))
    return ours / least


def _seconds() -> float:
    """Median of fresh releases, each of a confidence of its own: nothing is remembered."""
    import smoothdp as sd

    data = np.random.default_rng(1).normal(50, 10, 1001)
    times = []
    for place in range(15):
        start = time.process_time()
        sd.release(
            data,
            Median((0, 100)),
            guarantee=sd.PureDP(1),
            confidence=f"0.95{place:02d}",
            covers="population",
        )
        times.append(time.process_time() - start)
    return float(np.median(times))


if __name__ == "__main__":
    weighed = Targets("Bars of quantiles")
    show_quantile_bars("--full" in sys.argv[1:], weighed)
    weighed.show()
