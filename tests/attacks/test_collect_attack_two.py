"""Attacks on pairs, split sums, envelopes, prefix trees and the planner, from their claims alone.

The laws are written down user by user, as the docstrings define them; no code is shared.
"""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chi2

import smoothdp as sd
from smoothdp.errors import InvalidData, InvalidParameter

Law = dict[tuple[int, ...], float]
GOAL = sd.ApproxDP(1, delta="1e-6")
EPSILONS = ("0", "0.4", "1", "2", "5")
FALSE_ALARM = 1e-6


def joined(one: Law, two: Law) -> Law:
    """Return the law of the sum of two independent vectors of counts."""
    law: Law = {}
    for (x, p), (y, s) in itertools.product(one.items(), two.items()):
        z = tuple(map(int.__add__, x, y))
        law[z] = law.get(z, 0.0) + p * s
    return law


def stick(one: Law, two: Law, epsilon: str) -> float:
    factor = math.exp(float(epsilon))
    return math.fsum(max(0.0, p - factor * two.get(y, 0.0)) for y, p in one.items())


def worst_of(views: list[Law], epsilon: str) -> float:
    return max(stick(one, two, epsilon) for one, two in itertools.permutations(views, 2))


def share(shape: float, ratio: float, most: int) -> list[float]:
    """Return the first probabilities of NB(shape, ratio)."""
    return [
        math.exp(
            math.lgamma(k + shape)
            - math.lgamma(shape)
            - math.lgamma(k + 1)
            + k * math.log(ratio)
            + shape * math.log1p(-ratio)
        )
        for k in range(most + 1)
    ]


# ---- split sums -----------------------------------------------------------------------------


def noise_modulo(shape: float, rate: float, q: int) -> list[float]:
    """Return the law of A - B modulo q."""
    half = [0.0] * q
    for k, p in enumerate(share(shape, math.exp(-rate), int(60 / rate))):
        half[k % q] += p
    return [math.fsum(half[(z + b) % q] * half[b] for b in range(q)) for z in range(q)]


def split_user(number: int, noise: list[float], m: int) -> Law:
    """Return the law of how often a user sends each number: m shares with a noisy total."""
    q = len(noise)
    law: Law = {}
    for shares in itertools.combinations_with_replacement(range(q), m):
        counts = tuple(shares.count(y) for y in range(q))
        orders = math.factorial(m) // math.prod(map(math.factorial, counts))
        law[counts] = noise[(sum(shares) - number) % q] * orders / q ** (m - 1)
    return law


@pytest.mark.parametrize(
    ("n", "epsilon", "r", "m", "bits", "honest_share"),
    [
        (1, "1", 1, 4, 1, "1"),
        (1, "1/2", 3, 4, 2, "1"),
        (2, "2", 1, 4, 2, "1/2"),
        (3, "1", 1, 4, 2, "1"),
        (2, "2", 2, 4, 3, "1/2"),
    ],
)
def test_split_sums_user_by_user(
    n: int, epsilon: str, r: int, m: int, bits: int, honest_share: str
) -> None:
    """One honest user shows the noisy number: no chi-squared, but not more than its noise."""
    protocol = sd.shuffle.SplitSum(
        n,
        noise_epsilon=epsilon,
        resolution=r,
        n_shares=m,
        modulus_bits=bits,
        honest_share=honest_share,
    )
    rate = float(Fraction(epsilon)) / r
    noise = noise_modulo(1 / protocol.honest_needed, rate, 2**bits)
    users = [split_user(k, noise, m) for k in range(r + 1)]
    # With three users of eight numbers the multisets are too many for a quick test.
    for honest in range(1, min(n, 2 if bits == 3 else 3) + 1):
        profile = protocol.profile(n_honest=honest)
        for others in itertools.combinations_with_replacement(users, honest - 1):
            rest: Law = {(0,) * 2**bits: 1.0}
            for law in others:
                rest = joined(rest, law)
            views = [joined(rest, law) for law in users]
            for e in EPSILONS:
                truth = worst_of(views, e)
                lower, upper = profile.delta_bounds(e)
                assert profile.delta(e) >= truth * (1 - 1e-9) - 1e-15
                assert lower <= upper
                assert upper >= truth * (1 - 1e-9) - 1e-15


