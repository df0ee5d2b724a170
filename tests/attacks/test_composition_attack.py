"""Attacks on `compose`: every choice of directions by literal products at 60 digits.

The last part has those that once succeeded.
"""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.composition.parallel import compose_parallel
from tests.attacks.composition_laws import (
    UNIT,
    Law,
    both_directions,
    delta,
    exact,
    gaussian_delta,
    mp,
    power,
    product,
    random_pair,
)

Sampling = Literal["poisson", "without_replacement"]
FIRSTS: tuple[Literal["with_record", "without_record"] | None, ...] = (
    None,
    "with_record",
    "without_record",
)


def every_direction(items: list[tuple[int, Law, Law, bool]]) -> list[Law]:
    """Return the product law for every choice of directions that the items leave open."""
    common = [UNIT, UNIT]
    free = [UNIT]
    for count, forward, backward, is_oriented in items:
        if is_oriented:
            common = [
                product(common[0], power(forward, count)),
                product(common[1], power(backward, count)),
            ]
            continue
        mixed = [product(power(forward, j), power(backward, count - j)) for j in range(count + 1)]
        free = [product(one, other) for one in free for other in mixed]
    return [product(one, other) for one in free for other in common]


@pytest.mark.parametrize("seed", range(16))
def test_no_choice_of_directions_exceeds_the_composition(seed: int) -> None:
    rng = random.Random(seed)
    relation = rng.choice(["replace_one", "add_remove"])
    orientation: Literal["common"] | None = rng.choice([None, "common"])
    items: list[Any] = []
    laws: list[tuple[int, Law, Law, bool]] = []
    for _ in range(rng.choice([1, 2])):
        log_p, log_q = random_pair(rng)
        forward, backward = both_directions(log_p, log_q)
        count = rng.choice([1, 2, 3])
        if relation == "replace_one":
            items.append((sd.Pair(log_p, log_q), count))
            laws.append((count, forward, backward, orientation == "common"))
            continue
        first = rng.choice(FIRSTS)
        pair = sd.Pair(log_p, log_q, first=first)
        items.append((pair if first else pair.profile(neighbours="add_remove"), count))
        turned = (backward, forward) if first == "without_record" else (forward, backward)
        laws.append((count, *turned, first is not None))
    has_gaussian = rng.random() < 0.4
    if has_gaussian:
        items.append((sd.GaussianDP("0.5", neighbours=relation), 4))
    rest = (lambda e: gaussian_delta(mp.mpf(1), e)) if has_gaussian else None
    found = sd.compose(items, orientation=orientation)
    choices = every_direction(laws)
    ties = [loss for loss, _ in choices[0].atoms.values() if loss >= 0]
    epsilons = [Fraction(text) for text in ("0", "0.3", "2.5", "37", "3000.5")]
    epsilons += [Fraction(float(loss)) for loss in rng.sample(ties, min(2, len(ties)))]
    for epsilon in epsilons:
        truth = max(delta(law, exact(epsilon), rest=rest) for law in choices)
        lower, upper = found.delta_bounds(epsilon)
        if truth > mp.mpf(10) ** -320 and truth < 1 - 1e-13:
            assert upper >= truth * (1 - mp.mpf(10) ** -14), (items, epsilon)
            assert found.delta(epsilon) >= truth * (1 - mp.mpf(10) ** -14)
        assert lower <= upper


def test_masses_below_floats_are_kept_in_the_logarithm() -> None:
    pair = sd.Pair([0.0, -1e5], [0.0, -math.inf])
    bounds = sd.compose([(pair, 7)]).log_delta_bounds(Fraction(50_000))
    truth = -1e5 + math.log(7)
    assert bounds.lower <= truth + 1e-9
    assert truth - 1e-9 <= bounds.upper <= truth + 1e-6


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(s, marks=pytest.mark.slow) for s in range(3, 8))]
)
def test_nothing_lies_below_a_part(seed: int) -> None:
    rng = random.Random(100 + seed)
    relation = rng.choice(["replace_one", "add_remove"])
    orientation: Literal["common"] | None = rng.choice([None, "common"])

    def item() -> Any:
        log_p, log_q = random_pair(rng)
        sampling: Sampling = "poisson" if relation == "add_remove" else "without_replacement"
        first = rng.choice(FIRSTS) if relation == "add_remove" else None
        pair = sd.Pair(log_p, log_q, first=first)
        leaf = rng.choice(
            [
                pair if first or relation == "replace_one" else pair.profile(neighbours=relation),
                sd.ApproxDP("0.3", delta="1e-3", neighbours=relation),
                sd.GaussianDP("0.5", neighbours=relation),
                sd.SubsampledGaussian("0.3", noise_multiplier=1, sampling=sampling),
            ]
        )
        inner: Literal["common"] | None = rng.choice([None, "common"])
        return sd.compose([(leaf, rng.choice([1, 3]))], orientation=inner)

    shared = item()
    items = [shared, item(), shared]
    whole = sd.compose(items, orientation=orientation)
    part = sd.compose(items[:2], orientation=orientation)
    parallel = compose_parallel(items, split="by_position")
    for epsilon in ("0", "0.7", "3"):
        upper = whole.delta_bounds(Fraction(epsilon))[1] * (1 + 1e-11)
        assert all(one.delta_bounds(Fraction(epsilon))[0] <= upper for one in [*items, part])
        largest = max(one.delta_bounds(Fraction(epsilon))[0] for one in items)
        assert parallel.delta_bounds(Fraction(epsilon))[1] * (1 + 1e-11) >= largest


