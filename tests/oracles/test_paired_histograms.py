"""Paired histograms against literal enumerations of users and bins, as exact rationals."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from collections import defaultdict
from fractions import Fraction

import pytest

from smoothdp.claims.guarantees.standard import ApproxDP, PureDP
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.shuffle.paired.histogram import PairedHistogram
from smoothdp.testing import frequency_test
from tests.oracles.paired_noise import noise_of_all, noise_of_one, share_weight

GOAL = ApproxDP(1, delta="1e-6")
GROWTHS = [Fraction(1), Fraction(3, 2), Fraction(3), Fraction(7)]
RATIO, CHANCE = Fraction(1, 8), Fraction(1, 3)
Bins = dict[tuple[int, ...], Fraction]
"""(+ of bin 0, - of bin 0, + of bin 1, - of bin 1) to its probability."""


def made(n_honest: int, n_users: int, largest: int, slots: int | None = None) -> PairedHistogram:
    return PairedHistogram(
        n_users,
        n_bins=2,
        noise_rate=Fraction(-math.log(RATIO)),
        clump_probability=CHANCE,
        largest_clump=largest,
        honest_share=Fraction(n_honest, n_users),
        slots=slots,
    )


def two_bins(shape: Fraction, largest: int, cap: int) -> Bins:
    """The noise of one user in both bins, given that all of it has at most ``cap`` messages."""
    whole = sum((Fraction(1, j) for j in range(1, largest + 1)), Fraction(0))
    clumps = {0: 1 - CHANCE, **{j: CHANCE / (j * whole) for j in range(1, largest + 1)}}
    shares = [share_weight(shape, RATIO, k) for k in range(cap + 1)]
    law: defaultdict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for (i, first), (j, second) in itertools.product(clumps.items(), repeat=2):
        for signs in itertools.product(range(cap + 1), repeat=4):
            if sum(signs) + 2 * (i + j) <= cap:
                a, b, c, d = signs
                mass = first * second * math.prod((shares[k] for k in signs), start=Fraction(1))
                law[a + i, b + i, c + j, d + j] += mass
    total = sum(law.values(), Fraction(0))
    return {view: mass / total for view, mass in law.items()}


def both(first: Bins, second: Bins) -> Bins:
    law: defaultdict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for a, mass in first.items():
        for b, other in second.items():
            law[tuple(x + y for x, y in zip(a, b, strict=True))] += mass * other
    return dict(law)


def delta(noise: Bins, growth: Fraction) -> Fraction:
    """A user in bin 0 against the same user in bin 1."""
    first = {(a + 1, b, c, d): mass for (a, b, c, d), mass in noise.items()}
    second = {(a, b, c + 1, d): mass for (a, b, c, d), mass in noise.items()}
    nothing = Fraction(0)
    return sum(
        (max(nothing, m - growth * second.get(view, nothing)) for view, m in first.items()), nothing
    )


def name(growth: Fraction) -> str | int:
    return f"ln({growth})" if growth > 1 else 0


@pytest.mark.parametrize(("n_honest", "design"), [(1, 1), (2, 2), (1, 2), (1, 3)])
def test_the_free_law(n_honest: int, design: int) -> None:
    """Independent bins, by all pairs of their views; fewer honest users than the design too."""
    one = noise_of_one(Fraction(1, design), RATIO, CHANCE, 2, 13)
    bin_law = noise_of_all([one] * n_honest)
    profile = made(design, 4, 2).profile(n_honest=n_honest)
    moved = {(u + 1, v): mass for (u, v), mass in bin_law.items()}
    views = [(moved.get(x, Fraction(0)), bin_law.get(x, Fraction(0))) for x in {*moved, *bin_law}]
    for growth in GROWTHS:
        truth = math.fsum(
            max(0.0, float(a) * float(d) - float(growth) * float(b) * float(c))
            for (a, b), (c, d) in itertools.product(views, repeat=2)
        )
        lower, upper = profile.delta_bounds(name(growth))
        assert lower - 1e-6 <= truth <= upper + 1e-6
        assert upper - lower < 1e-8


@pytest.mark.parametrize("n_honest", [1, 2])
def test_the_cap_on_all_bins_together(n_honest: int) -> None:
    protocol = made(n_honest, n_honest, 1, 6)
    tau = protocol.envelope.overflow
    one = two_bins(Fraction(1, n_honest), 1, 5)
    noise = one if n_honest == 1 else both(one, one)
    for growth in GROWTHS:
        truth = delta(noise, growth)
        lower, upper = protocol.profile().delta_bounds(name(growth))
        assert lower - 1e-12 <= truth <= upper + 1e-12
        assert upper <= float((truth + (1 + growth) * tau) / (1 - tau)) * (1 + 1e-9)
    # Bins are dependent now, and the errors still hold.
    for failure in ("1/2", "1/5"):
        reach = protocol.error(failure, simultaneous=True)
        missed = sum(
            (m for (a, b, c, d), m in noise.items() if max(abs(a - b), abs(c - d)) > reach),
            Fraction(0),
        )
        assert missed <= Fraction(failure)
    square = sum((m * (view[0] - view[1]) ** 2 for view, m in noise.items()), Fraction(0))
    assert square <= protocol.mse()


@pytest.fixture(scope="module")
def twenty() -> PairedHistogram:
    return PairedHistogram.calibrate(10_000, n_bins=20, guarantee=GOAL)


def test_a_design(twenty: PairedHistogram) -> None:
    assert twenty.slots_per_user <= 64
    assert twenty.messages_per_user <= 2
    assert twenty.promise == twenty.guarantee == GOAL
    assert twenty.profile().delta(1) <= 1e-6
    assert twenty.profile(n_honest=8900).delta(1) > 1e-6
    assert twenty.profile(n_honest=9500).delta(1) == twenty.profile().delta(1)
    assert twenty.bytes_per_user == 52 * twenty.slots_per_user
    assert pickle.loads(pickle.dumps(twenty)) == twenty
    assert copy.deepcopy(twenty) == twenty


def test_envelopes(twenty: PairedHistogram) -> None:
    rng = SeededRandom(3)
    for datum in (0, 7, 19) * 50:
        sent = twenty.randomize(datum, rng=rng)
        assert len(sent) == twenty.slots_per_user
        assert 2 * datum + 1 in sent
        assert max(sent) <= twenty.dummy == 40
    for bad in (-1, 20, 1.5, None):
        with pytest.raises(InvalidData, match=r"0\.\.19"):
            twenty.randomize(bad, rng=rng)  # type: ignore[arg-type]


def test_bars_hold_for_every_bin(twenty: PairedHistogram) -> None:
    counts = [10_000 - 19 * 40, *[40] * 19]
    reach = twenty.error("1/20", simultaneous=True)
    rng = SeededRandom(5)
    missed = 0
    for _ in range(200):
        estimate = twenty.simulate(counts, rng=rng).value
        bars = estimate.bars("0.95")
        assert bars.above == bars.below == reach
        missed += any(not bars[j][0] <= counts[j] <= bars[j][1] for j in range(20))
        narrow = estimate.bars("0.95", bin=3)
        assert narrow.above == twenty.error("1/20") < reach
    # 5 %: more than 30 of 200 is rarer than 1e-7.
    assert missed <= 30
    again = pickle.loads(pickle.dumps(estimate))
    assert again == estimate
    assert again.bars("0.95")[3] == bars[3]
    with pytest.raises(InvalidParameter, match=r"0\.\.19"):
        estimate.bars("0.95", bin=20)


def test_what_is_hidden(twenty: PairedHistogram) -> None:
    hiding = PairedHistogram.calibrate(10_000, n_bins=20, guarantee=GOAL, post_threshold=15)
    counts = [10_000] + [0] * 19
    estimate = hiding.simulate(counts, rng=SeededRandom(1)).value
    assert estimate.support == {0}
    bars = estimate.bars("0.95")
    reach = twenty.error("1/20", simultaneous=True)
    assert bars[5] == (0, 15 + reach)
    assert hiding.error("1/20") == twenty.error("1/20") + 15
    assert hiding.mse() > twenty.mse()
    assert hiding.hidden_up_to == 15


SMALL = PairedHistogram(
    200, n_bins=3, noise_rate=1, clump_probability="1/50", largest_clump=2, slots=30
)


def test_one_liar_moves_a_bin_by_k_plus_one() -> None:
    rest = [2 * 2 + 1] * 199 + [SMALL.dummy] * 29 * 199
    truthful = SMALL.analyze(rest + [2 * 1 + 1] + [SMALL.dummy] * 29)
    lying = SMALL.analyze([*rest, *[2 * 1] * 30])
    assert truthful[1] - lying[1] == SMALL.influence_of_one_liar == 31


LEVEL, RUNS = 1e-8, 800
"""False-alarm rate of each test below; seeds are fixed."""


@pytest.mark.parametrize("way", range(3))
def test_ways_of_one_law(way: int) -> None:
    """The noise of a bin, A - B, is discrete Laplace: a geometric size with a sign."""
    data = [0] * 50 + [2] * 150
    ways = [
        lambda rng: SMALL.run_messages(data, rng=rng),
        lambda rng: SMALL.release(data, rng=rng).value,
        lambda rng: SMALL.simulate({0: 50, 2: 150}, rng=rng).value,
    ]
    rng = SeededRandom(40 + way)
    runs = [ways[way](rng) for _ in range(40 if way == 0 else RUNS)]
    noise = [run[j] - s for run in runs for j, s in ((0, 50), (1, 0), (2, 150))]

    def p_value(rate: float) -> float:
        places, p = range(-6, 7), math.exp(-rate)
        law = [(1 - p) / (1 + p) * p ** abs(z) for z in places]
        seen = [noise.count(z) for z in places]
        rest = [len(noise) - sum(seen)], [1 - sum(law)]
        return frequency_test([*seen, *rest[0]], [*law, *rest[1]])

    assert p_value(1.0) > LEVEL
    assert way == 0 or p_value(1.3) < LEVEL


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_bins": 1}, "PairedCount"),
        ({"n_bins": 5, "guarantee": PureDP(1)}, "ApproxDP"),
        ({"n_bins": 100}, "most_messages"),
        ({"n_bins": 20, "post_threshold": -1}, "post_threshold"),
    ],
)
def test_refusals(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        PairedHistogram.calibrate(10_000, **{"guarantee": GOAL, **arguments})  # type: ignore[arg-type]
