"""Brackets over every mixture of several distributions: small cases in full, and at scale."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import smoothdp as sd
from smoothdp.exact.parameters.numbers import exact_real
from smoothdp.smoothed.brackets.composition_cells import CompositionCell
from smoothdp.smoothed.brackets.many_laws import ManyLaws
from smoothdp.smoothed.brackets.mixtures import Mixtures
from smoothdp.smoothed.brackets.one_law import OneLaw
from smoothdp.smoothed.brackets.pair_hulls import PairHulls
from smoothdp.smoothed.brackets.shares import shares_of
from smoothdp.smoothed.brackets.two_counts import TwoCounts
from smoothdp.smoothed.many_values.many_values import every_composition

F = Fraction
CROSSING = (("0.1", "0.5", "0.4"), ("0.5", "0.1", "0.4"))


def laws(rng: random.Random, number: int, m: int) -> tuple[tuple[Fraction, ...], ...]:
    rows = [[rng.randint(2, 12) for _ in range(m)] for _ in range(number)]
    if rng.random() < 0.5:
        # The rarest of one is common in another.
        rows[1] = [rows[0][1], rows[0][0], *rows[0][2:]]
    return tuple(tuple(F(w, sum(row)) for w in row) for row in rows)


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(s, marks=pytest.mark.slow) for s in (0, *range(2, 8)))]
)
def test_every_mixture_of_two(seed: int) -> None:
    """Cells split as far as they go: never below the truth, wherever the largest mean is."""
    rng = random.Random(seed)
    vertices = laws(rng, 2, 3)
    n, epsilon = rng.randint(25, 60), exact_real(rng.choice(["0", "0.2", "1", "4"]), name="e")
    mechanism = sd.SamplingHistogram(n, n_draws=rng.randint(2, n - 1))
    exact = every_composition(mechanism, vertices, epsilon)
    assert exact is not None
    values = TwoCounts(mechanism, epsilon)
    mixtures = Mixtures(n, vertices, values, mechanism.cap.logs.upper)
    before = mixtures.upper
    for _ in range(8):
        if not mixtures.can_improve:
            break
        mixtures.split(target=-math.inf, tolerance=0.3)
        assert exact.logs.lower <= mixtures.upper <= before
        before = mixtures.upper
    found, composition = ManyLaws(n, vertices).bracket(mechanism, epsilon, tolerance=0.7)
    assert found.lower <= exact.logs.upper
    assert exact.logs.lower <= found.upper
    assert sum(composition) == n


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(s, marks=pytest.mark.slow) for s in (0, *range(2, 8)))]
)
def test_many_distributions(seed: int) -> None:
    """Pair by pair, each with the hull of its own: three to five distributions, all mixtures."""
    rng = random.Random(seed)
    number = rng.randint(3, 5)
    vertices = laws(rng, number, 3)
    n = {3: 16, 4: 12, 5: 9}[number]
    epsilon = exact_real(rng.choice(["0.2", "1", "4"]), name="e")
    mechanism = sd.SamplingHistogram(n, n_draws=rng.randint(2, n - 1))
    exact = every_composition(mechanism, vertices, epsilon)
    assert exact is not None
    upper = PairHulls(n, vertices).upper(
        TwoCounts(mechanism, epsilon), goal=-math.inf, tolerance=0.3
    )
    assert exact.logs.lower <= upper


INTERIOR = (
    (F(37, 143), F(49, 143), F(57, 143)),
    (F(49, 143), F(37, 143), F(57, 143)),
)


def test_an_interior_maximum() -> None:
    """1,500 records: the largest mean is at 750 of each (proofs/smoothed-delta#6)."""
    mechanism = sd.SamplingHistogram(1500, n_draws=2)
    values = TwoCounts(mechanism, exact_real("143/150000", name="e"))
    mixtures = Mixtures(1500, INTERIOR, values, mechanism.cap.logs.upper)
    inside = math.log(6.182221660476e-4)
    for _ in range(4):
        mixtures.split(target=-math.inf, tolerance=0.3)
        assert inside <= mixtures.upper


@pytest.mark.parametrize(
    ("n", "rate"),
    [
        (2 * 10**4, "0.97"),
        pytest.param(10**5, "0.97", marks=pytest.mark.slow),
        pytest.param(10**6, "0.9", marks=pytest.mark.slow),
    ],
)
def test_the_gap_of_crossing_distributions_is_closed(n: int, rate: str) -> None:
    """By the least shares alone ln delta was known to lie in [-32.1, -25.2] at 1e5 and .97."""
    mechanism = sd.SamplingHistogram(n, sampling_rate=rate)
    result = sd.smoothed_delta(mechanism, sd.DataModel(CROSSING), epsilon="0.5")
    assert result.log_delta - result.log_lower <= 0.75
    assert result.lower < result.delta
    assert result.method.startswith("proved upper bound over every mixture")
    assert result.guarantee.implies(
        sd.SmoothedDP("0.5", delta=repr(2 * result.delta), model=result.guarantee.model)
    )
    alone = sd.smoothed_delta(mechanism, sd.DataModel(CROSSING[:1]), epsilon="0.5")
    assert alone.log_lower <= result.log_delta


def test_the_bound_of_a_single_composition() -> None:
    """Two names of one distribution: half of each is that distribution."""
    n, law = 10**6, (F(1, 5), F(3, 10), F(1, 2))
    values = TwoCounts(sd.SamplingHistogram(n, n_draws=990_000), exact_real("0.5", name="e"))
    alone = OneLaw(n, shares_of(law)).bracket(values, tolerance=0.4)
    mixtures = Mixtures(n, (law, law), values, 0.0)
    cell = CompositionCell(n, (n // 2, n // 2))
    upper = mixtures._bound(cell, 100.0, 0.4, -math.inf)
    # The law of both names is that of one; its mean is divided by P(J_1, J_2 <= n / 2).
    first, second = map(float, cell.shares(100.0))
    chosen = np.arange(n // 2 + 1)
    beside = stats.binom.cdf(n // 2, n - chosen, second / (1 - first))
    nats = -math.log(float(np.sum(stats.binom.pmf(chosen, n, first) * beside)))
    assert nats > 0.9
    assert alone.lower + nats - 1e-3 <= upper <= alone.upper + nats + 3


def test_the_worst_cell_counts() -> None:
    n = 2000
    values = TwoCounts(sd.SamplingHistogram(n, n_draws=1800), exact_real("0.5", name="e"))
    first = tuple(F(share) for share in CROSSING[0])
    second = tuple(F(share) for share in CROSSING[1])
    alone = OneLaw(n, shares_of(first)).bracket(values, tolerance=0.4)
    mixtures = Mixtures(n, (first, second), values, 0.0)
    for _ in range(3):
        mixtures.split(target=alone.lower, tolerance=0.4)
        assert alone.lower <= mixtures.upper
