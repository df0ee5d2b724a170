"""Collections in the engine follow the exact law of the protocol, as its simulation does.

Small protocols whose law is summed here from its definition. Each collection has a window of its
own, so that its noise is anew; all is a function of a fixed key, and a right sampler would be
rejected for one key in 10^5 (`frequency_test` has that size). The same counts reject a wrong law.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import pytest

from smoothdp import SeededRandom
from smoothdp.engines import collect, randomized_counts, run_here
from smoothdp.engines.collecting.level_groups import drawn_groups
from smoothdp.engines.collecting.marked_rows import marked_rows
from smoothdp.shuffle import PairedCount, PairedHistogram, PrefixTree, SplitSum
from smoothdp.testing import frequency_test

KEY = bytes(range(32))
ALARM = 1e-5
Cell = TypeVar("Cell", bound=Hashable)
Law = Mapping[Cell, float]


def p_value(observed: Mapping[Any, int], law: Law[Any], *, least: float = 1e-3) -> float:
    """Return the p-value of counts by cell; cells rarer than ``least`` are one."""
    cells = sorted((cell for cell, chance in law.items() if chance >= least), key=str)
    chances = [law[cell] for cell in cells]
    counts = [observed.get(cell, 0) for cell in cells]
    counts.append(sum(observed.values()) - sum(counts))
    chances.append(max(0.0, 1.0 - sum(chances)))
    return frequency_test(counts, np.array(chances) / sum(chances))


def added(*laws: Law[Any]) -> dict[Any, float]:
    """Return the law of a sum of independent vectors."""
    total: dict[Any, float] = {(): 1.0}
    for number, law in enumerate(laws):
        after: dict[Any, float] = defaultdict(float)
        for (a, p), (b, q) in itertools.product(total.items(), law.items()):
            after[b if number == 0 else tuple(map(sum, zip(a, b, strict=True)))] += p * q
        total = dict(after)
    return total


def share(shape: float, rate: float, most: int) -> list[float]:
    """P(k) = Gamma(k + r) / (Gamma(r) k!) p^k (1 - p)^r."""
    p = math.exp(-rate)
    return [
        math.exp(math.lgamma(k + shape) - math.lgamma(shape) - math.lgamma(k + 1))
        * p**k
        * (1 - p) ** shape
        for k in range(most)
    ]


# ---- signs -------------------------------------------------------------------------------------

RATE, CHANCE, LARGEST, SLOTS = 1.5, 0.25, 2, 4
PAIRED = PairedCount(
    2, noise_rate="3/2", clump_probability="1/4", largest_clump=LARGEST, slots=SLOTS
)


def noise_of_one(*, shape: float, chance: float, most: float) -> dict[tuple[int, int], float]:
    """Return the law of a user's (minus, plus): shares and a clump, if at most so many in all."""
    signs = share(shape, RATE, 12)
    harmonic = sum(1 / j for j in range(1, LARGEST + 1))
    clumps = {0: 1 - chance} | {j: chance / (j * harmonic) for j in range(1, LARGEST + 1)}
    law: dict[tuple[int, int], float] = defaultdict(float)
    for (a, p), (b, q), (j, w) in itertools.product(
        enumerate(signs), enumerate(signs), clumps.items()
    ):
        if a + b + 2 * j <= most:
            law[a + j, b + j] += p * q * w
    whole = sum(law.values())
    return {cell: chance / whole for cell, chance in law.items()}


def of_two(noise: Law[Any]) -> dict[Any, float]:
    """One user holds 0 and sends -, the other 1 and sends +."""
    return added(noise, noise, {(1, 1): 1.0})


def seen_signs(windows: int) -> Counter[tuple[int, int]]:
    run = run_here([[np.array(["ann"]), np.array([0])], [np.array(["bob"]), np.array([1])]])
    found = (
        randomized_counts(run, PAIRED, key=KEY, column="x", window=window).messages.tolist()
        for window in range(windows)
    )
    return Counter((minus, plus) for minus, plus in found)


