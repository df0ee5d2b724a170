"""How far what is to be covered may be from the statistic, in units of S: one k, or a mixture.

For records drawn independently from any law, x_(J) <= theta <= x_(J+1) with J ~ Bin(n, q)
(proofs/quantile-bars#4). Each J has its excess k_J; J far out, of a mass of 1e-6 or a thousandth of
the miss, count as missed, and neighbouring excesses are taken together at the largest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from smoothdp.types import FloatArray

_UP = 1 + 1e-11
"""An excess in floats is raised by it: more than an exponential and a product err."""
_TOGETHER = 1.02
_LEAST_LEFT_OUT, _SHARE_LEFT_OUT = 1e-6, 1e-3


@dataclass(frozen=True, eq=False)
class Mixture:
    """Excesses k_i >= 0 with weights, and what is left out.

    Attributes:
        excess: k_i, rounded up. weight: of each, rounded up. left_out: counts as missed.
    """

    excess: FloatArray
    weight: FloatArray
    left_out: float

    def __hash__(self) -> int:
        return hash((self.excess.tobytes(), self.weight.tobytes(), self.left_out))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Mixture)
            and np.array_equal(self.excess, other.excess)
            and np.array_equal(self.weight, other.weight)
            and self.left_out == other.left_out
        )

    @property
    def is_single(self) -> bool:
        """Whether it is one number."""
        return len(self.excess) == 1

    @staticmethod
    def single(excess: float) -> Mixture:
        """Return one excess, which is rounded up."""
        return Mixture(np.array([excess * _UP]), np.ones(1), 0.0)

    def times(self, scale: float) -> Mixture:
        """Return the mixture in other units."""
        return Mixture(self.excess * scale * _UP, self.weight, self.left_out)


@lru_cache(maxsize=256)
def population_mixture(
    n_records: int, level: Fraction, drops: tuple[int, int], smoothing: Fraction, miss: float
) -> Mixture:
    """Return the excesses of the population's quantile.

    Args:
        n_records: n. level: q, 0 < q < 1. drops: what the window leaves out on each side.
        smoothing: t. miss: 1 - confidence.

    >>> from fractions import Fraction
    >>> mixture = population_mixture(1001, Fraction(1, 2), (496, 496), Fraction(1, 20), 0.05)
    >>> len(mixture.excess) < 200, bool(1 < mixture.weight.sum() < 1 + 1e-6)
    (True, True)
    """
    ranks, weights, left_out = _binomial(
        n_records, level, min(_LEAST_LEFT_OUT, _SHARE_LEFT_OUT * miss)
    )
    t, low, high = float(smoothing), drops[0], drops[1]
    width = n_records - low - high
    first, last = low + 1, n_records - high
    with np.errstate(over="ignore"):
        below = width * np.exp(t * np.maximum(first - ranks - 1, 0))
        above = width * np.exp(t * np.maximum(ranks - last, 0))
    up = np.where(ranks >= last, 0, np.where(ranks >= first, last - ranks, below))
    down = np.where(ranks + 1 <= first, 0, np.where(ranks + 1 <= last, ranks + 1 - first, above))
    excess = np.maximum(up, down) * _UP
    order = np.argsort(excess)
    excess, weights = excess[order], weights[order]
    block = np.floor(np.log(np.maximum(excess, 1e-3)) / math.log(_TOGETHER))
    ends = np.flatnonzero(np.append(np.diff(block) > 0, True))
    sums = np.diff(np.concatenate([[0.0], np.cumsum(weights)[ends]]))
    kept = np.isfinite(excess[ends])
    return Mixture(excess[ends][kept], sums[kept] * _UP, left_out + float(sums[~kept].sum()))


def _binomial(
    n_records: int, level: Fraction, left_out: float
) -> tuple[FloatArray, FloatArray, float]:
    """Return the ranks J of Bin(n, q) that carry weight, their weights, and a bound of the rest.

    The weights are divided by their sum, so that none is below its probability.
    """
    q = float(level)
    odds = float(level / (1 - level))
    mode = min(n_records, math.floor((n_records + 1) * level))
    reach = math.ceil(math.sqrt(n_records * q * (1 - q)) * math.sqrt(-2 * math.log(left_out))) + 30
    while True:
        low, high = max(0, mode - reach), min(n_records, mode + reach)
        j = np.arange(low, high, dtype=np.float64)
        steps = np.log((n_records - j) / (j + 1) * odds)
        logs = np.concatenate([[0.0], np.cumsum(steps)])
        logs -= logs[mode - low]
        weights = np.exp(logs)
        weights /= weights.sum()
        # Beyond an end the ratios of neighbours fall: a geometric sum bounds the tail.
        rest = 0.0
        for end, more, at in ((low, low > 0, 0), (high, high < n_records, -1)):
            if not more:
                continue
            ratio = (n_records - end) / (end + 1) * odds
            if at == 0:
                ratio = end / (n_records - end + 1) / odds
            rest += float(weights[at]) * ratio / (1 - ratio) if ratio < 1 else math.inf
        if rest <= left_out:
            return (
                np.arange(low, high + 1, dtype=np.float64),
                weights * (1 + 1e-8),
                rest * (1 + 1e-8),
            )
        reach *= 2
