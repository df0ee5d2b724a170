"""Reference values of the noise laws, each computed in two independent ways."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from smoothdp.noise import (
    ArsinhNormal,
    Gaussian,
    GeneralizedCauchy,
    Laplace,
    LaplaceLogNormal,
    NoiseDistribution,
    PolyPlace,
    StudentT,
    UniformLogNormal,
)

CASES = json.loads(Path(__file__).with_name("noise_laws.json").read_text())["cases"]
LAWS: dict[str, tuple[Callable[[Any], NoiseDistribution], str]] = {
    "lln": (LaplaceLogNormal, "sigma"),
    "uln": (UniformLogNormal, "sigma"),
    "asn": (ArsinhNormal, "sigma"),
    "t": (StudentT, "d"),
    "gencauchy": (GeneralizedCauchy, "c"),
    "polyplace": (PolyPlace, "alpha"),
}


def _chosen(*kinds: str) -> list[dict[str, Any]]:
    return [case for case in CASES if case["function"].split("_", 1)[1] in kinds]


def _law(case: dict[str, Any]) -> tuple[NoiseDistribution, str]:
    name, kind = case["function"].split("_", 1)
    make, parameter = LAWS[name]
    return make(case["inputs"][parameter]), kind


def _close(value: float, case: dict[str, Any], digits: float = 12.5) -> bool:
    return math.isclose(value, float(case["expected"]), rel_tol=10**-digits)


@pytest.mark.parametrize(
    "case", _chosen("pdf", "cdf", "sf", "quantile", "variance"), ids=lambda c: str(c["function"])
)
def test_law(case: dict[str, Any]) -> None:
    law, kind = _law(case)
    inputs = case["inputs"]
    scale = float(inputs.get("s", 1))
    x = float(inputs.get("x", inputs.get("z", 0))) / scale
    value = {
        "pdf": lambda: law.density(x) / scale,
        "cdf": lambda: law.cdf(x),
        "sf": lambda: law.survival(x),
        "quantile": lambda: law.quantile(float(inputs["p"])) * scale,
        "variance": lambda: law.variance * scale**2,
    }[kind]()
    assert _close(value, case)


@pytest.mark.parametrize("case", _chosen("renyi"), ids=lambda c: str(c["function"]))
def test_renyi(case: dict[str, Any]) -> None:
    inputs = case["inputs"]
    law = Gaussian() if case["function"] == "gauss_renyi" else _law(case)[0]
    lower, upper = law.renyi_bounds(inputs["alpha"], shift=inputs["s"], dilation=inputs["t"])
    truth = float(case["expected"])
    # The reference has 14 digits after the point.
    assert lower - 1e-14 <= truth <= upper + 1e-14
    assert upper - lower <= 1e-11 * truth


@pytest.mark.parametrize("case", _chosen("max_divergence"), ids=lambda c: str(c["inputs"]))
def test_max_divergence(case: dict[str, Any]) -> None:
    inputs = case["inputs"]
    law = StudentT(inputs["d"])
    bounds = law.max_divergence_bounds(shift=inputs["s"], dilation=inputs["t"])
    assert all(_close(bound, case, 14) for bound in bounds)


@pytest.mark.parametrize("case", _chosen("hockey_stick"), ids=lambda c: str(c["inputs"]))
def test_hockey_stick(case: dict[str, Any]) -> None:
    inputs = case["inputs"]
    bounds = Laplace().delta_bounds(
        inputs["eps"], shift=inputs["s"], dilation=inputs["t"], direction="reverse"
    )
    assert all(_close(bound, case) for bound in bounds)


@pytest.mark.parametrize("case", _chosen("kl_scale"), ids=lambda c: str(c["function"]))
def test_shift_with_a_divergence_of_one_half(case: dict[str, Any]) -> None:
    inputs = case["inputs"]
    # 2 / sqrt(3) as a rational near it: the divergence moves by less than 1e-15.
    sigma = Fraction(math.isqrt(4 * 10**40 // 3), 10**20)
    law = StudentT(inputs["d"]) if "d" in inputs else ArsinhNormal(sigma)
    lower, upper = law.renyi_bounds(1, shift=case["expected"], dilation=0)
    assert abs(lower - 0.5) < 1e-11
    assert abs(upper - 0.5) < 1e-11


def test_laplace_scale_of_approximate_privacy() -> None:
    (case,) = _chosen("tight_scale_adp")
    inputs = case["inputs"]
    place = {"shift": case["expected"], "dilation": inputs["t"]}
    bounds = Laplace().delta_bounds(inputs["eps"], direction="reverse", **place)
    assert all(math.isclose(b, float(inputs["delta"]), rel_tol=1e-9) for b in bounds)
