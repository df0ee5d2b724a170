"""What every noise law declares and does, by two routes; found by walking the public names."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from smoothdp import noise
from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.noise import Gaussian, Laplace, NoiseDistribution, StudentT
from smoothdp.sources import Source

CLASSES: list[Any] = [
    found
    for found in (getattr(noise, name) for name in noise.__all__)
    if inspect.isclass(found)
    and issubclass(found, NoiseDistribution)
    and found is not NoiseDistribution
]
LAWS: list[NoiseDistribution] = [
    make(value)
    for make in CLASSES
    for value in (make.parameters[0].typical[:3] if make.parameters else [None])
    if value is not None
] + [make() for make in CLASSES if not make.parameters]


def test_there_are_nine_laws() -> None:
    assert len(CLASSES) == 9
    assert noise.__all__ == sorted(noise.__all__)


@pytest.mark.parametrize("make", CLASSES)
class TestDeclaration:
    def test_source_and_documentation(self, make: Any) -> None:
        assert isinstance(make.source, Source)
        assert make.__doc__ is not None
        assert ">>>" in make.__doc__
        assert "ariance" in make.__doc__ or make is StudentT

    def test_parameters_are_declared_and_typical(self, make: Any) -> None:
        for spec in make.parameters:
            assert spec.meaning
            assert len(spec.typical) >= 3
            for value in spec.typical:
                exact = spec.read(value)
                assert make(value).values() == {spec.name: exact}
                # The same number in four ways of writing it.
                law = make(exact)
                assert law == make(str(exact)) == make(value)
                assert hash(law) == hash(make(value))
                assert getattr(law, spec.name) == float(exact)
                assert eval(repr(make("3")), {make.__name__: make, "Fraction": Fraction}) == make(3)

    def test_constructor_takes_the_declared_names(self, make: Any) -> None:
        names = [p for p in inspect.signature(make).parameters if p != "self"]
        assert names == [spec.name for spec in make.parameters]

    def test_outside_the_domain(self, make: Any) -> None:
        for spec in make.parameters:
            for wrong in (spec.above, spec.above - 1, -1, 0, -0.5, math.nan, math.inf, -math.inf):
                with pytest.raises(InvalidParameter, match=spec.name):
                    make(wrong)
            for no_number in (True, "x", None, [1], "ln(3)"):
                with pytest.raises(InvalidParameter, match=spec.name):
                    make(no_number)
            lowest, highest = (Fraction(end) for end in spec.reach)
            make(lowest)
            make(highest)
            with pytest.raises(OutOfReach, match=spec.name):
                make(highest * 2)
            below = (lowest + spec.above) / 2
            if below != lowest:
                with pytest.raises(OutOfReach, match=spec.name):
                    make(below)


@pytest.mark.parametrize("law", LAWS, ids=repr)
class TestEveryLaw:
    def test_symmetric(self, law: NoiseDistribution) -> None:
        x = np.array([0.0, 1e-5, 0.3, 1.0, 4.0, 300.0])
        assert np.array_equal(law.density(x), law.density(-x))
        assert np.array_equal(law.log_density(x), law.log_density(-x))
        assert np.array_equal(law.survival(x), law.cdf(-x))
        assert np.array_equal(law.log_survival(x), law.log_cdf(-x))
        assert law.cdf(0.0) == 0.5
        assert law.quantile(0.5) == 0.0
        p = np.array([0.01, 0.1, 0.25, 0.375])
        assert np.allclose(law.quantile(p), -law.quantile(1 - p), rtol=1e-12)

    def test_monotone(self, law: NoiseDistribution) -> None:
        x = np.linspace(-6, 6, 241)
        # Near 1, neighbouring points may share a float.
        assert np.all(np.diff(law.cdf(x)) >= 0)
        assert np.all(np.diff(law.cdf(x[x <= 0])) > 0)
        assert np.all(np.diff(law.log_survival(x)) < 0)
        assert np.all(np.diff(law.log_density(x[x > 0])) < 0)
        p = np.linspace(0.001, 0.999, 101)
        assert np.all(np.diff(law.quantile(p)) > 0)
        around_a_quarter = np.linspace(0.25 - 5e-9, 0.25 + 5e-9, 11)
        assert np.all(np.diff(law.quantile(around_a_quarter)) > 0)

    def test_cdf_is_the_integral_of_the_density(self, law: NoiseDistribution) -> None:
        # Gauss-Legendre in ln x, between points of the positive half-line.
        nodes, weights = np.polynomial.legendre.leggauss(40)
        kinks = [float(k) for k in law._kinks()]
        for low, high in pairwise(sorted([1e-3, 0.1, 0.4, 1.0, 3.0, 9.0, *kinks])):
            half = math.log(high / low) / 2
            x = low * np.exp(half * (nodes + 1))
            mass = float(np.sum(weights * half * x * law.density(x)))
            assert math.isclose(mass, law.survival(low) - law.survival(high), rel_tol=1e-9)

    def test_quantile_inverts_the_cdf(self, law: NoiseDistribution) -> None:
        x = np.array([-8.0, -1.5, -0.4, -0.01, 0.02, 0.2])
        p = law.cdf(x)
        # Rounding p moves x by an ulp of p over the density.
        slack = 1e-12 * np.abs(x) + 4 * np.spacing(p) / law.density(x)
        assert np.all(np.abs(law.quantile(p) - x) <= slack)

    def test_variance_by_quadrature(self, law: NoiseDistribution) -> None:
        if law.variance == math.inf:
            with pytest.raises(InvalidParameter, match="finite variance"):
                _ = law.standard_deviation
            return
        assert law.standard_deviation == math.sqrt(law.variance)
        # The integral of x^2 f in ln x, by the trapezoidal rule between two kinks' panels.
        nodes, weights = np.polynomial.legendre.leggauss(30)
        kinks = [math.log(float(k)) for k in law._kinks()]
        edges = np.array(sorted([*np.linspace(-25, 150, 701), *kinks]))
        half = np.diff(edges)[:, None] / 2
        v = (edges[:-1, None] + half * (nodes + 1)).ravel()
        log_terms = 3 * v + law.log_density(np.exp(v)) + np.log((half * weights).ravel())
        second = 2 * float(np.sum(np.exp(log_terms)))
        assert math.isclose(second, law.variance, rel_tol=1e-10)

    def test_numbers_and_arrays_agree(self, law: NoiseDistribution) -> None:
        x = np.array([[-2.0, 0.0], [0.5, 7.0]])
        for function in (law.density, law.log_density, law.cdf, law.survival, law.log_survival):
            values = function(x)
            assert values.shape == x.shape
            single = function(0.5)
            assert isinstance(single, float)
            assert math.isclose(single, values[1, 0], rel_tol=1e-14)
        assert isinstance(law.quantile(0.3), float)

    def test_edges(self, law: NoiseDistribution) -> None:
        assert law.density(math.inf) == law.density(-math.inf) == 0.0
        assert law.log_density(math.inf) == -math.inf
        assert law.cdf(-math.inf) == law.survival(math.inf) == 0.0
        assert law.cdf(math.inf) == 1.0
        assert law.quantile(0.0) == -math.inf
        assert law.quantile(1.0) == math.inf
        assert law.tail_quantile(-math.inf) == math.inf
        assert law.tail_quantile(math.log(0.5)) == 0.0
        assert law.density(0.0) > 0
        assert math.isnan(law.density(math.nan))
        assert math.isnan(law.cdf(math.nan))
        assert law.moment(0) == 1.0

    def test_bad_input(self, law: NoiseDistribution) -> None:
        for p in (-0.1, 1.1, math.nan):
            with pytest.raises(InvalidParameter, match="p="):
                law.quantile(p)
        for log_tail in (-0.5, 0.0, math.nan):
            with pytest.raises(InvalidParameter, match="log_tail"):
                law.tail_quantile(log_tail)
        with pytest.raises(InvalidParameter):
            law.density("a")  # type: ignore[type-var]
        for k in (-1, 1.5, True, "2"):
            with pytest.raises(InvalidParameter, match="k"):
                law.moment(k)  # type: ignore[arg-type]

    def test_unchangeable_and_copied(self, law: NoiseDistribution) -> None:
        law.renyi(2, shift="0.3", dilation="0.05")
        for twin in (copy.copy(law), copy.deepcopy(law), pickle.loads(pickle.dumps(law))):
            assert twin == law
        for name in law.values():
            with pytest.raises(AttributeError):
                setattr(law, f"exact_{name}", Fraction(1))

    def test_moments_rise(self, law: NoiseDistribution) -> None:
        # Lyapunov: (E|Z|^k)^(1/k) does not fall.
        roots = [law.moment(k) ** (1 / k) for k in (1, 2, 3, 4)]
        assert all(a <= b * (1 + 1e-12) for a, b in pairwise(roots))


def test_laws_without_parameters_are_equal_to_themselves() -> None:
    laws: list[NoiseDistribution] = [Laplace(), Gaussian()]
    assert laws[0] == Laplace()
    assert laws[0] != laws[1]
    assert repr(Laplace()) == "Laplace()"
    assert repr(StudentT("2.5")) == "StudentT(degrees=5/2)"
