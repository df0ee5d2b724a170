"""Shares of a table's guarantee: what is not said, what is refused, and that they add up."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.errors import InvalidParameter
from smoothdp.queries import ClampedMean, Count
from smoothdp.tables.asked.shares import read_shares
from smoothdp.tables.request import TableRequest


@pytest.mark.parametrize(
    ("shares", "names", "extra", "expected"),
    [
        (None, ["a", "b"], [], {"a": "1/2", "b": "1/2"}),
        (None, ["a", "b", "c"], ["n"], {"n": "1/10", "a": "3/10", "b": "3/10", "c": "3/10"}),
        ({"a": "1/2"}, ["a", "b", "c"], [], {"a": "1/2", "b": "1/4", "c": "1/4"}),
        ({"n": "1/5"}, ["a", "b"], ["n"], {"n": "1/5", "a": "2/5", "b": "2/5"}),
        ({"keys": "1/2", "a": "1/8"}, ["a"], ["keys"], {"keys": "1/2", "a": "1/8"}),
        ({"a": "1/3", "b": "2/3"}, ["a", "b"], [], {"a": "1/3", "b": "2/3"}),
        (None, [], ["n"], {"n": "1"}),
    ],
)
def test_what_is_left_is_shared_equally(
    shares: Any, names: list[str], extra: list[str], expected: dict[str, str]
) -> None:
    found = read_shares(shares, names=names, extra=extra)
    assert found == {name: Fraction(share) for name, share in expected.items()}
    assert sum(found.values()) <= 1


@pytest.mark.parametrize(
    "shares", [{"a": "1/2", "b": "51/100"}, {"a": 1}, {"a": 0}, {"a": "-1/2"}, {"z": "1/2"}]
)
def test_refused(shares: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        read_shares(shares, names=["a", "b"], extra=[])


def test_more_than_the_whole_with_what_was_not_said() -> None:
    with pytest.raises(InvalidParameter, match="1/10 for counts"):
        read_shares({"a": "95/100"}, names=["a"], extra=["n"])


def test_the_parts_of_a_row_add_up_to_the_guarantee() -> None:
    request = TableRequest.read(
        by="g",
        keys=["x"],
        statistics={"mean": ("v", ClampedMean((0, 1))), "rows": (None, Count())},
        guarantee=sd.PureDP(2, neighbours="add_remove"),
        shares={"mean": "1/2"},
        counts=True,
    )
    assert request.count is not None
    parts = [request.count, *(one.guarantee for one in request.statistics)]
    # A tenth for the counts, one half as said, and the rest.
    assert parts == [sd.PureDP(e, neighbours="add_remove") for e in ("1/5", 1, "4/5")]
