"""The soundness sweep: random compositions of known truth; the bracket never misses."""

from __future__ import annotations

import math

import pytest

from smoothdp import compose
from smoothdp.exact.balls.balls import real_bounds
from smoothdp.exact.logspace.bounds import LogBounds
from tests.oracles.compositions import Case, cases, holds, truth


def sharp_enough(case: Case, bounds: LogBounds) -> bool:
    """Brackets are narrow as well, or holding would mean little."""
    return bounds.upper - bounds.lower < (1e-9 if case.gaussians else 1e-6)


def run(seed: int, count: int) -> tuple[int, int, int]:
    """Return (cases, misses, wide brackets): the route chosen, and the contour in any case."""
    n_cases = misses = wide = 0
    for case in cases(seed, count):
        exact = truth(case)
        epsilon = case.at()
        composed = compose(case.items())
        bounds = composed.accountant.log_bounds(epsilon)
        n_cases += 1
        misses += not holds(exact, bounds.lower, bounds.upper)
        if not (isinstance(exact, int) or bounds.upper == -math.inf):
            wide += not sharp_enough(case, bounds)
        if composed.accountant.single is None and not case.infinite:
            # The contour as well, where another route was taken.
            solver = composed.accountant.sides(0)[0].upper
            if solver.product.largest > real_bounds(epsilon).upper:
                low, high = real_bounds(epsilon)
                slack = solver.product.slack
                above = solver.inversion.log_bounds(low - slack.loss).upper + slack.mass + 1e-15
                below = solver.inversion.log_bounds(high + slack.loss).lower - slack.mass - 1e-15
                misses += not holds(exact, below, above)
    return n_cases, misses, wide


@pytest.mark.parametrize("seed", range(4))
def test_four_hundred_compositions(seed: int) -> None:
    n_cases, misses, wide = run(seed, 100)
    assert (n_cases, misses) == (100, 0)
    assert wide == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 116))
def test_eight_thousand_compositions(seed: int) -> None:
    n_cases, misses, _ = run(seed, 500)
    assert (n_cases, misses) == (500, 0)