@pytest.mark.parametrize(("n", "honest_share"), [(1, "1"), (1000, "1/1000")])
def test_one_honest_user_is_as_private_as_the_noise(n: int, honest_share: str) -> None:
    """It was delta = 0 at every epsilon: any promise at all was taken."""
    made: dict[str, Any] = {
        "noise_epsilon": 1,
        "n_shares": 4,
        "modulus_bits": 20,
        "honest_share": honest_share,
    }
    profile = sd.shuffle.SplitSum(n, **made).profile()
    # Discrete Laplace noise of ratio 1/e against itself moved by one.
    ratio = math.exp(-1)
    for epsilon in (0.0, 0.25, 0.9):
        truth = (1 - math.exp(epsilon) * ratio) / (1 + ratio)
        assert truth <= profile.delta(epsilon) <= truth * (1 + 1e-9)
    assert profile.delta(1) == 0
    with pytest.raises(InvalidParameter, match="promise"):
        sd.shuffle.SplitSum(n, **made, promise=sd.ApproxDP("0.01", delta="1e-6"))


def test_errors_of_many_shares_of_noise_are_numbers() -> None:
    """Far more users than the noise is made for: the law is too long to be summed."""
    protocol = sd.shuffle.SplitSum(
        150, noise_epsilon="19/20000", n_shares=4, modulus_bits=19, honest_share="1/1000000"
    )
    deviation = math.sqrt(protocol.mse())
    assert 1.9 * deviation < protocol.error("1/20") < 4 * deviation


def test_the_law_of_shares_that_are_sent() -> None:
    q, m, draws = 4, 4, 6000
    protocol = sd.shuffle.SplitSum(2, noise_epsilon=1, n_shares=m, modulus_bits=2)
    rng = sd.SeededRandom(20)
    for bit in (0, 1):
        seen = Counter(protocol.randomize(bit, rng=rng) for _ in range(draws))
        noise = noise_modulo(1 / 2, 1.0, q)
        law = {
            shares: noise[(sum(shares) - bit) % q] / q ** (m - 1)
            for shares in itertools.product(range(q), repeat=m)
        }
        other = {shares: noise[(sum(shares) - 1 + bit) % q] / q ** (m - 1) for shares in law}
        assert fits(seen, law, draws)
        assert not fits(seen, other, draws)


def fits(seen: Counter[Any], law: dict[Any, float], draws: int) -> bool:
    """Chi-square with a false alarm of a millionth; rare cells are one cell."""
    assert set(seen) <= set(law)
    common = [cell for cell, p in law.items() if draws * p >= 5]
    pairs = [(seen[cell], draws * law[cell]) for cell in common]
    left = draws - math.fsum(expected for _, expected in pairs)
    if left >= 5:
        pairs.append((draws - sum(found for found, _ in pairs), left))
    value = sum((found - expected) ** 2 / expected for found, expected in pairs)
    return bool(chi2.sf(value, len(pairs) - 1) > FALSE_ALARM)


# ---- cancelling pairs -----------------------------------------------------------------------


def paired_noise(
    shape: float, rate: float, pi: float, k: int, most: int, room: int | None = None
) -> Law:
    """Return the law of a user's noise (+, -), given that it fits if there is a cap."""
    signs = share(shape, math.exp(-rate), most)
    harmonic = math.fsum(1 / j for j in range(1, k + 1))
    clump = {0: 1 - pi} | {j: pi / (j * harmonic) for j in range(1, k + 1)}
    law: Law = {}
    for (a, x), (b, y), (j, z) in itertools.product(
        enumerate(signs), enumerate(signs), clump.items()
    ):
        if room is None or a + b + 2 * j <= room:
            law[a + j, b + j] = law.get((a + j, b + j), 0.0) + x * y * z
    if room is None:
        return law
    whole = math.fsum(law.values())
    return {cell: p / whole for cell, p in law.items()}


def with_own_sign(noise: Law) -> list[Law]:
    return [{(u + bit, v + 1 - bit): p for (u, v), p in noise.items()} for bit in (0, 1)]


@pytest.mark.parametrize(
    ("design", "rate", "pi", "k", "most", "counted"),
    [
        (1, "1", "1/2", 1, 30, (1,)),
        (2, "1", "1/3", 2, 24, (1, 2)),
        (3, "3/2", "1/5", 3, 14, (1, 2, 3)),
        (2, "3/2", "9/10", 2, 14, (1, 2, 3)),
    ],
)
def test_paired_counts_user_by_user(
    design: int, rate: str, pi: str, k: int, most: int, counted: tuple[int, ...]
) -> None:
    protocol = sd.shuffle.PairedCount(
        3, noise_rate=rate, clump_probability=pi, largest_clump=k, n_honest_design=design
    )
    one = paired_noise(1 / design, float(Fraction(rate)), float(Fraction(pi)), k, most)
    noise: Law = {(0, 0): 1.0}
    for honest in range(1, 4):
        noise = joined(noise, one)
        if honest not in counted:
            continue
        missing = 1 - math.fsum(noise.values())
        profile = protocol.profile(n_honest=honest)
        for e in EPSILONS:
            truth = worst_of(with_own_sign(noise), e)
            slack = (1 + math.exp(float(e))) * missing + 1e-10
            assert profile.delta(e) >= truth - slack
            assert profile.delta_bounds(e)[1] >= truth - slack
            if honest <= design:
                assert profile.delta(e) <= truth + slack


