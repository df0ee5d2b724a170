"""The parameters of claims, read: epsilon, delta, amounts such as rho, probabilities."""

from __future__ import annotations

from fractions import Fraction

from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import (
    Parameter,
    Real,
    exact_fraction,
    exact_probability,
    exact_real,
    proper_probability,
    sign,
)

# So that products of a few parameters are still floats.
_LARGEST = 10**300


def read_epsilon(epsilon: Parameter) -> Real:
    """Return an exact epsilon in [0, 1e300], or raise InvalidParameter."""
    value = exact_real(epsilon, name="epsilon")
    if sign(value) < 0:
        raise InvalidParameter(
            expected="epsilon >= 0", got=f"epsilon={epsilon}", remedy="Give a non-negative epsilon"
        )
    if isinstance(value, Fraction) and value > _LARGEST:
        raise _too_large("epsilon", epsilon)
    return value


def read_amount(amount: Parameter, *, name: str) -> Fraction:
    """Return an exact rho or mu in [0, 1e300], or raise InvalidParameter."""
    value = exact_fraction(amount, name=name)
    if value < 0:
        raise InvalidParameter(
            expected=f"{name} >= 0", got=f"{name}={amount}", remedy=f"Give {name} >= 0"
        )
    if value > _LARGEST:
        raise _too_large(name, amount)
    return value


def _too_large(name: str, value: object) -> InvalidParameter:
    return InvalidParameter(
        expected=f"{name} <= 1e300", got=f"{name}={value}", remedy=f"Lower {name}"
    )


def read_delta(delta: Parameter) -> Fraction:
    """Return an exact delta in [0, 1], or raise InvalidParameter."""
    return exact_probability(delta, name="delta", remedy="Give a probability such as 1e-6")


def read_inner_probability(
    value: Parameter, *, name: str = "delta", example: str = "1e-6"
) -> Fraction:
    """Return an exact probability in (0, 1), or raise InvalidParameter.

    Args:
        value: the probability. name: of the argument. example: what the remedy names.
    """
    return proper_probability(value, name=name, remedy=f"Give {name}={example}")
