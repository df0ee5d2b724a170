"""The client of esa/2: draws once per window, stores that; all it sends follows from the row."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Any

from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.parameters.numbers import exact_int
from smoothdp.services.client.datum import read_datum
from smoothdp.services.client.inclusion import own_marks
from smoothdp.services.client.outcomes import (
    DRAWN,
    ENDED,
    FINAL,
    SENT,
    Kept,
    KnownTask,
    OutcomeStore,
)
from smoothdp.services.faults import Reach, pass_by
from smoothdp.services.formats.card import Card, SignedCard, check_card
from smoothdp.services.formats.design.budget import windows_paid
from smoothdp.services.formats.reading import DecodeError
from smoothdp.services.formats.report import Report, seal_report
from smoothdp.services.formats.slot_tokens import SlotTokens
from smoothdp.services.formats.slots import SLOT_BYTES, seal_slots
from smoothdp.services.formats.task import CLOCK_SECONDS, Task
from smoothdp.services.tokens.refusals import TokenRefused
from smoothdp.services.tokens.token import SEED_BYTES

Clock = Callable[[], float]
_LAST_WINDOW = (1 << 32) - 1


class Client:
    """One user of a task.

    The steps of a window, each of which may be repeated after a crash: `take_part`,
    `token_request`, `finish`, `sealed_report`, `accepted`; and `settle` when windows are over.
    The first stores the sealed slots and the seed; all that is sent later follows from that row, so
    that one set of slots leaves in a window (proofs/issued-tokens#1).

    Args:
        task: what the user agreed to.
        outcomes: where rows are kept.
        name: tells people of one store apart; it never leaves the device.
        clock: seconds since 1970; tells only which window it is.
        reach: called at the named points of `faults.CLIENT_POINTS`.

    Raises:
        InvalidParameter: a name that is no text.
    """

    def __init__(
        self,
        task: Task,
        outcomes: OutcomeStore,
        *,
        name: str = "me",
        clock: Clock = time.time,
        reach: Reach = pass_by,
    ) -> None:
        self.task = task
        self._outcomes = outcomes
        self._name = _person(name)
        self._clock = clock
        self._reach = reach
        self._drew = set[int]()

    def window_now(self) -> int:
        """Return the number of the present window."""
        return self.task.window_at(self._clock())

    def kept(self, window: int) -> Kept | None:
        """Return what was stored for a window, or None."""
        return self._outcomes.get(self.task.task_id, _window(window), self._name)

    # ---- the steps of a window

    def take_part(self, datum: Any, *, card: bytes, window: int) -> Kept:
        """Check the card, randomise and seal a datum, and store that; return the row that counts.

        If there is a row already, the datum is not looked at, and the card is not used.

        Args:
            datum: as the protocol takes it.
            card: the signed card of the window, from the issuer or any cache.
            window: the present window, or its neighbour within 300 s of the boundary.

        Raises:
            InvalidData: a datum outside the task's domain, a card that is not good, a second
                card for the window, another window, or one that the budget of the task does not
                pay for, after those in which this person answered. No draw was stored.
        """
        row = self.task.task_id, _window(window), self._name
        kept = self._outcomes.get(*row)
        if kept is not None:
            return kept
        self._require_present(window)
        signed = checked_card(card, self.task, window)
        digest = signed.card.digest
        slots = self._draw(datum, signed.card)
        self._know_task()
        self._outcomes.keep_card(*row[:2], digest=digest, signed=card)
        self._reach("client: before the draw is stored")
        is_final = self.task.issuer is None
        most = windows_paid(self.task)
        drawn = b"" if is_final else b"".join(slots)
        report = Report(digest, slots, ()).encode() if is_final else b""
        kept = self._outcomes.keep(
            *row,
            card_digest=digest,
            slots=drawn,
            seed=b"" if is_final else secrets.token_bytes(SEED_BYTES),
            report=report,
            most=most,
        )
        if kept is None:
            raise _spent(most, self.spent())
        if (kept.slots, kept.report) == (drawn, report):
            self._drew.add(window)
        self._reach("client: after the draw is stored")
        return kept

    def check(self, datum: Any) -> None:
        """Raise InvalidData for a datum outside the task's domain."""
        read_datum(self.task, datum)

    def drew(self, window: int) -> bool:
        """Whether the row of a window is a draw of this client: of the datum that it was given."""
        return window in self._drew

    def token_request(self, window: int) -> bytes:
        """Return the body that asks the issuer for tokens: the same bytes at each call.

        Raises:
            TokenRefused: a key that marks people. The window is over for this name: the draw
                was destroyed, and nothing was sent.
            InvalidData: a window without a draw that waits for tokens.
        """
        kept = self._require(window, DRAWN)
        tokens = self._tokens(window)
        try:
            return tokens.request(_split(kept.slots), seed=kept.seed)
        except TokenRefused:
            self._end(window)
            raise

    def finish(self, window: int, answer: bytes) -> None:
        """Finalize all tokens; store the report and erase the seed, in one transaction.

        Args:
            window: the window.
            answer: the issuer's, M blind signatures.

        Raises:
            TokenRefused: one that is no signature. The window is over for this name: the draw
                was destroyed, and nothing was sent.
            InvalidData: a window without a draw that waits for tokens.
        """
        kept = self._require(window, DRAWN)
        slots = _split(kept.slots)
        try:
            signatures = self._tokens(window).finalize(slots, seed=kept.seed, answer=answer)
        except TokenRefused:
            self._end(window)
            raise
        report = Report(kept.card_digest, slots, tuple(signatures)).encode()
        self._reach("client: before the report is stored")
        self._outcomes.keep_report(self.task.task_id, window, self._name, report)
        self._reach("client: after the report is stored")

    def sealed_report(self, window: int) -> bytes:
        """Return the report sealed to the gateway key of its card: under a fresh seal each time.

        Raises:
            InvalidData: no final report in this window, or one that was destroyed.
        """
        kept = self._require(window, FINAL, SENT)
        return seal_report(kept.report, self._card(window))

    def accepted(self, window: int) -> None:
        """Keep that the shuffler has the report of a window."""
        self._reach("client: before sent is stored")
        self._outcomes.keep_sent(self.task.task_id, _window(window), self._name)

    def waiting(self) -> list[int]:
        """Return the earlier windows whose report is final and has no answer from the shuffler."""
        before = self._outcomes.live_before(self.task.task_id, self.window_now(), FINAL)
        return [window for window, name in before if name == self._name]

    def settle(self) -> int:
        """Put marks in the place of the reports of windows that are over; return how many.

        That is the end of the window and its grace, by this machine's clock, for all names, and
        for all tasks of this store: this one may be the only one that still runs.
        """
        self._know_task()
        return sum(self._settle(task) for task in self._outcomes.tasks())

    def spent(self) -> list[int]:
        """Return the windows that this person answered, if the task's budget pays for no more.

        Windows count in which the analyser has seen an answer or may see one, whatever it says
        that it released: what it sees is what the budget is to bound. One whose draw was never
        sent does not count, nor one of which the shuffler has said that it destroyed the reports:
        where that is false the analyser is honest, and its ledger holds
        (proofs/marks-and-erasure#5).
        """
        windows = self._outcomes.windows(self.task.task_id, self._name)
        return windows if len(windows) >= windows_paid(self.task) else []

    def destroyed(self, window: int) -> None:
        """Keep that the shuffler says that it destroyed the reports of a window."""
        self._outcomes.keep_destroyed(self.task.task_id, _window(window), self._name)

    # ---- what the steps are made of

    def _know_task(self) -> None:
        task = self.task
        self._outcomes.keep_task(
            KnownTask(task.task_id, task.window_seconds, task.grace_seconds, task.signed)
        )

    def _settle(self, task: KnownTask) -> int:
        now = self._clock()
        first_live = int((now - task.grace_seconds) // task.window_seconds)
        done = self._outcomes.live_before(task.task_id, first_live, FINAL, SENT)
        # No tokens are given in the grace: what has none can reach nobody.
        begun = max(first_live, int((now - CLOCK_SECONDS) // task.window_seconds))
        drawn = self._outcomes.live_before(task.task_id, begun, DRAWN)
        for window, name in drawn:
            # Not read again: another program may have its tokens since, and time to send it.
            self._outcomes.keep_marks(task.task_id, window, name, b"")
        for window, name in done:
            kept = self._outcomes.get(task.task_id, window, name)
            assert kept is not None
            with self._outcomes.reading():
                marks = own_marks(kept, signed=task.signed)
            self._outcomes.keep_marks(task.task_id, window, name, b"".join(marks))
        self._outcomes.forget_before(task.task_id, first_live)
        return len(done) + len(drawn)

    def _draw(self, datum: Any, card: Card) -> tuple[bytes, ...]:
        """Return sealed slots: the one place where a client randomises or seals a slot."""
        return tuple(seal_slots(self.task.values(read_datum(self.task, datum)), card))

    def _tokens(self, window: int) -> SlotTokens:
        issuer = self.task.issuer
        assert issuer is not None
        return SlotTokens(self._card(window), issuer_name=issuer.name, origin=self.task.origin)

    def _card(self, window: int) -> Card:
        signed = self._outcomes.card(self.task.task_id, window)
        if signed is None:
            raise InvalidData(
                expected=f"the card of window {window}",
                got="none: the window is over here",
                remedy="Take part in the present window",
            )
        with self._outcomes.reading():
            return SignedCard.decode(signed).card

    def _end(self, window: int) -> None:
        self._outcomes.keep_end(self.task.task_id, window, self._name)

    def _require(self, window: int, *states: str) -> Kept:
        kept = self.kept(window)
        if kept is None or kept.state not in states:
            got = "none" if kept is None else f"one that is {kept.state}"
            remedy = "Take part in the next window"
            if kept is not None and kept.state == ENDED:
                got = "one whose tokens were refused: nothing was sent"
            raise InvalidData(
                expected=f"a report of window {window} that is {' or '.join(states)}",
                got=got,
                remedy=remedy,
            )
        return kept

    def _require_present(self, window: int) -> None:
        now = self._clock()
        if window not in self.task.windows_near(now):
            raise InvalidData(
                expected=f"window {self.task.window_at(now)}, the present one by this clock",
                got=f"window {window}",
                remedy="Set this machine's clock right, or take part in the present window",
            )


def _spent(most: int, windows: list[int]) -> InvalidData:
    words = ", ".join(map(str, windows))
    return InvalidData(
        expected=f"a window that the budget of the task pays for: it pays for {most}",
        got=f"one more, after answers drawn for window{'s' if len(windows) > 1 else ''} {words}",
        remedy=(
            "No answer was sent for this window. One more would tell the analyser more than was "
            "agreed on: ask who runs it for a new task"
        ),
    )


def checked_card(data: bytes, task: Task, window: int) -> SignedCard:
    """Return the card of a task and window that a client may use.

    Raises:
        InvalidData: other bytes, another task or window, a signature or key that is not good.
    """
    try:
        signed = SignedCard.decode(data)
    except DecodeError as error:
        raise InvalidData(
            expected=f"the signed card of window {window}",
            got=f"other bytes ({error})",
            remedy="No answer was sent for this window; ask the issuer for it, or another cache",
        ) from None
    check_card(signed, task=task, window=window)
    return signed


def _person(name: str) -> str:
    # From bytes of a terminal that are no text; None is equal to no row of SQL.
    if not isinstance(name, str) or any("\ud800" <= letter <= "\udfff" for letter in name):
        raise InvalidParameter(
            expected="a person's name as text",
            got="something else",
            remedy="Give person= as text that can be written to a file",
        )
    return name


def _window(window: int) -> int:
    at = exact_int(window, name="window", minimum=0)
    if at > _LAST_WINDOW:
        raise InvalidParameter(
            expected=f"window <= {_LAST_WINDOW}",
            got=f"window={at}",
            remedy="Give the number of a window",
        )
    return at


def _split(slots: bytes) -> tuple[bytes, ...]:
    return tuple(slots[at : at + SLOT_BYTES] for at in range(0, len(slots), SLOT_BYTES))
