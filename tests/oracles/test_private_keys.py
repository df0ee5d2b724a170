"""Private keys against their definitions, in exact rationals: e^epsilon is a rational number."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.errors import InvalidParameter
from smoothdp.keys import OptimalSelection, TruncatedGeometric, total_delta
from smoothdp.testing import frequency_test

GROWTHS = [Fraction(11, 10), Fraction(3, 2), Fraction(3), Fraction(20)]
DELTAS = [Fraction(1, 10**9), Fraction(1, 100), Fraction(3, 10), Fraction(4, 5)]
UP = Fraction(1, 10**14)
ALARM = 1e-9
"""The rate of false alarms of each random test."""


def log(ratio: Fraction) -> str:
    return f"ln({ratio})"


def just_above(found: float, truth: Fraction) -> bool:
    """Not below the truth, and equal to it as floats go."""
    return truth <= Fraction(found) <= truth * (1 + UP)


def recursion(growth: Fraction, delta: Fraction) -> Iterator[Fraction]:
    """Yield pi_0, pi_1, ... by definition."""
    pi = Fraction(0)
    while True:
        yield pi
        pi = min(growth * pi + delta, 1 - (1 - pi - delta) / growth, Fraction(1))


@pytest.mark.parametrize("growth", [Fraction(1), *GROWTHS])
@pytest.mark.parametrize("delta", DELTAS)
def test_closed_form_is_the_recursion(growth: Fraction, delta: Fraction) -> None:
    for n, truth in zip(range(60), recursion(growth, delta), strict=False):
        found = sd.keys.optimal_probability(n, epsilon=log(growth), delta=delta)
        assert just_above(found, truth), (n, found)


def test_no_selection_shows_more() -> None:
    """Each step of the recursion meets one of the two inequalities, or 1: none can be raised."""
    for growth, delta in itertools.product(GROWTHS, DELTAS):
        values = list(itertools.islice(recursion(growth, delta), 40))
        for less, more in itertools.pairwise(values):
            assert more <= growth * less + delta
            assert 1 - less <= growth * (1 - more) + delta
            raised = more + Fraction(1, 10**12)
            assert more == 1 or (
                raised > growth * less + delta or 1 - less > growth * (1 - raised) + delta
            )


def geometric_law(p: Fraction, reach: int) -> dict[int, Fraction]:
    """Return P(Z = z), normalised by its sum."""
    weights = {z: p ** abs(z) for z in range(-reach, reach + 1)}
    total = sum(weights.values())
    return {z: weight / total for z, weight in weights.items()}


def shown_law(n: int, p: Fraction, reach: int) -> dict[int | None, Fraction]:
    """Return the law of n + Z where it is shown; None where nothing is."""
    law: dict[int | None, Fraction] = {None: Fraction(0)}
    for z, weight in geometric_law(p, reach).items():
        out = n + z if n >= 1 and n + z > reach else None
        law[out] = law.get(out, Fraction(0)) + weight
    return law


@pytest.mark.parametrize("growth", GROWTHS)
def test_reach_is_the_least_and_its_delta_is_exact(growth: Fraction) -> None:
    p = 1 / growth
    for delta in DELTAS:
        law = TruncatedGeometric(log(growth), delta=delta)
        assert geometric_law(p, law.reach)[law.reach] <= delta
        assert law.reach == 0 or geometric_law(p, law.reach - 1)[law.reach - 1] > delta
    for reach in range(8):
        law = TruncatedGeometric.from_reach(log(growth), reach=reach)
        assert just_above(law.delta(log(growth)), geometric_law(p, reach)[reach])
        for n in range(20):
            truth = 1 - shown_law(n, p, reach)[None]
            assert just_above(law.show_probability(n), truth)


def test_a_delta_that_a_reach_meets_exactly() -> None:
    """At equality the reach does not rise."""
    for growth in GROWTHS:
        for reach in range(1, 12):
            end = geometric_law(1 / growth, reach)[reach]
            assert TruncatedGeometric(log(growth), delta=end).reach == reach
            less = end * (1 - Fraction(1, 10**30))
            assert TruncatedGeometric(log(growth), delta=less).reach == reach + 1
            tail = end_of_threshold(growth, reach + 1)
            assert sd.keys.laplace_threshold(log(growth), delta=tail) == reach + 1


def test_a_delta_that_no_precision_tells_from_one_that_is_met() -> None:
    """Below it by 1 in 10^2600: rationals decide where balls do not, and the reach rises."""
    end = geometric_law(Fraction(2, 3), 4)[4]
    less = end * (1 - Fraction(1, 10**2600))
    assert TruncatedGeometric(log(Fraction(3, 2)), delta=less).reach == 5
    tail = end_of_threshold(Fraction(3, 2), 4)
    less = tail * (1 - Fraction(1, 10**2600))
    assert sd.keys.laplace_threshold(log(Fraction(3, 2)), delta=less) == 5


def stick(
    first: dict[tuple[object, ...], Fraction],
    second: dict[tuple[object, ...], Fraction],
    growth: Fraction,
) -> Fraction:
    zero = Fraction(0)
    return sum((max(zero, a - growth * second.get(out, zero)) for out, a in first.items()), zero)


def together(laws: list[dict[int | None, Fraction]]) -> dict[tuple[object, ...], Fraction]:
    outs = itertools.product(*(law.items() for law in laws))
    return {tuple(k for k, _ in out): math.prod(w for _, w in out) for out in outs}  # type: ignore[misc]


def test_delta_of_several_keys_is_attained_and_never_exceeded() -> None:
    """All counts of two keys, a person in one or both of them: the worst is delta_g(E), exactly."""
    p, reach = Fraction(1, 2), 2
    law = TruncatedGeometric.from_reach("ln(2)", reach=reach)
    one = {n: shown_law(n, p, reach) for n in range(2 * reach + 2)}
    for keys in (1, 2):
        for growth in (Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(4)):
            worst = Fraction(0)
            for counts in itertools.product(range(2 * reach + 1), repeat=keys):
                before = together([one[n] for n in counts])
                after = together([one[n + 1] for n in counts])
                worst = max(worst, stick(before, after, growth), stick(after, before, growth))
            assert just_above(law.delta(log(growth), n_keys=keys), worst), (keys, growth)
            end = geometric_law(p, reach)[reach]
            same = total_delta(log(growth), epsilon="ln(2)", delta=end, n_keys=keys)
            assert just_above(same, worst)


def test_many_keys_by_all_losses() -> None:
    """delta_g(E) from the three losses of each key, one by one."""
    growth, delta = Fraction(3, 2), Fraction(1, 50)
    high = growth / (1 + growth)
    for keys in range(1, 7):
        for total in (Fraction(1), Fraction(5, 4), growth, growth**2, growth**5):
            truth = Fraction(0)
            for losses in itertools.product((None, 1, -1), repeat=keys):
                weight = Fraction(1)
                for loss in losses:
                    kept = (1 - delta) * (high if loss == 1 else 1 - high)
                    weight *= delta if loss is None else kept
                if None in losses:
                    truth += weight
                else:
                    ratio = growth ** sum(loss or 0 for loss in losses)
                    truth += weight * max(Fraction(0), 1 - total / ratio)
            found = total_delta(log(total), epsilon=log(growth), delta=delta, n_keys=keys)
            assert just_above(found, truth)


def end_of_threshold(growth: Fraction, threshold: int) -> Fraction:
    """Return P(1 + Z >= threshold) of the discrete Laplace law, from its normalised weights."""
    p = 1 / growth
    whole = (1 + p) / (1 - p)
    start = threshold - 1
    if start >= 1:
        return p**start / (1 - p) / whole
    return 1 - p ** (1 - start) / (1 - p) / whole


@pytest.mark.parametrize("growth", GROWTHS)
def test_thresholds_are_the_least(growth: Fraction) -> None:
    for threshold in range(-5, 30):
        found = sd.keys.laplace_threshold_delta(log(growth), threshold=threshold)
        assert just_above(found, end_of_threshold(growth, threshold))
    for delta in DELTAS:
        threshold = sd.keys.laplace_threshold(log(growth), delta=delta)
        assert end_of_threshold(growth, threshold) <= delta
        assert end_of_threshold(growth, threshold - 1) > delta


def test_far_below_floats() -> None:
    law = TruncatedGeometric("0.5", delta="1e-5000")
    # (5000 ln 10 + ln((e^.5 - 1) / (e^.5 + 1))) / .5 = 23023.04
    assert law.reach == 23024
    assert law.log_delta("0.5") <= math.log(10) * -5000
    assert 0 < law.delta("0.5") == 5e-324
    assert sd.keys.optimal_probability(3, epsilon="0.5", delta="1e-5000") == 5e-324
    assert math.isclose(
        OptimalSelection("0.5", delta="1e-5000").log_show_probability(1), -5000 * math.log(10)
    )
    assert sd.keys.optimal_probability(10**9, epsilon="0.5", delta="1e-5000") == 1.0
    assert sd.keys.optimal_probability(2, epsilon="1e300", delta="1e-9") == 1.0


@pytest.mark.parametrize("bad", [0, -1, "nan", "1/0", None])
def test_what_is_refused(bad: object) -> None:
    for call in (
        lambda: TruncatedGeometric(bad, delta="1e-9"),  # type: ignore[arg-type]
        lambda: TruncatedGeometric(1, delta=bad),  # type: ignore[arg-type]
        lambda: sd.keys.laplace_threshold(1, delta=bad),  # type: ignore[arg-type]
        lambda: total_delta(1, epsilon=1, delta="1e-9", n_keys=bad),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidParameter):
            call()


def test_draws_of_the_truncated_geometric_law() -> None:
    law = TruncatedGeometric(1, delta="1e-2")
    p, draws = math.exp(-1), 20_000
    drawn = law.draw(draws, rng=sd.SeededRandom(1))
    observed = np.bincount(drawn + law.reach, minlength=2 * law.reach + 1)
    weights = np.array([p ** abs(z) for z in range(-law.reach, law.reach + 1)])
    assert frequency_test(observed, weights / weights.sum()) > ALARM
    wrong = np.array([(p * 1.2) ** abs(z) for z in range(-law.reach, law.reach + 1)])
    assert frequency_test(observed, wrong / wrong.sum()) < ALARM


def test_keys_are_released_as_often_as_the_law_says() -> None:
    """Each count: absent, or n + Z above the reach; a threshold one lower is found."""
    law = TruncatedGeometric(1, delta="1e-2")
    draws, p = 4000, Fraction(math.exp(-1))
    counts = np.repeat(np.arange(2 * law.reach + 2), draws)
    places, noisy = law.released(counts, rng=sd.SeededRandom(5))
    assert (counts[places] > 0).all()
    assert noisy.min() > law.reach
    for n in range(1, 2 * law.reach + 2):
        mine = noisy[counts[places] == n]
        truth = shown_law(n, p, law.reach)
        cells = sorted(key for key in truth if key is not None)
        observed = [draws - len(mine), *(int((mine == value).sum()) for value in cells)]
        expected = [float(truth[None]), *(float(truth[value]) for value in cells)]
        assert frequency_test(observed, expected) > ALARM
        if n == 1:
            (low,) = [geometric_law(p, law.reach)[law.reach - 1]]
            lower = [1 - float(low + truth[cells[0]]), float(low + truth[cells[0]])]
            assert frequency_test([draws - len(mine), len(mine)], lower) < ALARM


def test_a_wide_law_is_drawn_without_a_table() -> None:
    law = TruncatedGeometric("1e-5", delta="1e-6")
    assert law.reach > 1 << 16
    drawn = law.draw(600, rng=sd.SeededRandom(2))
    cells = np.searchsorted([-(10**5), 0, 10**5], drawn)
    tail = 0.5 * math.exp(-1)
    assert frequency_test(np.bincount(cells, minlength=4), [tail, 0.5 - tail, 0.5 - tail, tail]) > (
        ALARM
    )


def test_draws_of_the_optimal_selection() -> None:
    law = OptimalSelection(1, delta="1e-2")
    counts = np.repeat(np.arange(8), 3000)
    shown = law.shown(counts, rng=sd.SeededRandom(3))
    for n in range(8):
        hits, chance = int(shown[counts == n].sum()), law.show_probability(n)
        assert frequency_test([3000 - hits, hits], [1 - chance, chance]) > ALARM
    assert not shown[counts == 0].any()


def test_words_that_do_not_decide_are_continued() -> None:
    """A source whose first word lies on a rung: the bits after it decide, both ways."""

    class Planted(sd.SeededRandom):
        def __init__(self, word: int, rest: int) -> None:
            super().__init__(1)
            self.words = [word, rest]

        def bits(self, n: int) -> int:
            return self.words.pop(0) if n == 64 and self.words else super().bits(n)

    half = OptimalSelection(1, delta="1/2")
    boundary = 1 << 63
    assert half.shown([1], rng=Planted(boundary - 1, 0))[0]
    assert not half.shown([1], rng=Planted(boundary, 0))[0]
    third = OptimalSelection(1, delta="1/3")
    word = (1 << 64) // 3
    assert third.shown([1], rng=Planted(word, word - 1))[0]
    assert not third.shown([1], rng=Planted(word, word + 1))[0]
