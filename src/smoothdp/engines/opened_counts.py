"""Open and count: the slots of sealed batches, on as many machines as there are.

The permutation stays with the shuffler: a count does not depend on the order. A slot that
is there twice is counted once, as the analyser does, so slots must be told apart first:
`open_distinct` takes each distinct slot once and how often it came.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from smoothdp.engines.job import Job, Partition, Run
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.parameters.numbers import exact_int
from smoothdp.services.wire.envelope import (
    INVALID,
    REPEATED,
    DecodeError,
    inner_info,
    open_slot,
)
from smoothdp.services.wire.hybrid import PrivateKey
from smoothdp.services.wire.task import Task


@dataclass(frozen=True, repr=False)
class OpenSlots:
    """Tally distinct slots: opening is deterministic, so a partition may be opened again."""

    key: bytes
    task: bytes
    window: int

    def __call__(self, columns: Partition) -> Counter[int]:
        slots, copies = columns
        # Keys are not picklable: each task makes its own from bytes.
        key, task = PrivateKey.from_bytes(self.key), Task.decode(self.task)
        info = inner_info(task.task_id, self.window)
        tally: Counter[int] = Counter()
        for slot, times in zip(slots.tolist(), copies.tolist(), strict=True):
            try:
                value = open_slot(bytes(slot), key=key, info=info)
            except DecodeError:
                value = INVALID
            tally[value if task.is_meant(value) else INVALID] += 1
            if times > 1:
                tally[REPEATED] += int(times) - 1
        return tally


_LAST_WINDOW = (1 << 32) - 1


def check_opening(*, key: PrivateKey, task: Task, window: int) -> int:
    """Return the window, if there is a key, the task that names it, and a window.

    Raises:
        InvalidParameter: anything else; a key is never repeated.
    """
    if not isinstance(key, PrivateKey):
        raise InvalidParameter(
            expected="key, a PrivateKey of smoothdp.services",
            got=type(key).__name__,
            remedy="Use PrivateKey.from_bytes on its 32 bytes (bytes.fromhex for the text of "
            "a file)",
        )
    if not isinstance(task, Task):
        raise InvalidParameter(
            expected="task, a Task of smoothdp.services",
            got=type(task).__name__,
            remedy="Read the task with smoothdp.services.read_task",
        )
    if key.public.to_bytes().hex() != task.analyzer_key:
        raise InvalidParameter(
            expected="the key that the task names",
            got="another",
            remedy="Use the private key of the analyser of that task",
        )
    number = exact_int(window, name="window", minimum=0)
    if number > _LAST_WINDOW:
        raise InvalidParameter(
            expected=f"window of at most {_LAST_WINDOW}",
            got=f"window={number}",
            remedy="Give the number of a window of the task",
        )
    return number


def open_distinct(run: Run, *, key: PrivateKey, task: Task, window: int) -> dict[int, int]:
    """Return value -> slots, with INVALID and REPEATED, as the analyser tallies a batch.

    Args:
        run: over distinct slots of 52 bytes and how often each came.
        key: the analyser's: the machines of the engine see it, and are the analyser's own.
        window: the window of the batch; slots of another do not open.

    Raises:
        InvalidData: no slot opens to a value of the task.
        InvalidParameter: another key than the task's, no key, no task or no window.
    """
    number = check_opening(key=key, task=task, window=window)
    tally = run(Job(OpenSlots(key.to_bytes(), task.encoded, number), _add))
    if set(tally) <= {INVALID, REPEATED}:
        raise InvalidData(
            expected=f"slots sealed to this task and window={number}",
            got=f"{tally[INVALID]} different ones, of which none opens",
            remedy="Check the window and the task, and that the parts are whole",
        )
    return dict(sorted(tally.items()))


def _add(a: Counter[int], b: Counter[int]) -> Counter[int]:
    total = Counter(a)
    total.update(b)
    return total
