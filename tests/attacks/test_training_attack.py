"""Attacks on training runs, subsampled steps, calibration and filters, from their claims alone.

Truths are enumerations in rationals, Gaussian mixtures on fine grids, and the best adaptive
adversary by dynamic programming; none of it shares code with the library.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest

import smoothdp as sd

FACTORS = (1.0, 1.1, 1.5, 2.0, 3.0, 6.0, 20.0)
Mixture = Mapping[tuple[float, ...], float]
Law = dict[Any, Fraction]


# ---- Gaussian mixtures on grids


def sticks(p: Mixture, q: Mixture, noise: float) -> list[tuple[float, float]]:
    """Return both directions of the hockey stick; error of the order of (step / noise)^2."""
    steps = len(next(iter(p)))
    size = {1: 4001, 2: 701}[steps]
    places = [place for shift in (*p, *q) for place in shift]
    x = np.linspace(min(places) - 8 * noise, max(places) + 8 * noise, size)
    bells = {
        place: np.exp(-0.5 * ((x - place) / noise) ** 2) / (noise * math.sqrt(2 * math.pi))
        for place in set(places)
    }

    def density(law: Mixture) -> npt.NDArray[np.float64]:
        total = np.zeros((size,) * steps)
        for shift, weight in law.items():
            part = bells[shift[0]]
            for place in shift[1:]:
                part = np.multiply.outer(part, bells[place])
            total += weight * part
        return total

    first, second = density(p), density(q)
    cell = float(x[1] - x[0]) ** steps
    return [
        (
            float(np.maximum(first - factor * second, 0).sum() * cell),
            float(np.maximum(second - factor * first, 0).sum() * cell),
        )
        for factor in FACTORS
    ]


def steps_of(*laws: Mapping[float, float]) -> Mixture:
    """Return the product of laws of sums, one a step."""
    total: defaultdict[tuple[float, ...], float] = defaultdict(float)
    for chosen in itertools.product(*(law.items() for law in laws)):
        total[tuple(place for place, _ in chosen)] += math.prod(weight for _, weight in chosen)
    return dict(total)


def by_coins(values: tuple[float, ...], rate: float, most: int) -> dict[float, float]:
    """Return the law of the sum of a Poisson batch, of more than `most` a uniform `most`."""
    law: defaultdict[float, float] = defaultdict(float)
    for coins in itertools.product((0, 1), repeat=len(values)):
        weight = math.prod(rate if coin else 1 - rate for coin in coins)
        drawn = [value for value, coin in zip(values, coins, strict=True) if coin]
        used = list(itertools.combinations(drawn, min(most, len(drawn))))
        for batch in used:
            law[sum(batch)] += weight / len(used)
    return dict(law)


def uniform(batches: Iterable[tuple[float, ...]]) -> dict[float, float]:
    """Return the law of the sum of a batch that is drawn uniformly."""
    listed = list(batches)
    law: defaultdict[float, float] = defaultdict(float)
    for batch in listed:
        law[sum(batch)] += 1 / len(listed)
    return dict(law)


def assert_above(run: sd.training_runs.TrainingRun, truth: list[tuple[float, float]]) -> None:
    profile = run.profile()
    for factor, (there, back) in zip(FACTORS, truth, strict=True):
        slack = 3e-5
        assert profile.delta(math.log(factor)) >= max(there, back) - slack
        if run.neighbours is not sd.claims.Neighbours.REPLACE_ONE:
            assert run.directed("remove").delta(math.log(factor)) >= there - slack
            assert run.directed("add").delta(math.log(factor)) >= back - slack


def largest(truths: list[list[tuple[float, float]]]) -> list[float]:
    return [max(max(pair) for pair in column) for column in zip(*truths, strict=True)]


@pytest.mark.parametrize("noise", ["0.5", "2"])
@pytest.mark.parametrize(
    ("records", "batch", "steps"), [(1, 1, 1), (3, 2, 1), (4, 1, 1), (3, 1, 2)]
)
def test_poisson_batches_of_the_worst_others(
    noise: str, records: int, batch: int, steps: int
) -> None:
    run = sd.training(n_records=records, batch=batch, steps=steps, noise=noise, sampling="poisson")
    truths = []
    for others in itertools.combinations_with_replacement((-1.0, 0.0, 1.0), records - 1):
        p, q = (
            steps_of(*[by_coins(values, batch / records, records)] * steps)
            for values in ((*others, 1.0), others)
        )
        truths.append(sticks(p, q, float(noise)))
        assert_above(run, truths[-1])
    assert run.ends == "two-sided"
    for factor, true in zip(FACTORS, largest(truths), strict=True):
        assert run.profile().delta_bounds(math.log(factor))[0] <= true + 3e-5


@pytest.mark.parametrize("noise", ["0.5", "2"])
@pytest.mark.parametrize("most", [1, 2])
def test_truncated_batches_of_any_number_of_others(noise: str, most: int) -> None:
    run = sd.training(
        n_records=4, batch=2, steps=1, noise=noise, sampling="truncated_poisson", max_batch=most
    )
    truths = []
    for number in range(4):
        for others in itertools.combinations_with_replacement((-1.0, 0.0, 1.0), number):
            p, q = (steps_of(by_coins(each, 0.5, most)) for each in ((*others, 1.0), others))
            truths.append(sticks(p, q, float(noise)))
            assert_above(run, truths[-1])
    reached = run.reached()
    assert reached is not None
    for factor, true in zip(FACTORS, largest(truths), strict=True):
        assert reached.delta_bounds(math.log(factor))[0] <= true + 3e-5


@pytest.mark.parametrize("noise", ["0.7", "3"])
@pytest.mark.parametrize("sampling", ["fixed", "fixed_with_replacement"])
@pytest.mark.parametrize(("records", "batch", "steps"), [(3, 2, 1), (4, 3, 1), (3, 1, 2)])
def test_batches_of_a_fixed_size(
    noise: str, sampling: Any, records: int, batch: int, steps: int
) -> None:
    run = sd.training(n_records=records, batch=batch, steps=steps, noise=noise, sampling=sampling)

    def law(values: tuple[float, ...]) -> dict[float, float]:
        if sampling == "fixed":
            return uniform(itertools.combinations(values, batch))
        return uniform(itertools.product(values, repeat=batch))

    truths = []
    for others in itertools.combinations_with_replacement((-1.0, 0.0, 1.0), records - 1):
        p, q = law((*others, 1.0)), law((*others, -1.0))
        turned = tuple(-value for value in others)
        p2, q2 = law((*turned, -1.0)), law((*turned, 1.0))
        for first, second in ((p, q),) if steps == 1 else ((p, q), (p2, q2), (q, p)):
            both = (
                (steps_of(p), steps_of(q))
                if steps == 1
                else (steps_of(p, first), steps_of(q, second))
            )
            truths.append(sticks(*both, float(noise)))
            assert_above(run, truths[-1])
    reached = run.reached()
    if reached is not None:
        for factor, true in zip(FACTORS, largest(truths), strict=True):
            assert reached.delta_bounds(math.log(factor))[0] <= true + 3e-5


@pytest.mark.parametrize("noise", ["1", "3"])
@pytest.mark.parametrize("choices", [1, 2])
def test_random_allocation_to_two_steps(noise: str, choices: int) -> None:
    run = sd.training(
        n_records=2, batch=1, epochs=1, noise=noise, sampling="balls_in_bins", choices=choices
    )
    joined: Mixture = {(1.0, 0.0): 0.5, (0.0, 1.0): 0.5} if choices == 1 else {(1.0, 1.0): 1.0}
    truth = sticks(joined, {(0.0, 0.0): 1.0}, float(noise))
    assert_above(run, truth)
    assert run.ends == "two-sided"
    for factor, true in zip(FACTORS, truth, strict=True):
        assert run.profile().delta_bounds(math.log(factor))[0] <= max(true) + 3e-5


def test_an_epoch_that_is_broken_off_is_not_said_to_be_reached() -> None:
    def run(**more: Any) -> sd.training_runs.TrainingRun:
        return sd.training(n_records=2, batch=1, noise=1, sampling="balls_in_bins", **more)

    # One step of two: the record is in it with probability 1/2, which costs less than two steps.
    broken = run(steps=1)
    truth = sticks({(1.0,): 0.5, (0.0,): 0.5}, {(0.0,): 1.0}, 1.0)
    assert_above(broken, truth)
    assert max(truth[0]) + 0.01 < broken.profile().delta_bounds(0)[0]
    assert broken.ends == "bound"
    assert run(epochs="3/2").ends == "bound"
    assert run(steps=4).ends == run(epochs=2).ends == "two-sided"


def test_an_epoch_of_one_step_is_the_gaussian_mechanism() -> None:
    run = sd.training(n_records=5, batch=5, epochs=2, noise=1, sampling="balls_in_bins")
    gauss = sd.compose([(sd.GaussianDP(1, neighbours="add_remove"), 2)])
    assert run.profile().epsilon_bounds("1e-9") == gauss.epsilon_bounds("1e-9")


def test_epochs_with_a_smaller_last_batch_say_when_they_end() -> None:
    run = sd.training(n_records=10, batch=3, epochs=1, noise=1, sampling="balls_in_bins")
    assert run.steps == 4
    assert any("1 epoch is begun" in each for each in run.conditions)
    assert run.ends == "bound"


def test_steps_of_a_loader_that_drops_the_last_batch() -> None:
    """One batch of 6 of 10 a pass: in 5 steps a record may be in 5 batches, not in 5 * .6."""
    run = sd.training(n_records=10, batch=6, steps=5, noise=1, sampling="shuffled")
    truth = sd.GaussianDP(math.sqrt(5) * 0.999999, neighbours="zero_out").profile()
    assert run.profile().delta(1) >= truth.delta(1)
    with pytest.raises(sd.errors.InvalidParameter, match="at least 3 part"):
        sd.training(
            n_records=10, batch=6, steps=5, noise=1, sampling="ftrl", participations=2, bands=1
        )


def test_noise_next_to_none_is_refused_in_words() -> None:
    for noise in ("1e-300", "1e-4"):
        run = sd.training(n_records=3, batch=1, steps=7, noise=noise, sampling="poisson")
        with pytest.raises(sd.errors.OutOfReach, match="noise"):
            run.profile().epsilon("1e-3")


# ---- finite mechanisms, in rationals


def stick(p: Law, q: Law, factor: Fraction) -> Fraction:
    return sum(
        (
            max(p.get(y, Fraction(0)) - factor * q.get(y, Fraction(0)), Fraction(0))
            for y in {*p, *q}
        ),
        Fraction(0),
    )


def mixed(share: Fraction, p: Law, q: Law) -> Law:
    zero = Fraction(0)
    return {y: share * p.get(y, zero) + (1 - share) * q.get(y, zero) for y in {*p, *q}}


def product(p: Law, q: Law) -> Law:
    return {(x, y): p[x] * q[y] for x in p for y in q}


def some_law(rng: random.Random, size: int) -> Law:
    weights = [rng.choice([0, 1, 1, 2, 5, 20]) for _ in range(size)]
    weights[0] += not any(weights)
    return {y: Fraction(each, sum(weights)) for y, each in enumerate(weights) if each}


def pair_of(p: Law, q: Law, size: int, first: Any = None) -> sd.Pair:
    with np.errstate(divide="ignore"):
        logs = [np.log([float(law.get(y, 0)) for y in range(size)]) for law in (p, q)]
    return sd.Pair(*logs, first=first)


EXACT = tuple(Fraction(text) for text in ("1", "1.1", "1.5", "3", "30"))


def test_samples_of_finite_mechanisms() -> None:
    rng = random.Random(20)
    for _ in range(25):
        size = rng.choice([2, 3, 4])
        rate = Fraction(rng.choice([1, 3, 9]), 10)
        having, lacking = some_law(rng, size), some_law(rng, size)
        p, q = mixed(rate, having, lacking), lacking
        for first in ("with_record", "without_record", None):
            ordered = (lacking, having) if first == "without_record" else (having, lacking)
            item = pair_of(*ordered, size, first).profile(neighbours="add_remove")
            step = sd.Subsampled(item, rate)
            both = sd.compose([(step, 2)])
            for factor in EXACT:
                epsilon = math.log(factor)
                true = float(max(stick(p, q, factor), stick(q, p, factor)))
                assert step.profile().delta(epsilon) >= true * (1 - 1e-9)
                pp, qq = product(p, p), product(q, q)
                true = float(max(stick(pp, qq, factor), stick(qq, pp, factor)))
                assert both.delta(epsilon) >= true * (1 - 1e-9)
                if first is None:
                    continue
                assert both.delta_bounds(epsilon)[0] <= true * (1 + 1e-9) + 1e-12
                for way, true in (
                    ("remove", float(stick(p, q, factor))),
                    ("add", float(stick(q, p, factor))),
                ):
                    low, high = step.directed(way).delta_bounds(epsilon)  # type: ignore[arg-type]
                    assert low - 1e-12 <= true * (1 + 1e-9)
                    assert true * (1 - 1e-9) <= high


def test_replaced_records_of_finite_mechanisms_in_mixed_directions() -> None:
    rng = random.Random(21)
    for _ in range(6):
        laws = [some_law(rng, 3) for _ in range(2)]
        step = sd.Subsampled(pair_of(laws[0], laws[1], 3), "1/3", sampling="without_replacement")
        both = sd.compose([(step, 2)])

        def output(values: tuple[int, ...], laws: list[Law] = laws) -> Law:
            zero = Fraction(0)
            return {y: sum((laws[v].get(y, zero) for v in values), zero) / 3 for y in range(3)}

        for others, more in itertools.product(itertools.product((0, 1), repeat=2), repeat=2):
            for turned in (False, True):
                p, q = (
                    product(output((*others, 0)), output((*more, int(turned)))),
                    product(output((*others, 1)), output((*more, 1 - turned))),
                )
                for factor in EXACT:
                    true = float(max(stick(p, q, factor), stick(q, p, factor)))
                    assert both.delta(math.log(factor)) >= true * (1 - 1e-9)


# ---- filters against the best adaptive adversary


def response(epsilon: float, delta: float = 0.0) -> list[tuple[float, float]]:
    """Return (p, q) of randomised response which tells all with probability delta."""
    right = (1 - delta) / (1 + math.exp(-epsilon))
    wrong = 1 - delta - right
    told = [(delta, 0.0), (0.0, delta)] if delta else []
    return [(right, wrong), (wrong, right), *told]


def best(
    factor: float,
    mechanisms: list[tuple[list[tuple[float, float]], dict[str, float]]],
    left: dict[str, float],
    p: float = 1.0,
    q: float = 1.0,
    depth: int = 4,
) -> float:
    """Return the largest P(S) - factor Q(S) of a strategy that sees every output."""
    stop = max(p - factor * q, 0.0)
    if not depth or not p:
        return stop
    for outputs, cost in mechanisms:
        rest = {name: left[name] - cost.get(name, 0.0) for name in left}
        if min(rest.values()) < -1e-12:
            continue
        going = sum(
            best(factor, mechanisms, rest, p * a, q * b, depth - 1) for a, b in outputs if a or b
        )
        stop = max(stop, going)
    return stop


@pytest.mark.parametrize("kept", ["basic", "concentrated", "gdp"])
def test_no_adaptive_adversary_passes_a_budget(kept: str, tmp_path: Path) -> None:
    epsilon, delta = 1.0, 0.2
    budget = sd.ApproxDP(epsilon, delta=delta)
    more: dict[str, Any] = {} if kept == "basic" else {"conversion_delta": "0.15"}
    left = {
        name: float(limit.upper() if hasattr(limit, "upper") else limit.rational)
        for name, (_, limit, _) in sd.Ledger(
            tmp_path / "limit.db", budget=budget, kept=kept, **more
        )
        .amounts()
        .items()
    }
    mechanisms = []
    for number, (size, told) in enumerate([(0.25, 0.0), (0.5, 0.0), (0.5, 0.02), (0.05, 0.05)]):
        ledger = sd.Ledger(tmp_path / f"{number}.db", budget=budget, kept=kept, **more)
        claim: Any = sd.ApproxDP(size, delta=told) if told else sd.PureDP(size)
        cost = {name: float(amount.rational) for name, amount in ledger.charge(claim).costs.items()}
        mechanisms.append((response(size, told), cost))
    found = best(math.exp(epsilon), mechanisms, left)
    assert found <= delta + 1e-12
    assert found > 0.01 * delta  # the adversary has teeth
    free = dict.fromkeys(left, 9.0)
    assert best(math.exp(epsilon), mechanisms, free) > found


@pytest.mark.parametrize(
    ("declared", "other"),
    [
        (sd.LaplaceMechanism(2), sd.LaplaceMechanism(2, sensitivity=3)),
        (sd.GaussianMechanism(2), sd.GaussianMechanism(2, sensitivity=3)),
        (sd.DiscreteLaplaceMechanism(2), sd.DiscreteLaplaceMechanism(2, sensitivity=2)),
        (
            sd.Subsampled(sd.LaplaceMechanism(2), "0.1", sampling="without_replacement"),
            sd.Subsampled(
                sd.LaplaceMechanism(2, sensitivity=5), "0.1", sampling="without_replacement"
            ),
        ),
        (
            sd.training(n_records=9, batch=1, steps=2, noise=2, sampling="fixed"),
            sd.training(n_records=8, batch=1, steps=2, noise=2, sampling="fixed"),
        ),
    ],
)
def test_declared_items_are_not_confused(declared: Any, other: Any, tmp_path: Path) -> None:
    ledger = sd.Ledger(
        tmp_path / "ledger.db", budget=sd.ApproxDP(20, delta="0.5"), allow=[(declared, 1)]
    )
    with pytest.raises(sd.errors.IncompatibleClaims, match="other parameters"):
        ledger.charge(other)
    ledger.charge(declared)
    with pytest.raises(sd.errors.BudgetExceeded):
        ledger.charge(declared)


def test_a_declared_list_that_others_reopen_is_kept(tmp_path: Path) -> None:
    item, budget = sd.LaplaceMechanism(2), sd.ApproxDP(2, delta="0.1")
    sd.Ledger(tmp_path / "a.db", budget=budget, allow=[(item, 2)]).charge(item)
    changed: list[dict[str, Any]] = [
        {"allow": [(item, 3)]},
        {"allow": [(sd.LaplaceMechanism(2, sensitivity=1), 1)]},
        {"kept": "gdp"},
        {},
    ]
    for more in changed:
        with pytest.raises((sd.errors.InvalidParameter, sd.errors.IncompatibleClaims)):
            sd.Ledger(tmp_path / "a.db", budget=budget, **more)
    again = sd.Ledger(tmp_path / "a.db")
    again.charge(item)
    with pytest.raises(sd.errors.BudgetExceeded):
        again.charge(item)


@pytest.mark.parametrize("epsilon", ["1e-9", "0.5", "1", "3", "20"])
def test_pure_implies_concentrated_exactly_from_the_least_rho(epsilon: str) -> None:
    least = float(epsilon) * math.tanh(float(epsilon) / 2)
    assert sd.PureDP(epsilon).implies(sd.ZCDP(least * (1 + 1e-12)))
    assert not sd.PureDP(epsilon).implies(sd.ZCDP(least * (1 - 1e-12)))


# ---- calibrate and split_budget


def test_whole_ends_of_any_type_give_whole_numbers() -> None:
    make: Callable[[Any], Any] = lambda scale: sd.LaplaceMechanism(scale)  # noqa: E731
    low, high = (cast("int", np.int64(end)) for end in (1, 10))
    found = sd.calibrate(make, sd.PureDP("0.3"), low=low, high=high)
    assert (found.value, found.refuted) == (4, 3)


@pytest.mark.parametrize(
    ("low", "high"), [(math.nan, 10), (1, math.inf), ("1", "10"), (False, True), (4, 4), (4, None)]
)
def test_ranges_that_are_none(low: Any, high: Any) -> None:
    with pytest.raises(sd.errors.InvalidParameter, match="low < high"):
        sd.calibrate(lambda scale: sd.LaplaceMechanism(1 + scale), (1, 0), low=low, high=high)


@pytest.mark.parametrize("release", [None, lambda s: sd.GaussianMechanism(s), (1, 1), (1, 2, 3)])
def test_releases_that_are_no_pairs(release: Any) -> None:
    with pytest.raises(sd.errors.InvalidParameter, match="make, weight"):
        sd.split_budget((1, "1e-6"), {"a": release})


def test_both_numbers_of_a_calibration_are_certified() -> None:
    for target in ((1, "1e-6"), (0, "1e-3"), (1, "1e-300"), ("0.1", "0.5")):
        found = sd.calibrate(lambda sigma: [(sd.GaussianMechanism(sigma), 10)], target)
        wanted = float(target[1])
        for number, kept in ((found.value, True), (found.refuted, False)):
            assert number is not None
            mu = math.sqrt(10) / float(number)
            epsilon = float(target[0])
            below = [
                0.5 * math.erfc((epsilon / mu + sign * mu / 2) / math.sqrt(2)) for sign in (-1, 1)
            ]
            true = below[0] - math.exp(epsilon) * below[1]
            assert (true <= wanted * (1 + 1e-6)) if kept else (true >= wanted * (1 - 1e-6))


# ---- events


def test_noise_of_events_under_replacing_has_no_known_unit() -> None:
    events = pytest.importorskip("dp_accounting")
    for event in (events.GaussianDpEvent(1.0), events.LaplaceDpEvent(1.0)):
        assert sd.interop.from_dp_event(event, neighbours="add_remove")
        for tree in (event, events.SelfComposedDpEvent(event, 3), events.ComposedDpEvent([event])):
            with pytest.raises(sd.errors.IncompatibleClaims, match="unit of the noise"):
                sd.interop.from_dp_event(tree, neighbours="replace_one")
    run = sd.training(
        n_records=10, batch=1, epochs=1, noise=2, sampling="shuffled", neighbours="replace_one"
    )
    with pytest.raises(sd.errors.IncompatibleClaims, match="unit of the noise"):
        sd.interop.to_dp_event(run)
