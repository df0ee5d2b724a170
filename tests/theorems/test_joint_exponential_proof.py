"""Attacks on docs/proofs/joint-quantiles.md, exponential mechanism: all tiny databases, exact laws.

Random tests have fixed seeds and a false-alarm rate of 1e-6 each; a wrong law is rejected by the
same test.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

import smoothdp as sd
from smoothdp.exact.random.coin import exponential_coin
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.mechanisms.quantiles.joint import exponential_draws
from smoothdp.mechanisms.quantiles.joint.cells import Cells
from smoothdp.mechanisms.quantiles.joint.chain_tables import ChainTables, largest_slack
from smoothdp.mechanisms.quantiles.joint.exponential_draws import ExponentialDraws
from smoothdp.mechanisms.quantiles.joint.joint_rule import joint_rule
from smoothdp.testing import frequency_test

LEVEL = 1e-6
Law = dict[tuple[int, ...], float]


def missed(v: Sequence[float], x: Sequence[float], levels: Sequence[Fraction]) -> float:
    """D(v; x), word for word."""
    ends = [-math.inf, *v, math.inf]
    q = [Fraction(0), *levels, Fraction(1)]
    return sum(
        abs(sum(low <= value < high for value in x) - float(len(x) * (q[j + 1] - q[j])))
        for j, (low, high) in enumerate(itertools.pairwise(ends))
    )


def cell_law(
    cells: Cells, levels: Sequence[Fraction], rate: Fraction, *, factorial: bool = True
) -> tuple[Law, float]:
    """All choices of cells with their probabilities, and the sum of their weights."""
    n = cells.n_records
    law: Law = {}
    for c in itertools.combinations_with_replacement(range(n + 1), len(levels)):
        away = [Fraction(0), *(i - n * q for i, q in zip(c, levels, strict=True)), Fraction(0)]
        weight = math.exp(-float(rate * sum(abs(b - a) for a, b in itertools.pairwise(away))))
        for cell, count in Counter(c).items():
            weight *= float(cells.length(cell)) ** count
            weight /= math.factorial(count) if factorial else 1
        if weight:
            law[c] = weight
    total = sum(law.values())
    return {c: weight / total for c, weight in law.items()}, total


def columns(count: int, seed: int) -> Iterator[tuple[Cells, list[Fraction], Fraction]]:
    """Small columns with ties, values beyond the bounds, and levels close together."""
    rng = np.random.default_rng(seed)
    for place in range(count):
        x = rng.normal(size=int(rng.integers(1, 9))) * 3
        if place % 2:
            x = np.round(x)
        tenths = sorted(set(rng.integers(1, 20, size=int(rng.integers(1, 5))).tolist()))
        rate = Fraction(int(rng.integers(1, 60)), 20)
        yield Cells.of(x, (Fraction(-5), Fraction(9, 2))), [Fraction(k, 20) for k in tenths], rate


# ---- 6 and 7: privacy ----------------------------------------------------------------------------

POINTS = (0.0, 0.25, 0.5, 1.0)
BETWEEN = (0.1, 0.3, 0.7)


def worst_loss(n: int, levels: Sequence[Fraction], epsilon: str, *, factorial: bool) -> float:
    """The largest loss over all databases of n points, their neighbours, and outputs."""
    rate = Fraction(epsilon) / 4
    densities: dict[tuple[float, ...], list[float]] = {}
    outputs = list(itertools.combinations_with_replacement(BETWEEN, len(levels)))
    for x in itertools.combinations_with_replacement(POINTS, n):
        cells = Cells.of(np.array(x), (Fraction(0), Fraction(1)))
        total = cell_law(cells, levels, rate, factorial=factorial)[1]
        found = []
        for v in outputs:
            density = math.exp(-float(rate) * missed(v, x, levels)) / total
            if not factorial:
                same = Counter(sum(value < p for value in x) for p in v)
                density *= math.prod(math.factorial(k) for k in same.values())
            found.append(math.log(density))
        densities[x] = found
    worst = 0.0
    for x, y in itertools.combinations(densities, 2):
        if sum((Counter(x) & Counter(y)).values()) == n - 1:
            pairs = zip(densities[x], densities[y], strict=True)
            worst = max(worst, *(abs(a - b) for a, b in pairs))
    return worst


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_exponential_losses_on_all_tiny_databases(epsilon: str) -> None:
    ratios = []
    for n in (1, 2, 3):
        for levels in (["1/2"], ["1/4"], ["1/3", "2/3"], ["1/10", "1/2", "9/10"]):
            qs = [Fraction(q) for q in levels]
            ratios.append(worst_loss(n, qs, epsilon, factorial=True) / float(epsilon))
    assert 0.5 < max(ratios) <= 1 + 1e-9


def test_the_bound_is_nearly_attained() -> None:
    """Gaps as unequal as they can be: nearly all of epsilon is lost."""
    rate, levels, tiny = Fraction(1, 4), [Fraction(1, 2)], 2.0**-30
    found = []
    for x in ([-tiny, 0.0], [0.0, 1.0]):
        cells = Cells.of(np.array(x), (Fraction(-tiny), Fraction(1)))
        total = cell_law(cells, levels, rate)[1]
        found.append(-0.25 * missed([-tiny / 2], x, levels) - math.log(total))
    assert 0.99 < abs(found[0] - found[1]) <= 1 + 1e-12


def test_without_the_factorial_it_is_not_private() -> None:
    halves, epsilon = [Fraction(1, 3), Fraction(2, 3)], "0.1"
    assert worst_loss(2, halves, epsilon, factorial=False) > 5 * float(epsilon)
    # The example of the page.
    rate, levels = Fraction(1, 40), [Fraction(k, 10) for k in range(1, 10)]
    chances = []
    for x in (0.5, 0.0):
        cells = Cells.of(np.array([x]), (Fraction(0), Fraction(1)))
        law = cell_law(cells, levels, rate, factorial=False)[0]
        upper = law.get((1,) * 9, 0.0)
        chances.append(upper if x else upper / 2**9)
    assert math.log(chances[0] / chances[1]) > math.log(512 / 10) - 0.1


# ---- 8: tables and errors ------------------------------------------------------------------------


def test_tables_sum_over_all_cells() -> None:
    for cells, levels, rate in columns(40, seed=1):
        n = cells.n_records
        tables = ChainTables(cells.log_lengths(), tuple(n * q for q in levels), float(rate), n)
        total = cell_law(cells, levels, rate)[1]
        assert tables.log_total == pytest.approx(math.log(total), abs=1e-13)
        assert tables.slack <= largest_slack(n, len(levels), float(rate))


def test_expected_errors() -> None:
    """One level: the sums of the reference values; two: an integral over a square, D literally."""
    data = [1, 2, 4, 7, 11, 16, 22]
    one = sd.JointExponentialQuantiles(["1/4"], bounds=(0, 30), guarantee=sd.PureDP("1/10"))
    assert one.rmse(data, target=[4]) == pytest.approx(13.477246221787601, rel=1e-14)
    levels = [Fraction(1, 3), Fraction(3, 5)]
    x, aims = [0.25, 0.5, 0.5, 0.875], (0.5, 0.25)
    two = sd.JointExponentialQuantiles(levels, bounds=(0, 1), guarantee=sd.PureDP(2))
    grid = (np.arange(64) + 0.5) / 64
    mass = square = 0.0
    for v, w in itertools.combinations_with_replacement(grid.tolist(), 2):
        density = math.exp(-missed((v, w), x, levels) / 2) * (1 if v < w else 0.5)
        mass += density
        square += density * ((v - aims[0]) ** 2 + (w - aims[1]) ** 2) / 2
    assert two.rmse(x, target=aims) == pytest.approx(math.sqrt(square / mass), rel=2e-4)


# ---- 9: draws ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "rare_bits"), [(1, 64), (2, 1), (3, 2)])
def test_draws_follow_the_law(seed: int, rare_bits: int) -> None:
    narrow = 0
    for cells, levels, rate in columns(4, seed=seed):
        targets = [cells.n_records * q for q in levels]
        # A large rate makes bands narrow, so that cells outside of them are drawn too.
        for factor in (1, 6):
            draws = ExponentialDraws(
                cells, targets=targets, rate=rate * factor, rare_bits=rare_bits
            )
            narrow += not draws.tables.is_whole
            rng = SeededRandom(seed)
            seen = Counter(draws.draw_cells(rng) for _ in range(400))
            law = cell_law(cells, levels, rate * factor)[0]
            assert set(seen) <= set(law)
            p = frequency_test([seen[c] for c in law], list(law.values()))
            assert p > LEVEL / 12
    assert narrow or rare_bits > 2


def test_a_wrong_law_of_cells_is_rejected() -> None:
    cells = Cells.of(np.array([1.0, 2.0, 4.0]), (Fraction(0), Fraction(5)))
    levels, rate = [Fraction(1, 3), Fraction(1, 2), Fraction(2, 3)], Fraction(1, 2)
    draws = ExponentialDraws(cells, targets=[3 * q for q in levels], rate=rate)
    rng = SeededRandom(4)
    seen = Counter(draws.draw_cells(rng) for _ in range(3000))
    law, wrong = (cell_law(cells, levels, rate, factorial=f)[0] for f in (True, False))
    assert frequency_test([seen[c] for c in law], list(law.values())) > LEVEL
    assert frequency_test([seen[c] for c in wrong], list(wrong.values())) < LEVEL


def test_points_are_uniform_in_their_cells() -> None:
    cells = Cells.of(np.array([0.0, 10.0]), (Fraction(0), Fraction(10)))
    draws = ExponentialDraws(cells, targets=[Fraction(2, 3), Fraction(4, 3)], rate=Fraction(1))
    rng = SeededRandom(5)
    found = [draws.draw(rng, step=Fraction(1, 1 << 30), limits=(0, 10 << 30)) for _ in range(1500)]
    low, high = np.array(found).T / (10 << 30)
    assert (low <= high).all()
    assert stats.kstest(low, stats.beta(1, 2).cdf).pvalue > LEVEL
    assert stats.kstest(high, stats.beta(2, 1).cdf).pvalue > LEVEL
    assert stats.kstest(low, stats.uniform().cdf).pvalue < LEVEL


def test_the_bound_of_the_proposal_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every choice of cells inside the bands: weight <= e^B chance, and nearly all are accepted."""
    script: list[int] = []
    sizes: list[int] = []

    def scripted(log_weights: Any, rng: object) -> tuple[int, Fraction]:
        del rng
        weights = exponential_draws.whole_weights(log_weights)
        allowed = np.flatnonzero(weights)
        place = int(allowed[script[len(sizes)] if len(sizes) < len(script) else 0])
        sizes.append(len(allowed))
        return place, Fraction(int(weights[place]), int(weights.sum()))

    monkeypatch.setattr(exponential_draws, "_choose", scripted)
    seen = 0
    for cells, levels, rate in columns(8, seed=6):
        targets = [cells.n_records * q for q in levels]
        draws = ExponentialDraws(cells, targets=targets, rate=rate)
        script, law, accepted = [], {}, 0.0
        while True:
            sizes.clear()
            c, chance = draws._proposed(SeededRandom(1))
            law[c] = chance
            with mpmath.workdps(40):
                weight = mpmath.exp(mpmath.mpf(float(-draws._bound)))
                exponent = -draws._rate * draws.variation(c)
                weight *= mpmath.exp(mpmath.mpf(exponent.numerator) / exponent.denominator)
                ratio = draws._measure(c) / chance
                share = weight * ratio.numerator / ratio.denominator
            assert share <= 1
            accepted += float(share) * float(chance)
            # The next path, in order.
            script = [*script, *[0] * (len(sizes) - len(script))]
            while script and script[-1] + 1 >= sizes[len(script) - 1]:
                script.pop()
            if not script:
                break
            script[-1] += 1
        assert sum(law.values()) == 1
        assert 1 - 1e-4 < accepted <= 1
        assert set(law) == set(cell_law(cells, levels, rate)[0])
        seen += len(law)
    assert seen > 200