@pytest.mark.parametrize(
    ("n", "design", "rate", "pi", "k", "slots"),
    [(2, 2, "2", "1/3", 2, 9), (3, 2, "3", "9/10", 1, 7), (1, 1, "4", "1/2", 1, 5)],
)
def test_capped_counts_user_by_user(
    n: int, design: int, rate: str, pi: str, k: int, slots: int
) -> None:
    """delta, errors and squared error of noise that is drawn again until it fits."""
    protocol = sd.shuffle.PairedCount(
        n,
        noise_rate=rate,
        clump_probability=pi,
        largest_clump=k,
        n_honest_design=design,
        slots=slots,
    )
    one = paired_noise(1 / design, float(Fraction(rate)), float(Fraction(pi)), k, slots, slots - 1)
    noise: Law = {(0, 0): 1.0}
    for honest in range(1, n + 1):
        noise = joined(noise, one)
        profile = protocol.profile(n_honest=honest)
        for e in EPSILONS:
            truth = worst_of(with_own_sign(noise), e)
            lower, upper = profile.delta_bounds(e)
            assert profile.delta(e) >= truth * (1 - 1e-9)
            # More users than the design has the design's profile, which is above the truth.
            assert honest > design or lower <= truth * (1 + 1e-9)
            assert upper >= truth * (1 - 1e-9)
    off = [(abs(u - v) / 2, p) for (u, v), p in noise.items()]
    assert math.fsum(p * x * x for x, p in off) <= protocol.mse() * (1 + 1e-9)
    for failure in ("9/10", "1/2", "1/20", "1/1000"):
        bound = protocol.error(failure)
        assert math.fsum(p for x, p in off if x > bound) <= float(Fraction(failure))


def test_paired_histograms_user_by_user() -> None:
    """Both bins that a user may be in, with a noise of their own each."""
    most = 22
    for design, honest, rate, pi in (
        (2, 2, "1", "1/3"),
        (2, 1, "3/2", "1/2"),
        (3, 3, "3/2", "9/10"),
    ):
        protocol = sd.shuffle.PairedHistogram(
            3,
            n_bins=2,
            noise_rate=rate,
            clump_probability=pi,
            largest_clump=2,
            n_honest_design=design,
        )
        one = paired_noise(1 / design, float(Fraction(rate)), float(Fraction(pi)), 2, most)
        single: Any = np.zeros((most + 1, most + 1))
        for (u, v), p in one.items():
            if max(u, v) <= most:
                single[u, v] += p
        noise: Any = single
        for _ in range(honest - 1):
            added = np.zeros_like(single)
            for u, v in itertools.product(range(most + 1), repeat=2):
                added[u:, v:] += noise[u, v] * single[: most + 1 - u, : most + 1 - v]
            noise = added
        moved = np.zeros_like(noise)
        moved[1:] = noise[:-1]
        first, second = np.outer(moved, noise), np.outer(noise, moved)
        missing = 1 - float(moved.sum()) * float(noise.sum())
        for e in EPSILONS:
            truth = float(np.maximum(first - math.exp(float(e)) * second, 0).sum())
            slack = (1 + math.exp(float(e))) * missing + 1e-9
            assert truth - slack <= protocol.profile(n_honest=honest).delta(e) <= truth + slack


def test_the_law_of_signs_that_are_sent() -> None:
    """Also in which slots they are, and that the number of slots tells nothing."""
    slots, draws = 7, 5000
    protocol = sd.shuffle.PairedCount(
        2, noise_rate="1", clump_probability="1/3", largest_clump=2, slots=slots
    )
    noise = paired_noise(1 / 2, 1.0, 1 / 3, 2, slots, slots - 1)
    rng = sd.SeededRandom(21)
    for bit, law in enumerate(with_own_sign(noise)):
        sent = [protocol.randomize(bit, rng=rng) for _ in range(draws)]
        assert {len(envelope) for envelope in sent} == {slots}
        assert {message for envelope in sent for message in envelope} <= {0, 1, protocol.dummy}
        seen = Counter((envelope.count(1), envelope.count(0)) for envelope in sent)
        assert fits(seen, law, draws)
        assert not fits(seen, with_own_sign(noise)[1 - bit] | dict.fromkeys(seen, 1e-9), draws)
        # Of envelopes with one message its slot is uniform.
        alone = Counter(e.index(bit) for e in sent if e.count(protocol.dummy) == slots - 1)
        total = sum(alone.values())
        assert fits(alone, dict.fromkeys(range(slots), 1 / slots), total)


