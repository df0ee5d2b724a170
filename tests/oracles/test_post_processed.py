"""Functions of the sampled histogram against literal enumeration, in exact rationals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from smoothdp import BernoulliHistogram, SamplingHistogram, SeededRandom
from smoothdp.errors import InvalidData, InvalidParameter, OutOfReach
from smoothdp.mechanisms.histogram.post_processed import Grouping, HistogramFunction, PostProcessed
from smoothdp.mechanisms.histogram.sample_law import SampledHistogram
from smoothdp.mechanisms.sampling.finite_law import OutputLaw
from smoothdp.testing import frequency_test, oracles

pytestmark = pytest.mark.filterwarnings("ignore:n_draws = n_records", "ignore:keep_probability = 1")


def winners(h: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(c for c, votes in enumerate(h) if votes == max(h))


def ahead(h: tuple[int, ...]) -> bool:
    return h[0] > h[1]


def parity(h: tuple[int, ...]) -> int:
    return sum(h[1:]) % 2


def identity(h: tuple[int, ...]) -> tuple[int, ...]:
    return h


def constant(_: tuple[int, ...]) -> str:
    return "always"


FUNCTIONS: list[HistogramFunction] = [winners, ahead, parity, identity, constant]


def sampling(kind: str, n: int, n_draws: int) -> SampledHistogram:
    if kind == "independent":
        return BernoulliHistogram(n, keep_probability=Fraction(n_draws, n))
    if kind == "with_replacement":
        return SamplingHistogram(n, n_draws=n_draws, sampling="with_replacement")
    return SamplingHistogram(n, n_draws=n_draws)


def literal_law(
    kind: str, x: oracles.Database, m: int, n_draws: int, function: HistogramFunction
) -> Any:
    if kind == "independent":
        law = oracles.law_independent(x, m, Fraction(n_draws, len(x)))
    elif kind == "with_replacement":
        law = oracles.law_with_replacement(x, m, n_draws)
    else:
        law = oracles.law_without_replacement(x, m, n_draws)
    pushed: dict[Hashable, Fraction] = {}
    for histogram, mass in law.items():
        output = function(histogram)
        pushed[output] = pushed.get(output, Fraction(0)) + mass
    return pushed


KINDS = ["without_replacement", "with_replacement", "independent"]
COUNTS = [((3, 3), 4), ((1, 4), 3), ((0, 5), 5), ((2, 1, 2), 3), ((0, 3, 1), 2), ((1, 0, 1, 2), 3)]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("counts", "n_draws"), COUNTS)
def test_delta_by_enumeration(
    counts: tuple[int, ...], n_draws: int, kind: str, function: HistogramFunction
) -> None:
    m, x = len(counts), oracles.database(counts)
    plain = sampling(kind, len(x), n_draws)
    profile = PostProcessed(plain, function).at(counts)
    for growth in (Fraction(1), Fraction(11, 10), Fraction(2)):
        epsilon = f"ln({growth})"
        truth = oracles.delta_by_enumeration(
            x, m, lambda y: literal_law(kind, y, m, n_draws, function), growth
        )
        lower, upper = profile.delta_bounds(epsilon)
        assert Fraction(lower) <= truth <= Fraction(upper)
        assert upper - lower <= 1e-12
        # Proposition 4: nothing that is computed from the histogram says more than it does.
        above = plain.delta(counts, epsilon=epsilon)
        assert upper <= above + 1e-12
        if function is identity:
            assert upper == pytest.approx(above, rel=1e-11)
        if function is constant:
            assert truth == 0
            assert upper <= 1e-12


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_laws_come_in_one_order(kind: str, function: HistogramFunction) -> None:
    """The same outputs in the same places for all counts over the same universe."""
    mechanism = PostProcessed(sampling(kind, 5, 3), function)
    places = mechanism.outputs(3)
    assert len(set(places)) == len(places)
    for counts in product(range(6), repeat=3):
        if sum(counts) != 5:
            continue
        law = mechanism.output_law(counts)
        assert law.log_values.shape == (len(places),)
        truth = literal_law(kind, oracles.database(counts), 3, 3, function)
        for output, log_value in zip(places, law.log_values, strict=True):
            mass = truth.pop(output, Fraction(0))
            if mass:
                assert abs(math.log(mass) - log_value) <= law.error + 1e-15
            else:
                assert log_value == -math.inf
        assert not truth


def test_few_lost_records_among_many() -> None:
    """Only what can be seen is listed: 2 of 3,000 lost, against sums of exact integers."""
    counts, n, lost = (1001, 1000, 999), 3000, 2
    mechanism = PostProcessed(SamplingHistogram(n, n_draws=n - lost), winners)

    def law(at: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
        total: dict[tuple[int, ...], Fraction] = {}
        for gone in product(range(lost + 1), repeat=3):
            if sum(gone) == lost:
                ways = math.prod(math.comb(c, g) for c, g in zip(at, gone, strict=True))
                output = winners(tuple(c - g for c, g in zip(at, gone, strict=True)))
                total[output] = total.get(output, Fraction(0)) + Fraction(ways, math.comb(n, lost))
        return total

    here = law(counts)
    truth = Fraction(0)
    for a, b in product(range(3), repeat=2):
        if a != b:
            moved = list(counts)
            moved[a] -= 1
            moved[b] += 1
            there = law(tuple(moved))
            for p, q in ((here, there), (there, here)):
                truth = max(truth, oracles.hockey_stick(p, q, Fraction(3, 2)))
    lower, upper = mechanism.delta_bounds(counts, epsilon="ln(3/2)")
    assert Fraction(lower) <= truth <= Fraction(upper)
    assert upper - lower < 1e-11
    with pytest.raises(OutOfReach, match="delta of the histogram itself"):
        mechanism.output_law(counts)


@pytest.mark.parametrize("counts", [(600, 601), (300, 901)])
def test_two_candidates(counts: tuple[int, int]) -> None:
    """Who is ahead among half of 1,201 voters, down to small probabilities."""
    n, n_draws = 1201, 601
    mechanism = PostProcessed(SamplingHistogram(n, n_draws=n_draws), ahead)

    def tail(a: int) -> Fraction:
        ways = sum(
            math.comb(a, h) * math.comb(n - a, n_draws - h)
            for h in range(n_draws // 2 + 1, min(a, n_draws) + 1)
        )
        return Fraction(ways, math.comb(n, n_draws))

    growth = Fraction(101, 100)
    truth = Fraction(0)
    for other in (counts[0] - 1, counts[0] + 1):
        for p, q in ((tail(counts[0]), tail(other)), (tail(other), tail(counts[0]))):
            truth = max(truth, p - growth * q, (1 - p) - growth * (1 - q))
    log_truth = math.log(truth.numerator) - math.log(truth.denominator)
    lower, upper = mechanism.at(counts).log_delta_bounds(_epsilon("ln(101/100)"))
    assert lower - 1e-12 * abs(log_truth) <= log_truth <= upper + 1e-12 * abs(log_truth)
    assert upper - lower < 1e-8
    assert counts[0] == 600 or log_truth < -100


def _epsilon(text: str) -> Any:
    from smoothdp.exact.parameters.numbers import exact_real

    return exact_real(text, name="epsilon")


def test_sums_of_many_histograms() -> None:
    """Groups longer than a block of the summation, against exact sums."""
    rng = np.random.default_rng(5)
    logs = -rng.exponential(30.0, 50_001)
    logs[::7] = -np.inf
    histograms = np.arange(50_001)[None, :]
    grouping = Grouping.by(lambda h: h[0] % 3 if h[0] > 40 else -h[0] - 1, histograms)
    law = grouping.sums(OutputLaw(logs[grouping.histograms[0]], 0.0))
    for output, log_value in zip(grouping.outputs, law.log_values, strict=True):
        k = np.arange(50_001)
        assert isinstance(output, int)
        members = k == -output - 1 if output < 0 else (k > 40) & (k % 3 == output)
        total = math.fsum(np.exp(logs[members]).tolist())
        if total == 0:
            assert log_value == -math.inf
        else:
            assert abs(log_value - math.log(total)) <= law.error
    assert law.error < 1e-12


def test_certain_output_has_probability_one() -> None:
    mechanism = PostProcessed(SamplingHistogram(60, n_draws=30), constant)
    law = mechanism.output_law((20, 10, 20, 10))
    assert law.log_values.shape == (1,)
    assert abs(law.log_values[0]) <= law.error < 1e-11


@pytest.mark.parametrize("kind", KINDS)
def test_releases_follow_the_law(kind: str) -> None:
    counts = (2, 1, 3)
    mechanism = PostProcessed(sampling(kind, 6, 3), winners)
    rng = SeededRandom(31)
    tally = Counter(mechanism.release(counts=counts, rng=rng).value for _ in range(3000))
    outputs = mechanism.outputs(3)
    law = np.exp(mechanism.output_law(counts).log_values)
    observed = [tally.pop(output, 0) for output in outputs]
    assert not tally
    assert frequency_test(observed, law / law.sum()) > 1e-8
    wrong = np.exp(mechanism.output_law((1, 2, 3)).log_values)
    assert frequency_test(observed, wrong / wrong.sum()) < 1e-8


def test_release_runs_at_any_size() -> None:
    mechanism = PostProcessed(SamplingHistogram(10**8, sampling_rate="1/2"), winners)
    release = mechanism.release(counts=(6 * 10**7, 3 * 10**7, 10**7))
    assert release.value == (0,)
    assert release.guarantee.to_json() == mechanism.mechanism.guarantee.to_json()
    assert mechanism.worst_case_delta(epsilon=1) == 0.5
    assert "winners of the histogram" in release.mechanism
    with pytest.raises(OutOfReach, match="at most 2000000 sampled histograms"):
        mechanism.at((6 * 10**7, 3 * 10**7, 10**7))


def test_too_many_outputs_over_the_neighbours() -> None:
    mechanism = PostProcessed(SamplingHistogram(400, n_draws=48), identity)
    with pytest.raises(OutOfReach, match="outputs \\* neighbours"):
        mechanism.at((80, 80, 80, 80, 80))


def test_bad_input() -> None:
    plain = SamplingHistogram(5, n_draws=2)
    with pytest.raises(InvalidParameter, match="SamplingHistogram or BernoulliHistogram"):
        PostProcessed(PostProcessed(plain, ahead), ahead)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="function=3"):
        PostProcessed(plain, 3)  # type: ignore[arg-type]
    listing = PostProcessed(plain, lambda h: list(h))  # type: ignore[arg-type, return-value]
    with pytest.raises(InvalidData, match="a list"):
        listing.at((2, 3))
    with pytest.raises(InvalidData, match="a list"):
        listing.release(counts=(2, 3))
    with pytest.raises(InvalidData, match="add up to 5"):
        PostProcessed(plain, ahead).at((2, 2))
