"""Errors against what users would pick: same guarantee, replace one record, n public.

``python -m benchmarks.accuracy`` prints a reduced set of cells, with ``--full`` all of them.
Ratios are (error of the peer) / (error of smoothdp): above 1 smoothdp is more accurate; losses are
printed as losses. Root-mean-square errors, with 95% bootstrap intervals over the data sets.

Quantiles: the error by privacy against the sample quantile, exactly given the data for smoothdp
(clamped to the bounds, as its rivals are) and for the continuous exponential mechanism; OpenDP by
draws. Means: the whole error against the
mean of the law, by draws. "rule" is `release` as it is, "plan" is told the law.
"""

from __future__ import annotations

import math
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.baselines import exponential_mechanism, means
from smoothdp.exact.entropy import SeededRandom, SystemRandom
from smoothdp.mechanisms.release_statistic import release
from smoothdp.mechanisms.smooth.coverage import Coverage
from smoothdp.mechanisms.smooth.pivot import panels
from smoothdp.mechanisms.smooth_noise import SmoothNoise
from smoothdp.planning import plan
from smoothdp.privacy import ZCDP, PureDP
from smoothdp.queries import Median, Quantile, Query, TrimmedMean

FloatArray = NDArray[np.float64]
SEED = 20261121
LAWS: dict[str, Any] = {
    "normal": stats.norm(100, 15),
    "laplace": stats.laplace(100, 15),
    "t3": stats.t(3, loc=100, scale=15),
    "lognormal": stats.lognorm(s=1, scale=20),
}


class Cell(NamedTuple):
    """One setting: a law, n, epsilon (rho = epsilon^2 / 2), how wide the bounds are, a kind."""

    law: str
    n: int
    epsilon: str
    width: int
    kind: str

    def guarantee(self) -> PureDP | ZCDP:
        e = Fraction(self.epsilon)
        return PureDP(e) if self.kind == "pure" else ZCDP(e * e / 2)

    def bounds(self) -> tuple[float, float]:
        """Return whole numbers six deviations apart, times the width, around the median.

        It is off the middle, where a grid of candidates would have one by luck.
        """
        law = LAWS[self.law]
        middle, unit = float(law.ppf(0.5)), float(law.std()) * self.width
        return math.floor(middle - 2.72 * unit), math.ceil(middle + 3.28 * unit)

    def columns(self, count: int) -> Iterator[FloatArray]:
        rng = np.random.default_rng([SEED, self.n])
        for _ in range(count):
            yield LAWS[self.law].rvs(size=self.n, random_state=rng)


def ratio(peer: FloatArray, ours: FloatArray) -> tuple[float, float, float]:
    """Return sqrt(mean peer / mean ours) of squared errors, and its 95% bootstrap interval."""
    rng = np.random.default_rng(SEED)
    picks = rng.integers(len(ours), size=(400, len(ours)))
    resampled = np.sqrt(peer[picks].mean(axis=1) / ours[picks].mean(axis=1))
    low, high = np.quantile(resampled, [0.025, 0.975])
    return math.sqrt(peer.mean() / ours.mean()), float(low), float(high)


def show(found: tuple[float, float, float]) -> str:
    """Return "1.62 (1.58-1.66)", a loss marked."""
    mark = " loss" if found[2] < 1 else ""
    return f"{found[0]:8.3g} ({found[1]:.3g}-{found[2]:.3g}){mark}"


# ---- quantiles -----------------------------------------------------------------------------------


def smooth_squares(
    mechanism: SmoothNoise, reference: Query, columns: list[FloatArray]
) -> FloatArray:
    """Return E (y - sample quantile)^2 for each column, y clamped, exactly given it."""
    law, shift = mechanism.noise, mechanism.calibration.shift
    lower, upper = (float(bound) for bound in mechanism.query.bounds)
    # E over Z by its tail: ln P(Z > z) from ln(1/2) to -60.
    nodes, weights = panels(np.linspace(-60, math.log(0.5), 121))
    z, chance = np.asarray(law.tail_quantile(nodes)), weights * np.exp(nodes)
    found = []
    for data in columns:
        summary = mechanism.query.summary(data, smoothing=mechanism.smoothing)
        value, target = float(summary.value), reference.value(data)
        noise = summary.smooth_sensitivity() / shift * z
        both = (np.clip(value + side * noise, lower, upper) - target for side in (1, -1))
        found.append(sum(float(chance @ side**2) for side in both))
    return np.array(found)


