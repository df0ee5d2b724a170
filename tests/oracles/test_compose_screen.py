"""Many different Laplace scales: nodes that are left out, against compositions of one scale."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.composition.laws.law import LossLaw
from smoothdp.composition.laws.product import Product
from smoothdp.composition.routes.contour import Contour
from smoothdp.composition.routes.inversion import Inversion
from smoothdp.composition.routes.screen import Screen, screen_of
from smoothdp.mechanisms.additive.laplace import LaplaceLaw


def test_many_scales_lie_between_equal_ones() -> None:
    """D falls in each scale: the smallest scale for all is above, the largest below."""
    scales = [Fraction(40) + Fraction(i, 4000) for i in range(400)]
    mixed = sd.compose([sd.LaplaceMechanism(scale) for scale in scales])
    lower, upper = mixed.delta_bounds(2)
    above = sd.compose([(sd.LaplaceMechanism(scales[0]), 400)]).delta_bounds(2)
    below = sd.compose([(sd.LaplaceMechanism(scales[-1]), 400)]).delta_bounds(2)
    assert below[0] < lower <= upper < above[1]
    # The three are far enough apart to tell.
    assert below[1] < lower
    assert upper < above[0]
    assert upper - lower < 1e-8 * upper


def test_scales_that_are_all_but_equal() -> None:
    """They are in phase again and again: nodes far out are summed one by one, as few as needed."""
    mixed = sd.compose(
        [sd.LaplaceMechanism(Fraction(40) + Fraction(i, 10**12)) for i in range(330)]
    )
    same = sd.compose([(sd.LaplaceMechanism(40), 330)])
    lower, upper = mixed.delta_bounds(2)
    low, high = same.delta_bounds(2)
    assert lower <= high
    assert low * (1 - 1e-6) <= upper


@pytest.mark.parametrize("n_scales", [5, 40])
def test_screened_and_whole_contours_agree(n_scales: int) -> None:
    """The same plan with and without a screen: what is left out is within its bound."""
    count = 400 // n_scales
    laws: list[tuple[LossLaw, int]] = [
        (LaplaceLaw(1 / (30 + 60 * (i + 0.37) / n_scales)), count) for i in range(n_scales)
    ]
    product = Product.of(laws)
    inversion = Inversion(product, 1e-5)
    tilt = product.saddle(2.0)
    screen = screen_of(product, tilt)
    assert screen is not None
    plan = inversion.plan(2.0, tilt, 1e-5, 1e-11)
    assert plan is not None
    screened = Contour(product, replace(plan, screen=screen), budget=1e-11)
    whole = Contour(product, replace(plan, screen=None), budget=1e-11)
    assert screened.scattered
    assert screened.t.size < whole.t.size / 4
    one, other = screened.log_bounds(2.0), whole.log_bounds(2.0)
    assert one.lower <= other.upper
    assert other.lower <= one.upper
    # What is left out is tiny there, as the whole contour has it.
    left = np.setdiff1d(whole.t, screened.t)
    sizes = np.zeros(left.size)
    for law, times in laws:
        sizes += times * np.log(np.abs(law.transform_at(tilt, left).values))
    assert float(sizes.max()) <= -40.0 < math.log(0.5)


def test_no_place_that_matters_is_left_out_between_points_of_the_mesh() -> None:
    """In the middle of a cell the sum may be far above what it is at both of its ends."""
    screen = Screen(np.array([2000.0]), np.array([1.0]), 0.5)
    t = np.linspace(0.0, 400.0, 80_001)
    matters = t[2000.0 * (np.cos(t) - 1) > -40.0]
    kept = screen.matter(400.0)
    covered = np.isin(np.floor(matters / 0.5), np.round(kept / 0.5))
    assert covered.all()
    # It leaves out most, and there are peaks that both ends of their cell miss.
    assert kept.size < 800 * 0.4
    ends = 2000.0 * (np.cos(np.array([kept, kept + 0.5])) - 1)
    assert (ends.max(axis=0) < -40.0).any()