def test_signs_follow_the_law_of_a_user_who_redraws() -> None:
    """The cap binds: noise of 3 messages at most, of which one in ten users would have more."""
    right = noise_of_one(shape=0.5, chance=CHANCE, most=SLOTS - 1)
    observed = seen_signs(2000)
    assert p_value(observed, of_two(right)) > ALARM
    wrong = {
        "without the cap": noise_of_one(shape=0.5, chance=CHANCE, most=math.inf),
        "without pairs": noise_of_one(shape=0.5, chance=0.0, most=SLOTS - 1),
        "as if each were alone": noise_of_one(shape=1.0, chance=CHANCE, most=SLOTS - 1),
    }
    for name, law in wrong.items():
        assert p_value(observed, of_two(law)) < ALARM, name
    # The simulation has one law with the engine: of the difference, which is all it shows.
    differences: dict[float, float] = defaultdict(float)
    for (minus, plus), chance in of_two(right).items():
        differences[(plus - minus + 2) / 2] += chance
    rng = SeededRandom(8)
    simulated = Counter(PAIRED.simulate(1, rng=rng).value for _ in range(2000))
    assert p_value(simulated, differences) > ALARM
    engine: Counter[float] = Counter()
    for (minus, plus), count in observed.items():
        engine[(plus - minus + 2) / 2] += count
    assert p_value(engine, differences) > ALARM


def test_the_signs_of_two_bins() -> None:
    """Of the first bin, which only one of two users is in; the cap is out of reach."""
    protocol = PairedHistogram(
        2, n_bins=2, noise_rate="3/2", clump_probability="1/4", largest_clump=LARGEST, slots=90
    )
    run = run_here([[np.arange(2), np.array([0, 1])]])
    observed: Counter[tuple[int, int]] = Counter()
    for window in range(2000):
        found = randomized_counts(run, protocol, key=KEY, column="x", window=window)
        observed[tuple(found.messages[:2].tolist())] += 1
    one = noise_of_one(shape=0.5, chance=CHANCE, most=math.inf)
    assert p_value(observed, added(one, one, {(0, 1): 1.0})) > ALARM
    for wrong in (
        added(one, one, {(1, 0): 1.0}),
        added(one, {(0, 1): 1.0}),
        added(*[noise_of_one(shape=0.5, chance=CHANCE / 2, most=math.inf)] * 2, {(0, 1): 1.0}),
    ):
        assert p_value(observed, wrong) < ALARM


# ---- totals ------------------------------------------------------------------------------------


def total_law(
    *, rate: float, shape: float, held: Mapping[int, float], reach: int, modulus: int
) -> dict[int, float]:
    """Return the law of (held + A - B) mod q, read in [-T, q - T)."""
    signs = share(shape, rate, 60)
    law: dict[int, float] = defaultdict(float)
    for (a, p), (b, q), (k, w) in itertools.product(
        enumerate(signs), enumerate(signs), held.items()
    ):
        law[(k + a - b + reach) % modulus - reach] += p * q * w
    return law


@pytest.mark.parametrize("reals", [False, True])
def test_totals_of_split_sums(reals: bool) -> None:
    """Bits 1, 0, 1; or 1/4, 1 and 1/2 in steps of 1/2, of which the first is rounded at random."""
    protocol = SplitSum(
        3,
        noise_epsilon=1,
        resolution=2 if reals else 1,
        n_shares=4,
        modulus_bits=4 if reals else 3,
        honest_share="2/3",
    )
    data = np.array([0.25, 1.0, 0.5] if reals else [1, 0, 1])
    held = {3: 0.5, 4: 0.5} if reals else {2: 1.0}
    levels, rate = protocol.resolution, 1.0 / protocol.resolution
    facts: dict[str, Any] = {"reach": protocol.noise_reach, "modulus": protocol.modulus}
    run = run_here([[np.arange(2), data[:2]], [np.arange(2, 3), data[2:]]])
    observed = Counter(
        round(collect(run, protocol, key=KEY, column="x", window=window).value * levels)
        for window in range(1500)
    )
    # Three users present, of which two make all of the noise.
    right = total_law(rate=rate, shape=1.5, held=held, **facts)
    assert p_value(observed, right) > ALARM
    for wrong in (
        total_law(rate=rate, shape=1.0, held=held, **facts),
        total_law(rate=1.5 * rate, shape=1.5, held=held, **facts),
        total_law(rate=rate, shape=1.5, held={k + 1: w for k, w in held.items()}, **facts),
    ):
        assert p_value(observed, wrong) < ALARM
    rng = SeededRandom(9)
    simulated = Counter(
        round(protocol.release(data.tolist(), rng=rng).value * levels) for _ in range(1500)
    )
    assert p_value(simulated, right) > ALARM


# ---- strings -----------------------------------------------------------------------------------

TREE = PrefixTree(
    3, n_levels=2, fan_out=2, noise_probability="1/4", most_candidates=2, false_positive="9/10"
)
STRINGS = [(0, 0), (0, 0), (1, 1)]


