"""What the analyser of a tiny split sum sees, by enumeration: the law of the multiset of shares."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from mpmath import mp, mpf

View = tuple[int, ...]
"""How often each number modulo q was sent."""


@lru_cache(maxsize=64)
def one_user(total: int, n_shares: int, modulus: int) -> dict[View, Fraction]:
    """Return the law of one user's view: m - 1 uniform shares, the last one fits the total."""
    law: dict[View, Fraction] = {}
    for free in itertools.product(range(modulus), repeat=n_shares - 1):
        shares = [*free, (total - sum(free)) % modulus]
        view = tuple(shares.count(value) for value in range(modulus))
        law[view] = law.get(view, Fraction(0)) + Fraction(1, modulus ** (n_shares - 1))
    return law


def joined(first: dict[View, Fraction], second: dict[View, Fraction]) -> dict[View, Fraction]:
    """Return the law of the union of two independent views."""
    law: dict[View, Fraction] = {}
    for (one, p), (two, q) in itertools.product(first.items(), second.items()):
        view = tuple(a + b for a, b in zip(one, two, strict=True))
        law[view] = law.get(view, Fraction(0)) + p * q
    return law


def view_law(totals: Sequence[int], n_shares: int, modulus: int) -> dict[View, Fraction]:
    """Return the law of the shuffled shares of users with these totals."""
    law = {(0,) * modulus: Fraction(1)}
    for total in totals:
        law = joined(law, one_user(total % modulus, n_shares, modulus))
    return law


def uniform_law(total: int, n_messages: int, modulus: int) -> dict[View, Fraction]:
    """Return the law of a uniform list with a given total, shuffled."""
    law: dict[View, Fraction] = {}
    for places in itertools.combinations_with_replacement(range(modulus), n_messages):
        if sum(places) % modulus == total % modulus:
            view = tuple(places.count(value) for value in range(modulus))
            ways = math.factorial(n_messages)
            for count in view:
                ways //= math.factorial(count)
            law[view] = Fraction(ways, modulus ** (n_messages - 1))
    return law


def chi_squared(totals: Sequence[int], n_shares: int, modulus: int) -> Fraction:
    """Return chi-squared of the shuffled shares beside uniform lists with the same total."""
    law = view_law(totals, n_shares, modulus)
    flat = uniform_law(sum(totals), len(totals) * n_shares, modulus)
    return sum((p * p / flat[view] for view, p in law.items()), Fraction(0)) - 1


def exact_components(size: int, n_shares: int, modulus: int) -> Fraction:
    """Return B = E q^(c - 1), rational, by the component of one vertex."""
    counts = [0]
    for n in range(1, size + 1):
        whole = math.factorial(n * n_shares)
        rest = sum(
            math.comb(n - 1, s - 1)
            * math.comb(n, s)
            * counts[s]
            * math.factorial((n - s) * n_shares)
            for s in range(1, n)
        )
        counts.append(whole - rest)
    values = [Fraction(0)]
    for n in range(1, size + 1):
        value = Fraction(counts[n], math.factorial(n * n_shares))
        for s in range(1, n):
            ways = math.comb(n - 1, s - 1) * math.comb(n, s) * counts[s]
            chance = Fraction(
                ways * math.factorial((n - s) * n_shares), math.factorial(n * n_shares)
            )
            value += chance * modulus * values[n - s]
        values.append(value)
    return values[size]


def share_law(shape: Fraction, rate: Fraction, modulus: int) -> list[mpf]:
    """Return the law of one user's A - B modulo q."""
    mp.dps = 30
    p, a = mp.exp(-mpf(rate.numerator) / rate.denominator), mpf(shape.numerator) / shape.denominator
    law = [mpf(0)] * modulus
    masses = [(1 - p) ** a]
    while masses[-1] > mpf(10) ** -25:
        k = len(masses) - 1
        masses.append(masses[-1] * p * (k + a) / (k + 1))
    folded = [mp.fsum(masses[value::modulus]) for value in range(modulus)]
    for one, two in itertools.product(range(modulus), repeat=2):
        law[(one - two) % modulus] += folded[one] * folded[two]
    return law


def protocol_view(
    data: Sequence[int], shape: Fraction, rate: Fraction, n_shares: int, modulus: int
) -> dict[View, mpf]:
    """Return the law of what the analyser sees of honest users with whole numbers as data."""
    noise = share_law(shape, rate, modulus)
    law: dict[View, mpf] = {(0,) * modulus: mpf(1)}
    for datum in data:
        user: dict[View, mpf] = {}
        for extra, weight in enumerate(noise):
            for view, p in one_user((datum + extra) % modulus, n_shares, modulus).items():
                user[view] = user.get(view, mpf(0)) + weight * mpf(p.numerator) / p.denominator
        joint: dict[View, mpf] = {}
        for (one, a), (two, b) in itertools.product(law.items(), user.items()):
            both = tuple(x + y for x, y in zip(one, two, strict=True))
            joint[both] = joint.get(both, mpf(0)) + a * b
        law = joint
    return law


def hockey_stick(first: dict[View, mpf], second: dict[View, mpf], epsilon: float) -> mpf:
    """Return sum (P - e^epsilon Q)_+."""
    growth = mp.exp(mpf(epsilon))
    return mp.fsum(max(mpf(0), p - growth * second.get(view, mpf(0))) for view, p in first.items())
