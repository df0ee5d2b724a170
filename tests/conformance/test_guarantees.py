"""What every claim does: profile, JSON, sentence, implication."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import pairwise

import pytest

from smoothdp import (
    ZCDP,
    ApproxDP,
    DataModel,
    GaussianDP,
    PureDP,
    SmoothedDP,
    TruncatedCDP,
    guarantee_from_json,
)
from smoothdp.claims import Guarantee
from smoothdp.errors import IncompatibleClaims, InvalidData, InvalidParameter

MODEL = DataModel([(0.3, 0.7), (0.6, 0.4)])
CLAIMS: list[Guarantee] = [
    PureDP(0),
    PureDP("0.1"),
    PureDP("ln(51/49)"),
    PureDP(3),
    ApproxDP(1, delta="1e-5000"),
    ApproxDP("0.5", delta="1e-6"),
    ApproxDP(0, delta=Fraction(499, 500)),
    ZCDP("0.005"),
    ZCDP(0.5),
    ZCDP(2),
    TruncatedCDP(0.5, omega=3),
    TruncatedCDP(0.5, omega=100),
    GaussianDP("0.1"),
    GaussianDP(1),
    GaussianDP(4),
    SmoothedDP(1, delta="1e-9", model=MODEL),
]
EPSILONS = ["0", "0.01", "0.1", "ln(2)", "1", "2", "3", "5", "12"]


@pytest.mark.parametrize("claim", CLAIMS, ids=repr)
class TestEveryClaim:
    def test_profile_is_bounded_and_falls(self, claim: Guarantee) -> None:
        profile = claim.profile()
        deltas = [profile.delta(e) for e in EPSILONS]
        assert all(later <= earlier for earlier, later in pairwise(deltas))
        for epsilon in EPSILONS:
            lower, upper = profile.delta_bounds(epsilon)
            assert 0 <= lower <= upper <= 1
            assert profile.log_delta(epsilon) <= 0

    def test_epsilon_is_a_safe_inverse(self, claim: Guarantee) -> None:
        profile = claim.profile()
        for delta in ("0.5", "1e-3", "1e-9", "1e-400"):
            lower, upper = profile.epsilon_bounds(delta)
            assert lower <= upper
            assert profile.epsilon(delta) == upper
            if math.isfinite(upper):
                log_delta = math.log(10) * -400 if delta == "1e-400" else math.log(float(delta))
                assert profile.log_delta(upper) <= log_delta + 1e-9

    def test_json_round_trip(self, claim: Guarantee) -> None:
        again = guarantee_from_json(claim.to_json())
        assert again == claim
        assert again.to_json() == claim.to_json()
        assert json.loads(claim.to_json())["neighbours"] == "replace_one"

    def test_sentence_names_unit_and_change(self, claim: Guarantee) -> None:
        sentence = claim.sentence()
        assert "one row" in sentence
        assert "replacing" in sentence
        assert sentence.endswith(".")

    def test_implies_itself(self, claim: Guarantee) -> None:
        assert claim.implies(claim)

    def test_implication_agrees_with_the_profiles(self, claim: Guarantee) -> None:
        """If implied, no profile of the weaker claim lies below what the stronger attains."""
        for other in CLAIMS:
            if isinstance(claim, SmoothedDP) != isinstance(other, SmoothedDP):
                continue
            if claim.implies(other):
                for epsilon in EPSILONS:
                    attained = claim.profile().delta_bounds(epsilon)[0]
                    assert attained <= other.profile().delta(epsilon) * (1 + 1e-9)


def test_implications() -> None:
    assert PureDP(1).implies(ZCDP("0.4622"))
    assert not PureDP(1).implies(ZCDP("0.4621"))
    assert not ZCDP("0.5").implies(PureDP(100))
    assert GaussianDP(1).implies(ZCDP("0.5"))
    assert not GaussianDP("1.001").implies(ZCDP("0.5"))
    assert ZCDP(1).implies(TruncatedCDP(1, omega=5))
    assert not TruncatedCDP(1, omega=5).implies(ZCDP(1))
    assert TruncatedCDP(1, omega=5).implies(TruncatedCDP(2, omega=4))
    assert PureDP(1).implies(GaussianDP("1.24"))
    assert not PureDP(1).implies(GaussianDP("1.22"))
    assert ApproxDP(1, delta=0).implies(PureDP(1))
    assert not ApproxDP(1, delta="1e-5000").implies(PureDP(1))
    assert PureDP(1).implies(ApproxDP("0.9", delta="0.0696"))
    assert not PureDP(1).implies(ApproxDP("0.9", delta="0.0694"))
    assert PureDP("ln(2)").implies(PureDP("0.6931471805599454"))
    assert not PureDP("ln(2)").implies(PureDP("0.6931471805599453"))
    assert PureDP(1).implies(SmoothedDP(1, delta=0, model=MODEL))
    other = DataModel([(0.5, 0.5)])
    assert not SmoothedDP(1, delta=0, model=other).implies(SmoothedDP(1, delta=0, model=MODEL))
    assert not SmoothedDP(1, delta=0, model=MODEL).implies(PureDP(9))


def test_neighbours_do_not_mix() -> None:
    with pytest.raises(IncompatibleClaims, match="same neighbours"):
        PureDP(1).implies(PureDP(1, neighbours="add_remove"))
    with pytest.raises(InvalidParameter, match="neighbours"):
        PureDP(1, neighbours="swap")


def test_floats_of_parameters() -> None:
    assert PureDP(0.1).epsilon == 0.1
    assert ApproxDP(1, delta=1e-6).delta == 1e-6
    assert ApproxDP(1, delta="1e-5000").delta == 5e-324
    assert ApproxDP(1, delta="1e-5000").log_delta == pytest.approx(-5000 * math.log(10))
    assert Fraction(PureDP("1/3").epsilon) >= Fraction(1, 3)
    assert ZCDP(0.5).rho == 0.5
    assert GaussianDP(1).mu == 1.0
    assert TruncatedCDP(1, omega=3).omega == 3.0


def test_rows_per_person_widens_the_sentence() -> None:
    sentence = PureDP("0.5").sentence(rows_per_person=4)
    assert "one person's 4 rows" in sentence
    assert "e^2" in sentence


BAD_JSON = ["", "[]", "{}", '{"type": "PureDP"}', '{"type": "Nothing", "epsilon": "1"}']
BAD_JSON += ['{"type": "PureDP", "epsilon": "-1"}', '{"type": "PureDP", "epsilon": "1", "x": 1}']


@pytest.mark.parametrize("text", BAD_JSON)
def test_bad_json(text: str) -> None:
    with pytest.raises(InvalidData, match=r"^Expected .*; got .*\. "):
        guarantee_from_json(text)


BAD = [
    (lambda: PureDP(-1), "epsilon=-1"),
    (lambda: PureDP(math.nan), "epsilon=nan"),
    (lambda: PureDP(math.inf), "epsilon=inf"),
    (lambda: PureDP("one"), "'one'"),
    (lambda: PureDP(True), "epsilon=True"),
    (lambda: ApproxDP(1, delta=-0.1), "delta=-0.1"),
    (lambda: ApproxDP(1, delta=2), "delta=2"),
    (lambda: ZCDP(-1), "rho=-1"),
    (lambda: TruncatedCDP(1, omega=1), "omega=1"),
    (lambda: GaussianDP(-2), "mu=-2"),
    (lambda: SmoothedDP(1, delta=0, model=None), "model"),  # type: ignore[arg-type]
    (lambda: DataModel([]), "empty model"),
    (lambda: DataModel([(0.5, 0.4)]), "sum"),
    (lambda: DataModel([(1.5, -0.5)]), "-0.5"),
    (lambda: DataModel([(0.5, 0.5), (0.2, 0.3, 0.5)]), "lengths"),
    (lambda: DataModel.from_counts([(0, 0)]), "row 1"),
    (lambda: PureDP(1).profile().delta(-1), "epsilon=-1"),
    (lambda: PureDP(1).profile().epsilon(1.5), "delta=1.5"),
    (lambda: PureDP("1e-99999999"), "exponent"),
]


@pytest.mark.parametrize(("call", "words"), BAD)
def test_bad_parameters(call, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidParameter) as caught:
        call()
    assert words in str(caught.value)
    assert str(caught.value).startswith("Expected ")


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.3", "1/3"), ("5", "1e-400")])
def test_a_claim_gives_its_own_epsilon_at_its_own_delta(epsilon: str, delta: str) -> None:
    claim = ApproxDP(epsilon, delta=delta)
    found = claim.profile().epsilon(delta)
    assert float(epsilon) <= found <= float(epsilon) * (1 + 1e-15)
    assert claim.profile().epsilon(claim.exact_delta * Fraction(99, 100)) == math.inf
    assert PureDP(epsilon).profile().epsilon(0) >= float(epsilon)
