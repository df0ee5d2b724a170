"""What the pictures of the papers show: series, scales, fits, regions and steps, not pixels."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from smoothdp.claims.curves.pair import Pair
from smoothdp.errors import InvalidParameter
from smoothdp.paper_bounds import chen_long_tradeoff
from smoothdp.papers import DeviationFigure, GradientFigure, SmoothedElectionFigure
from smoothdp.papers.gaussian_shuffling.figures import (
    FixedSetFigure,
    ShufflingFigure,
    claimed_steps,
    panel_curves,
)
from smoothdp.papers.polyplace.figures import DeviationRow
from smoothdp.papers.smoothed_dp.decay import (
    exponential_fit,
    exponentials_through,
    powers_through,
    slopes_through,
)
from smoothdp.papers.smoothed_dp.figure_2 import EPSILONS, SmoothedRow
from smoothdp.papers.smoothed_dp.gradients import GradientRow, databases, gradient_rows
from smoothdp.plots.canvas import PINK
from smoothdp.plots.panels import Look, Panel, plot_panels
from tests.theorems.computed_figures import smoothed_election_figure

LN10 = math.log(10)


def line(axes: Any, label: str) -> Any:
    return next(one for one in axes.get_lines() if one.get_label() == label)


def bend(axes: Any, label: str) -> float:
    """Return how far a drawn line is from the chord between its ends, in its height."""
    points = axes.transData.transform(np.column_stack(line(axes, label).get_data()))
    chord = np.interp(points[:, 0], points[[0, -1], 0], points[[0, -1], 1])
    height = abs(points[0, 1] - points[-1, 1])
    return float(np.abs(points[:, 1] - chord).max() / height)


def words(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


# ---- Figure 2 of paper 1 ----------------------------------------------------------------------


def election(logs: Any) -> SmoothedElectionFigure:
    """Return the figure of a law ln delta = logs(n) / epsilon's rank, without computing it."""
    sizes = [20_000, *range(100_000, 1_000_001, 100_000)]
    rows = []
    for n in sizes:
        values = tuple(logs(n) * rank for rank in (1, 2, 3, 4))
        rows.append(SmoothedRow(n, n // 500, values, values))
    return SmoothedElectionFigure(Fraction(1, 500), EPSILONS, 56, tuple(rows))


def test_an_exponential_is_straight_where_figure_2_left_is_drawn() -> None:
    """And only an exponential: a root of n is bent, and so is every law with linear delta."""
    figure = election(lambda n: -2e-5 * n)
    axes = plot_panels([figure.panel()], columns=1)
    assert axes.get_xscale() == axes.get_yscale() == "linear"
    for epsilon in EPSILONS:
        assert bend(axes, f"epsilon = {epsilon}") < 1e-9
    root = plot_panels([election(lambda n: -0.02 * math.sqrt(n)).panel()], columns=1)
    assert bend(root, "epsilon = 7") > 0.1
    assert bend(axes, "1/n") > 0.1


def test_figure_2_left_as_the_paper_draws_it() -> None:
    figure = smoothed_election_figure()
    panel, fits = figure.panel(), figure.fits()
    assert max(panel.xs) == 10**6
    fit_labels = [f"fit exp({fits[epsilon].slope:.3g} n)" for epsilon in EPSILONS]
    assert list(panel.curves) == [
        *(f"epsilon = {epsilon}" for epsilon in EPSILONS),
        "1/n",
        *fit_labels,
        "ordinary DP, T/n",
    ]
    # DP: the share drawn, whatever epsilon; the share lost is 1/500 at these n.
    assert panel.curves["ordinary DP, T/n"] == pytest.approx([math.log10(0.998)] * len(panel.xs))
    axes = plot_panels([panel], columns=1)
    ordinary = line(axes, "ordinary DP, T/n")
    assert (ordinary.get_color(), ordinary.get_linestyle()) == (PINK, "--")
    assert words(axes) == list(panel.curves)
    for epsilon, label in zip(EPSILONS, fit_labels, strict=True):
        fit, curve = line(axes, label), line(axes, f"epsilon = {epsilon}")
        assert fit.get_linestyle() == ":"
        assert fit.get_color() == curve.get_color()
        assert bend(axes, label) < 1e-9
        assert curve.get_marker() not in {"", "None"}
    # At epsilon = 7 the curve is as straight as rounding 1 - .998 of n to whole votes lets it be.
    assert bend(axes, "epsilon = 7") < 0.01
    # The label of a tick is the power of ten at its height.
    for tick in axes.get_yticklabels():
        assert 10.0 ** tick.get_position()[1] == pytest.approx(float(tick.get_text()), rel=1e-9)


def test_the_fits_of_figure_2_left_are_least_squares_and_printed() -> None:
    figure = smoothed_election_figure()
    rows = [row for row in figure.sizes if 10**5 <= row.n_records <= 10**6]
    assert len(rows) == 10
    text = figure.text()
    for position, epsilon in enumerate(EPSILONS):
        ns = [Fraction(row.n_records) for row in rows]
        logs = [Fraction(row.log_deltas[position]) for row in rows]
        middle, mean = sum(ns, Fraction(0)) / 10, sum(logs, Fraction(0)) / 10
        above = sum(((n - middle) * (y - mean) for n, y in zip(ns, logs, strict=True)), Fraction(0))
        slope = above / sum(((n - middle) ** 2 for n in ns), Fraction(0))
        fit = figure.fits()[epsilon]
        assert fit.slope == pytest.approx(float(slope), rel=1e-9)
        worst = max(abs(y - mean - slope * (n - middle)) for n, y in zip(ns, logs, strict=True))
        assert fit.worst_factor == pytest.approx(math.exp(worst), rel=1e-9)
        assert f"{fit.slope:.4g}" in text
    # With L votes lost delta is about share^L at epsilon = 7: the slope for each lost vote.
    assert figure.fits()["7"].slope * 500 == pytest.approx(math.log(0.9446695), rel=1e-3)
    assert figure.fits()["7"].worst_factor < 1.01


def gradients(logs: Any, sizes: Sequence[int], width: float) -> GradientFigure:
    rows = [
        GradientRow(
            n, math.isqrt(n), 1, 125, logs(n), logs(n) - width, logs(n) + width,
            logs(n) - width / 2, logs(n) + width / 2,
        )
        for n in sizes
    ]  # fmt: skip
    return GradientFigure(125, tuple(rows))


def test_figure_2_right_has_the_regions_around_the_estimate() -> None:
    figure = gradients(lambda n: -0.45 * math.sqrt(n), (25, 49, 100, 225, 400), 0.3)
    axes = plot_panels([figure.panel()], columns=1)
    assert words(axes)[:3] == ["99% interval, proved", "99% interval, usual", "estimate"]
    regions = {one.get_label(): one for one in axes.collections}
    for label, width in (("99% interval, proved", 0.3), ("99% interval, usual", 0.15)):
        vertices = np.array(regions[label].get_paths()[0].vertices)
        for row in figure.sizes:
            ys = vertices[vertices[:, 0] == row.n_records][:, 1] * LN10
            assert ys.min() == pytest.approx(row.log_estimate - width, abs=1e-9)
            assert ys.max() == pytest.approx(row.log_estimate + width, abs=1e-9)
    ordinary = line(axes, "ordinary DP, T/n")
    assert list(ordinary.get_ydata()) == pytest.approx(
        [math.log10(row.n_draws / row.n_records) for row in figure.sizes]
    )
    assert ordinary.get_color() == PINK
    assert bend(axes, "estimate") > 0.1
    (fit,) = figure.panel().look.fits
    assert bend(axes, fit) < 1e-9


def test_the_words_of_figure_2_right_follow_the_data() -> None:
    sizes = (25, 49, 100, 225, 400)
    root = gradients(lambda n: -0.45 * math.sqrt(n), sizes, 0.3).text()
    assert "a exp(-b n) for no b." in root
    found = re.search(r"for p from (\S+) to ([\d.]+),", root)
    assert found
    assert float(found[1]) < 0.5 < float(found[2]) < 0.75
    straight = gradients(lambda n: -0.02 * n - 0.5, sizes, 0.3).text()
    assert "a exp(-b n) for some b." in straight
    neither = gradients(lambda n: -0.1 * n if n < 200 else -1.0 - n / 1e3, sizes, 0.01).text()
    assert "No exp(-c n^p) passes" in neither


def test_lines_through_intervals_against_a_search() -> None:
    """The range of slopes is where a brute search finds an intercept."""
    rng = np.random.default_rng(5)
    nonempty = 0
    for _ in range(200):
        xs = np.sort(rng.choice(20, 4, replace=False)).astype(float)
        lows = rng.normal(0, 1, 4) + 0.2 * xs
        highs = lows + rng.random(4) * 2
        found = slopes_through(xs.tolist(), lows.tolist(), highs.tolist())
        slopes = np.linspace(-4, 4, 8001)
        starts_from = (lows[:, None] - np.outer(xs, slopes)).max(axis=0)
        starts_to = (highs[:, None] - np.outer(xs, slopes)).min(axis=0)
        possible = slopes[starts_from <= starts_to]
        assert bool(found) or possible.size == 0
        if possible.size:
            nonempty += 1
            assert found.least == pytest.approx(possible.min(), abs=1.1e-3)
            assert found.largest == pytest.approx(possible.max(), abs=1.1e-3)
    assert 20 < nonempty < 180


def test_exponentials_and_powers_through_intervals() -> None:
    sizes = [25, 49, 100, 225, 400]
    straight = [-0.5 - 0.02 * n for n in sizes]
    ends = [y - 0.01 for y in straight], [y + 0.01 for y in straight]
    exponentials = exponentials_through(sizes, *ends)
    assert exponentials.least < 0.02 < exponentials.largest
    assert exponential_fit(sizes, straight).slope == pytest.approx(-0.02)
    bent = [-0.4 * n**0.55 for n in sizes]
    ends = [y - 0.01 for y in bent], [y + 0.01 for y in bent]
    assert not exponentials_through(sizes, *ends)
    powers = powers_through(sizes, *ends)
    assert 0.54 < powers.least < 0.55 < powers.largest < 0.56
    # A first interval that reaches up to 1 bounds no power from above, a last one none from below.
    assert powers_through([25, 400], [-3.0, -9.0], [0.0, -8.0]).largest == math.inf
    assert powers_through([25, 400], [-3.0, -9.0], [-2.0, 0.0]).least == -math.inf


def test_databases_of_a_batch_are_seeded_and_their_deltas_are_shares() -> None:
    law = ("normal", "0.2", "0.12")
    first = np.array(databases((law, 25, 0)))
    assert first.shape == (25, 2)
    assert np.array_equal(first, np.array(databases((law, 25, 0))))
    assert not np.array_equal(first, np.array(databases((law, 25, 1))))
    assert np.all(first[:, 0] <= first[:, 1])
    assert np.all(first[:, 1] <= 1)
    # The mean at n = 25, by other code, is .125; a mean of 25 is within a fifth of it.
    assert first.mean() * 5 / 25 == pytest.approx(0.125, rel=0.2)


def test_gradient_rows_take_the_law_with_the_larger_mean() -> None:
    laws = (("normal", "0", "0.12"), ("normal", "0.2", "0.12"))
    seen: list[tuple[int, int]] = []
    ((row,),) = gradient_rows(
        "test", [laws], [25], n_databases=25, store=None,
        progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    assert seen == [(1, 2), (2, 2)]
    means = [np.array(databases((law, 25, 0)))[:, 1].mean() for law in laws]
    assert means[0] < means[1]
    assert row.law == 1
    assert math.exp(row.log_estimate) == pytest.approx(means[1] / 5, rel=1e-12)
    assert row.ordinary_dp == 0.2


# ---- Figure 1 of paper 4 ----------------------------------------------------------------------


def test_polyplace_1_names_every_law_and_tells_every_curve_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    laws = ("StudentT", "Laplace", "PolyPlace", "GeneralizedCauchy")
    names = [f"{law}, {method}" for law in laws for method in ("paper", "exact")]
    rows = [
        DeviationRow(t, {name: 1.5 + i + float(t) for i, name in enumerate(names)})
        for t in ("0.1", "0.2")
    ]
    rows.append(DeviationRow("0.4", dict.fromkeys(names, math.inf)))
    kept: list[Any] = []
    monkeypatch.setattr("smoothdp.papers.polyplace.figures.save", lambda axes, _: kept.append(axes))
    figure = DeviationFigure(tuple(rows))
    figure.draw(tmp_path / "picture.png")
    (axes,) = kept
    assert words(axes) == [
        "Student's T, as printed",
        "Student's T, exact",
        "Laplace (approximate DP), as printed",
        "Laplace (approximate DP), exact",
        "PolyPlace, as printed",
        "PolyPlace, exact",
        "generalized Cauchy, as printed",
        "generalized Cauchy, exact",
        "Laplace, global sensitivity",
    ]
    looks = {
        (one.get_color(), one.get_linestyle(), one.get_marker(), one.get_markerfacecolor())
        for one in axes.get_lines()
    }
    assert len(looks) == 9
    # In grey print, too.
    assert len({look[1:3] for look in looks}) == 9
    assert list(line(axes, "PolyPlace, exact").get_xdata()) == [0.1, 0.2]
    assert "inf" not in figure.text()
    assert "\n\N{EM DASH}: " in figure.text()


# ---- Figures 1 (a) and 2 (a) of paper 5 -------------------------------------------------------


@pytest.mark.parametrize("reading", ["left", "middle", "right"])
def test_the_claimed_steps_are_where_the_paper_has_them(reading: str) -> None:
    """1 - F(F^-1(alpha) + 1) for n = 100, lambda = 58, by other code, left and right of every
    step."""
    steps = claimed_steps(100, Fraction(29, 100))
    assert steps[0][0] == 0
    assert steps[-1] == (1, 0)
    checked = 0
    for (start, _), (end, value) in itertools.pairwise(steps):
        if end - start < 1e-6:
            continue
        share = {"left": 1e-4, "middle": 0.5, "right": 1 - 1e-4}[reading]
        alpha = start + share * (end - start)
        claimed = chen_long_tradeoff(alpha, n_users=100, expected_random_users=58, reading="step")
        assert value == pytest.approx(claimed, abs=1e-9)
        checked += 1
    assert checked > 30


def test_the_exact_curve_of_figure_2_a_joins_the_right_ends_of_the_steps() -> None:
    steps = claimed_steps(50, Fraction(1, 2))
    masses = [math.comb(50, k) / 2**50 for k in range(51)]
    with np.errstate(divide="ignore"):
        logs = np.log(np.array([0.0, *masses])), np.log(np.array([*masses, 0.0]))
    curve = Pair(logs[1], logs[0]).tradeoff()
    for alpha, beta in steps[1:]:
        assert curve(alpha) == pytest.approx(beta, abs=1e-9)
    # And inside of a step the exact curve is above.
    assert curve((steps[25][0] + steps[26][0]) / 2) > steps[26][1] + 0.01


@pytest.mark.parametrize(
    "kind", [pytest.param(ShufflingFigure, marks=pytest.mark.slow), FixedSetFigure]
)
def test_figures_1_a_and_2_a_of_paper_5_are_drawn_as_steps(kind: Any) -> None:
    figure = kind.compute()
    panel = figure.panels[0]
    axes = plot_panels([panel], columns=1)
    drawn = line(axes, "claimed, step reading")
    assert drawn.get_drawstyle() == "steps-pre"
    assert list(zip(*drawn.get_data(), strict=True)) == list(
        panel.look.steps["claimed, step reading"]
    )
    assert line(axes, "exact").get_drawstyle() == "default"
    # At the abscissae of the table: the value of the step that they lie on.
    xs, ys = map(np.array, zip(*panel.look.steps["claimed, step reading"], strict=True))
    for x, value in zip(panel.xs[1:], panel.curves["claimed, step reading"][1:], strict=True):
        assert value == pytest.approx(ys[np.searchsorted(xs, x - 1e-12)], abs=1e-9)
    for other in figure.panels[1:]:
        assert not other.look.steps


def test_delta_of_the_boolean_sum_is_zero_beyond_one_report() -> None:
    """ln(.71/.29) = .8954: what was no number in the table is 0."""
    curve = panel_curves(("1b", 30))["exact"]
    at = [0.05 * step for step in range(31)]
    assert [value == 0 for value in curve] == [epsilon > math.log(0.71 / 0.29) for epsilon in at]
    assert not any(math.isnan(value) for value in curve)


# ---- panels -----------------------------------------------------------------------------------


def test_a_label_looks_alike_in_all_panels() -> None:
    first = Panel("1", "x", "y", (1, 2), {"a": (1, 2), "b": (2, 3), "c": (3, 4)})
    second = Panel("2", "x", "y", (1, 2), {"d": (1, 2), "c": (2, 3)})
    figure = plot_panels([first, second]).get_figure()
    assert figure is not None
    left, right = figure.axes
    assert line(left, "c").get_color() == line(right, "c").get_color()
    assert line(right, "d").get_color() != line(right, "c").get_color()
    for axes in (left, right):
        looks = [(one.get_color(), str(one.get_linestyle())) for one in axes.get_lines()]
        assert len(set(looks)) == len(looks)
        assert axes.get_legend() is not None


def test_no_curve_is_left_out_silently() -> None:
    panel = Panel("1", "x", "y", (1, 2), {str(k): (1, k) for k in range(7)})
    with pytest.raises(InvalidParameter, match="at most 6 lines in one panel"):
        plot_panels([panel])


def test_panels_with_the_same_curves_share_a_legend() -> None:
    panel = Panel("1", "x", "y", (1, 2), {"a": (1, 2), "b": (2, 3)})
    figure = plot_panels([panel, panel]).get_figure()
    assert figure is not None
    assert [axes.get_legend() for axes in figure.axes] == [None, None]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]


def test_what_a_log_scale_has_no_place_for_is_left_out() -> None:
    panel = Panel("1", "x", "y", (1, 2, 3), {"a": (0.1, 0.0, math.inf)}, log_scale=True)
    ys = line(plot_panels([panel], columns=1), "a").get_ydata()
    assert ys[0] == 0.1
    assert np.isnan(ys[1:]).all()


def test_a_power_of_ten_stands_at_its_logarithm() -> None:
    for lowest in (-0.3, -7.0, -60.0, -2700.0):
        panel = Panel(
            "1", "n", "log10 of delta", (1, 2), {"a": (0.0, lowest)}, look=Look(powers=True)
        )
        axes = plot_panels([panel], columns=1)
        ticks = {tick.get_text(): tick.get_position()[1] for tick in axes.get_yticklabels()}
        assert ticks.pop("1") == 0
        assert 1 <= len(ticks) <= 8
        for text, height in ticks.items():
            assert float(text.removeprefix("1e")) == height
        assert axes.get_ylabel() == "delta"
        assert axes.get_ylim()[1] > 0
