"""Delivery: the same bytes until they are acknowledged, then deletion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

import httpx

from smoothdp.errors import InvalidData
from smoothdp.services.faults import Reach
from smoothdp.services.operations.logs import Cause, PutOff
from smoothdp.services.shuffler.gateway_cards import GatewayCards
from smoothdp.services.shuffler.shuffler_tables import DELIVERED, PURGED, SEALED
from smoothdp.services.store.storage import Storage
from smoothdp.services.wire.calls import ServiceError, ask

Put: TypeAlias = Callable[[str, bytes], int]
"""PUT a body to a path of the analyser; the HTTP status. It may raise OSError."""

_DONE = (200, 201)
_CAUSES = {401: Cause.REFUSED, 403: Cause.REFUSED, 422: Cause.OTHER}


class Delivering(Protocol):
    """A shuffler with batches to hand over."""

    @property
    def storage(self) -> Storage:
        """With the tables ``batch`` and ``batch_part``."""

    @property
    def cards(self) -> GatewayCards:
        """Beside whose keys it is noted which windows are over."""

    @property
    def reach(self) -> Reach:
        """Called at the named points of `faults.POINTS`."""


class DeliveryRefused(PutOff):
    """The analyser refuses batches for good: they are kept, and an operator must look."""

    def __init__(self, refused: list[str]) -> None:
        super().__init__(
            f"{'; '.join(refused)}: ask who runs it for its result of the window. Nothing else is "
            "to be done here: the batch is offered again until it is dropped, 30 days after the "
            "window",
            Cause.OTHER,
        )


class _Refused(Exception):
    """The analyser will never take this batch."""


def deliver_batches(shuffler: Delivering, put: Put) -> int:
    """Offer every sealed batch and purge those acknowledged; return how many were.

    A request or an answer that is lost leaves the batch as it is: it is offered again with
    the same bytes, which the analyser takes once.

    Raises:
        OSError: the analyser could not be reached, or is out of order.
        StorageFull, StorageLocked: it cannot be noted that a window is over; nothing of it left.
        InvalidData: a batch whose rows do not open: their keys were erased.
        DeliveryRefused: it answered that it will never take a batch.
    """
    purge_delivered(shuffler)
    rows = shuffler.storage.read(
        "SELECT batch_id, window, header FROM batch WHERE state = ? ORDER BY window", (SEALED,)
    )
    refused: list[str] = []
    put_off: PutOff | InvalidData | None = None
    for batch_id, window, header in rows:
        # Another process may have sealed it and been stopped: an older copy would do it again.
        shuffler.cards.note_end(window)
        try:
            _offer_batch(shuffler, put, f"/v2/batches/{bytes(batch_id).hex()}", batch_id, header)
        except _Refused as error:
            refused.append(f"the analyser answered {error} to the batch of window {window}")
        except (PutOff, InvalidData) as error:
            # One that is damaged here, or comes damaged each time, must not hold up later ones; nor
            # one of an older copy of a database, whose keys were erased since.
            put_off = put_off or error
    purge_delivered(shuffler)
    if refused:
        raise DeliveryRefused(refused)
    if put_off is not None:
        raise put_off
    return len(rows)


def _offer_batch(shuffler: Delivering, put: Put, path: str, batch_id: bytes, header: bytes) -> None:
    _offer(put, path, header)
    parts = shuffler.storage.read(
        "SELECT part FROM batch_part WHERE batch_id = ? ORDER BY part", (batch_id,)
    )
    for (part,) in parts:
        data = shuffler.storage.read(
            "SELECT bytes FROM batch_part WHERE batch_id = ? AND part = ?", (batch_id, part)
        )
        if not data:
            return  # another process has handed it over meanwhile
        _offer(put, f"{path}/parts/{part}", data[0][0])
        shuffler.reach("deliver: between parts")
    shuffler.reach("deliver: before acknowledgement")
    with shuffler.storage.transaction() as change:
        change.change(
            "UPDATE batch SET state = ? WHERE batch_id = ? AND state = ?",
            (DELIVERED, batch_id, SEALED),
        )
        change.change("DELETE FROM batch_part WHERE batch_id = ?", (batch_id,))
    shuffler.reach("purge: after commit")


def purge_delivered(shuffler: Delivering) -> None:
    """Make delivered batches unreadable in the files, and say so in their state."""
    waiting = shuffler.storage.read("SELECT batch_id FROM batch WHERE state = ?", (DELIVERED,))
    if not waiting:
        return
    with shuffler.storage.transaction() as change:
        # Once for all that went: those that still wait may be large.
        change.rewrite("batch_part")
    if shuffler.storage.forget():
        with shuffler.storage.transaction() as change:
            change.change_many(
                "UPDATE batch SET state = ? WHERE batch_id = ? AND state = ?",
                [(PURGED, batch_id, DELIVERED) for (batch_id,) in waiting],
            )


def _offer(put: Put, path: str, body: bytes) -> None:
    status = put(path, body)
    if status in _DONE:
        return
    if status >= 500 or status in (401, 403, 408, 422, 425, 429):
        # 422: damaged, on the way or on this disk. 401, 403: a token that is being rotated.
        cause = _CAUSES.get(status, Cause.CONNECTION)
        raise PutOff(f"the analyser answered {status}", cause)
    raise _Refused(status)


def putting(http: httpx.Client, token: str) -> Put:
    """Return how a shuffler hands over batches."""

    def put(path: str, body: bytes) -> int:
        try:
            return ask(http, "PUT", path, token=token, body=body).status
        except ServiceError as error:
            raise OSError(str(error)) from None

    return put
