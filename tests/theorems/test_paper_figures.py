"""Figures of papers 1, 4 and 5, recomputed, against values found independently.

Where no reference is named, values were found by other code, and have
the digits that were kept.
"""

from __future__ import annotations

import math

import pytest

from smoothdp.papers import (
    DeviationFigure,
    GradientSettingsFigure,
    ModelsFigure,
    SettingsFigure,
)
from smoothdp.papers.gaussian_shuffling.figures import panel_curves
from smoothdp.papers.panel_figure import PanelFigure
from smoothdp.papers.smoothed_dp.decay import exponentials_through, powers_through
from smoothdp.papers.smoothed_dp.elections import elections, units_2020
from smoothdp.plots.panels import Panel
from tests.theorems.computed_figures import election_figure

LN10 = math.log(10)


def at(panel: Panel, curve: str, x: float) -> float:
    return panel.curves[curve][list(panel.xs).index(x)]


def test_paper_1_figure_3() -> None:
    panels = SettingsFigure.compute().panels
    half, shallow, deep, few_half, few_shallow, few_deep = panels
    # Reference: 60 digits, two routes (reference smoothed-dp, counts of 2020, epsilon ln(60/40)).
    assert at(deep, "delta(x), exact", 2020) * LN10 == pytest.approx(-6202.513557989263, rel=1e-12)
    for panel, year, log10 in [
        (shallow, 2020, -31.922),
        (shallow, 1920, -7.786),
        (few_shallow, 2020, -4.5),
        (few_shallow, 1920, -2.4),
        (few_deep, 2020, -139),
        (few_deep, 1920, -22.6),
        (half, 2020, -2.8),
    ]:
        digits = len(str(log10).partition(".")[2])
        slack = 0.55 * 10.0**-digits
        assert at(panel, "delta(x), exact", year) == pytest.approx(log10, abs=slack)
    # Panel (b) is Figure 1.
    rows = election_figure().elections
    assert shallow.curves["delta(x), exact"] == [row.log_delta / LN10 for row in rows]
    assert few_half.xs == tuple(election.year for election in elections())


@pytest.mark.slow
def test_paper_1_figure_4() -> None:
    """At n = 1e5 against other code; the slope at epsilon = 7 against the exact lower bound."""
    figure = ModelsFigure.compute()
    units, history, few_units, few_history = figure.panels
    shift = 200 * math.log(0.9446694695 / 0.9446)
    for epsilon, value in zip(
        ("0.5", "1", "2", "7"), (1.67079e-2, 1.89509e-3, 5.96920e-5, 1.12096e-5), strict=True
    ):
        found = at(units, f"epsilon = {epsilon}", 100_000) * LN10
        # The other code has the share of DC rounded to .9446: that moves by `shift` at most twice.
        assert math.log(value) - 1e-5 <= found <= math.log(value) + 2 * shift + 1e-5
    for panel, votes, lost in (
        (units, units_2020(), "0.002"),
        (history, elections(), "0.002"),
        (few_units, units_2020(), "0.0001"),
        (few_history, elections(), "0.0001"),
    ):
        largest = max(max(one.votes) / sum(one.votes) for one in votes)
        for n, log10 in zip(panel.xs, panel.curves["epsilon = 7"], strict=True):
            floor = int(n * float(lost) + 1e-6) * math.log10(largest)
            # delta >= share^lost, less a term of T/n share^n; the excess is small at epsilon = 7.
            assert floor - 1e-9 <= log10 <= floor + 0.3


# Means of delta(x) of the law that has the larger one, of 300 to 1200 databases by other seeds, to
# 1 to 13%, by panel and n.
GRADIENTS = {
    0: {25: 0.0832, 100: 0.00196, 225: 3.67e-05},
    1: {25: 0.161, 100: 0.0204, 225: 0.0024},
    2: {25: 0.0942, 100: 0.00173, 225: 1.17e-05},
    3: {25: 0.139, 100: 0.00951, 225: 0.000395},
}


@pytest.mark.slow
def test_paper_1_figure_5() -> None:
    """The estimates against others, and the shape: what passes through every interval."""
    figure = GradientSettingsFigure.compute()
    laws = [rows[0].law for rows in figure.settings]
    assert laws == [1, 1, 1, 1]
    for number, rows in enumerate(figure.settings):
        sizes = [row.n_records for row in rows]
        proved = [row.log_lower for row in rows], [row.log_upper for row in rows]
        usual = [row.log_usual_lower for row in rows], [row.log_usual_upper for row in rows]
        for row in rows:
            assert row.log_lower < row.log_usual_lower < row.log_estimate < row.log_usual_upper
            assert row.log_usual_upper < row.log_upper <= math.log(row.ordinary_dp)
            # Narrow enough to be read: the usual interval, and the proved one from below.
            assert row.log_usual_upper - row.log_usual_lower < 1.4
            assert row.log_estimate - row.log_lower < 1.0
            if row.n_records in GRADIENTS[number]:
                reference = math.log(GRADIENTS[number][row.n_records])
                assert row.log_lower < reference < row.log_upper
                assert row.log_estimate == pytest.approx(reference, abs=0.45)
        # No exponential is as bent as the estimates; powers near the root of n are.
        assert not exponentials_through(sizes, *usual)
        least, largest = powers_through(sizes, *proved)
        assert 0.3 < least < 0.5 < largest < 0.85
    wide, narrow = (rows[-1].log_estimate for rows in figure.settings[:2])
    assert wide < narrow


