"""Brute force on tiny databases, in exact rationals: the judge of the fast code.

Nothing here shares a formula with the library: samples are enumerated one by one,
neighbours record by record, and sets of outputs by their definition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import TypeVar

Law = Mapping[tuple[int, ...], Fraction]
Output = TypeVar("Output", bound=Hashable)
Database = tuple[int, ...]
"""One category number per record."""


def database(counts: Sequence[int]) -> Database:
    """Return a database with these counts per category."""
    return tuple(category for category, count in enumerate(counts) for _ in range(count))


def histogram(records: Iterable[int], n_categories: int) -> tuple[int, ...]:
    """Return the number of records per category."""
    tally = Counter(records)
    return tuple(tally.get(category, 0) for category in range(n_categories))


def law_without_replacement(x: Database, n_categories: int, n_draws: int) -> Law:
    """Enumerate every subset of n_draws records."""
    subsets = Counter(histogram(s, n_categories) for s in combinations(x, n_draws))
    total = sum(subsets.values())
    return {output: Fraction(ways, total) for output, ways in subsets.items()}


def law_with_replacement(x: Database, n_categories: int, n_draws: int) -> Law:
    """Enumerate every sequence of n_draws records."""
    sequences = Counter(histogram(s, n_categories) for s in product(x, repeat=n_draws))
    total = sum(sequences.values())
    return {output: Fraction(ways, total) for output, ways in sequences.items()}


def law_independent(x: Database, n_categories: int, keep: Fraction) -> Law:
    """Enumerate every set of kept records."""
    law: dict[tuple[int, ...], Fraction] = {}
    for kept in product((False, True), repeat=len(x)):
        output = histogram((r for r, k in zip(x, kept, strict=True) if k), n_categories)
        size = sum(kept)
        weight = keep**size * (1 - keep) ** (len(x) - size)
        law[output] = law.get(output, Fraction(0)) + weight
    return law


def neighbours_of(x: Database, n_categories: int) -> set[Database]:
    """Return every database that replaces at most one record of x, up to order."""
    return {
        tuple(sorted((*x[:index], category, *x[index + 1 :])))
        for index in range(len(x))
        for category in range(n_categories)
    }


def hockey_stick(
    p: Mapping[Output, Fraction], q: Mapping[Output, Fraction], growth: Fraction
) -> Fraction:
    """Return the largest p(S) - growth q(S) over all sets S of outputs."""
    gains = (mass - growth * q.get(output, Fraction(0)) for output, mass in p.items())
    return sum((gain for gain in gains if gain > 0), Fraction(0))


def delta_by_enumeration(
    x: Database, n_categories: int, law: Callable[[Database], Law], growth: Fraction
) -> Fraction:
    """Return delta_epsilon(x) by Definition 2, for growth = e^epsilon."""
    here = law(x)
    best = Fraction(0)
    for neighbour in neighbours_of(x, n_categories):
        there = law(neighbour)
        best = max(best, hockey_stick(here, there, growth), hockey_stick(there, here, growth))
    return best


def utility_by_enumeration(
    known: Database, n_categories: int, law: Callable[[Database], Law], threshold: Fraction
) -> Fraction:
    """Return the adversary's utility by equation (3), ``known`` without the target."""
    laws = [law((*known, category)) for category in range(n_categories)]
    best = Fraction(0)
    for truth in laws:
        mean = Fraction(0)
        for output, mass in truth.items():
            if mass == 0:
                continue
            masses = [other.get(output, Fraction(0)) for other in laws]
            mean += mass * max(Fraction(0), max(masses) / sum(masses) - threshold)
        best = max(best, mean / (1 - threshold))
    return best
