"""Open and count without Spark: the counts of a batch, and what is refused before the job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from smoothdp.services.wire.envelope import DUMMY, seal_values, split_slots

from smoothdp.engines import run_here
from smoothdp.engines.opened_counts import open_distinct
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.services import PrivateKey, read_task, write_parties
from smoothdp.services.wire.key_files import read_secret
from tests.services.world import KEY, small_task

TASK = small_task("histogram")
VALUES = (0, 0, 2, DUMMY)


def never(*_: Any) -> Any:
    """Stand for a run that must not be reached."""
    raise AssertionError("a job ran")


def run_over(slots: list[bytes], copies: list[int]) -> Any:
    column = np.empty(len(slots), dtype=object)
    column[:] = slots
    return run_here([[column, np.array(copies)]])


def sealed(window: int) -> list[bytes]:
    return seal_values(VALUES, key=KEY.public, task_id=TASK.task_id, window=window)


def test_a_key_of_a_file_opens_the_slots(tmp_path: Path) -> None:
    written = write_parties(tmp_path, TASK, KEY)
    secret = read_secret(written.analyzer / "secrets.json", ("private_key",))["private_key"]
    key = PrivateKey.from_bytes(bytes.fromhex(secret))
    slots = split_slots(b"".join(sealed(9)) + b"a rest")
    run = run_over(slots, [1, 3, 1, 1, 1])
    found = open_distinct(run, key=key, task=read_task(written.analyzer), window=9)
    assert found == {-2: 2, -1: 1, 0: 2, 2: 1, DUMMY: 1}


def test_slots_of_another_window_are_refused_together() -> None:
    with pytest.raises(InvalidData, match="window=8; got 4 different ones, of which none opens"):
        open_distinct(run_over(sealed(9), [1, 2, 1, 1]), key=KEY, task=TASK, window=8)
    # One that opens is enough for an answer.
    mixed = sealed(9) + sealed(8)[:1]
    assert open_distinct(run_over(mixed, [1] * 5), key=KEY, task=TASK, window=8) == {-1: 4, 0: 1}


@pytest.mark.parametrize("window", [-1, 1 << 32, "9", None, 1.5, True])
def test_windows_that_are_none(window: Any) -> None:
    with pytest.raises(InvalidParameter, match="window"):
        open_distinct(never, key=KEY, task=TASK, window=window)


def test_keys_and_tasks_that_are_none() -> None:
    secret = KEY.to_bytes().hex()
    for key in (secret, KEY.to_bytes(), None, KEY.public):
        with pytest.raises(InvalidParameter, match="key, a PrivateKey") as found:
            open_distinct(never, key=key, task=TASK, window=9)  # type: ignore[arg-type]
        assert secret not in str(found.value)
    with pytest.raises(InvalidParameter, match="the key that the task names; got another"):
        open_distinct(never, key=PrivateKey.generate(), task=TASK, window=9)
    for task in ("analyzer/", Path("task.json"), TASK.encoded):
        with pytest.raises(InvalidParameter, match=r"task, a Task.*read_task"):
            open_distinct(never, key=KEY, task=task, window=9)  # type: ignore[arg-type]