@pytest.mark.parametrize("n", [10, 1000, 10**9])
def test_deltas_that_need_no_pairs(n: int) -> None:
    """The search for the least probability ended in the logarithm of 0."""
    goal = sd.ApproxDP(1, delta="1/2")
    count = sd.shuffle.PairedCount.calibrate(n, guarantee=goal)
    assert count.profile().delta(1) <= 0.5
    bins = sd.shuffle.PairedHistogram.calibrate(n, n_bins=3, guarantee=goal, most_messages=9)
    assert bins.profile().delta(1) <= 0.5


# ---- counts in envelopes ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "d", "gamma", "slots", "false_positive"),
    [(3, 2, "1/3", 2, "1/4"), (3, 2, "1/10", 3, "1/40"), (2, 3, "1/4", 3, "1/10")],
)
def test_envelopes_of_bins_user_by_user(
    n: int, d: int, gamma: str, slots: int, false_positive: str
) -> None:
    """delta, errors, bars and false bins of noise that is drawn again, over all data."""
    protocol = sd.shuffle.LowCommunicationHistogram(
        n, n_bins=d, noise_probability=gamma, n_slots=slots, false_positive=false_positive
    )
    g = float(Fraction(gamma))
    free = {
        bits: g ** sum(bits) * (1 - g) ** (d - sum(bits))
        for bits in itertools.product((0, 1), repeat=d)
        if sum(bits) < slots
    }
    one: Law = {bits: p / math.fsum(free.values()) for bits, p in free.items()}
    unit = [tuple(int(i == j) for i in range(d)) for j in range(d)]
    noise: Law = {(0,) * d: 1.0}
    for honest in range(1, n + 1):
        noise = joined(noise, one)
        views = [joined(noise, {unit[j]: 1.0}) for j in range(d)]
        for e in EPSILONS:
            assert protocol.profile(n_honest=honest).delta(e) >= worst_of(views, e) * (1 - 1e-9)
    failures = [Fraction(1, 2), Fraction(1, 20)]
    one_bin = {f: protocol.error(f) for f in failures}
    at_once = {f: protocol.error(f, simultaneous=True) for f in failures}
    for data in itertools.combinations_with_replacement(range(d), n):
        true = [data.count(j) for j in range(d)]
        fails: Any = Counter()
        for noisy, p in noise.items():
            messages = np.array([s + v for s, v in zip(true, noisy, strict=True)])
            estimate = protocol.estimate_counts(messages, warn=False)
            off = [abs(estimate[j] - true[j]) for j in range(d)]
            fails["false"] += p * any(estimate[j] and not true[j] for j in range(d))
            for f in failures:
                fails[f] += p * (max(off) > at_once[f] + 1e-9)
                bars = estimate.bars(1 - f)
                held = all(
                    low <= true[j] <= high
                    for j in range(d)
                    for low, high in [bars.listed.get(j, (0, bars.unlisted))]
                )
                fails[f, "bars"] += p * (not held)
                for j in range(d):
                    fails[f, j] += p * (off[j] > one_bin[f] + 1e-9)
        assert fails.pop("false") <= float(Fraction(false_positive))
        for name, probability in fails.items():
            allowed = name[0] if isinstance(name, tuple) else name
            assert probability <= float(allowed) * (1 + 1e-9), name


# ---- strings ----------------------------------------------------------------------------------


def test_errors_of_strings_count_every_level() -> None:
    """A string that is lost at any level is reported as 0."""
    n, levels, gamma = 1000, 8, 0.005
    tree = sd.shuffle.PrefixTree(n, n_levels=levels, fan_out=16, noise_probability="0.005")
    # A prefix with s users is lost where the noise is at most tau - s; found_count knows tau.
    threshold = tree.round(
        8, [(i,) * 7 for i in range(16)] + [(i, *(0,) * 6) for i in range(1, 16)]
    )
    for failure in ("1/2", "1/20"):
        users = int(tree.error(failure)) + 1
        lost = float(binom.cdf(threshold.threshold - users, n, gamma))
        assert 1 - (1 - lost) ** levels <= float(Fraction(failure))