def exponential_squares(
    q: float,
    guarantee: PureDP | ZCDP,
    bounds: tuple[float, float],
    reference: Query,
    columns: list[FloatArray],
) -> FloatArray:
    """Return the same for the continuous exponential mechanism."""
    z = exponential_mechanism.slope(guarantee)
    found = []
    for data in columns:
        rank = math.floor(q * (len(data) - 1) + 0.5) + 0.5
        target = reference.value(data)
        found.append(exponential_mechanism.squared_error(data, rank, bounds, z, target))
    return np.array(found)


def opendp_quantile(q: float, cell: Cell, candidates: int) -> Callable[[FloatArray], float] | None:
    """Return OpenDP's quantile over evenly spaced candidates, None without OpenDP."""
    if find_spec("opendp") is None:
        return None
    import opendp.prelude as dp

    dp.enable_features("contrib")
    pure = cell.kind == "pure"
    space = (
        dp.vector_domain(dp.atom_domain(T=float, nan=False), size=cell.n),
        dp.symmetric_distance(),
    )
    budget = float(Fraction(cell.epsilon)) if pure else float(Fraction(cell.epsilon)) ** 2 / 2
    grid = list(np.linspace(*cell.bounds(), candidates))

    def make(scale: float) -> Any:
        measure = dp.max_divergence() if pure else dp.zero_concentrated_divergence()
        return dp.m.make_private_quantile(*space, measure, candidates=grid, alpha=q, scale=scale)

    # One record replaced is a symmetric distance of 2.
    fits = lambda scale: make(scale).map(2) <= budget  # noqa: E731
    found: Any = dp.binary_search(fits, bounds=(1e-3, 1e4))
    measurement: Callable[[FloatArray], float] = make(found)
    return measurement


def quantiles(full: bool) -> None:
    """Print medians and 90% quantiles, a line a cell."""
    print("\nQuantiles: error of the peer / error of smoothdp (95% interval); above 1 is a win")
    print(f"  {'cell':<46}{'EM / rule':>24}{'EM / plan':>24}{'OpenDP 1001 / rule':>26}")
    opendp = find_spec("opendp") is not None
    if not opendp:
        print("  OpenDP is not installed: its column is empty")
    print(
        "  diffprivlib: its quantile is the exponential mechanism (EM) at this slope"
        if find_spec("diffprivlib")
        else "  diffprivlib is not installed; its quantile is EM with the same slope"
    )
    sizes = {101: 120, 1001: 60, 10001: 20} if full else {101: 60, 1001: 30}
    epsilons = ("1/10", "1/2", "1", "2") if full else ("1/10", "1")
    for kind in ("pure", "zcdp"):
        for q in (Fraction(1, 2), Fraction(9, 10)):
            for law in LAWS if full else ("lognormal",):
                for n, count in sizes.items():
                    for epsilon in epsilons:
                        for width in (1, 10, 1000) if full else (1, 1000):
                            quantile_line(Cell(law, n, epsilon, width, kind), q, count)


def quantile_line(cell: Cell, q: Fraction, count: int) -> None:
    """Print one cell."""
    bounds, guarantee = cell.bounds(), cell.guarantee()
    is_median = q == Fraction(1, 2)
    query: Query = Median(bounds) if is_median else Quantile(q, bounds=bounds)
    columns = list(cell.columns(count))
    made = SmoothNoise.calibrate(query, guarantee=guarantee, n_records=cell.n)
    ours = smooth_squares(made, query, columns)
    planned = plan(query, guarantee=guarantee, n_records=cell.n, assuming=LAWS[cell.law])
    best = smooth_squares(planned.mechanism(), query, columns)
    rival = exponential_squares(float(q), guarantee, bounds, query, columns)
    kappa = cell.n * float(min(q, 1 - q) * Fraction(cell.epsilon))
    text = ""
    peer = opendp_quantile(float(q), cell, 1001)
    if peer is not None:
        draws = np.array(
            [
                np.mean([(peer(data) - query.value(data)) ** 2 for _ in range(20)])
                for data in columns
            ]
        )
        text = show(ratio(draws, ours))
    name = (
        f"{cell.kind} q={float(q):g} {cell.law} n={cell.n} eps={float(Fraction(cell.epsilon)):g} "
        f"W={cell.width} k={kappa:.3g}"
    )
    print(f"  {name:<46}{show(ratio(rival, ours)):>24}{show(ratio(rival, best)):>24}{text:>26}")


