"""The accuracy benchmark's own arithmetic: errors, ratios, verdicts, and what peers spend."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from benchmarks.accuracy import quantiles
from benchmarks.accuracy.cells import Cell, guarantee_of, statistic
from benchmarks.accuracy.error_bars import settings as bar_settings
from benchmarks.accuracy.means import settings as mean_settings
from benchmarks.accuracy.ratios import Ratio, Target, Targets, ratio
from benchmarks.accuracy.smooth import clamped_squares, parts
from benchmarks.baselines import diffprivlib_peer, opendp_peer
from scipy import stats

from smoothdp.claims import ZCDP, PureDP
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.queries import Median, Quantile

HALF = Fraction(1, 2)


def test_ratios_by_hand() -> None:
    found = ratio(np.array([4.0, 4.0]), np.array([1.0, 1.0]))
    assert found == Ratio(2.0, 2.0, 2.0)
    assert str(found) == "2 (2-2)"
    assert "loss" in str(ratio(np.ones(5), np.full(5, 4.0)))
    mixed = ratio(np.array([1.0, 9.0] * 30), np.array([9.0, 1.0] * 30))
    assert mixed.low < 1 < mixed.high
    assert "tie" in str(mixed)


def test_bootstrap_intervals_cover() -> None:
    """The ratio 2 of errors of exponential law: about 95 of 100."""
    rng = np.random.default_rng(4)
    hits = 0
    for _ in range(200):
        found = ratio(4 * rng.exponential(size=60), rng.exponential(size=60))
        hits += found.low <= 2 <= found.high
    assert 170 <= hits <= 199


def test_verdicts() -> None:
    target = Target("a", 1.5)
    assert "no cell" in target.line()
    target.add("x", Ratio(1.7, 1.6, 1.8))
    assert " reached: 1 of 1" in target.line()
    target.add("y", Ratio(1.6, 1.4, 1.8))
    assert "NOT reached: 1 of 2, worst 1.6 (1.4-1.8), y" in target.line()
    upper = Target("b", 3, at_most=True)
    upper.add("x", 2.5)
    assert " reached" in upper.line()
    upper.add("y", Ratio(2.9, 2.8, 3.1))
    assert "NOT reached" in upper.line()
    middle = Target("c", 5, judged="median")
    for value in (1.0, 6.0, 100.0):
        middle.add("x", value)
    assert " reached: 6 in the median of 3" in middle.line()


def test_rows_are_kept_by_their_text(capsys: pytest.CaptureFixture[str]) -> None:
    targets = Targets()
    targets.row("a", 1).add("x", 2.0)
    targets.row("a", 1).add("y", 3.0)
    targets.show()
    assert "2 of 2" in capsys.readouterr().out


def test_the_reduced_run_has_a_cell_for_every_target() -> None:
    """Of the tables that are counted by n min(q, 1 - q) epsilon or by n epsilon."""
    cells = list(quantiles.settings(False))
    for low, high in ((120, math.inf), (60, 120), (15, 60), (0, 6)):
        for kind in ("pure", "zcdp"):
            assert any(c.kind == kind and low <= c.kappa(q) < high for c, q, _ in cells)
    assert any(cell.width == 10 and cell.kappa(q) >= 120 for cell, q, _ in cells)
    means = [cell for cell, _ in mean_settings(False)]
    for law in ("normal", "laplace", "t3"):
        assert any(cell.law == law and cell.size() >= 500 for cell in means)
    assert {s.law for s in bar_settings(False)} == {s.law for s in bar_settings(True)}
    assert {s.kind for s in bar_settings(False)} == {s.kind for s in bar_settings(True)}
    assert len(list(quantiles.settings(True))) > 10 * len(cells)


@pytest.mark.parametrize(
    ("kind", "bounds"),
    [
        ("pure", (-200.0, 300.0)),
        ("zcdp", (15.0, 21.0)),
        pytest.param("pure", (15.0, 21.0), marks=pytest.mark.slow),
        pytest.param("zcdp", (-200.0, 300.0), marks=pytest.mark.slow),
    ],
)
def test_squares_are_those_of_releases(kind: str, bounds: tuple[float, float]) -> None:
    """Of clamped releases: where noise is far below the bounds, and where they cut it."""
    column = stats.lognorm(s=1, scale=20).rvs(size=151, random_state=np.random.default_rng(2))
    query = Median(bounds, window=1)
    truth = query.value(column)
    made = SmoothNoise.calibrate(
        Median(bounds), guarantee=guarantee_of("1", kind), n_records=151, clamp=True
    )
    expected = float(clamped_squares(made, np.array([truth]), [column])[0])
    rng = SeededRandom(3)
    squares = np.array([(made.release(column, rng=rng).value - truth) ** 2 for _ in range(3000)])
    assert abs(squares.mean() - expected) < 5 * squares.std() / math.sqrt(len(squares))
    values, noises = parts(made, [column])
    assert values[0] == pytest.approx(made.windowed.value(column))
    assert noises[0] > 0


def test_cells() -> None:
    cell = Cell("lognormal", 1001, "1/2", 10, "zcdp")
    assert cell.guarantee() == ZCDP("0.125")
    assert cell.kappa(Fraction(9, 10)) == pytest.approx(50.05)
    first, again = (next(c.columns(1)) for c in (cell, cell._replace(width=1, epsilon="2")))
    assert np.array_equal(first, again)
    low, high = cell.bounds()
    assert (high - low) / stats.lognorm(s=1, scale=20).std() == pytest.approx(60, rel=0.01)
    assert statistic(HALF, (0, 1)) == Median((0, 1))
    assert statistic(Fraction(1, 10), (0, 1)) == Quantile("0.1", bounds=(0, 1))


# ---- peers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("guarantee", [PureDP(1), ZCDP(HALF)], ids=["pure", "zcdp"])
def test_opendp_spends_the_budget(guarantee: Any) -> None:
    pytest.importorskip("opendp")
    budget = 1.0 if isinstance(guarantee, PureDP) else 0.5
    for peer in (
        opendp_peer.quantile(0.5, 101, guarantee, [0.0, 1.0, 2.0]),
        opendp_peer.mean(101, guarantee, (0, 10)),
    ):
        made: Any = peer
        assert budget * 0.999 < made.map(2) <= budget * (1 + 2e-9)


def test_opendp_errs_as_the_exponential_mechanism() -> None:
    """As measured: with a fine grid within 20% of the formula, and never twice as good."""
    pytest.importorskip("opendp")
    column = np.random.default_rng(5).normal(100, 15, 1001)
    bounds = (50.0, 160.0)
    truth = float(np.median(column))
    peer = opendp_peer.quantile(0.5, 1001, PureDP("0.5"), list(np.linspace(*bounds, 2001)))
    assert peer is not None
    drawn = np.array([(peer(column) - truth) ** 2 for _ in range(600)])
    formula = quantiles.exponential_squares(
        0.5, PureDP("0.5"), bounds, np.array([truth]), [column]
    )[0]
    assert 0.7 < math.sqrt(drawn.mean() / formula) < 1.15


def test_diffprivlib_errs_as_the_exponential_mechanism() -> None:
    pytest.importorskip("diffprivlib")
    column = np.random.default_rng(5).normal(100, 15, 1001)
    bounds = (50.0, 160.0)
    truth = float(np.median(column))
    peer = diffprivlib_peer.quantile(0.5, PureDP("0.5"), bounds)
    assert peer is not None
    drawn = np.array([(peer(column) - truth) ** 2 for _ in range(1000)])
    formula = quantiles.exponential_squares(
        0.5, PureDP("0.5"), bounds, np.array([truth]), [column]
    )[0]
    assert 0.85 < math.sqrt(drawn.mean() / formula) < 1.15
