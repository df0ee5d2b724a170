"""Sums of samples, counted in whole numbers by two routes: what oracles compare with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations, product

Weights = dict[int, int]
Law = Callable[[Sequence[int], int, str], Weights]


def enumerated(x: Sequence[int], n_draws: int, sampling: str) -> Weights:
    """Count the samples with each sum, one by one."""
    if sampling == "with_replacement":
        return Counter(sum(sample) for sample in product(x, repeat=n_draws))
    return Counter(sum(sample) for sample in combinations(x, n_draws))


def multiplied(x: Sequence[int], n_draws: int, sampling: str) -> Weights:
    """Count them by a polynomial whose coefficients are digits of one whole number."""
    digit = 96
    if sampling == "with_replacement":
        packed = sum(1 << (digit * value) for value in x) ** n_draws
    else:
        sizes = [1] + [0] * n_draws
        for value in x:
            for size in range(n_draws, 0, -1):
                sizes[size] += sizes[size - 1] << (digit * value)
        packed = sizes[n_draws]
    weights, place = {}, 0
    while packed:
        weight = packed & ((1 << digit) - 1)
        if weight:
            weights[place] = weight
        packed >>= digit
        place += 1
    return weights
