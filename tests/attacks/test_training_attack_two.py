"""Second attack on training runs, Renyi ledgers, truncated promises and implications.

Truths are quadratures with positive terms, extremal laws of two outcomes, and the law of the
noise as its docstring has it; none of it shares code with the library.
"""

from __future__ import annotations

import math
import random
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import smoothdp as sd
from smoothdp.composition.routes.inversion import _power_of_four

from .loss_quadrature import Step, deltas, fixed_batch, shifted_bell

SLACK = 3e-10


def fixed_run(rate: str, noise: str, steps: int) -> Any:
    batch = Fraction(rate) * 1000
    return sd.training(n_records=1000, batch=int(batch), steps=steps, noise=noise, sampling="fixed")


def step_of(rate: str, noise: str) -> Step:
    return fixed_batch(float(rate), 2 / float(noise))


def assert_between(profile: Any, steps: list[Step], epsilons: list[float], **more: float) -> None:
    reach = more.pop("reach")
    for epsilon, true in zip(epsilons, deltas(steps, epsilons, reach, **more), strict=True):
        lower, upper = profile.delta_bounds(epsilon)
        assert lower <= true * (1 + SLACK), (epsilon, lower, true)
        assert upper >= true * (1 - SLACK), (epsilon, upper, true)
        assert upper <= 1.01 * lower


# ---- few steps on batches of a fixed size


@pytest.mark.parametrize(("rate", "noise", "steps"), [("0.1", "1", 2), ("0.5", "2", 3)])
def test_few_steps_of_a_fixed_size(rate: str, noise: str, steps: int) -> None:
    laws = [step_of(rate, noise)] * steps
    run = fixed_run(rate, noise, steps)
    assert_between(run.profile(), laws, [0.0, 0.01, 0.3, 1.0, 3.0, 5.0], reach=6.0 * steps)
    # The quadrature tells one step from two.
    assert deltas(laws[1:], [1.0], 12.0)[0] < 0.9 * run.profile().delta_bounds(1)[0]


def test_steps_of_several_kinds_at_once() -> None:
    kinds = [("0.1", "2", 1), ("0.5", "3", 1)]
    composed = sd.compose([*(fixed_run(*kind) for kind in kinds), sd.GaussianMechanism(4)])
    laws = [*(step_of(rate, noise) for rate, noise, _ in kinds), shifted_bell(0.25)]
    assert_between(composed, laws, [0.0, 0.3, 1.0], reach=12.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "noise", "steps"),
    [("0.9", "5", 3), ("0.3", "0.7", 6), ("0.01", "1", 4), ("0.001", "3", 5)],
)
def test_more_steps_of_a_fixed_size(rate: str, noise: str, steps: int) -> None:
    laws = [step_of(rate, noise)] * steps
    run = fixed_run(rate, noise, steps)
    fine = 1e-3 * float(rate)
    epsilons = [0.0, 0.01, 0.3, 1.0]
    assert_between(run.profile(), laws, epsilons, reach=6.0 * steps, fine=fine)


@pytest.mark.slow
def test_a_coarse_tolerance_where_no_lower_end_is_found_at_first() -> None:
    """It ended in a ValueError: the next gap was sought from a bracket of infinite width."""
    laws = [
        sd.Subsampled(
            sd.GaussianMechanism(noise, sensitivity=2), rate, sampling="without_replacement"
        )
        for noise, rate in ((3, "2e-6"), (10, "0.1"))
    ]
    composed = sd.compose([(laws[0], 5), laws[1]], tolerance="0.5")
    for epsilon, true in ((0.267594730368577, -32.69959497), (0.5718945, -67.14229822)):
        lower, upper = map(math.log, composed.delta_bounds(epsilon))
        assert true - 0.5 < lower < true + 1e-7
        assert true - 1e-7 < upper < true + 0.5


def test_earlier_questions_do_not_move_an_answer() -> None:
    items = [sd.training(n_records=1000, batch=10, steps=300, noise="0.9", sampling="poisson")]
    asked = [f"1e-{digits}" for digits in range(1, 21, 2)]
    fresh = {delta: sd.compose(items).epsilon_bounds(delta) for delta in asked}
    for seed in range(2):
        order = asked[:]
        random.Random(seed).shuffle(order)
        composed = sd.compose(items)
        for delta in order:
            lower, upper = composed.epsilon_bounds(delta)
            first, last = fresh[delta]
            assert max(lower, first) <= min(upper, last)
            assert abs(upper - last) <= 0.02 * (last - first) + 1e-12 * last