def test_sums_of_logarithms_are_as_accurate_as_said() -> None:
    rng = np.random.default_rng(7)
    for scale in (1.0, 30.0, 3000.0):
        values = rng.normal(size=600) * scale
        sums = np.logaddexp.accumulate(values)
        with mpmath.workdps(60):
            total = mpmath.mpf(0)
            for place, value in enumerate(values.tolist()):
                total += mpmath.exp(value)
                error = abs(mpmath.log(total) - mpmath.mpf(float(sums[place])))
                assert error <= (place + 1) * 2.0**-52 * (float(np.max(np.abs(values))) + 64)
    assert np.logaddexp(-np.inf, -np.inf) == -np.inf


def test_the_coin() -> None:
    rng = SeededRandom(8)
    for ratio, exponent in ((Fraction(3), Fraction(-2)), (Fraction(1, 10**400), Fraction(920))):
        chance = math.exp(math.log(ratio.numerator) - math.log(ratio.denominator) + float(exponent))
        hits = sum(exponential_coin(ratio, exponent, rng) for _ in range(4000))
        assert frequency_test([hits, 4000 - hits], [chance, 1 - chance]) > LEVEL
        wrong = chance * 0.7
        assert frequency_test([hits, 4000 - hits], [wrong, 1 - wrong]) < LEVEL
    with pytest.raises(ArithmeticError):
        exponential_coin(Fraction(2), Fraction(0), rng)