def test_no_string_is_refused_and_none_is_shown() -> None:
    """A lone surrogate raised an error that named it; whole numbers of arrays were no symbols."""
    tree = sd.shuffle.PrefixTree(40, n_levels=3, noise_probability="1/4")
    for secret in ("\ud800", "x\udfff", b"\xff", None, 3.5, "longer than the tree", object()):
        assert len(tree.randomize(secret, level=1, survivors=())) == tree.n_slots
    assert tree.symbols_of(tuple(np.array([97, 98, 0]))) == tree.symbols_of("ab")
    assert tree.symbols_of((True, 98, 0)) is None
    symbols = tree.symbols_of(tuple(np.array([1, 2, 3])))
    assert symbols is not None
    assert [type(symbol) for symbol in symbols] == [int, int, int]


@pytest.mark.parametrize(
    "counts",
    [
        {5: 60, 6: -20},
        {"ab": 60, "cd": -20},
        {"ab": 39.5, "cd": 0.5},
        {"ab": True, "cd": 39},
        40,
        [("ab", 40)],
        {"ab": "40"},
    ],
)
def test_counts_of_strings_are_checked(counts: Any) -> None:
    """Users of strings that are none of the tree's could be less than none."""
    tree = sd.shuffle.PrefixTree(40, n_levels=2, noise_probability="1/4", fan_out=256)
    for run in (tree.simulate, lambda made: tree.release(counts=made)):
        with pytest.raises(InvalidData):
            run(counts)
    for data in ("a" * 40, b"a" * 40, 40):
        with pytest.raises(InvalidData):
            tree.release(data)  # type: ignore[arg-type]


def test_a_tree_that_is_read_again_keeps_its_promise() -> None:
    goal = sd.ApproxDP(2, delta="1e-2")
    tree = sd.shuffle.PrefixTree(60, n_levels=2, fan_out=2, noise_probability="1/2", promise=goal)
    assert pickle.loads(pickle.dumps(tree)) == tree
    object.__setattr__(tree, "n_users", 10)
    with pytest.raises(InvalidParameter, match="promise"):
        copy.copy(tree)


# ---- the planner ------------------------------------------------------------------------------


def test_groups_of_users_have_a_condition_and_an_error_of_their_own() -> None:
    """9 of 10 users of all may be far fewer in one group; who is in it is a random error."""
    n, goal = 2000, sd.ApproxDP(2, delta="1e-3")
    plan = sd.plan_collect("strings", n_users=n, string_bits=16, guarantee=goal, most_slots=200)
    offer = plan.recommended
    assert offer.groups == 2
    assert "900 of the 1,000 users follow" in plan.why
    assert "in each of the 2 groups" in plan.why
    # Half of all hold one string: of a group of half of all, scaled by two.
    users = np.random.default_rng(22).hypergeometric(n // 2, n // 2, n // 2, 4000)
    drawn = 2.0 * users - n // 2
    assert offer.rmse > drawn.std()
    half = offer.error - 2 * offer.protocol.error("1/40")
    assert np.mean(np.abs(drawn) > half) <= 0.025


def test_declared_liars_that_break_the_promise_are_named() -> None:
    goal = sd.ApproxDP(1, delta="1e-3")
    for liars, broken in ((None, False), (10, False), (11, True), (100, True)):
        plan = sd.plan_collect("count", n_users=100, guarantee=goal, liars=liars)
        assert ("the promise is not kept" in plan.why) == broken


# ---- promises over n, epsilon, delta, honest shares -------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 500, 10**9])
@pytest.mark.parametrize("honest_share", ["1", "9/10", "1/1000"])
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("8", "1e-10"), ("1/3", "2/5")])
def test_what_is_calibrated_is_kept(n: int, epsilon: str, delta: str, honest_share: str) -> None:
    common: dict[str, Any] = {
        "guarantee": sd.ApproxDP(epsilon, delta=delta),
        "honest_share": honest_share,
    }
    kept = 0
    tried: list[tuple[Any, dict[str, Any]]] = [
        (sd.shuffle.PairedCount, {}),
        (sd.shuffle.SplitSum, {"resolution": 1}),
        (sd.shuffle.LowCommunicationHistogram, {"n_bins": 7}),
        (sd.shuffle.ZeroPreservingCount, {}),
        (sd.shuffle.BooleanSum, {}),
    ]
    for made, more in tried:
        try:
            protocol = made.calibrate(n, **common, **more)
        except InvalidParameter:
            continue
        kept += 1
        for honest in {protocol.honest_assumed, n}:
            found = protocol.profile(n_honest=honest).delta(epsilon)
            assert Fraction(found) <= Fraction(delta)
        assert protocol.error("1/20") >= 0
    # Bits and split sums are there for any number of users.
    assert kept >= 2
