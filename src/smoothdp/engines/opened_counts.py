"""Open and count: the slots of sealed batches, on as many machines as there are.

The permutation stays with the shuffler: a count does not depend on the order. As the analyser
does, nothing is counted of a batch with a slot that comes twice, or without a good signature of
the issuer: an honest shuffler hands over no such batch.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from smoothdp.engines.job import Job, Partition, Run
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.services.formats.card import Card
from smoothdp.services.formats.design.values import INVALID
from smoothdp.services.formats.reading import DecodeError
from smoothdp.services.formats.report import record_bytes
from smoothdp.services.formats.slot_tokens import SlotTokens
from smoothdp.services.formats.slots import SLOT_BYTES, open_slot
from smoothdp.services.formats.task import Task
from smoothdp.services.wire.hybrid import PrivateKey

_UNSIGNED, _REPEATED = -2, -3


@dataclass(frozen=True, repr=False)
class OpenSlots:
    """Tally distinct slots: opening is deterministic, so a partition may be opened again.

    Columns: slots, a signature of each, and how often each slot came.
    """

    key: bytes
    task: bytes
    card: bytes

    def __call__(self, columns: Partition) -> Counter[int]:
        # Keys are not picklable: each task makes its own from bytes.
        key, task = PrivateKey.from_bytes(self.key), Task.decode(self.task)
        card = Card.decode(self.card)
        tokens = None
        if task.issuer is not None:
            tokens = SlotTokens(card, issuer_name=task.issuer.name, origin=task.origin)
        tally: Counter[int] = Counter()
        for slot, signature, times in zip(*(c.tolist() for c in columns), strict=True):
            if times > 1:
                tally[_REPEATED] += int(times) - 1
            if tokens is not None and not tokens.verify(bytes(slot), bytes(signature)):
                tally[_UNSIGNED] += 1
                continue
            try:
                value = open_slot(bytes(slot), card, key)
            except DecodeError:
                value = INVALID
            tally[value if task.is_meant(value) else INVALID] += 1
        return tally


def split_records(joined: bytes, *, signed: bool) -> list[tuple[bytes, bytes]]:
    """Return (slot, signature) of each record; a rest that is no record comes last.

    >>> [len(piece) for piece in split_records(bytes(309), signed=True)[0]]
    [52, 256]
    >>> len(split_records(bytes(309), signed=True))
    2
    """
    width = record_bytes(signed)
    pieces = [joined[at : at + width] for at in range(0, len(joined), width)]
    return [(piece[:SLOT_BYTES], piece[SLOT_BYTES:]) for piece in pieces]


def check_opening(*, key: PrivateKey, task: Task, card: Card) -> None:
    """Require a key, a task, and the card of the task that names the key.

    Raises:
        InvalidParameter: anything else; a key is never repeated.
    """
    if not isinstance(key, PrivateKey):
        raise InvalidParameter(
            expected="key, a PrivateKey of smoothdp.services",
            got=type(key).__name__,
            remedy="Use PrivateKey.from_bytes on its 32 bytes",
        )
    if not isinstance(task, Task):
        raise InvalidParameter(
            expected="task, a Task of smoothdp.services",
            got=type(task).__name__,
            remedy="Read the task with smoothdp.services.read_task",
        )
    if not isinstance(card, Card) or (card.task_id, card.signed) != (task.task_id, task.signed):
        raise InvalidParameter(
            expected="card, the Card of a window of the task",
            got="that of another task" if isinstance(card, Card) else type(card).__name__,
            remedy="Take the card of the batch from the analyser",
        )
    if key.public.to_bytes() != card.inner_key:
        raise InvalidParameter(
            expected="the key that the card names",
            got="another",
            remedy="Use the analyser's key of the window of that card",
        )


def open_distinct(run: Run, *, key: PrivateKey, task: Task, card: Card) -> dict[int, int]:
    """Return value -> slots, with INVALID, as the analyser tallies a batch.

    Args:
        run: over distinct slots, a signature of each, and how often each slot came.
        key: the analyser's of the window: the machines of the engine see it, and are the
            analyser's own.
        task, card: of the batch; slots of another window do not open.

    Raises:
        InvalidData: a slot that comes twice or has no good signature; or none that opens.
        InvalidParameter: another key than the card's, no key, no task or no card of it.
    """
    check_opening(key=key, task=task, card=card)
    tally = run(Job(OpenSlots(key.to_bytes(), task.encoded, card.encode()), _add))
    for code, what in ((_UNSIGNED, "without a good signature"), (_REPEATED, "that are copies")):
        if tally[code]:
            raise InvalidData(
                expected=f"the batch of an honest shuffler, of the window {card.window}",
                got=f"{tally[code]} slots {what}",
                remedy="Check the card and that the parts are whole; else count nothing of it",
            )
    if set(tally) <= {INVALID}:
        raise InvalidData(
            expected=f"slots sealed to this task and the window {card.window}",
            got=f"{tally[INVALID]} different ones, of which none opens",
            remedy="Check the card and the task, and that the parts are whole",
        )
    return dict(sorted(tally.items()))


def _add(a: Counter[int], b: Counter[int]) -> Counter[int]:
    total = Counter(a)
    total.update(b)
    return total
