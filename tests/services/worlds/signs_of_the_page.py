"""How many users of a paired protocol are honest at most, from the page of the protocol alone."""

from __future__ import annotations

import math

import numpy as np

from smoothdp.types import FloatArray

ALARM = math.log(1e12)


def noise_of_a_user(
    cells: int, design: int, rate: float, chance: float, largest: int, most: int
) -> FloatArray:
    """Return the law of W: signs and clumps of all cells, given that they are at most ``most``."""
    shape, p = 2 * cells / design, math.exp(-rate)
    signs = np.empty(most + 1)
    signs[0] = 1.0
    for k in range(1, most + 1):
        signs[k] = signs[k - 1] * p * (k - 1 + shape) / k
    harmonic = sum(1 / j for j in range(1, largest + 1))
    clump = np.zeros(most + 1)
    clump[0] = 1 - chance
    for j in range(1, min(largest, most // 2) + 1):
        clump[2 * j] = chance / (j * harmonic)
    law = signs
    for _ in range(cells):
        law = np.convolve(law, clump)[: most + 1]
    given: FloatArray = law / law.sum()
    return given


def honest_by_signs(law: FloatArray, users: int, signs: int, nothing: int) -> tuple[int, int]:
    """Return the two largest h': by too few signs, and by too many."""
    slots, counts = law.size, np.arange(law.size)
    largest = []
    for side in (-1, 1):
        logs = side * np.geomspace(1e-7, 60 if side < 0 else 150 / slots, 4000)
        means = np.log(np.exp(np.outer(logs, counts)) @ law)
        h = np.arange(users + 1)[:, None]
        powers = h - signs if side < 0 else h + (users - h) * slots - signs - nothing
        kept = (logs * powers + h * means).min(axis=1) > -ALARM
        largest.append(int(np.flatnonzero(kept).max(initial=0)))
    return largest[0], largest[1]
