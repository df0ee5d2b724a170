"""A count that stands in for a guess of n: what it costs, and what it never tells."""

from __future__ import annotations

import re
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.parts import part_of
from smoothdp.errors import InvalidParameter
from smoothdp.exact.random.entropy import Entropy, SeededRandom
from smoothdp.mechanisms import BoughtSize
from smoothdp.mechanisms.additive.whole_laws import WholeLaw
from smoothdp.mechanisms.private_size import bought_size
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.queries import Median, Quantile, TrimmedMean
from smoothdp.queries.query import Query

PROMISES: list[Guarantee] = [
    sd.PureDP(1, neighbours="add_remove"),
    sd.ApproxDP(1, delta="1e-6", neighbours="add_remove"),
    sd.ZCDP("1/2", neighbours="add_remove"),
]
QUERIES: list[Query] = [
    Median((0, 100)),
    Quantile("0.9", bounds=(0, 100)),
    Quantile(1, bounds=(0, 100)),
    TrimmedMean("0.1", bounds=(0, 100)),
    Median((0, 100), window=Fraction(5, 2)),
]
ROWS = [float(k % 101) for k in range(3000)]


def test_a_guess_is_the_low_end_of_a_count() -> None:
    """Too many records would choose too little noise for the window: rather too few."""
    assert bought_size.low_end(1000, 14.1) == 970
    assert bought_size.low_end(1000, 300.0) == 400
    for count in (-50, 0, 1, 7, 10**18):
        for deviation in (0.1, 14.1, 1e6):
            most = max(Fraction(1), count * Fraction(105, 100))
            assert bought_size.low_end(count, deviation) <= most


@pytest.mark.parametrize("promise", PROMISES, ids=repr)
@pytest.mark.parametrize("share", [Fraction(1, 10), Fraction(1, 3)], ids=str)
def test_parts_add_up_to_the_guarantee(promise: Guarantee, share: Fraction) -> None:
    mechanism = BoughtSize(ReleaseRequest.read(QUERIES[0], guarantee=promise), share)
    assert mechanism.guarantee == promise
    rest = mechanism.mechanism(Fraction(500)).guarantee
    assert rest == part_of(promise, 1 - share)
    first = promise.parameter_names[0]
    amounts = [g.parameters()[first] for g in (part_of(promise, share), rest, promise)]
    assert amounts[0] + amounts[1] == amounts[2]  # type: ignore[operator]
    assert mechanism.profile().delta(2) == promise.profile().delta(2)


@pytest.mark.parametrize("query", QUERIES, ids=repr)
@pytest.mark.parametrize("promise", PROMISES, ids=repr)
@pytest.mark.parametrize("confidence", [None, "0.9"])
def test_released_without_a_guess(query: Query, promise: Guarantee, confidence: str | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        released: Any = sd.release(
            ROWS, query, guarantee=promise, confidence=confidence, rng=SeededRandom(2)
        )
    assert released.guarantee == promise
    assert re.search(
        r"chosen for \d+ records, the low end of a count with discrete (Laplace|Gaussian) noise "
        r"of (scale|variance) \d+, which took 1/10 of the guarantee$",
        released.mechanism,
    )
    if confidence:
        low, high = released.interval
        assert low <= high


@pytest.mark.parametrize("rows", [[], [5.0], [None, "x"], [float("nan")] * 50], ids=str)
@pytest.mark.parametrize("query", QUERIES, ids=repr)
def test_no_number_of_rows_is_refused(query: Query, rows: list[object]) -> None:
    for seed in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sd.release(rows, query, guarantee=PROMISES[0], confidence="0.9", rng=SeededRandom(seed))


@pytest.mark.parametrize("count", [-(10**30), -1, 0, 1, 7, 55, 1234, 10**6, 10**30])
@pytest.mark.parametrize("promise", PROMISES, ids=repr)
def test_nothing_is_refused_once_the_count_is_drawn(
    count: int, promise: Guarantee, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the count turns out to be; and the words depend on it, not on the rows."""

    def arranged(sums: object, law: WholeLaw, rng: Entropy) -> tuple[int, ...]:
        del sums, law, rng
        return (count,)

    monkeypatch.setattr(bought_size, "noisy_sums", arranged)
    for query in QUERIES:
        words = {
            sd.release(rows, query, guarantee=promise, rng=SeededRandom(1)).mechanism
            for rows in ([], ROWS[:50], ROWS)
        }
        assert len(words) == 1


def test_a_share_of_its_own() -> None:
    released = sd.release(
        ROWS, QUERIES[0], guarantee=PROMISES[0], n_share="1/4", rng=SeededRandom(1)
    )
    assert "scale 4, which took 1/4 of the guarantee" in released.mechanism
    for wrong in (0, 1, -1, "3/2"):
        with pytest.raises(InvalidParameter, match="n_share"):
            sd.release(ROWS, QUERIES[0], guarantee=PROMISES[0], n_share=wrong)
    with pytest.raises(InvalidParameter, match="n_guess=50"):
        sd.release(ROWS, QUERIES[0], guarantee=PROMISES[0], n_share="1/4", n_guess=50)
    with pytest.raises(InvalidParameter, match="n_share"):
        sd.release(ROWS, QUERIES[0], guarantee=sd.PureDP(1), n_share="1/4")


def test_nothing_is_bought_where_nothing_is_chosen() -> None:
    released = sd.release(ROWS, Median((0, 100), window=9), guarantee=PROMISES[0], smoothing="0.1")
    assert "count" not in released.mechanism
    assert released.guarantee == PROMISES[0]


def test_one_charge(tmp_path: Path) -> None:
    ledger = sd.Ledger(tmp_path / "l.db", budget=sd.PureDP(3, neighbours="add_remove"))
    sd.release(ROWS, QUERIES[0], guarantee=PROMISES[0], ledger=ledger, label="ages")
    (entry,) = ledger.entries()
    assert "buys a count" in entry.mechanism
    assert entry.parameters["label"] == "ages"
    assert ledger.left() == sd.PureDP(2, neighbours="add_remove")


def test_it_finds_the_median() -> None:
    found = [
        sd.release(ROWS, QUERIES[0], guarantee=PROMISES[0], rng=SeededRandom(seed)).value
        for seed in range(20)
    ]
    assert all(abs(value - 50) < 2 for value in found)
