"""The noisy sampling histogram against literal enumeration, without lumping."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest

from smoothdp import ApproxDP, PureDP, SamplingHistogram, SeededRandom, SystemRandom
from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.mechanisms.histogram.noisy_histogram import NoiseSupport, NoisySamplingHistogram
from smoothdp.testing import frequency_test, oracles

pytestmark = pytest.mark.filterwarnings("ignore:n_draws = n_records")
SUPPORTS: list[NoiseSupport] = ["nonnegative", "integers"]
SAMPLINGS = ["without_replacement", "with_replacement"]


@pytest.fixture(autouse=True)
def _digits() -> Iterator[None]:
    with mpmath.workdps(40):
        yield


def sample_law(counts: tuple[int, ...], n_draws: int, sampling: str) -> oracles.Law:
    """Every subset or every sequence of records, one by one."""
    x = oracles.database(counts)
    if sampling == "with_replacement":
        return oracles.law_with_replacement(x, len(counts), n_draws)
    return oracles.law_without_replacement(x, len(counts), n_draws)


def neighbours(counts: tuple[int, ...]) -> set[tuple[int, ...]]:
    x = oracles.database(counts)
    m = len(counts)
    return {oracles.histogram(y, m) for y in oracles.neighbours_of(x, m)} - {counts}


def mp(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator


def literal_law(
    counts: tuple[int, ...], n_draws: int, rate: Fraction, support: str, sampling: str
) -> dict[tuple[int, ...], Any]:
    """Equation (4), output by output, up to where the noise has weight 1e-25."""
    reach = math.ceil(58 / rate)
    outputs = range(0 if support == "nonnegative" else -reach, n_draws + reach)
    q = mpmath.exp(-mp(rate))

    @cache
    def noise(h: int) -> list[Any]:
        # The normaliser is the literal sum over the support, far beyond the window.
        far = 3 * reach
        every = range(0 if support == "nonnegative" else -far, n_draws + far)
        total = mpmath.fsum(q ** abs(o - h) for o in every)
        return [q ** abs(o - h) / total for o in outputs]

    law: dict[tuple[int, ...], Any] = {}
    for sampled, chance in sample_law(counts, n_draws, sampling).items():
        weight = mp(chance)
        for parts in product(*(zip(outputs, noise(h), strict=True) for h in sampled)):
            output = tuple(o for o, _ in parts)
            mass = weight * mpmath.fprod(p for _, p in parts)
            law[output] = law.get(output, mpmath.mpf(0)) + mass
    return law


def literal_delta(mechanism: NoisySamplingHistogram, counts: tuple[int, ...], epsilon: str) -> Any:
    growth = mpmath.exp(mpmath.mpf(epsilon))

    def law(at: tuple[int, ...]) -> dict[tuple[int, ...], Any]:
        return literal_law(
            at,
            mechanism.n_draws,
            mechanism.noise_epsilon / 4,
            mechanism.noise_support,
            mechanism.sampling,
        )

    here = law(counts)
    best = mpmath.mpf(0)
    for there in map(law, neighbours(counts)):
        for p, q in ((here, there), (there, here)):
            gains = (mass - growth * q[output] for output, mass in p.items())
            best = max(best, mpmath.fsum(gain for gain in gains if gain > 0))
    return best


CASES = [
    ((2, 3), 3, "8", "0.3", "without_replacement"),
    ((2, 3), 2, "8", "0.3", "with_replacement"),
    ((0, 4), 3, "12", "0", "without_replacement"),
    ((1, 3), 4, "12", "0.1", "without_replacement"),
    ((4, 1), 3, "16", "2", "with_replacement"),
    ((1, 1, 2), 2, "48", "0.5", "without_replacement"),
    ((0, 2, 1), 1, "48", "0.05", "with_replacement"),
]


@pytest.mark.parametrize("support", SUPPORTS)
@pytest.mark.parametrize(("counts", "n_draws", "noise", "epsilon", "sampling"), CASES)
def test_delta_by_enumeration(
    counts: tuple[int, ...],
    n_draws: int,
    noise: str,
    epsilon: str,
    sampling: Any,
    support: NoiseSupport,
) -> None:
    mechanism = NoisySamplingHistogram(
        sum(counts),
        n_draws=n_draws,
        noise_epsilon=noise,
        sampling=sampling,
        noise_support=support,
    )
    truth = literal_delta(mechanism, counts, epsilon)
    lower, upper = mechanism.delta_bounds(counts, epsilon=epsilon)
    # What the oracle's window leaves out is below 1e-23.
    assert lower <= truth + mpmath.mpf(10) ** -22
    assert upper >= truth - mpmath.mpf(10) ** -22
    assert upper - lower < 1e-11 * truth
    assert mechanism.log_delta(counts, epsilon=epsilon) >= float(mpmath.log(truth)) - 1e-15


@pytest.mark.parametrize("support", SUPPORTS)
@pytest.mark.parametrize(("n_draws", "noise"), [(40, "200"), (40, "1/50"), (60, "3000")])
def test_deep_outputs(support: NoiseSupport, n_draws: int, noise: str) -> None:
    """Logarithms of single outputs, down to e^-40000, within the stated error."""
    counts = (25, 35)
    mechanism = NoisySamplingHistogram(
        60, n_draws=n_draws, noise_epsilon=noise, noise_support=support
    )
    law = mechanism.output_law(counts)
    q = mpmath.exp(-mp(Fraction(noise) / 4))
    n_ways = math.comb(60, n_draws)

    def cell(o: int, h: int) -> Any:
        """The weight of an output; the last cell (and on Z the first) is a geometric tail."""
        norm = (1 + q) / (1 - q)
        if support == "nonnegative":
            norm = mpmath.fsum(q ** abs(z - h) for z in range(h + 1)) + q / (1 - q)
        if o == n_draws or (o == 0 and support == "integers"):
            return q ** abs(o - h) / (1 - q) / norm
        return q ** abs(o - h) / norm

    deepest = 0.0
    grid = np.reshape(law.log_values, (n_draws + 1, n_draws + 1))
    for o in ((0, 0), (n_draws, n_draws), (0, n_draws), (n_draws, 0), (17, 23), (1, n_draws - 1)):
        mass = mpmath.fsum(
            mpmath.mpf(math.comb(25, h) * math.comb(35, n_draws - h))
            / n_ways
            * cell(o[0], h)
            * cell(o[1], n_draws - h)
            for h in range(n_draws + 1)
            if h <= 25 and n_draws - h <= 35
        )
        truth = mpmath.log(mass)
        assert abs(mpmath.mpf(float(grid[o])) - truth) <= law.error
        deepest = min(deepest, float(truth))
    assert law.error < 1e-10
    assert noise != "3000" or deepest < -10_000


@pytest.mark.parametrize("support", SUPPORTS)
def test_laws_sum_to_one(support: NoiseSupport) -> None:
    for sampling in SAMPLINGS:
        mechanism = NoisySamplingHistogram(
            30,
            n_draws=9,
            noise_epsilon="0.7",
            noise_support=support,
            sampling=sampling,  # type: ignore[arg-type]
        )
        law = mechanism.output_law((4, 16, 10))
        assert law.log_values.shape == (1000,)
        total = math.fsum(np.exp(law.log_values).tolist())
        assert total == pytest.approx(1.0, abs=2 * law.error)


# ---- the guarantee known before the data ----------------------------------------------


def all_counts(n: int, m: int) -> Iterator[tuple[int, ...]]:
    return (c for c in product(range(n + 1), repeat=m) if sum(c) == n)


def kernel(n_draws: int, rate: float, support: str, *, margin: int = 3) -> np.ndarray:
    """Weights (h, o), with outputs to a margin beyond both ends, normalised by literal sums."""
    lowest = 0 if support == "nonnegative" else -margin
    h = np.arange(n_draws + 1)[:, None]
    shown = np.exp(-rate * np.abs(np.arange(lowest, n_draws + 1 + margin) - h))
    far = math.ceil(45 / rate)
    every = np.arange(0 if support == "nonnegative" else -far, n_draws + far)
    weights: np.ndarray = shown / np.exp(-rate * np.abs(every - h)).sum(axis=1)[:, None]
    return weights


def float_law(
    counts: tuple[int, ...], mechanism: NoisySamplingHistogram, table: np.ndarray
) -> np.ndarray:
    """The law over all outputs that the table of weights shows."""
    total = np.zeros((table.shape[1],) * len(counts))
    for sampled, chance in sample_law(counts, mechanism.n_draws, mechanism.sampling).items():
        part = np.array(float(chance))
        for h in sampled:
            part = np.multiply.outer(part, table[h])
        total += part
    return total


def literal_pure_epsilon(n: int, m: int, mechanism: NoisySamplingHistogram) -> float:
    """The largest log-ratio over all databases, neighbours and outputs."""
    table = kernel(mechanism.n_draws, float(mechanism.noise_rate), mechanism.noise_support)

    @cache
    def law(counts: tuple[int, ...]) -> np.ndarray:
        return float_law(counts, mechanism, table)

    return max(
        float(np.log(law(here) / law(there)).max())
        for here in all_counts(n, m)
        for there in neighbours(here)
    )


PURE = [
    (n, n_draws, m, noise, sampling)
    for n, m in ((4, 2), (5, 2), (4, 3))
    for n_draws in range(1, n + 1)
    for noise in ("0.5", "6")
    for sampling in SAMPLINGS
]


def noisy(n: int, n_draws: int, noise: str, sampling: Any, support: Any) -> NoisySamplingHistogram:
    return NoisySamplingHistogram(
        n, n_draws=n_draws, noise_epsilon=noise, sampling=sampling, noise_support=support
    )


@pytest.mark.parametrize(("n", "n_draws", "m", "noise", "sampling"), PURE)
def test_pure_epsilon(n: int, n_draws: int, m: int, noise: str, sampling: str) -> None:
    """On Z it is exact; on Z_+ proved, exact for one draw, and below the crude bound."""
    whole = noisy(n, n_draws, noise, sampling, "integers")
    stated = whole.pure_epsilon()
    assert literal_pure_epsilon(n, m, whole) == pytest.approx(stated, rel=1e-11)
    if sampling == "without_replacement":
        x = math.expm1(float(noise) / 2)
        assert stated == pytest.approx(math.log1p(n_draws / n * x), rel=1e-12)

    positive = noisy(n, n_draws, noise, sampling, "nonnegative")
    truth, proved = literal_pure_epsilon(n, m, positive), positive.pure_epsilon()
    assert truth <= proved * (1 + 1e-11)
    if n_draws == 1:
        assert truth == pytest.approx(proved, rel=1e-11)
    else:
        assert proved > stated
    growth = math.expm1(float(noise))
    if sampling == "without_replacement":
        assert proved <= math.log1p(n_draws / n * growth) * (1 + 1e-12)
    else:
        assert proved <= n_draws * math.log1p(growth / n) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("support", "counts", "worst"), [("integers", (0, 1, 3), 1.6), ("nonnegative", (0, 2, 3), 1.59)]
)
def test_two_smallest_counts_fail_with_noise(
    support: NoiseSupport, counts: tuple[int, ...], worst: float
) -> None:
    """The worst neighbour moves a record between the larger categories (proofs/two-smallest#9)."""
    n_draws = 2 if support == "integers" else 3
    mechanism = noisy(sum(counts), n_draws, "2", "without_replacement", support)
    table = kernel(n_draws, 0.5, support, margin=60)
    here, growth = float_law(counts, mechanism, table), math.exp(0.5)
    sticks = {}
    for a, b in ((1, 0), (1, 2), (2, 0), (2, 1)):
        moved = list(counts)
        moved[a] -= 1
        moved[b] += 1
        there = float_law(tuple(moved), mechanism, table)
        gains = (here - growth * there, there - growth * here)
        sticks[a, b] = max(float(gain[gain > 0].sum()) for gain in gains)
    # The two smallest: the smallest positive count and the empty category.
    assert sticks[1, 2] > worst * sticks[1, 0]
    assert max(sticks.values()) == sticks[1, 2]
    assert mechanism.delta(counts, epsilon="0.5") == pytest.approx(sticks[1, 2], rel=1e-9)


@pytest.mark.parametrize("support", SUPPORTS)
@pytest.mark.parametrize("n_draws", [1, 2, 3, 5])
@pytest.mark.parametrize("noise", ["0.5", "3", "12"])
def test_the_step_of_one_record(support: NoiseSupport, n_draws: int, noise: str) -> None:
    """e^x is the largest ratio when one sampled record changes category: eta = 1."""
    table = np.log(kernel(n_draws, float(noise) / 4, support))
    largest = 0.0
    for others in product(range(n_draws), repeat=2):
        if sum(others) <= n_draws - 1:
            a, b = others
            steps = table[a + 1] - table[a], table[b] - table[b + 1]
            largest = max(largest, float(steps[0].max() + steps[1].max()))
    stated = noisy(max(2, n_draws), n_draws, noise, "without_replacement", support)
    # ln(1 + eta (e^x - 1)) with eta = n_draws / n_records, solved for x.
    share = n_draws / stated.n_records
    x = math.log1p(math.expm1(stated.pure_epsilon()) / share)
    assert x == pytest.approx(largest, rel=1e-11)
    assert x <= float(noise) * (1 + 1e-12)


@pytest.mark.parametrize(("n", "m", "exact"), [(4, 3, 1.7529), (6, 3, 1.4305)])
def test_table_1_with_noise_is_false(n: int, m: int, exact: float) -> None:
    """Table 1 of paper 1: (eta noise_epsilon, 0)-DP fails at T = 1, noise_epsilon = 6."""
    for support in SUPPORTS:
        mechanism = noisy(n, 1, "6", "without_replacement", support)
        assert round(literal_pure_epsilon(n, m, mechanism), 4) == exact
        assert mechanism.pure_epsilon() == pytest.approx(exact, abs=5e-5)
        assert mechanism.pure_epsilon() > 6 / n


def test_nonnegative_noise_costs_more() -> None:
    """Beside the integers (proofs/noisy-histograms#3): n = 5, T = 4, noise_epsilon = 0.5."""
    mechanism = noisy(5, 4, "0.5", "without_replacement", "nonnegative")
    assert round(literal_pure_epsilon(5, 2, mechanism), 4) == 0.2281
    assert 0.2281 < mechanism.pure_epsilon() < 0.2420
    assert round(noisy(5, 4, "0.5", "without_replacement", "integers").pure_epsilon(), 4) == 0.2048


def test_pure_epsilon_rounds_up_at_the_ends() -> None:
    tiny = noisy(10, 3, "1e-5000", "without_replacement", "nonnegative")
    assert tiny.pure_epsilon() == 5e-324
    large = noisy(10, 3, "1e9", "with_replacement", "nonnegative")
    assert large.pure_epsilon() == pytest.approx(3 * (5e8 - math.log(10)), rel=1e-12)
    assert Fraction(noisy(4, 4, "2", "without_replacement", "integers").pure_epsilon()) >= 1


def test_guarantee_is_the_better_one() -> None:
    """Pure DP where it implies the sampling guarantee, else that."""
    everyone = noisy(10, 10, "1", "without_replacement", "integers")
    assert everyone.guarantee == PureDP(Fraction(everyone.pure_epsilon()))
    rare = noisy(1000, 1, "40", "without_replacement", "integers")
    assert rare.guarantee == ApproxDP(0, delta=Fraction(1, 1000))
    for mechanism in (everyone, rare):
        promised = mechanism.guarantee.profile()
        counts = (mechanism.n_records - 1, 1)
        for epsilon in ("0", "0.2", "1"):
            assert mechanism.delta(counts, epsilon=epsilon) <= promised.delta(epsilon) * (1 + 1e-9)


@pytest.mark.parametrize("support", SUPPORTS)
@pytest.mark.parametrize("noise", ["1", "6", "60"])
def test_worst_case_delta(support: NoiseSupport, noise: str) -> None:
    """Never below delta at any database; 0 where pure DP says so, T/n where noise is small."""
    mechanism = noisy(6, 4, noise, "without_replacement", support)
    profiles = [mechanism.at(counts) for m in (2, 3) for counts in all_counts(6, m)]
    for epsilon in ("0", "0.1", "0.5", "2"):
        worst = mechanism.worst_case_delta(epsilon=epsilon)
        assert max(profile.delta_bounds(epsilon)[0] for profile in profiles) <= worst
        assert worst <= 4 / 6 * (1 + 1e-15)
        assert noise != "60" or worst >= 4 / 6
    assert mechanism.worst_case_delta(epsilon=Fraction(mechanism.pure_epsilon())) == 0
    assert mechanism.worst_case_delta(epsilon=Fraction(mechanism.pure_epsilon()) / 2) > 0


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_profile_ends_at_pure_epsilon(sampling: str) -> None:
    """On Z a database with one record of its kind attains the bound."""
    mechanism = noisy(6, 2, "3", sampling, "integers")
    assert mechanism.at((0, 6)).epsilon(0) == pytest.approx(mechanism.pure_epsilon(), rel=1e-9)


def test_noise_only_lowers_delta() -> None:
    plain = SamplingHistogram(12, n_draws=7)
    for counts in ((5, 7), (2, 10), (3, 4, 5)):
        for epsilon in ("0", "0.4", "1.5"):
            cap = plain.delta(counts, epsilon=epsilon)
            for support in SUPPORTS:
                values = [
                    noisy(12, 7, noise, "without_replacement", support).delta(
                        counts, epsilon=epsilon
                    )
                    for noise in ("1", "4", "400")
                ]
                assert values[0] <= values[1] * (1 + 1e-9)
                assert values[2] == pytest.approx(cap, rel=1e-9)
                assert max(values) <= cap * (1 + 1e-9)


# ---- running it ------------------------------------------------------------------------


@pytest.mark.parametrize("support", SUPPORTS)
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_releases_follow_the_law(support: NoiseSupport, sampling: str) -> None:
    counts = (2, 4)
    mechanism = noisy(6, 3, "3", sampling, support)
    rng = SeededRandom(77)
    tally = Counter(
        tuple(min(3, max(0, o)) for o in mechanism.release(counts=counts, rng=rng).value)
        for _ in range(2500)
    )
    cells = list(product(range(4), repeat=2))
    observed = [tally[cell] for cell in cells]
    law = np.exp(mechanism.output_law(counts).log_values)
    assert frequency_test(observed, law / law.sum()) > 1e-8
    other: NoiseSupport = "integers" if support == "nonnegative" else "nonnegative"
    wrong = np.exp(noisy(6, 3, "3", sampling, other).output_law(counts).log_values)
    assert frequency_test(observed, wrong / wrong.sum()) < 1e-8


def test_release_runs_at_any_size() -> None:
    """What is too large to measure can still be published."""
    mechanism = NoisySamplingHistogram(10**8, sampling_rate="0.998", noise_epsilon="0.1")
    counts = (4 * 10**7, 6 * 10**7, 0)
    release = mechanism.release(counts=counts, rng=SystemRandom())
    assert release.is_private
    assert isinstance(release.guarantee, PureDP)
    assert all(value >= 0 for value in release.value)
    assert "40000000" not in str(release)
    with pytest.raises(OutOfReach, match="pure_epsilon"):
        mechanism.at(counts)
    with pytest.raises(OutOfReach, match="Draw fewer"):
        mechanism.output_law(counts)


def test_no_warning_when_everything_is_drawn() -> None:
    """The exact histogram is never published, so nothing is wrong with T = n."""
    assert noisy(4, 4, "1", "without_replacement", "integers").delta((2, 2), epsilon=1) == 0


@pytest.mark.parametrize("value", [0, -1, "nan", float("nan"), float("inf"), True, "ln(3)", 2e9])
def test_bad_noise(value: Any) -> None:
    with pytest.raises(InvalidParameter, match="noise_epsilon"):
        NoisySamplingHistogram(10, n_draws=3, noise_epsilon=value)


def test_bad_parameters() -> None:
    with pytest.raises(InvalidParameter, match="noise_support='reals'"):
        NoisySamplingHistogram(
            10,
            n_draws=3,
            noise_epsilon=1,
            noise_support="reals",  # type: ignore[arg-type]
        )
    with pytest.raises(InvalidParameter, match="either n_draws or sampling_rate"):
        NoisySamplingHistogram(10, noise_epsilon=1)
    with pytest.raises(InvalidParameter, match="n_draws <= n_records"):
        NoisySamplingHistogram(10, n_draws=11, noise_epsilon=1)