def test_the_next_gap_after_a_bracket_of_infinite_width() -> None:
    """Why a coarse tolerance failed, in a moment."""
    assert _power_of_four(0.0) == _power_of_four(1e-9) == 4.0**-5
    assert [_power_of_four(share) for share in (1 / 300, 0.1, 0.9)] == [4.0**-5, 4.0**-2, 0.25]


# ---- Renyi ledgers


def ledger_of(path: Path, *, order: Any, **more: Any) -> sd.Ledger:
    budget = sd.ApproxDP(3000, delta="0.5", **more)
    return sd.Ledger(path, budget=budget, kept="renyi", orders=[order])


def cost(entry: Any) -> float:
    return next(float(each.rational) for name, each in entry.costs.items() if name != "delta")


def assert_costs(order: str, rate: str, noise: str, folder: Path, *, many: bool) -> None:
    law = fixed_batch(float(rate), 2 / float(noise), 14 + float(order))
    true = law.log_moment(float(order))
    step = sd.Subsampled(
        sd.GaussianMechanism(noise, sensitivity=2), rate, sampling="without_replacement"
    )
    run = fixed_run(rate, noise, 50)
    items = [
        (step, 1),
        (run, 50),
        (sd.compose([(step, 3), run]), 53),
        (sd.Parallel([run, sd.PureDP("1e-9")], split="by_position"), 50),
    ]
    for number, (item, count) in enumerate(items if many else items[:1]):
        charged = cost(ledger_of(folder / f"{number}.db", order=order).charge(item))
        assert count * true * (1 - 1e-9) <= charged <= count * true * (1 + 1e-3) + 1e-12


def test_the_renyi_cost_of_a_step_on_a_sample(tmp_path: Path) -> None:
    assert_costs("7.3", "0.1", "4", tmp_path, many=False)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["1.01", "2", "32"])
@pytest.mark.parametrize(("rate", "noise"), [("0.001", "2"), ("0.1", "4"), ("0.9", "10")])
def test_renyi_costs_of_steps_on_samples(order: str, rate: str, noise: str, tmp_path: Path) -> None:
    assert_costs(order, rate, noise, tmp_path, many=True)


def largest_delta(order: float, divergence: float, epsilon: float, least: float) -> float:
    """Return the largest p - e^epsilon q of two outcomes whose divergence is at most so much."""
    best = 0.0
    for log_p in np.linspace(math.log(least) - 1, -1e-9, 1500):
        other = math.log(-math.expm1(log_p))

        def excess(log_q: float, log_p: float = log_p, other: float = other) -> float:
            rest = math.log(-math.expm1(log_q))
            terms = (
                order * log_p + (1 - order) * log_q,
                order * other + (1 - order) * rest,
            )
            return float(np.logaddexp(*terms)) - (order - 1) * divergence

        low, high = log_p - 800.0, float(log_p)
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if excess(middle) > 0 else (low, middle)
        best = max(best, math.exp(log_p) - math.exp(epsilon + high))
    return best


@pytest.mark.parametrize(("epsilon", "delta", "order"), [(3, 0.2, 3), (0.5, 1e-8, 64)])
def test_no_law_at_a_renyi_limit_passes_the_budget(
    epsilon: float, delta: float, order: int, tmp_path: Path
) -> None:
    ledger = sd.Ledger(
        tmp_path / "l.db", budget=sd.ApproxDP(epsilon, delta=delta), kept="renyi", orders=[order]
    )
    limit = next(
        float(each[1].rational) for name, each in ledger.amounts().items() if name != "delta"
    )
    assert 0.99 * delta < largest_delta(order, limit, epsilon, delta) <= delta * (1 + 1e-9)
    assert largest_delta(order, 1.05 * limit, epsilon, delta) > delta


@pytest.mark.parametrize(
    "more",
    [
        {"kept": "gdp"},
        {"orders": [2]},
        {"conversion_delta": "1e-3"},
        {"adaptive": False},
        {"allow": [(sd.PureDP(1), 3)]},
    ],
)
def test_another_rule_without_a_budget_is_not_passed_over(
    more: dict[str, Any], tmp_path: Path
) -> None:
    made = sd.Ledger(
        tmp_path / "l.db", budget=sd.ApproxDP(1, delta="1e-2"), kept="renyi", orders=[2, 8]
    )
    with pytest.raises(sd.errors.InvalidParameter, match="a budget beside"):
        sd.Ledger(made.path, **more)
    assert sd.Ledger(made.path).filter == made.filter


