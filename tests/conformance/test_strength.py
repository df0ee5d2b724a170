"""What a claim says of its own strength: the factor, the guess, and a warning where it is weak."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from statistics import NormalDist

import pytest

import smoothdp as sd
from smoothdp.claims.guarantees.guarantee import WEAK_GUESS, factor_text, guess_upper, weaknesses
from smoothdp.smoothed.properties import smoothed_to_distributional

MODEL = sd.DataModel([("1/3", "2/3")])
STRONG = (
    sd.PureDP(0),
    sd.PureDP("0.1"),
    sd.PureDP(3),
    sd.PureDP("ln(51/49)"),
    sd.PureDP(1, neighbours="add_remove"),
    sd.ApproxDP(3, delta="9.99e-4"),
    sd.ZCDP("0.5"),
    sd.TruncatedCDP("0.5", omega=20),
    sd.GaussianDP(1),
    sd.SmoothedDP(1, delta="1e-6", model=MODEL),
)
WEAK = (
    sd.PureDP("3.0001"),
    sd.PureDP("ln(21)"),
    sd.PureDP(100),
    sd.PureDP("1e300"),
    sd.ApproxDP(1, delta="1e-3"),
    sd.ApproxDP(100, delta="0.9"),
    sd.ApproxDP(0, delta=1),
    sd.ZCDP(10),
    sd.TruncatedCDP(10, omega=5),
    sd.GaussianDP(4),
    sd.SmoothedDP(100, delta="1e-6", model=MODEL),
    sd.SmoothedDP(1, delta="0.9", model=MODEL),
)


@pytest.mark.parametrize("claim", STRONG + WEAK, ids=repr)
def test_no_sentence_calls_it_little(claim: sd.Guarantee) -> None:
    sentence = claim.sentence()
    assert "learns little" not in sentence
    assert sentence.endswith(".")
    assert re.search(r"is right at most [\d.]+% of the time|may be right every time", sentence)


@pytest.mark.parametrize("claim", STRONG, ids=repr)
def test_strong_claims_are_not_called_weak(claim: sd.Guarantee) -> None:
    assert weaknesses(claim) == []
    assert "weak" not in claim.sentence()


@pytest.mark.parametrize("claim", WEAK, ids=repr)
def test_weak_claims_say_so(claim: sd.Guarantee) -> None:
    assert ". This is weak: " in claim.sentence()
    assert claim.sentence().endswith(f"This is weak: {'; '.join(weaknesses(claim))}.")


def test_both_reasons_are_named() -> None:
    sentence = sd.ApproxDP(100, delta="0.9").sentence()
    assert "e^100 (2.689e+43)" in sentence
    assert "epsilon is above 3" in sentence
    assert "delta is 0.9" in sentence


def test_a_delta_of_one_over_n() -> None:
    claim = sd.ApproxDP(1, delta="1e-4")
    assert "weak" not in claim.sentence()
    assert "weak" not in claim.sentence(n_records=9_999)
    assert "delta is at least 1/n" in claim.sentence(n_records=10_000)


def test_five_rows_of_a_person_are_judged_as_five() -> None:
    assert "weak" not in sd.PureDP(1).sentence()
    assert "weak" in sd.PureDP(1).sentence(rows_per_person=5)


def test_the_guess_against_its_definition() -> None:
    """e^epsilon / (1 + e^epsilon) of randomised response, Phi(mu / 2) of a shifted normal."""
    for epsilon in (0.1, 1.0, 3.0):
        true = 1 / (1 + math.exp(-epsilon))
        assert true <= guess_upper(sd.PureDP(epsilon)) < true + 1e-12
    for mu in (0.5, 1.0, 4.0):
        true = NormalDist().cdf(mu / 2)
        assert true - 1e-15 <= guess_upper(sd.GaussianDP(mu)) < true + 1e-12
    assert WEAK_GUESS - Fraction(1, 10_000) < 1 / (1 + math.exp(-3)) < WEAK_GUESS
    both = sd.ApproxDP(1, delta="0.2")
    # All is told with probability .2, else randomised response.
    assert float(guess_upper(both)) == pytest.approx(0.2 + 0.8 / (1 + math.exp(-1)))


def test_printed_factors_are_never_below() -> None:
    for epsilon in ("0", "0.1", "1/3", "3", "12.3456", "100", "700", "ln(51/49)"):
        exact = sd.PureDP(epsilon).exact_epsilon
        found = re.fullmatch(r"e\^(\S+) \((\S+)\)", factor_text(exact))
        assert found
        assert float(found[1]) >= float(exact) * (1 - 1e-15)
        assert float(found[2]) >= math.exp(float(exact)) * (1 - 1e-14)
    assert factor_text(Fraction(10**300)) == "e^(1e+300)"


def test_distributional_claims() -> None:
    mild = sd.SmoothedDP(1, delta="1e-6", model=MODEL)
    assert smoothed_to_distributional(mild).sentence().endswith("factor e^1 (2.719) plus 1e-6.")
    loud = sd.SmoothedDP(9, delta="1e-6", model=MODEL)
    assert "This is weak: epsilon is above 3" in smoothed_to_distributional(loud).sentence()
