"""Quantised laws against numerical integration of Definition 5 at 60 digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest

from smoothdp import DataModel
from smoothdp.claims.model.quantized import quantized_laplace, quantized_normal, quantized_values
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.normal_cells import normal_cells

Density = Callable[[Any, Any, Any], Any]


def normal_density(x: Any, mean: Any, std: Any) -> Any:
    return mpmath.npdf(x, mean, std)


def laplace_density(x: Any, mean: Any, std: Any) -> Any:
    scale = std / mpmath.sqrt(2)
    return mpmath.exp(-abs(x - mean) / scale) / (2 * scale)


def integrated(density: Density, mean: Fraction, std: Fraction, bits: int) -> list[Any]:
    """Return the shares of the cells (x, x + 2^-bits] of (-1/2, 1/2], by quadrature."""
    size = 1 << bits
    centre = mpmath.mpf(mean.numerator) / mean.denominator
    width = mpmath.mpf(std.numerator) / std.denominator
    masses = []
    for i in range(size):
        low, high = (mpmath.mpf(2 * j - size) / (2 * size) for j in (i, i + 1))
        points = [low, centre, high] if low < centre < high else [low, high]
        masses.append(mpmath.quad(lambda x: density(x, centre, width), points))
    total = mpmath.fsum(masses)
    return [mass / total for mass in masses]


@pytest.mark.parametrize(
    ("law", "density"),
    [(quantized_normal, normal_density), (quantized_laplace, laplace_density)],
    ids=["normal", "laplace"],
)
@pytest.mark.parametrize(
    ("mean", "std", "bits"),
    [("0", "0.12", 4), ("0.2", "0.12", 5), ("-1/3", "0.1", 3), ("0.7", "0.3", 3), ("0", "50", 2)],
)
def test_against_quadrature(law: Any, density: Density, mean: str, std: str, bits: int) -> None:
    (vertex,) = law([mean], std=std, bits=bits)
    with mpmath.workdps(60):
        for share, truth in zip(
            vertex, integrated(density, Fraction(mean), Fraction(std), bits), strict=True
        ):
            ours = mpmath.mpf(share.numerator) / share.denominator
            assert abs(ours / truth - 1) < mpmath.mpf(2) ** -100


@pytest.mark.parametrize("law", [quantized_normal, quantized_laplace])
def test_exact_sums_and_positive(law: Any) -> None:
    for means, std, bits in (([0, 0.2], 0.12, 8), ([0.1], "0.01", 8), ([0], 1, 1), ([4], 2, 6)):
        vertices = law(means, std=std, bits=bits)
        assert len(vertices) == len(means)
        for vertex in vertices:
            assert len(vertex) == 1 << bits
            assert sum(vertex) == 1
            assert min(vertex) > 0
        assert DataModel(vertices).vertices == vertices


def test_small_probabilities_by_hand() -> None:
    """The least probability is 2.4e-6 with mean 0, 5.9e-10 with mean 0.2."""
    first, second = quantized_normal([0, 0.2], std=0.12)
    assert float(min(first)) == pytest.approx(2.4e-6, rel=0.02)
    assert float(min(second)) == pytest.approx(5.9e-10, rel=0.01)


@pytest.mark.parametrize("law", [quantized_normal, quantized_laplace])
def test_symmetry(law: Any) -> None:
    """Cells are rounded down, so a mean of 0 gives a palindrome around -2^-9."""
    ((left, *_), (right, *_)) = (law([0.2], std=0.12), law([-0.2], std=0.12))
    (middle,) = law([0], std=0.12)
    for low, high in zip(middle, reversed(middle), strict=True):
        assert abs(low / high - 1) < Fraction(1, 2**100)
    for low, high in zip(left, reversed(right), strict=True):
        assert abs(low / high - 1) < Fraction(1, 2**100)


def test_deep_tail() -> None:
    """A probability far below floats keeps its digits."""
    (vertex,) = quantized_normal([0], std="0.008")
    ratio = vertex[0] / vertex[1]
    # ln of the ratio of neighbouring cells, by the leading term of Mills' ratio.
    z = [0.5 / 0.008, (0.5 - 1 / 256) / 0.008]
    expected = math.exp(-(z[0] ** 2 - z[1] ** 2) / 2)
    assert 0 < vertex[0] < Fraction(1, 10**800)
    assert float(ratio) == pytest.approx(expected * z[1] / z[0], rel=0.01)


def test_grid() -> None:
    assert quantized_values(2) == (Fraction(-1, 2), Fraction(-1, 4), Fraction(0), Fraction(1, 4))
    halves = normal_cells(
        [Fraction(0), Fraction(1), Fraction(2)], mean=Fraction(1), std=Fraction(9)
    )
    assert halves == (Fraction(1, 2), Fraction(1, 2))


@pytest.mark.parametrize("law", [quantized_normal, quantized_laplace])
def test_bad_parameters(law: Any) -> None:
    for arguments, words in (
        ({"means": [], "std": 1}, "at least one mean"),
        ({"means": 0, "std": 1}, "means=0"),
        ({"means": "0", "std": 1}, "means='0'"),
        ({"means": [math.nan], "std": 1}, "nan"),
        ({"means": [True], "std": 1}, "True"),
        ({"means": [0], "std": 0}, "std=0"),
        ({"means": [0], "std": -0.1}, "std=-0.1"),
        ({"means": [0], "std": math.inf}, "std"),
        ({"means": [0], "std": "1e-9"}, "Raise std"),
        ({"means": [0], "std": 1, "bits": 0}, "bits"),
        ({"means": [0], "std": 1, "bits": 13}, "bits <= 12"),
        ({"means": [0], "std": 1, "bits": 2.5}, "bits"),
        ({"means": [0], "std": 1, "bits": True}, "bits"),
    ):
        with pytest.raises(InvalidParameter) as caught:
            law(arguments.pop("means"), **arguments)
        assert words in str(caught.value)
