"""Figure 1 of paper 2, and the variance of trimmed means, against independent values."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betaln

from smoothdp.errors import InvalidParameter
from smoothdp.papers.average_case_averages import trimming_figure as average_figures_trimming
from smoothdp.papers.average_case_averages.trimmed_variance import (
    SymmetricLaw,
    laplace,
    normal,
    normal_mixture,
    trimmed_variance,
)
from smoothdp.papers.average_case_averages.trimming_figure import TrimmingFigure
from smoothdp.papers.runner import run_cells

REFERENCE = json.loads(Path(__file__).with_name("average_figures.json").read_text())
Curve = Callable[[float], float]
LAWS = (normal(), laplace(), normal_mixture(0.1, 3.0))


def test_trimmed_variance_of_few_normal_records() -> None:
    assert trimmed_variance(normal(), 3, 1) == pytest.approx(3 - 3 * math.sqrt(3) / math.pi)
    # (Co)variances of normal order statistics of 5 (Sarhan and Greenberg's table).
    middle = 2 * 0.3115189521 + 0.2868336616 + 4 * 0.2084354440 + 2 * 0.1499426667
    assert trimmed_variance(normal(), 5, 1) == pytest.approx(5 * middle / 9, abs=1e-9)


@pytest.mark.parametrize(
    ("law", "density", "tail", "errors"),
    [
        (
            normal(),
            lambda x: math.exp(-x * x / 2) / math.sqrt(2 * math.pi),
            lambda x: math.erfc(x / math.sqrt(2)) / 2,
            (1e-10, 1e-10, 1e-10, 1e-10),
        ),
        # The density has a corner, which equal steps feel.
        (
            laplace(),
            lambda x: math.exp(-x) / 2,
            lambda x: math.exp(-x) / 2,
            (1e-6, 1e-7, 2e-8, 2e-8),
        ),
    ],
    ids=["normal", "laplace"],
)
@pytest.mark.parametrize("place", range(4))
def test_trimmed_variance_of_the_median(
    law: SymmetricLaw, density: Curve, tail: Curve, errors: tuple[float, ...], place: int
) -> None:
    """Against one integral over the density of the middle order statistic."""
    n = (3, 11, 101, 1001)[place]
    m = (n - 1) // 2

    def integrand(x: float) -> float:
        above = tail(x)
        logs = m * (math.log(above) + math.log1p(-above)) - float(betaln(m + 1, m + 1))
        return x * x * density(x) * math.exp(logs)

    expected = 2 * n * quad(integrand, 0, 24 / math.sqrt(m), limit=400, epsabs=1e-14)[0]
    assert trimmed_variance(law, n, m) == pytest.approx(expected, rel=errors[place])


@pytest.mark.parametrize("place", range(3))
def test_trimmed_variance_simulated(place: int) -> None:
    n, count = 21, 40_000
    rng = np.random.default_rng(7)
    shape = (count, n)
    draws = (
        rng.standard_normal(shape),
        rng.laplace(size=shape),
        rng.standard_normal(shape) * np.where(rng.random(shape) < 0.1, 3.0, 1.0),
    )
    law, data = LAWS[place], np.sort(draws[place], axis=1)
    assert trimmed_variance(law, n, 0) == law.variance
    for m in (1, 4, 9, 10):
        squares = n * data[:, m : n - m].mean(axis=1) ** 2
        error = squares.std() / math.sqrt(count)
        assert abs(trimmed_variance(law, n, m) - squares.mean()) < 5 * error


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_trimmed_variance_of_the_laws_moments(law: SymmetricLaw) -> None:
    """Quantiles and incomplete moments are those of one law, by differences."""
    p = np.array([1e-12, 1e-6, 0.01, 0.2, 0.4999])
    x, step = law.tail_quantile(p), 1e-5
    mass = (law.first(x + step) - law.first(x - step)) / x
    assert (law.second(x + step) - law.second(x - step)) / mass == pytest.approx(x * x, rel=1e-3)
    assert law.second(np.array([60.0]))[0] == pytest.approx(law.variance)
    assert law.quantile(1 - p, p) == pytest.approx(-x)


def test_trimmed_variance_refuses() -> None:
    for n, m in ((10, 5), (10, -1), (3, 2)):
        with pytest.raises(InvalidParameter, match="trim"):
            trimmed_variance(normal(), n, m)


@pytest.mark.parametrize(("n", "m", "sampled"), REFERENCE["trimming"])
def test_trimming_against_the_reference(n: int, m: int, sampled: float) -> None:
    """The reference is a mean of that many squares of about normal numbers."""
    exact = trimmed_variance(normal(), n, m) - 1
    error = exact * math.sqrt(2 / REFERENCE["samples"][str(n)])
    assert abs(sampled - exact) < 3.5 * error + 5e-4


def test_figure_1_in_the_words_of_the_paper() -> None:
    gaussian, laplacian, mixture = (
        [trimmed_variance(law, 1001, m) for m in (0, 50, 250, 480, 500)] for law in LAWS
    )
    assert gaussian == sorted(gaussian)
    assert gaussian[-1] == pytest.approx(math.pi / 2, rel=1e-3)
    assert laplacian[:4] == sorted(laplacian[:4], reverse=True)
    # "The median has asymptotic variance 1/n": at n = 1001 it is not the least.
    assert 1 < laplacian[3] < laplacian[4] < 1.06
    assert mixture[1] < mixture[0]
    assert mixture[1] < mixture[2] < mixture[4]


@pytest.mark.slow
def test_figure_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(average_figures_trimming, "run_cells", partial(run_cells, workers=1))
    figure = TrimmingFigure.compute(store=tmp_path)
    assert figure.trims[0] == 0
    assert figure.trims[-1] == 500
    assert figure == TrimmingFigure.compute(store=tmp_path)
    for law in LAWS:
        at = dict(zip(figure.trims, figure.variances[law.name], strict=True))
        assert at[20] == trimmed_variance(law, 1001, 20)
    header, rows = figure.rows()
    assert [len(row) for row in rows] == [len(header)] * len(figure.trims)
    assert json.loads(json.dumps(figure.to_dict()))["n_records"] == 1001
    assert figure.draw(tmp_path / "figure.png").stat().st_size > 10_000
    assert "exact" in figure.text()
