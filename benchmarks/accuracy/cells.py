"""Settings of the comparison: laws, sizes, epsilons, bounds, guarantees."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from smoothdp.claims import ZCDP, PureDP
from smoothdp.queries import Median, Quantile, Query
from smoothdp.types import FloatArray

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
        """Return the promise."""
        return guarantee_of(self.epsilon, self.kind)

    def bounds(self) -> tuple[float, float]:
        """Return whole numbers six deviations apart, times the width, around the median.

        It is off the middle, where a grid of candidates would have one by luck.
        """
        law = LAWS[self.law]
        middle, unit = float(law.ppf(0.5)), float(law.std()) * self.width
        return math.floor(middle - 2.72 * unit), math.ceil(middle + 3.28 * unit)

    def columns(self, count: int) -> Iterator[FloatArray]:
        """Yield data sets: the same ones for all cells of a law and an n."""
        rng = np.random.default_rng([SEED, self.n])
        for _ in range(count):
            yield LAWS[self.law].rvs(size=self.n, random_state=rng)

    def size(self) -> float:
        """Return n epsilon."""
        return self.n * float(Fraction(self.epsilon))

    def kappa(self, q: Fraction) -> float:
        """Return n min(q, 1 - q) epsilon."""
        return self.size() * float(min(q, 1 - q))

    def name(self) -> str:
        """Return the setting in a few letters."""
        epsilon = float(Fraction(self.epsilon))
        return f"{self.kind} {self.law} n={self.n} eps={epsilon:g} W={self.width}"


def guarantee_of(epsilon: str, kind: str, *, neighbours: str = "replace_one") -> PureDP | ZCDP:
    """Return pure DP, or zCDP with rho = epsilon^2 / 2."""
    e = Fraction(epsilon)
    if kind == "pure":
        return PureDP(e, neighbours=neighbours)
    return ZCDP(e * e / 2, neighbours=neighbours)


def statistic(q: Fraction, bounds: tuple[float, float], *, window: int | None = None) -> Query:
    """Return a median or another quantile."""
    if q == Fraction(1, 2):
        return Median(bounds, window=window)
    return Quantile(q, bounds=bounds, window=window)


def progress(done: int, total: int) -> None:
    """Write how far a long run is to the error stream's line, if it is a terminal."""
    if os.isatty(2):
        os.write(2, f"\r  {done}/{total} cells".encode() + (b"\r\033[K" if done == total else b""))
