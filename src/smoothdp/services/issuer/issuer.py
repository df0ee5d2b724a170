"""The issuer: one request an account and window is answered, and stored before it is."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from smoothdp.services.faults import Reach, pass_by
from smoothdp.services.formats.secrets import check_secret, tag
from smoothdp.services.formats.signing import SigningKey
from smoothdp.services.formats.task import Task
from smoothdp.services.issuer.issuer_tables import OPEN
from smoothdp.services.operations.clock_guard import ClockGuard
from smoothdp.services.store.revoked import Revoked
from smoothdp.services.store.storage import Storage, Transaction
from smoothdp.services.tokens.issuer_key import IssuerKey
from smoothdp.services.tokens.refusals import TokenRefused
from smoothdp.services.tokens.token import REQUEST_BYTES, parse_requests
from smoothdp.services.wire.problems import Problem

MOST_ANSWERS = 6
"""How often one request is answered: each answer costs M signatures."""
_AGAIN_SECONDS = 5.0

SHORT = Problem(400, "short", "The body is shorter than the task's requests")
UNAUTHORIZED = Problem(401, "unauthorized", "No invitation of this task, or one that was revoked")
UNKNOWN = Problem(404, "unknown", "There is no such task here, or no card of this window")
OTHER_REQUEST = Problem(409, "other-request", "This invitation made another request before")
OVER = Problem(410, "over", "The window is over")
LONG = Problem(413, "long", "The body is longer than the task's requests")
NOT_THIS_KEY = Problem(422, "key", "Not requests for the key of this window")
REPEATED = Problem(429, "repeated", "This request was answered as often as it may be")
LATER = Problem(503, "later", "Try again later", seconds=_AGAIN_SECONDS)


@dataclass(frozen=True, slots=True)
class Account:
    """Somebody who may ask in a window: an invitation that was looked at.

    >>> Account(7, bytes(16)).window
    7
    """

    window: int
    identity: bytes


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of an account that is good: what is stored of it, and what is to be signed.

    Attributes:
        digest: of the body; what the account's one request is known by.
        messages: blinded, all of them below the modulus.
        key: of the window in the path, as it was when the request was read.
    """

    account: Account
    digest: bytes
    messages: Sequence[bytes]
    key: IssuerKey


