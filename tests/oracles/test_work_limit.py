"""A calibration is refused beyond a limit of work that is counted: the same at every run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest

import smoothdp as sd
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import Explanation, OutOfReach, SmoothdpError
from smoothdp.exact.balls.work import (
    WorkLimitReached,
    limited,
    remembered,
    share,
    spend,
    spend_once,
)
from smoothdp.noise import (
    ArsinhNormal,
    GeneralizedCauchy,
    LaplaceLogNormal,
    Log1pNormal,
    NoiseDistribution,
    PolyPlace,
    StudentT,
    UniformLogNormal,
)
from smoothdp.noise.calibration.limits import MOST_WORK, MOST_WORK_OF_A_CURVE
from smoothdp.noise.calibration.proved_claim import compute_claim

DATA = [(i * 0.618) % 1 for i in range(300)]
UNENDING: list[tuple[NoiseDistribution, Guarantee, str]] = [
    (ArsinhNormal("0.01"), sd.ZCDP("1/2"), "0.009"),
    (LaplaceLogNormal("2.5"), sd.ZCDP("1/2"), "0.1"),
]


def refusal(words: str) -> Explanation:
    return Explanation("less work", words, "Stop")


def work_of(law: NoiseDistribution, guarantee: Guarantee, t: str, most: int) -> int:
    """Return the units that a calibration was given before it ended or was refused."""
    stop = lambda: Explanation("less", "more", "Stop")  # noqa: E731
    with suppress(SmoothdpError), limited(most, stop) as work:
        compute_claim(law, guarantee, Fraction(t))
    return work.spent


@pytest.mark.parametrize(("law", "guarantee", "t"), UNENDING, ids=repr)
def test_unending_certificates_are_refused(
    law: NoiseDistribution, guarantee: Guarantee, t: str
) -> None:
    with pytest.raises(OutOfReach, match=r"work limit of 4,500,000 units") as caught:
        law.calibrate(guarantee, smoothing=t)
    said = str(caught.value)
    assert repr(law) in said
    assert 'method="closed_form"' in said
    # And at once the next time, in the same words, counted as the first.
    with limited(10 * MOST_WORK, lambda: refusal("")) as work, pytest.raises(OutOfReach) as again:
        law.calibrate(guarantee, smoothing=t)
    assert str(again.value) == said
    assert MOST_WORK_OF_A_CURVE < work.spent <= 1.1 * MOST_WORK


@pytest.mark.parametrize(
    ("law", "guarantee", "t"),
    [
        (StudentT(3), sd.ZCDP("1/2"), "0.1"),
        (ArsinhNormal("0.4"), sd.ZCDP("0.02"), "0.03"),
        (UniformLogNormal("0.5"), sd.ApproxDP(1, delta="1e-6"), "0.02"),
        (PolyPlace(4), sd.ApproxDP(1, delta="1e-6"), "0.1"),
        (LaplaceLogNormal("0.5"), sd.ZCDP("1/2"), "0.1"),
        (Log1pNormal("0.8"), sd.ZCDP("1/2"), "0.4"),
        (GeneralizedCauchy(4), sd.TruncatedCDP("1/2", omega=4), "0.1"),
    ],
    ids=repr,
)
def test_work_does_not_depend_on_what_was_asked_before(
    law: NoiseDistribution, guarantee: Guarantee, t: str
) -> None:
    most = 400_000
    first = work_of(law, guarantee, t, most)
    assert first > 10_000
    # Warm every cache, with another limit and without one.
    work_of(law, guarantee, t, most // 3)
    law.renyi(2, shift=1, dilation=t)
    law.delta(1, shift=1, dilation=t)
    assert work_of(law, guarantee, t, most) == first


def test_release_at_a_tiny_rho() -> None:
    """It hung for minutes; arsinh-normal noise is certified in a second."""
    with pytest.warns(sd.errors.PrivacyWarning, match="of the order of the bounds"):
        release = sd.release(DATA, sd.queries.Median((0, 1)), guarantee=sd.ZCDP("1e-8"))
    assert release.guarantee == sd.ZCDP("1e-8")


@pytest.mark.parametrize("guarantee", [sd.ZCDP("1e-13"), sd.ZCDP(10**6)], ids=repr)
def test_a_refusal_leaves_a_ledger_as_it_was(guarantee: Guarantee, tmp_path: Path) -> None:
    ledger = sd.Ledger(tmp_path / "ledger.db", budget=sd.ZCDP(10**7))
    query = sd.queries.Median((0, 1))
    calls: list[Callable[[], object]] = [
        lambda: sd.release(
            DATA,
            query,
            guarantee=guarantee,
            noise=LaplaceLogNormal("2.5"),
            smoothing=Fraction("0.01") if guarantee == sd.ZCDP(10**6) else "1e-8",
            ledger=ledger,
        ),
    ]
    for call in calls:
        with pytest.raises(SmoothdpError):
            call()
    assert list(ledger.entries()) == []
    assert ledger.left() == sd.ZCDP(10**7)
    sd.release(DATA, query, guarantee=sd.ZCDP("1/2"), ledger=ledger)
    assert len(list(ledger.entries())) == 1


# ---- the counting itself -------------------------------------------------------------------


def test_limits_nest() -> None:
    with limited(100, lambda: refusal("outer")) as outer:
        with limited(50, lambda: refusal("inner")) as inner:
            spend(40)
        assert (inner.spent, outer.spent) == (40, 40)
        with (
            pytest.raises(WorkLimitReached, match="inner"),
            limited(1000, lambda: refusal("inner")),
        ):
            spend(61)
        with pytest.raises(WorkLimitReached, match="outer"):
            spend(1)
    spend(10**9)


def test_a_share_is_refused_in_the_words_of_the_whole() -> None:
    with limited(100, lambda: refusal("whole")):
        with share(20):
            spend_once("table", 15)
        with share(20):
            spend_once("table", 15)
            spend(20)
        with pytest.raises(WorkLimitReached, match="whole"), share(20):
            spend(21)
    with share(1):
        spend(10**9)


def test_what_is_kept_costs_once_within_a_limit() -> None:
    for _ in range(2):
        with limited(10, lambda: refusal("")) as work:
            for _ in range(5):
                spend_once("table", 7)
        assert work.spent == 7


def test_remembered_results_and_refusals_cost_what_they_cost() -> None:
    ran = []

    @remembered(100, kept=2, message=lambda units: refusal(f"refused {units}"))
    def work(units: int) -> int:
        ran.append(units)
        spend(units)
        return units

    assert [work(60), work(60)] == [60, 60]
    with limited(1000, lambda: refusal("")) as outer:
        work(60)
    assert (outer.spent, ran) == (60, [60])
    for _ in range(2):
        with pytest.raises(WorkLimitReached, match="refused 101"):
            work(101)
    assert ran == [60, 101]
    # Known or not, within a limit that is too small the answer is the same.
    for units in (60, 61):
        with pytest.raises(WorkLimitReached), limited(59, lambda: refusal("outside")):
            work(units)
    # Refused by the limit outside: it is not remembered as a refusal.
    assert work(61) == 61