# Standard deviations at epsilon = 1, delta = 1e-5: Claim 16 and exact; Claim 17 and exact; Claim 18
# and exact; Theorem 8 and exact.
FOUND_BY_OTHER_CODE = {
    "0.001": (4.736, 2.237, 1.743, 1.727, 1.432, 1.418, 1.4165, 1.4162),
    "0.01": (4.996, 2.273, 1.839, 1.750, 1.611, 1.492, 1.4376, 1.4340),
    "0.05": (6.526, 2.446, 2.354, 1.867, 3.629, 2.175, 1.5391, 1.5199),
    "0.1": (10.00, 2.716, 3.305, 2.047, math.inf, 6.82, 1.6875, 1.6457),
    "0.2": (52.2, 3.544, 8.246, 2.590, math.inf, math.inf, 2.0916, 1.9887),
    "0.25": (math.inf, 4.227, 17.21, 3.027, math.inf, math.inf, 2.3802, 2.2345),
    "0.3": (math.inf, 5.277, 69.9, 3.684, math.inf, math.inf, 2.7705, 2.5679),
    "0.4": (math.inf, 10.89, math.inf, 6.980, math.inf, math.inf, 4.2808, 3.8669),
    "0.49": (math.inf, 145.6, math.inf, 66.4, math.inf, math.inf, 14.835, 13.092),
}
LAWS = ("GeneralizedCauchy", "StudentT", "Laplace", "PolyPlace")


@pytest.mark.slow
def test_paper_4_figure_1() -> None:
    rows = {row.smoothing: row.deviations for row in DeviationFigure.compute().smoothings}
    for smoothing, values in FOUND_BY_OTHER_CODE.items():
        names = [f"{law}, {method}" for law in LAWS for method in ("paper", "exact")]
        for name, value in zip(names, values, strict=True):
            found = rows[smoothing][name]
            # One unit of the last digit that was kept.
            unit = 10.0 ** -len(str(value).partition(".")[2])
            assert found == value or abs(found - value) <= unit, (smoothing, name)


def test_paper_5_figure_1_against_the_reference() -> None:
    """50 digits, two routes (reference shuffle, cases of n = 100, lambda = 58)."""
    errors, deltas, real = (panel_curves(cell) for cell in (("1a", 20), ("1b", 30), ("1d", 15)))
    assert errors["exact"][1] == pytest.approx(0.93912303670532136620, rel=1e-9)
    assert errors["claimed, linear reading"][1] == pytest.approx(0.92116129459292026691, rel=1e-9)
    assert errors["claimed, step reading"][1] == pytest.approx(0.88888843531095024486, rel=1e-9)
    # The supremum over the others' data is found to a relative 1e-3, upwards.
    for found, value in (
        (deltas["exact"][1], 0.018252046747396889436),
        (deltas["exact"][6], 5.3223725676447131676e-5),
        (real["exact"][4], 0.014748835889117654886),
    ):
        assert value * (1 - 1e-12) <= found <= value * (1 + 1.1e-3)


ALPHAS = (1, 2, 6, 10, 14, 18)
"""In steps of .05."""


def test_paper_5_figure_1_against_other_code() -> None:
    errors, real = panel_curves(("1a", 20)), panel_curves(("1c", 20))
    for curve, values in {
        "exact": (0.939123, 0.882048, 0.666543, 0.462978, 0.268049, 0.084102),
        "claimed, linear reading": (0.921161, 0.853898, 0.618502, 0.413621, 0.229666, 0.067745),
        "claimed, step reading": (0.888888, 0.839337, 0.537742, 0.365390, 0.218442, 0.051521),
    }.items():
        assert [errors[curve][i] for i in ALPHAS] == pytest.approx(values, abs=1e-6)
    envelope = [errors["Cheu et al. 2019"][i] for i in ALPHAS]
    assert envelope == pytest.approx((0.777, 0.619, 0.212, 0.140, 0.074, 0.011), abs=2e-3)
    exact = [real["exact"][i] for i in ALPHAS]
    assert exact == pytest.approx((0.91116, 0.83786, 0.59120, 0.38470, 0.20638, 0.05725), abs=5e-5)


def test_paper_5_figure_2() -> None:
    errors, deltas = panel_curves(("2a", 20)), panel_curves(("2b", 15))
    for curve, values, slack in (
        ("exact", (0.913344, 0.840767, 0.596531, 0.389884, 0.210450, 0.058609), 1e-6),
        ("claimed, step reading", (0.898681, 0.838882, 0.556138, 0.335906, 0.161118, 0.032454),
         1e-6),
        ("Cheu et al. 2019, Claim C.1", (0.848, 0.708, 0.256, 0.178, 0.103, 0.032), 2e-3),
    ):  # fmt: skip
        assert [errors[curve][i] for i in ALPHAS] == pytest.approx(values, abs=slack)
    for step, value in ((2, 4.3154e-2), (4, 1.2615e-2), (10, 5.2399e-5), (15, 1.997e-7)):
        assert deltas["exact"][step] == pytest.approx(value, rel=1e-4)
    bound = deltas["Cheu et al. 2019, Claim C.1"]
    assert bound[10] == pytest.approx(0.0198, rel=5e-3)
    assert bound[15] == pytest.approx(0.00386, rel=5e-3)
    assert all(math.isnan(value) for value in bound[:6])


def test_panels_without_a_value_are_left_out_of_the_csv() -> None:
    class Gap(PanelFigure):
        name = "gap"
        title = "a gap"

    figure = Gap((Panel("p", "x", "y", (1, 2), {"c": [3.0, math.nan]}),))
    header, rows = figure.rows()
    assert rows == [("p", "c", "x", 1, "y", 3.0)]
    assert len(header) == 6
    assert figure.to_dict()["panels"] == [
        {"title": "p", "y": "y", "x": [1, 2], "curves": {"c": [3.0, None]}}
    ]