class Issuer:
    """Tokens of one task: `admit` looks at the header, `answer` at the body.

    A person is an account: it gets signatures on one set of blinded messages in a window, the
    same set at most six times. That it asked is on disk before anything is signed, in the file
    that holds the key, so that no crash and no older copy gives a second draw
    (proofs/issued-tokens#1). `answer` is three steps, of which `charge` takes many requests at
    a time: `asked`, `charge`, `sign`.

    Args:
        storage: with the tables of `ISSUER_SCHEMA`; of all processes of this issuer.
        task: with an issuer.
        invitation_key: what invitations are made from, 32 bytes.
        sign_key: signs how many were served.
        revoked: invitations that count no more.
        clocks: the wall clock, and whether it is to be trusted.
        reach: called at the named points of `faults.ISSUER_POINTS`.
    """

    def __init__(
        self,
        storage: Storage,
        *,
        task: Task,
        invitation_key: bytes,
        sign_key: SigningKey,
        revoked: Revoked,
        clocks: ClockGuard,
        reach: Reach = pass_by,
    ) -> None:
        self.storage = storage
        self.task = task
        self.sign_key = sign_key
        self.clocks = clocks
        self.reach = reach
        self._invitation_key = invitation_key
        self.revoked = revoked
        self._keys: dict[int, IssuerKey] = {}
        self._cards: dict[int, bytes] = {}
        self._lock = threading.Lock()

    @property
    def request_bytes(self) -> int:
        """The one length of a body that is read: 259 M."""
        return REQUEST_BYTES * self.task.slots

    def begin(self, window: int) -> float:
        """Return when a window begins, seconds since 1970; it ends when the next one begins."""
        return float(window * self.task.window_seconds)

    def card(self, window: int) -> bytes | None:
        """Return the signed card of a window that is not over, its grace included, or None."""
        if self.clocks.now() >= self.begin(window + 1) + self.task.grace_seconds:
            return None
        known = self._cards.get(window)
        if known is not None:
            return known
        rows = self.storage.read(
            "SELECT signed FROM card WHERE task_id = ? AND window = ?", (self.task.task_id, window)
        )
        if not rows:
            return None
        # There is one for ever: what was read once need not be read again.
        with self._lock:
            return self._cards.setdefault(window, bytes(rows[0][0]))

    def is_known(self, window: int) -> bool:
        """Whether card and key of a window are in memory: then nothing is read for a request."""
        return window in self._cards and window in self._keys

    def admit(self, invitation: str, window: int, length: int) -> Account | Problem:
        """Return who asks, or why nothing of the body is read.

        Args:
            invitation: from the header.
            window: from the path.
            length: of the body as announced.
        """
        identity = check_secret(
            invitation, key=self._invitation_key, use="invitation", task_id=self.task.task_id
        )
        if identity is None or identity in self.revoked:
            return UNAUTHORIZED
        if length != self.request_bytes:
            return SHORT if length < self.request_bytes else LONG
        return self._not_now(window) or Account(window, identity)

    def answer(self, account: Account, body: bytes) -> bytes | Problem:
        """Return M blind signatures, in the order of the requests, or why not.

        The key is that of the window in the path. Nothing is signed unless all of the body is
        good, and nothing before the account's row is on disk.

        Raises:
            StorageFull, StorageUnreachable, sqlite3.OperationalError: nothing was signed.
        """
        asked = self.asked(account, body)
        if isinstance(asked, Problem):
            return asked
        return self.charge([asked])[0] or self.sign(asked)

    def asked(self, account: Account, body: bytes) -> Asked | Problem:
        """Return the request in a body, all of it checked, or why it is none."""
        if len(body) != self.request_bytes:
            return SHORT if len(body) < self.request_bytes else LONG
        problem = self._not_now(account.window)
        key = None if problem else self._key(account.window)
        if key is None:
            return problem or OVER
        try:
            messages = parse_requests(body, key=key.public, slots=self.task.slots)
        except TokenRefused:
            return NOT_THIS_KEY
        return Asked(account, hashlib.sha256(body).digest(), messages, key)

    def charge(self, group: Sequence[Asked]) -> list[Problem | None]:
        """Count an answer to each account of a group, in its order; return why one gets none.

        One transaction: what is counted is on disk when this returns, and nothing is signed
        before. Of two requests of one account in a group the first one is its request.

        Raises:
            StorageFull, StorageUnreachable, sqlite3.OperationalError: nothing was counted.
        """
        with self.storage.transaction() as change:
            windows = {asked.account.window for asked in group}
            tag_keys = {window: self._tag_key(change, window) for window in windows}
            problems = []
            for asked in group:
                tag_key = tag_keys[asked.account.window]
                problems.append(OVER if tag_key is None else self._charge(change, asked, tag_key))
                self.reach("issue: within the group")
            self.reach("issue: before commit")
        self.reach("issue: after commit")
        return problems

    def sign(self, asked: Asked) -> bytes:
        """Return M blind signatures for a request that was charged."""
        signed = b"".join(asked.key.sign(message) for message in asked.messages)
        self.reach("issue: before the answer")
        return signed

    def drop_erased(self) -> None:
        """Forget the keys of windows whose key was erased, by this process or another one."""
        live = {
            int(row[0])
            for row in self.storage.read(
                "SELECT window FROM window_key WHERE task_id = ? AND state = ?",
                (self.task.task_id, OPEN),
            )
        }
        with self._lock:
            self._keys = {window: key for window, key in self._keys.items() if window in live}
            self._cards = {window: card for window, card in self._cards.items() if window in live}

    # ---- when and with which key

    def _not_now(self, window: int) -> Problem | None:
        """Return why no token is given in a window at this moment, or None."""
        if self.clocks.hold() is not None:
            return LATER
        now = self.clocks.now()
        if now >= self.begin(window + 1):
            return OVER
        if self.card(window) is None:
            return UNKNOWN
        if now < self.begin(window):
            early = "The window has not begun"
            return Problem(425, "too-early", early, seconds=self.begin(window) - now)
        return None

    def _key(self, window: int) -> IssuerKey | None:
        with self._lock:
            known = self._keys.get(window)
        if known is not None:
            return known
        rows = self.storage.read(
            "SELECT secret FROM window_key WHERE task_id = ? AND window = ? AND state = ?",
            (self.task.task_id, window, OPEN),
        )
        if not rows:
            return None
        key = IssuerKey.from_bytes(bytes(rows[0][0]))
        with self._lock:
            return self._keys.setdefault(window, key)

    def _tag_key(self, change: Transaction, window: int) -> bytes | None:
        """Return the key of the account tags of a window, None if the window is over."""
        rows = change.execute(
            "SELECT tag_key FROM window_key WHERE task_id = ? AND window = ? AND state = ?",
            (self.task.task_id, window, OPEN),
        )
        # The wait for the file may have been long; another process may have closed the window.
        if not rows or self.clocks.now() >= self.begin(window + 1):
            return None
        return bytes(rows[0][0])

    def _charge(self, change: Transaction, asked: Asked, tag_key: bytes) -> Problem | None:
        """Count an answer to an account, or return why it gets none."""
        account = asked.account
        row = self.task.task_id, account.window, tag(tag_key, account.identity)
        if change.change(
            "INSERT OR IGNORE INTO issued (task_id, window, account_tag, request_hash, answers) "
            "VALUES (?, ?, ?, ?, 1)",
            (*row, asked.digest),
        ):
            return None
        ((digest, answers),) = change.execute(
            "SELECT request_hash, answers FROM issued WHERE task_id = ? AND window = ? AND "
            "account_tag = ?",
            row,
        )
        if bytes(digest) != asked.digest:
            return OTHER_REQUEST
        if answers >= MOST_ANSWERS:
            return REPEATED
        change.change(
            "UPDATE issued SET answers = answers + 1 WHERE task_id = ? AND window = ? AND "
            "account_tag = ?",
            row,
        )
        return None
