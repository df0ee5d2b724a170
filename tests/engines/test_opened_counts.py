"""Open and count without Spark: the counts of a batch, and what is refused before the job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smoothdp.engines import run_here
from smoothdp.engines.opened_counts import open_distinct, split_records
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.services import PrivateKey
from smoothdp.services.formats.card import Card
from smoothdp.services.formats.design.values import DUMMY
from smoothdp.services.formats.slots import seal_slots
from tests.services.formats.made import Made

VALUES = (0, 0, 1, DUMMY)
Records = Sequence[tuple[bytes, bytes]]


OPEN, SIGNED = Made("none"), Made()


def known(made: Made, **other: Any) -> dict[str, Any]:
    return {"key": made.inner, "task": made.task, "card": made.card} | other


def never(*_: Any) -> Any:
    """Stand for a run that must not be reached."""
    raise AssertionError("a job ran")


def run_over(records: Records, copies: Sequence[int] = ()) -> Any:
    columns = [np.empty(len(records), dtype=object) for _ in range(2)]
    for column, values in zip(columns, zip(*records, strict=True), strict=True):
        column[:] = values
    return run_here([[*columns, np.array(list(copies) or [1] * len(records))]])


def sealed(card: Card) -> Records:
    return [(slot, b"") for slot in seal_slots(VALUES, card)]


def signed() -> Records:
    report = SIGNED.report((1, 0))
    return list(zip(report.slots, report.signatures, strict=True))


def test_slots_and_a_rest_are_counted() -> None:
    parts = b"".join(slot for slot, _ in sealed(OPEN.card)) + b"a rest"
    found = open_distinct(run_over(split_records(parts, signed=False)), **known(OPEN))
    assert found == {-1: 2, 0: 2, 1: 1}
    joined = b"".join(slot + signature for slot, signature in signed())
    found = open_distinct(run_over(split_records(joined, signed=True)), **known(SIGNED))
    assert found == {0: 1, 1: 1}


def test_the_shuffler_of_a_batch_that_is_not_genuine_gets_no_counts() -> None:
    with pytest.raises(InvalidData, match="got 2 slots that are copies"):
        open_distinct(run_over(sealed(OPEN.card), [1, 3, 1, 1]), **known(OPEN))
    (slot, signature), (other, _) = signed()
    for records in ([(slot, signature), (other, signature)], [(slot, b"")], [(slot, bytes(256))]):
        with pytest.raises(InvalidData, match="got 1 slots without a good signature"):
            open_distinct(run_over(records), **known(SIGNED))


def test_slots_of_another_window_are_refused_together() -> None:
    other = replace(OPEN.card, window=OPEN.card.window + 1)
    with pytest.raises(InvalidData, match="got 4 different ones, of which none opens"):
        open_distinct(run_over(sealed(other)), **known(OPEN))
    # One that opens is enough for an answer.
    mixed = [*sealed(other), (seal_slots([0], OPEN.card)[0], b"")]
    assert open_distinct(run_over(mixed), **known(OPEN)) == {-1: 4, 0: 1}


def test_keys_cards_and_tasks_that_are_none() -> None:
    secret = OPEN.inner.to_bytes().hex()
    for key in (secret, OPEN.inner.to_bytes(), None, OPEN.inner.public):
        with pytest.raises(InvalidParameter, match="key, a PrivateKey") as found:
            open_distinct(never, **known(OPEN, key=key))
        assert secret not in str(found.value)
    with pytest.raises(InvalidParameter, match="the key that the card names; got another"):
        open_distinct(never, **known(OPEN, key=PrivateKey.generate()))
    for task in ("analyzer/", Path("task.json"), OPEN.task.encoded):
        with pytest.raises(InvalidParameter, match=r"task, a Task.*read_task"):
            open_distinct(never, **known(OPEN, task=task))
    for card in (None, 20414, OPEN.card.encode(), SIGNED.card):
        with pytest.raises(InvalidParameter, match="card, the Card of a window of the task"):
            open_distinct(never, **known(OPEN, card=card))
