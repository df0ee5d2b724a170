"""Compositions: each part of a bound is needed somewhere, and these are the places."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from flint import acb, arb

from smoothdp.composition.composed_profile import epsilon_root
from smoothdp.composition.laws.atoms import AtomsLaw, atoms_transform
from smoothdp.composition.laws.law import GaussianLaw, Slack
from smoothdp.composition.laws.oscillation import Waves
from smoothdp.composition.laws.product import Product, log_any_infinite
from smoothdp.composition.routes.balls import ball_sums
from smoothdp.composition.routes.contour import Contour, Plan, truncation
from smoothdp.composition.routes.inversion import Inversion
from smoothdp.composition.routes.large_losses import LargeLosses
from smoothdp.composition.routes.solver import Solver
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Real, float_of
from smoothdp.training_runs.gaussian_step.line_points import Line, Points, error_from
from smoothdp.training_runs.gaussian_step.path_panels import Branch, PanelRow, rightwards
from smoothdp.training_runs.gaussian_step.ratio import log_tail
from smoothdp.training_runs.gaussian_step.subsampled_law import SubsampledGaussianLaw
from smoothdp.training_runs.gaussian_step.subsampled_lines import Mixture
from tests.rounding.certain import between, bits, exact

F = Fraction
Atoms = list[tuple[float, float]]
"""(ln mass, loss)."""


def random_atoms(seed: int, n: int, *, centre: float = 0.0, spread: float = 1.0) -> AtomsLaw:
    rng = np.random.default_rng(seed)
    return AtomsLaw(np.log(rng.dirichlet(np.ones(n))), rng.normal(centre, spread, n))


def pairs_of(law: AtomsLaw) -> Atoms:
    return list(zip(law.log_masses.tolist(), law.losses.tolist(), strict=True))


def excess(atoms: Atoms, epsilon: arb) -> arb:
    """Return E (1 - e^(epsilon - L))_+ at the present precision."""
    total = arb(0)
    for log_p, loss in atoms:
        gap = exact(loss) - epsilon
        if gap > 0:
            total += exact(log_p).exp() * -(-gap).expm1()
    return total


def two_points(log_p: float, log_q: float, loss: float, count: int) -> list[tuple[arb, arb]]:
    """Return (mass, total loss) of a law at +-loss, composed, at the present precision."""
    found = []
    for j in range(count + 1):
        mass = (exact(log_p) * j + exact(log_q) * (count - j)).exp() * math.comb(count, j)
        found.append((mass, exact(loss) * (2 * j - count)))
    return found


def excess_of_total(total: list[tuple[arb, arb]], epsilon: float) -> arb:
    value = arb(0)
    for mass, loss in total:
        gap = loss - exact(epsilon)
        if gap > 0:
            value += mass * -(-gap).expm1()
    return value


# ---- infinite losses ----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(60))
def test_the_chance_of_an_infinite_loss(seed: int) -> None:
    """Tiny chances, whose sum is not their union; and chances next to 1."""
    rng = np.random.default_rng(seed)
    low, high, most = [(-400.0, -10.0, 3), (-14.0, -5.0, 3), (-3.0, -0.01, 1)][seed % 3]
    parts = [(float(rng.uniform(low, high)), int(10 ** rng.uniform(0, most))) for _ in range(3)]
    found = log_any_infinite([(LogBounds(log_p, log_p), count) for log_p, count in parts])
    assert between(found.lower, partial(log_union, parts), found.upper)
    assert found.upper - found.lower < 1e-9


def log_union(parts: list[tuple[float, int]]) -> arb:
    with bits(1500):
        rest = arb(1)
        for log_p, count in parts:
            rest *= (1 - exact(log_p).exp()) ** count
        return (1 - rest).log()


@pytest.mark.parametrize("log_p", [-39.2, -39.9, -42.0])
def test_a_sum_of_chances_is_more_than_their_union(log_p: float) -> None:
    """Ten million of them: by 1e-11 or so, which is all that the sum leaves out."""
    parts = [(log_p, 10**7)]
    found = log_any_infinite([(LogBounds(log_p, log_p), 10**7)])
    assert between(found.lower, partial(log_union, parts), found.upper)
    plain = log_p + math.log(10**7)
    assert not between(plain - 1e-12, partial(log_union, parts), math.inf)


# ---- products -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_products_are_rounded_outwards(seed: int) -> None:
    """The largest loss, moments, Markov's bound and the slack, at 300 bits."""
    rng = np.random.default_rng(seed)
    laws = [random_atoms(10 * seed + place, 4) for place in range(3)]
    laws = [
        AtomsLaw(law.log_masses, law.losses, distance=Slack(*rng.uniform(0, 1e-3, 2).tolist()))
        for law in laws
    ]
    parts = [(law, int(rng.integers(1, 50))) for law in laws]
    variance = F(1, 7) if seed % 2 else F(0)
    product = Product.of([*parts, (GaussianLaw(variance), 3)] if variance else list(parts))
    if not variance:
        largest = sum((count * F(float(law.losses.max())) for law, count in parts), F(0))
        assert largest <= F(product.largest) < largest + F(1, 10**9)
    for name in ("mass", "loss"):
        whole = sum((count * F(getattr(law.slack, name)) for law, count in parts), F(0))
        assert whole <= F(getattr(product.slack, name)) <= whole * (1 + F(1, 10**10))
    off = 0.0
    for tilt in (0.25, 1.5, 12.0):
        moments = product.moments(tilt)

        def log_mgf(tilt: float = tilt) -> arb:
            total = 3 * exact(variance) * exact(tilt) * (exact(tilt) + 1) / 2
            for law, count in parts:
                each = ((exact(p) + exact(tilt) * exact(x)).exp() for p, x in pairs_of(law))
                total += count * sum(each, arb(0)).log()
            return total

        with bits():
            gap = float(abs(log_mgf() - exact(moments.log_mgf)))
        assert gap <= moments.error
        off = max(off, gap)
        for epsilon in (0.0, 3.0, 40.0):

            def markov(tilt: float = tilt, epsilon: float = epsilon) -> arb:
                c = exact(tilt)
                constant = c * (c / (1 + c)).log() - (1 + c).log()
                return log_mgf(tilt) - c * exact(epsilon) + constant

            assert between(-math.inf, markov, product.log_chernoff(epsilon, tilt))
    assert off > 0


