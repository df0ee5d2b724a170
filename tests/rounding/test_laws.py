"""Laws of losses made from pairs and from profiles: what their slack is for."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import arb

import smoothdp as sd
from smoothdp.claims.curves.atoms import Atoms
from smoothdp.composition.laws.atoms import AtomsLaw
from smoothdp.composition.laws.grid_pair import grid_pair
from smoothdp.composition.laws.symmetrise import both_directions, symmetrised
from smoothdp.exact.parameters.numbers import LogRatio
from tests.rounding.certain import between, bits, exact, log_of

F = Fraction


# ---- pairs --------------------------------------------------------------------------------


def random_pair(seed: int, n: int = 12) -> Atoms:
    rng = np.random.default_rng(seed)
    log_p, log_q = (np.log(rng.dirichlet(np.ones(n))) for _ in range(2))
    return Atoms(log_p, log_q, 0.0)


def stick(atoms: Atoms, growth: arb) -> arb:
    """Return the sum of (p - E q)_+ at the present precision."""
    total = arb(0)
    for log_p, log_q in zip(atoms.log_p.tolist(), atoms.log_q.tolist(), strict=True):
        gap = exact(log_p).exp() - growth * exact(log_q).exp()
        if gap > 0:
            total += gap
    return total


@pytest.mark.parametrize("seed", range(40))
def test_a_hockey_stick_of_atoms_at_a_loss(seed: int) -> None:
    """At a rational next to one of the losses, where rounding decides which atoms count."""
    atoms = random_pair(seed)
    losses = np.sort(atoms.log_p - atoms.log_q)[::-1]
    for place in (0, 1, 5):
        if losses[place] <= 0:
            continue
        for hair in (F(0), F(1, 2**54), -F(1, 2**54), -F(1, 2**50)):
            epsilon = F(float(losses[place])) + hair
            found = atoms.log_excess(epsilon)
            with bits():
                value = stick(atoms, exact(epsilon).exp())
                if not value > 0:
                    assert found.lower == -math.inf
                    continue
            assert between(found.lower, log_of(value), found.upper)


def test_the_top_atom_alone_is_not_lost() -> None:
    """Just below the largest loss, as it is in truth, not as floats round it."""
    kept = 0
    for seed in range(200):
        atoms = random_pair(seed, 4)
        place = int(np.argmax(atoms.log_p - atoms.log_q))
        top = F(float(atoms.log_p[place])) - F(float(atoms.log_q[place]))
        epsilon = top - F(1, 2**60)
        found = atoms.log_excess(epsilon)
        with bits():
            value = stick(atoms, exact(epsilon).exp())
            assert value > 0
        assert between(-math.inf, log_of(value), found.upper)
        kept += top > F(float(atoms.log_p[place] - atoms.log_q[place]))
    assert kept > 20


@pytest.mark.parametrize("seed", range(30))
def test_large_sticks_are_rounded_outwards(seed: int) -> None:
    """Of many atoms, at epsilon = 0, where the sum is about a half."""
    atoms = random_pair(seed, 300)
    found = atoms.log_excess(F(0))
    assert between(found.lower, lambda: stick(atoms, arb(1)).log(), found.upper)
    found = atoms.log_excess(LogRatio(F(11, 10)))
    assert between(found.lower, lambda: stick(atoms, exact(F(11, 10))).log(), found.upper)


@pytest.mark.parametrize("seed", range(20))
def test_joined_atoms_have_one_loss_up_to_their_error(seed: int) -> None:
    """Losses a few parts in 1e15 apart are joined: what that moves is part of the error."""
    rng = np.random.default_rng(seed)
    log_p = np.log(rng.dirichlet(np.ones(6)))
    loss = float(rng.uniform(0.5, 1.0))
    log_q = log_p - loss * (1 + np.arange(6) * 1.6e-15)
    joined = Atoms(log_p, log_q, 0.0).joined()
    assert joined.log_p.size < 6
    for epsilon in (F(loss) * F(1, 2), F(loss) - F(1, 10**13)):
        found = joined.log_excess(epsilon)

        def truth(epsilon: Fraction = epsilon) -> arb:
            return stick(Atoms(log_p, log_q, 0.0), exact(epsilon).exp()).log()

        assert between(found.lower, truth, found.upper)
    # A law from a pair has its q-masses within the error as well.
    with bits():
        whole = sum((exact(x).exp() for x in log_q.tolist()), arb(0)).log()
        found_q = sum((exact(x).exp() for x in joined.log_q.tolist()), arb(0)).log()
        assert abs(whole - found_q) <= exact(joined.error)


def excess(law: AtomsLaw, epsilon: float, *, infinite: float) -> arb:
    total = exact(infinite).exp() if infinite > -math.inf else arb(0)
    for log_p, loss in zip(law.log_masses.tolist(), law.losses.tolist(), strict=True):
        if loss > epsilon:
            total += exact(log_p).exp() * -(exact(epsilon) - exact(loss)).expm1()
    return total


@pytest.mark.parametrize("seed", range(6))
def test_a_chain_of_losses_is_joined_at_its_whole_width(seed: int) -> None:
    """Neighbours agree to 1e-14, the ends of the chain do not: the error is that of the ends.

    Most of the mass is at both ends, and epsilon halfway: what is above it counts in full.
    """
    rng = np.random.default_rng(seed)
    n = 400
    weights = np.full(n, 1e-4) * rng.random(n)
    weights[[0, -1]] = 0.45
    log_p = np.log(weights)
    log_q = log_p - 0.7 - 0.9e-14 * np.arange(n)
    chain = Atoms(log_p, log_q, 0.0)
    joined = chain.joined()
    assert joined.log_p.size == 1
    middle = F(0.7) + F(0.45e-14 * n)
    found = joined.log_excess(middle)
    assert between(-math.inf, lambda: stick(chain, exact(middle).exp()).log(), found.upper)


# ---- both directions ----------------------------------------------------------------------


def places_of(*laws: AtomsLaw) -> list[float]:
    ends = np.unique(np.concatenate([law.losses for law in laws])).tolist()
    return [*ends, *((a + b) / 2 for a, b in pairwise(ends)), ends[0] - 1, ends[-1] + 1]


def check_both(first: AtomsLaw, second: AtomsLaw) -> float:
    """Check that the law above, with its slack, is above both; return how much it needs of it."""
    law = symmetrised(first, second).upper
    assert isinstance(law, AtomsLaw)
    assert law.slack.loss <= 2e-12
    needed = 0.0
    for epsilon in places_of(law, first, second):
        with bits():
            found = excess(law, epsilon - law.slack.loss, infinite=law.log_infinite.upper)
            for one in (first, second):
                truth = excess(one, epsilon, infinite=one.log_infinite.lower)
                if truth > 0:
                    assert found.log() + exact(law.slack.mass) >= truth.log()
                    needed = max(needed, float(truth.log() - found.log()))
    return needed


@pytest.mark.parametrize("n", [3, 8])
def test_the_larger_of_both_directions_is_above_both(n: int) -> None:
    """Of laws whose masses are exact: what is above without any slack of masses stays above."""
    for seed in range(25):
        first, second = both_directions(random_pair(seed, n))
        exactly = [AtomsLaw(law.log_masses, law.losses, law.infinite) for law in (first, second)]
        check_both(*exactly)


@pytest.mark.parametrize("seed", range(10))
def test_a_mirror_image_that_is_not_quite_one(seed: int) -> None:
    """Masses a few parts in 1e13 off: taken for its own mirror image, with that in the slack."""
    rng = np.random.default_rng(seed)
    half = np.log(rng.dirichlet(np.ones(3)))
    log_p = np.concatenate([half, half - rng.uniform(0.5, 2.0, 3)])
    log_q = np.roll(log_p, 3) + rng.uniform(-4e-13, 4e-13, 6)
    first, second = both_directions(Atoms(log_p, log_q, 0.0))
    check_both(*(AtomsLaw(law.log_masses, law.losses, law.infinite) for law in (first, second)))


# ---- grid pairs ---------------------------------------------------------------------------


PROFILES = [
    sd.GaussianDP(1).profile(),
    sd.ZCDP("0.3").profile(),
    sd.compose([(sd.PureDP("0.3"), 5), (sd.ApproxDP("0.1", delta="1e-5"), 2)]),
]


@pytest.mark.parametrize("profile", PROFILES, ids=["gaussian", "zcdp", "composed"])
@pytest.mark.parametrize("n_points", [30, 200])
def test_a_grid_pair_is_above_and_below_its_profile(
    profile: sd.claims.PrivacyProfile, n_points: int
) -> None:
    """At every point of the grid, between them, and far beyond the last."""
    bracket = grid_pair(profile, log_depth=-40.0, n_points=n_points)
    upper, lower = bracket.upper, bracket.lower
    assert isinstance(upper, AtomsLaw)
    assert isinstance(lower, AtomsLaw)
    assert upper.slack.mass < 1e-6
    ends = [x for x in upper.losses.tolist() if x > 0]
    places = [*ends, *((a + b) / 2 for a, b in pairwise(ends)), 0.0]
    places += [ends[-1] * 1.01, ends[-1] * 1.5 + 1]
    for epsilon in places:
        known = profile.log_delta_bounds(F(epsilon))
        with bits():
            above = excess(upper, epsilon, infinite=upper.log_infinite.upper)
            below = excess(lower, epsilon, infinite=lower.log_infinite.lower)
            assert exact(known.upper) <= above.log() + exact(upper.slack.mass)
            if below > 0:
                assert exact(known.lower) >= below.log() - exact(lower.slack.mass)


def test_a_grid_law_needs_its_slack() -> None:
    """The twin: without it the law lies below the profile at some point of its own grid."""
    profile = PROFILES[0]
    law = grid_pair(profile, log_depth=-40.0, n_points=200).upper
    assert isinstance(law, AtomsLaw)
    missed = 0
    for epsilon in [x for x in law.losses.tolist() if x > 0]:
        with bits():
            found = excess(law, epsilon, infinite=law.log_infinite.upper)
            missed += not exact(profile.log_delta_bounds(F(epsilon)).upper) <= found.log()
    assert missed > 0


@pytest.mark.parametrize("error", [1e-12, 3e-10, 1e-6])
def test_mass_at_infinity_is_within_the_slack(error: float) -> None:
    """It is taken at its upper bound: the least that it can be is within the slack below."""
    atoms = Atoms(np.log([0.5, 0.5]), np.array([-math.inf, 0.0]), error)
    found = symmetrised(*both_directions(atoms))
    above, below = found.upper, found.lower
    assert isinstance(above, AtomsLaw)
    assert isinstance(below, AtomsLaw)
    with bits():
        half = exact(F(1, 2)).log()
        assert exact(above.log_infinite.upper) >= half + exact(error)
        assert exact(below.log_infinite.upper) - exact(below.slack.mass) <= half - exact(error)
