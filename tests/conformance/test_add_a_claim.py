"""docs/how-to/add-a-claim.md, followed: its code is a claim that every part works with or refuses.

The page's file is read from the page, written, imported, and added where the page says.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import math
import re
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from textwrap import dedent
from types import ModuleType
from typing import Any

import mpmath
import pytest

import smoothdp as sd
from smoothdp import sources
from smoothdp.claims.guarantees import codec
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.interop.extras import profile_of
from smoothdp.noise import PolyPlace

PAGE = Path(__file__).parents[2] / "docs/how-to/add-a-claim.md"
ENTRY = (
    "inproceedings",
    "Practical Differentially Private Top-k Selection with Pay-what-you-get Composition",
    "David Durfee and Ryan Rogers",
    "Advances in Neural Information Processing Systems",
    "2019",
)
EPSILONS = ["1e-3", "0.5", "ln(2)", "1", "3", "40"]


@pytest.fixture(scope="module")
def kind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[type[Any]]:
    """The class of the page, added to the library by its steps."""
    block = re.search(r"```py\n(.*?)\n *```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    file = tmp_path_factory.mktemp("claim") / "bounded_range.py"
    file.write_text(dedent(block.group(1)), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sources._BIBLIOGRAPHY, "durfee-rogers", ENTRY)
        module = _imported(file, patch)
        patch.setitem(codec.CLAIMS, "BoundedRange", module.BoundedRange)
        yield module.BoundedRange


def _imported(file: Path, patch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("bounded_range", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    patch.setitem(sys.modules, "bounded_range", module)
    spec.loader.exec_module(module)
    return module


# ---- it is true ----------------------------------------------------------------------


def worst_delta(whole: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """The largest delta of two-point laws with losses t and t - whole, over a grid of t."""
    with mpmath.workdps(40):
        a, b = (mpmath.mpf(x.numerator) / x.denominator for x in (whole, epsilon))
        best = mpmath.mpf(0)
        for step in range(401):
            t = b + (a - b) * step / 400
            mass = (mpmath.exp(a) - mpmath.exp(t)) / mpmath.expm1(a)
            best = max(best, mass * (1 - mpmath.exp(b - t)))
        return best


@pytest.mark.parametrize("whole", [Fraction(1, 10), Fraction(1), Fraction(4)], ids=str)
@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 3), Fraction(9, 10)], ids=str)
def test_its_profile_is_the_worst_pair(kind: type[Any], whole: Fraction, share: Fraction) -> None:
    lower, upper = kind(whole).profile().delta_bounds(whole * share)
    # The middle of the grid is the worst t.
    assert lower <= worst_delta(whole, whole * share) <= upper <= lower * (1 + 1e-12)


def pairs(whole: float, rng: Random) -> Iterator[tuple[list[float], list[float]]]:
    """Random laws of four outputs whose losses lie in an interval of length whole."""
    for _ in range(200):
        tilts = [0.0, whole, *(rng.uniform(0, whole) for _ in range(2))]
        q = [rng.random() ** 3 + 1e-6 for _ in tilts]
        total = sum(q)
        q = [mass / total for mass in q]
        tilted = [mass * math.exp(tilt) for mass, tilt in zip(q, tilts, strict=True)]
        yield [mass / sum(tilted) for mass in tilted], q


def test_every_bounded_range_lies_below_what_it_says(kind: type[Any]) -> None:
    rng, whole = Random(20), 1.5
    claim = kind(whole)
    rho = float(claim.concentrated_rho())
    largest = 0.0
    for p, q in pairs(whole, rng):
        for epsilon in (0.0, 0.4, 1.0):
            growth = math.exp(epsilon)
            delta = sum(max(0.0, a - growth * b) for a, b in zip(p, q, strict=True))
            assert delta <= claim.profile().delta(epsilon) * (1 + 1e-12)
        for order in (1.001, 2.0, 8.0, 64.0):
            moment = sum(b * (a / b) ** order for a, b in zip(p, q, strict=True))
            divergence = math.log(moment) / (order - 1)
            largest = max(largest, divergence / order)
            assert divergence <= order * rho * (1 + 1e-9)
    # Half of the rho is not enough for these pairs: the check can fail.
    assert largest > rho / 2


# ---- every part works with it, or refuses plainly ---------------------------------------


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_claims_json_and_words(kind: type[Any], epsilon: str) -> None:
    claim = kind(epsilon)
    assert sd.guarantee_from_json(claim.to_json()) == claim
    assert json.loads(claim.to_json())["type"] == "BoundedRange"
    assert claim.implies(claim)
    assert claim.sentence().endswith(".")
    assert "one person's 3 rows" in claim.sentence(rows_per_person=3)
    assert claim.for_group(2).exact_epsilon == kind(claim.for_group(2).exact_epsilon).exact_epsilon
    assert claim.changed(neighbours="add_remove").neighbours is sd.claims.Neighbours.ADD_REMOVE
    profile = claim.profile()
    deltas = [profile.delta(e) for e in ("0", "0.1", "ln(2)", "1", "10", "100")]
    assert all(later <= earlier for earlier, later in itertools.pairwise(deltas))
    assert profile.epsilon(0) >= float(claim.exact_epsilon) * (1 - 1e-15)


def test_what_it_implies(kind: type[Any]) -> None:
    assert kind(1).implies(sd.PureDP(1))
    assert not kind(1).implies(sd.PureDP("0.999"))
    assert sd.PureDP("0.5").implies(kind(1))
    assert not sd.PureDP("0.501").implies(kind(1))
    assert sd.PureDP("ln(2)").implies(kind("ln(4)"))
    assert kind(1).implies(sd.ZCDP("0.125"))
    assert not kind(1).implies(sd.ZCDP("0.124"))
    assert kind(1).implies(sd.TruncatedCDP("0.125", omega=9))
    assert kind(1).implies(kind("1.5"))
    assert not kind("1.5").implies(kind(1))
    assert kind(1).implies(sd.ApproxDP(0, delta="0.2450"))  # tanh(1/4) = 0.24492
    assert not kind(1).implies(sd.ApproxDP(0, delta="0.2449"))
    assert not sd.ZCDP("1e-9").implies(kind(1))
    assert sd.ZCDP(0).implies(kind(0))
    assert kind(0).implies(sd.PureDP(0))
    assert not sd.SmoothedDP(0, delta=0, model=sd.DataModel([("0.5", "0.5")])).implies(kind(1))
    with pytest.raises(sd.errors.IncompatibleClaims, match="neighbours"):
        kind(1).implies(kind(1, neighbours="add_remove"))


def test_bad_parameters_and_bad_json(kind: type[Any]) -> None:
    for bad in (-1, math.nan, math.inf, "a"):
        with pytest.raises(sd.errors.InvalidParameter, match=r"^Expected .*; got .*\. "):
            kind(bad)
    with pytest.raises(
        sd.errors.InvalidData, match="the fields epsilon, neighbours of BoundedRange"
    ):
        sd.guarantee_from_json('{"type": "BoundedRange", "rho": "1"}')


def binomial_delta(whole: float, largest: float, count: int, epsilon: float) -> mpmath.mpf:
    """delta of ``count`` independent pairs with losses ``largest`` and ``largest - whole``."""
    mass = (mpmath.exp(whole) - mpmath.exp(largest)) / mpmath.expm1(whole)
    total = mpmath.mpf(0)
    for hits in range(count + 1):
        loss = hits * largest + (count - hits) * (largest - whole)
        weight = mpmath.binomial(count, hits) * mass**hits * (1 - mass) ** (count - hits)
        total += weight * max(mpmath.mpf(0), 1 - mpmath.exp(epsilon - loss))
    return total


def test_it_composes(kind: type[Any]) -> None:
    claim, count, epsilon = kind("0.3"), 6, 0.5
    delta = sd.compose([(claim, count)]).delta(epsilon)
    for step in range(31):
        assert binomial_delta(0.3, 0.3 * step / 30, count, epsilon) <= delta
    # It is worth more than the pure claim that follows from it.
    assert delta < sd.compose([(sd.PureDP("0.3"), count)]).delta(epsilon) / 4
    # Beside claims of zCDP its rho adds up.
    both = sd.compose([(claim, 2), sd.ZCDP("0.1")])
    assert both.delta(3) <= sd.ZCDP("0.1225").profile().delta(3)


def test_a_ledger_charges_it(kind: type[Any], tmp_path: Path) -> None:
    claim = kind("0.5")
    for name, budget in (("pure", sd.PureDP(1)), ("rho", sd.ZCDP(Fraction(1, 16)))):
        ledger = sd.Ledger(tmp_path / f"{name}.db", budget=budget)
        ledger.charge(claim)
        ledger.charge(claim)
        with pytest.raises(sd.errors.BudgetExceeded):
            ledger.charge(kind("1e-3"))
        again = sd.Ledger(tmp_path / f"{name}.db").entries()
        assert [entry.claim for entry in again] == [claim] * 2
    ledger = sd.Ledger(tmp_path / "claim.db", budget=sd.PureDP(1))
    ledger.charge(sd.PureDP("0.25"), claim=claim)
    with pytest.raises(sd.errors.IncompatibleClaims, match="follows from the mechanism"):
        ledger.charge(sd.PureDP("0.26"), claim=claim)


def test_what_it_cannot_be_is_refused_plainly(kind: type[Any], tmp_path: Path) -> None:
    plain = r"^Expected .*; got .*BoundedRange.*\. "
    claim: Guarantee = kind(1)
    with pytest.raises(sd.errors.InvalidParameter, match=plain):
        sd.Ledger(tmp_path / "ledger.db", budget=claim)
    with pytest.raises(sd.errors.InvalidParameter, match=plain):
        PolyPlace(5).calibrate(claim, smoothing="0.1")
    with pytest.raises(sd.errors.InvalidParameter, match=plain):
        sd.release([float(i) for i in range(100)], sd.queries.Median((0, 99)), guarantee=claim)
    with pytest.raises(sd.errors.InvalidParameter, match=plain):
        sd.plan(sd.queries.Median((0, 99)), guarantee=claim, n_records=1000)
    with pytest.raises(sd.errors.InvalidParameter, match=plain):
        sd.shuffle.BooleanSum.calibrate(n_users=1000, guarantee=claim, honest_share=1)


def test_other_libraries_get_its_profile(kind: type[Any]) -> None:
    assert profile_of(kind(1)).delta(0) == pytest.approx(math.tanh(0.25), rel=1e-12)
