"""Paper 1, definitions, justifications and properties: exact brute force on small databases.

Continues `test_paper1_smoothed_dp.py`. Laws, neighbours and expectations are enumerated
record by record, in rationals.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import pytest

from smoothdp import (
    ApproxDP,
    DataModel,
    SamplingHistogram,
    SmoothedDP,
    paper_bounds as pb,
    smoothed_delta,
)
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.smoothed.properties import (
    compose_smoothed,
    smoothed_distribution_reduction,
    smoothed_post_processing,
    smoothed_pre_processing,
    smoothed_to_distributional,
)
from smoothdp.testing import oracles
from tests.checkers.rationals import hockey_stick

F = Fraction
Vertex = tuple[Fraction, ...]
Delta = Callable[[oracles.Database], Fraction]
LawOf = Callable[[oracles.Database], oracles.Law]


# ---- the oracle: expectations over databases, one database at a time --------------------------


def databases(n: int, m: int) -> Iterator[oracles.Database]:
    return product(range(m), repeat=n)


def probability(x: oracles.Database, assignment: tuple[Vertex, ...]) -> Fraction:
    return math.prod((pi[value] for pi, value in zip(assignment, x, strict=True)), start=F(1))


def expectation(n: int, m: int, assignment: tuple[Vertex, ...], delta: Delta) -> Fraction:
    return sum((probability(x, assignment) * delta(x) for x in databases(n, m)), F(0))


def assignments(n: int, vertices: tuple[Vertex, ...]) -> Iterator[tuple[Vertex, ...]]:
    return product(vertices, repeat=n)


def smoothed(n: int, vertices: tuple[Vertex, ...], delta: Delta) -> Fraction:
    """Definition 3, literally: the largest over all of Pi^n."""
    m = len(vertices[0])
    return max(expectation(n, m, pis, delta) for pis in assignments(n, vertices))


def sampling(m: int, draws: int) -> LawOf:
    @cache
    def law(x: oracles.Database) -> oracles.Law:
        return oracles.law_without_replacement(x, m, draws)

    return law


def neighbours(x: oracles.Database, m: int) -> list[oracles.Database]:
    """Every database that replaces one record, in place."""
    return [
        (*x[:place], value, *x[place + 1 :])
        for place in range(len(x))
        for value in range(m)
        if value != x[place]
    ]


def delta_of(law: LawOf, m: int, growth: Fraction) -> Delta:
    """Definition 2 for mechanisms that may treat records differently."""

    @cache
    def delta(x: oracles.Database) -> Fraction:
        here = law(x)
        return max(
            max(
                oracles.hockey_stick(here, law(y), growth),
                oracles.hockey_stick(law(y), here, growth),
            )
            for y in neighbours(x, m)
        )

    return delta


def utility(laws: list[list[Fraction]], growth: Fraction, truth: int) -> Fraction:
    """Equation (3) for one missing record, by its definition; threshold E/(E + 1)."""
    threshold, mean = growth / (growth + 1), F(0)
    for place, mass in enumerate(laws[truth]):
        if mass:
            column = [law[place] for law in laws]
            mean += mass * max(F(0), max(column) / sum(column) - threshold)
    return mean * (growth + 1)


def delta_at(laws: list[list[Fraction]], growth: Fraction, here: int) -> Fraction:
    others = [law for c, law in enumerate(laws) if c != here]
    return max(
        max(hockey_stick(laws[here], q, growth), hockey_stick(q, laws[here], growth))
        for q in others
    )


TWO = ((F(1, 4), F(3, 4)), (F(2, 3), F(1, 3)))
THREE = ((F(1, 5), F(3, 10), F(1, 2)), (F(3, 5), F(1, 5), F(1, 5)))


# ---- Definitions ------------------------------------------------------------------------------


def test_definition_1_by_all_sets_of_outputs() -> None:
    """(1): the least delta over all neighbours and all sets S is T/n for the histogram."""
    n, draws, growth = 4, 2, F(2)
    law, worst = sampling(2, draws), F(0)
    for x in databases(n, 2):
        for y in neighbours(x, 2):
            p, q = law(x), law(y)
            outputs = sorted(set(p) | set(q))
            for size in range(len(outputs) + 1):
                for chosen in combinations(outputs, size):
                    gain = sum((p.get(o, F(0)) - growth * q.get(o, F(0)) for o in chosen), F(0))
                    worst = max(worst, gain)
    assert worst == F(draws, n)
    assert F(SamplingHistogram(n, n_draws=draws).worst_case_delta(epsilon=2)) == worst


def test_equation_6_the_worst_set_is_where_the_difference_is_positive() -> None:
    p, q = sampling(2, 2)((0, 0, 0, 1)), sampling(2, 2)((0, 0, 1, 1))
    outputs = sorted(set(p) | set(q))
    for growth in (F(1), F(3, 2), F(4)):
        best = max(
            sum((p.get(o, F(0)) - growth * q.get(o, F(0)) for o in chosen), F(0))
            for size in range(len(outputs) + 1)
            for chosen in combinations(outputs, size)
        )
        assert best == oracles.hockey_stick(p, q, growth)


@pytest.mark.parametrize(("n", "draws", "vertices"), [(5, 3, TWO), (5, 4, TWO), (4, 2, THREE)])
def test_definition_3_and_algorithm_1(n: int, draws: int, vertices: tuple[Vertex, ...]) -> None:
    """The largest expectation over Pi^n, database by database, against smoothed_delta."""
    m = len(vertices[0])
    for growth in (F(11, 10), F(5)):
        exact = smoothed(n, vertices, delta_of(sampling(m, draws), m, growth))
        ours = smoothed_delta(
            SamplingHistogram(n, n_draws=draws), DataModel(vertices), epsilon=f"ln({growth})"
        )
        assert F(ours.lower) <= exact <= F(ours.delta)
        assert F(ours.delta) <= exact * (1 + F(1, 10**9))


# ---- Section 2, Justifications -------------------------------------------------------------


def test_example_of_section_2_coin_flipping() -> None:
    """Output X_i with probability p: utility 1 at p = 1, 0 at p = 1/2, for t = E/(E + 1)."""
    for growth in (F(1), F(2), F(30)):
        for p, expected in [(F(1), F(1)), (F(1, 2), F(0))]:
            laws = [[p, 1 - p], [1 - p, p]]
            assert max(utility(laws, growth, truth) for truth in (0, 1)) == expected


def test_utility_is_1_for_certainty_and_0_for_a_random_guess() -> None:
    """Section 2: for thresholds t >= 1/m, here E / (E + 1) >= 1/2, and any number m of values."""
    for m, growth in product((2, 3, 5), (F(1), F(2), F(30))):
        certain = [[F(int(i == j)) for j in range(m)] for i in range(m)]
        blind = [[F(1, 4), F(3, 4)] for _ in range(m)]
        for truth in range(m):
            assert utility(certain, growth, truth) == 1
            assert utility(blind, growth, truth) == 0


def test_proposition_5_sets_that_are_no_products() -> None:
    """Its proof bounds products of sets; the worst set of two releases may be none, and the
    sum of the two deltas bounds it all the same."""
    rng, larger = random.Random(5), 0
    for _ in range(40):
        pair = [[F(rng.choice([0, 1, 2, 5, 9]) + 1) for _ in range(3)] for _ in range(2)]
        p, q = ([w / sum(law) for w in law] for law in pair)
        growth = rng.choice([F(11, 10), F(3, 2)])
        once = max(sum(max(F(0), a - growth * b) for a, b in zip(x, y, strict=True))
                   for x, y in ((p, q), (q, p)))  # fmt: skip
        both = {(i, j): p[i] * p[j] - growth**2 * q[i] * q[j] for i in range(3) for j in range(3)}
        every = sum((max(F(0), v) for v in both.values()), F(0))
        subsets = [[i for i in range(3) if mask >> i & 1] for mask in range(8)]
        products = max(
            sum((both[i, j] for i in one for j in other), F(0))
            for one in subsets
            for other in subsets
        )
        assert products <= every <= 2 * once
        larger += products < every
    assert larger > 5


def test_justification_1_both_errors_need_not_be_one_half() -> None:
    """One of four counts moved, E = 1.1: over all regions the sum of the errors is near 1, the
    errors themselves go from 0 to 1; where they are alike both are near one half."""
    law, growth = sampling(2, 1), F(11, 10)
    p, q = law((0,) * 20 + (1,) * 20), law((0,) * 21 + (1,) * 19)
    delta = max(oracles.hockey_stick(p, q, growth), oracles.hockey_stick(q, p, growth))
    assert delta < F(1, 20)
    outputs = sorted({*p, *q})
    firsts = []
    for chosen in product((False, True), repeat=len(outputs)):
        region = [o for o, inside in zip(outputs, chosen, strict=True) if inside]
        first = sum((p.get(o, F(0)) for o in region), F(0))
        second = 1 - sum((q.get(o, F(0)) for o in region), F(0))
        assert growth * first + second >= 1 - delta
        firsts.append(first)
        if abs(first - second) < F(1, 10):
            assert abs(first - F(1, 2)) < F(1, 10)
    assert min(firsts) == 0
    assert max(firsts) == 1


def test_smoothed_justification_1_holds_for_every_distribution() -> None:
    """The paper has the largest over pi of each error; already for each pi by itself,
    E[e^epsilon E_I + E_II] >= 1 - delta, for the best region and neighbour at every x."""
    n, growth = 4, F(3, 2)
    law = sampling(2, 3)
    bound = smoothed(n, TWO, delta_of(law, 2, growth))

    def least(x: oracles.Database) -> Fraction:
        # min over S of E P_x(S) + P_y(not S) is 1 - d(y, x): the paper has d(x, x') there.
        return 1 - max(oracles.hockey_stick(law(y), law(x), growth) for y in neighbours(x, 2))

    def least_reversed(x: oracles.Database) -> Fraction:
        # min over S of E P_y(not S) + P_x(S) is 1 - d(x, y).
        return 1 - max(oracles.hockey_stick(law(x), law(y), growth) for y in neighbours(x, 2))

    # As printed, with d(x, x'), the bound at one x is false.
    assert any(least(x) > least_reversed(x) for x in databases(n, 2))
    assert any(least(x) < least_reversed(x) for x in databases(n, 2))
    for pis in assignments(n, TWO):
        assert expectation(n, 2, pis, least) >= 1 - bound
        assert expectation(n, 2, pis, least_reversed) >= 1 - bound


def test_smoothed_justification_2_is_false_as_printed() -> None:
    """One record, Pi = {(1/2, 1/2)}, laws of inequality (2)'s counterexample, E = 1.105: the
    expected probability of a moderate ratio is .7096 < 1 - 2 delta; 1 - (2 + 1/E) delta holds."""
    p = [F(2000, 10000), F(904, 10000), F(7096, 10000)]
    q = [p[1], p[0], p[2]]
    growth = F(1105, 1000)
    delta = max(hockey_stick(p, q, growth), hockey_stick(q, p, growth))
    good = [
        sum((a for a, b in zip(x, y, strict=True) if 1 / (2 * growth) <= a / b <= 2 * growth), F(0))
        for x, y in ((p, q), (q, p))
    ]
    mean = sum(good, F(0)) / 2
    assert mean == F(7096, 10000) < 1 - 2 * delta
    assert mean >= 1 - (2 + 1 / growth) * delta
    assert F(pb.liu_inequality_2(delta, epsilon=f"ln({growth})")) >= 1 - mean


def test_smoothed_justification_3() -> None:
    """E[u] <= 2 delta holds with (1 + (m - 1)/(m - 1 + E)), for the record that x has."""
    n, growth = 4, F(3, 2)
    for vertices, draws in ((TWO, 3), (THREE, 2)):
        m = len(vertices[0])
        law = sampling(m, draws)
        delta = delta_of(law, m, growth)

        def own_utility(x: oracles.Database, m: int = m, law: LawOf = law) -> Fraction:
            best = F(0)
            for place in range(n):
                laws = [law(tuple(sorted((*x[:place], c, *x[place + 1 :])))) for c in range(m)]
                outputs = sorted(set().union(*laws))
                rows = [[one.get(o, F(0)) for o in outputs] for one in laws]
                best = max(best, utility(rows, growth, x[place]))
            return best

        factor = 1 + (m - 1) / (m - 1 + growth)
        bound = factor * smoothed(n, vertices, delta)
        assert all(own_utility(x) <= factor * delta(x) for x in databases(n, m))
        for pis in assignments(n, vertices):
            assert expectation(n, m, pis, own_utility) <= bound


# ---- Lemma 1, Corollary 3 ---------------------------------------------------------------------


def test_corollary_3_is_false_for_fifteen_values() -> None:
    """u(x n x') <= 2 delta(x) fails if the missing record need not be that of x.

    One record of 15 values, E = 2. Outputs 1, ..., 13 point at the values 1, ..., 13, one
    points at X, one is shared; in hundredths X0 has (1, ..., 1, 0, 87), X has
    (2, ..., 2, 12, 62), value c has 14 at its own output and 86 at the shared one. No pair with
    X0 differs by more than 12, and u = .2423... > .24 = 2 delta(X0).
    """
    k, growth = 13, F(2)
    x0 = [F(1, 100)] * k + [F(0), F(87, 100)]
    x = [F(2, 100)] * k + [F(12, 100), F(62, 100)]
    laws = [x0, x]
    for c in range(k):
        laws.append([F(14, 100) if place == c else F(0) for place in range(k + 1)] + [F(86, 100)])
    assert all(sum(law) == 1 for law in laws)
    delta = delta_at(laws, growth, 0)
    assert delta == F(12, 100)
    u = max(utility(laws, growth, truth) for truth in range(len(laws)))
    assert u == F(12, 100) + 13 * F(2, 100) * F(8, 17)
    assert u > 2 * delta
    # Where the missing record is that of the database, and so for ordinary DP, 2 is enough.
    for truth in range(len(laws)):
        assert utility(laws, growth, truth) <= 2 * delta_at(laws, growth, truth)
    # And what the library offers holds for any missing record.
    assert u <= F(pb.liu_corollary_3(delta, epsilon="ln(2)", n_categories=15))


def test_corollary_3_holds_as_offered_when_the_record_is_not_that_of_x() -> None:
    """u <= (1 + (m - 1)/(E + 1)) delta(x) whatever the record: random laws and the family of
    the counterexample."""
    rng = random.Random(33)
    for _ in range(600):
        m = rng.choice([2, 3, 4, 6])
        growth = rng.choice([F(1), F(3, 2), F(3)])
        laws = []
        for _ in range(m):
            weights = [rng.choice([0, 0, 1, 3, 20]) for _ in range(m)] + [rng.choice([1, 50])]
            laws.append([F(w, sum(weights)) for w in weights])
        u = max(utility(laws, growth, truth) for truth in range(m))
        for here in range(m):
            assert u <= (1 + F(m - 1) / (growth + 1)) * delta_at(laws, growth, here)


def test_lemma_1_holds_with_a_smaller_constant() -> None:
    """u <= (1 + (m - 1)/(m - 1 + E)) delta for ordinary DP, and at x for its own record.

    For two values it is (E + 2)/(E + 1), and met up to 1e-3.
    """
    rng = random.Random(1)
    largest = {2: F(0), 3: F(0), 5: F(0)}
    for _ in range(2500):
        m = rng.choice([2, 3, 5])
        growth = rng.choice([F(1), F(3, 2), F(3), F(20)])
        weights = [[rng.choice([0, 1, 2, 9, 100, 3000]) for _ in range(m + 1)] for _ in range(m)]
        laws = [[F(w, sum(row) + 1) for w in row] + [F(1, sum(row) + 1)] for row in weights]
        truth = rng.randrange(m)
        delta = delta_at(laws, growth, truth)
        factor = 1 + F(m - 1) / (m - 1 + growth)
        u = utility(laws, growth, truth)
        assert u <= factor * delta
        if delta:
            largest[m] = max(largest[m], u / (factor * delta))
    # Two values, E = 2: an output that only X has, and one that is just above E the other way.
    laws = [[F(1, 1000), F(1, 10), F(899, 1000)], [F(0), F(201, 1000), F(799, 1000)]]
    assert delta_at(laws, F(2), 0) == F(1, 1000)
    assert F(999, 1000) < utility(laws, F(2), 0) / (F(4, 3) * F(1, 1000)) <= 1
    assert all(value > F(1, 2) for value in largest.values())
    offered = F(pb.liu_lemma_1("0.01", epsilon="ln(3)", n_categories=5))
    assert F(1, 100) * (1 + F(4, 7)) <= offered <= F(1, 100) * (1 + F(4, 7)) * (1 + F(1, 10**14))


def test_lemma_1_for_the_sampling_histogram() -> None:
    """Every database of up to 6 records, two and three values, by the library itself."""
    for n, m in [(5, 2), (6, 3)]:
        for draws in (2, n - 1):
            mechanism = SamplingHistogram(n, n_draws=draws)
            for growth in (F(3, 2), F(4)):
                for known in product(range(n), repeat=m):
                    if sum(known) != n - 1:
                        continue
                    u = mechanism.adversary_utility(known, threshold=growth / (growth + 1))
                    cap = pb.liu_lemma_1(F(draws, n), epsilon=f"ln({growth})", n_categories=m)
                    assert u <= cap * (1 + 1e-11)


# ---- Propositions 4 to 7, 9 ------------------------------------------------------------------


def test_proposition_4_post_processing() -> None:
    """Every function of the histogram to two labels, and random channels, at every x."""
    n, draws, growth = 4, 3, F(3, 2)
    law = sampling(2, draws)
    delta = delta_of(law, 2, growth)
    outputs = [(h, draws - h) for h in range(draws + 1)]
    rng = random.Random(4)
    channels = [dict(zip(outputs, rows, strict=True)) for rows in product((F(0), F(1)), repeat=4)]
    channels += [{o: F(rng.randint(0, 9), 9) for o in outputs} for _ in range(20)]
    strict = 0
    for channel in channels:

        def processed(
            x: oracles.Database, channel: dict[tuple[int, int], Fraction] = channel
        ) -> oracles.Law:
            yes = sum((mass * channel[(o[0], o[1])] for o, mass in law(x).items()), F(0))
            return {(1,): yes, (0,): 1 - yes}

        after = delta_of(processed, 2, growth)
        for x in databases(n, 2):
            assert after(x) <= delta(x)
            strict += after(x) < delta(x)
        assert smoothed(n, TWO, after) <= smoothed(n, TWO, delta)
    assert strict > 0
    claim = SmoothedDP(1, delta="1e-6", model=DataModel(TWO))
    assert smoothed_post_processing(claim) is claim


def independent(first: LawOf, second: LawOf) -> LawOf:
    def law(x: oracles.Database) -> oracles.Law:
        return {(*a, *b): p * q for a, p in first(x).items() for b, q in second(x).items()}

    return law


def test_proposition_5_composition() -> None:
    """delta_(e1 + e2) of independent releases <= delta_e1 + delta_e2 at every x, smoothed too;
    the printed proof has >=, which fails somewhere, and equality occurs."""
    n = 4
    signs = set()
    for draws in ((1, 1), (1, 3), (2, 2)):
        laws = [sampling(2, t) for t in draws]
        for e1, e2 in ((F(1), F(3, 2)), (F(2), F(2)), (F(6, 5), F(4))):
            parts = [delta_of(law, 2, e) for law, e in zip(laws, (e1, e2), strict=True)]
            both = delta_of(independent(*laws), 2, e1 * e2)
            for x in databases(n, 2):
                total = parts[0](x) + parts[1](x)
                assert both(x) <= total
                signs.add(both(x) == total)
            a, b = smoothed(n, TWO, parts[0]), smoothed(n, TWO, parts[1])
            model = DataModel(TWO)
            claim = compose_smoothed(
                SmoothedDP(f"ln({e1})", delta=a, model=model),
                SmoothedDP(f"ln({e2})", delta=b, model=model),
            )
            assert smoothed(n, TWO, both) <= claim.exact_delta == min(F(1), a + b)
            assert math.exp(claim.epsilon) == pytest.approx(float(e1 * e2))
    assert False in signs


def test_inequality_5_is_false() -> None:
    """p = .5, p' = .2, E = 27/20 twice: d1 + d2 = .46 is not <= .25 - E^2 .04 = .1771."""
    p, q, growth = F(1, 2), F(1, 5), F(27, 20)
    single = p - growth * q
    assert single + single == F(46, 100)
    assert p * p - growth**2 * q * q == F(1771, 10000)
    assert single + single > p * p - growth**2 * q * q
    # With the sign reversed it holds wherever both differences are at least 0.
    tenths = [F(k, 10) for k in range(11)]
    checked = 0
    for p1, q1, p2, q2 in product(tenths, repeat=4):
        one, two = p1 - growth * q1, p2 - growth * q2
        if one >= 0 and two >= 0:
            assert one + two >= p1 * p2 - growth**2 * q1 * q2
            checked += 1
    assert checked > 1000


def test_compose_smoothed_refuses_and_rounds_up() -> None:
    model, other = DataModel(TWO), DataModel([(F(1, 2), F(1, 2))])
    claim = SmoothedDP("0.5", delta="0.7", model=model)
    with pytest.raises(IncompatibleClaims, match="same model"):
        compose_smoothed(claim, SmoothedDP("0.5", delta="0.1", model=other))
    with pytest.raises(InvalidParameter, match="smoothed DP"):
        compose_smoothed(claim, ApproxDP(1, delta=0))  # type: ignore[arg-type]
    mixed = compose_smoothed(claim, SmoothedDP("ln(2)", delta="0.7", model=model))
    assert mixed.exact_delta == 1
    assert 0 <= mixed.epsilon - (0.5 + math.log(2)) < 1e-15
    # Inner points do not make a model another one (Proposition 7).
    inner = DataModel([*TWO, (F(1, 2), F(1, 2))])
    assert compose_smoothed(claim, SmoothedDP("0.5", delta=0, model=inner)).exact_epsilon == 1


def test_proposition_6_pre_processing_record_by_record() -> None:
    """Every map of three values to two: delta of M after f at x <= delta of M at f(x), and
    smoothed over Pi <= smoothed over f(Pi)."""
    n, draws, growth = 4, 3, F(3, 2)
    law = sampling(2, draws)
    delta = delta_of(law, 2, growth)
    for images in product(range(2), repeat=3):

        def after(x: oracles.Database, images: tuple[int, ...] = images) -> oracles.Law:
            return law(tuple(images[value] for value in x))

        whole = delta_of(after, 3, growth)
        for x in databases(n, 3):
            assert whole(x) <= delta(tuple(images[value] for value in x))
        features = DataModel(THREE).push(list(images), n_atoms=2)
        bound = smoothed(n, features.vertices, delta)
        assert smoothed(n, THREE, whole) <= bound
        claim = smoothed_pre_processing(
            SmoothedDP("ln(3/2)", delta=bound, model=features),
            list(images),
            model=DataModel(THREE),
            n_atoms=2,
        )
        assert claim.model == DataModel(THREE)
        assert claim.exact_delta == bound


def test_proposition_6_is_false_for_functions_of_the_database() -> None:
    """f(x) = (x1, ..., x1), n = 4, T = 2: delta = 1 after f, at most T/n = 1/2 before."""
    n, draws = 4, 2
    law = sampling(2, draws)
    for growth in (F(1), F(100)):
        before = delta_of(law, 2, growth)
        after = delta_of(lambda x: law((x[0],) * n), 2, growth)
        assert max(before(x) for x in databases(n, 2)) == F(1, 2)
        assert all(after(x) == 1 for x in databases(n, 2))


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda x: (x[0],) * len(x), id="a function of a database"),
        pytest.param(lambda x: (x,) * 3, id="three records"),
        pytest.param(lambda x: x + 0.5, id="half an atom"),
        pytest.param(lambda x: -x, id="a negative atom"),
        pytest.param(lambda x: x == 1, id="a truth value"),
        pytest.param([0, 1], id="too short"),
        pytest.param([0, 1, 2, 3], id="too long"),
        pytest.param("012", id="text"),
        pytest.param(7, id="a number"),
        pytest.param({0: 1, 1: 1}, id="an atom missing"),
        pytest.param({0: 1, 1: 1, 2: "a"}, id="a letter"),
        pytest.param([0, 1, -1], id="minus one"),
    ],
)
def test_push_refuses_what_is_not_record_wise(function: object) -> None:
    with pytest.raises(InvalidParameter, match=r"record function|function of one record"):
        DataModel(THREE).push(function)  # type: ignore[arg-type]


