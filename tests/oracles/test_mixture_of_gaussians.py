"""Mixtures of Gaussians: compositions, transforms, groups and events, against other routes.

Truths: sums of tests/oracles/composition_truth.py, balls of 200 bits, exact binomials, the routes
of the sampled Gaussian and of dp_accounting.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import acb, arb, ctx, fmpq

import smoothdp as sd
from smoothdp.claims.neighbours import Neighbours
from smoothdp.composition.accountant import Accountant
from smoothdp.composition.items import read_items
from smoothdp.composition.laws.law import LossLaw
from smoothdp.composition.laws.oscillation import short_step
from smoothdp.composition.laws.product import Product
from smoothdp.composition.routes.solver import Solver
from smoothdp.errors import IncompatibleClaims, InvalidParameter, OutOfReach
from smoothdp.exact.balls.balls import precision
from smoothdp.training_runs.gaussian_step.mixture_law import First, MixtureLaw
from smoothdp.training_runs.gaussian_step.mixture_step import Shifts
from smoothdp.training_runs.gaussian_step.subsampled_law import SubsampledGaussianLaw
from tests.oracles.composition_truth import (
    gaussian_part,
    largest_delta,
    mixture_part,
    pair_part,
    poisson_part,
)

F = Fraction
STEP = sd.MixtureOfGaussians([0, 1, 3], ["0.9", "0.08", "0.02"], sigma=2)


def drawn(seed: int) -> sd.MixtureOfGaussians:
    """Return 2 to 4 shifts, with and without one of 0, of a scale of their own."""
    rng = random.Random(seed)
    scale = 10 ** rng.uniform(-1, 0.5)
    sizes = [F(f"{scale * rng.uniform(0.05, 1):.3g}") for _ in range(rng.randint(2, 4))]
    if seed % 3:
        sizes[0] = F(0)
    weights = [F(rng.randint(1, 30)) for _ in sizes]
    weights[0] *= rng.choice([1, 5, 50])
    shares = [weight / sum(weights) for weight in weights]
    return sd.MixtureOfGaussians(sizes, shares, sigma=1)


def part_of(step: sd.MixtureOfGaussians) -> Any:
    sigma = float(step.exact_sigma)
    return mixture_part(
        [float(p) for p in step.exact_probabilities],
        [float(c) / sigma for c in step.exact_sensitivities],
    )


def meets(items: list[Any], parts: list[Any], epsilon: str, *, width: float = 1e-6) -> None:
    low, high = largest_delta(parts, float(epsilon))
    below, above = sd.compose(items).delta_bounds(epsilon)
    assert low <= above
    assert below <= high
    assert above - below <= width * above + 1e-13


@pytest.mark.parametrize("seed", [0, 2])
def test_compositions_meet_the_truth(seed: int) -> None:
    """One, two, and one among others, at three epsilons."""
    step = drawn(seed)
    part = part_of(step)
    for epsilon in ("0", "0.3", "2"):
        meets([step], [(part, 1)], epsilon)
        meets([(step, 2)], [(part, 2)], epsilon)
        noise = sd.GaussianDP("0.4", neighbours="add_remove")
        meets([step, noise], [(part, 1), (gaussian_part(0.16), 1)], epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 3, *range(4, 150)])
def test_many_compositions_meet_the_truth(seed: int) -> None:
    step, rng = drawn(seed), random.Random(seed)
    part, epsilon = part_of(step), f"{rng.expovariate(0.5):.3g}"
    meets([(step, 2)], [(part, 2)], epsilon, width=1e-5)
    rate, noise = F(rng.randint(1, 90), 100), F(rng.randint(7, 40), 10)
    other = sd.SubsampledGaussian(rate, noise_multiplier=noise)
    both = [(part, 1), (poisson_part(float(rate), 1 / float(noise)), 1)]
    meets([step, other], both, epsilon, width=1e-5)
    p, q = [F(3, 5), F(2, 5)], [F(1, 5), F(4, 5)]
    pair = sd.Pair(np.log([0.6, 0.4]), np.log([0.2, 0.8]), first="with_record")
    release = pair.profile(neighbours="add_remove")
    meets([step, (release, 2)], [(part, 1), (pair_part(p, q, ways=True), 2)], epsilon, width=1e-5)


def test_a_wrong_law_is_told() -> None:
    """Shifts that are a thousandth larger are outside of the bars."""
    low, high = sd.compose([(STEP, 2)]).delta_bounds("0.5")
    wrong = mixture_part([0.9, 0.08, 0.02], [0, 0.5005, 1.5015])
    assert largest_delta([(wrong, 2)], 0.5)[0] > high
    assert largest_delta([(part_of(STEP), 2)], 0.5)[0] <= high
    assert low > 0.999 * high


@pytest.mark.parametrize("first", ["with_record", "without_record"])
def test_thousands_of_steps_as_the_sampled_gaussian(first: First) -> None:
    """With one shift above 0 the general route has what the other one has."""
    q, m = F(1, 100), F(1)
    mine = MixtureLaw(Shifts((F(0), m), (1 - q, q)), first)
    other = SubsampledGaussianLaw(q, m, "mixture" if first == "with_record" else "base")
    for count, epsilon in ((3000, F(1)), (40, F(1, 10)), (2, F(1, 100))):
        ends = [
            Solver(Product.of([(law, count)]), 1e-9).log_bounds(epsilon) for law in (mine, other)
        ]
        assert ends[0].lower <= ends[1].upper
        assert ends[1].lower <= ends[0].upper
        assert ends[0].upper - ends[0].lower < 1e-6


def test_steps_and_their_halves() -> None:
    """A shift in two parts of one size is one shift; many steps of each agree."""
    split = sd.MixtureOfGaussians([3, 0, 1, 1], ["0.02", "0.9", "0.03", "0.05"], sigma=2)
    assert split == STEP
    nearly = sd.MixtureOfGaussians(
        [0, 1, "1.000000001", 3], ["0.9", "0.03", "0.05", "0.02"], sigma=2
    )
    one, two = (sd.compose([(step, 500)]).epsilon_bounds("1e-6") for step in (STEP, nearly))
    assert one[0] <= two[1]
    assert two[0] <= one[1] + 1e-6


# ---- the transform


def in_balls(law: MixtureLaw, tilt: float, t: float) -> tuple[acb, arb]:
    """Return the integrals of N R^w at t and at 0, by a rule that is off by e^-65."""
    sizes, shares = ([arb(fmpq(x.numerator, x.denominator)) for x in part] for part in law.shifts)
    m, branch = float(law.shifts.sizes[-1]), law._ratio.window(law._power(tilt))
    forward = law.first == "with_record"
    d = min(0.45 * math.pi / m, 3.0)
    size = 0.0 if forward else -tilt * math.log(math.cos(m * d))
    step = 2.0 ** math.floor(math.log2(2 * math.pi * d / (d * d / 2 + t * m * d + size + 65)))
    w = acb(tilt + 1, t) if forward else acb(-tilt, -t)
    total, whole, half = acb(0), acb(0), (2 * arb.pi()).log() / 2
    for j in range(math.floor((branch.low - 6) / step), math.ceil((branch.high + 6) / step) + 1):
        y = arb(j) * step
        parts = (p * (x * y - x * x / 2).exp() for x, p in zip(sizes, shares, strict=True))
        log_ratio = sum(parts, start=arb(0)).log()
        total += (acb(-y * y / 2 - half) + w * acb(log_ratio)).exp()
        whole += (acb(-y * y / 2 - half) + w.real * acb(log_ratio)).exp()
    return total * step, whole.real * step


def check_transform(seed: int) -> None:
    rng = random.Random(seed)
    scale = 10 ** rng.uniform(-2, 1.2)
    sizes = {F(f"{scale * rng.uniform(0.01, 1):.4g}") for _ in range(rng.randint(2, 5))}
    sizes |= {F(0)} if seed % 3 else set()
    weights = [F(f"{10 ** rng.uniform(-rng.choice([1, 6, 30]), 0):.3g}") for _ in sizes]
    weights[0] *= rng.choice([1, 10])
    shares = tuple(weight / sum(weights) for weight in weights)
    first: First = "with_record" if seed % 2 else "without_record"
    law = MixtureLaw(Shifts(tuple(sorted(sizes)), shares), first)
    tilt = min(round(10 ** rng.uniform(-2, 2) * 64 + 1) / 64, law.largest_tilt)
    moments = law.moments(tilt)
    spread = 1 / max(math.sqrt(moments.variance), 1e-3)
    t = short_step(10 ** rng.uniform(-1, 2) * min(spread, 30 / law._ratio.m))
    sums = law.transform(tilt, step=t, count=3, budget=1e-15)
    with precision(200):
        total, whole = in_balls(law, tilt, t)
        assert abs(float((whole.log() - moments.log_mgf).mid())) <= moments.error
        psi = total / whole * (acb(0, -1) * arb(t) * arb(sums.centre)).exp()
        off = abs(psi - acb(complex(sums.values[1])))
        assert float(off.mid()) <= sums.error[1] < 1e-8
        assert float(abs(psi).mid()) <= law.decay(tilt, t) * (1 + 1e-9)
    assert ctx.prec < 200


@pytest.mark.parametrize("seed", range(8))
def test_transforms_against_balls(seed: int) -> None:
    check_transform(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8, 300))
def test_many_transforms_against_balls(seed: int) -> None:
    check_transform(seed)


def test_large_nodes_have_lines_of_their_own() -> None:
    """The real line serves small t, others the rest: both agree where they meet."""
    law = MixtureLaw(Shifts((F(0), F(2), F(5)), (F(1, 2), F(1, 4), F(1, 4))), "with_record")
    whole = law.transform(1.5, step=0.5, count=900, budget=1e-15)
    plain = law._plain(1.5)
    served = plain.served(0.5, 900)
    assert 0 < served < 900
    line = plain.lifted(1.0, law.moments(1.5).log_mgf)
    assert line is not None
    waves = line.points.waves
    t = 0.5 * np.arange(served)
    sizes = waves.log_sizes - np.multiply.outer(t, waves.damping)
    angles = waves.phases + np.multiply.outer(t, waves.positions - whole.centre)
    found = (np.exp(sizes) * np.exp(1j * angles)).sum(axis=1)
    assert np.abs(found - whole.values[:served]).max() < 1e-11


# ---- the class


def test_a_persons_records_are_counted_together() -> None:
    """Exact binomials; one record is the sampled Gaussian; more records cost more; without
    sampling all k together are one shift."""
    step = sd.MixtureOfGaussians.of_group(3, sampling_rate="0.2", sigma=4, sensitivity=2)
    assert step.exact_sensitivities == (F(0), F(2), F(4), F(6))
    assert step.exact_probabilities == (F(64, 125), F(48, 125), F(12, 125), F(1, 125))
    one = sd.MixtureOfGaussians.of_group(1, sampling_rate="0.2", sigma=4, sensitivity=2)
    sampled = sd.SubsampledGaussian("0.2", noise_multiplier=2)
    assert one.profile().delta(1) == sampled.profile().delta(1)
    assert sd.compose([(one, 50)]).delta(1) == sd.compose([(sampled, 50)]).delta(1)
    before = 0.0
    for k in (1, 2, 3, 5):
        group = sd.MixtureOfGaussians.of_group(k, sampling_rate="0.05", sigma=3)
        now = sd.compose([(group, 30)]).epsilon_bounds("1e-5")
        assert now[0] > before
        before = now[1]
    always = sd.MixtureOfGaussians.of_group(3, sampling_rate=1, sigma=4)
    assert sd.compose([(always, 4)]).delta(1) == sd.GaussianDP("1.5").profile().delta(1)


def test_no_sampling_is_the_gaussian_mechanism() -> None:
    step = sd.MixtureOfGaussians([2], [1], sigma=4)
    exact = sd.GaussianDP("1/2").profile()
    lower, upper = step.profile().delta_bounds(1)
    assert lower <= exact.delta(1)
    assert exact.delta_bounds(1)[0] <= upper
    assert step.directed("add").delta(1) == pytest.approx(step.directed("remove").delta(1))


@pytest.mark.slow
def test_the_larger_of_both_directions_as_one_law() -> None:
    """What compositions of symmetrised items would read: above and below the profile."""
    symmetric = STEP.loss_laws().symmetrised
    for law, sign in ((symmetric.upper, 1), (symmetric.lower, -1)):
        assert isinstance(law, LossLaw)
        solver = Solver(Product.of([(law, 1)]), 1e-6)
        for epsilon in (F(0), F(1, 2), F(2)):
            found, exact = solver.log_bounds(epsilon), STEP.profile().log_delta_bounds(epsilon)
            ends = (found.upper, exact.lower) if sign > 0 else (exact.upper, found.lower)
            assert ends[0] >= ends[1]
            assert abs(found.upper - exact.upper) < 2e-2
    assert Accountant(read_items([STEP]), None, 1e-6).neighbours is Neighbours.ADD_REMOVE


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (([0, 1], ["0.9", "0.2"]), InvalidParameter, "exactly 1; got a sum of 11/10"),
        (([0, 1], ["0.9"]), InvalidParameter, "as many probabilities"),
        (([0, 1], ["1.5", "-0.5"]), InvalidParameter, "probability"),
        (([-1, 1], ["0.5", "0.5"]), InvalidParameter, "norms"),
        (([0, 0], ["0.5", "0.5"]), InvalidParameter, "above 0"),
        (([0, 1], [1, 0]), InvalidParameter, "above 0"),
        (([], []), InvalidParameter, "exactly 1"),
        ((3, [1]), InvalidParameter, "a list of numbers"),
        (("01", [0, 1]), InvalidParameter, "a list of numbers"),
        ((range(300), [F(1, 300)] * 300), InvalidParameter, "at most 256"),
        (([0, math.inf], ["0.5", "0.5"]), InvalidParameter, "sensitivity"),
    ],
)
def test_what_is_refused(given: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        sd.MixtureOfGaussians(*given, sigma=1)


def test_more_that_is_refused() -> None:
    with pytest.raises(IncompatibleClaims, match="removing one and adding one"):
        sd.MixtureOfGaussians([1], [1], sigma=1, neighbours="replace_one")
    with pytest.raises(InvalidParameter, match="sigma"):
        sd.MixtureOfGaussians([1], [1], sigma=0)
    with pytest.raises(InvalidParameter, match='"remove"'):
        STEP.directed("both")  # type: ignore[arg-type]
    for k in (0, 256):
        with pytest.raises(InvalidParameter, match="n_records"):
            sd.MixtureOfGaussians.of_group(k, sampling_rate="0.1", sigma=1)
    with pytest.raises(InvalidParameter, match="sampling_rate"):
        sd.MixtureOfGaussians.of_group(2, sampling_rate=0, sigma=1)
    with pytest.raises(IncompatibleClaims):
        sd.compose([STEP, sd.PureDP(1)])


def test_probabilities_below_floats() -> None:
    """One in 10^400, of a shift that tells all: at most that much is added."""
    tiny = F(1, 10**400)
    step = sd.MixtureOfGaussians([0, 1, 10**4], ["0.5", F(1, 2) - tiny, tiny], sigma=1)
    usual = sd.MixtureOfGaussians([0, 1], ["0.5", "0.5"], sigma=1)
    assert step.profile().delta(1) == pytest.approx(usual.profile().delta(1))
    deep = step.profile().log_delta_bounds(F(2000))
    assert deep.lower <= -400 * math.log(10) <= deep.upper + 1e-9
    nearer = sd.MixtureOfGaussians([0, 1, 3], ["0.5", F(1, 2) - tiny, tiny], sigma=1)
    assert sd.compose([(nearer, 3)]).delta(1) == pytest.approx(sd.compose([(usual, 3)]).delta(1))
    with pytest.raises(OutOfReach, match="one of 10000"):
        sd.compose([(step, 3)]).delta(1)


# ---- ledgers and events


def test_a_ledger_charges_declared_steps(tmp_path: Path) -> None:
    budget = sd.ApproxDP(9, delta="1e-6", neighbours="add_remove")
    ledger = sd.Ledger(tmp_path / "l.db", budget=budget, allow=[(STEP, 3)])
    same = sd.MixtureOfGaussians([3, 1, 0], [0.02, 0.08, 0.9], sigma="2.0")
    ledger.charge(same)
    ledger.charge(STEP)
    for other in (
        sd.MixtureOfGaussians([0, 1, "3.001"], ["0.9", "0.08", "0.02"], sigma=2),
        sd.MixtureOfGaussians([0, 1, 3], ["0.9", "0.08", "0.02"], sigma=2, neighbours="zero_out"),
    ):
        with pytest.raises(IncompatibleClaims):
            ledger.charge(other)
    spent = ledger.spent()
    assert isinstance(spent, sd.ApproxDP)
    assert spent.epsilon >= sd.compose([(STEP, 2)]).epsilon_bounds("1e-6")[0]
    kept = sd.Ledger(tmp_path / "r.db", budget=budget, kept="renyi")
    kept.charge(STEP)
    assert "1 with probability 2/25" in kept.entries()[0].mechanism


def test_events_there_and_back() -> None:
    events = pytest.importorskip("dp_accounting")
    event = sd.interop.to_dp_event(STEP)
    assert isinstance(event, events.dp_event.MixtureOfGaussiansDpEvent)
    assert math.isclose(sum(event.sampling_probs), 1)
    tree = events.SelfComposedDpEvent(event, 20)
    items = sd.interop.from_dp_event(tree, neighbours="add_remove")
    back, exact = sd.compose(items), sd.compose([(STEP, 20)])
    assert exact.delta_bounds(1)[0] <= back.delta(1) <= exact.delta(1) * (1 + 1e-9)
    # What rounding lacks goes to the largest shift, what is too much leaves the smallest.
    make = events.dp_event.MixtureOfGaussiansDpEvent
    for shares, found in (
        ([0.3, 0.3, 0.3999999999], ["0.3", "0.3", "0.4"]),
        ([0.3, 0.3, 0.4000000001], ["0.2999999999", "0.3", "0.4000000001"]),
    ):
        ((step, _),) = sd.interop.from_dp_event(
            make(2.0, [0.0, 1.0, 2.0], shares), neighbours="add_remove"
        )
        assert step == sd.MixtureOfGaussians([0, 1, 2], found, sigma=2)
    assert sd.interop.from_dp_event(make(1.0, [0.0], [1.0]), neighbours="add_remove") == []
    for wrong in (make(1.0, [0.0, 1.0], [0.5, 0.4]), make(1.0, [0.0, 1.0], [1.0])):
        with pytest.raises(InvalidParameter, match="add up to 1"):
            sd.interop.from_dp_event(wrong, neighbours="add_remove")
    with pytest.raises(IncompatibleClaims):
        sd.interop.from_dp_event(event, neighbours="replace_one")


@pytest.mark.slow
def test_dp_accounting_says_the_same() -> None:
    peer = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    step = sd.MixtureOfGaussians.of_group(4, sampling_rate="0.01", sigma=2)
    theirs = peer.from_mixture_gaussian_mechanism(
        2.0,
        [float(c) for c in step.exact_sensitivities],
        [float(p) for p in step.exact_probabilities],
        value_discretization_interval=2e-3,
    ).self_compose(200)
    profile = sd.compose([(step, 200)])
    for epsilon in (0.5, 1.5):
        lower, upper = profile.delta_bounds(epsilon)
        assert lower <= theirs.get_delta_for_epsilon(epsilon) <= upper * 1.05
