"""The shuffler from its directory, ready to serve, and the passes that it makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import httpx
from starlette.applications import Starlette
from starlette.routing import Route

from smoothdp.errors import InvalidData
from smoothdp.exact.parameters.numbers import exact_int
from smoothdp.services.faults import Reach, pass_by
from smoothdp.services.formats.card import key_config
from smoothdp.services.formats.design.budget import KEY_SECONDS, ahead_seconds, windows_paid
from smoothdp.services.formats.party_files import read_task
from smoothdp.services.formats.secrets import Secret
from smoothdp.services.formats.signing import SigningKey
from smoothdp.services.formats.task import Task
from smoothdp.services.operations.admin import Operations
from smoothdp.services.operations.clock_guard import ClockGuard, Verdict
from smoothdp.services.operations.every import BRINGING_SECONDS, do_all, while_time
from smoothdp.services.operations.health import (
    Rounds,
    cards_condition,
    clock_condition,
    delivery_condition,
    disk_condition,
    keys_condition,
    storage_condition,
)
from smoothdp.services.operations.tls import Trust
from smoothdp.services.shuffler.delivery import deliver_batches, putting
from smoothdp.services.shuffler.gateway_cards import half_bytes
from smoothdp.services.shuffler.sealing import seal_due
from smoothdp.services.shuffler.shuffler import Shuffler
from smoothdp.services.shuffler.shuffler_tables import SEALED, SHUFFLER_SCHEMA
from smoothdp.services.shuffler.shuffler_web import shuffler_app
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.one_task import require_one_task
from smoothdp.services.store.party_storage import open_storage
from smoothdp.services.store.revoked import REVOKED_FILE, Revoked
from smoothdp.services.wire.calls import Answer, ServiceError, Unreachable, ask, connect
from smoothdp.services.wire.clock_call import exchange_clocks
from smoothdp.services.wire.key_files import SECRETS_FILE, read_secret

GATEWAY_KEYS_FILE = "gateway.sqlite"
_SECRETS = ("sign_key", "pass_key", "analyzer_token")
_TAKEN = (200, 201)
_OVER = 410
_NOT_WANTED = (404, 425)
"""The budget does not pay for this window, or it is too far ahead."""


@dataclass(frozen=True, slots=True)
class ShufflerParty:
    """The shuffler of one task, with what it needs to reach the analyser.

    >>> import tempfile
    >>> from smoothdp.services import agree_on_one_host
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     task = agree_on_one_host(Path(folder), "boolean_sum", epsilon="1", delta="1e-6",
    ...         min_batch=300, issuer_url="http://127.0.0.1:8603", origin="127.0.0.1")
    ...     party = ShufflerParty.from_directory(Path(folder, "shuffler"))
    ...     app = party.app("https://analyzer.example")  # for `run`
    ...     party.close()
    >>> party.task == task
    True
    """

    task: Task
    shuffler: Shuffler
    keys: ErasableKeys
    revoked: Revoked
    analyzer_token: str
    directory: Path

    @classmethod
    def from_directory(
        cls,
        directory: Path,
        *,
        clocks: ClockGuard | None = None,
        storage: str | None = None,
        reach: Reach = pass_by,
    ) -> ShufflerParty:
        """Return the shuffler whose secrets, and state without ``storage``, are in a directory.

        Raises:
            InvalidData: no directory of a shuffler, one that others can read, the key of
                another task, or state that is not its own.
            InvalidParameter: ``storage`` that is no address of PostgreSQL.
        """
        task = read_task(directory)
        secrets = read_secret(directory / SECRETS_FILE, _SECRETS)
        sign_key = SigningKey.from_bytes(bytes.fromhex(secrets["sign_key"]))
        if sign_key.public.hex != task.shuffler_sign_key:
            raise InvalidData(
                expected="the shuffler's key that the task names",
                got=f"another in {directory}",
                remedy="Give the directory of the shuffler of this task",
            )
        keys = ErasableKeys(directory / GATEWAY_KEYS_FILE)
        opened = open_storage(directory, "shuffler", SHUFFLER_SCHEMA, storage)
        require_one_task(opened, "card", task.task_id, directory=directory, scopes=keys.scopes())
        revoked = Revoked(directory / REVOKED_FILE, opened, task.task_id)
        shuffler = Shuffler(
            opened,
            task=task,
            keys=keys,
            sign_key=sign_key,
            pass_key=bytes.fromhex(secrets["pass_key"]),
            revoked=revoked,
            clocks=clocks or ClockGuard(),
            reach=reach,
        )
        return cls(task, shuffler, keys, revoked, secrets["analyzer_token"], directory)

    def work(self, analyzer_url: str, *, trust: Trust | None = None) -> None:
        """One round: hear the time, seal what is over, hand over, bring keys, sign cards.

        Raises:
            SmoothdpError, OSError: what went wrong first; all that it was not needed for is done.
        """
        clocks, token = self.shuffler.clocks, self.analyzer_token
        with ExitStack() as stack:
            # Made in the first step that needs it: of a certificate that cannot be read there is
            # none, and the others are done all the same.
            http = cache(lambda: stack.enter_context(connect(analyzer_url, trust=trust)))

            def put(path: str, body: bytes) -> int:
                # A large batch takes longer than the word of a clock lasts, on both sides.
                if clocks.word_age() > BRINGING_SECONDS:
                    exchange_clocks(http(), clocks, token=token)
                return putting(http(), token)(path, body)

            def hand_over() -> None:
                # Before anything leaves: an older copy of the database would make another batch.
                self.shuffler.cards.note_over()
                deliver_batches(self.shuffler, put)

            steps: tuple[Callable[[], object], ...] = (
                self.revoked.remember,
                lambda: exchange_clocks(http(), clocks, token=token),
                lambda: seal_due(self.shuffler),
                hand_over,
                lambda: self._bring_keys(http(), self._coming_windows()),
                lambda: self._bring_keys(http(), self._late_windows()),
                self.shuffler.forget_old,
            )
            try:
                do_all(steps)
            finally:
                self.shuffler.storage.forget()

    def app(
        self,
        analyzer_url: str,
        *,
        work_seconds: float = 10.0,
        more: Sequence[Route] = (),
        trust: Trust | None = None,
    ) -> Starlette:
        """Return the HTTP application, which works in between.

        Args:
            analyzer_url: where keys, cards and batches go.
            work_seconds: pause between two rounds of work.
            more: routes beside its own.
            trust: whom to believe at that address; read from its files in every round.
        """
        return shuffler_app(
            self.shuffler,
            work=lambda: self.work(analyzer_url, trust=trust),
            work_seconds=work_seconds,
            more=more,
            operations=self._operations(work_seconds),
        )

    def _operations(self, work_seconds: float) -> Operations:
        """Return what an operator may ask."""
        storage, directory = self.shuffler.storage, self.directory
        return Operations(
            "shuffler",
            Rounds(pause=work_seconds),
            {
                "storage": lambda: storage_condition(storage, self.keys),
                "disk": lambda: disk_condition(directory),
                "clock": lambda: clock_condition(self.shuffler.clocks),
                "cards": lambda: cards_condition(self._cards_to_come(), least=self._cards_wanted()),
                "keys": lambda: keys_condition(len(self.shuffler.cards.lost())),
                "delivery": lambda: delivery_condition(
                    self._oldest_undelivered(), taken_seconds=KEY_SECONDS
                ),
            },
            {"batches": lambda: self.shuffler.batch_states()},
        )

    def _cards_to_come(self) -> int:
        """Return for how many windows after the present one there are cards."""
        return sum(self.shuffler.cards.is_given(window) for window in self._coming_windows()[1:5])

    def _cards_wanted(self) -> int:
        """Return how many windows to come should have a card: none once the budget is used up.

        Windows that were refused give their share back; that the shuffler does not know.
        """
        return int(self.shuffler.cards.signed() < windows_paid(self.task))

    def _oldest_undelivered(self) -> float | None:
        """Return for how many seconds the oldest batch might have gone; None if none waits."""
        task, now = self.task, self.shuffler.clocks.now()
        rows = self.shuffler.storage.read("SELECT window FROM batch WHERE state = ?", (SEALED,))
        waiting = [
            now - (window + 1) * task.window_seconds - task.grace_seconds for (window,) in rows
        ]
        return max(waiting, default=None)

    def close(self) -> None:
        """Release the files."""
        self.shuffler.storage.close()
        self.keys.close()

    def _bring_keys(self, http: httpx.Client, windows: Sequence[int]) -> None:
        """Bring the gateway keys of windows, the nearest first, and sign their cards.

        The analyser knows for how many windows the budget pays: at the first that it does not
        pay for the round ends. It counts cards: while the issuer is away there are none, and
        keys are made for all windows ahead, for a minute in a round.
        """
        problem: Exception | None = None
        for window in while_time(windows):
            try:
                if not self._bring_key(http, window):
                    break
            except Unreachable:
                raise
            except (InvalidData, ServiceError) as error:
                # After a loss of state the analyser has other keys for windows that were near.
                problem = problem or error
        if problem is not None:
            raise problem

    def _bring_key(self, http: httpx.Client, window: int) -> bool:
        """Bring the key of a window, sign its card; False if it and later ones are not wanted."""
        cards = self.shuffler.cards
        if cards.is_given(window):
            return True
        if cards.stored(window) is None:
            config = key_config(window, cards.offered_key(window))
            answer = self._ask(http, "PUT", "gateway-keys", window, config)
            if answer.status in _NOT_WANTED:
                return False
            if answer.status == _OVER:
                return True
            if answer.status not in _TAKEN:
                raise _refused(f"the gateway key of window {window}", answer)
        answer = self._ask(http, "GET", "cards", window)
        if answer.status != 200:
            # The issuer's key is missing still.
            return True
        # The analyser may know both signatures already: its answer to them was lost.
        signed = cards.sign(window, answer.body[: half_bytes(self.task)])
        answer = self._ask(http, "PUT", "cards", window, signed)
        if answer.status not in _TAKEN:
            raise _refused(f"the card of window {window}", answer)
        cards.given(window)
        return True

    def _late_windows(self) -> list[int]:
        """Return the windows that are over, and whose card the analyser lacks but may still take.

        It takes no batch without. Where there is no issuer people have the card from here, and
        have sent reports, also if the analyser was away from then on.
        """
        late = self.shuffler.cards.not_given(before=self._coming_windows().start)
        wanted = (self.shuffler.verdict(window, after=KEY_SECONDS) for window in late)
        return [
            window for window, verdict in zip(late, wanted, strict=True) if verdict is Verdict.OPEN
        ]

    def _coming_windows(self) -> range:
        now, length = self.shuffler.clocks.now(), self.task.window_seconds
        last = now + ahead_seconds(self.task)
        return range(int(now // length), int(-(-last // length)))

    def _ask(
        self, http: httpx.Client, method: str, what: str, window: int, body: bytes = b""
    ) -> Answer:
        path = f"/v2/{what}/{self.task.task_id.hex()}/{window}"
        return ask(http, method, path, token=self.analyzer_token, body=body)


def _refused(what: str, answer: Answer) -> ServiceError:
    return ServiceError(
        expected=f"the analyser to take {what}",
        got=answer.words(),
        remedy="Ask who runs the analyser; without it the window has no card",
    )


def issue_passes(directory: Path, count: int) -> list[str]:
    """Return passes for new people, made in the shuffler's directory.

    Args:
        directory: the shuffler's.
        count: how many; whoever holds one may send once in each window.

    Raises:
        InvalidData: no directory of a shuffler, or one that others can read.
        InvalidParameter: a count that is negative or not whole.

    >>> import tempfile
    >>> from smoothdp.services import agree_on_one_host
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     task = agree_on_one_host(Path(folder), "boolean_sum", epsilon="1", delta="1e-6",
    ...         min_batch=300, issuer_url="http://127.0.0.1:8603", origin="127.0.0.1")
    ...     passes = issue_passes(Path(folder, "shuffler"), 2)
    >>> [len(secret) for secret in passes]
    [96, 96]
    """
    n_people = exact_int(count, name="count", minimum=0)
    task = read_task(directory)
    key = bytes.fromhex(read_secret(directory / SECRETS_FILE, ("pass_key",))["pass_key"])
    return [Secret.issue(key, use="pass", task_id=task.task_id).text for _ in range(n_people)]
