"""SplitSum: parameters, proved delta, error and time, over numbers of users.

Run it as `python -m benchmarks.split_sum`; with `--quick` up to 1e6 users.
"""

from __future__ import annotations

import math
import sys
import time

from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.shuffle.split.components import component_sums
from smoothdp.shuffle.split.split_sum import SplitSum

CASES: list[tuple[int, str, int | None]] = [
    (10**3, "1", None),
    (10**4, "1", None),
    (10**5, "1", None),
    (10**6, "1", None),
    (10**6, "0.1", None),
    (10**3, "1", 1),
    (10**6, "1", 1),
    (10**7, "1", None),
    (10**8, "1", None),
    (10**9, "1", None),
]
QUICK = 10**6


def main() -> None:
    """Print the table of split sums at delta = 1e-6 and an honest share of 9/10."""
    quick = "--quick" in sys.argv
    print(
        f"{'n':>6} {'eps':>4} {'R':>7} {'log2 q':>6} {'m':>2} {'delta':>9} {'bytes':>5} "
        f"{'rmse':>6} {'95%':>6} {'seconds':>8} {'error, s':>8}"
    )
    for n, epsilon, resolution in CASES:
        if quick and n > QUICK:
            continue
        component_sums.cache_clear()
        goal = ApproxDP(epsilon, delta="1e-6")
        start = time.process_time()
        made = SplitSum.calibrate(n, guarantee=goal, resolution=resolution)
        calibrated = time.process_time()
        error = made.error("0.05")
        done = time.process_time()
        print(
            f"{n:6.0e} {epsilon:>4} {made.resolution:7} {made.modulus_bits:6} {made.n_shares:2} "
            f"{made.profile().delta(epsilon):9.2e} {made.bytes_per_user:5} "
            f"{math.sqrt(made.mse()):6.3f} {error:6.2f} {calibrated - start:8.2f} "
            f"{done - calibrated:8.2f}"
        )


if __name__ == "__main__":
    main()
