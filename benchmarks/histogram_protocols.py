"""Histograms in three models of trust: Table 1 of paper 3 with its constants measured.

The protocols of the other models are reference implementations for comparison: they draw from
numpy's generator, so nothing they return is private.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks.kept import MEASURED
from benchmarks.timing import Row, best_time, show, sorting
from smoothdp.claims import ApproxDP
from smoothdp.exact.parameters.numbers import exact_fraction
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.shuffle.accounting.exchange_sum import log_exchange_sum
from smoothdp.shuffle.histogram.histogram import Histogram
from smoothdp.shuffle.histogram.low_communication import LowCommunicationHistogram
from smoothdp.types import FloatArray, IntArray

Counts = IntArray
Estimate = FloatArray
Generator = np.random.Generator


# ---- local model: users trust nobody ----------------------------------------------------------


def randomised_response(counts: Counts, epsilon: float, rng: Generator) -> Estimate:
    """Report the true bin with probability e^eps / (e^eps + d - 1), else another; unbiased."""
    n, d = int(counts.sum()), counts.size
    keep, other = response_probabilities(d, epsilon)
    kept = rng.binomial(counts, keep)
    reports: Estimate = kept.astype(np.float64)
    # Each lie is uniform over the d - 1 other bins: drawn over all d, its own bin refused.
    lies = counts - kept
    for source in np.flatnonzero(lies).tolist():
        drawn = rng.integers(0, d - 1, lies[source])
        np.add.at(reports, drawn + (drawn >= source), 1.0)
    estimate: Estimate = (reports - n * other) / (keep - other)
    return estimate


def response_probabilities(d: int, epsilon: float) -> tuple[float, float]:
    """Return the probabilities of the true bin and of each other one."""
    growth = math.exp(epsilon)
    return growth / (growth + d - 1), 1 / (growth + d - 1)


def unary_encoding(counts: Counts, epsilon: float, rng: Generator) -> Estimate:
    """RAPPOR with the best bit flips: one bit per bin, 1/2 where true, 1/(e^eps + 1) else."""
    n = int(counts.sum())
    here, elsewhere = unary_probabilities(epsilon)
    ones = rng.binomial(counts, here) + rng.binomial(n - counts, elsewhere)
    estimate: Estimate = (ones.astype(np.float64) - n * elsewhere) / (here - elsewhere)
    return estimate


def unary_probabilities(epsilon: float) -> tuple[float, float]:
    """Return the probability of a 1 in the true bin and in another."""
    return 0.5, 1 / (math.exp(epsilon) + 1)


def hadamard_response(counts: Counts, epsilon: float, rng: Generator) -> Estimate:
    """Report a random row and the sign of the true column in it, flipped with 1/(e^eps + 1)."""
    d = counts.size
    size = 1 << d.bit_length()
    data = np.repeat(np.arange(1, d + 1), counts)
    rows = rng.integers(0, size, data.size)
    signs = 1 - 2 * (np.bitwise_count(rows & data) & 1).astype(np.int64)
    flips = rng.random(data.size) < 1 / (math.exp(epsilon) + 1)
    sums = np.zeros(size)
    np.add.at(sums, rows, np.where(flips, -signs, signs).astype(np.float64))
    growth = math.exp(epsilon)
    return _hadamard(sums)[1 : d + 1] * (growth + 1) / (growth - 1)


def _hadamard(values: Estimate) -> Estimate:
    """Return the product with the Hadamard matrix of that size."""
    result, half = values.copy(), 1
    while half < values.size:
        blocks = result.reshape(-1, 2, half)
        total, gap = blocks[:, 0] + blocks[:, 1], blocks[:, 0] - blocks[:, 1]
        blocks[:, 0], blocks[:, 1] = total, gap
        half *= 2
    return result


# ---- central model: users trust the analyser --------------------------------------------------


def laplace(counts: Counts, epsilon: float, rng: Generator) -> Estimate:
    """Add Laplace noise of scale 2 / epsilon to every bin: pure epsilon, replaced records."""
    noisy: Estimate = counts + rng.laplace(0.0, 2 / epsilon, counts.size)
    return noisy


def stability(counts: Counts, epsilon: float, delta: float, rng: Generator) -> Estimate:
    """Add the same noise to bins that are not empty, and show only what exceeds a threshold.

    Bun, Nissim, Stemmer, Simultaneous private learning of multiple concepts (2016): an empty
    bin is exactly 0.
    """
    noisy = np.where(counts > 0, counts + rng.laplace(0.0, 2 / epsilon, counts.size), 0.0)
    return np.where(noisy > stability_threshold(epsilon, delta), noisy, 0.0)


def stability_threshold(epsilon: float, delta: float) -> float:
    """Return 1 + 2 ln(2 / delta) / epsilon."""
    return 1 + 2 * math.log(2 / delta) / epsilon


# ---- table 1 ------------------------------------------------------------------------------------


class Line(NamedTuple):
    """One protocol at one size: the 95% simultaneous error, in users, and over its formula."""

    model: str
    protocol: str
    error: float
    constant: float
    messages: float


def quantile_of_error(
    run: Callable[[], Estimate], counts: Counts, *, runs: int, share: float = 0.95
) -> float:
    """Return the quantile of the largest error over all bins, over some runs."""
    errors = sorted(float(np.abs(run() - counts).max()) for _ in range(runs))
    return errors[min(runs - 1, math.ceil(share * runs) - 1)]


def zipf_counts(n: int, d: int) -> Counts:
    """Return counts in proportion to 1 / rank, the rest in the first bin: many empty bins."""
    weights = 1 / np.arange(1, d + 1)
    counts: Counts = np.floor(n * weights / weights.sum()).astype(np.int64)
    counts[0] += n - int(counts.sum())
    return counts


def table(n: int, d: int, *, epsilon: float, delta: float, runs: int = 40) -> list[Line]:
    """Return Table 1 at one size, formulas without their constants, errors as counts."""
    rng, bits = np.random.default_rng(1), SeededRandom(1)
    counts = zipf_counts(n, d)
    goal = ApproxDP(epsilon, delta=delta)
    exact = Histogram.calibrate(n, n_bins=d, guarantee=goal, honest_share=1)
    sparse = LowCommunicationHistogram.calibrate(n, n_bins=d, guarantee=goal, honest_share=1)
    local = math.sqrt(n * math.log(d)) / epsilon
    shuffled = math.log(1 / delta) / epsilon**2
    central = min(math.log(d), math.log(1 / delta)) / epsilon

    def simulated(protocol: Histogram | LowCommunicationHistogram) -> Callable[[], Estimate]:
        return lambda: np.asarray(protocol.simulate(counts, rng=bits).value.to_array())

    cases: list[tuple[str, str, Callable[[], Estimate], float, float]] = [
        (
            "local",
            "randomised response",
            lambda: randomised_response(counts, epsilon, rng),
            local,
            1,
        ),
        ("local", "unary encoding", lambda: unary_encoding(counts, epsilon, rng), local, 1),
        ("local", "Hadamard response", lambda: hadamard_response(counts, epsilon, rng), local, 1),
        ("shuffled", "zero-preserving, exact", simulated(exact), shuffled, exact.mean_messages),
        ("shuffled", "low communication", simulated(sparse), shuffled, sparse.mean_messages),
        ("central", "Laplace", lambda: laplace(counts, epsilon, rng), central, 0),
        ("central", "stability", lambda: stability(counts, epsilon, delta, rng), central, 0),
    ]
    if Histogram.smallest_n_users(guarantee=goal, honest_share=1, method="paper") <= n:
        paper = Histogram.calibrate(n, n_bins=d, guarantee=goal, honest_share=1, method="paper")
        cases.insert(
            3,
            ("shuffled", "zero-preserving, paper", simulated(paper), shuffled, paper.mean_messages),
        )
    lines = []
    for model, name, run, formula, sent in cases:
        error = quantile_of_error(run, counts, runs=runs)
        lines.append(Line(model, name, error, error / formula, sent))
    return lines


def main() -> None:
    """Print Table 1 at three sizes, and the speed of the accounting and of the protocols."""
    epsilon, delta = 1.0, 1e-6
    for n, d in ((10**5, 100), (10**5, 10**4), (10**6, 10**6)):
        print(f"\nTable 1 with constants: n = {n:.0e}, d = {d:.0e}, epsilon = 1, delta = 1e-6")
        print(
            f"  {'model':<9} {'protocol':<24} {'95% error':>10} {'/ formula':>10} {'messages':>10}"
        )
        for line in table(n, d, epsilon=epsilon, delta=delta, runs=40 if n < 10**6 else 5):
            print(
                f"  {line.model:<9} {line.protocol:<24} {line.error:>10.1f} "
                f"{line.constant:>10.3f} {line.messages:>10.4g}"
            )
            if line.model == "shuffled":
                MEASURED.add(f"Table 1, n = {n:.0e}, d = {d:.0e}", line.protocol, 1 / line.constant)
    goal = ApproxDP(1, delta="1e-6")
    rows = [sorting()]
    for what, gamma, epsilon_here, reach in (
        ("delta(1), n = 1e9, n gamma = 42.7", "4.27e-8", "1", "reach 2 ms"),
        ("delta(.001), n = 1e9, n gamma = 1e6", "0.001", "0.001", "reach 2 ms"),
        ("delta(.01), n = 1e9, n gamma = 1e6", "0.001", "0.01", "reach 2 ms"),
        ("delta(1), n = 1e9, n gamma = 1e6: e^-209933", "0.001", "1", "reach 2 ms"),
        ("delta(.0002), n = 1e9, gamma = 1/2", "0.5", "0.0002", "reach 60 ms"),
    ):
        probability = exact_fraction(gamma, name="gamma")
        level = exact_fraction(epsilon_here, name="epsilon")
        seconds = best_time(
            lambda p=probability, e=level: log_exchange_sum(10**9, p, e),  # type: ignore[misc]
            calls=2,
        )
        rows.append(Row(what, seconds, reach))
    for n in (10**4, 10**6, 10**9):
        seconds = best_time(
            lambda n=n: Histogram.calibrate(n, n_bins=9, guarantee=goal, honest_share=1),  # type: ignore[misc]
            calls=1,
            batches=3,
        )
        rows.append(Row(f"calibration, n = {n:.0e}", seconds, "reach 0.3 s"))
    protocol = Histogram.calibrate(10**6, n_bins=100, guarantee=goal, honest_share=1)
    data = np.random.default_rng(1).integers(0, 100, 10**6)
    rows.append(
        Row(
            "release, 1e6 users, 100 bins",
            best_time(lambda: protocol.release(data), calls=1),
            "reach 5 s",
        )
    )
    bits = best_time(lambda: protocol.count_messages(data), calls=1, batches=1)
    rows.append(Row("a noise bit for each of 1e6 users and 100 bins", bits, "reach 5 s"))
    flights = Histogram.calibrate(336_776, n_bins=4_043, guarantee=goal, honest_share=1)
    tails = zipf_counts(336_776, 4_043)
    rows.append(
        Row(
            "release, 336,776 users, 4,043 bins",
            best_time(lambda: flights.release(counts=tails), calls=1),
            "",
        )
    )
    large = Histogram.calibrate(10**6, n_bins=10**6, guarantee=goal, honest_share=1)
    view = best_time(lambda: large.shuffled_counts({0: 10**6}), calls=1)
    rows.append(Row("what the analyser sees, 1e6 bins", view, "reach 0.2 s"))
    show("Speed", rows)


if __name__ == "__main__":
    main()
