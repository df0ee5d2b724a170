"""Write the reference values of the designer anew: ``python tests/references/make_designer.py``.

Nothing of smoothdp is used. Two kinds: the largest sample at a target by sums of the definition
P - E P' in whole numbers, over all outputs and both directions; and the ends of a step of
training at 60 digits, by the formulas, with the binomial law function as an incomplete beta
function.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath

FILE = Path(__file__).with_name("designer.json")


def exceeds(counts: list[int], draws: int, growth: Fraction, target: Fraction) -> bool:
    """Whether delta(x) of two categories exceeds the target, in whole numbers."""
    a, b = counts
    every, largest = math.comb(a + b, draws), Fraction(0)
    for shift in (-1, 1):
        for back in (False, True):
            here, there = (a, b), (a + shift, b - shift)
            if min(there) < 0:
                continue
            p, q = (there, here) if back else (here, there)
            total = Fraction(0)
            for k in range(max(0, draws - b - 1), min(draws, a + 1) + 1):
                first = math.comb(p[0], k) * math.comb(p[1], draws - k)
                second = math.comb(q[0], k) * math.comb(q[1], draws - k)
                total += max(Fraction(0), first - growth * second)
            largest = max(largest, total / every)
    return largest > target


def largest_draws(counts: list[int], growth: Fraction, target: Fraction) -> int:
    """Return the largest sample that meets the target, by halves: delta grows with it."""
    low, high = 0, sum(counts)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if exceeds(counts, middle, growth, target) else (middle, high)
    return low


def step(shares: list[str], n: int, batch: int, epsilon: str) -> tuple[str, str]:
    """Return ln of the upper and the lower end of one step, for a model of one distribution."""
    e = mpmath.exp(mpmath.mpf(epsilon))
    eta, part = mpmath.mpf(batch) / n, 1 - 1 / e
    most = mpmath.ceil(batch / part) - 1
    upper, lower = mpmath.mpf(0), mpmath.mpf(0)
    for text in shares:
        q = mpmath.mpf(Fraction(text).numerator) / Fraction(text).denominator
        # P(X <= k) = I_{1-q}(n - k, k + 1).
        below = mpmath.betainc(n - most, most + 1, 0, 1 - q, regularized=True)
        u, w = eta * below, mpmath.mpf(1)
        if eta < part:
            kappa = part * mpmath.log(part / eta)
            kappa += (1 - part) * mpmath.log((1 - part) / (1 - eta))
            w = mpmath.exp(n * mpmath.log1p(-q * (1 - mpmath.exp(-kappa))))
        upper, lower = upper + min(u, w), lower + eta * q**n
    ends = mpmath.log(min(eta, upper)), mpmath.log(lower)
    return mpmath.nstr(ends[0], 25), mpmath.nstr(ends[1], 25)


def main() -> None:
    """Write the file."""
    mpmath.mp.dps = 60
    cases: list[dict[str, Any]] = []
    for counts, growth, target in (
        ([40, 30], "2", "1/1000"),
        ([60, 61], "3/2", "1/100"),
        ([12, 90], "8/3", "1/100000"),
        ([150, 250], "13/10", "1/1000000"),
        ([2, 9], "5", "1/50"),
    ):
        found = largest_draws(counts, Fraction(growth), Fraction(target))
        inputs: dict[str, Any] = {"counts": counts, "epsilon": f"ln({growth})", "delta": target}
        cases.append({"kind": "largest sample", "inputs": inputs, "expected": found})
    for shares, n, batch, epsilon in (
        (["1/2", "1/2"], 200, 5, "1"),
        (["1/10", "3/10", "3/5"], 500, 3, "2"),
        (["1/100", "99/100"], 5000, 20, "0.5"),
        (["1/4", "1/4", "1/4", "1/4"], 10, 5, "1"),
        (["1/1000", "1/500", "997/1000"], 40000, 10, "3"),
        (["1/3", "2/3"], 60, 50, "0.25"),
    ):
        upper, lower = step(shares, n, batch, epsilon)
        inputs = {"shares": shares, "n_records": n, "batch": batch, "epsilon": epsilon}
        cases.append({"kind": "step", "inputs": inputs, "expected": [upper, lower]})
    FILE.write_text(json.dumps({"cases": cases}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
