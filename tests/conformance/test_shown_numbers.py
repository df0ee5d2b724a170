"""Exact numbers in what is printed: short, and rounded so that the claim stays true."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.parameters.numbers import LogRatio, Real
from smoothdp.noise import PolyPlace, StudentT
from smoothdp.text import number_down, number_up

HUGE = Fraction(2**0.5)
MANY = [
    *(Fraction(repr(float(x))) for x in np.random.default_rng(1).lognormal(0, 30, 300)),
    *(Fraction(int(a), int(b)) for a, b in np.random.default_rng(2).integers(1, 10**15, (300, 2))),
]


def value_of(text: str) -> Fraction:
    return Fraction(text) if "/" in text else Fraction(Decimal(text))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(1, 2), "1/2"),
        (Fraction(200, 3), "200/3"),
        (Fraction(1, 10**6), "1e-6"),
        (Fraction(47453, 10000), "4.7453"),
        (Fraction(1, 10**5000), "1e-5000"),
        (Fraction(10**300), "1e+300"),
        (LogRatio(Fraction(51, 49)), "ln(51/49)"),
    ],
)
def test_short_numbers_are_exact(number: Real, text: str) -> None:
    for rounding in ("up", "down", "cut"):
        assert shown(number, rounding=rounding) == text


def test_long_numbers_are_short_and_on_their_side() -> None:
    for number in MANY:
        up, down = shown(number, rounding="up"), shown(number, rounding="down")
        assert max(len(up), len(down)) <= 14
        assert value_of(down) <= number <= value_of(up)
        assert value_of(up) - value_of(down) <= number / 10**5
        cut = shown(number)
        assert cut.endswith("...") == (value_of(cut.removesuffix("...")) != number)
        assert value_of(cut.removesuffix("...")) <= number


def test_long_logarithms() -> None:
    number = LogRatio(Fraction(10**40 + 1, 3 * 10**39))
    assert shown(number, rounding="up") == "1.20398"
    assert shown(number, rounding="down") == "1.20397"


@pytest.mark.parametrize(
    "claim",
    [
        sd.PureDP(HUGE),
        sd.PureDP(LogRatio(Fraction(10**60 + 1, 10**59))),
        sd.ApproxDP(HUGE, delta=Fraction(1, 3 * 10**5000)),
        sd.ZCDP(HUGE),
        sd.TruncatedCDP(HUGE, omega=HUGE),
        sd.GaussianDP(HUGE),
        sd.GaussianDP(2**0.5 * 1e-9),
        sd.SmoothedDP(HUGE, delta=Fraction(1, 3**50), model=sd.DataModel([("1/3", "2/3")])),
    ],
    ids=lambda claim: type(claim).__name__,
)
def test_claims_are_shown_as_what_they_imply(claim: sd.Guarantee) -> None:
    text = repr(claim)
    assert len(text) < 100
    for name, exact in claim.parameters().items():
        found = re.search(rf"\b{name}=([^,]+),", text)
        assert found
        number = value_of(found[1])
        if isinstance(exact, LogRatio):
            assert float(number) >= float(exact)
        elif name == "omega":
            assert exact * (1 - Fraction(1, 10**5)) <= number <= exact
        else:
            assert exact <= number <= exact * (1 + Fraction(1, 10**5))


def test_omega_is_not_rounded_up_in_words() -> None:
    claim = sd.TruncatedCDP("0.5", omega=Fraction(10**12 - 1, 10**11))
    assert "orders below 9.999 " in claim.sentence()


def test_laws_are_shown_short() -> None:
    assert repr(PolyPlace(HUGE + 3)) == "PolyPlace(alpha=4.41421...)"
    assert repr(StudentT("4.7453")) == "StudentT(degrees=4.7453)"
    with pytest.raises(sd.errors.OutOfReach, match=r"degrees=1\.41421e\+40\.\.\."):
        StudentT(HUGE * 10**40)


def test_protocols_are_shown_short() -> None:
    found = sd.shuffle.Histogram.calibrate(
        336_776, n_bins=106, guarantee=sd.ApproxDP(1, delta="1e-6"), honest_share=1
    )
    assert re.search(r"with probability 0\.\d{8,10}\.\.\.,", found.describe())


def test_extreme_numbers_are_not_written_out() -> None:
    assert (number_up(3.54321e-69), number_up(1e300)) == ("3.544e-69", "1e+300")
    assert (number_down(3.54329e-69), number_down(0.000001)) == ("3.543e-69", "0.000001")
    assert number_up(123456789.0, 9) == "123456789"
