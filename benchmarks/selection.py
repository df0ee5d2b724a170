"""What publishing the best of about ten runs costs, beside published theorems.

`python -m benchmarks.selection`: epsilon at delta = 1e-6 for runs of Gaussian DP with mu = 0.3. The
theorems of others are written down here as we read them, and their free parameters are searched.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from smoothdp.claims import GaussianDP
from smoothdp.composition import compose
from smoothdp.selection import BestOf, FixedCount, NegativeBinomialCount, PoissonCount, RunCount

MU, MEAN, STOP, DELTA = 0.3, 10, 0.1, 1e-6
COUNTS: list[tuple[str, RunCount]] = [
    ("Poisson", PoissonCount(10)),
    ("geometric", NegativeBinomialCount(1, stop="0.1")),
    ("fixed", FixedCount(10)),
]


def gaussian_delta(epsilon: float) -> float:
    """Return delta of one run."""
    least = ndtr(-MU / 2 - epsilon / MU)
    return float(ndtr(MU / 2 - epsilon / MU) - math.exp(epsilon) * least)


def koskela(count: str) -> float:
    """Koskela, Redberg, Wang 2024: E[K] delta(e1), at e1 and what the shares of worse runs add."""
    first = brentq(lambda e: math.log(MEAN * gaussian_delta(e) / DELTA), 0.0, 3.0)
    if count == "Poisson":
        added = [
            MEAN * (gaussian_delta(e) + math.expm1(e)) for e in np.linspace(0, 1, 200).tolist()
        ]
    else:
        added = [
            2 * math.log(math.exp(e) + (1 - STOP) / STOP * gaussian_delta(e))
            for e in np.linspace(0, 3, 3000).tolist()
        ]
    return float(first) + min(added)


def papernot(count: str) -> float:
    """Papernot, Steinke 2022: Renyi divergences of the best run, at the best order."""
    if count == "Poisson":
        return _converted(lambda order: MEAN * gaussian_delta(math.log1p(1 / (order - 1))))
    orders = np.linspace(1, 200, 20_000)
    added = 2 * (1 - 1 / orders) * orders * MU**2 / 2 + 2 * math.log(1 / STOP) / orders
    least = float(added.min())
    return _converted(lambda _: least)


def _converted(added: Callable[[float], float]) -> float:
    """Return the least epsilon over orders (Canonne, Kamath, Steinke 2020)."""
    best = math.inf
    for order in np.linspace(1.05, 400, 40_000).tolist():
        renyi = order * MU**2 / 2 + added(order) + math.log(MEAN) / (order - 1)
        best = min(best, renyi + math.log1p(-1 / order) - math.log(DELTA * order) / (order - 1))
    return best


def main() -> None:
    """Print the table."""
    one = GaussianDP("0.3")
    print("The best of about ten runs of Gaussian DP with mu = 0.3: epsilon at delta = 1e-6")
    print(f"{'runs':<10} {'at most':>8} {'at least':>9} {'Koskela 2024':>13} {'Papernot 2022':>14}")
    for name, count in COUNTS:
        lower, upper = BestOf(one, count=count).profile().epsilon_bounds("1e-6")
        rivals = f"{'-':>13} {'-':>14}"
        if name != "fixed":
            rivals = f"{koskela(name):>13.3f} {papernot(name):>14.3f}"
        print(f"{name:<10} {upper:>8.3f} {lower:>9.3f} {rivals}")
    print(f"one run {one.profile().epsilon('1e-6'):.3f}, ", end="")
    print(f"all ten published {compose([(one, 10)]).epsilon('1e-6'):.3f}")


if __name__ == "__main__":
    main()
