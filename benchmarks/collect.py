"""Collecting from users: what each protocol sends, how far off it is, and how long it takes.

`python -m benchmarks.collect`; figures at an honest share of 9/10 and delta = 1e-6, all present.
"""

from __future__ import annotations

import math
import time
from typing import Any

from benchmarks.timing import measured_seconds
from smoothdp.claims import ApproxDP
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.shuffle import PairedCount, PairedHistogram
from smoothdp.shuffle.paired.clump_law import clump_law, mean_pairs

WIDE: dict[str, Any] = {"most_messages": 6, "most_slots": 1000}
"""What a designer may allow beyond the defaults."""
COUNTS: list[tuple[int, str, str, int | None]] = [
    (10**3, "1", "0.9", None),
    (10**3, "1", "0.9", 30),
    (10**4, "1", "0.8", 8),
    (10**4, "1", "0.9", None),
    (10**6, "1", "0.9", 10),
    (10**6, "1", "0.9", None),
    (10**6, "1", "0.95", 60),
    (10**6, "1", "0.98", 1),
    (10**3, "0.5", "0.9", 60),
    (10**6, "0.5", "0.9", 20),
    (10**6, "0.5", "0.9", 1),
    (10**3, "0.1", "0.9", 300),
    (10**6, "0.1", "0.9", 100),
    (10**7, "1", "0.9", None),
    (10**9, "1", "0.9", 10),
]
BINS: list[tuple[int, int, str, int | None]] = [
    (10**4, 20, "0.8", None),
    (10**5, 100, "0.8", 8),
    (10**5, 100, "0.8", 4),
    (10**6, 100, "0.8", 8),
    (10**6, 100, "0.9", 10),
    (10**6, 100, "0.9", 4),
    (10**6, 800, "0.8", None),
    (10**6, 10**4, "0.8", 8),
]


def paired_counts() -> None:
    """Print the designs of paired counts; the last two columns are delta below the share."""
    print(
        f"\nPaired counts\n{'n':>6} {'eps':>4} {'share':>5} {'k':>4} {'pairs':>6} {'messages':>11} "
        f"{'K':>4} {'bytes':>6} {'rmse':>6} {'95%':>5} {'calibrate, s':>12} {'simulate, s':>11} "
        f"{'99% of m0':>9} {'95%':>8}"
    )
    for n, epsilon, share, largest in COUNTS:
        goal = ApproxDP(epsilon, delta="1e-6")
        more = {} if largest is None else {"largest_clump": largest, **WIDE}
        clump_law.cache_clear()
        start = time.process_time()
        made = PairedCount.calibrate(n, guarantee=goal, noise_share=share, **more)
        calibrated = time.process_time()
        made.simulate(n // 3, rng=SeededRandom(1))
        done = time.process_time()
        needed = made.n_honest_design
        pairs = mean_pairs(needed, made.clump_probability, made.largest_clump)
        below = [
            made.profile(n_honest=math.ceil(needed * part)).delta(epsilon) for part in (0.99, 0.95)
        ]
        print(
            f"{n:6.0e} {epsilon:>4} {share:>5} {made.largest_clump:4} {float(pairs):6.0f} "
            f"{made.messages_per_user:11.7f} {made.slots_per_user:4} {made.bytes_per_user:6} "
            f"{math.sqrt(made.mse()):6.3f} {made.error('0.05'):5.1f} {calibrated - start:12.2f} "
            f"{done - calibrated:11.3f} {below[0]:9.1e} {below[1]:8.1e}"
        )
        if largest is None:
            measured_seconds("Paired counts", f"calibration, n = {n:.0e}", calibrated - start)


def paired_histograms() -> None:
    """Print the designs of paired histograms at epsilon = 1."""
    print(
        f"\nPaired histograms, epsilon = 1\n{'n':>6} {'d':>6} {'share':>5} {'k':>3} "
        f"{'messages':>8} {'K':>4} {'bytes':>6} {'rmse':>6} {'one bin':>7} {'all':>5} "
        f"{'calibrate, s':>12} {'simulate, s':>11}"
    )
    goal = ApproxDP(1, delta="1e-6")
    for n, bins, share, largest in BINS:
        more = {} if largest is None else {"largest_clump": largest, **WIDE}
        clump_law.cache_clear()
        start = time.process_time()
        made = PairedHistogram.calibrate(n, n_bins=bins, guarantee=goal, noise_share=share, **more)
        calibrated = time.process_time()
        made.simulate({0: n}, rng=SeededRandom(1))
        done = time.process_time()
        print(
            f"{n:6.0e} {bins:6} {share:>5} {made.largest_clump:3} {made.messages_per_user:8.3f} "
            f"{made.slots_per_user:4} {made.bytes_per_user:6} {math.sqrt(made.mse()):6.3f} "
            f"{made.error('0.05'):7.0f} {made.error('0.05', simultaneous=True):5.0f} "
            f"{calibrated - start:12.2f} {done - calibrated:11.2f}"
        )


def main() -> None:
    """Print every table."""
    paired_counts()
    paired_histograms()


if __name__ == "__main__":
    main()