# ---- 10 and the rule -----------------------------------------------------------------------------


@pytest.mark.parametrize("m", [1, 2, 4])
def test_ranks_missed_at_equal_gaps(m: int) -> None:
    """The walk on a fine grid, by powers of its kernel."""
    e = np.linspace(-24, 24, 961)
    kernel = np.exp(-np.abs(e[:, None] - e[None, :]))
    start = np.exp(-np.abs(e))
    forward = [start]
    for _ in range(m - 1):
        forward.append(kernel @ forward[-1])
    found = 0.0
    for j in range(m):
        law = forward[j] * forward[m - 1 - j]
        found += float((law * e * e).sum() / law.sum()) / m
    assert found == pytest.approx((2 * m + 1) / 6, rel=2e-3)


def test_the_rule_goes_by_public_parameters() -> None:
    def chosen(m: int, n: int, epsilon: object) -> str:
        levels = [Fraction(k, m + 1) for k in range(1, m + 1)]
        return joint_rule(levels, n_records=n, guarantee=sd.PureDP(epsilon))  # type: ignore[arg-type]

    limits = {1_000: 3, 2_000: 4, 5_000: 7, 10_000: 9, 100_000: 12}
    for n, most in limits.items():
        got = [chosen(m, n, 1) for m in range(1, 22)]
        assert got == ["poly_place"] * most + ["exponential"] * (21 - most)
    # About epsilon n counts.
    assert [chosen(m, 10_000, "1/2") for m in (6, 9)] == ["poly_place", "exponential"]
