"""The benchmark of tables: its errors against draws, its rivals against the library."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from benchmarks.accuracy.cells import guarantee_of
from benchmarks.accuracy.ratios import Targets
from benchmarks.baselines import exponential_mechanism, permute_and_flip
from benchmarks.tables import group_errors, means, quantiles, speed
from benchmarks.tables.public_tables import GroupedColumn
from scipy import stats

from smoothdp.exact.random.entropy import SeededRandom

HALF, NINE = Fraction(1, 2), Fraction(9, 10)


def test_plain_quantiles() -> None:
    data = np.array([1.0, 2.0, 4.0, 8.0])
    assert group_errors.plain_quantile(data, HALF) == 3
    assert group_errors.plain_quantile(data, Fraction(3, 5)) == 4
    assert group_errors.plain_quantile(data, NINE) == 8
    assert group_errors.plain_quantile(data[:1], HALF) == 1


@pytest.mark.parametrize(
    ("step", "bounds"),
    [
        (0, (-60.0, 400.0)),
        (1, (10.0, 30.0)),
        pytest.param(0, (10.0, 30.0), marks=pytest.mark.slow),
        pytest.param(1, (-60.0, 400.0), marks=pytest.mark.slow),
    ],
)
def test_errors_are_those_of_releases(step: int, bounds: tuple[float, float]) -> None:
    """Within five standard errors of 2,000 draws: a false alarm in two million."""
    data = np.sort(np.clip(np.random.default_rng(2).lognormal(3, 1, 151).round(2), *bounds))
    guarantee = guarantee_of("1", "pure", neighbours="add_remove")
    made = group_errors.made_for(HALF, bounds, guarantee, 151, step=step)
    target = group_errors.plain_quantile(data, HALF)
    rng = SeededRandom(3)
    squares = np.array([(made.release(data, rng=rng).value - target) ** 2 for _ in range(2000)])
    expected = group_errors.ours(data, made, target, step=step)
    slack = 5 * squares.std() / math.sqrt(len(squares))
    assert abs(squares.mean() - expected) < slack
    assert abs(squares.mean() - 2 * expected) > slack


@pytest.mark.parametrize("q", [0.5, 0.9, 0.25])
def test_the_exponential_mechanism_is_private_and_no_better(q: float) -> None:
    """Every neighbour of columns of {0..3}: losses up to epsilon, which is attained."""
    z, worst = 1 / (2 * max(q, 1 - q)), 0.0
    points = np.array([0.5, 1.5, 2.5, 3.5])

    def density(x: tuple[float, ...]) -> Any:
        low, high, chance = exponential_mechanism.pieces(np.array(x), q * len(x), (0.0, 4.0), z)
        place = np.searchsorted(high, points, side="right")
        return chance[place] / (high - low)[place]

    for n in range(4):
        for x in itertools.combinations_with_replacement((0.0, 1.0, 2.0, 3.0, 4.0), n):
            for added in (0.0, 1.0, 2.0, 3.0, 4.0):
                loss = np.log(density(x) / density((*x, added)))
                worst = max(worst, float(np.abs(loss).max()))
    assert 0.5 < worst <= 1 + 1e-12


def test_rounded_outputs_of_the_exponential_mechanism() -> None:
    data, bounds = np.array([2.0, 3.0, 3.0, 7.0, 8.0]), (0.0, 10.0)
    guarantee = guarantee_of("1/2", "pure", neighbours="add_remove")
    rng = np.random.default_rng(1)
    drawn = np.array(
        [exponential_mechanism.draw(data, 2.5, bounds, 0.5, rng) for _ in range(20000)]
    )
    for step, found in ((0, drawn), (1, np.round(drawn))):
        squares = (found - 3) ** 2
        expected = group_errors.exponential(data, HALF, bounds, guarantee, 3.0, step=step)
        assert abs(squares.mean() - expected) < 5 * squares.std() / math.sqrt(len(squares))


@pytest.mark.parametrize("q", [0.5, 0.9])
def test_candidates_are_drawn_as_opendp_draws_them(q: float) -> None:
    """A chi-squared test at 1e-6, and Gumbel noise in the place of exponential is rejected."""
    pytest.importorskip("opendp")
    import opendp.prelude as dp

    dp.enable_features("contrib")
    data = np.array([0.5, 0.6, 1.0, 1.5, 1.5, 3.0, 3.0, 3.0, 7.0])
    grid, epsilon = np.array([0.0, 1.0, 2.0, 5.0]), 0.7
    scale = permute_and_flip.scale_of(q, epsilon)
    made: Any = dp.m.make_private_quantile(
        dp.vector_domain(dp.atom_domain(T=float, nan=False)),
        dp.symmetric_distance(),
        dp.max_divergence(),
        candidates=grid.tolist(),
        alpha=q,
        scale=scale,
    )
    assert epsilon * (1 - 1e-9) < made.map(1) < epsilon * (1 + 1e-9)
    counts = np.zeros(4)
    for _ in range(4000):
        counts[np.searchsorted(grid, made(data))] += 1
    scores = permute_and_flip.penalties(data, q, grid)
    law = permute_and_flip.chances(scores, scale)
    assert law.sum() == pytest.approx(1, abs=1e-12)
    assert stats.chisquare(counts, law * 4000).pvalue > 1e-6
    gumbel = np.exp(-(scores - scores.min()) / scale)
    assert stats.chisquare(counts, gumbel / gumbel.sum() * 4000).pvalue < 1e-6


def test_many_candidates_have_chances_that_add_up() -> None:
    data = np.sort(np.random.default_rng(1).lognormal(5, 1, 3000))
    for size in (16, 10001):
        grid = np.linspace(0, 20000, size)
        for scale in (0.5, 20.0, 1e4):
            found = permute_and_flip.chances(permute_and_flip.penalties(data, 0.5, grid), scale)
            assert found.sum() == pytest.approx(1, abs=1e-9)


def test_a_small_run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table of the benchmark on a few groups."""
    rng = np.random.default_rng(5)
    small = [rng.lognormal(5, 1, n).round() for n in (40, 300, 1500, 1500, 1600, 1700)]
    tables = [
        GroupedColumn("a", (0.0, 5000.0), small),
        GroupedColumn("b", (0.0, 5000.0), small, step=1),
    ]
    monkeypatch.setattr(quantiles, "public_tables", lambda: iter(tables))
    monkeypatch.setattr(group_errors, "GRIDS", (26, 501))
    samples = [means.Sample.of(rng.lognormal(0, 1, 301))]
    monkeypatch.setattr(means, "settings", lambda _full: iter([("x", 301, "1", samples)]))
    monkeypatch.setattr(speed, "large_table", lambda *_: None)
    targets = Targets()
    quantiles.show_quantiles(False, targets)
    means.show_means(False, targets)
    targets.show()
    shown = capsys.readouterr().out
    assert "NOT reached" in shown or " reached" in shown
    for text in ("a 0.9 zcdp eps=1", "b 0.5 pure eps=2", "skewed means, bounds 1000x", "shifted"):
        assert text in shown


def test_a_large_table_says_its_time_and_memory(capsys: pytest.CaptureFixture[str]) -> None:
    speed.large_table(2000, 10)
    assert "2,000 rows and 10 groups" in capsys.readouterr().out