def level_law(counts: list[int], gamma: Fraction, n: int) -> dict[tuple[int, ...], Fraction]:
    """Return the law of a level's messages: each bin's users and Bin(n, gamma) more."""
    one = {k: math.comb(n, k) * gamma**k * (1 - gamma) ** (n - k) for k in range(n + 1)}
    law = {}
    for noise in itertools.product(one, repeat=len(counts)):
        cell = tuple(c + v for c, v in zip(counts, noise, strict=True))
        law[cell] = math.prod((one[v] for v in noise), start=Fraction(1))
    return law


def found_law(gamma: Fraction, n: int, *, shared: bool = False) -> dict[Any, float]:
    """Return the law of {string: messages}, by literal levels; ``shared``: of one noise for both.

    The thresholds are the protocol's, and so is who is kept where more than two are listed.
    """
    law: dict[Any, Fraction] = defaultdict(Fraction)
    first = TREE.round(1, [])
    for messages, chance in level_law([2, 1, 0], gamma, n).items():
        kept = [(s,) for s in (0, 1) if messages[s] > first.threshold]
        second = TREE.round(2, kept)
        places = [(*prefix, s) for prefix in kept for s in (0, 1)]
        counts = [STRINGS.count(place) for place in places]
        counts.append(3 - sum(counts))
        for again, more in level_law(counts, gamma, n).items():
            if (
                shared
                and [a - c for a, c in zip(again, counts, strict=True)][:2]
                != [m - c for m, c in zip(messages, [2, 1, 0], strict=True)][: min(2, len(counts))]
            ):
                continue
            listed = [(-m, i) for i, m in enumerate(again[:-1]) if m > second.threshold]
            best = sorted(i for _, i in sorted(listed)[:2])
            law[tuple((places[i], again[i]) for i in best)] += chance * more
    whole = sum(law.values())
    return {cell: float(chance / whole) for cell, chance in law.items()}


def cell_of(value: Any) -> Any:
    gamma = TREE.noise_probability
    return tuple((s, round(c + 3 * float(gamma))) for s, c in sorted(value.counts.items()))


def test_strings_follow_the_law_of_two_levels() -> None:
    run = run_here(
        [[np.arange(1), np.array(STRINGS[:1])], [np.arange(1, 3), np.array(STRINGS[1:])]]
    )
    observed = Counter(
        cell_of(collect(run, TREE, key=KEY, column="x", window=window).value)
        for window in range(1000)
    )
    quarter = Fraction(1, 4)
    right = found_law(quarter, 3)
    assert p_value(observed, right, least=5e-3) > ALARM
    for wrong in (
        found_law(Fraction(1, 3), 3),
        found_law(quarter, 2),
        found_law(quarter, 3, shared=True),
    ):
        assert p_value(observed, wrong, least=5e-3) < ALARM
    rng, data = SeededRandom(10), {(0, 0): 2, (1, 1): 1}
    simulated = Counter(cell_of(TREE.simulate(data, rng=rng).value) for _ in range(1000))
    assert p_value(simulated, right, least=5e-3) > ALARM


# ---- groups ------------------------------------------------------------------------------------


def groups_seen(members: Callable[[Any, list[int]], Hashable], windows: int) -> Counter[Any]:
    users = list(range(5))
    data = np.array([(0, 0)] * 5)
    tree = PrefixTree(5, n_levels=2, fan_out=2, noise_probability="1/4", most_candidates=1)
    runs = [
        run_here([[np.array(users), data]]),
        run_here([[np.array(users[::-1][:3]), data[:3]], [np.array([1, 0]), data[3:]]]),
    ]
    observed: Counter[Any] = Counter()
    for window in range(windows):
        found = []
        for run in runs:
            rows = marked_rows(
                run, tree, key=KEY, column="x", window=window, users="check", n_answered=None
            )
            groups = drawn_groups(run, rows, 2)
            found.append((groups, members(groups, users)))
        assert found[0] == found[1]
        assert found[0][0].sizes == (2, 3)
        observed[found[0][1]] += 1
    return observed


def test_groups_are_equal_and_any_is_as_likely() -> None:
    """Which two of five users answer the first level: each of ten pairs has one tenth."""

    def first(groups: Any, users: list[int]) -> Hashable:
        return tuple(np.flatnonzero(groups.of(users) == 0).tolist())

    observed = groups_seen(first, 1000)
    pairs = dict.fromkeys(itertools.combinations(range(5), 2), 0.1)
    assert p_value(observed, pairs) > ALARM
    # Each user in either group by a coin would leave these pairs 10 / 32 of the cases.
    by_coins = dict.fromkeys(itertools.combinations(range(5), 2), 1 / 32)
    assert p_value(observed, by_coins) < ALARM
