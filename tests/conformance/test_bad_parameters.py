"""Bad input to claims, pairs and curves gets one plain sentence, never a stack of others'."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from smoothdp import (
    ZCDP,
    ApproxDP,
    DataModel,
    GaussianDP,
    Pair,
    PureDP,
    SmoothedDP,
    TradeoffFunction,
    TruncatedCDP,
    guarantee_from_json,
)
from smoothdp.claims import Guarantee
from smoothdp.claims.guarantees import conversions as convert
from smoothdp.errors import IncompatibleClaims, InvalidData, InvalidParameter, SmoothdpError
from smoothdp.exact.parameters.numbers import LogRatio
from smoothdp.sources import bibtex

MODEL = DataModel([(0.3, 0.7)])
SENTENCE = r"^Expected .+; got .+\. .+\.$"

BAD: list[tuple[Callable[[], object], type[SmoothdpError], str]] = [
    (lambda: PureDP("1e400"), InvalidParameter, "epsilon=1e400"),
    (lambda: ZCDP("1e400"), InvalidParameter, "rho=1e400"),
    (lambda: GaussianDP("1e400"), InvalidParameter, "mu=1e400"),
    (lambda: ZCDP(math.nan), InvalidParameter, "rho=nan"),
    (lambda: PureDP(LogRatio(Fraction(1, 2))), InvalidParameter, "epsilon=ln(1/2)"),
    (lambda: PureDP("1e" + "9" * 5000), InvalidParameter, "decimal exponent"),
    (lambda: PureDP("1" * 5000), InvalidParameter, "epsilon as a number"),
    (lambda: LogRatio(Fraction(0)), InvalidParameter, "positive ratio"),
    (lambda: PureDP("ln(0)"), InvalidParameter, "ln(0)"),
    (lambda: TruncatedCDP(1, omega="ln(9)"), InvalidParameter, "omega"),
    (lambda: PureDP(1).profile().delta("1e400"), InvalidParameter, "epsilon=1e400"),
    (lambda: PureDP(1).profile().epsilon(math.nan), InvalidParameter, "delta=nan"),
    (lambda: DataModel([0.3, 0.7]), InvalidParameter, "0.3"),  # type: ignore[list-item]
    (lambda: DataModel(7), InvalidParameter, "7"),  # type: ignore[arg-type]
    (lambda: DataModel("ab"), InvalidParameter, "'ab'"),
    (lambda: DataModel([(math.nan, 1)]), InvalidParameter, "vertex 1"),
    (lambda: DataModel.from_counts([(1, -1)]), InvalidParameter, "row 1"),
    (lambda: DataModel.from_json("nonsense"), InvalidData, "model as JSON"),
    (lambda: DataModel.from_json("[3]"), InvalidData, "model as JSON"),
    (lambda: SmoothedDP(1, delta=0, model=MODEL, neighbours="add_remove"), InvalidParameter, "add"),
    (lambda: PureDP(1).sentence(rows_per_person=0), InvalidParameter, "n_records"),
    (lambda: PureDP(1).for_group(-2), InvalidParameter, "n_records=-2"),
    (
        lambda: SmoothedDP(1, delta=0, model=MODEL).for_group(2),
        IncompatibleClaims,
        "Smoothed DP is about databases",
    ),
    (
        lambda: TruncatedCDP(1, omega=9).for_group(2),
        IncompatibleClaims,
        "Orders shrink",
    ),
    (
        lambda: convert.zcdp_to_approx(ZCDP(1), delta="1e-6", method="papre"),  # type: ignore[arg-type]
        InvalidParameter,
        "papre",
    ),
    (lambda: convert.zcdp_to_approx(ZCDP(1), delta=0), InvalidParameter, "delta=0"),
    (lambda: convert.approx_at(GaussianDP(1), delta=0), InvalidParameter, "delta=0"),
    (
        lambda: convert.zcdp_triangle(ZCDP(1), ZCDP(1, neighbours="add_remove")),
        IncompatibleClaims,
        "same neighbours",
    ),
    (lambda: Pair([], []), InvalidData, "shapes"),
    (lambda: Pair([0.0], [0.0], error=-1.0), InvalidData, "error=-1.0"),
    (lambda: Pair([1.0], [0.0]), InvalidData, "log_p"),
    (lambda: Pair([0.0], [0.0]).renyi(math.nan), InvalidParameter, "order=nan"),
    (lambda: Pair([0.0], [0.0]).self_compose(0), InvalidParameter, "k=0"),
    (lambda: Pair([0.0], [0.0]).delta(-1), InvalidParameter, "epsilon=-1"),
    (lambda: TradeoffFunction([], []), InvalidData, "shapes"),
    (lambda: TradeoffFunction([0.5], [math.nan]), InvalidData, "powers"),
    (lambda: TradeoffFunction([0.5], [0.5])(math.nan), InvalidParameter, "alpha=nan"),
    (lambda: TradeoffFunction([0.5], [0.6]).gaussian_mu(-1), InvalidParameter, "delta=-1"),
    (lambda: bibtex("nobody"), InvalidParameter, "'nobody'"),
]


@pytest.mark.parametrize(("call", "kind", "words"), BAD, ids=[str(i) for i in range(len(BAD))])
def test_plain_error(call: Callable[[], object], kind: type[SmoothdpError], words: str) -> None:
    with pytest.raises(kind, match=SENTENCE) as caught:
        call()
    assert words in str(caught.value)


BAD_CLAIMS = [
    '{"type": "ZCDP", "epsilon": "1", "neighbours": "replace_one"}',
    '{"type": "PureDP", "epsilon": "1"}',
    '{"type": "ApproxDP", "epsilon": "1", "neighbours": "replace_one"}',
    '{"type": "PureDP", "epsilon": "1", "delta": "0", "neighbours": "replace_one"}',
    '{"type": "PureDP", "epsilon": null, "neighbours": "replace_one"}',
    '{"type": "PureDP", "epsilon": [1], "neighbours": "replace_one"}',
    '{"type": "PureDP", "epsilon": "1", "neighbours": "replace_two"}',
    '{"type": "PureDP", "epsilon": "1", "neighbours": []}',
    '{"type": "PureDP", "epsilon": NaN, "neighbours": "replace_one"}',
    '{"type": [], "epsilon": "1", "neighbours": "replace_one"}',
    '{"type": "SmoothedDP", "epsilon": "1", "delta": "0", "model": 3, "neighbours": "replace_one"}',
    "[" * 100_000,
    "null",
]


@pytest.mark.parametrize("text", BAD_CLAIMS, ids=[str(i) for i in range(len(BAD_CLAIMS))])
def test_claims_that_are_not(text: str) -> None:
    with pytest.raises(InvalidData, match=r"^Expected .*; got "):
        guarantee_from_json(text)


def test_the_order_of_fields_means_nothing() -> None:
    text = '{"neighbours": "add_remove", "delta": "1e-9", "epsilon": "2", "type": "ApproxDP"}'
    assert guarantee_from_json(text) == ApproxDP(2, delta="1e-9", neighbours="add_remove")


positive = st.fractions(min_value=0, max_value=10**6)
probability = st.fractions(min_value=0, max_value=1)
claims = st.one_of(
    st.builds(PureDP, positive),
    st.builds(lambda r: PureDP(LogRatio(r)), st.fractions(min_value=Fraction(101, 100))),
    st.builds(lambda e, d: ApproxDP(e, delta=d), positive, probability),
    st.builds(ZCDP, positive, neighbours=st.sampled_from(["replace_one", "add_remove"])),
    st.builds(lambda r, w: TruncatedCDP(r, omega=1 + w), positive, positive.filter(bool)),
    st.builds(GaussianDP, positive),
    st.builds(lambda d, k: ApproxDP(1, delta=d / 10**k), probability, st.integers(0, 20_000)),
)


@given(claims)
@settings(derandomize=True, deadline=None, max_examples=200)
def test_every_claim_survives_json(claim: Guarantee) -> None:
    again = guarantee_from_json(claim.to_json())
    assert again == claim
    assert hash(again) == hash(claim)
    assert str(claim) == repr(claim)


@given(st.recursive(st.none() | st.floats() | st.text(), lambda x: st.lists(x), max_leaves=5))
@settings(derandomize=True, deadline=None, max_examples=100)
def test_no_other_exception_for_arbitrary_values(value: object) -> None:
    for text in (
        json.dumps(value),
        json.dumps({"type": value, "epsilon": "1"}),
        json.dumps({"type": "PureDP", "epsilon": value, "neighbours": "replace_one"}),
        json.dumps({"type": "PureDP", "epsilon": "1", "neighbours": value}),
    ):
        try:
            claim = guarantee_from_json(text)
        except InvalidData:
            continue
        assert claim == guarantee_from_json(claim.to_json())


def test_no_parameter_is_rounded_to_the_unsafe_side() -> None:
    """Floats of exact parameters: equal to a float that was given, else not below."""
    close = LogRatio(Fraction(10**400 + 1, 10**400))
    assert 0 < PureDP(close).epsilon <= 1.0000001e-300 or PureDP(close).epsilon == 5e-324
    for text in ("1/3", "2/7", "1e-400", "0.1", "123456789.123456789123"):
        assert Fraction(repr(GaussianDP(text).mu)) >= Fraction(text)
    for k in range(1, 200):
        ratio = Fraction(1000 + k, 1000)
        epsilon = PureDP(LogRatio(ratio)).epsilon
        assert PureDP(LogRatio(ratio)).implies(PureDP(Fraction(epsilon)))
        assert PureDP(LogRatio(ratio)).implies(PureDP(LogRatio(ratio)))


def test_triangle_is_rounded_up() -> None:
    """rho >= (sqrt a + sqrt b)^2, decided in rationals: (rho - a - b)^2 >= 4 a b."""
    for a, b in [("2", "3"), ("1e-300", "7"), ("0.1", "0.3"), ("1e200", "1/3"), ("4", "9")]:
        rho = convert.zcdp_triangle(ZCDP(a), ZCDP(b)).exact_rho
        rest = rho - Fraction(a) - Fraction(b)
        assert 4 * Fraction(a) * Fraction(b) <= rest**2
        assert rest**2 <= 4 * Fraction(a) * Fraction(b) * (1 + Fraction(1, 2**60))


def test_one_is_no_logarithm() -> None:
    assert PureDP(LogRatio(Fraction(1))) == PureDP(0)
    assert PureDP(LogRatio(Fraction(1))).implies(GaussianDP(0))
    assert GaussianDP(0).implies(PureDP(0))
    assert TruncatedCDP(0, omega=2).implies(ZCDP(0))
