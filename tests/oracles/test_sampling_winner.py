"""The winner of a sample: against literal enumeration of samples, neighbours and winners.

False-alarm rate of the frequency tests: 1e-8 each, fixed seeds.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product

import numpy as np
import pytest

from smoothdp.errors import InvalidData, InvalidParameter, OutOfReach
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import exact_real
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.mechanisms.voting import plurality_sum
from smoothdp.mechanisms.voting.plurality_law import plurality_law
from smoothdp.mechanisms.voting.ranking_law import ranking_laws
from smoothdp.mechanisms.voting.rules import Rule, winner_of
from smoothdp.mechanisms.voting.sampling_winner import SamplingWinner, WinnerProfile
from smoothdp.testing import frequency_test, oracles

RULES: tuple[Rule, ...] = ("plurality", "borda", "copeland", "runoff")
RANKED: tuple[Rule, ...] = ("borda", "copeland", "runoff")
SAMPLINGS = ("without_replacement", "with_replacement")
LEVEL = 1e-8

# ---- an independent reading of the rules, on lists of ballots -------------------------


def elected(rule: Rule, ballots: Sequence[tuple[int, ...]], m: int) -> int:
    """Return the winner of ballots, each a ranking (for plurality only its top counts)."""

    def best(score: dict[int, Fraction]) -> int:
        top = max(score.values())
        return min(c for c, value in score.items() if value == top)

    def beats(c: int, d: int) -> Fraction:
        above = sum(1 for b in ballots if b.index(c) < b.index(d))
        below = len(ballots) - above
        return Fraction(1) if above > below else Fraction(1, 2) if above == below else Fraction(0)

    tops = {c: Fraction(sum(1 for b in ballots if b[0] == c)) for c in range(m)}
    if rule == "plurality":
        return best(tops)
    if rule == "borda":
        return best({c: Fraction(sum(len(b) - 1 - b.index(c) for b in ballots)) for c in range(m)})
    if rule == "copeland":
        return best({c: sum((beats(c, d) for d in range(m) if d != c), Fraction()) for c in tops})
    first = best(tops)
    second = best({c: n for c, n in tops.items() if c != first})
    low, high = sorted((first, second))
    return high if beats(high, low) == 1 else low


def ballot(rule: Rule, category: int, m: int) -> tuple[int, ...]:
    if rule == "plurality":
        return (category, *(c for c in range(m) if c != category))
    return sorted(permutations(range(m)))[category]


def categories(rule: Rule, m: int) -> int:
    return m if rule == "plurality" else math.factorial(m)


@cache
def literal_law(
    x: oracles.Database, rule: Rule, m: int, n_draws: int, sampling: str
) -> oracles.Law:
    """Enumerate every sample and elect."""
    samples: Iterator[tuple[int, ...]] = (
        combinations(x, n_draws)
        if sampling == "without_replacement"
        else product(x, repeat=n_draws)
    )
    tally: dict[tuple[int, ...], Fraction] = {}
    total = 0
    for sample in samples:
        total += 1
        winner = (elected(rule, [ballot(rule, v, m) for v in sample], m),)
        tally[winner] = tally.get(winner, Fraction(0)) + 1
    return {winner: ways / total for winner, ways in tally.items()}


def random_counts(rng: random.Random, n: int, k: int) -> tuple[int, ...]:
    return oracles.histogram((rng.randrange(k) for _ in range(n)), k)


def holds(bounds: LogBounds, truth: Fraction) -> bool:
    """Whether bounds are around a rational truth; 0 must be told exactly."""
    if truth == 0:
        return bounds.lower == bounds.upper == -math.inf
    exact = log_bounds(truth)
    return bounds.lower <= exact.upper and bounds.upper >= exact.lower


# ---- rules ------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("m", [2, 3, 4])
def test_rules_on_random_histograms(rule: Rule, m: int) -> None:
    rng = random.Random(7)
    k = categories(rule, m)
    for _ in range(150):
        histogram = random_counts(rng, rng.randint(1, 9), k)
        ballots = [ballot(rule, c, m) for c in oracles.database(histogram)]
        assert winner_of(rule, histogram, m) == elected(rule, ballots, m), histogram


def test_ties_go_to_the_lowest_index() -> None:
    assert winner_of("plurality", (0, 2, 2), 3) == 1
    cycle = (1, 0, 0, 1, 1, 0)  # 0 > 1 > 2, 1 > 2 > 0, 2 > 0 > 1
    assert [winner_of(rule, cycle, 3) for rule in RANKED] == [0, 0, 0]
    # First places 3, 2, 2: candidate 1 is the second finalist, and wins where 2 would lose.
    assert winner_of("runoff", (3, 0, 2, 0, 0, 2), 3) == 1
    # Finalists 0 and 1, two votes each way.
    assert winner_of("runoff", (1, 1, 0, 1, 0, 1), 3) == 0
    # One vote 0 > 1 > 2 and one 1 > 0 > 2: the pair (0, 1) is tied, half a point each.
    assert winner_of("copeland", (1, 0, 1, 0, 0, 0), 3) == 0


# ---- delta(x) ---------------------------------------------------------------------------

SIZES = [
    # rule, candidates, records, databases without and with replacement
    ("plurality", 2, 8, 12, 0),
    ("plurality", 2, 5, 3, 5),
    ("plurality", 3, 7, 8, 0),
    ("plurality", 3, 5, 0, 4),
    *((rule, 2, 6, 3, 0) for rule in RANKED),
    *((rule, 3, 6, 4, 0) for rule in RANKED),
    *((rule, 3, 4, 0, 3) for rule in RANKED),
    *((rule, 4, 4, 1, 0) for rule in RANKED),
    *((rule, 4, 3, 0, 1) for rule in RANKED),
]


@pytest.mark.parametrize(("rule", "m", "n", "without", "with_"), SIZES)
def test_delta_equals_enumeration(rule: Rule, m: int, n: int, without: int, with_: int) -> None:
    rng = random.Random(20210)
    k = categories(rule, m)
    for sampling, databases in zip(SAMPLINGS, (without, with_), strict=True):
        for _ in range(databases):
            counts = random_counts(rng, n, k)
            draws = rng.randint(1, n - 1)
            if k == 24:
                draws = min(draws, 3)
            mechanism = SamplingWinner(
                n,
                n_draws=draws,
                rule=rule,
                n_candidates=m,
                sampling=sampling,  # type: ignore[arg-type]
            )
            profile = mechanism.at(counts)

            def law(
                x: oracles.Database, draws: int = draws, sampling: str = sampling
            ) -> oracles.Law:
                return literal_law(x, rule, m, draws, sampling)

            for growth in (Fraction(1), Fraction(101, 100), Fraction(3, 2), Fraction(4)):
                truth = oracles.delta_by_enumeration(oracles.database(counts), k, law, growth)
                epsilon = exact_real(f"ln({growth})", name="epsilon")
                bounds = profile.log_delta_bounds(epsilon)
                lower, upper = bounds.linear()
                assert Fraction(lower) <= truth <= Fraction(upper), (counts, draws, sampling)
                assert upper - lower < 1e-11


@pytest.mark.parametrize("rule", RULES)
def test_the_comparison_can_fail(rule: Rule) -> None:
    """One vote more in the sample is another law."""
    k = categories(rule, 3)
    counts = (3, 2, 2) if rule == "plurality" else (2, 1, 1, 1, 1, 1)
    mechanism = SamplingWinner(7, n_draws=4, rule=rule, n_candidates=3)
    truth = oracles.delta_by_enumeration(
        oracles.database(counts),
        k,
        lambda x: literal_law(x, rule, 3, 3, "without_replacement"),
        Fraction(1),
    )
    lower, upper = mechanism.delta_bounds(counts, epsilon=0)
    assert not lower <= truth <= upper


# ---- laws at sizes where samples are counted, not listed ---------------------------------


def counted_law(
    rule: Rule, counts: Sequence[int], m: int, n_draws: int, replacing: bool
) -> list[Fraction]:
    """Sum the exact probabilities of all histograms of the sample."""
    n = sum(counts)
    law = [Fraction(0)] * m
    ranges = [range((n_draws if replacing and c else min(c, n_draws)) + 1) for c in counts[:-1]]
    for head in product(*ranges):
        left = n_draws - sum(head)
        if left < 0 or (not replacing and left > counts[-1]):
            continue
        histogram = (*head, left)
        if replacing:
            weight = Fraction(math.factorial(n_draws), n**n_draws)
            for c, h in zip(counts, histogram, strict=True):
                weight *= Fraction(c**h, math.factorial(h))
        else:
            ways = math.prod(math.comb(c, h) for c, h in zip(counts, histogram, strict=True))
            weight = Fraction(ways, math.comb(n, n_draws))
        law[winner_of(rule, histogram, m)] += weight
    return law


@pytest.mark.parametrize("replacing", [False, True])
@pytest.mark.parametrize(("m", "largest"), [(2, 60), (3, 40), (4, 16), (5, 10), (6, 8)])
def test_plurality_law_equals_counting(m: int, largest: int, replacing: bool) -> None:
    rng = random.Random(100 * m + replacing)
    for _ in range(25):
        n = rng.randint(2, largest)
        weights = [rng.choice([0, 1, 1, 5]) + 0.01 for _ in range(m)]
        counts = oracles.histogram(rng.choices(range(m), weights, k=n), m)
        draws = rng.randint(1, n)
        truth = counted_law("plurality", counts, m, draws, replacing)
        law = plurality_law(counts, draws, replacing=replacing)
        for exact, bounds in zip(truth, law, strict=True):
            assert holds(bounds, exact), (counts, draws)
            assert exact == 0 or bounds.upper - bounds.lower < 5e-12


def exact_win(counts: tuple[int, int, int], c: int, n_draws: int) -> Fraction:
    """P(c wins) among three by counting, ties to the lowest index."""
    a, b = (j for j in range(3) if j != c)
    ways = 0
    for s in range(1, min(counts[c], n_draws) + 1):
        limit_a, limit_b = s - (a < c), s - (b < c)
        inner = sum(
            math.comb(counts[a], h) * math.comb(counts[b], n_draws - s - h)
            for h in range(max(0, n_draws - s - limit_b), min(limit_a, n_draws - s) + 1)
        )
        ways += math.comb(counts[c], s) * inner
    return Fraction(ways, math.comb(sum(counts), n_draws))


@pytest.mark.parametrize(
    ("counts", "draws", "c"),
    [
        ((400, 120, 110), 300, 2),
        ((120, 400, 110), 300, 0),
        ((500, 300, 250), 900, 2),  # above n - T everything is nearly forced
        ((334, 333, 333), 998, 1),
        ((900, 90, 60), 150, 2),
        ((1100, 200, 200), 450, 2),  # about e^-225
    ],
)
def test_improbable_winners(counts: tuple[int, int, int], draws: int, c: int) -> None:
    """Deep tails keep the accuracy of their logarithm."""
    truth = exact_win(counts, c, draws)
    bounds = plurality_law(counts, draws, replacing=False)[c]
    assert holds(bounds, truth)
    assert truth == 0 or bounds.upper - bounds.lower < max(1e-11, 1e-13 * -bounds.lower)


@pytest.mark.parametrize("growth", [0.01, 1.0, 20.0])
def test_moving_the_anchor_changes_nothing(growth: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """How far exponentials grow before they are taken out is a matter of range only."""
    monkeypatch.setattr(plurality_sum, "_GROWTH", growth)
    for counts, c in (((400, 120, 110), 2), ((90, 300, 80), 0)):
        bounds = plurality_law(counts, 200, replacing=False)[c]
        assert holds(bounds, exact_win(counts, c, 200))
        assert bounds.upper - bounds.lower < 1e-11
    for replacing in (False, True):
        counts4, draws = (9, 1, 3, 1), 9
        truth = counted_law("plurality", counts4, 4, draws, replacing)
        law = plurality_law(counts4, draws, replacing=replacing)
        assert all(holds(b, exact) for b, exact in zip(law, truth, strict=True))


@pytest.mark.parametrize("m", [3, 4, 5, 6])
@pytest.mark.parametrize("replacing", [False, True])
def test_plurality_law_sums_to_one(m: int, replacing: bool) -> None:
    """Near ties every term is summed by itself: none is the complement of the others."""
    counts = tuple(2000 // m + (c == 0) for c in range(m))
    law = plurality_law(counts, sum(counts) // 2, replacing=replacing)
    assert math.fsum(math.exp(b.lower) for b in law) <= 1 + 1e-15
    assert math.fsum(math.exp(b.upper) for b in law) >= 1 - 1e-15
    assert all(b.upper - b.lower < 1e-11 for b in law)
    assert min(b.lower for b in law) > math.log(0.5 / m)


@pytest.mark.parametrize("rule", RANKED)
@pytest.mark.parametrize("replacing", [False, True])
def test_ranking_law_equals_counting(rule: Rule, replacing: bool) -> None:
    rng = random.Random(11)
    for _ in range(4):
        n = rng.randint(9, 16)
        counts = random_counts(rng, n, 6)
        draws = rng.randint(3, 5 if replacing else 9)
        truth = counted_law(rule, counts, 3, draws, replacing)
        (law,) = ranking_laws(rule, 3, [counts], draws, replacing=replacing)
        assert law.error < 1e-13
        for exact, value in zip(truth, law.log_values.tolist(), strict=True):
            assert holds(LogBounds(value - law.error, value + law.error), exact), counts


@pytest.mark.parametrize("rule", RANKED)
@pytest.mark.parametrize("lost", [0, 1, 3])
def test_rankings_of_which_few_are_lost(rule: Rule, lost: int) -> None:
    """Thousands of votes but a few, which took minutes: against every choice of lost votes."""
    counts = (700, 701, 699, 700, 700, 700)
    law, beside = ranking_laws(
        rule, 3, [counts, (699, 702, 699, 700, 700, 700)], 4200 - lost, replacing=False
    )
    truth = [Fraction(0)] * 3
    for taken in (t for t in product(range(lost + 1), repeat=6) if sum(t) == lost):
        left = tuple(n - k for n, k in zip(counts, taken, strict=True))
        ways = math.prod(math.comb(n, k) for n, k in zip(counts, taken, strict=True))
        truth[winner_of(rule, left, 3)] += Fraction(ways, math.comb(4200, lost))
    assert lost == 0 or 0 < truth[0] < 1
    for exact, value in zip(truth, law.log_values.tolist(), strict=True):
        assert holds(LogBounds(value - law.error, value + law.error), exact)
    assert math.fsum(np.exp(beside.log_values)) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("rule", RANKED)
@pytest.mark.parametrize("replacing", [False, True])
def test_rankings_beyond_floats(rule: Rule, replacing: bool) -> None:
    """Weights whose products underflow are summed as whole numbers."""
    counts, draws = (1, 1 << 49, 0, 3, 0, 120), 120
    if replacing:
        counts, draws = (1, 1 << 49, 0, 0, 0, 1), 80
    truth = counted_law(rule, counts, 3, draws, replacing)
    (law,) = ranking_laws(rule, 3, [counts], draws, replacing=replacing)
    assert law.log_values[np.isfinite(law.log_values)].min() < -800  # 0 in floats
    for exact, value in zip(truth, law.log_values.tolist(), strict=True):
        assert holds(LogBounds(value - law.error, value + law.error), exact)


# ---- a candidate that wins with more than a half ------------------------------------------


def test_the_favourite_can_be_left_out() -> None:
    """The larger direction never needs the term of an output above 1/2 in both laws."""
    rng = random.Random(9)
    for _ in range(3000):
        size = rng.randint(2, 4)
        laws = []
        for _ in range(2):
            rest = [Fraction(rng.choice([0, 1, rng.randint(0, 99)])) for _ in range(size - 1)]
            top = sum(rest, Fraction(0)) + Fraction(rng.randint(1, 60), rng.choice([1, 50]))
            laws.append([m / (top + sum(rest)) for m in (top, *rest)])
        growth = 1 + Fraction(rng.randint(0, 40), rng.choice([10, 100, 10**4]))

        def excess(p: list[Fraction], q: list[Fraction], growth: Fraction = growth) -> Fraction:
            gains = (u - growth * v for u, v in zip(p, q, strict=True))
            return sum((max(Fraction(0), gain) for gain in gains), Fraction(0))

        p, q = laws
        assert max(excess(p, q), excess(q, p)) == max(excess(p[1:], q[1:]), excess(q[1:], p[1:]))


# ---- delta where one candidate nearly always wins ----------------------------------------


@pytest.mark.parametrize("epsilon", ["0", "1e-40", "1e-25", "1e-9", "0.01"])
def test_delta_far_below_rounding(epsilon: str) -> None:
    """At epsilon near 0 the likely winner's term is decided by 1 - p."""
    counts, draws = (400, 120, 110), 300
    mechanism = SamplingWinner(630, n_draws=draws, n_candidates=3)

    def law(x: tuple[int, int, int]) -> tuple[Fraction, ...]:
        second, third = exact_win(x, 1, draws), exact_win(x, 2, draws)
        return 1 - second - third, second, third

    # e^epsilon to 60 digits: 1 + e + e^2/2 + ...
    e = Fraction(epsilon)
    growth = sum((e**k / math.factorial(k) for k in range(40)), Fraction(0))
    here = law(counts)
    truth = Fraction(0)
    for a, b in permutations(range(3), 2):
        x = list(counts)
        x[a], x[b] = x[a] - 1, x[b] + 1
        there = law((x[0], x[1], x[2]))
        for p, q in ((here, there), (there, here)):
            gains = (max(Fraction(0), u - growth * v) for u, v in zip(p, q, strict=True))
            truth = max(truth, sum(gains, Fraction(0)))
    bounds = mechanism.at(counts).log_delta_bounds(exact_real(epsilon, name="epsilon"))
    assert bounds.upper < -60
    assert holds(bounds, truth)
    assert bounds.upper - bounds.lower < 1e-9