# ---- means ---------------------------------------------------------------------------------------


def mean_rivals(cell: Cell) -> dict[str, Callable[[FloatArray, np.random.Generator], float]]:
    """Return the rival means; KV and CoinPress are told the true deviation."""
    bounds, guarantee = cell.bounds(), cell.guarantee()
    sigma = float(LAWS[cell.law].std())
    return {
        "clamp": lambda x, rng: means.clamped(x, bounds, guarantee, rng),
        "clip 1%": lambda x, rng: means.clipped_at_quantiles(x, bounds, guarantee, rng, level=0.01),
        "clip 5%": lambda x, rng: means.clipped_at_quantiles(x, bounds, guarantee, rng),
        "KV": lambda x, rng: means.karwa_vadhan(x, bounds, guarantee, rng, sigma=sigma),
        "KV 25%": lambda x, rng: means.karwa_vadhan(
            x, bounds, guarantee, rng, sigma=sigma, part=0.25
        ),
        "CoinPress 2": lambda x, rng: means.coinpress(
            x, bounds, guarantee, rng, sigma=sigma, steps=2
        ),
        "CoinPress 4": lambda x, rng: means.coinpress(x, bounds, guarantee, rng, sigma=sigma),
    }


def mean_line(cell: Cell, count: int) -> None:
    """Print one cell: the best rival in hindsight over 10% trimming by rule, and over the plan."""
    law, bounds, guarantee = LAWS[cell.law], cell.bounds(), cell.guarantee()
    target = float(law.mean())
    columns = list(cell.columns(count))
    squares: dict[str, FloatArray] = {}
    for name, mechanism in mean_rivals(cell).items():
        rng = np.random.default_rng(SEED)
        squares[name] = np.array([(mechanism(x, rng) - target) ** 2 for x in columns])
    query = TrimmedMean("0.1", bounds=bounds)
    made = SmoothNoise.calibrate(query, guarantee=guarantee, n_records=cell.n)
    planned = plan(query, guarantee=guarantee, n_records=cell.n, assuming=law).mechanism()
    ours = []
    for smooth in (made, planned):
        draws = SeededRandom(SEED)
        values = [float(smooth.release(x, rng=draws).value) for x in columns]
        ours.append((np.array(values) - target) ** 2)
    rival = min(squares, key=lambda name: squares[name].mean())
    free = math.sqrt(ours[1].mean()) / float(law.std()) * math.sqrt(cell.n)
    name = f"{cell.kind} {cell.law} n={cell.n} eps={float(Fraction(cell.epsilon)):g} W={cell.width}"
    texts = [show(ratio(squares[rival], o)) for o in ours]
    print(f"  {name:<40}{rival:>12}{texts[0]:>26}{texts[1]:>26}{free:>10.3g}")


def mean_table(full: bool) -> None:
    """Print means, a line a cell."""
    print("\nMeans: error of the best rival in hindsight / error of a trimmed mean")
    print("  (last column: error of the plan / that of the sample mean without privacy)")
    print(f"  {'cell':<40}{'best rival':>12}{'10% by rule':>26}{'plan':>26}{'price':>10}")
    sizes = {101: 800, 1001: 500, 10001: 200} if full else {101: 300, 1001: 200}
    for kind in ("pure", "zcdp"):
        for law in LAWS:
            for n, count in sizes.items():
                for epsilon in ("1/10", "1/2", "1", "2") if full else ("1",):
                    for width in (1, 10, 1000) if full else (1, 1000):
                        mean_line(Cell(law, n, epsilon, width, kind), count)


