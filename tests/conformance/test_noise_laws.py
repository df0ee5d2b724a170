"""What every noise law declares and does: the checks that `conform` makes, law by law.

The claims of laws whose calibrations take long are checked in the slow run; brute force on each
of them is in `tests/oracles`.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from smoothdp import noise
from smoothdp.errors import InvalidParameter
from smoothdp.noise import LAWS, Gaussian, Laplace, NoiseDistribution, StudentT
from smoothdp.testing.conform import (
    FAMILY_CHECKS,
    LAW_CHECKS,
    keeps_its_claims,
    typical_laws,
)

QUICK = (Gaussian, Laplace, StudentT)


def test_there_are_nine_laws() -> None:
    assert len(LAWS) == 9
    assert noise.__all__ == sorted(noise.__all__)


@pytest.mark.parametrize("family", LAWS)
class TestDeclaration:
    @pytest.mark.parametrize("check", FAMILY_CHECKS, ids=lambda check: check.__name__)
    def test_family(
        self, family: type[NoiseDistribution], check: Callable[[type[NoiseDistribution]], None]
    ) -> None:
        check(family)

    def test_documentation(self, family: type[NoiseDistribution]) -> None:
        assert family.__doc__ is not None
        assert ">>>" in family.__doc__
        assert "ariance" in family.__doc__ or family is StudentT

    @pytest.mark.parametrize("wrong", [0, -0.5, -1])
    def test_numbers_that_no_shape_takes(
        self, family: type[NoiseDistribution], wrong: float
    ) -> None:
        for spec in family.parameters:
            with pytest.raises(InvalidParameter, match=spec.name):
                family(wrong)  # type: ignore[call-arg]


@pytest.mark.parametrize("law", [law for kind in LAWS for law in typical_laws(kind)], ids=repr)
@pytest.mark.parametrize("check", LAW_CHECKS, ids=lambda check: check.__name__)
def test_law(law: NoiseDistribution, check: Callable[[NoiseDistribution], None]) -> None:
    check(law)


@pytest.mark.parametrize(
    "family",
    [
        pytest.param(kind, marks=() if kind in QUICK else pytest.mark.slow, id=kind.__name__)
        for kind in LAWS
    ],
)
def test_claims(family: type[NoiseDistribution]) -> None:
    assert len(keeps_its_claims(family)) == 8


def test_laws_without_parameters_are_equal_to_themselves() -> None:
    laws: list[NoiseDistribution] = [Laplace(), Gaussian()]
    assert laws[0] == Laplace()
    assert laws[0] != laws[1]
    assert repr(Laplace()) == "Laplace()"
    assert repr(StudentT("2.5")) == "StudentT(degrees=5/2)"
