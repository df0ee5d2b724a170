"""The best of several runs: against dynamic programming, published bounds, and as an item."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

import smoothdp as sd
from smoothdp.selection.cells import Cells
from smoothdp.selection.nested import Nested
from smoothdp.types import FloatArray

Generating = Callable[[FloatArray], FloatArray]
MU = 0.3
REFUSALS = (sd.errors.BudgetExceeded, sd.errors.IncompatibleClaims, sd.errors.InvalidParameter)


def gaussian_delta(epsilon: float, mu: float = MU) -> float:
    upper = ndtr(mu / 2 - epsilon / mu)
    return float(upper - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))


def best_intervals(f: Generating, epsilon: float, n: int = 300) -> float:
    """The most that growing intervals of N(mu, 1) against N(0, 1) cost, by dynamic programming.

    Cells of y; the interval grows to the right, which gains, or to the left, which does not.
    """
    edges = np.concatenate([[-np.inf], np.linspace(-6.5, 6.8, n), [np.inf]])
    p, q, growth = ndtr(edges - MU), ndtr(edges), math.exp(epsilon)
    left = np.zeros(edges.size)
    best = 0.0
    for j in range(edges.size - 1, 0, -1):
        rise = f(p[j] - p[:j]) - f(p[j - 1] - p[:j])
        lost = f(q[j] - q[:j]) - f(q[j - 1] - q[:j])
        left = np.maximum.accumulate(np.maximum(rise - growth * lost, 0.0) + left[:j])
        best = max(best, float(left[-1]))
    return best


CASES: list[tuple[sd.selection.RunCount, Generating]] = [
    (sd.PoissonCount(10), lambda s: np.exp(10 * (s - 1))),
    (sd.NegativeBinomialCount(1, stop="0.1"), lambda s: 0.1 * s / (1 - 0.9 * s)),
    (sd.FixedCount(10), lambda s: s**10),
]


@pytest.mark.parametrize(("count", "f"), CASES)
def test_the_worst_order_by_dynamic_programming(
    count: sd.selection.RunCount, f: Generating
) -> None:
    profile = sd.BestOf(sd.GaussianDP("0.3"), count=count).profile()
    for epsilon in (0.0, 0.5, 1.2):
        truth = best_intervals(f, epsilon)
        lower, upper = profile.delta_bounds(epsilon)
        # Growing intervals are one of the scores; the cells of y cost them a little.
        assert truth <= upper <= 1.01 * truth
        assert 0.99 * truth <= lower <= upper


def poisson_of_koskela(epsilon: float, mean: float) -> float:
    """Koskela, Redberg, Wang 2024, for a Poisson number: m delta(e - m delta(0))."""
    shifted = epsilon - mean * gaussian_delta(0.0)
    return mean * gaussian_delta(shifted) if shifted > 0 else 1.0


def poisson_of_papernot(epsilon: float, mean: float) -> float:
    """Papernot, Steinke 2022, for a Poisson number: Renyi, with the best order."""
    best = 0.0
    for order in np.linspace(1.1, 200, 2000):
        near = math.log1p(1 / (order - 1))
        renyi = order * MU**2 / 2 + mean * gaussian_delta(near) + math.log(mean) / (order - 1)
        log_delta = (order - 1) * (renyi - epsilon) + (order - 1) * math.log1p(-1 / order)
        best = min(best, log_delta - math.log(order))
    return math.exp(best)


def test_below_the_published_bounds() -> None:
    profile = sd.BestOf(sd.GaussianDP("0.3"), count=sd.PoissonCount(10)).profile()
    for epsilon in (1.5, 2.0, 2.6):
        ours = profile.delta(epsilon)
        assert ours < 0.5 * poisson_of_koskela(epsilon, 10)
        assert ours < 0.5 * poisson_of_papernot(epsilon, 10)


def test_one_run_costs_what_it_costs() -> None:
    for item in (sd.GaussianDP(1), sd.LaplaceMechanism(1), sd.ApproxDP(1, delta="1e-3")):
        one = sd.BestOf(item, count=sd.FixedCount(1)).profile()
        for epsilon in (0, "0.4", "0.9"):
            alone = item.profile().delta(epsilon)
            lower, upper = one.delta_bounds(epsilon)
            assert lower <= alone * (1 + 1e-12)
            assert alone <= upper <= alone * (1 + 1e-3)
            assert lower >= alone * (1 - 1e-3)


def test_selections_compose() -> None:
    """Two selections from randomised response, both scored for the likely output, exactly."""
    count = sd.FixedCount(2)
    item = sd.BestOf(sd.PureDP("ln(3)"), count=count)
    high = Fraction(3, 4)
    # Best is the likely output unless both runs are the other one.
    p = (1 - (1 - high) ** 2, (1 - high) ** 2)
    q = (1 - high**2, high**2)
    together = sd.compose([(item, 2)])
    for epsilon in ("ln(2)", "ln(4)", "ln(9)"):
        growth = Fraction(epsilon[3:-1])
        for a, b in ((p, q), (q, p)):
            truth = sum(
                max(a[i] * a[j] - growth * b[i] * b[j], Fraction(0))
                for i in range(2)
                for j in range(2)
            )
            assert float(truth) <= together.delta(epsilon) * (1 + 1e-12)
    assert together.epsilon("1e-6") <= 2 * item.profile().epsilon(0) * (1 + 1e-9)
    assert item.profile().epsilon("1e-3") < together.epsilon("1e-3")


def test_a_ledger_counts_declared_selections(tmp_path: Path) -> None:
    search = sd.BestOf(sd.PureDP("0.2"), count=sd.PoissonCount(5))
    allowed = [(search, 2)]
    budget = sd.ApproxDP(2, delta="1e-6")
    sd.Ledger(tmp_path / "a.db", budget=budget, allow=allowed).charge(search)
    again = sd.Ledger(tmp_path / "a.db", budget=budget, allow=allowed)
    # The same selection, made anew; one of another count was not declared.
    again.charge(sd.BestOf(sd.PureDP(0.2), count=sd.PoissonCount("5.0")))
    other = sd.BestOf(sd.PureDP("0.2"), count=sd.PoissonCount(6))
    for refused in (search, other):
        with pytest.raises(REFUSALS):
            again.charge(refused)
    plain = sd.Ledger(tmp_path / "b.db", budget=budget)
    claim = sd.ApproxDP("0.7", delta="1e-6")
    assert plain.charge(search, claim=claim).claim == claim
    with pytest.raises(REFUSALS):
        plain.charge(search, claim=sd.ApproxDP("0.5", delta="1e-6"))


@pytest.mark.slow
def test_calibrated_to_a_target() -> None:
    def search(epsilon: float) -> sd.BestOf:
        return sd.BestOf(sd.PureDP(epsilon), count=sd.NegativeBinomialCount(1, stop="0.1"))

    found = sd.calibrate(search, sd.ApproxDP(2, delta="1e-5"), low=0.2, high=2.0)
    assert found.bounds[1] <= 1e-5
    assert found.refuted_bounds is not None
    assert found.refuted_bounds[0] > 1e-5
    assert found.distance < 0.02


@pytest.mark.slow
def test_other_items() -> None:
    run = sd.training(n_records=1000, batch=10, epochs=2, noise="2", sampling="poisson")
    profile = sd.BestOf(run, count=sd.PoissonCount(5)).profile()
    lower, upper = profile.epsilon_bounds("1e-5")
    assert run.profile().epsilon("1e-5") < lower <= upper < 1.05 * lower
    assert profile.neighbours is sd.claims.Neighbours.ADD_REMOVE
    nested = sd.BestOf(
        sd.BestOf(sd.PureDP("0.1"), count=sd.PoissonCount(2)), count=sd.FixedCount(2)
    )
    assert nested.profile().epsilon("1e-9") > 0.2


def test_refused() -> None:
    model = sd.DataModel([("1/2", "1/2")])
    with pytest.raises(sd.errors.IncompatibleClaims):
        sd.BestOf(sd.SmoothedDP(1, delta="1e-3", model=model), count=sd.PoissonCount(3))
    with pytest.raises(sd.errors.IncompatibleClaims):
        sd.BestOf((sd.PureDP(1), 3), count=sd.PoissonCount(3))
    with pytest.raises(sd.errors.InvalidParameter):
        sd.BestOf(sd.PureDP(1), count=10)  # type: ignore[arg-type]
    for wrong in (0, -1, "1e10", math.inf):
        with pytest.raises(sd.errors.InvalidParameter):
            sd.PoissonCount(wrong)
    for shape, stop in ((-1, "0.1"), (1, 0), (1, 1), (1, "1e-12"), ("1e7", "0.1")):
        with pytest.raises(sd.errors.InvalidParameter):
            sd.NegativeBinomialCount(shape, stop=stop)
    for runs in (0, 1.5, True):
        with pytest.raises(sd.errors.InvalidParameter):
            sd.FixedCount(runs)  # type: ignore[arg-type]


def coarse(count: sd.selection.RunCount) -> Nested:
    """Cells so large that what lies between their edges matters."""
    p, q = np.array([0.35, 0.3, 0.2, 0.15]), np.array([0.1, 0.2, 0.3, 0.4])
    cells = Cells(p, q, 0.0, 0.0)
    return Nested(cells, cells, count)


def test_weights_between_the_edges_of_cells() -> None:
    """Interpolated, they are above f'(u) and below f'(v) everywhere in every cell."""
    rng = np.random.default_rng(4)
    counts = [count for count, _ in CASES] + [sd.NegativeBinomialCount(0, stop="0.2")]
    for count in counts:
        nested = coarse(count)
        upper, lower = nested._weights
        tops, rights = nested.above.above_p, nested.above.above_q
        for _ in range(200):
            i, j = sorted(rng.choice(4, 2, replace=False).tolist())
            s, t = rng.random(2)
            shares = np.outer([1 - s, s], [1 - t, t])
            u = np.dot([1 - t, t], tops[j : j + 2]) - np.dot([1 - s, s], tops[i : i + 2])
            v = np.dot([1 - t, t], rights[j : j + 2]) - np.dot([1 - s, s], rights[i : i + 2])
            high, low = (
                float((each[i : i + 2, j : j + 2] * shares).sum()) for each in (upper, lower)
            )
            weight = np.exp(count.log_weights(np.array([1 - u, 1 - v])).values)
            assert weight[0] <= high + 1e-12
            assert low <= weight[1] + 1e-12


MILD: list[tuple[sd.selection.RunCount, Generating]] = [
    (sd.PoissonCount(2), lambda s: np.exp(2 * (s - 1))),
    (sd.NegativeBinomialCount(1, stop="0.5"), lambda s: 0.5 * s / (1 - 0.5 * s)),
    (sd.FixedCount(3), lambda s: s**3),
]


@pytest.mark.parametrize(("count", "f"), MILD)
def test_what_an_order_of_cells_gains(count: sd.selection.RunCount, f: Generating) -> None:
    """From below: at most the rise of f over each cell less E times that under the other law."""
    nested = coarse(count)
    p, q, growth = nested.above.p, nested.above.q, 1.2
    edges = np.array([4, 3, 3])
    mine = nested._gained(edges, p[:3], growth * q[:3]) * count.mean
    truth = 0.0
    for i, edge in enumerate(edges.tolist()):
        rises = []
        for masses in (p, q):
            ends = np.array([masses[i:edge].sum(), masses[i + 1 : edge].sum()])
            rises.append(float(f(ends[:1])[0] - f(ends[1:])[0]))
        truth += max(0.0, rises[0] - growth * rises[1])
    assert 0.5 * truth < mine <= truth