def paper_setting() -> None:
    """Print n MSE - 1 in the setting of paper 2: N(0, 1), [-50, 1050], n = 1001, epsilon = 1."""
    print("\nn MSE - 1, N(0, 1) with bounds [-50, 1050], n = 1001, epsilon = 1 (the paper: .11)")
    rng = np.random.default_rng(SEED)
    columns = rng.normal(size=(1000, 1001))
    for guarantee, name in ((PureDP(1), "pure"), (ZCDP(Fraction(1, 2)), "zCDP")):
        for trim, what in (
            ("0.05", "5% trimmed, by rule"),
            ("62", "62 trimmed, by rule"),
            ("0.1", "10% trimmed, by rule"),
            ("", "plan"),
        ):
            query = TrimmedMean(trim or 1, bounds=(-50, 1050))
            if trim:
                made = SmoothNoise.calibrate(query, guarantee=guarantee, n_records=1001)
            else:
                made = plan(
                    query, guarantee=guarantee, n_records=1001, assuming=stats.norm()
                ).mechanism()
            spread = made.calibration.standard_deviation
            parts = []
            for row in columns:
                summary = made.query.summary(row, smoothing=made.smoothing)
                # The sample mean is independent of the rest: its error is 1 / n, known.
                rest = float(summary.value) - row.mean()
                parts.append(rest**2 + (summary.smooth_sensitivity() * spread) ** 2)
            excess = 1001 * np.array(parts)
            error = excess.std() / math.sqrt(len(excess))
            print(f"  {name:<6}{what:<24}{excess.mean():.4f} +- {error:.4f}")


# ---- error bars ----------------------------------------------------------------------------------


def bars(full: bool) -> None:
    """Print coverage and width of 95% intervals."""
    print("\nError bars at 95%: coverage (+- one standard error), mean width over the width of the")
    print("default release with S known, and coverage of the population's quantile (nominal)")
    runs = 2000 if full else 500
    for kind in ("pure", "zcdp"):
        for law in ("normal", "lognormal"):
            for n in (1001, 4001):
                cell = Cell(law, n, "1", 10, kind)
                guarantee, bounds = cell.guarantee(), cell.bounds()
                made, wide = (
                    SmoothNoise.calibrate(
                        Median(bounds),
                        guarantee=guarantee,
                        n_records=n,
                        coverage=Coverage.read("0.95", covers=covers),
                    )
                    for covers in ("statistic", "population")
                )
                plain = SmoothNoise.calibrate(Median(bounds), guarantee=guarantee, n_records=n)
                quantile = plain.noise.quantile(0.975) / plain.calibration.shift
                hits = far = 0
                widths, known = [], []
                # The same bits would give the same pivot in every cell.
                draws = SeededRandom(SEED + zlib.crc32(repr(cell).encode()))
                for data in cell.columns(runs):
                    low, high = made.release(data, rng=draws).interval  # type: ignore[attr-defined]
                    value = made.query.value(data)
                    hits += low <= value <= high
                    widths.append(high - low)
                    s = plain.query.smooth_sensitivity(data, smoothing=plain.smoothing)
                    known.append(2 * quantile * s)
                    low, high = wide.release(data, rng=draws).interval  # type: ignore[attr-defined]
                    far += low <= LAWS[law].ppf(0.5) <= high
                error = math.sqrt(0.95 * 0.05 / runs)
                print(
                    f"  {kind} median {law} n={n}: {hits / runs:.4f} +- {error:.4f}, width x "
                    f"{np.mean(widths) / np.mean(known):.3g}, population {far / runs:.4f}"
                )


def speed() -> None:
    """Print the time of a release of 1e6 floats, against OpenDP's quantile."""
    data = np.random.default_rng(SEED).normal(100, 15, 10**6)
    query, rng = Median((0, 200)), SystemRandom()
    release(data, query, guarantee=PureDP(1), rng=rng)
    rows: list[tuple[str, Callable[[], object]]] = [
        (
            "smoothdp release, median of 1e6 floats",
            lambda: release(data, query, guarantee=PureDP(1), rng=rng),
        )
    ]
    peer = opendp_quantile(0.5, Cell("normal", 10**6, "1", 1, "pure"), 1001)
    if peer is not None:
        as_list = data.tolist()
        rows.append(("OpenDP quantile, 1001 candidates, a list", lambda: peer(as_list)))
    else:
        print("  OpenDP is not installed: nothing to compare with")
    print("\nProcessor time, best of 3")
    first = None
    for name, call in rows:
        times = []
        for _ in range(3):
            start = time.process_time()
            call()
            times.append(time.process_time() - start)
        first = first or min(times)
        print(f"  {name:<44}{min(times) * 1e3:>10.1f} ms  x{min(times) / first:.3g}")


def main(*, full: bool = False) -> None:
    """Print all tables."""
    paper_setting()
    bars(full)
    speed()
    mean_table(full)
    quantiles(full)


if __name__ == "__main__":
    main(full="--full" in sys.argv)
