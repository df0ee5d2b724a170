"""Statement 3 of docs/proofs/smoothed-properties.md, in exact rationals."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from fractions import Fraction
from itertools import product

F = Fraction
Records = tuple[int, ...]
Law = list[Fraction]
Laws = Mapping[Records, Law]
N = 3


def stick(p: Law, q: Law, growth: Fraction) -> Fraction:
    return sum((max(F(0), a - growth * b) for a, b in zip(p, q, strict=True)), F(0))


def changed(x: Records, i: int, value: int) -> Records:
    return (*x[:i], value, *x[i + 1 :])


def delta_at(laws: Laws, x: Records, growth: Fraction) -> Fraction:
    near = [laws[changed(x, i, v)] for i, v in product(range(len(x)), range(2))]
    return max(max(stick(laws[x], y, growth), stick(y, laws[x], growth)) for y in near)


def chance(rows: list[Law], x: Records) -> Fraction:
    return math.prod((row[v] for row, v in zip(rows, x, strict=True)), start=F(1))


def smoothed(laws: Laws, vertices: list[Law], growth: Fraction) -> Fraction:
    n = len(next(iter(laws)))
    return max(
        sum((chance(list(rows), x) * delta_at(laws, x, growth) for x in laws), F(0))
        for rows in product(vertices, repeat=n)
    )


def distributional(laws: Laws, vertices: list[Law], growth: Fraction, drawn: Law) -> Fraction:
    """The least delta of Definition 4 for the simulator that draws from ``drawn``."""
    n, largest = len(next(iter(laws))), F(0)
    for i, value in product(range(n), range(2)):
        for rows in product(vertices, repeat=n - 1):
            outputs = range(len(next(iter(laws.values()))))
            known, simulated = [F(0) for _ in outputs], [F(0) for _ in outputs]
            for z in product(range(2), repeat=n - 1):
                weight = chance(list(rows), z)
                for y in range(2):
                    law = laws[(*z[:i], y, *z[i:])]
                    for o in outputs:
                        simulated[o] += weight * drawn[y] * law[o]
                        known[o] += weight * law[o] if y == value else F(0)
            largest = max(largest, stick(known, simulated, growth), stick(simulated, known, growth))
    return largest


def random_laws(rng: random.Random) -> Laws:
    laws = {}
    for x in product(range(2), repeat=N):
        weights = [rng.choice([0, 1, 1, 2, 5]) for _ in range(3)] + [1]
        laws[x] = [F(w, sum(weights)) for w in weights]
    return laws


def test_distributional_privacy_follows() -> None:
    rng, nearest = random.Random(91), F(0)
    vertices = [[F(1, 10), F(9, 10)], [F(1, 4), F(3, 4)]]
    for _ in range(6):
        laws = random_laws(rng)
        for growth in (F(1), F(3, 2)):
            bound = smoothed(laws, vertices, growth)
            for drawn in vertices:
                found = distributional(laws, vertices, growth, drawn)
                assert found <= bound
                nearest = max(nearest, found / bound)
    assert nearest > F(1, 3)
    # The simulator must draw from the model. One record of three values, the model gives 2 only:
    laws_of_three = ([F(6, 10), F(4, 10)], [F(4, 10), F(6, 10)], [F(1, 2), F(1, 2)])
    delta = max(stick(laws_of_three[2], other, F(1)) for other in laws_of_three)
    assert delta == F(1, 10)
    assert stick(laws_of_three[0], laws_of_three[1], F(1)) == 2 * delta  # drawing 1 instead


def test_the_converse_is_false() -> None:
    laws = {x: [F(1 - sum(x) % 2), F(sum(x) % 2)] for x in product(range(2), repeat=2)}
    fair = [F(1, 2), F(1, 2)]
    assert distributional(laws, [fair], F(1), fair) == 0
    assert smoothed(laws, [fair], F(100)) == 1
