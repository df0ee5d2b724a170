"""The issuer from its directory, ready to serve, and the invitations that it makes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import httpx
from starlette.applications import Starlette

from smoothdp.errors import InvalidData, MissingExtra
from smoothdp.exact.parameters.numbers import exact_int
from smoothdp.services.faults import Reach, pass_by
from smoothdp.services.formats.party_files import read_task
from smoothdp.services.formats.secrets import Secret
from smoothdp.services.formats.signing import SigningKey
from smoothdp.services.formats.task import Task
from smoothdp.services.issuer.issuer import Issuer
from smoothdp.services.issuer.issuer_tables import ISSUER_SCHEMA
from smoothdp.services.issuer.issuer_web import issuer_app
from smoothdp.services.issuer.window_keys import (
    cards_to_come,
    cards_wanted,
    close_windows,
    coming_windows,
    has_card,
    has_lapsed,
    keep_card,
    keep_told,
    key_of_window,
    unsent,
)
from smoothdp.services.operations.admin import Operations
from smoothdp.services.operations.clock_guard import ClockGuard
from smoothdp.services.operations.every import do_all, while_time
from smoothdp.services.operations.health import (
    Rounds,
    cards_condition,
    clock_condition,
    disk_condition,
    storage_condition,
)
from smoothdp.services.operations.logs import Cause, PutOff, cause_of, said
from smoothdp.services.operations.tls import Trust
from smoothdp.services.store.one_task import require_one_task
from smoothdp.services.store.revoked import REVOKED_FILE, Revoked
from smoothdp.services.store.storage import SqliteStorage
from smoothdp.services.tokens.issuer_key import HARDENED, SPKI_BYTES
from smoothdp.services.wire.calls import (
    Answer,
    ask,
    connect,
    is_loopback,
)
from smoothdp.services.wire.clock_call import exchange_clocks
from smoothdp.services.wire.key_files import SECRETS_FILE, read_secret

ISSUER_FILE = "issuer.sqlite"
_SECRETS = ("sign_key", "invitation_key", "analyzer_token")
_SIGNED_CARD_BYTES = 115 + 2 + SPKI_BYTES + 2 * 64
LOG = logging.getLogger("smoothdp.services")
_TAKEN = (200, 201, 204)
_OVER = 410
_NEVER = (400, 409)
"""To a number of accounts: of another window or card than it knows of."""
_NOT_WANTED = (404, 425)
"""The budget does not pay for this window, or it is too far ahead."""


@dataclass(frozen=True, slots=True)
class IssuerParty:
    """The issuer of one task, with what it needs to reach the analyser.

    >>> import tempfile
    >>> from smoothdp.services.formats.design.agreeing import agree_on_one_host
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     task = agree_on_one_host(Path(folder), "boolean_sum", epsilon="1", delta="1e-6",
    ...         min_batch=300, issuer_url="http://127.0.0.1:8603", origin="127.0.0.1")
    ...     party = IssuerParty.from_directory(Path(folder, "issuer"))
    ...     app = party.app("https://analyzer.example")  # for `run`
    ...     party.close()
    >>> party.task == task
    True
    """

    task: Task
    issuer: Issuer
    analyzer_token: str
    directory: Path

    @classmethod
    def from_directory(
        cls, directory: Path, *, clocks: ClockGuard | None = None, reach: Reach = pass_by
    ) -> IssuerParty:
        """Return the issuer whose secrets and state are in a directory.

        Its state is one SQLite file. Never restore an older copy of it: whoever asked since
        would get a second draw.

        Raises:
            InvalidData: no directory of an issuer, one that others can read, the key of
                another task, or a task without an issuer.
        """
        task = read_task(directory)
        secrets = read_secret(directory / SECRETS_FILE, _SECRETS)
        sign_key = SigningKey.from_bytes(bytes.fromhex(secrets["sign_key"]))
        if task.issuer is None or task.issuer.sign_key != sign_key.public.hex:
            raise InvalidData(
                expected="the issuer's key that the task names",
                got="no issuer in the task" if task.issuer is None else f"another in {directory}",
                remedy="Give the directory of the issuer of this task",
            )
        storage = SqliteStorage(directory / ISSUER_FILE, ISSUER_SCHEMA)
        require_one_task(storage, "window_key", task.task_id, directory=directory)
        issuer = Issuer(
            storage,
            task=task,
            invitation_key=bytes.fromhex(secrets["invitation_key"]),
            sign_key=sign_key,
            revoked=Revoked(directory / REVOKED_FILE, storage, task.task_id),
            clocks=clocks or ClockGuard(),
            reach=reach,
        )
        return cls(task, issuer, secrets["analyzer_token"], directory)

    def work(self, analyzer_url: str, *, trust: Trust | None = None) -> None:
        """One round: hear the time, close what is over, tell who came, bring keys, fetch cards.

        Raises:
            SmoothdpError, OSError: what went wrong first; all that it was not needed for is done.
        """
        clocks, token = self.issuer.clocks, self.analyzer_token
        with ExitStack() as stack:
            # Made in the first step that needs it: of a certificate that cannot be read there is
            # none, and the others are done all the same.
            http = cache(lambda: stack.enter_context(connect(analyzer_url, trust=trust)))
            steps: tuple[Callable[[], object], ...] = (
                self.issuer.revoked.remember,
                lambda: exchange_clocks(http(), clocks, token=token),
                lambda: close_windows(self.issuer),
                lambda: self._tell_served(http()),
                lambda: self._bring_keys(http()),
            )
            do_all(steps)

    def app(
        self,
        analyzer_url: str,
        *,
        page_origin: str | None = None,
        work_seconds: float = 10.0,
        trust: Trust | None = None,
    ) -> Starlette:
        """Return the HTTP application, which works in between.

        Args:
            analyzer_url: where keys and numbers go, and cards come from.
            page_origin: the origin of the poll page that may ask from a browser.
            work_seconds: pause between two rounds of work.
            trust: whom to believe at that address; read from its files in every round.
        """
        return issuer_app(
            self.issuer,
            page_origin=page_origin,
            work=lambda: self.work(analyzer_url, trust=trust),
            work_seconds=work_seconds,
            operations=self._operations(work_seconds),
        )

    def close(self) -> None:
        """Release the file."""
        self.issuer.storage.close()

    def _operations(self, work_seconds: float) -> Operations:
        """Return what an operator may ask; no number of people is in it."""
        issuer, directory = self.issuer, self.directory
        return Operations(
            "issuer",
            Rounds(pause=work_seconds),
            {
                "storage": lambda: storage_condition(issuer.storage),
                "disk": lambda: disk_condition(directory),
                "clock": lambda: clock_condition(issuer.clocks),
                "cards": lambda: cards_condition(cards_to_come(issuer), least=cards_wanted(issuer)),
            },
        )

    def _bring_keys(self, http: httpx.Client) -> None:
        """Bring the keys of coming windows, the nearest first, and fetch their cards.

        The analyser knows for how many windows the budget pays: at the first that it does not
        pay for the round ends. It counts cards: while the shuffler is away there are none, and
        keys are made for all windows ahead, for a minute in a round.
        """
        problem: PutOff | None = None
        for window in while_time(coming_windows(self.issuer)):
            try:
                if not self._bring_key(http, window):
                    break
            except (InvalidData, PutOff) as error:
                # After a loss of state the analyser has other keys for windows that were near.
                problem = problem or PutOff(str(error), cause_of(error))
        if problem is not None:
            raise problem

    def _bring_key(self, http: httpx.Client, window: int) -> bool:
        """Bring the key of a window, fetch its card; False if it and later ones are not wanted."""
        spki = None if has_card(self.issuer, window) else key_of_window(self.issuer, window)
        if spki is None:
            return True
        answer = self._ask(http, "PUT", "issuer-keys", window, spki)
        if answer.status in _NOT_WANTED:
            return False
        if answer.status not in (*_TAKEN, _OVER):
            raise _refused(f"the key of window {window}", answer)
        answer = self._ask(http, "GET", "cards", window)
        # Not made yet, or without the shuffler's signature: it is asked for again.
        if answer.status == 200 and len(answer.body) == _SIGNED_CARD_BYTES:
            keep_card(self.issuer, window, answer.body)
        return True

    def _tell_served(self, http: httpx.Client) -> None:
        problem: PutOff | None = None
        for window, statement in unsent(self.issuer):
            answer = self._ask(http, "PUT", "served", window, statement)
            if answer.status in _NEVER and has_lapsed(self.issuer, window):
                # It has no card of the window any more: its database was lost.
                why = f"the analyser answered {answer.status} to it, and has ended the window"
                said(
                    LOG, f"the number served in window {window} is told no more: {why}", Cause.OTHER
                )
            elif answer.status not in _TAKEN:
                # One that the analyser has no card of any more must not hold up later windows.
                refused = _refused(f"the number of accounts of window {window}", answer)
                problem = problem or refused
                continue
            self.issuer.reach("served: before it is kept as told")
            keep_told(self.issuer, window)
        if problem is not None:
            raise problem

    def _ask(
        self, http: httpx.Client, method: str, what: str, window: int, body: bytes = b""
    ) -> Answer:
        path = f"/v2/{what}/{self.task.task_id.hex()}/{window}"
        return ask(http, method, path, token=self.analyzer_token, body=body)


def _refused(what: str, answer: Answer) -> PutOff:
    # Its own words are not repeated: they would stand in this party's log.
    cause = Cause.REFUSED if answer.status == 401 else Cause.OTHER
    return PutOff(f"the analyser answered {answer.status} to {what}", cause)


def require_hardened(host: str, *, behind_tls: bool = False) -> None:
    """Raise MissingExtra if others than this machine are served without gmpy2.

    Python's own powers show the key by their time.

    Args:
        host: where the issuer listens.
        behind_tls: whether a proxy in front brings others to it.

    Raises:
        MissingExtra: gmpy2 is not installed, and others can ask.

    >>> require_hardened("127.0.0.1")
    """
    if not HARDENED and (behind_tls or not is_loopback(host)):
        raise MissingExtra("an issuer that others reach (gmpy2)", "issuer")


def issue_invitations(directory: Path, count: int) -> list[str]:
    """Return invitations for new people, made in the issuer's directory.

    Args:
        directory: the issuer's.
        count: how many; whoever holds one may take part once in each window.

    Raises:
        InvalidData: no directory of an issuer, or one that others can read.
        InvalidParameter: a count that is negative or not whole.

    >>> import tempfile
    >>> from smoothdp.services.formats.design.agreeing import agree_on_one_host
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     task = agree_on_one_host(Path(folder), "boolean_sum", epsilon="1", delta="1e-6",
    ...         min_batch=300, issuer_url="http://127.0.0.1:8603", origin="127.0.0.1")
    ...     invitations = issue_invitations(Path(folder, "issuer"), 2)
    >>> [len(invitation) for invitation in invitations]
    [96, 96]
    """
    n_people = exact_int(count, name="count", minimum=0)
    task = read_task(directory)
    key = read_secret(directory / SECRETS_FILE, ("invitation_key",))["invitation_key"]
    return [
        Secret.issue(bytes.fromhex(key), use="invitation", task_id=task.task_id).text
        for _ in range(n_people)
    ]