def test_two_subsampled_steps_in_every_direction_by_a_plane_of_outputs() -> None:
    grid = np.linspace(-11, 12, 1151)[:-1] + 0.01
    step, rate = 0.02, 0.3

    def law(*parts: tuple[float, float]) -> np.ndarray[Any, np.dtype[np.float64]]:
        density = sum(w * np.exp(-((grid - m) ** 2) / 2) for w, m in parts)
        return np.asarray(density) * step / math.sqrt(2 * math.pi)

    with_it, without_it = law((1 - rate, 0), (rate, 1)), law((1, 0))
    up, down = law((1 - rate, 0), (rate, 0.5)), law((1 - rate, 0), (rate, -0.5))
    pairs = [(with_it, without_it), (without_it, with_it), (up, down), (down, up)]
    cases: list[tuple[Sampling, Any]] = [
        ("poisson", [(one, one) for one in pairs[:2]]),
        ("without_replacement", list(itertools.product(pairs, pairs))),
    ]
    orientations: list[Literal["common"] | None] = [None, "common"]
    for sampling, choices in cases:
        item = sd.SubsampledGaussian("0.3", noise_multiplier=1, sampling=sampling)
        for orientation in orientations:
            found = sd.compose([(item, 2)], orientation=orientation)
            for epsilon in (0.2, 1.5):
                truth = max(
                    np.maximum(0, np.outer(p, r) - math.exp(epsilon) * np.outer(q, s)).sum()
                    for (p, q), (r, s) in choices
                )
                assert found.delta(epsilon) >= truth - 2e-5


def test_brackets_of_finite_pairs_are_narrow() -> None:
    rng = random.Random(5)
    for size, count in ((3, 20), (20, 10), (50, 5)):
        laws = [[rng.random() ** 4 + 1e-12 for _ in range(size)] for _ in range(2)]
        log_p, log_q = ([math.log(x / sum(law)) for x in law] for law in laws)
        found = sd.compose([(sd.Pair(log_p, log_q), count)])
        for epsilon in (0, 1, 10, 100):
            lower, upper = found.delta_bounds(epsilon)
            assert upper - lower < 1e-3
        assert found.epsilon("1e-6") < math.inf


# ---- attacks that once succeeded -----------------------------------------------------------------


def smoothed_release_of_an_end(n_records: int) -> tuple[Fraction, Fraction]:
    """Return E delta_0(x) of one release, and of two together, by enumeration.

    All x in {0, 1}^n, fair coins. One mechanism publishes x if its sum is 0, and nothing
    otherwise; the other publishes it if its sum is n. delta_e(x) is 1 at every e exactly where
    some neighbour is told apart from x: where the sum is at most 1, or at least n - 1.
    """
    total = 2**n_records
    low = sum(1 for x in itertools.product((0, 1), repeat=n_records) if sum(x) <= 1)
    both = sum(
        1
        for x in itertools.product((0, 1), repeat=n_records)
        if sum(x) <= 1 or sum(x) >= n_records - 1
    )
    return Fraction(low, total), Fraction(both, total)


def test_smoothed_claims_are_composed_above_the_truth() -> None:
    one, both = smoothed_release_of_an_end(5)
    claim = sd.SmoothedDP(0, delta=one, model=sd.DataModel([("0.5", "0.5")]))
    assert sd.compose([(claim, 2)]).delta(0) >= both


def test_profiles_of_smoothed_claims_are_composed_above_the_truth() -> None:
    one, both = smoothed_release_of_an_end(5)  # 3/16 and 3/8; it says .3398
    claim = sd.SmoothedDP(0, delta=one, model=sd.DataModel([("0.5", "0.5")]))
    try:
        found = sd.compose([(claim.profile(), 2)])
    except sd.errors.IncompatibleClaims:
        return
    assert found.delta(0) >= both


def test_profiles_of_claims_over_different_models_are_refused() -> None:
    first = sd.SmoothedDP(1, delta="0.1", model=sd.DataModel([("0.6", "0.4")]))
    second = sd.SmoothedDP(1, delta="0.1", model=sd.DataModel([("0.5", "0.5")]))
    with pytest.raises(sd.errors.IncompatibleClaims):
        sd.compose([first, second])
    with pytest.raises(sd.errors.IncompatibleClaims):
        sd.compose([first.profile(), second.profile()])


def test_counts_given_as_a_dict_are_not_dropped() -> None:
    with pytest.raises(sd.errors.InvalidParameter):
        sd.compose({sd.PureDP(1): 20})


@pytest.mark.parametrize("other", [None, [], sd.PureDP(1)])
def test_a_pair_refuses_what_is_no_pair(other: Any) -> None:
    pair = sd.Pair(np.log([0.75, 0.25]), np.log([0.25, 0.75]))
    with pytest.raises(sd.errors.SmoothdpError):
        pair.compose(other)
