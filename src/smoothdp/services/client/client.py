"""The client: randomises and seals once per window, keeps that, and sends the same again."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Any

from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.parameters.numbers import exact_int
from smoothdp.exact.random.entropy import SystemRandom
from smoothdp.services.client.datum import read_datum
from smoothdp.services.client.outcomes import Kept, OutcomeStore
from smoothdp.services.wire.envelope import (
    DUMMY,
    REPORT_ID_BYTES,
    Header,
    seal_envelope,
    seal_values,
    split_slots,
)
from smoothdp.services.wire.hybrid import PublicKey
from smoothdp.services.wire.task import Task

Clock = Callable[[], float]
_LAST_WINDOW = (1 << 32) - 1


class Client:
    """One user of a task.

    The slots are sealed once and on disk before anything is sent; a retry renews the layer for
    the shuffler alone. Drawing again would be a second disclosure, and slots that were sealed
    anew would count one user several times: a later datum for the same window changes nothing.

    Args:
        task: what the user agreed to.
        outcomes: where outcomes are kept.
        name: tells users of one store apart; it never leaves the device.
        one_person: names of this store are one user's (tokens, for example), unless a report of
            the other name was accepted: one that was drawn in the window and may have left is
            sent again under this name, whatever the datum. False: each name is another user.
        clock: seconds; tells only which window it is.

    >>> import tempfile
    >>> from smoothdp.services import PrivateKey, create_task
    >>> task = create_task("boolean_sum", epsilon="1", delta="1e-6", min_batch=500,
    ...     analyzer_key=PrivateKey.generate().public)
    >>> shuffler_key = 1, PrivateKey.generate().public  # `submit` asks the shuffler for it
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcomes = OutcomeStore(folder + "/outcomes.sqlite")
    ...     client = Client(task, outcomes)
    ...     first = client.envelope(1, shuffler_key=shuffler_key, window=7)
    ...     again = client.envelope(0, shuffler_key=shuffler_key, window=7)
    ...     outcomes.close()
    >>> len(first), again == first
    (156, True)
    """

    def __init__(
        self,
        task: Task,
        outcomes: OutcomeStore,
        *,
        name: str = "me",
        one_person: bool = False,
        clock: Clock = time.time,
    ) -> None:
        self.task = task
        self._outcomes = outcomes
        self._name = name
        self._one_person = one_person
        self._clock = clock

    def window_now(self) -> int:
        """Return the number of the present window."""
        return int(self._clock() // self.task.window_seconds)

    def sends_anothers(self, window: int) -> bool:
        """Whether what would be sent was drawn under another name, and is not known as accepted."""
        waiting = self._outcomes.is_waiting(self.task.task_id, window, self._name)
        return self._one_person and waiting

    def accepted(self, window: int) -> None:
        """Keep that the report of a window was accepted: another name is another user then."""
        self._outcomes.keep_accepted(self.task.task_id, window, self._name)

    def envelope(
        self, datum: Any, *, shuffler_key: tuple[int, PublicKey], window: int | None = None
    ) -> bytes:
        """Return the envelope of a window: the same bytes until the shuffler's key changes.

        Under another key it holds the same number and the same slots.

        Raises:
            InvalidData: a datum outside the task's domain, and nothing is kept or sent then; or
                a window that is over, whose report was destroyed.
            InvalidParameter: a window that is no whole number from 0 to 2^32 - 1; as above.
        """
        task = self.task
        at = exact_int(self.window_now() if window is None else window, name="window", minimum=0)
        if at > _LAST_WINDOW:
            raise InvalidParameter(
                expected=f"window <= {_LAST_WINDOW}",
                got=f"window={at}",
                remedy="Give the number of a window",
            )
        report = (task.task_id, at, self._name)
        kept = self._outcomes.get(*report)
        if kept is None and self._one_person:
            kept = self._outcomes.adopt(*report)
        if kept is None:
            fresh = self._draw(datum, at)
            kept = self._outcomes.keep(*report, fresh, adopt=self._one_person)
        if not kept.slots:
            raise InvalidData(
                expected="a window that is not over",
                got=f"window={at}, whose report was destroyed here",
                remedy="Nothing was sent; take part in the present window",
            )
        key_id, key = shuffler_key
        sealed_to = bytes([key_id]) + key.to_bytes()
        if kept.sealed_to == sealed_to:
            return kept.envelope
        header = Header(key_id, task.slots, task.task_id, at)
        envelope = seal_envelope(header, kept.report_id, split_slots(kept.slots), key=key)
        self._outcomes.keep_envelope(*report, sealed_to=sealed_to, envelope=envelope)
        return envelope

    def _draw(self, datum: Any, window: int) -> Kept:
        """Return a new report: the one place where a client randomises or seals a slot."""
        task = self.task
        key = PublicKey.from_bytes(bytes.fromhex(task.analyzer_key))
        values = randomize(task, datum)
        slots = seal_values(values, key=key, task_id=task.task_id, window=window)
        return Kept(secrets.token_bytes(REPORT_ID_BYTES), b"".join(slots))


def randomize(task: Task, datum: Any) -> tuple[int, ...]:
    """Return the values of all slots, in a random order: messages, then dummies.

    >>> from smoothdp.services.wire.task_request import create_task
    >>> from smoothdp.services.wire.hybrid import PrivateKey
    >>> task = create_task("histogram", domain=("a", "b", "c"), epsilon="1", delta="1e-6",
    ...     min_batch=300, analyzer_key=PrivateKey.generate().public)
    >>> len(randomize(task, "b"))
    4
    """
    # The clients' noise does not depend on the number of users; any number will do here.
    messages = task.collect(task.min_batch).randomize(read_datum(task, datum))
    # What is no message of the task is a dummy of the protocol.
    meant = [message if task.is_meant(message) else DUMMY for message in messages]
    values = [*meant, *[DUMMY] * (task.slots - len(meant))]
    source = SystemRandom()
    for last in range(len(values) - 1, 0, -1):
        other = source.below(last + 1)
        values[last], values[other] = values[other], values[last]
    return tuple(values)
