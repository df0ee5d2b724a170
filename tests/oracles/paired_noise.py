"""Cancelling pairs user by user, as exact rationals: the law of what an analyser sees.

Nothing of the library is used: each user's noise is listed, conditioned on the cap, and the users
are added one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

View = dict[tuple[int, int], Fraction]
"""(number of +, number of -) to its probability."""


def share_weight(shape: Fraction, ratio: Fraction, count: int) -> Fraction:
    """Gamma(k + r) / (Gamma(r) k!) p^k, without the factor (1 - p)^r."""
    weight = Fraction(1)
    for i in range(count):
        weight *= (shape + i) * ratio / (i + 1)
    return weight


def noise_of_one(
    shape: Fraction, ratio: Fraction, chance: Fraction, largest: int, cap: int
) -> View:
    """The (+, -) of one user's noise, given that it has at most ``cap`` messages; p = ratio."""
    whole = sum((Fraction(1, j) for j in range(1, largest + 1)), Fraction(0))
    clumps = {0: 1 - chance, **{j: chance / (j * whole) for j in range(1, largest + 1)}}
    shares = [share_weight(shape, ratio, k) for k in range(cap + 1)]
    law: defaultdict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for pairs, mass in clumps.items():
        for a in range(cap + 1 - 2 * pairs):
            for b in range(cap + 1 - 2 * pairs - a):
                law[a + pairs, b + pairs] += shares[a] * shares[b] * mass
    total = sum(law.values(), Fraction(0))
    return {view: mass / total for view, mass in law.items()}


def added(first: Mapping[tuple[int, int], Fraction], second: View) -> View:
    law: defaultdict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for (a, b), mass in first.items():
        for (c, d), other in second.items():
            law[a + c, b + d] += mass * other
    return dict(law)


def noise_of_all(users: Sequence[View]) -> View:
    law: View = {(0, 0): Fraction(1)}
    for user in users:
        law = added(law, user)
    return law


def moved(law: View, plus: int, minus: int) -> View:
    return {(a + plus, b + minus): mass for (a, b), mass in law.items()}


def hockey_stick(first: View, second: View, growth: Fraction) -> Fraction:
    nothing = Fraction(0)
    return sum(
        (max(nothing, mass - growth * second.get(view, nothing)) for view, mass in first.items()),
        nothing,
    )


def deltas(noise: View, plus: int, minus: int, growth: Fraction) -> tuple[Fraction, Fraction]:
    """Both directions for a user of 1 against 0, the others' signs being known."""
    one, zero = moved(noise, plus + 1, minus), moved(noise, plus, minus + 1)
    return hockey_stick(one, zero, growth), hockey_stick(zero, one, growth)
