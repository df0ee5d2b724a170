"""Every reference value of composition lies in its bracket."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from smoothdp import GaussianDP, LaplaceMechanism, Pair, PureDP, SubsampledGaussian, compose
from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.neighbours import Neighbours
from smoothdp.composition.laws.law import LossLaws, known
from smoothdp.exact.parameters.numbers import LogRatio
from smoothdp.training_runs.gaussian_step.subsampled_law import SubsampledGaussianLaw

DATA = json.loads(Path(__file__).with_name("composition.json").read_text())


def binomial_shift(n: int) -> Pair:
    """X + 1 against X, X ~ Bin(n, 1/2): the logarithms, each rounded once from 40 digits."""
    with mpmath.workdps(40):
        whole = mpmath.loggamma(n + 1) - n * mpmath.log(2)
        logs = [
            float(whole - mpmath.loggamma(k + 1) - mpmath.loggamma(n - k + 1)) for k in range(n + 1)
        ]
    law = np.array([-math.inf, *logs, -math.inf])
    return Pair(law[:-1], law[1:], error=2.0**-52 * abs(logs[0]))


def item(kind: str, value: str) -> Any:
    if kind == "gaussian_mu":
        return GaussianDP(value)
    if kind == "rr_eps":
        return PureDP(value)
    if kind == "rr_odds":
        base, power = value.split("^")
        return PureDP(LogRatio(Fraction(base.strip("()")) ** int(power)))
    if kind == "binomial_shift_n":
        return binomial_shift(int(value))
    assert kind == "laplace_eps"
    return LaplaceMechanism(1 / Fraction(value))


@pytest.mark.parametrize("case", DATA["truth"], ids=lambda case: f"{case['name']}-{case['eps']}")
def test_truth_lies_in_its_bracket(case: dict[str, Any]) -> None:
    composed = compose([(item(kind, value), count) for kind, value, count in case["parts"]])
    bounds = composed.accountant.log_bounds(Fraction(case["eps"]))
    with mpmath.workdps(30):
        truth = mpmath.log(mpmath.mpf(case["delta"]))
        # The reference has 20 digits.
        assert mpmath.mpf(bounds.lower) <= truth + mpmath.mpf("1e-19")
        assert truth - mpmath.mpf("1e-19") <= mpmath.mpf(bounds.upper)
    assert bounds.upper - bounds.lower < 1e-6


def overlaps(bounds: tuple[float, float], log_upper: float, width: float) -> bool:
    """Two brackets of one truth have a point in common (the printed digits of one: 1e-12)."""
    return bounds[0] <= log_upper + 1e-11 and log_upper - width - 1e-11 <= bounds[1]


@pytest.mark.parametrize("case", [c for c in DATA["brackets"] if "subsampled" in c["name"]])
def test_subsampled_gaussian(case: dict[str, Any]) -> None:
    view = "mixture" if case["direction"].startswith("mixture") else "base"

    class OneWay:
        """One direction alone."""

        def loss_laws(self) -> LossLaws:
            law = SubsampledGaussianLaw(Fraction(1, 100), Fraction(1), view)  # type: ignore[arg-type]
            return LossLaws(Neighbours.ADD_REMOVE, known(law))

        def profile(self) -> PrivacyProfile:
            return SubsampledGaussian("0.01", noise_multiplier=1).profile()

    composed = compose([(OneWay(), 10_000)], tolerance="1e-8")
    bounds = composed.log_delta_bounds(Fraction(case["eps"]))
    log_upper = case["log10_delta_upper"] * math.log(10)
    assert overlaps(bounds, log_upper, case["relative_width"])


@pytest.mark.slow
@pytest.mark.parametrize("case", [c for c in DATA["brackets"] if c["name"] == "binomial_shift"])
def test_binomial_shift(case: dict[str, Any]) -> None:
    composed = compose([(binomial_shift(100_000), 1000)], tolerance="1e-5")
    bounds = composed.log_delta_bounds(Fraction(str(case["eps"])))
    assert overlaps(bounds, math.log(case["delta_upper"]), case["relative_width"])