def test_push_of_functions_mappings_and_lists() -> None:
    model = DataModel(THREE)
    expected = ((F(1, 2), F(1, 2)), (F(4, 5), F(1, 5)))
    assert model.push([0, 0, 1]).vertices == expected
    assert model.push({0: 0, 1: 0, 2: 1}).vertices == expected
    assert model.push(lambda value: value // 2).vertices == expected
    assert model.push([0, 0, 1], n_atoms=3).vertices[0] == (F(1, 2), F(1, 2), F(0))
    with pytest.raises(InvalidParameter, match="n_atoms"):
        model.push([0, 0, 2], n_atoms=2)
    with pytest.raises(InvalidParameter, match="at least 2"):
        model.push([0, 0, 0])
    with pytest.raises(InvalidParameter, match="DataModel"):
        smoothed_pre_processing(
            SmoothedDP(1, delta="1e-6", model=model),
            [0, 0, 1],
            model=THREE,  # type: ignore[arg-type]
        )


def test_proposition_7_inner_distributions_change_nothing() -> None:
    """A mixture of the vertices added to Pi: the same maximum, over all of Pi^n."""
    n, draws = 4, 3
    for vertices in (TWO, THREE):
        m = len(vertices[0])
        inner = tuple((a + 2 * b) / 3 for a, b in zip(*vertices, strict=True))
        for growth in (F(11, 10), F(4)):
            delta = delta_of(sampling(m, draws), m, growth)
            assert smoothed(n, (*vertices, inner), delta) == smoothed(n, vertices, delta)
    claim = SmoothedDP(1, delta="0.1", model=DataModel(TWO))
    narrow = DataModel([(F(1, 2), F(1, 2)), (F(3, 5), F(2, 5))])
    assert smoothed_distribution_reduction(claim, model=narrow).model == narrow
    of_three = SmoothedDP(1, delta="0.1", model=DataModel(THREE))
    middle = DataModel([[(a + b) / 2 for a, b in zip(*THREE, strict=True)]])
    assert smoothed_distribution_reduction(of_three, model=middle).model == middle
    for wider in (DataModel([(F(1, 5), F(4, 5))]), DataModel(THREE)):
        with pytest.raises(IncompatibleClaims, match="mixtures"):
            smoothed_distribution_reduction(claim, model=wider)


def test_proposition_7_example_is_not_closed_and_has_no_maximum() -> None:
    """Pi = {(p, 1 - p): .2 < p < .8}: its hull is open, (.2, .8) is not in it, the supremum at
    the ends is reached by no member. The number is the same with sup for max."""
    n, draws, growth = 5, 2, F(2)
    delta = delta_of(sampling(2, draws), 2, growth)
    ends = ((F(1, 5), F(4, 5)), (F(4, 5), F(1, 5)))
    limit = smoothed(n, ends, delta)
    values = []
    for gap in (F(1, 10), F(1, 100), F(1, 1000)):
        inside = tuple((a * (1 - gap) + b * gap, b * (1 - gap) + a * gap) for a, b in ends)
        values.append(smoothed(n, inside, delta))
    assert values[0] < values[1] < values[2] < limit
    assert limit - values[2] < F(1, 100) * limit


def test_proposition_9_smoothed_implies_distributional() -> None:
    """The simulator that draws the missing record from one fixed pi_0 of Pi: both inequalities
    of Definition 4, for every pi, i, X and (by the hockey stick) every set of outputs."""
    n, draws = 4, 3
    law = sampling(2, draws)
    for growth in (F(11, 10), F(3)):
        bound = smoothed(n, TWO, delta_of(law, 2, growth))
        claim = smoothed_to_distributional(
            SmoothedDP(f"ln({growth})", delta=bound, model=DataModel(TWO))
        )
        assert claim.exact_delta == bound
        largest = F(0)
        for others in assignments(n - 1, TWO):
            known: list[dict[tuple[int, ...], Fraction]] = [{}, {}]
            for rest in databases(n - 1, 2):
                weight = probability(rest, others)
                for value in (0, 1):
                    for output, mass in law((*rest, value)).items():
                        known[value][output] = known[value].get(output, F(0)) + weight * mass
            outputs = set(known[0]) | set(known[1])
            simulated = {
                o: sum((claim.simulated[v] * known[v].get(o, F(0)) for v in (0, 1)), F(0))
                for o in outputs
            }
            for value in (0, 1):
                largest = max(
                    largest,
                    oracles.hockey_stick(known[value], simulated, growth),
                    oracles.hockey_stick(simulated, known[value], growth),
                )
        assert largest <= bound
        # The printed simulator depends on pi_i: two choices give two laws for one x_-i.
        rest = (0, 0, 1)
        printed = [
            {o: sum(pi[v] * law((*rest, v)).get(o, F(0)) for v in (0, 1)) for o in [(2, 1), (3, 0)]}
            for pi in TWO
        ]
        assert printed[0] != printed[1]
    assert "distribution of the other rows" in claim.sentence()


# ---- Theorem 2 --------------------------------------------------------------------------------

Table = dict[tuple[int, ...], Fraction]


def histograms(n: int, m: int) -> list[tuple[int, ...]]:
    return [h for h in product(range(n + 1), repeat=m) if sum(h) == n]


def multinomial(n: int, vertex: Vertex) -> Table:
    law = {}
    for h in histograms(n, len(vertex)):
        ways = math.factorial(n) // math.prod(math.factorial(c) for c in h)
        law[h] = ways * math.prod((p**c for p, c in zip(vertex, h, strict=True)), start=F(1))
    return law


def algorithm_1(n: int, vertices: tuple[Vertex, ...], delta: Table) -> tuple[Fraction, int]:
    """Algorithm 1 for two vertices as the proof of Theorem 2 has it, and its products."""
    best, products = F(0), 0
    for k in range(n + 1):
        law: Table = {}
        parts = multinomial(k, vertices[0]), multinomial(n - k, vertices[1])
        for (a, p), (b, q) in product(parts[0].items(), parts[1].items()):
            h = tuple(x + y for x, y in zip(a, b, strict=True))
            law[h] = law.get(h, F(0)) + p * q
        products += len(parts[0]) * len(parts[1]) + len(law)
        best = max(best, sum((p * delta[h] for h, p in law.items()), F(0)))
    return best, products


def operator_recursion(n: int, vertices: tuple[Vertex, ...], delta: Table) -> tuple[Fraction, int]:
    """The same by adding one record of the first vertex at a time, and its products."""
    best, products, table, m = F(0), 0, delta, len(vertices[0])
    for k in range(n + 1):
        law = multinomial(n - k, vertices[1])
        best = max(best, sum((p * table[h] for h, p in law.items()), F(0)))
        products += len(law)
        if k < n:
            smaller = {}
            for h in histograms(n - k - 1, m):
                moved = [(*h[:c], h[c] + 1, *h[c + 1 :]) for c in range(m)]
                smaller[h] = sum((vertices[0][c] * table[moved[c]] for c in range(m)), F(0))
            products += m * len(smaller)
            table = smaller
    return best, products


def size(n: int, m: int) -> int:
    return math.comb(n + m - 1, m - 1)


def products_of_algorithm_1(n: int, m: int) -> int:
    return sum(size(k, m) * size(n - k, m) + size(n, m) for k in range(n + 1))


def products_of_recursion(n: int, m: int) -> int:
    return sum(size(k, m) for k in range(n + 1)) + sum(m * size(k, m) for k in range(n))


def test_theorem_2_exponent_is_that_of_the_body() -> None:
    """Two vertices: n^(2m + l - 3) = n^(2m - 1) as in the body. The appendix has
    n^(m + l - 1) = n^(m + 1), the same at m = 2 and too small from m = 3 on. Adding one record
    at a time needs n^(m + l - 2) = n^m."""
    for n, vertices in [(5, TWO), (4, THREE)]:
        m = len(vertices[0])
        delta = delta_of(sampling(m, n - 2), m, F(3, 2))
        table = {h: delta(oracles.database(h)) for h in histograms(n, m)}
        naive, products = algorithm_1(n, vertices, table)
        fast, fewer = operator_recursion(n, vertices, table)
        assert naive == fast == smoothed(n, vertices, delta)
        assert products == products_of_algorithm_1(n, m)
        assert fewer == products_of_recursion(n, m)
        assert fewer < products
    for m in (2, 3, 4):
        n = 1 << 10
        naive_exponent, fast_exponent = (
            math.log2(count(2 * n, m) / count(n, m))
            for count in (products_of_algorithm_1, products_of_recursion)
        )
        assert naive_exponent == pytest.approx(2 * m + 2 - 3, abs=0.02)
        assert (naive_exponent > (m + 2 - 1) + 0.5) == (m > 2)
        assert fast_exponent == pytest.approx(m + 2 - 2, abs=0.02)
