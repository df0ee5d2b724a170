"""Each noise law as it is sampled: exactly, bit by bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smoothdp.errors import InvalidParameter
from smoothdp.exact.random import lazy_laws as lazy
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

_LAZY: dict[type[NoiseDistribution], Callable[..., lazy.LazyLaw]] = {
    ArsinhNormal: lazy.LazyArsinhNormal,
    Gaussian: lazy.LazyNormal,
    GeneralizedCauchy: lazy.LazyGeneralizedCauchy,
    Laplace: lazy.LazyLaplace,
    LaplaceLogNormal: lazy.LazyLaplaceLogNormal,
    Log1pNormal: lazy.LazyLog1pNormal,
    PolyPlace: lazy.LazyPolyPlace,
    StudentT: lazy.LazyStudentT,
    UniformLogNormal: lazy.LazyUniformLogNormal,
}


def lazy_law(law: NoiseDistribution) -> lazy.LazyLaw:
    """Return how a law is sampled; its parameters are the exact ones.

    Raises:
        InvalidParameter: a law of another class, which has no exact sampler.

    >>> lazy_law(PolyPlace(5))
    LazyPolyPlace(alpha=Fraction(5, 1))
    """
    make = _LAZY.get(type(law))
    if make is None:
        known = ", ".join(kind.__name__ for kind in _LAZY)
        raise InvalidParameter(
            expected=f"one of {known}", got=f"{law!r}", remedy="Use one of these laws"
        )
    shape: dict[str, Any] = dict(law.values())
    return make(**shape)