# ---- the contour --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(16))
def test_the_exponent_of_a_deep_delta(seed: int) -> None:
    """ln delta of -500 to -3000 is a difference of numbers far larger, which are rounded."""
    rng = np.random.default_rng(seed)
    p = float(rng.uniform(0.3, 0.7))
    loss = float(rng.uniform(2.0, 9.0))
    count = int(rng.integers(900, 2500))
    log_p, log_q = math.log(p), math.log1p(-p)
    law = AtomsLaw(np.array([log_p, log_q]), np.array([loss, -loss]))
    # Something that decays, so that no smoothing is needed.
    variance = F(1)
    product = Product.of([(law, count), (GaussianLaw(variance), 1)])
    epsilon = loss * count * float(rng.uniform(0.9, 0.97))
    found = Inversion(product, 1e-9).log_bounds(epsilon)

    def truth() -> arb:
        value, root = arb(0), arb(2).sqrt()
        for mass, total in two_points(log_p, log_q, loss, count)[-count // 8 :]:
            here = exact(epsilon) - total
            first = ((here - arb(1) / 2) / root).erfc() / 2
            second = ((here + arb(1) / 2) / root).erfc() / 2
            value += mass * (first - here.exp() * second)
        return value.log()

    assert between(found.lower, truth, found.upper)
    assert found.upper - found.lower < 1e-6


@pytest.mark.parametrize("tilt", [2.0**-7, 1.0])
@pytest.mark.parametrize("seed", range(10))
def test_large_losses_are_rounded_in_angle_and_exponent(seed: int, tilt: float) -> None:
    """Losses near a million: at a small tilt the angles err most, at a large one the exponent."""
    rng = np.random.default_rng(seed)
    law = random_atoms(100 + seed, 5, centre=1e6 + float(rng.uniform(0, 1e5)), spread=1.0)
    variance = F(1, 3)
    product = Product.of([(law, 1), (GaussianLaw(variance), 1)])
    epsilon = product.moments(tilt).mean + float(rng.uniform(-0.5, 0.5))
    plan = Plan(tilt, 5.0 / tilt + 60.0, 16.0, 0.0)
    found = Contour(product, plan, budget=1e-16).log_bounds(epsilon)
    transform = atoms_transform(law.log_masses, law.losses)
    balls = ball_sums(
        [(transform, 1)], variance, F(epsilon), tilt=tilt, step=plan.step, count=plan.count
    )[0]
    assert found.lower <= balls.lower
    assert balls.upper <= found.upper


@pytest.mark.parametrize("spread", [0.0, 0.25])
@pytest.mark.parametrize("last", [2.0, 5.0, 12.0])
def test_the_terms_beyond_the_last_node(last: float, spread: float) -> None:
    """Of one atom beside a normal law, whose transform has no other decay: term by term."""
    variance, tilt, step = F(1, 3), 0.75, 0.125
    atom = AtomsLaw(np.zeros(1), np.ones(1))
    product = Product.of([(atom, 1), (GaussianLaw(variance), 1)])
    found = truncation(product, tilt, last, spread)

    def truth() -> arb:
        total, v = arb(0), exact(spread) ** 2
        for m in range(math.ceil(last / step) + 1, 400):
            z = acb(exact(tilt), exact(step) * m)
            size = (-exact(variance) * z.imag**2 / 2).exp() / abs(z * (z + 1))
            if spread:
                # The kernel of smoothing that is the larger one in size.
                small, large = (v * z * z / 2).exp(), (v * (z + 1) * (z + 1) / 2).exp()
                size *= abs((1 + z) * small - z * large)
            total += size
        return total * exact(step) / arb.pi()

    assert between(-math.inf, truth, found)


@pytest.mark.parametrize("seed", range(20))
def test_aliases_on_both_sides(seed: int) -> None:
    """The sum of e^(cmB) delta(e + mB) over m other than 0, term by term."""
    rng = np.random.default_rng(seed)
    law = random_atoms(200 + seed, 6)
    product = Product.of([(law, 1)])
    tilt = float(2.0 ** rng.integers(-6, 1))
    epsilon = float(rng.uniform(-2.0, 0.5))
    period = float(rng.uniform(0.05, 0.5)) * (product.largest - epsilon)
    found = Inversion(product, 1e-6).log_aliases(epsilon, tilt, period)

    def truth() -> arb:
        total = arb(0)
        for m in (*range(-400, 0), *range(1, 30)):
            moved = exact(epsilon) + m * exact(period)
            total += (exact(tilt) * m * exact(period)).exp() * excess(pairs_of(law), moved)
        return total.log()

    assert between(-math.inf, truth, found)


@pytest.mark.parametrize("t", [0.0, 2.0, 30.0])
def test_what_points_along_a_line_are_off_by(t: float) -> None:
    """Each mass and each loss by its own error, in proportion to its size at t."""
    rng = np.random.default_rng(5)
    n = 50
    sizes, damping = rng.uniform(-9, 0, n), rng.uniform(0, 0.2, n)
    mass, loss = rng.uniform(1e-16, 1e-14, n), rng.uniform(1e-16, 1e-14, n)
    waves = Waves(sizes, np.zeros(n), rng.normal(size=n), damping)
    constant, slope = error_from(Line(0.5, Points(waves, mass, loss), 1e-15), t)
    with bits():
        weights = [
            (exact(size) - exact(t) * exact(fall)).exp()
            for size, fall in zip(sizes.tolist(), damping.tolist(), strict=True)
        ]
        for found, start, errors in ((constant, 1e-15, mass), (slope, 0.0, loss)):
            parts = zip(weights, errors.tolist(), strict=True)
            truth = exact(start) + sum((w * exact(e) for w, e in parts), arb(0))
            assert exact(found) >= truth
            assert exact(found) <= truth * exact(F(21, 20))


# ---- quadrature of the subsampled Gaussian ------------------------------------------------

RATE, MU = F(1, 20), F(1, 10)


def mass_between(low: float, high: float) -> arb:
    """Return the integral of N G from low to high, at the present precision."""
    root = arb(2).sqrt()

    def beyond(x: float, shift: arb) -> arb:
        return ((exact(x) - shift) / root).erfc() / 2

    plain, moved = (beyond(low, shift) - beyond(high, shift) for shift in (arb(0), exact(MU)))
    return exact(1 - RATE) * plain + exact(RATE) * moved


@pytest.mark.parametrize("half", [14.0, 16.0, 18.0, 20.0])
def test_panels_that_are_too_long_err_by_less_than_they_say(half: float) -> None:
    """64 nodes on one panel of up to 40 deviations: the error is far above rounding."""
    mixture = Mixture(RATE, MU)
    row = PanelRow(np.zeros(1), np.zeros(1), half, up=False)
    stated = mixture.rule_error(1.0, row, log_mgf=0.0, first=0.0, last=0.0)
    sizes = mixture.points(1.0, row).waves.log_sizes
    with bits():
        found = sum((exact(size).exp() for size in sizes.tolist()), arb(0))
        off = float(abs(found - mass_between(-half, half)))
    assert off <= stated + 1e-15
    assert stated < 1e-3
    assert off > 1e-11 or half < 18


@pytest.mark.parametrize("reach", [1.0, 3.0, 9.0])
def test_what_lies_beyond_the_panels(reach: float) -> None:
    mixture = Mixture(RATE, MU)
    branch = Branch(1.0, -reach, reach, ends_left=False, ends_right=False)
    row = rightwards(-reach, reach, 0.0, 0.5)
    stated = mixture.beyond(branch, row, 0.0)

    def truth() -> arb:
        return 1 - mass_between(-reach, reach)

    assert between(-math.inf, truth, stated)
    assert stated < 1.1 * math.exp(-reach * reach / 2)


# ---- the routes ---------------------------------------------------------------------------


def shifted(law: AtomsLaw, *, mass: float = 0.0, loss: float = 0.0) -> AtomsLaw:
    return AtomsLaw(law.log_masses + mass, law.losses + loss)


@pytest.mark.parametrize("seed", range(8))
def test_what_a_slack_allows_lies_within_the_bounds(seed: int) -> None:
    """The true law may have all losses, or all masses, off by the whole slack."""
    law = random_atoms(300 + seed, 5)
    count = 3
    for slack in (Slack(0.0, 0.05), Slack(0.02, 0.0)):
        loose = AtomsLaw(law.log_masses, law.losses, distance=slack)
        for gaussian in ([], [(GaussianLaw(F(1, 2)), 1)]):
            bounds = Solver(Product.of([(loose, count), *gaussian]), 1e-9).log_bounds(F(1, 2))
            for side in (-0.999, 0.999):
                moved = shifted(law, mass=side * slack.mass, loss=side * slack.loss)
                truth = Solver(Product.of([(moved, count), *gaussian]), 1e-9).log_bounds(F(1, 2))
                assert bounds.lower <= truth.lower
                assert truth.upper <= bounds.upper


@pytest.mark.parametrize("share", [0.5, 1e-3])
def test_finite_and_infinite_losses_add_up(share: float) -> None:
    law = random_atoms(9, 5)
    atoms = [(log_p + math.log1p(-share), loss) for log_p, loss in pairs_of(law)]
    whole = AtomsLaw(
        np.array([log_p for log_p, _ in atoms]),
        law.losses,
        LogBounds(math.log(share), math.log(share)),
    )
    found = Solver(Product.of([(whole, 1)]), 1e-9).log_bounds(F(1, 4))

    def truth() -> arb:
        return (excess(atoms, exact(F(1, 4))) + exact(math.log(share)).exp()).log()

    assert between(found.lower, truth, found.upper)


@pytest.mark.parametrize("goal", [-0.7, -3.3, -40.1])
def test_an_epsilon_is_on_its_side(goal: float) -> None:
    def value(epsilon: Real) -> float:
        return -math.pow(float_of(epsilon), 1.3) / 3

    above, below = (epsilon_root(value, goal, side=side) for side in (1, -1))
    assert value(F(repr(above))) <= goal <= value(F(repr(below)))
    assert below <= above < below * (1 + 1e-12)


@pytest.mark.parametrize(("rate", "mu", "count"), [(F(1, 50), F(2), 40), (F(1, 5), F(1), 7)])
def test_the_number_of_large_losses(rate: Fraction, mu: Fraction, count: int) -> None:
    """None, one, two of them, each as often as there are choices; and a bound of the rest."""
    law = SubsampledGaussianLaw(rate, mu, "mixture")
    cut = LargeLosses(Product.of([(law, count)]), 1e-6)._cut(1.0)
    assert cut is not None
    times = [round(math.exp(term.log_times)) for term in cut.terms]
    assert times == [1, count, math.comb(count, 2)]
    split = law.split(1.0)
    assert split is not None
    tail = split.tail
    assert isinstance(tail, SubsampledGaussianLaw)
    assert tail.above is not None
    edge = tail.above

    def share() -> arb:
        q, m, root = exact(rate), exact(mu), arb(2).sqrt()
        beyond = [((exact(edge) - shift) / root).erfc() / 2 for shift in (arb(0), m)]
        return (1 - q) * beyond[0] + q * beyond[1]

    def rest() -> arb:
        p = share()
        few = [math.comb(count, j) * p**j * (1 - p) ** (count - j) for j in range(3)]
        return (1 - sum(few, arb(0))).log()

    assert between(-math.inf, lambda: share().log(), split.log_mass)
    assert between(-math.inf, rest, cut.log_rest)


@pytest.mark.parametrize("x", [1e-3, 0.7, 3.0, 12.0, 40.0])
def test_normal_tails(x: float) -> None:
    def truth() -> arb:
        return ((exact(x) / arb(2).sqrt()).erfc() / 2).log()

    assert between(-math.inf, truth, log_tail(x))


@pytest.mark.parametrize("period", [3.0, 4.0, 6.0])
@pytest.mark.parametrize("tilt", [0.5, 1.0])
def test_aliases_are_taken_off_below(tilt: float, period: float) -> None:
    """A period so short that the sum alone, which has the aliases in it, is above delta."""
    variance, epsilon = F(1), 0.5
    product = Product.of([(GaussianLaw(variance), 1)])
    contour = Contour(product, Plan(tilt, period, 14.0, 0.0), budget=1e-16)
    found = Inversion(product, 1e-6)._bounds(contour, epsilon)

    def tail(x: arb) -> arb:
        return (x / arb(2).sqrt()).erfc() / 2

    def truth() -> arb:
        at = exact(epsilon)
        return (tail(at - arb(1) / 2) - at.exp() * tail(at + arb(1) / 2)).log()

    assert between(found.lower, truth, found.upper)
    with bits():
        assert truth() < contour.log_bounds(epsilon).lower
