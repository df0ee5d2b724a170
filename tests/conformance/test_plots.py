"""The pictures: axes with words, curves on the safe side, and refusals in one sentence."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smoothdp as sd

pytest.importorskip("matplotlib")
from smoothdp import plots
from smoothdp.plots.canvas import STYLES
from smoothdp.plots.inputs import tradeoff_of

POLL: Any = sd.SamplingHistogram(1000, sampling_rate="0.9")
SUM = sd.shuffle.BooleanSum(1000, expected_random_users=60)
POINTS = [sd.planning.ErrorPoint(x, 2 / x, 1.0, 1.5 / x, 1 / x) for x in (0.1, 1.0, 10.0)]
PUBLIC = sd.queries.Median((0, 100)).sensitivity_curve(list(range(100)))
LAWS = {"T(3)": (sd.noise.StudentT(3), 1.0), "Laplace": (sd.noise.Laplace(), 1.0)}

PICTURES: dict[str, Any] = {
    "profiles": lambda: plots.plot_profiles(
        {"counts": POLL.at([400, 600]), "sum": SUM}, largest_epsilon=2, title="words"
    ),
    "one profile": lambda: plots.plot_profiles(sd.GaussianDP(1), largest_epsilon=2, title="words"),
    "tradeoff": lambda: plots.plot_tradeoff({"pure": sd.PureDP(1), "sum": SUM}, title="words"),
    "power": lambda: plots.plot_tradeoff(sd.GaussianDP(1), title="words", log_scale=True),
    "densities": lambda: plots.plot_densities(LAWS, title="words"),
    "tails": lambda: plots.plot_tails(LAWS, title="words"),
    "sensitivity": lambda: plots.plot_sensitivity(PUBLIC, title="words"),
    "quantiles": lambda: plots.plot_quantiles(
        [0.25, 0.5, 0.75], [1, 2, 4], title="words", x_label="x", intervals=[(0, 3), (1, 2), (5, 6)]
    ),
    "error": lambda: plots.plot_error_by_budget(POINTS, title="words"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_axes_say_what_they_show(name: str, tmp_path: Path) -> None:
    axes = PICTURES[name]()
    assert axes.get_title() == "words"
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels
    assert all(labels)
    assert plots.save(axes, tmp_path / "picture.svg").stat().st_size > 1000


@pytest.mark.parametrize("name", PICTURES)
def test_curves_are_told_apart_by_line_as_well_as_colour(name: str) -> None:
    lines = [line for line in PICTURES[name]().get_lines() if not line.get_label().startswith("_")]
    looks = [(line.get_color(), str(line.get_linestyle())) for line in lines]
    assert len(set(looks)) == len(looks)


def test_profile_is_that_of_the_object_and_reaches_1e_300() -> None:
    axes = plots.plot_profiles(sd.GaussianDP("0.2"), largest_epsilon=9, title="deep")
    xs, ys = map(np.asarray, axes.get_lines()[0].get_data())
    assert -300 <= min(ys) < -280
    profile = sd.GaussianDP("0.2").profile()
    for x, y in zip(xs[::10], ys[::10], strict=True):
        assert y == pytest.approx(profile.log_delta(float(x)) / math.log(10), rel=1e-12)
    ticks = [text.get_text() for text in axes.get_yticklabels()]
    assert "1" in ticks
    assert "1e-250" in ticks


def test_profile_below_floats() -> None:
    axes = plots.plot_profiles(
        sd.GaussianDP("0.2"), largest_epsilon=90, title="deep", least_log10=-5000
    )
    assert np.min(np.asarray(axes.get_lines()[0].get_ydata())) < -4000


def test_tradeoff_curve_is_the_closed_form_of_approximate_dp() -> None:
    """max(0, 1 - d - E a, (1 - d - a) / E), never above it."""
    claim, growth, delta = sd.ApproxDP(1, delta="1e-3"), math.e, 1e-3
    curve = tradeoff_of(claim)
    for alpha in np.linspace(0.0, 1.0, 101):
        truth = max(0.0, 1 - delta - growth * alpha, (1 - delta - alpha) / growth)
        assert truth - 1e-9 <= curve(float(alpha)) <= truth * (1 + 1e-12)


def test_tradeoff_picture_never_lies_above_the_truth() -> None:
    axes = plots.plot_tradeoff(sd.PureDP(1), title="pure")
    alphas, betas = axes.get_lines()[1].get_data()
    truth = np.maximum(1 - math.e * np.asarray(alphas), (1 - np.asarray(alphas)) / math.e)
    assert (np.asarray(betas) <= np.maximum(truth, 0) + 1e-15).all()
    assert np.abs(np.asarray(betas) - np.maximum(truth, 0)).max() < 1e-9


def test_power_on_logarithms_is_not_below_the_truth() -> None:
    axes = plots.plot_tradeoff(sd.PureDP(1), title="pure", log_scale=True)
    alphas, powers = (np.asarray(each) for each in axes.get_lines()[1].get_data())
    small = alphas < 0.1
    assert small.sum() > 50
    assert (powers[small] >= math.e * alphas[small]).all()
    assert np.allclose(powers[small], math.e * alphas[small], rtol=1e-9)


def test_tails_and_densities_are_those_of_the_law() -> None:
    xs, ys = plots.plot_tails(LAWS, title="t").get_lines()[1].get_data()
    assert np.allclose(ys, -np.asarray(xs) / math.log(10))
    xs, ys = plots.plot_densities(LAWS, title="t").get_lines()[1].get_data()
    assert np.allclose(10 ** np.asarray(ys), np.exp(-np.abs(xs)) / 2)


def test_smooth_sensitivity_says_that_it_is_for_public_data() -> None:
    axes = plots.plot_sensitivity({"median": PUBLIC}, title="t", smoothings=[0.1, 1.0])
    assert [text.get_text() for text in axes.texts] == ["public data only"]
    truth = [PUBLIC.log_smooth_sensitivity(smoothing=t) / math.log(10) for t in (0.1, 1.0)]
    # The quotient of an array and of a number: numpy 1.26 rounds them differently.
    found = np.asarray(axes.get_lines()[0].get_ydata())
    assert found.tolist() == pytest.approx(truth, rel=4e-16, abs=0)


def test_errors_leave_out_what_is_infinite() -> None:
    points = [sd.planning.ErrorPoint(0.1, math.inf, 1.0, math.inf, math.inf), *POINTS[1:]]
    line = plots.plot_error_by_budget(points, title="t").get_lines()[0]
    assert np.asarray(line.get_xdata()).tolist() == [1, 10]


def test_inline_svg_stands_alone_and_is_the_same_again() -> None:
    first, second = (
        plots.inline_svg(PICTURES["tradeoff"](), alt='less < "more"', name="one") for _ in range(2)
    )
    assert first == second
    assert first.startswith('<svg role="img" aria-label="less &lt; &quot;more&quot;"')
    assert "http" not in first
    assert "<script" not in first
    assert 'id="one-' in first


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: plots.plot_profiles({}, largest_epsilon=1, title="t"), "1 to 6 curves"),
        (
            lambda: plots.plot_profiles(
                {str(k): SUM for k in range(len(STYLES) + 1)}, largest_epsilon=1, title="t"
            ),
            "1 to 6 curves",
        ),
        (lambda: plots.plot_profiles(SUM, largest_epsilon=0, title="t"), "largest_epsilon"),
        (lambda: plots.plot_profiles(SUM, largest_epsilon=math.nan, title="t"), "largest_epsilon"),
        (lambda: plots.plot_profiles(POLL, largest_epsilon=1, title="t"), "at(counts)"),
        (lambda: plots.plot_tradeoff(POLL, title="t"), "at(counts)"),
        (lambda: plots.plot_tails(LAWS, title="t", reach=-1), "reach"),
        (lambda: plots.plot_error_by_budget([], title="t"), "1 to 3 lists"),
        (
            lambda: plots.plot_quantiles([0.5, 0.25], [1, 2], title="t", x_label="x"),
            "increasing levels",
        ),
        (lambda: plots.plot_quantiles([0.5], [1, 2], title="t", x_label="x"), "2 values"),
    ],
)
def test_refusals(call: Any, words: str) -> None:
    with pytest.raises(sd.errors.InvalidParameter, match=r"^Expected .*; got ") as caught:
        call()
    assert words in str(caught.value)
