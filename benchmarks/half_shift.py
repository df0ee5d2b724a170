"""Quantiles under zCDP: half shifts beside windows, the exponential mechanism, and a recursive one.

Errors are about the order statistic of the rank, in ranks between the sorted records, outputs
clamped to the bounds. ``python -m benchmarks.half_shift [--draws 100] [--sets 40]``
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from benchmarks.baselines.exponential_mechanism import pieces
from benchmarks.timing import Row, best_time, show
from smoothdp.claims import ZCDP
from smoothdp.mechanisms.quantiles.half_shift.half_shift import HalfShift
from smoothdp.mechanisms.release.release import release
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.noise import NoiseDistribution
from smoothdp.queries import Median, Quantile, Quantiles
from smoothdp.queries.many.half_shift import HalfShiftColumn
from smoothdp.types import FloatArray

Sampler = Callable[[np.random.Generator, int], FloatArray]
Draws = Callable[[FloatArray, np.random.Generator, int], FloatArray]

LAWS: dict[str, Sampler] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "t3": lambda rng, n: rng.standard_t(3, size=n),
}
ROWS = (
    *(("normal", 10**4, m, 1.0) for m in (1, 3, 9)),
    *((law, 10**4, 9, 1.0) for law in ("lognormal", "t3")),
    *(("normal", 10**3, m, 1.0) for m in (3, 9)),
    ("normal", 10**5, 9, 0.5),
)
WIDTH = 1e3
"""Bounds are plus and minus half of it."""
SINGLES = tuple(
    (n, q, e, width)
    for n, q, e in (
        *((101, "1/2", e) for e in (0.1, 0.2, 0.3, 0.5, 1.0)),
        (101, "9/10", 1.0),
        *((1001, q, e) for q in ("1/2", "9/10") for e in (0.1, 0.3, 1.0)),
        (10_001, "1/2", 1.0),
    )
    for width in (10, 1000)
)
"""n, q, e and the width of the bounds in deviations: kappa = n min(q, 1 - q) e from 5 to 5000."""


def noise(law: NoiseDistribution, rng: np.random.Generator, count: int) -> FloatArray:
    """Return draws of a law by its quantiles."""
    return np.asarray(law.quantile(rng.uniform(size=count)))


def half_shift(query: Median | Quantile | Quantiles, promise: ZCDP) -> Draws:
    """Return draws of a half-shift release, in floats: a row for each."""

    def draw(data: FloatArray, rng: np.random.Generator, count: int) -> FloatArray:
        made = HalfShift.calibrate(query, guarantee=promise, n_records=len(data))
        shifts = np.round(rng.normal(scale=math.sqrt(made.shift_variance), size=count)).astype(int)
        column = HalfShiftColumn(data, query.bounds)
        values = np.empty((count, len(made.parts)))
        for h in np.unique(shifts).tolist():
            column.arrange([(part.window, h) for part in made.parts])
            rows = np.flatnonzero(shifts == h)
            for place, part in enumerate(made.parts):
                k, d = column.largest(part.window, h)
                scale = float(d) / part.window.cells * math.exp(-k * float(part.window.smoothing))
                z = noise(part.calibration.law, rng, len(rows))
                centre = float(column.value(part.window, h))
                values[rows, place] = centre + scale / part.calibration.shift * z
        return np.sort(np.clip(values, *ends(query)), axis=1)

    return draw


def windows(query: Median | Quantile | Quantiles, promise: ZCDP) -> Draws:
    """Return draws of windows with a part of rho each."""
    singles = query.singles if isinstance(query, Quantiles) else (query,)
    part = ZCDP(promise.exact_rho / len(singles))

    def draw(data: FloatArray, rng: np.random.Generator, count: int) -> FloatArray:
        columns = []
        for single in singles:
            made = SmoothNoise.calibrate(single, guarantee=part, n_records=len(data))
            summary = made.windowed.summary(data, smoothing=made.smoothing)
            scale = summary.smooth_sensitivity() / made.calibration.shift
            columns.append(float(summary.value) + scale * noise(made.noise, rng, count))
        return np.sort(np.clip(np.stack(columns, 1), *ends(query)), axis=1)

    return draw


def exponential(query: Median | Quantile | Quantiles, promise: ZCDP) -> Draws:
    """Return draws of the exponential mechanism on ranks, with a part of rho each."""
    levels = query.levels if isinstance(query, Quantiles) else (level(query),)
    slope = math.sqrt(2 * float(promise.exact_rho) / len(levels))
    bounds = ends(query)

    def draw(data: FloatArray, rng: np.random.Generator, count: int) -> FloatArray:
        columns = []
        for q in levels:
            low, high, chance = pieces(data, float(q * len(data)), bounds, slope)
            place = rng.choice(len(chance), size=count, p=chance)
            columns.append(rng.uniform(low[place], high[place]))
        return np.sort(np.stack(columns, 1), axis=1)

    return draw


def recursive(query: Quantiles, promise: ZCDP) -> Draws:
    """Return draws of the recursive exponential mechanism: the middle level, then both halves.

    A level is a share of the part that it is looked for in, as in the paper. A replaced record
    then changes the scores of one part by at most 1 up or down, or those of the two parts that it
    leaves and enters within an interval of 2 max(p, 1 - p) each, p the share. With p from 1/3 to
    2/3 that costs no more, and a step of the recursion gets rho over their number. Ranks in the
    whole column would move in every part between both places.
    Source: Kaplan, Schnapp, Stemmer (2022), ICML, Algorithm 1.
    """
    depth = math.ceil(math.log2(len(query) + 1))
    slope = math.sqrt(2 * float(promise.exact_rho) / depth)
    bounds = ends(query)

    def split(
        data: FloatArray, shares: Sequence[float], within: tuple[float, float],
        rng: np.random.Generator,
    ) -> list[float]:  # fmt: skip
        if not shares:
            return []
        if within[1] <= within[0]:
            return [within[0]] * len(shares)
        middle = len(shares) // 2
        share = shares[middle]
        low, high, chance = pieces(data, share * len(data), within, slope)
        place = int(rng.choice(len(chance), p=chance))
        value = float(rng.uniform(low[place], high[place]))
        lower = [p / share for p in shares[:middle]]
        upper = [(p - share) / (1 - share) for p in shares[middle + 1 :]]
        left = split(data[data < value], lower, (within[0], value), rng)
        return [*left, value, *split(data[data >= value], upper, (value, within[1]), rng)]

    def draw(data: FloatArray, rng: np.random.Generator, count: int) -> FloatArray:
        levels = [float(q) for q in query.levels]
        count = min(count, 60)
        return np.array([split(data, levels, bounds, rng) for _ in range(count)])

    return draw


def ends(query: Median | Quantile | Quantiles) -> tuple[float, float]:
    """Return the bounds as floats."""
    lower, upper = query.bounds
    return float(lower), float(upper)


def level(query: Median | Quantile) -> Fraction:
    """Return q."""
    return query.q if isinstance(query, Quantile) else Fraction(1, 2)


def squares(draws: Draws, data: FloatArray, ranks: FloatArray, rng: np.random.Generator,
            count: int, *, in_ranks: bool) -> float:  # fmt: skip
    """Return the mean of squared errors, in ranks or in the units of the data."""
    data = np.sort(data)
    values = draws(data, rng, count)
    if in_ranks:
        places = np.interp(values, data, np.arange(1, len(data) + 1))
        return float(((places - ranks) ** 2).mean())
    targets = (data[np.floor(ranks).astype(int) - 1] + data[np.ceil(ranks).astype(int) - 1]) / 2
    return float(((values - targets) ** 2).mean())


def many(draws: int, sets: int) -> None:
    """Print root-mean-square errors in ranks, over all levels."""
    print("\nRoot-mean-square error in ranks, zCDP with rho = e^2 / 2, over all m levels")
    print(f"  {'law':<10}{'n':>8}{'m':>4}{'e':>5}   half-shift  windows  exponential  recursive")
    for law, n, m, e in ROWS:
        levels = [Fraction(i, m + 1) for i in range(1, m + 1)]
        query = Quantiles(levels, bounds=(-WIDTH / 2, WIDTH / 2))
        promise = ZCDP(f"{e * e / 2:.6g}")
        ranks = np.array([float(single.rank(n)) for single in query.singles])
        found = [
            mean_error(make(query, promise), law, n, ranks, draws, sets, in_ranks=True)
            for make in (half_shift, windows, exponential, recursive)
        ]
        cells = "".join(f"{value:>11.2f}" for value in found)
        print(f"  {law:<10}{n:>8}{m:>4}{e:>5} {cells}   /windows {found[0] / found[1]:.2f} "
              f"/recursive {found[0] / found[3]:.2f}")  # fmt: skip


def mean_error(
    draws: Draws, law: str, n: int, ranks: FloatArray, count: int, sets: int, *, in_ranks: bool
) -> float:
    """Return the root-mean-square error over data sets of a law."""
    total = 0.0
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        data = LAWS[law](rng, n)
        total += squares(draws, data, ranks, rng, count, in_ranks=in_ranks)
    return math.sqrt(total / sets)


def single(draws: int, sets: int) -> None:
    """Print errors of one quantile in data units, beside those of windows and exponential."""
    print("\nOne quantile of normal data, zCDP: error over that of a window, of the exponential")
    print(f"  {'n':>7} {'q':>5} {'e':>4} {'bounds':>7} {'kappa':>7}   /window  /exponential")
    for n, q, e, width in SINGLES:
        bounds = (-width / 2, width / 2)
        query: Median | Quantile = Median(bounds) if q == "1/2" else Quantile(q, bounds=bounds)
        ranks = np.array([query.doubled_rank(n) / 2])
        promise = ZCDP(f"{e * e / 2:.6g}")
        ours, window, other = (
            mean_error(make(query, promise), "normal", n, ranks, draws, sets, in_ranks=False)
            for make in (half_shift, windows, exponential)
        )
        kappa = n * float(min(level(query), 1 - level(query))) * e
        print(f"  {n:>7} {q:>5} {e:>4} {width:>7} {kappa:>7.4g}   {ours / window:>7.2f}"
              f"{ours / other:>13.2f}")  # fmt: skip


def speed() -> None:
    """Print the time of a released median of a million floats beside numpy.sort of them."""
    data = np.random.default_rng(1).lognormal(3, 1, 10**6)
    query = Median((0, 1000))
    rows = [
        Row(
            "numpy.sort of the same 1e6 doubles",
            best_time(lambda: np.sort(data), calls=1),
            "",
            False,
        )
    ]
    deciles = Quantiles([Fraction(i, 10) for i in range(1, 10)], bounds=(0, 1000))
    for text, asked, confidence in (
        ("median by a half shift", query, None),
        ("median by a window, with an interval", query, "0.95"),
        ("deciles", deciles, None),
        ("deciles with intervals", deciles, "0.95"),
    ):

        def run(asked: Median | Quantiles = asked, confidence: str | None = confidence) -> object:
            return release(data, asked, guarantee=ZCDP("0.5"), confidence=confidence)

        rows.append(Row(f"{text}, released under zCDP", best_time(run, calls=1), ""))
    show("A million floats: the whole release, calibrated once", rows)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.half_shift", description=__doc__)
    parser.add_argument("--draws", type=int, default=100, help="draws of each data set")
    parser.add_argument("--sets", type=int, default=40, help="data sets of each row")
    asked = parser.parse_args()
    many(asked.draws, asked.sets)
    single(asked.draws, 2 * asked.sets)
    speed()


if __name__ == "__main__":
    main()
