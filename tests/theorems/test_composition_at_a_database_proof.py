"""Each statement of docs/proofs/composition-at-a-database.md, by enumeration in exact rationals."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import smoothdp as sd
from smoothdp.claims.guarantees.smoothed import SmoothedDP
from smoothdp.claims.guarantees.standard import PureDP
from smoothdp.claims.model.model import DataModel

F = Fraction
Records = tuple[int, ...]
Law = dict[object, Fraction]
Chances = Mapping[Any, Fraction]
Mechanism = Callable[[Records], Law]


def stick(p: Chances, q: Chances, growth: Fraction) -> Fraction:
    return sum((max(F(0), v - growth * q.get(y, F(0))) for y, v in p.items()), F(0))


def neighbours(x: Records, values: int) -> Iterator[Records]:
    for i, v in product(range(len(x)), range(values)):
        if v != x[i]:
            yield (*x[:i], v, *x[i + 1 :])


def delta_at(mechanism: Mechanism, x: Records, values: int, growth: Fraction) -> Fraction:
    here, largest = mechanism(x), F(0)
    for y in neighbours(x, values):
        there = mechanism(y)
        largest = max(largest, stick(here, there, growth), stick(there, here, growth))
    return largest


def both(first: Mechanism, second: Mechanism) -> Mechanism:
    return lambda x: {
        (a, b): p * q for a, p in first(x).items() for b, q in second(x).items() if p * q
    }


def sampled(draws: int) -> Mechanism:
    """How many ones are among ``draws`` of the records."""

    def law(x: Records) -> Law:
        sums = [sum(pick) for pick in combinations(x, draws)]
        return {s: F(sums.count(s), len(sums)) for s in set(sums)}

    return law


def flipped(share: Fraction) -> Mechanism:
    """The first record, flipped with a probability: pure, with (1 - share) / share."""
    return lambda x: {x[0]: 1 - share, 1 - x[0]: share}


def smoothed(
    mechanism: Mechanism, n: int, rows: Sequence[tuple[Fraction, ...]], growth: Fraction
) -> Fraction:
    """The largest E delta(x) over all ways to give each record one of the distributions."""
    deltas = {x: delta_at(mechanism, x, 2, growth) for x in product(range(2), repeat=n)}
    return max(
        sum(
            (
                math.prod((row[v] for row, v in zip(pis, x, strict=True)), start=F(1)) * d
                for x, d in deltas.items()
            ),
            F(0),
        )
        for pis in product(rows, repeat=n)
    )


def in_a_product(p: Chances, q: Chances, growth: Fraction) -> Fraction:
    """The hockey stick of the product with one other pair."""
    first, second = {0: F(1, 5), 1: F(4, 5)}, {0: F(2, 3), 1: F(1, 3)}
    return stick(
        {(y, z): v * w for y, v in p.items() for z, w in first.items()},
        {(y, z): v * w for y, v in q.items() for z, w in second.items()},
        growth,
    )


def test_joined_outputs() -> None:
    """Joining equal ratios changes nothing, in products as well; joining others does."""
    rng = random.Random(71)
    for _ in range(100):
        ratios = [F(0), F(1, 2), F(1), F(3), None]
        weights = [[(rng.randint(0, 4), ratio) for ratio in ratios] for _ in range(2)]
        p: Law = {}
        q: Law = {}
        for copy, row in enumerate(weights):
            for place, (weight, ratio) in enumerate(row):
                q[copy, place] = F(weight) if ratio is not None else F(0)
                p[copy, place] = F(weight) if ratio is None else ratio * weight
        joined = [{i: law[0, i] + law[1, i] for i in range(len(ratios))} for law in (p, q)]
        for growth in (F(1, 3), F(1), F(2), F(5)):
            assert stick(p, q, growth) == stick(joined[0], joined[1], growth)
            assert in_a_product(p, q, growth) == in_a_product(joined[0], joined[1], growth)
    # Outputs of different ratios must not be joined.
    assert stick({0: F(1), 1: F(0)}, {0: F(0), 1: F(1)}, F(1)) == 1
    assert stick({0: F(1)}, {0: F(1)}, F(1)) == 0


def test_two_releases_at_a_pair() -> None:
    rng, met = random.Random(72), 0
    for _ in range(1500):
        laws: list[Law] = []
        for _ in range(4):
            weights = [rng.choice([0, 1, 2, 7]) for _ in range(3)] + [1]
            laws.append({y: F(w, sum(weights)) for y, w in enumerate(weights)})
        p1, q1, p2, q2 = laws
        e1, e2 = (rng.choice([F(1, 2), F(1), F(3, 2), F(4)]) for _ in range(2))
        p = {(a, b): v * w for a, v in p1.items() for b, w in p2.items()}
        q = {(a, b): v * w for a, v in q1.items() for b, w in q2.items()}
        total, parts = stick(p, q, e1 * e2), stick(p1, q1, e1) + stick(p2, q2, e2)
        assert total <= parts
        met += total < parts  # so >=, as the paper prints it, is false
    assert met > 1000


def test_smoothed_and_ordinary_claims_by_enumeration() -> None:
    """Two samples of the same records and one flipped record, over a model of two vertices."""
    n, rows = 4, [(F(1, 4), F(3, 4)), (F(1, 2), F(1, 2))]
    model = DataModel([("1/4", "3/4"), ("1/2", "1/2")])
    first, second, ordinary = sampled(1), sampled(3), flipped(F(1, 3))
    e1, e2 = F(3, 2), F(5, 2)
    d1, d2 = smoothed(first, n, rows, e1), smoothed(second, n, rows, e2)
    assert 0 < d1 < F(1, 2)
    assert 0 < d2 < 1
    claims = [SmoothedDP(f"ln({e})", delta=d, model=model) for e, d in ((e1, d1), (e2, d2))]
    pure = PureDP("ln(2)")
    tight = F(0)
    for mechanisms, composed in (
        (both(first, second), sd.compose(claims)),
        (both(both(first, second), ordinary), sd.compose([*claims, pure])),
        (both(first, ordinary), sd.compose([claims[0], pure])),
    ):
        assert composed.model == model
        for growth in (F(1), F(3, 2), F(3), F(15, 4), F(8)):
            truth = smoothed(mechanisms, n, rows, growth)
            upper = F(composed.delta(f"ln({growth})"))
            assert truth <= upper
            tight = max(tight, truth / upper)
    assert tight > F(4, 10)
    # The claims alone, without their deltas, do not bound it.
    without = sd.compose([PureDP(f"ln({e})") for e in (e1, e2)])
    assert smoothed(both(first, second), n, rows, F(15, 4)) > F(without.delta("ln(15/4)"))


def test_two_models() -> None:
    def published(value: int, part: tuple[int, int]) -> Mechanism:
        def law(x: Records) -> Law:
            inside = sum(v in part for v in x)
            return {x.count(value) if inside >= 2 else "few": F(1)}

        return law

    first, second = published(3, (2, 3)), published(1, (0, 1))
    for n in (2, 3):
        for x in product((0, 1), repeat=n):  # all that the first model can give
            assert delta_at(first, x, 4, F(1)) == 0
            assert delta_at(both(first, second), x, 4, F(100)) == 1
        for x in product((2, 3), repeat=n):
            assert delta_at(second, x, 4, F(1)) == 0
            assert delta_at(both(first, second), x, 4, F(100)) == 1


def test_adapting_breaks_proposition_5() -> None:
    """Statement 7 with flips of 1/4 for 1/(1 + e), l = 4: (3/4)^4 against 5/16."""
    length, share = 4, F(1, 4)

    def second(y: Records) -> Mechanism:
        return lambda x: {x[-1] if x[:-1] == y else "nothing": F(1)}

    def adaptive(x: Records) -> Law:
        law: Law = {}
        for y in product((0, 1), repeat=length):
            same = sum(a == b for a, b in zip(x, y, strict=False))
            mass = (1 - share) ** same * share ** (length - same)
            law.update({(y, shown): mass * v for shown, v in second(y)(x).items()})
        return law

    every = list(product((0, 1), repeat=length + 1))
    for y in ((0, 0, 0, 0), (1, 0, 1, 1)):
        mean = sum((delta_at(second(y), x, 2, F(1)) for x in every), F(0)) / len(every)
        assert mean == F(length + 1, 2**length)
    mean = sum((delta_at(adaptive, x, 2, F(50)) for x in every[:6]), F(0)) / 6
    assert mean >= F(3, 4) ** length > F(length + 1, 2**length)
