"""Every sampling of a training run by exact enumeration on tiny data, both neighbours.

Base mechanisms are tables of rational laws, one for each batch, so that the bounds are asked for
what an adversary may build; where the library knows Gaussian steps only, sums of Gaussian shifts.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.claims.curves.profile import FunctionProfile
from smoothdp.claims.neighbours import Neighbours
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bounds import LOG_ZERO, LogBounds
from smoothdp.exact.parameters.numbers import LogRatio, Real
from smoothdp.training_runs.allocation import RandomAllocation
from smoothdp.training_runs.truncated_poisson import TruncatedPoisson
from smoothdp.training_runs.with_replacement import ReplacementBatch

Law: TypeAlias = tuple[Fraction, ...]
Batch: TypeAlias = tuple[str, ...]
GROWTHS = [Fraction(k, 20) for k in (20, 21, 23, 27, 34, 50, 90, 200)]


def stick(p: Law, q: Law, growth: Fraction) -> Fraction:
    return sum((max(Fraction(0), a - growth * b) for a, b in zip(p, q, strict=True)), Fraction(0))


def epsilon_of(growth: Fraction) -> Real:
    return LogRatio(growth) if growth != 1 else Fraction(0)


def upper(profile: sd.claims.PrivacyProfile, growth: Fraction) -> float:
    return profile.log_delta_bounds(epsilon_of(growth)).upper


def holds(truth: Fraction, profile: sd.claims.PrivacyProfile, growth: Fraction) -> None:
    assert truth == 0 or log_bounds(truth).lower <= upper(profile, growth)


class Table:
    """A random law for each batch, and its exact profiles."""

    def __init__(self, seed: int, outputs: int = 3) -> None:
        self.random, self.outputs = random.Random(seed), outputs
        self.laws: dict[Batch, Law] = {}

    def __call__(self, batch: Iterable[str]) -> Law:
        key = tuple(sorted(batch))
        if key not in self.laws:
            weights = [self.random.choice((0, 1, 1, 2, 5, 9)) for _ in range(self.outputs)]
            weights[self.random.randrange(self.outputs)] += 1
            self.laws[key] = tuple(Fraction(w, sum(weights)) for w in weights)
        return self.laws[key]

    def profile(self, pairs: list[tuple[Batch, Batch]], about: str) -> FunctionProfile:
        """The larger of both directions over all pairs of batches, exactly where E is rational."""

        def bounds(epsilon: Real) -> LogBounds:
            low, high = exact_growths(epsilon)
            both = [pair for a, b in pairs for pair in ((a, b), (b, a))]
            top = max(stick(self(a), self(b), low) for a, b in both)
            down = max(stick(self(a), self(b), high) for a, b in both)
            ends = [log_bounds(value) if value else LOG_ZERO for value in (down, top)]
            return LogBounds(ends[0].lower, ends[1].upper)

        return FunctionProfile(bounds, Neighbours(about))


def exact_growths(epsilon: Real) -> tuple[Fraction, Fraction]:
    if isinstance(epsilon, LogRatio):
        return epsilon.ratio, epsilon.ratio
    if epsilon > 300:
        return Fraction(10**100), Fraction(10**100)
    value = Fraction(math.exp(float(epsilon)))
    return value * (1 - Fraction(1, 10**14)), value * (1 + Fraction(1, 10**14))


def mixed(parts: Iterable[tuple[Fraction, Law]]) -> Law:
    parts = list(parts)
    return tuple(
        sum((w * law[i] for w, law in parts), Fraction(0)) for i in range(len(parts[0][1]))
    )


def poisson(table: Table, data: Batch, rate: Fraction) -> Law:
    def chance(kept: tuple[int, ...]) -> Fraction:
        return rate ** sum(kept) * (1 - rate) ** (len(kept) - sum(kept))

    coins = list(itertools.product((0, 1), repeat=len(data)))
    return mixed(
        (chance(kept), table(r for r, k in zip(data, kept, strict=True) if k)) for kept in coins
    )


def batches(records: str) -> list[Batch]:
    return [b for k in range(len(records) + 1) for b in itertools.combinations(records, k)]


@pytest.mark.parametrize("seed", range(6))
def test_poisson_add_remove(seed: int) -> None:
    table, rate = Table(seed), Fraction(1 + seed, 9)
    pairs = [((*b, "r"), b) for b in batches("abc")]
    step = sd.Subsampled(table.profile(pairs, "add_remove"), rate)
    worst = 0.0
    for others in ("", "a", "abc"):
        with_it, without = (poisson(table, (*others, *more), rate) for more in ("r", ""))
        for growth in GROWTHS:
            removed, added = stick(with_it, without, growth), stick(without, with_it, growth)
            holds(removed, step.directed("remove"), growth)
            holds(added, step.directed("add"), growth)
            holds(max(removed, added), step.profile(), growth)
            worst = max(worst, float(removed) / math.exp(upper(step.directed("remove"), growth)))
    # The bound is not far from what some data reach.
    assert worst > 0.1


def test_poisson_steps_compose_aligned() -> None:
    """Two steps on one record: the truth is reached, and not exceeded, in each direction."""
    rate = Fraction(1, 3)
    p = (Fraction(3, 5), Fraction(2, 5), Fraction(0))
    second = (Fraction(1, 5), Fraction(1, 5), Fraction(3, 5))
    with np.errstate(divide="ignore"):
        log = [np.log(np.array([float(v) for v in law])) for law in (p, second)]
    step = sd.Subsampled(sd.Pair(log[0], log[1], first="with_record"), rate)
    two = sd.compose([(step, 2)])
    mixture = mixed([(rate, p), (1 - rate, second)])
    joint = [tuple(a * b for a in law for b in law) for law in (mixture, second)]
    for growth in GROWTHS[:-1]:
        truth = max(stick(joint[0], joint[1], growth), stick(joint[1], joint[0], growth))
        low, high = two.log_delta_bounds(epsilon_of(growth))
        assert truth == 0 or low - 1e-9 <= math.log(truth) <= high < math.log(truth) + 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_poisson_replace_one(seed: int) -> None:
    table, rate = Table(seed + 50), Fraction(1 + seed, 9)
    one = [((*b, r), b) for b in batches("abc") for r in "rs"]
    two = [((*b, "r"), (*b, "s")) for b in batches("abc")]
    about = table.profile(one, "add_remove")
    step = sd.Subsampled(table.profile(two, "replace_one"), rate, add_remove=about)
    for others in ("", "ab", "abc"):
        first, second = (poisson(table, (*others, r), rate) for r in "rs")
        for growth in GROWTHS:
            holds(
                max(stick(first, second, growth), stick(second, first, growth)),
                step.profile(),
                growth,
            )


def test_a_claim_about_replacing_says_nothing_of_poisson_samples() -> None:
    """A mechanism that publishes the size of its batch is 0-DP in replaced records."""
    with pytest.raises(sd.errors.IncompatibleClaims, match="add_remove"):
        sd.Subsampled(sd.PureDP(1), "0.1")
    # One bit of randomised response of the presence: add_remove is pure too.
    step = sd.Subsampled(sd.PureDP(1), "0.1", add_remove=sd.PureDP(50, neighbours="add_remove"))
    only = sd.Subsampled(sd.PureDP(1), "0.1", sampling="without_replacement")
    assert step.profile().delta("0.5") > 0.05 > only.profile().delta("0.5") == 0


def test_one_direction_of_a_replacing_claim_is_not_enough() -> None:
    """Three symbols, two records, batches of one: .3575 where the two ways alone make .2225."""
    table: dict[str, Law] = {
        name: tuple(Fraction(8 if i == j else 1, 10) for j in range(3))
        for i, name in enumerate("ars")
    }
    half = Fraction(1, 2)
    first, second = (mixed([(half, table["a"]), (half, table[r])]) for r in "rs")
    twice = [tuple(a * b for a in law for b in law) for law in (first, second)]
    crossed = (
        tuple(a * b for a in first for b in second),
        tuple(a * b for a in second for b in first),
    )
    growth = Fraction(5, 2)
    truth = max(stick(twice[0], twice[1], growth), stick(crossed[0], crossed[1], growth))
    base = sd.Pair(np.log([0.8, 0.1, 0.1]), np.log([0.1, 0.8, 0.1]))
    step = sd.Subsampled(base, half, sampling="without_replacement")
    for orientation in (None, "common"):
        two = sd.compose([(step, 2)], orientation=orientation)
        assert float(truth) <= two.delta("ln(5/2)")
        assert abs(two.delta("ln(5/2)") - 0.3575) < 2e-3


@pytest.mark.parametrize("seed", range(6))
def test_fixed_without_replacement(seed: int) -> None:
    table, others = Table(seed + 100), "abc"
    for size in (1, 2, 3):
        rate = Fraction(size, 4)
        pairs = [
            ((*rest, x), (*rest, y))
            for rest in itertools.combinations("abcrs", size - 1)
            for x, y in itertools.permutations(set("abcrs") - set(rest), 2)
        ]
        step = sd.Subsampled(
            table.profile(pairs, "replace_one"), rate, sampling="without_replacement"
        )
        first, second = (
            mixed(
                (Fraction(1, math.comb(4, size)), table(b))
                for b in itertools.combinations((*others, r), size)
            )
            for r in "rs"
        )
        for growth in GROWTHS:
            truth = max(stick(first, second, growth), stick(second, first, growth))
            holds(truth, step.profile(), growth)


# ---- Gaussian sums: records are +-1 or 0, and a batch is shifted by their sum


def gaussian_stick(
    first: dict[int, float], second: dict[int, float], growth: float, sigma: float
) -> float:
    """The hockey stick of two mixtures of N(shift, sigma^2), by a fine sum."""
    y = np.arange(-14 - 8 * sigma, 14 + 8 * sigma, 1e-3)

    def density(mixture: dict[int, float]) -> np.ndarray:
        total = np.zeros_like(y)
        for shift, weight in mixture.items():
            total += weight * np.exp(-((y - shift) ** 2) / (2 * sigma * sigma))
        return total / (sigma * math.sqrt(2 * math.pi))

    return float(np.maximum(density(first) - growth * density(second), 0).sum() * 1e-3)


def gathered(parts: Iterable[tuple[float, int]]) -> dict[int, float]:
    found: dict[int, float] = {}
    for weight, shift in parts:
        found[shift] = found.get(shift, 0.0) + weight
    return found


def truncated(values: tuple[int, ...], rate: float, most: int) -> dict[int, float]:
    parts = []
    for kept in itertools.product((0, 1), repeat=len(values)):
        weight = rate ** sum(kept) * (1 - rate) ** (len(kept) - sum(kept))
        drawn = [v for v, k in zip(values, kept, strict=True) if k]
        size = min(most, len(drawn))
        used = list(itertools.combinations(drawn, size))
        parts += [(weight / len(used), sum(one)) for one in used]
    return gathered(parts)


@pytest.mark.parametrize(("rate", "most", "sigma"), [(0.5, 2, 1.0), (0.3, 1, 2.0), (0.7, 3, 1.5)])
def test_truncated_poisson(rate: float, most: int, sigma: float) -> None:
    step = TruncatedPoisson(rate, max_batch=most, n_records=6, noise_multiplier=sigma)
    ratios = []
    for others in ((), (-1,), (-1, -1), (-1, 1, 0), (-1,) * 4, (-1,) * 5):
        with_it, without = truncated((*others, 1), rate, most), truncated(others, rate, most)
        for growth in (1.0, 1.1, 1.5, 3.0):
            for way, pair in (("remove", (with_it, without)), ("add", (without, with_it))):
                truth = gaussian_stick(*pair, growth, sigma)
                bound = step.directed(way).delta(f"ln({growth})")  # type: ignore[arg-type]
                assert truth <= bound * (1 + 1e-6) + 1e-12
                ratios.append(truth / bound if bound > 1e-9 else 0.0)
    assert max(ratios) > 0.7


def test_truncation_needs_the_worst_number_of_others() -> None:
    """One N says too little: nobody else is drawn, and the claim for few others is exceeded."""
    most = TruncatedPoisson("1/2", max_batch=1, n_records=6, noise_multiplier=1)
    few = TruncatedPoisson("1/2", max_batch=1, n_records=1, noise_multiplier=1)
    truth = gaussian_stick(
        truncated((-1, -1, 1), 0.5, 1), truncated((-1, -1), 0.5, 1), math.exp(1.5), 1.0
    )
    assert few.directed("remove").delta("1.5") < truth < most.directed("remove").delta("1.5")


@pytest.mark.parametrize(
    ("n", "batch", "sigma"), [(2, 2, 1.0), (3, 2, 2.0), (3, 3, 1.5), (1, 2, 2.0)]
)
def test_fixed_with_replacement(n: int, batch: int, sigma: float) -> None:
    # Replacing moves one copy by 2.
    step = ReplacementBatch(n, batch=batch, noise_multiplier=Fraction(sigma) / 2)
    ratios = []
    for others in itertools.product((-1, 1), repeat=n - 1):
        first, second = (
            gathered(
                (n**-batch, sum(drawn)) for drawn in itertools.product((*others, r), repeat=batch)
            )
            for r in (-1, 1)
        )
        for growth in (1.0, 1.2, 2.0, 5.0):
            truth = max(
                gaussian_stick(first, second, growth, sigma),
                gaussian_stick(second, first, growth, sigma),
            )
            bound = step.profile().delta(f"ln({growth})" if growth > 1 else 0)
            assert truth <= bound * (1 + 1e-6) + 1e-12
            ratios.append(truth / bound)
    assert max(ratios) > 0.9


def test_allocation_to_one_step_is_the_gaussian_mechanism() -> None:
    epoch = RandomAllocation(1, noise_multiplier=2)
    for epsilon in ("0", "0.5", "1.5"):
        low, high = epoch.profile().delta_bounds(epsilon)
        truth = sd.GaussianDP("1/2").profile().delta(epsilon)
        assert low <= truth <= high <= low * 1.03
        assert epoch.directed("add").delta_bounds(epsilon)[0] <= truth


def test_allocation_falls_in_the_number_of_steps() -> None:
    deltas = [
        RandomAllocation(t, noise_multiplier=2).profile().delta_bounds("0.3") for t in (1, 2, 3, 5)
    ]
    assert all(after[1] < before[0] for before, after in itertools.pairwise(deltas))


@pytest.mark.parametrize("steps", [2, 3])
def test_allocation_by_a_sum_over_a_grid(steps: int) -> None:
    """The mean of T ratios, y by y: all directions between the ends, and these close."""
    noise, width = 2.0, 0.1
    y = np.arange(-8, 8, width)
    weight = np.exp(-y * y / 2) * width / math.sqrt(2 * math.pi)
    ratio, mass = np.zeros(1), np.ones(1)
    for _ in range(steps):
        ratio = np.add.outer(ratio, np.exp(y / noise - 1 / (2 * noise * noise))).ravel()
        mass = np.multiply.outer(mass, weight).ravel()
    ratio /= steps
    epoch = RandomAllocation(steps, noise_multiplier=noise)
    for epsilon in (0.1, 0.3):
        growth = math.exp(epsilon)
        truths = {
            "remove": float(mass @ np.maximum(ratio - growth, 0)),
            "add": float(mass @ np.maximum(1 - growth * ratio, 0)),
        }
        for way, truth in truths.items():
            low, high = epoch.directed(way).delta_bounds(epsilon)  # type: ignore[arg-type]
            assert low * (1 - 1e-4) <= truth <= high * (1 + 1e-4)
            assert high < low * 1.03


# ---- several steps, against the law of the Gaussian step, which another route composes


@pytest.mark.parametrize("count", [1, 5, 100])
def test_a_profile_alone_on_a_sample_encloses_its_composition(count: int) -> None:
    claim = sd.GaussianDP(1, neighbours="add_remove")
    bare = FunctionProfile(lambda epsilon: claim.log_delta_bounds(epsilon), claim.neighbours)
    found = sd.compose([(sd.Subsampled(bare, "0.1"), count)])
    exact = sd.compose([(sd.SubsampledGaussian("0.1", noise_multiplier=1), count)])
    for epsilon in ("0.2", 1, 3):
        low, high = found.delta_bounds(epsilon)
        least, most = exact.delta_bounds(epsilon)
        assert low <= least * (1 + 1e-12)
        assert most <= high * (1 + 1e-12)
        assert high < low * 1.003


def test_a_largest_batch_that_is_never_reached_changes_little() -> None:
    """At most 30 of 31 records: the bound lies above Poisson batches, by the chance of a cut."""
    step = TruncatedPoisson("0.1", max_batch=30, n_records=31, noise_multiplier=1)
    exact = sd.compose([(sd.SubsampledGaussian("0.1", noise_multiplier=1), 5)])
    found = sd.compose([(step, 5)])
    for epsilon in ("0.2", 1, 3):
        low, high = found.delta_bounds(epsilon)
        truth = exact.delta(epsilon)
        assert low <= truth <= high < truth * 1.01


def test_two_steps_of_laplace_noise_by_a_sum_over_outputs() -> None:
    rate, width = 0.1, 4e-3
    x = np.arange(-40, 40, width)
    mass = np.exp(-np.abs(x)) / 2 * width
    ratio = (1 - rate) + rate * np.exp(np.abs(x) - np.abs(x - 1))
    values, places = np.unique(np.round(ratio, 9), return_inverse=True)
    masses = np.bincount(places, mass) / mass.sum()
    both, weights = np.multiply.outer(values, values), np.multiply.outer(masses, masses)
    laplace = sd.LaplaceMechanism(1, neighbours="add_remove")
    two = sd.compose([(sd.Subsampled(laplace, "0.1"), 2)])
    for epsilon in (0.05, 0.15, 0.25):
        truth = float((weights * np.maximum(both - math.exp(epsilon), 0)).sum())
        low, high = two.delta_bounds(epsilon)
        assert low * (1 - 1e-4) <= truth <= high * (1 + 1e-4)
        assert high < low * 1.002


def test_composed_samples_of_two_point_pairs_in_rationals() -> None:
    for odds, lost in ((Fraction(3, 2), Fraction(1, 100)), (Fraction(3), Fraction(0))):
        base = sd.ApproxDP(LogRatio(odds), delta=lost, neighbours="add_remove")
        kept = (1 - lost) / (1 + odds)
        first: Law = (lost, odds * kept, kept, Fraction(0))
        second: Law = first[::-1]
        for rate in (Fraction(1), Fraction(1, 3), Fraction(1, 10**6)):
            mixture = mixed([(rate, first), (1 - rate, second)])
            for count in (1, 2, 3):
                p, q = (
                    tuple(
                        math.prod(chosen, start=Fraction(1))
                        for chosen in itertools.product(law, repeat=count)
                    )
                    for law in (mixture, second)
                )
                steps = sd.compose([(sd.Subsampled(base, rate), count)])
                for growth in (Fraction(1), Fraction(11, 10), Fraction(4)):
                    truth = max(stick(p, q, growth), stick(q, p, growth))
                    low, high = steps.delta_bounds(epsilon_of(growth))
                    assert Fraction(low) <= truth <= Fraction(high)
                    assert high <= float(truth) * (1 + 1e-5)


def test_fixed_batches_reach_what_is_said() -> None:
    """Two steps, all others alike: the joint law of both outputs, by a sum over a plane."""
    run = sd.training(n_records=4, batch=1, steps=2, noise=3, sampling="fixed")
    reached = run.reached()
    assert reached is not None
    y = np.arange(-26, 26, 0.04)

    def density(shift: float) -> np.ndarray:
        return np.exp(-((y - shift) ** 2) / 18) / math.sqrt(18 * math.pi) * 0.04

    with_r, without = 0.75 * density(-1) + 0.25 * density(1), density(-1)
    first, second = np.multiply.outer(with_r, with_r), np.multiply.outer(without, without)
    truth = float(np.maximum(first - 1.2 * second, 0).sum())
    assert reached.delta("ln(1.2)") == pytest.approx(truth, rel=1e-3)
    assert truth < run.profile().delta("ln(1.2)") < 2 * truth


# ---- what is no such mechanism


def test_a_published_size_of_a_poisson_batch_breaks_the_claim() -> None:
    """An empty database against one record: its presence shows with probability q."""
    step = sd.SubsampledGaussian("0.01", noise_multiplier=1)
    truth = 0.01
    assert step.profile().delta(1) < 3e-9 < truth


def test_replacing_moves_a_clipped_sum_by_two() -> None:
    """All others equal to r': the doubled shift is attained, at noise over clipping norm."""
    run = sd.training(n_records=4, batch=1, steps=1, noise=2, sampling="fixed")
    first, second = (gathered((0.25, v) for v in (-1, -1, -1, r)) for r in (1, -1))
    truth = gaussian_stick(first, second, 1.5, 2.0)
    low, high = run.profile().delta_bounds("ln(1.5)")
    assert truth == pytest.approx(high, rel=1e-6) == low
    halved = sd.SubsampledGaussian("1/4", noise_multiplier=2, sampling="without_replacement")
    assert halved.profile().delta("ln(1.5)") < truth / 2


def test_shuffled_batches_are_not_amplified() -> None:
    """One pass, all other records 0, the batches in order: the record's step is known."""
    run = sd.training(n_records=100, batch=10, epochs=1, noise=1, sampling="shuffled")
    poisson_run = sd.training(n_records=100, batch=10, epochs=1, noise=1, sampling="poisson")
    truth = sd.GaussianDP(1, neighbours="zero_out").profile().delta(1)
    assert poisson_run.profile().delta(1) < truth <= run.profile().delta(1)


@pytest.mark.parametrize(("noise", "steps"), [("50", 30), ("100000", 4)])
def test_allocation_under_much_noise_is_nearly_gaussian(noise: str, steps: int) -> None:
    """The mean of T ratios is nearly lognormal then."""
    epoch = RandomAllocation(steps, noise_multiplier=noise)
    m = 1 / float(noise)
    variance = math.expm1(m * m) / steps
    # E |R - 1| / 2 of a lognormal law with this variance: a float, far coarser than the bracket.
    truth = math.erf(math.sqrt(math.log1p(variance)) / math.sqrt(8))
    low, high = epoch.directed("remove").delta_bounds(0)
    assert low * (1 - 1e-3) <= truth <= high * (1 + 1e-3)
    assert high < low * 1.02
