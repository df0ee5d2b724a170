"""Brackets of composed pairs hold the truth and are narrow, by mpmath (`envelopes`)."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from smoothdp import GaussianDP, Pair, compose
from smoothdp.claims.curves.atoms import Atoms
from smoothdp.composition.laws.atoms import AtomsLaw
from smoothdp.composition.laws.larger_stick import Stick, larger_stick
from smoothdp.composition.laws.law import Slack
from smoothdp.composition.laws.product import Product
from smoothdp.composition.laws.symmetrise import both_directions, symmetrised
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import exact_real
from tests.oracles.envelopes import DIGITS, composed_delta, envelope, hockey, masses

INF = math.inf
Law = tuple[list[float], list[float]]


def logs(*values: float) -> list[float]:
    return [math.log(value) if value else -INF for value in values]


def inside(bounds: LogBounds, truth: Any) -> bool:
    """Whether lower <= ln truth <= upper, up to masses that sum to a hair above 1."""
    with mpmath.workdps(50):
        log_truth = mpmath.log(truth) if truth > 0 else mpmath.mpf(-INF)
        return bool(bounds.lower <= log_truth and min(log_truth, 0) <= bounds.upper)


def width(bounds: LogBounds) -> float:
    low, high = (math.exp(bounds.lower), math.exp(bounds.upper))
    return high - low


# ---- by hand -------------------------------------------------------------------------------

CASES: list[tuple[Law, int, str, str]] = [
    ((([-720.0, 0.0]), logs(0.3, 0.7)), 2, "0", "0.5"),
    ((([-1500.0, 0.0]), logs(0.3, 0.7)), 3, "0.4", "1.2"),
    ((logs(0.3, 0.7), [-1e4, 0.0]), 2, "0", "3"),
    ((logs(0.01, 0.99, 1e-18), logs(0.04, 0.96, 0)), 2, "0", "0.5"),
    ((logs(0.01, 0.99, 1e-27), logs(0.04, 0.96, 0)), 2, "0", "0.5"),
    ((logs(0.01, 0.99, 1e-18), logs(0.04, 0.96, 0)), 30, "0", "2"),
    ((logs(0.2, 0.8, 0), logs(0.5, 0.5, 1e-27)), 4, "0.1", "1"),
    ((logs(0.2, 0.8, 1e-300), logs(0.5, 0.5, 0)), 3, "0", "0.9"),
]


@pytest.mark.parametrize(
    ("law", "count", "mu", "epsilon"),
    # 1e-27 at infinity and four steps lie between the others.
    [
        pytest.param(*case, id=str(i), marks=pytest.mark.slow if i in (4, 6) else ())
        for i, case in enumerate(CASES)
    ],
)
def test_far_losses_and_a_little_at_infinity(law: Law, count: int, mu: str, epsilon: str) -> None:
    items: list[Any] = [(Pair(*law), count)]
    if mu != "0":
        items.append(GaussianDP(mu))
    bounds = compose(items).accountant.log_bounds(exact_real(epsilon, name="epsilon"))
    if count > 4:
        # Too many products to enumerate: the bracket is narrow, and not below fewer of them.
        fewer = compose([(Pair(*law), 4)]).delta_bounds(epsilon)
        assert math.exp(bounds.upper) > fewer[0]
    else:
        exact = envelope(*law, digits=30_000 if min(law[0] + law[1]) < -800 else DIGITS)
        square = mpmath.mpf(mu) ** 2
        assert inside(bounds, composed_delta([(exact, count)], square, mpmath.mpf(epsilon)))
    assert width(bounds) < 1e-9


@pytest.mark.parametrize("size", [-3e3, -1e5, -1e7, -1e9])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_far_loss_and_mass_at_infinity_beside_a_gaussian(size: float, count: int) -> None:
    """Such a loss differs from an infinite one by less than e^-2000 of its mass."""
    p, q = [size, *logs(0.1, 0.9)], logs(0.3, 0, 0.7)
    exact = envelope([-INF, *p[1:]], q)
    for mu in ("0", "0.3", "1"):
        items: list[Any] = [(Pair(p, q), count)]
        composed = compose([*items, GaussianDP(mu)] if mu != "0" else items)
        for epsilon in ("0", "0.5", "3", "20"):
            bounds = composed.accountant.log_bounds(exact_real(epsilon, name="epsilon"))
            square = mpmath.mpf(mu) ** 2
            truth = composed_delta([(exact, count)], square, mpmath.mpf(epsilon))
            assert inside(bounds, truth)
            assert width(bounds) < 1e-5


# ---- at random -----------------------------------------------------------------------------


def random_law(rng: random.Random, size: int) -> list[float]:
    """Log-masses over up to 300 orders of magnitude."""
    weights = []
    for _ in range(size):
        kind = rng.random()
        if kind < 0.7:
            weights.append(rng.random() + 0.01)
        else:
            weights.append(10.0 ** -rng.uniform(1, 40 if kind < 0.95 else 300))
    if max(weights) < 0.01:
        weights[0] = 1.0
    return [math.log(weight / math.fsum(weights)) for weight in weights]


def random_pair(rng: random.Random) -> Law:
    size = rng.randint(2, 4)
    p, q = random_law(rng, size), random_law(rng, size)
    if rng.random() < 0.6:
        for one, other in ((p, q), (q, p)):
            if rng.random() < 0.6:
                digits = rng.choice([rng.uniform(0.5, 3), rng.uniform(5, 30), rng.uniform(30, 200)])
                one[:] = [value + math.log1p(-(10.0**-digits)) for value in one]
                one.append(-digits * math.log(10))
                other.append(-INF)
    return p, q


def brackets(seed: int) -> tuple[int, int, int, int]:
    """Return how many brackets were looked at, how many missed, were wide, and were wide
    relatively where delta is above 1e-9."""
    rng = random.Random(seed)
    parts = [(random_pair(rng), rng.randint(1, 3)) for _ in range(rng.randint(1, 2))]
    mu = rng.choice(["0", "0", "0", "0.5", "1"])
    exact = [(envelope(*law), count) for law, count in parts]
    # Few enough products to enumerate them all.
    most = 60 if mu != "0" else 400
    while math.prod(len(law.atoms) ** count for law, count in exact) > most:
        place = max(range(len(exact)), key=lambda at: exact[at][1])
        exact[place] = exact[place][0], exact[place][1] - 1
    items: list[Any] = [
        (Pair(*law), count) for (law, _), (_, count) in zip(parts, exact, strict=True) if count
    ]
    if mu != "0" or not items:
        items.append(GaussianDP(mu))
    composed = compose(items)
    made = missed = wide = loose = 0
    for epsilon in ("0", "0.5", f"{rng.uniform(0, 8):.3f}"):
        bounds = composed.accountant.log_bounds(exact_real(epsilon, name="epsilon"))
        truth = composed_delta(exact, mpmath.mpf(mu) ** 2, mpmath.mpf(epsilon))
        made += 1
        missed += not inside(bounds, truth)
        wide += not width(bounds) < 1e-9
        loose += truth > 1e-9 and not bounds.upper - bounds.lower < 1e-3
    return made, missed, wide, loose


@pytest.mark.parametrize(
    "block", [*range(4), *(pytest.param(b, marks=pytest.mark.slow) for b in range(4, 10))]
)
def test_nine_hundred_brackets(block: int) -> None:
    found = np.array([brackets(seed) for seed in range(30 * block, 30 * block + 30)])
    assert found.sum(axis=0).tolist() == [90, 0, 0, 0]


@pytest.mark.slow
@pytest.mark.parametrize("block", range(100, 160))
def test_many_more_brackets(block: int) -> None:
    found = np.array([brackets(seed) for seed in range(30 * block, 30 * block + 30)])
    assert found.sum(axis=0).tolist() == [90, 0, 0, 0]


# ---- the slack is needed --------------------------------------------------------------------


def stick_of(law: AtomsLaw | Stick, growth: Any, log_infinite: float) -> Any:
    """D(E) of a law whose floats are taken as exact."""
    found = mpmath.exp(mpmath.mpf(log_infinite)) if log_infinite > -INF else mpmath.mpf(0)
    for log_mass, loss in zip(law.log_masses.tolist(), law.losses.tolist(), strict=True):
        ratio = mpmath.exp(mpmath.mpf(loss))
        if ratio > growth:
            found += mpmath.exp(mpmath.mpf(log_mass)) * (1 - growth / ratio)
    return found


def probes(log_p: list[float], log_q: list[float]) -> list[Any]:
    """Epsilons at and beside all kinks, and at both ends."""
    exact = envelope(log_p, log_q)
    kinks = [mpmath.log(ratio) for _, ratio in exact.atoms]
    hairs = [mpmath.mpf(10) ** -k for k in (2, 15, 16)]
    return [mpmath.mpf(-600), *(k + s * h for k in kinks for h in hairs for s in (-1, 1)), *kinks]


Check = Callable[[Slack], bool]


def check_of(log_p: list[float], log_q: list[float]) -> tuple[Slack, Check]:
    """Return the slack of a symmetrised pair, and whether another one would do."""
    bracket = symmetrised(*both_directions(Atoms(np.array(log_p), np.array(log_q), 0.0)))
    law = bracket.upper
    assert isinstance(law, AtomsLaw)
    assert bracket.lower is law
    p, q = masses(log_p), masses(log_q)
    infinite = law.log_infinite
    points = probes(log_p, log_q)
    truths = [max(hockey(p, q, g), hockey(q, p, g)) for g in map(mpmath.exp, points)]

    def holds(slack: Slack) -> bool:
        factor = mpmath.exp(mpmath.mpf(slack.mass))
        for at, truth in zip(points, truths, strict=True):
            above = stick_of(law, mpmath.exp(at - slack.loss), infinite.upper) * factor
            below = stick_of(law, mpmath.exp(at + slack.loss), infinite.lower) / factor
            if not below <= truth <= above:
                return False
        return True

    return law.slack, holds


def slack_cases() -> list[Law]:
    """Pairs that are not, and that are nearly, their own mirror image."""
    rng = random.Random(19)
    found = []
    for _ in range(25):
        found.append(random_pair(rng))
        while abs(min(value for law in found[-1] for value in law if value > -INF)) > 100:
            found[-1] = random_pair(rng)
    for _ in range(15):
        p = random_law(rng, 3)
        moved = [value + rng.uniform(-3, 3) * 1e-13 for value in reversed(p)]
        found.append((p, moved))
    return found


def test_the_slack_of_a_symmetrised_pair_is_needed() -> None:
    """The truth is within the slack everywhere; without one half of it, it is not."""
    failed = {"mass": 0, "loss": 0}
    with mpmath.workdps(120):
        for law in slack_cases():
            slack, holds = check_of(*law)
            assert holds(slack)
            assert slack.mass < 1e-11
            assert slack.loss < 1e-11
            failed["mass"] += not holds(slack._replace(mass=0.0))
            failed["loss"] += not holds(slack._replace(loss=0.0))
    assert failed["mass"] > 3
    assert failed["loss"] > 10


def test_the_larger_stick_is_larger_and_not_by_much() -> None:
    """Of exact floats: never below, and at e + loss not above but for the rounding of masses."""
    rng, needed = random.Random(5), 0
    with mpmath.workdps(60):
        for _ in range(25):
            sticks = []
            for _ in range(2):
                size = rng.randint(1, 4)
                losses = np.unique(
                    [rng.choice([1, 5, 30]) * rng.uniform(-1, 1) for _ in range(size)]
                )
                infinite = rng.choice([-INF, -40.0, -1.0])
                sticks.append(
                    Stick(np.array([-3 * rng.random() for _ in losses]), losses, infinite)
                )
            found = larger_stick(*sticks)
            kinks = [*found.stick.losses.tolist(), *sticks[0].losses, *sticks[1].losses]
            points = [mpmath.mpf(x) + h for x in kinks for h in (0, -1e-3, 1e-3, -1e-15, 1e-15)]
            for at in [*points, mpmath.mpf(-500)]:
                growth = mpmath.exp(at)
                truth = max(stick_of(stick, growth, stick.log_infinite) for stick in sticks)
                own = stick_of(found.stick, growth, found.stick.log_infinite)
                assert own >= truth * (1 - mpmath.mpf(10) ** -40)
                later = stick_of(found.stick, mpmath.exp(at + found.loss), found.stick.log_infinite)
                assert later <= truth * mpmath.exp(mpmath.mpf(found.mass))
                needed += own > truth * mpmath.exp(mpmath.mpf(found.mass))
    assert needed > 2


def test_ties_are_followed_either_way() -> None:
    """Sticks that are equal, equal in part, or equal within what balls can tell."""
    losses, log_masses = np.array([-1.0, 0.25, 2.0]), np.log([0.2, 0.5, 0.3])
    same = Stick(log_masses, losses, -INF)
    found = larger_stick(same, same)
    assert found.stick.losses.tolist() == losses.tolist()
    assert found.stick.log_masses.tolist() == log_masses.tolist()
    assert found.loss == 0.0
    assert found.mass < 1e-40
    # One more atom far to the left, of a mass that no ball of 320 bits sees beside the others.
    more = Stick(np.append(log_masses, -1e4), np.append(losses, -1e4), -INF)
    for first, second in ((same, more), (more, same)):
        found = larger_stick(first, second)
        assert found.mass < 1e-15
        assert found.loss < 1e-12
        with mpmath.workdps(60):
            for at in (-2, 0, 1):
                truth = stick_of(same, mpmath.exp(at), -INF)
                assert abs(stick_of(found.stick, mpmath.exp(at), -INF) / truth - 1) < 1e-15


def test_the_error_of_a_pair_becomes_slack() -> None:
    """The true masses lie anywhere within the error of the pair: so does the slack reach."""
    rng, error, failed = random.Random(23), 1e-6, {"mass": 0, "loss": 0}
    p, q = np.log([0.2, 0.5, 0.3]), np.log([0.45, 0.25, 0.3])
    law = symmetrised(*both_directions(Atoms(p, q, error))).upper
    assert isinstance(law, AtomsLaw)

    def within(truth: Any, at: float, slack: Slack) -> bool:
        factor = mpmath.exp(mpmath.mpf(slack.mass))
        above = stick_of(law, mpmath.exp(at - slack.loss), -INF) * factor
        below = stick_of(law, mpmath.exp(at + slack.loss), -INF) / factor
        return bool(below <= truth <= above)

    with mpmath.workdps(40):
        for _ in range(60):
            moved = [
                masses([value + rng.choice([-1, 1]) * error for value in side.tolist()])
                for side in (p, q)
            ]
            for at in (-600.0, float(p[1] - q[1]) - 1e-7, float(p[1] - q[1]) + 1e-6, 0.1):
                growth = mpmath.exp(mpmath.mpf(at))
                truth = max(hockey(moved[0], moved[1], growth), hockey(moved[1], moved[0], growth))
                assert within(truth, at, law.slack)
                failed["mass"] += not within(truth, at, law.slack._replace(mass=1e-15))
                failed["loss"] += not within(truth, at, law.slack._replace(loss=1e-15))
    assert failed["mass"] > 10
    assert failed["loss"] > 10


def test_the_bounds_of_mass_at_infinity_are_needed() -> None:
    rng, needed = random.Random(29), 0
    with mpmath.workdps(50):
        for _ in range(60):
            parts = [-rng.choice([3.0, 30.0, 300.0]) * rng.random() - 2.0 for _ in range(5)]
            p = np.array([*parts, math.log(0.5)])
            q = np.array([-INF] * len(parts) + [0.0])
            infinite = both_directions(Atoms(p, q, 0.0))[0].log_infinite
            truth = mpmath.fsum(masses(parts))
            assert inside(infinite, truth)
            middle = 0.5 * (infinite.lower + infinite.upper)
            needed += not inside(LogBounds(middle, middle), truth)
    assert needed > 20


def test_the_rounding_of_joined_masses_is_needed() -> None:
    """Equal losses: what is joined is a sum, right within the error and no better."""
    rng, needed = random.Random(31), 0
    with mpmath.workdps(50):
        for _ in range(60):
            logs_of = np.array([-rng.uniform(1, 6) for _ in range(9)])
            joined = Atoms(logs_of, logs_of, 0.0).joined()
            assert joined.log_p.size == 1
            exact = mpmath.log(mpmath.fsum(masses(logs_of.tolist())))
            slip = abs(exact - mpmath.mpf(float(joined.log_p[0])))
            assert slip <= joined.error
            needed += slip > 0
    assert needed > 20


# ---- atoms that are joined --------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_the_error_of_joined_atoms_is_needed(seed: int) -> None:
    """Losses in a row, each 9e-15 from the last, become one: in their midst all of the excess
    is a matter of what that moved."""
    rng, n = random.Random(seed), 120
    p = np.log(np.append(np.full(n, 0.6 / n), 0.4))
    loss = rng.uniform(0.1, 0.6) + 9e-15 * np.arange(n)
    q = np.append(p[:n] - loss, math.log(0.2))
    joined = Atoms(p, q, 0.0).joined()
    assert joined.log_p.size == 2
    row = p[:n] - q[:n]
    without = joined._replace(error=joined.error - float(row.max() - row.min()))
    assert without.error > 0
    middle = float(np.median(row))
    epsilon = exact_real(middle, name="epsilon")
    with mpmath.workdps(60):
        exact = masses(p[:n].tolist()), masses(q[:n].tolist())
        truth = hockey(*exact, mpmath.exp(mpmath.mpf(middle)))
        assert truth > 1e-14
        # Largest loss first: the other atom, then the row.
        only = Atoms(joined.log_p[1:], joined.log_q[1:], joined.error)
        assert inside(only.log_excess(epsilon), truth)
        assert not inside(only._replace(error=without.error).log_excess(epsilon), truth)


# ---- large losses as infinite ones --------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_capped_laws_are_above_by_no_more_than_stated(seed: int) -> None:
    """All losses above epsilon = 0: then what is lost is the bound itself, to first order."""
    rng = random.Random(seed)
    losses = np.array([*sorted(rng.uniform(0.005, 0.03) for _ in range(3)), rng.uniform(5, 8), 9])
    weights = np.array([rng.random() + 0.1 for _ in range(3)] + [rng.random() * 1e-2] * 2)
    law = AtomsLaw(np.log(weights / weights.sum()), losses)
    count = rng.randint(2, 3)
    found = Product.of([(law, count)]).capped(4.0)
    assert found is not None
    product, log_lost = found
    near = product.parts[0][0]
    assert isinstance(near, AtomsLaw)
    assert near.largest <= 4
    with mpmath.workdps(40):
        for epsilon in (0.0, 0.7, 4.5):
            whole = enumerated(law, count, -INF, epsilon)
            above = enumerated(near, count, near.infinite.upper, epsilon)
            lost = mpmath.exp(mpmath.mpf(log_lost) + epsilon)
            assert whole <= above <= whole + lost
            assert epsilon > 0 or above > whole + 0.9 * lost
    assert Product.of([(law, count)]).capped(9.5) is None


def test_what_a_cap_adds_is_taken_off_below(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a cap close to epsilon, where it matters, the bracket holds all the same."""
    pair = logs(0.02, 0.5, 0.48), logs(0.001, 0.6, 0.399)
    items = [(Pair(*pair), 2), GaussianDP("0.4")]
    parts = [(envelope(*pair), 2)]
    usual = compose(items).delta_bounds("0.4")
    monkeypatch.setattr("smoothdp.composition.routes.solver._BEYOND", 0.5)
    bounds = compose(items).accountant.log_bounds(exact_real("0.4", name="epsilon"))
    assert inside(bounds, composed_delta(parts, mpmath.mpf("0.4") ** 2, mpmath.mpf("0.4")))
    assert width(bounds) > 10 * (usual[1] - usual[0])


def enumerated(law: AtomsLaw, count: int, log_infinite: float, epsilon: float) -> Any:
    own = [
        (mpmath.exp(mpmath.mpf(a)), mpmath.mpf(b))
        for a, b in zip(law.log_masses.tolist(), law.losses.tolist(), strict=True)
    ]
    infinite = mpmath.exp(mpmath.mpf(log_infinite)) if log_infinite > -INF else mpmath.mpf(0)
    mass = mpmath.fsum(a for a, _ in own)
    total = [(mpmath.mpf(1), mpmath.mpf(0))]
    for _ in range(count):
        total = [(a * b, x + y) for a, x in total for b, y in own]
    found = mpmath.fsum(a * -mpmath.expm1(epsilon - x) for a, x in total if x > epsilon)
    return found + (mass + infinite) ** count - mass**count
