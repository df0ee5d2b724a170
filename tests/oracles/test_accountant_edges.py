"""Edges of the accountant: tolerances out of reach, large epsilons, numbers not to be tried."""

from __future__ import annotations

import itertools
import math
import time
from fractions import Fraction
from typing import Literal

import numpy as np
import pytest
from scipy.special import ndtr

import smoothdp as sd
from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.interop.dp_events import from_dp_event, to_dp_event


@pytest.mark.slow
def test_a_tolerance_out_of_reach_leaves_sharp_bounds() -> None:
    """It used to leave no lower bound at all, and an epsilon that was 7% above."""
    items = [(sd.LaplaceMechanism(40), 400)]
    with pytest.raises(OutOfReach, match=r"got \d\.?\d*e-\d\d at epsilon=1"):
        sd.compose(items, tolerance="1e-9").delta(1)
    plain, asked = (sd.compose(items, tolerance=each).delta_bounds(1) for each in (None, "1e-6"))
    assert plain[0] <= asked[1]
    assert asked[0] <= plain[1]


@pytest.mark.parametrize("epsilon", ["1", "30", "100", "1e5", "1e30"])
def test_pure_dp_implies_the_rho_of_its_epsilon(epsilon: str) -> None:
    """epsilon tanh(epsilon / 2) < epsilon, however close."""
    assert sd.PureDP(epsilon).implies(sd.ZCDP(epsilon))
    assert not sd.PureDP(epsilon).implies(sd.ZCDP(Fraction(epsilon) * Fraction(46, 100)))


def test_a_calibration_says_at_which_number_items_are_out_of_reach() -> None:
    def make(sigma: float) -> list[tuple[sd.SubsampledGaussian, int]]:
        return [(sd.SubsampledGaussian("0.1", noise_multiplier=sigma), 3)]

    with pytest.raises(OutOfReach, match=r"got 0\.0001, of which: Expected noise"):
        sd.calibrate(make, (1, "1e-6"), low=0.0001, high=4)
    # Without a range the search ends on the side that is out of reach.
    found = sd.calibrate(make, (1, "1e-6"))
    assert found.bounds[1] <= 1e-6
    assert found.refuted is not None

    def never(sigma: float) -> sd.GaussianMechanism:
        raise OutOfReach(expected="less", got=f"{sigma}", remedy="Stop")

    with pytest.raises(OutOfReach, match=r"got 1\.0, of which: Expected less; got 1\.0\. Stop"):
        sd.calibrate(never, (1, "1e-6"))

    def some(sigma: float) -> sd.GaussianMechanism:
        if sigma < 1:
            raise OutOfReach(expected="more", got=f"{sigma}", remedy="Stop")
        return sd.GaussianMechanism(sigma)

    assert sd.calibrate(some, (1, "1e-6")).value == pytest.approx(4.22, abs=0.01)
    with pytest.raises(OutOfReach, match="a number that meets"):
        sd.calibrate(lambda s: some(max(s, 1.0) if s < 4 else 0.0), (1, "1e-6"))


def test_little_noise_is_refused_at_once_and_in_the_users_numbers() -> None:
    drawn: tuple[Literal["poisson", "fixed"], ...] = ("poisson", "fixed")
    for each in drawn:
        run = sd.training(n_records=100, batch=10, steps=3, noise="0.01", sampling=each)
        start = time.process_time()
        with pytest.raises(OutOfReach, match="Raise the noise"):
            run.profile().delta(1)
        assert time.process_time() - start < 2
    sizes: tuple[Literal["fixed", "fixed_with_replacement"], ...]
    sizes = ("fixed", "fixed_with_replacement")
    for sampling in sizes:
        with pytest.raises(InvalidParameter, match=r"got noise=1e-300, .*2 clipping norms"):
            sd.training(n_records=100, batch=10, steps=3, noise="1e-300", sampling=sampling)


def test_a_run_of_zeroed_records_is_an_event() -> None:
    pytest.importorskip("dp_accounting")
    run = sd.training(
        n_records=100, batch=10, steps=3, noise=1, sampling="poisson", neighbours="zero_out"
    )
    ((step, count),) = from_dp_event(to_dp_event(run), neighbours="zero_out")
    assert (step.neighbours.value, count) == ("zero_out", 3)
    again = sd.compose([(step, count)])
    assert again.delta(1) == pytest.approx(run.profile().delta(1), rel=1e-9)


@pytest.mark.parametrize(("choices", "steps"), [(2, 4), (1, 3), (3, 3)])
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_k_of_t_against_every_choice(choices: int, steps: int, epsilon: float) -> None:
    """All subsets, outputs told in cells: exact, and below every bound of the run itself."""
    edges = np.concatenate([[-np.inf], np.arange(-2.5, 4.1, 0.5), [np.inf]])
    noise = np.diff(ndtr(edges))
    moved = np.diff(ndtr(edges - 1.0))
    subsets = list(itertools.combinations(range(steps), choices))

    def law(chosen: tuple[int, ...]) -> np.ndarray:
        total = np.ones(1)
        for t in range(steps):
            total = np.outer(total, moved if t in chosen else noise).ravel()
        return total

    p, q = sum(law(chosen) for chosen in subsets) / len(subsets), law(())
    truth = max(float(np.maximum(x - math.exp(epsilon) * y, 0).sum()) for x, y in ((p, q), (q, p)))
    run = sd.training(
        n_records=120,
        batch=120 // steps,
        epochs=1,
        noise=1,
        sampling="balls_in_bins",
        choices=choices,
    )
    assert truth <= run.profile().delta(epsilon) * (1 + 1e-9)
    assert truth >= 0.8 * run.profile().delta(epsilon) or choices > 1


def test_a_pair_that_tells_all_has_no_epsilon_below_infinity() -> None:
    """Laws that exclude each other have no finite loss, of which guesses could be made."""
    nothing = -math.inf
    pair = sd.Pair([0.0, nothing], [nothing, 0.0], first="with_record")
    items = [
        pair.profile(neighbours="add_remove"),
        sd.LaplaceMechanism("5.3", neighbours="add_remove"),
        sd.SubsampledGaussian("0.1", noise_multiplier=2),
    ]
    profile = sd.compose(items)
    assert profile.delta_bounds("0.5")[0] > 0.999
    assert profile.epsilon_bounds("1e-3")[1] == math.inf