# ---- truncated promises kept by the noise of zCDP


def worst_line(sigma: float, shift: float, smoothing: float, omega: float) -> float:
    """Return the largest D_a / a over orders below omega, of scale and place moved together."""
    y = np.linspace(-40, 40, 4001)
    x = np.sinh(sigma * y) / sigma

    def log_density(at: Any) -> Any:
        z = np.arcsinh(sigma * at) / sigma
        return -z * z / 2 - 0.5 * np.log(2 * math.pi * (1 + (sigma * at) ** 2))

    first, jacobian = log_density(x), 0.5 * np.log1p((sigma * x) ** 2)
    worst = 0.0
    for scale in (-smoothing, -smoothing / 2, 0.0, smoothing / 2, smoothing):
        # The sensitivity at either of two neighbours bounds how far their values lie apart.
        for place in (0.0, shift * min(1.0, math.exp(scale))):
            second = log_density((x - place) * math.exp(-scale)) - scale
            for order in (
                1.001,
                1.2,
                *(1 + (omega - 1) * part for part in (0.05, 0.2, 0.5, 0.999)),
            ):
                terms = order * first + (1 - order) * second + jacobian
                total = np.logaddexp.reduce(terms) + math.log(y[1] - y[0])
                worst = max(worst, float(total) / (order - 1) / order)
    return worst


@pytest.mark.parametrize(
    "query",
    [
        sd.queries.Median((0, 100)),
        sd.queries.Quantile("0.3", bounds=(0, 100)),
        sd.queries.TrimmedMean("0.2", bounds=(0, 100)),
    ],
)
@pytest.mark.parametrize(("rho", "omega"), [("0.01", "30"), ("0.5", "2.5"), ("1.9", "1000")])
def test_truncated_promises_below_omega(query: Any, rho: str, omega: str) -> None:
    data = [float(each) for each in np.linspace(0, 100, 401)]
    released = sd.release(
        data, query, guarantee=sd.TruncatedCDP(rho, omega=omega), rng=sd.SeededRandom(1)
    )
    said = str(released.mechanism)
    law = re.search(r"ArsinhNormal\(sigma=([\d./]+)\).*t = ([\d./]+) \(divided by ([\d.]+)\)", said)
    assert law, said
    hidden = re.search(r"sigma\^2 = ([\d./]+)", said)
    left = float(rho) - (1 / (2 * float(Fraction(hidden[1]))) if hidden else 0)
    sigma, smoothing, shift = (float(Fraction(each)) for each in law.groups())
    assert worst_line(sigma, shift, smoothing, float(omega)) <= left * (1 + 3e-6)
    assert worst_line(sigma, 1.2 * shift, 1.2 * smoothing, float(omega)) > left


# ---- implications at extreme values


@pytest.mark.parametrize(
    "epsilon", ["1e-300", "1e-100", "1e-9", "0.1", "5", "50", "745", "1e5", "1e9", "1e15"]
)
def test_what_pure_dp_implies_is_true_of_randomised_response(epsilon: str) -> None:
    with mpmath.workdps(1500 if "e-" in epsilon else 60):
        size = mpmath.mpf(epsilon)
        claim = sd.PureDP(epsilon)
        least = size * mpmath.tanh(size / 2)
        rho = claim.concentrated_rho()
        assert rho is not None
        assert least <= mpmath.mpf(rho.numerator) / rho.denominator
        assert rho <= Fraction(mpmath.nstr(least, 60)) * (1 + Fraction(1, 10**15)) + Fraction(
            1, 10**600
        )
        below = Fraction(mpmath.nstr(least * (1 - mpmath.mpf("1e-12")), 60))
        assert not claim.implies(sd.ZCDP(below))
        wrong = 1 / (1 + mpmath.exp(size))
        mu = claim.gaussian_mu()
        if mu is not None:
            bound = mpmath.mpf(mu.numerator) / mu.denominator
            assert mpmath.erfc(bound / 2 / mpmath.sqrt(2)) / 2 <= wrong
        if size > 100:
            return
        for omega in ("1.1", "3", "50"):
            line = claim.rho_below(Fraction(omega))
            assert line is not None
            given = mpmath.mpf(line.numerator) / line.denominator
            for share in ("0.01", "0.5", "0.99"):
                order = 1 + (mpmath.mpf(omega) - 1) * mpmath.mpf(share)
                right = 1 - wrong
                moment = right**order * wrong ** (1 - order) + wrong**order * right ** (1 - order)
                assert mpmath.log(moment) / (order - 1) / order <= given
