"""The noise laws written once more from their definitions, in mpmath: densities and tails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath as mp
import pytest

from smoothdp.noise import (
    ArsinhNormal,
    Gaussian,
    GeneralizedCauchy,
    Laplace,
    LaplaceLogNormal,
    Log1pNormal,
    NoiseDistribution,
    PolyPlace,
    StudentT,
    UniformLogNormal,
)

Function = Callable[[mp.mpf], mp.mpf]


class Formulas(NamedTuple):
    """The density and the tail P(Z > x) at x >= 0, and where the density has kinks."""

    density: Function
    tail: Function
    kinks: tuple[mp.mpf, ...] = ()


def _normal(y: mp.mpf) -> mp.mpf:
    return mp.exp(-y * y / 2) / mp.sqrt(2 * mp.pi)


def _normal_tail(y: mp.mpf) -> mp.mpf:
    return mp.erfc(y / mp.sqrt(2)) / 2


def _over_normal(function: Function) -> mp.mpf:
    """Return E function(Y) by the trapezoidal rule, which converges exponentially here."""
    step = mp.mpf(1) / 24
    return step * mp.fsum(_normal(j * step) * function(j * step) for j in range(-340, 341))


def laplace_log_normal(sigma: mp.mpf) -> Formulas:
    # Z = X e^(sigma Y): condition on Y.
    def density(x: mp.mpf) -> mp.mpf:
        return _over_normal(lambda y: mp.exp(-sigma * y - x * mp.exp(-sigma * y)) / 2)

    def tail(x: mp.mpf) -> mp.mpf:
        return _over_normal(lambda y: mp.exp(-x * mp.exp(-sigma * y)) / 2)

    return Formulas(density, tail)


def uniform_log_normal(sigma: mp.mpf) -> Formulas:
    def density(x: mp.mpf) -> mp.mpf:
        return mp.exp(sigma**2 / 2) / 2 * _normal_tail(sigma + mp.log(x) / sigma)

    def tail(x: mp.mpf) -> mp.mpf:
        w = mp.log(x) / sigma
        return (_normal_tail(w) - x * mp.exp(sigma**2 / 2) * _normal_tail(w + sigma)) / 2

    return Formulas(density, tail)


def arsinh_normal(sigma: mp.mpf) -> Formulas:
    def y(x: mp.mpf) -> mp.mpf:
        return mp.asinh(sigma * x) / sigma

    return Formulas(
        lambda x: _normal(y(x)) / mp.sqrt(1 + (sigma * x) ** 2), lambda x: _normal_tail(y(x))
    )


def log1p_normal(sigma: mp.mpf) -> Formulas:
    def y(x: mp.mpf) -> mp.mpf:
        return mp.log(1 + sigma * x) / sigma

    return Formulas(lambda x: _normal(y(x)) / (1 + sigma * x), lambda x: _normal_tail(y(x)))


def student_t(d: mp.mpf) -> Formulas:
    c = mp.gamma((d + 1) / 2) / mp.gamma(d / 2) / mp.sqrt(mp.pi * d)

    def tail(x: mp.mpf) -> mp.mpf:
        return mp.betainc(d / 2, mp.mpf(1) / 2, 0, d / (d + x * x), regularized=True) / 2

    return Formulas(lambda x: c * (1 + x * x / d) ** (-(d + 1) / 2), tail)


def generalized_cauchy(c: mp.mpf) -> Formulas:
    constant = c * mp.sin(mp.pi / c) / (2 * mp.pi)

    def tail(x: mp.mpf) -> mp.mpf:
        # The integral of y^-c / (1 + y^-c) beyond x.
        series = mp.hyp2f1(1, 1 - 1 / c, 2 - 1 / c, -(x**-c)) if x > 0 else mp.mpf(0)
        return constant * x ** (1 - c) / (c - 1) * series if x > 0 else mp.mpf(1) / 2

    return Formulas(lambda x: constant / (1 + x**c), tail)


def poly_place(a: mp.mpf) -> Formulas:
    k = (1 - 1 / a) ** a
    scale = a / (2 * (2 * k + a - 1))
    outer = scale * (a + 1) * (1 - 1 / a**2) ** a

    def density(x: mp.mpf) -> mp.mpf:
        return scale * (a - 1) * (1 - x) ** (a - 1) if a * x < 1 else outer * (1 + x) ** (-a - 1)

    def tail(x: mp.mpf) -> mp.mpf:
        if a * x >= 1:
            return outer * (1 + x) ** -a / a
        return mp.mpf(1) / 2 - scale * (a - 1) / a * (1 - (1 - x) ** a)

    return Formulas(density, tail, (1 / a,))


def laplace() -> Formulas:
    return Formulas(lambda x: mp.exp(-x) / 2, lambda x: mp.exp(-x) / 2)


def gaussian() -> Formulas:
    return Formulas(_normal, _normal_tail)


MAKERS: dict[type[NoiseDistribution], Callable[..., Formulas]] = {
    LaplaceLogNormal: laplace_log_normal,
    UniformLogNormal: uniform_log_normal,
    ArsinhNormal: arsinh_normal,
    Log1pNormal: log1p_normal,
    StudentT: student_t,
    GeneralizedCauchy: generalized_cauchy,
    PolyPlace: poly_place,
    Laplace: laplace,
    Gaussian: gaussian,
}


def formulas(law: NoiseDistribution) -> Formulas:
    """Return the formulas of a law, at the present precision of mpmath."""
    values = (mp.mpf(v.numerator) / v.denominator for v in law.values().values())
    return MAKERS[type(law)](*values)


FEW: list[NoiseDistribution] = [
    UniformLogNormal("0.75"),
    ArsinhNormal("0.4"),
    Log1pNormal("0.5"),
    StudentT(3),
    GeneralizedCauchy("3.5"),
    PolyPlace("2.5"),
    Laplace(),
    Gaussian(),
]
MORE: list[NoiseDistribution] = [
    UniformLogNormal("2"),
    ArsinhNormal("1.3"),
    Log1pNormal("1.2"),
    StudentT("1.5"),
    GeneralizedCauchy(2),
    PolyPlace(7),
]


def law_cases(*more: NoiseDistribution) -> list[Any]:
    """Return one shape of every law, and the others for the slow run."""
    fast = [pytest.param(law, id=repr(law)) for law in (*FEW, *more)]
    return fast + [pytest.param(law, id=repr(law), marks=pytest.mark.slow) for law in MORE]