def test_two_candidates_two_routes() -> None:
    """The chance that a vote decides, against the laws of all neighbours."""
    rng = random.Random(3)
    for _ in range(60):
        n = rng.choice([5, 40, 1000, 10**5])
        first, draws = rng.randint(0, n), rng.randint(1, n)
        mechanism = SamplingWinner(n, n_draws=draws, n_candidates=2)
        for epsilon in ("0", "1e-9", "0.001", "0.1", "2", "1e6"):
            exact = exact_real(epsilon, name="epsilon")
            one = mechanism.at((first, n - first)).log_delta_bounds(exact)
            other = WinnerProfile(mechanism, (first, n - first)).log_delta_bounds(exact)
            assert one.lower <= other.upper
            assert other.lower <= one.upper
            assert one.lower >= other.lower - 1e-9


def test_two_candidates_at_a_hundred_million() -> None:
    n, draws = 10**8, 5 * 10**7
    mechanism = SamplingWinner(n, n_draws=draws, n_candidates=2)
    deltas = []
    for first in (n // 2, n // 2 + 10**4, n // 2 + 10**6):
        for epsilon in (Fraction(0), Fraction(1, 10**6)):
            lower, upper = mechanism.at((first, n - first)).log_delta_bounds(epsilon)
            assert upper - lower <= 1e-11 * max(1, -upper)
            deltas.append(upper)
    assert deltas == sorted(deltas, reverse=True)
    # Drawn, and one of T - 1 = 49,999,999 fair and nearly independent votes from a tie.
    local = 0.5 * math.sqrt(2 / (math.pi * draws * 0.5))
    assert math.exp(deltas[0]) == pytest.approx(local, rel=1e-6)


# ---- smoothed delta ------------------------------------------------------------------------


def test_interior_compositions_win_by_far() -> None:
    """n=20, T=15, epsilon=.1, models .2 and .8: .1994 at 10 + 10 against .0090 at the ends."""
    n = 20
    mechanism = SamplingWinner(n, n_draws=15, n_candidates=2)
    delta = [mechanism.delta((h, n - h), epsilon="0.1") for h in range(n + 1)]

    def binomial(trials: int, p: Fraction) -> list[Fraction]:
        return [math.comb(trials, h) * p**h * (1 - p) ** (trials - h) for h in range(trials + 1)]

    expected = []
    for j in range(n + 1):
        one, other = binomial(j, Fraction(4, 5)), binomial(n - j, Fraction(1, 5))
        expected.append(
            float(
                sum(
                    p * q * Fraction(delta[a + b])
                    for a, p in enumerate(one)
                    for b, q in enumerate(other)
                )
            )
        )
    assert max(range(n + 1), key=expected.__getitem__) == 10
    assert expected[10] == pytest.approx(0.1994, abs=5e-5)
    assert expected[0] == pytest.approx(0.0090, abs=5e-5)
    assert expected[n] == pytest.approx(0.0090, abs=5e-5)


# ---- release --------------------------------------------------------------------------------

RELEASES: list[tuple[Rule, tuple[int, ...]]] = [
    ("plurality", (5, 4, 4)),
    ("borda", (3, 1, 2, 2, 3, 2)),
    ("copeland", (3, 1, 2, 3, 3, 1)),
    ("runoff", (3, 1, 2, 2, 3, 2)),
]


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize(("rule", "counts"), RELEASES)
def test_release_follows_the_law(rule: Rule, counts: tuple[int, ...], sampling: str) -> None:
    mechanism = SamplingWinner(
        13,
        n_draws=7,
        rule=rule,
        n_candidates=3,
        sampling=sampling,  # type: ignore[arg-type]
    )
    law = np.exp(mechanism.output_law(counts).log_values)
    rng = SeededRandom(2024)
    tally = np.zeros(3)
    for _ in range(1500):
        tally[mechanism.release(counts=counts, rng=rng).value] += 1
    assert frequency_test(tally, law) > LEVEL
    wrong = np.roll(law, 1) if np.ptp(law) > 0.25 else np.array([0.8, 0.1, 0.1])
    assert frequency_test(tally, wrong) < LEVEL


def test_release_is_marked() -> None:
    mechanism = SamplingWinner(10, n_draws=4, n_candidates=3)
    private = mechanism.release(counts=(10, 0, 0))
    assert private.value == 0
    assert private.is_private
    assert private.guarantee.to_json() == mechanism.guarantee.to_json()
    seeded = mechanism.release(["b"] * 10, universe=["a", "b", "c"], rng=SeededRandom(1))
    assert seeded.value == 1
    assert not seeded.is_private
    assert mechanism.worst_case_delta(epsilon=3) == 0.4


def test_releases_run_where_laws_do_not() -> None:
    n = 10**8
    mechanism = SamplingWinner(n, n_draws=n // 2, n_candidates=3)
    counts = (n // 2, n // 4, n // 4)
    assert mechanism.release(counts=counts).value == 0
    with pytest.raises(OutOfReach, match="Merge candidates"):
        mechanism.delta(counts, epsilon=1)
    mechanism = SamplingWinner(10**5, n_draws=5000, rule="copeland", n_candidates=4)
    counts24 = (*[4000] * 23, 8000)
    assert mechanism.release(counts=counts24).value in range(4)
    with pytest.raises(OutOfReach, match="Draw fewer votes"):
        mechanism.delta(counts24, epsilon=1)


def test_all_votes_drawn() -> None:
    """Nothing is random: delta is 1 where one vote decides, else 0."""
    mechanism = SamplingWinner(7, n_draws=7, n_candidates=3)
    assert mechanism.delta((3, 2, 2), epsilon=1) == 1.0
    assert mechanism.delta((5, 1, 1), epsilon=1) == 0.0
    ranked = SamplingWinner(5, n_draws=5, rule="borda", n_candidates=3)
    assert ranked.delta((5, 0, 0, 0, 0, 0), epsilon=0) == 0.0
    assert ranked.delta((1, 1, 1, 0, 1, 1), epsilon=0) == 1.0


# ---- bad input ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_candidates": 1}, "n_candidates=1"),
        ({"n_candidates": 2.5}, "n_candidates=2.5"),
        ({"n_candidates": True}, "n_candidates=True"),
        ({"n_candidates": 5, "rule": "borda"}, "n_candidates=5"),
        ({"n_candidates": 3, "rule": "approval"}, "'approval'"),
        ({"n_candidates": 3, "rule": ["borda"]}, "borda"),
        ({"n_candidates": 3, "n_draws": 0}, "n_draws=0"),
        ({"n_candidates": 3, "n_draws": 11}, "n_draws=11"),
        ({"n_candidates": 3, "sampling": "some"}, "'some'"),
        ({"n_candidates": 3, "n_draws": None, "sampling_rate": math.nan}, "sampling_rate"),
    ],
)
def test_bad_parameters(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        SamplingWinner(10, **{"n_draws": 3, **arguments})  # type: ignore[arg-type]
    assert words in str(caught.value)


def test_bad_counts() -> None:
    plurality = SamplingWinner(10, n_draws=3, n_candidates=3)
    for counts, words in (
        ((5, 5), "counts of 3 candidates"),
        ((5, 5, 1), "another sum"),
        ((5, 6, -1), "a negative one"),
    ):
        with pytest.raises(InvalidData, match=words):
            plurality.delta(counts, epsilon=1)
        with pytest.raises(InvalidData, match=words):
            plurality.release(counts=counts)
    ranked = SamplingWinner(10, n_draws=3, rule="runoff", n_candidates=3)
    with pytest.raises(InvalidData, match="counts of 6 rankings"):
        ranked.delta((5, 5, 0), epsilon=1)
