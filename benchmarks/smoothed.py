"""Smoothed delta: ours beside Algorithm 1 of paper 1 as written, and the memory it takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

import smoothdp as sd
from benchmarks.timing import Row, best_time, peak_megabytes, show, sorting
from smoothdp.exact.parameters.numbers import exact_real
from smoothdp.mechanisms.sampling.draws import Draws
from smoothdp.smoothed.many_values.compositions import delta_table
from smoothdp.smoothed.two_values.delta_line import DeltaLine
from smoothdp.smoothed.two_values.endpoint import endpoint
from smoothdp.smoothed.two_values.two_values import two_values

SHARES = ("0.94467", "0.228634")
MODEL = sd.DataModel([(share, 1 - Fraction(share)) for share in SHARES])


def certified(n: int, rate: str, epsilon: str) -> Callable[[], object]:
    """Return a call of smoothed_delta over the two extreme units of 2020."""
    mechanism = sd.SamplingHistogram(n, sampling_rate=rate)
    return lambda: sd.smoothed_delta(mechanism, MODEL, epsilon=epsilon)


def one_endpoint(n: int, epsilon: str) -> Callable[[], object]:
    """Return a call of the expectation at one end of the model, .2% lost."""
    draws = Draws(n, math.ceil(Fraction("0.998") * n), "without_replacement")

    def call() -> object:
        line = DeltaLine.of(draws, exact_real(epsilon, name="epsilon"))
        return endpoint(line, Fraction(SHARES[0]))

    return call


def all_compositions(n: int) -> Callable[[], object]:
    """Return a call that evaluates every composition of n records, .2% lost."""
    draws = Draws(n, math.ceil(Fraction("0.998") * n), "without_replacement")
    chances = (Fraction(SHARES[0]), Fraction(SHARES[1]))

    def call() -> object:
        return two_values(DeltaLine.of(draws, Fraction(1, 2)), chances, sharpen=True)

    return call


def naive_algorithm_1(n: int, n_draws: int, epsilon: float) -> float:
    """Algorithm 1 as written: every composition, every histogram, every output."""
    from scipy.stats import binom, hypergeom

    growth = math.exp(epsilon)
    k = np.arange(n_draws + 1)

    def divergence(first: int, second: int) -> float:
        p = hypergeom.pmf(k, n, first, n_draws)
        q = hypergeom.pmf(k, n, second, n_draws)
        return float(np.maximum(p - growth * q, 0).sum())

    best = 0.0
    for j in range(n + 1):
        mass = np.convolve(
            binom.pmf(np.arange(j + 1), j, float(SHARES[0])),
            binom.pmf(np.arange(n - j + 1), n - j, float(SHARES[1])),
        )
        mean = 0.0
        for h in range(n + 1):
            near = [other for other in (h - 1, h + 1) if 0 <= other <= n]
            delta = max(max(divergence(h, o), divergence(o, h)) for o in near)
            mean += float(mass[h]) * delta
        best = max(best, mean)
    return best


MEMORY = """
import smoothdp as sd
model = sd.DataModel([('0.94467', '0.05533'), ('0.228634', '0.771366')])
for rate, epsilon in (('0.998', 7), ('0.5', '0.01')):
    sd.smoothed_delta(sd.SamplingHistogram(10**6, sampling_rate=rate), model, epsilon=epsilon)
"""


def main() -> None:
    """Print the table of the issue on smoothed DP."""
    values = np.random.default_rng(1).integers(0, 256, 400).tolist()
    average = sd.SamplingAverage(400, n_draws=20, universe=range(256))
    tables = [
        (
            f"table of three categories, n = {n}, rate .9, epsilon .5",
            lambda n=n: delta_table(
                sd.SamplingHistogram(n, sampling_rate="0.9"), 3, Fraction(1, 2)
            ),
            reach,
        )
        for n, reach in ((200, "reach 1 s"), (400, "reach 6 s"))
    ]
    rows = [
        (
            "certified, n = 1e6, rate .998, epsilon .5",
            certified(10**6, "0.998", "0.5"),
            "reach .3 s",
        ),
        ("certified, n = 1e6, rate .998, epsilon 7", certified(10**6, "0.998", "7"), "reach .3 s"),
        ("certified, n = 1e6, rate .5, epsilon .01", certified(10**6, "0.5", "0.01"), "reach 2 s"),
        ("one endpoint, n = 1e8, epsilon .5", one_endpoint(10**8, "0.5"), "reach .5 s"),
        ("one endpoint, n = 1e8, epsilon 7", one_endpoint(10**8, "7"), "reach .5 s"),
        ("all compositions, n = 1e4", all_compositions(10**4), "reach .15 s"),
        *tables,
        (
            "sampling average, delta(x), n = 400, T = 20, 256 values",
            lambda: average.delta(values, epsilon=2),
            "reach .1 s",
        ),
    ]
    show(
        "Smoothed DP",
        [
            sorting(),
            *(Row(what, best_time(call, calls=1, batches=3), reach) for what, call, reach in rows),
        ],
    )
    ours = best_time(certified(200, "0.9", "0.5"), calls=3, batches=3)
    naive = best_time(lambda: naive_algorithm_1(200, 180, 0.5), calls=1, batches=1, warm=False)
    show(
        "Against Algorithm 1 written naively, two categories, n = 200",
        [
            Row("ours, with bounds", ours, ""),
            Row("Algorithm 1 as written", naive, "at least x1000", False),
        ],
    )
    print(f"  memory of a process at n = 1e6: {peak_megabytes(MEMORY):.0f} MB (reach 200 MB)")


if __name__ == "__main__":
    main()
