"""Sums through a shuffler: certified accounting, calibration, and running the protocol."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from benchmarks.timing import Row, peak_megabytes, show
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.shuffle.accounting.flip_kernel import flip_kernel
from smoothdp.shuffle.flipped.boolean_sum import BooleanSum
from smoothdp.shuffle.flipped.real_sum import RealSum

MEMORY = """
import numpy as np
import smoothdp as sd
bits = np.zeros(10**7, dtype=np.uint8)
bits[::7] = 1
sd.shuffle.BooleanSum(10**7, expected_random_users=200).release(bits)
"""


def once(call: Callable[[], object], *, repeats: int = 3) -> float:
    """Return processor seconds of a call from scratch: the least of a few."""
    times = []
    for _ in range(repeats):
        flip_kernel.cache_clear()
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    """Print the table of issue "collect sums"."""
    numbers = np.random.default_rng(1).random(10**6)
    rows = [Row("numpy.sort of 1e6 doubles", once(lambda: np.sort(numbers)), "", False)]
    n = 10**6

    def boolean(users: int) -> Callable[[], object]:
        return lambda: BooleanSum(n, expected_random_users=users).profile().epsilon("1e-6")

    bits = np.zeros(10**7, dtype=np.uint8)
    bits[::7] = 1
    protocol = BooleanSum(10**7, expected_random_users=200)
    protocol.guarantee  # noqa: B018 - known before the data, so not part of the run
    real = RealSum(n, expected_random_users=3000, n_bits=30)
    target = ApproxDP(1, delta="1e-6")
    for what, call, reach in [
        ("certified epsilon, n = 1e6, lambda = 180", boolean(180), "reach 300 ms"),
        ("certified epsilon, n = 1e6, lambda = 3,000", boolean(3000), "reach 300 ms"),
        ("certified epsilon, n = 1e6, lambda = 1e5", boolean(100_000), "reach 5,000 ms"),
        (
            "certified epsilon, RealSum, r = 30, n = 1e6, lambda = 3,000",
            lambda: real.profile().epsilon("1e-6"),
            "reach 1,500 ms",
        ),
        (
            "calibrate (1, 1e-6), n = 1e6",
            lambda: BooleanSum.calibrate(n, guarantee=target, honest_share=1),
            "",
        ),
        (
            "randomise and count 1e7 users, system randomness",
            lambda: protocol.release(bits),
            "reach 1,000 ms",
        ),
    ]:
        rows.append(Row(what, once(call), reach))
    show("sums through a shuffler", rows)
    print(
        f"  memory of a process that runs 1e7 users: {peak_megabytes(MEMORY):.0f} MB (reach 300 MB)"
    )


if __name__ == "__main__":
    main()
