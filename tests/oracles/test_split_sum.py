"""SplitSum against enumerations of tiny collections, and what it refuses."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

import smoothdp as sd
from smoothdp.errors import IncompatibleClaims, InvalidData, InvalidParameter
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.shuffle.noise_shares import _first_success, negative_binomial_share, urn_draw
from smoothdp.shuffle.split.components import ComponentSums, log_chi_squared, log_least_excess
from smoothdp.shuffle.split.noise_total import NoiseTotal, laplace_excess
from smoothdp.shuffle.split.split_profile import SplitProfile, log_slack_factor
from smoothdp.testing import frequency_test
from tests.oracles.split_views import (
    chi_squared,
    exact_components,
    hockey_stick,
    protocol_view,
)

SplitSum = sd.shuffle.SplitSum
GOAL = sd.ApproxDP(1, delta="1e-6")


# ---- what shares reveal -----------------------------------------------------------------


@pytest.mark.parametrize(("h", "m", "q"), [(2, 2, 3), (3, 2, 2), (2, 3, 3), (2, 4, 2), (3, 3, 2)])
def test_chi_squared_is_at_most_that_of_components(h: int, m: int, q: int) -> None:
    """For every totals of the users, with equality where they are equal."""
    most = exact_components(h, m, q) - 1
    for totals in itertools.product(range(q), repeat=h):
        assert chi_squared(totals, m, q) <= most
    assert chi_squared((1,) * h, m, q) == most
    # One share more hides more: its bound would be false here.
    assert most > exact_components(h, m + 1, q) - 1


@pytest.mark.parametrize(
    ("h", "m", "bits"), [(2, 4, 1), (3, 4, 2), (5, 4, 3), (20, 4, 9), (50, 5, 12), (60, 6, 11)]
)
def test_the_recursion_is_above_the_exact_value(h: int, m: int, bits: int) -> None:
    exact = math.log(exact_components(h, m, 1 << bits) - 1)
    found = log_chi_squared(h, m, bits)
    assert exact <= found <= exact + (1.4 if h < 10 else 0.2)
    if h > 2:
        assert log_least_excess(h, m, bits) <= exact + 1e-12


@pytest.mark.parametrize(("n", "m", "bits"), [(401, 4, 12), (1000, 6, 17), (1500, 5, 20)])
def test_both_routes_agree(n: int, m: int, bits: int) -> None:
    """The closed bound beyond the recursion is above it, by 1/n or little more."""
    sums = ComponentSums(m, bits)
    sums.extend(n)
    closed = log_chi_squared(n, m, bits)
    assert sums.log_excess[n] <= closed <= sums.log_excess[n] + 15 / n


def test_the_closed_bound_is_not_used_where_it_is_not_proved() -> None:
    # Of three shares nothing is proved beyond the recursion.
    assert log_chi_squared(30_000, 3, 10) == math.inf
    assert log_chi_squared(1, 4, 10) == -math.inf


@pytest.mark.parametrize(
    ("h", "designed", "resolution", "noise"),
    [
        (2, 2, 1, "1"),
        (3, 3, 1, "1/2"),
        (2, 3, 1, "1"),
        (3, 2, 1, "1"),
        (2, 2, 2, "2"),
        (1, 3, 1, "2"),
    ],
)
def test_delta_is_at_most_the_bound(h: int, designed: int, resolution: int, noise: str) -> None:
    """User by user: all honest users there, fewer (absent, colluding), more; whatever others hold.

    What users who collude send is known and taken away, so fewer honest users cover them.
    """
    m, bits = 4, 2
    rate = Fraction(noise) / resolution
    profile = SplitProfile(h, designed, Fraction(noise), resolution, m, bits)
    views = {
        data: protocol_view(data, Fraction(1, designed), rate, m, 1 << bits)
        for data in itertools.product(range(resolution + 1), repeat=h)
        if tuple(sorted(data[1:])) == data[1:]
    }
    for epsilon in (0.0, 0.3, 0.8, 1.0, 1.5, 2.5):
        worst = max(
            hockey_stick(views[one], views[two], epsilon)
            for one, two in itertools.permutations(views, 2)
            if one[1:] == two[1:]
        )
        lower, upper = profile.delta_bounds(epsilon)
        assert lower <= worst <= upper
    # At 0 honest shares the noise says most: the bound is not idle there.
    if h == 1:
        assert profile.delta(0) < 1.01 * float(worst_at_zero(views))


def worst_at_zero(views: dict[Any, Any]) -> mpf:
    return max(hockey_stick(views[a], views[b], 0.0) for a, b in itertools.permutations(views, 2))


def test_a_design_holds_for_any_more_users() -> None:
    """The exact delta of one user more is smaller: honest shares are independent."""
    rate, m, q = Fraction(1), 4, 4
    found = []
    for h in (2, 3):
        one = protocol_view((0,) * h, Fraction(1, 2), rate, m, q)
        two = protocol_view((1, *(0,) * (h - 1)), Fraction(1, 2), rate, m, q)
        found.append([hockey_stick(one, two, e) for e in (0.0, 0.5, 1.0)])
    assert all(more <= fewer for fewer, more in zip(*found, strict=True))


# ---- the noise of the total -------------------------------------------------------------


def exact_noise(shape: Fraction, rate: Fraction, size: int = 260) -> Any:
    mp.dps = 40
    p, a = mp.exp(-mpf(rate.numerator) / rate.denominator), mpf(shape.numerator) / shape.denominator
    masses = [(1 - p) ** a]
    for k in range(size):
        masses.append(masses[-1] * p * (k + a) / (k + 1))
    return lambda d: mp.fsum(masses[k] * masses[k + abs(d)] for k in range(size - abs(d)))


SHAPES = [
    ("10/9", "1/3"),
    ("9/10", "1/3"),
    ("1/10", "1/2"),
    ("7/2", "1/2"),
    ("2", "3"),
    ("1/500", "1"),
]


@pytest.mark.parametrize(("shape", "rate"), SHAPES)
def test_brackets_of_the_noise(shape: str, rate: str) -> None:
    a, rho = Fraction(shape), Fraction(rate)
    noise, exact = NoiseTotal(a, rho), exact_noise(a, rho)
    law = noise.law(1e-20)
    for d in [d for d in (0, 1, 2, 3, 7, 20, 50) if d < law.upper.size]:
        assert law.lower[d] <= exact(d) <= law.upper[d] <= law.lower[d] * (1 + 1e-10)
    masses = [exact(d) for d in range(120)]
    for failure in ("1/20", "1e-3", "1e-9"):
        reach = noise.quantiles([Fraction(failure)])[0]
        tail = 1 - masses[0] - 2 * mp.fsum(masses[1 : reach + 1])
        assert tail <= mpf(Fraction(failure).numerator) / Fraction(failure).denominator
        before = tail + 2 * masses[reach] if reach else mpf(1)
        assert before > float(Fraction(failure))
        assert math.exp(noise.log_tail(reach)) >= tail


@pytest.mark.parametrize(("shape", "rate"), SHAPES)
@pytest.mark.parametrize("shift", [1, 4])
def test_the_largest_shift_is_the_worst(shape: str, rate: str, shift: int) -> None:
    a, rho = Fraction(shape), Fraction(rate)
    exact = exact_noise(a, rho)
    masses = [exact(d) for d in range(110)]

    def excess(moved: int, threshold: str) -> mpf:
        growth = mp.exp(mpf(Fraction(threshold).numerator) / Fraction(threshold).denominator)
        return mp.fsum(
            max(mpf(0), masses[abs(d)] - growth * masses[abs(d + moved)]) for d in range(-90, 90)
        )

    law = NoiseTotal(a, rho).law(1e-20, at_least=10)
    assert all(x >= y for x, y in itertools.pairwise(masses))
    for threshold in ("-1/2", "0", "1/10", "1", "3"):
        truth = excess(shift, threshold)
        found = law.excess(shift, Fraction(threshold))
        assert truth * (1 - mpf(10) ** -12) <= found <= truth + 1e-9
        assert all(excess(smaller, threshold) <= found for smaller in range(shift))


def test_the_discrete_laplace_law_in_closed_form() -> None:
    for shift, rate, threshold in itertools.product(
        (1, 2, 5), ("1/5", "1"), ("-1/3", "0", "1/10", "1/5", "9/10", "1", "7")
    ):
        law = NoiseTotal(Fraction(1), Fraction(rate)).law(1e-22, at_least=8)
        closed = laplace_excess(shift, Fraction(rate), Fraction(threshold))
        assert closed == pytest.approx(law.excess(shift, Fraction(threshold)), abs=2e-11)


# ---- shares of noise --------------------------------------------------------------------


def urn_law(n_draws: int, weight: Fraction) -> list[Fraction]:
    law = [Fraction(1)]
    for draw in range(n_draws):
        longer = [Fraction(0)] * (draw + 2)
        for x, mass in enumerate(law):
            chance = (weight + x) / (1 + draw)
            longer[x + 1] += mass * chance
            longer[x] += mass * (1 - chance)
        law = longer
    return law


class Fixed:
    """Bits that are given: for a comparison that is decided by one number."""

    is_private = False

    def __init__(self, bits: list[int]) -> None:
        self.numbers = bits

    def bits(self, n: int) -> int:
        assert n % 64 == 0
        return self.numbers.pop(0)

    def below(self, n: int) -> int:  # noqa: ARG002
        raise AssertionError


@pytest.mark.parametrize(("n_draws", "weight"), [(20, "1/3"), (40, "1/100")])
def test_the_first_success_is_found_at_once(n_draws: int, weight: str) -> None:
    r = Fraction(weight)
    ends = [Fraction(1)]
    for draw in range(n_draws):
        ends.append(ends[-1] * (1 - r / (1 + draw)))
    for index, end in enumerate(ends[1:], 1):
        near = math.floor(end * 2**64)
        # One below the end, one above it, and one that 64 bits do not decide.
        assert _first_success(n_draws, r, Fixed([near - 1])) >= index
        assert _first_success(n_draws, r, Fixed([near + 1])) <= index - 1
        assert _first_success(n_draws, r, Fixed([near, 0])) >= index
        assert _first_success(n_draws, r, Fixed([near, 2**64 - 1])) <= index - 1


@pytest.mark.parametrize(("n_draws", "weight"), [(6, "1/2"), (24, "1/5")])
def test_the_law_of_the_urn(n_draws: int, weight: str) -> None:
    """False-alarm rate 1e-8; a wrong weight is rejected."""
    rng = SeededRandom(n_draws)
    draws = [urn_draw(n_draws, Fraction(weight), rng) for _ in range(6000)]
    counts = np.bincount(draws, minlength=n_draws + 1)
    law = [float(mass) for mass in urn_law(n_draws, Fraction(weight))]
    assert frequency_test(counts, law) > 1e-8
    wrong = [float(mass) for mass in urn_law(n_draws, Fraction(weight) * Fraction(3, 4))]
    assert frequency_test(counts, wrong) < 1e-8


def test_the_law_of_shares() -> None:
    """A share above one adds whole geometric numbers; false-alarm rate 1e-8."""
    rng, shape, rate = SeededRandom(5), Fraction(5, 2), Fraction(1)
    draws = [negative_binomial_share(shape, rate, rng) for _ in range(5000)]
    p, masses = math.exp(-1), [(1 - math.exp(-1)) ** 2.5]
    for k in range(60):
        masses.append(masses[-1] * p * (k + 2.5) / (k + 1))
    counts = np.bincount(draws, minlength=61)
    assert frequency_test(counts, masses) > 1e-8
    assert frequency_test(np.roll(counts, 1), masses) < 1e-8


# ---- calibration and promise ------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "epsilon", "resolution", "expected"),
    [
        (10**3, "1", None, (101, 17, 6, 312)),
        (10**4, "1", None, (319, 22, 6, 312)),
        (10**5, "1", None, (1008, 27, 5, 260)),
        (10**6, "1", None, (3187, 32, 5, 260)),
        (10**6, "0.1", None, (319, 29, 5, 260)),
        (10**3, "1", 1, (1, 11, 6, 312)),
        (10**6, "1", 1, (1, 20, 5, 260)),
    ],
)
def test_calibrations(n: int, epsilon: str, resolution: Any, expected: tuple[int, ...]) -> None:
    goal = sd.ApproxDP(epsilon, delta="1e-6")
    p = SplitSum.calibrate(n, guarantee=goal, resolution=resolution)
    assert (p.resolution, p.modulus_bits, p.n_shares, p.bytes_per_user) == expected
    assert p.profile().delta(epsilon) <= 1e-6
    assert p.guarantee == goal
    assert p.slots_per_user == p.messages_per_user == p.n_shares
    # One share fewer: nothing is proved.
    fewer = SplitProfile(
        p.honest_needed,
        p.honest_needed,
        p.noise_epsilon,
        p.resolution,
        p.n_shares - 1,
        p.modulus_bits,
    )
    assert fewer.delta(epsilon) > 1e-6


def test_fewer_honest_users_fall_off_a_cliff() -> None:
    p = SplitSum.calibrate(1000, guarantee=GOAL)
    deltas = [p.profile(n_honest=h).delta(1) for h in (1000, 900, 891, 855, 810, 1)]
    assert deltas == sorted(deltas)
    assert deltas[2] < 1e-6
    assert deltas[3] == pytest.approx(1.6e-3, rel=0.02)
    assert deltas[4] == pytest.approx(0.0161, rel=0.02)
    assert deltas[5] > 0.99
    values = [p.profile().delta(e) for e in ("0", "0.5", "0.9", "0.95", "0.96", "1", "2", "9")]
    assert values == sorted(values, reverse=True)
    lower, upper = p.profile().epsilon_bounds("1e-6")
    assert 0.94 < lower < upper < 0.96
    for epsilon in ("0", "0.3", "0.9"):
        lower, upper = p.profile().delta_bounds(epsilon)
        assert 0 < lower <= upper <= lower * 1.01 + 1e-4
    # The room for the noise is not enough for a bound from below, or hardly.
    tiny = SplitProfile(3, 3, Fraction(1), 1, 4, 2)
    assert tiny.delta_bounds("0.1")[0] == 0.0
    assert log_slack_factor(Fraction(1), Fraction(1)) == math.inf


def test_a_promise_is_checked_and_copies_keep_it() -> None:
    p = SplitSum.calibrate(1000, guarantee=GOAL)
    for other in (copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert other == p
        assert other.guarantee == GOAL
    fields: dict[str, Any] = {
        "noise_epsilon": "0.95",
        "resolution": 101,
        "modulus_bits": 17,
        "honest_share": "9/10",
    }
    assert SplitSum(1000, n_shares=6, promise=GOAL, **fields).guarantee == GOAL
    with pytest.raises(InvalidParameter, match="a promise that the profile keeps"):
        SplitSum(1000, n_shares=5, promise=GOAL, **fields)
    free = SplitSum(1000, n_shares=6, **fields).guarantee
    assert isinstance(free, sd.ApproxDP)
    assert free.epsilon < 1
    assert "at least 900 of the 1,000 users" in p.describe()
    bad: Any
    for bad in (sd.PureDP(1), sd.GaussianDP(1), sd.ZCDP(1), sd.ApproxDP(1, delta=0), 7):
        with pytest.raises(InvalidParameter, match="0 < delta < 1"):
            SplitSum.calibrate(1000, guarantee=bad)
    with pytest.raises(IncompatibleClaims):
        SplitSum.calibrate(10, guarantee=sd.ApproxDP(1, delta="1e-6", neighbours="add_remove"))
    with pytest.raises(InvalidParameter, match="most_slots"):
        SplitSum.calibrate(1000, guarantee=GOAL, most_slots=5)
    for key, value in {"n_shares": 3, "modulus_bits": 16, "resolution": 0, "n_users": 0}.items():
        with pytest.raises(InvalidParameter, match=key):
            SplitSum(**{"n_users": 1000, "n_shares": 6, **fields, key: value})
    irrational = SplitSum.calibrate(50, guarantee=sd.ApproxDP("ln(3)", delta="1e-6"))
    assert irrational.profile().delta("ln(3)") <= 1e-6
    alone = SplitSum.calibrate(1, guarantee=GOAL)
    assert alone.profile().delta(1) == 0.0


# ---- running ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def loud() -> Any:
    """So little noise that the total is right: it is 0 but for once in 10^200."""
    return SplitSum(6, noise_epsilon=3000, resolution=4, n_shares=4, modulus_bits=8)


def test_ways_to_run(loud: Any) -> None:
    data = [0, 0.25, 0.5, 0.5, 0.75, 1]
    for rng in map(SeededRandom, range(3)):
        assert loud.run_messages(data, rng=rng) == 3.0
        assert loud.release(data, rng=rng).value == 3.0
        counts = {0: 1, 0.25: 1, 0.5: 2, 0.75: 1, 1: 1}
        assert loud.release(counts=counts, rng=rng).value == 3.0
        assert not loud.simulate(counts, rng=rng).is_private
    bits = SplitSum(6, noise_epsilon=800, n_shares=4, modulus_bits=5)
    assert bits.simulate(4).value == bits.simulate({1: 4, 0: 2}).value == 4.0
    assert bits.run_messages([1, 1, 0, 1, 0, 1]) == 4.0
    bad: Any
    for bad in ([0.5] * 6, [2] * 6, ["1"] * 6, [0] * 5):
        with pytest.raises(InvalidData):
            bits.release(bad)
    with pytest.raises(InvalidData):
        bits.simulate(7)
    with pytest.raises(InvalidData, match="counts as"):
        loud.simulate([1, 2])


def test_what_users_send(loud: Any) -> None:
    rng = SeededRandom(3)
    for datum in (0, 0.5, 1):
        sent = loud.randomize(datum, rng=rng)
        assert len(sent) == 4
        assert sum(sent) % 256 == 4 * datum
    with pytest.raises(InvalidData):
        loud.randomize(1.5)
    # The last share is as uniform as the others; false-alarm rate 1e-8.
    small = SplitSum(1, noise_epsilon=3000, n_shares=4, modulus_bits=2)
    for place in (0, 3):
        shares = [small.randomize(1, rng=rng)[place] for _ in range(2000)]
        assert frequency_test(np.bincount(shares, minlength=4), [0.25] * 4) > 1e-8


def test_an_incomplete_batch_is_refused(loud: Any) -> None:
    rng = SeededRandom(1)
    sent = [m for datum in (0, 0.25, 0.5, 0.5, 0.75, 1) for m in loud.randomize(datum, rng=rng)]
    assert loud.analyze(np.array(sent)) == loud.analyze(sent[::-1]) == 3.0
    for bad in (sent[:-1], [*sent, 0], [*sent[:-1], 256], [*sent[:-1], "x"], []):
        with pytest.raises(InvalidData, match="exactly 4 messages from each of 6 users"):
            loud.analyze(bad)
    p = SplitSum(
        6, noise_epsilon=3000, resolution=4, n_shares=4, modulus_bits=8, honest_share="5/6"
    )
    assert p.honest_needed == 5
    assert p.analyze(sent[4:], n_answered=5) == 3.0
    assert p.answered(5).honest_needed == 5
    assert p.answered(5).profile() == p.profile()
    with pytest.raises(InvalidData, match="exactly 4 messages from each of 5 users"):
        p.analyze(sent, n_answered=5)
    with pytest.raises(InvalidData, match="at least 5 honest users"):
        p.analyze(sent[8:], n_answered=4)
    with pytest.raises(InvalidData, match="at least 5 honest users"):
        p.analyze(sent[4:], n_answered=5, tolerated=1)


def test_a_liar_moves_the_sum_anywhere(loud: Any) -> None:
    rng = SeededRandom(1)
    sent = [m for datum in (0, 0.25, 0.5, 0.5, 0.75) for m in loud.randomize(datum, rng=rng)]
    found = {loud.analyze([*sent, 0, 0, 0, lie]) for lie in range(256)}
    assert len(found) == 256
    assert loud.influence_of_one_liar == math.inf
    assert "any value" in loud.liars_sentence()
    assert "too few" in loud.liars_sentence()
    with pytest.raises(InvalidParameter):
        loud.liars_sentence(6)


def test_estimates_follow_the_law_of_the_noise() -> None:
    """By totals and user by user; false-alarm rate 1e-8."""
    p = SplitSum(4, noise_epsilon=1, n_shares=4, modulus_bits=7, honest_share="3/4")
    law = NoiseTotal(Fraction(4, 3), Fraction(1)).law(1e-12)
    reach = 20
    masses = [float(law.upper[abs(d)]) for d in range(-reach, reach + 1)]
    masses[0] += 1 - sum(masses)
    rng, data = SeededRandom(8), [1, 0, 1, 0]
    runs: list[Callable[[], float]] = [
        lambda: p.simulate(2, rng=rng).value,
        lambda: p.run_messages(data, rng=rng),
    ]
    for run in runs:
        draws = [int(run()) - 2 + reach for _ in range(1500)]
        counts = np.bincount(draws, minlength=2 * reach + 1)
        assert frequency_test(counts, masses) > 1e-8
        assert frequency_test(np.roll(counts, 1), masses) < 1e-8


# ---- error ------------------------------------------------------------------------------


def test_error_and_mean_square() -> None:
    p = SplitSum(4, noise_epsilon=1, n_shares=4, modulus_bits=7, honest_share="3/4")
    exact = exact_noise(Fraction(4, 3), Fraction(1))
    masses = [exact(d) for d in range(60)]
    assert p.mse() == pytest.approx(
        float(2 * mp.fsum(d * d * masses[d] for d in range(60))), rel=1e-9
    )
    for failure in (0.3, 0.05, 1e-4):
        bound = int(p.error(failure))
        assert 1 - masses[0] - 2 * mp.fsum(masses[1 : bound + 1]) <= failure
        assert 1 - masses[0] - 2 * mp.fsum(masses[1:bound]) > failure
    # Below what the noise leaves T with, any total may be read.
    assert p.error("1e-60") == 128.0
    assert p.noise_reach == 61
    reals = SplitSum.calibrate(1000, guarantee=GOAL)
    assert round(math.sqrt(reals.mse()), 2) == 1.58
    assert reals.mse([0.5] * 1000) < reals.mse() + 1e-9
    assert reals.mse([1.0] * 1000) < reals.mse([0.5] * 1000)
    assert 3.5 < reals.error("0.05") < 4
    tight = SplitSum(4, noise_epsilon="0.5", n_shares=4, modulus_bits=3)
    # T = 1: totals are read wrongly often, and the mean square says so.
    assert tight.noise_reach == 1
    assert tight.mse() > 20
    assert tight.error("0.05") == 8.0
