"""delta(x): our exact sums beside numpy.sort and beside the naive sum of Algorithm 1."""

from __future__ import annotations

import csv
import random
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np

import smoothdp as sd
from benchmarks.timing import Row, best_time, show, sorting
from smoothdp.data import count_column
from smoothdp.exact.random.entropy import SystemRandom
from smoothdp.exact.random.samplers import binomial, hypergeometric


def varied_delta(n: int, share: float, rate: str, epsilon: str) -> object:
    """Return a call that measures a different database every time, so no cache helps."""
    mechanism = sd.SamplingHistogram(n, sampling_rate=rate)
    rng = random.Random(1)

    def call() -> tuple[float, float]:
        first = int(n * share) + rng.randrange(n // 100)
        return mechanism.delta_bounds((first, n - first), epsilon=epsilon)

    return call


def naive_delta(counts: tuple[int, int], n_draws: int, epsilon: float) -> float:
    """Sum |P - e^epsilon P'|_+ over all outputs with scipy's probabilities."""
    from scipy.stats import hypergeom

    a, b = counts
    k = np.arange(n_draws + 1)
    best = 0.0
    for x, y in (((a, b), (a - 1, b + 1)), ((a, b), (a + 1, b - 1))):
        p = hypergeom.pmf(k, a + b, x[0], n_draws)
        q = hypergeom.pmf(k, a + b, y[0], n_draws)
        growth = np.exp(epsilon)
        best = max(
            best,
            float(np.maximum(p - growth * q, 0).sum()),
            float(np.maximum(q - growth * p, 0).sum()),
        )
    return best


DUBLIN = sd.DataModel.from_counts([(8086, 6442, 3810, 3694, 2404, 2370, 2300, 748, 134)])
"""The shares of nine candidates in Dublin West, 2002."""


def brackets() -> list[Row]:
    """Smoothed delta of nine categories: a bracket within a factor of two, at any size."""
    rows = []
    for n, rate in [
        (10**4, "0.9"),
        (10**6, "0.9"),
        (10**6, "0.97"),
        (10**7, "0.985"),
        (10**8, "0.998"),
        (10**8, "0.9"),
        (10**9, "0.999"),
        (10**9, "0.9997"),
    ]:
        mechanism = sd.SamplingHistogram(n, sampling_rate=rate)
        found: list[sd.smoothed.SmoothedDelta] = []

        def call(
            mechanism: sd.SamplingHistogram = mechanism,
            found: list[sd.smoothed.SmoothedDelta] = found,
        ) -> None:
            found.append(sd.smoothed_delta(mechanism, DUBLIN, epsilon="0.5"))

        seconds = best_time(call, calls=1, batches=1)
        factor = np.exp(found[0].log_delta - found[0].log_lower)
        name = f"n = {n:.0e}, rate {rate}: within a factor of {factor:.2f}"
        rows.append(Row(name, seconds, "reach 20 s" if rate == "0.9" else "reach 5 s"))
    for n in (10**6, 10**7):

        def largest(n: int = n) -> object:
            return sd.smoothed.largest_sample(DUBLIN, n_records=n, epsilon="0.5", delta="1e-9")

        seconds = best_time(largest, calls=1, batches=1)
        rows.append(Row(f"largest_sample, n = {n:.0e}, delta 1e-9", seconds, "reach 5 s"))
    return rows


def several_distributions() -> list[Row]:
    """Brackets over all mixtures of two to six distributions: how wide, and how long they take.

    Each is the nine shares with two categories exchanged or moved, so that different
    distributions make different categories rare.
    """
    shares = [8086, 6442, 3810, 3694, 2404, 2370, 2300, 748, 134]
    rows = [shares]
    for k in range(5):
        moved = list(shares)
        # The rarest gains, another loses: the two rarest are others in each.
        moved[8] += 100 * (k + 1)
        moved[7 - k] -= 100 * (k + 1)
        rows.append(moved)
    found = []
    for vertices, n, rate in [
        (2, 10**6, "0.97"),
        (4, 10**6, "0.97"),
        (6, 10**6, "0.97"),
        (6, 10**6, "0.9"),
        (6, 10**8, "0.998"),
        (6, 10**8, "0.9"),
    ]:
        model = sd.DataModel.from_counts(rows[:vertices])
        mechanism = sd.SamplingHistogram(n, sampling_rate=rate)
        results: list[sd.smoothed.SmoothedDelta] = []

        def call(
            mechanism: sd.SamplingHistogram = mechanism,
            model: sd.DataModel = model,
            results: list[sd.smoothed.SmoothedDelta] = results,
        ) -> None:
            results.append(sd.smoothed_delta(mechanism, model, epsilon="0.5"))

        seconds = best_time(call, calls=1, batches=1)
        gap = results[0].log_delta - results[0].log_lower
        name = f"{vertices} distributions, n = {n:.0e}, rate {rate}: ln wide {gap:.2f}"
        found.append(Row(name, seconds, ""))
    return found


def counted_file(n_rows: int) -> list[Row]:
    """Counting a column of a CSV file beside reading it with the standard library."""
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "votes.csv"
        with path.open("w") as file:
            file.write("ward,vote\n")
            file.writelines(
                f"{rng.randrange(40)},{rng.choice('abcdefghi')}\n" for _ in range(n_rows)
            )

        def read() -> None:
            with path.open(newline="") as file:
                for _ in csv.reader(file):
                    pass

        def counted() -> object:
            return count_column(path, "vote")

        return [
            Row("reading alone, csv.reader", best_time(read, calls=1, batches=2), "", False),
            Row("counting a column", best_time(counted, calls=1, batches=2), ""),
        ]


def main() -> None:
    """Print the table of issue "first measurement"."""
    rows = [sorting()]
    for what, call, calls, reach in [
        (
            "delta(x), n = 1.5e8, rate .998, epsilon = .01",
            varied_delta(155_507_476, 0.47, "0.998", "0.01"),
            50,
            "reach 0.25 ms",
        ),
        (
            "delta(x), n = 1.5e8, rate .998, epsilon = .5",
            varied_delta(155_507_476, 0.47, "0.998", "0.5"),
            50,
            "reach 0.25 ms",
        ),
        (
            "delta(x), n = 1.5e8, rate .5, epsilon = .001",
            varied_delta(155_507_476, 0.47, "0.5", "0.001"),
            10,
            "reach 2 ms",
        ),
        (
            "delta(x), n = 1e4, rate .998, epsilon = 7",
            varied_delta(10_000, 0.3, "0.998", "7"),
            50,
            "",
        ),
    ]:
        rows.append(Row(what, best_time(call, calls=calls), reach))  # type: ignore[arg-type]
    five = sd.SamplingHistogram(5000, n_draws=4500)
    counts = (800, 900, 1000, 1100, 1200)
    rows.append(
        Row(
            "delta(x), five categories, n = 5,000, epsilon = .5",
            best_time(lambda: five.delta_bounds(counts, epsilon="0.5"), calls=5),
            "reach 30 ms",
        )
    )
    for what, three, rate, epsilon, reach in [
        ("n = 1.6e8", (81_283_501, 74_223_975, 1_800_000), "0.5", "0.01", "reach 80 ms"),
        ("n = 1e9", (5 * 10**8, 3 * 10**8, 2 * 10**8), "0.5", "0.1", "reach 100 ms"),
    ]:
        sampled = sd.SamplingHistogram(sum(three), sampling_rate=rate)

        def call(
            sampled: sd.SamplingHistogram = sampled,
            three: tuple[int, ...] = three,
            epsilon: str = epsilon,
        ) -> tuple[float, float]:
            return sampled.delta_bounds(three, epsilon=epsilon)

        name = f"delta(x), three categories, {what}, rate .5, epsilon = {epsilon[1:]}"
        rows.append(Row(name, best_time(call, calls=3), reach))
    cells = [101, 119, *(119 + k for k in range(9_997))]
    cells.append(165_029_520 - sum(cells))
    for what, merged, reach in [
        ("", (), "reach 0.2 s"),
        (", with six merges", (2, 11, 51, 201, 1001, 5001), ""),
    ]:

        def designed(merged: tuple[int, ...] = merged) -> sd.design.RateDesign:
            return sd.rate_design(cells, epsilon="0.5", delta="1e-9", merge=merged)

        name = f"largest rate, 10,000 cells, n = 1.7e8{what}"
        rows.append(Row(name, best_time(designed, calls=1), reach))
    kept = sd.BernoulliHistogram(155_507_476, keep_probability="0.998")
    rows.append(
        Row(
            "delta(x), independent losses, n = 1.5e8, epsilon = .01",
            best_time(lambda: kept.delta((74_223_975, 81_283_501), epsilon="0.01"), calls=1),
            "",
        )
    )
    show("Measure", rows)

    show("Smoothed delta of nine categories, epsilon = .5", brackets())
    show("Smoothed delta over mixtures, epsilon = .5", several_distributions())
    show("A CSV file of a million rows", counted_file(10**6))

    naive = best_time(lambda: naive_delta((300_000, 700_000), 998_000, 0.1), calls=1, batches=2)
    million = sd.SamplingHistogram(10**6, n_draws=998_000)
    ours = best_time(lambda: million.delta_bounds((300_000, 700_000), epsilon="0.1"), calls=20)
    show(
        "Against the naive sum of all outputs (no bounds, no depth), n = 1e6",
        [Row("ours, with bounds", ours, ""), Row("naive, scipy.stats.hypergeom", naive, "", False)],
    )

    rng = SystemRandom()
    third = Fraction(1, 3)
    show(
        "Exact samplers, operating system's randomness",
        [
            rows[0],
            Row("binomial, n = 1e9", best_time(lambda: binomial(10**9, third, rng), calls=100), ""),
            Row(
                "hypergeometric, n = 1.5e8",
                best_time(
                    lambda: hypergeometric(155_196_462, 74_223_975, 81_283_501, rng), calls=100
                ),
                "",
            ),
        ],
    )


if __name__ == "__main__":
    main()
