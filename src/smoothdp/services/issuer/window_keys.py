"""The life of an issuer's key: stored before it is told, carded once, erased with its window."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from smoothdp.errors import InvalidData
from smoothdp.services.formats.card import SignedCard, check_card
from smoothdp.services.formats.design.budget import KEY_SECONDS, ahead_seconds, windows_paid
from smoothdp.services.formats.reading import DecodeError
from smoothdp.services.formats.served import Served
from smoothdp.services.issuer.issuer import Issuer
from smoothdp.services.issuer.issuer_tables import CLOSED, OPEN
from smoothdp.services.operations.clock_guard import Verdict
from smoothdp.services.operations.every import do_all
from smoothdp.services.tokens.issuer_key import IssuerKey
from smoothdp.services.wire.tokens import new_secret


def coming_windows(issuer: Issuer) -> range:
    """Return the windows that have a key or want one: from the present one to those ahead.

    They begin before now + max(2 windows, 24 h).
    """
    now, length = issuer.clocks.now(), issuer.task.window_seconds
    last = now + ahead_seconds(issuer.task)
    return range(int(now // length), -int(-last // length))


def key_of_window(issuer: Issuer, window: int) -> bytes | None:
    """Return the public key of a window, made and stored if there was none; None if it is over.

    Two processes that make one at the same time end up with the same.
    """
    at = issuer.task.task_id, window
    found = "SELECT spki, state FROM window_key WHERE task_id = ? AND window = ?"
    rows = issuer.storage.read(found, at)
    if not rows:
        # Making it takes longer than others should wait for the file.
        key = IssuerKey.generate()
        with issuer.storage.transaction() as change:
            change.change(
                "INSERT OR IGNORE INTO window_key (task_id, window, spki, secret, tag_key, state) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (*at, key.public.spki, key.to_bytes(), new_secret(), OPEN),
            )
        rows = issuer.storage.read(found, at)
    spki, state = rows[0]
    return bytes(spki) if state == OPEN else None


def keep_card(issuer: Issuer, window: int, data: bytes) -> None:
    """Check and store the card of a window, of which there is one for ever.

    Raises:
        InvalidData: a card that a client would not take, of another key, or a second one.
    """
    try:
        signed = SignedCard.decode(data)
    except DecodeError as error:
        raise InvalidData(
            expected=f"the signed card of window {window}",
            got=f"other bytes ({error})",
            remedy="Check the analyser's address",
        ) from None
    check_card(signed, task=issuer.task, window=window)
    at = issuer.task.task_id, window
    with issuer.storage.transaction() as change:
        rows = change.execute("SELECT spki FROM window_key WHERE task_id = ? AND window = ?", at)
        if not rows or bytes(rows[0][0]) != signed.card.issuer_spki:
            raise InvalidData(
                expected=f"a card of window {window} with the key of this issuer",
                got="another key",
                remedy="Ask who runs the analyser; no token is given in this window",
            )
        change.change(
            "INSERT OR IGNORE INTO card (task_id, window, digest, signed) VALUES (?, ?, ?, ?)",
            (*at, signed.card.digest, data),
        )
        stored = change.execute("SELECT digest FROM card WHERE task_id = ? AND window = ?", at)
    if bytes(stored[0][0]) != signed.card.digest:
        raise InvalidData(
            expected=f"the card of window {window} that was stored",
            got="another card",
            remedy="Keep both: the analyser and the shuffler signed two cards for one window",
        )


def has_card(issuer: Issuer, window: int) -> bool:
    """Whether the card of a window is stored."""
    at = issuer.task.task_id, window
    return bool(issuer.storage.read("SELECT 1 FROM card WHERE task_id = ? AND window = ?", at))


def cards_to_come(issuer: Issuer) -> int:
    """Return how many windows after the present one have a card."""
    present = issuer.task.window_at(issuer.clocks.now())
    return int(
        issuer.storage.read(
            "SELECT count(*) FROM card WHERE task_id = ? AND window > ?",
            (issuer.task.task_id, present),
        )[0][0]
    )


def cards_wanted(issuer: Issuer) -> int:
    """Return how many windows to come should have a card: none once the budget is used up.

    Windows that were refused give their share back; that the issuer does not know.
    """
    task = issuer.task
    known = issuer.storage.read("SELECT count(*) FROM card WHERE task_id = ?", (task.task_id,))
    return int(known[0][0] < windows_paid(task))


def close_windows(issuer: Issuer) -> list[int]:
    """Close the windows that are over by both clocks; return which.

    In one transaction: the number of accounts, signed, is stored; the key, the key of the
    account tags and the rows are deleted. Then the log of the file is overwritten.

    Raises:
        StorageLocked, StorageFull, SmoothdpError, OSError: why a window was not closed; the others
            are, and this one is tried again in the next round.
    """
    rows = issuer.storage.read(
        "SELECT window FROM window_key WHERE task_id = ? AND state = ? ORDER BY window",
        (issuer.task.task_id, OPEN),
    )
    closed: list[int] = []

    def close(window: int) -> None:
        closed.extend([window] if _close(issuer, window) else [])

    steps: list[Callable[[], object]] = [partial(close, int(window)) for (window,) in rows]
    # The log not only after a window was closed: a program that was stopped in between left it.
    do_all([*steps, issuer.drop_erased, issuer.storage.forget])
    return closed


def _close(issuer: Issuer, window: int) -> bool:
    if issuer.clocks.verdict(issuer.begin(window + 1)) is not Verdict.CLOSE:
        return False
    at = issuer.task.task_id, window
    with issuer.storage.transaction() as change:
        if not change.change(
            "UPDATE window_key SET secret = NULL, tag_key = NULL, state = ? WHERE task_id = ? "
            "AND window = ? AND state = ?",
            (CLOSED, *at, OPEN),
        ):
            return False
        cards = change.execute("SELECT digest FROM card WHERE task_id = ? AND window = ?", at)
        if cards:
            counted = "SELECT count(*) FROM issued WHERE task_id = ? AND window = ?"
            n_accounts = int(change.execute(counted, at)[0][0])
            statement = Served(bytes(cards[0][0]), n_accounts).sign(issuer.sign_key)
            change.change(
                "INSERT INTO served (task_id, window, statement) VALUES (?, ?, ?)",
                (*at, statement.encode()),
            )
        change.change("DELETE FROM issued WHERE task_id = ? AND window = ?", at)
        # Keys were made in the order of the windows; pages that were split then have copies.
        for table in ("issued", "window_key"):
            change.rewrite(table)
        issuer.reach("close: inside the transaction")
    issuer.reach("close: after commit")
    return True


def unsent(issuer: Issuer) -> list[tuple[int, bytes]]:
    """Return the windows whose number of accounts the analyser has not got, with the statement."""
    rows = issuer.storage.read(
        "SELECT window, statement FROM served WHERE task_id = ? AND sent = 0 ORDER BY window",
        (issuer.task.task_id,),
    )
    return [(int(window), bytes(statement)) for window, statement in rows]


def has_lapsed(issuer: Issuer, window: int) -> bool:
    """Whether a window is over for so long that the analyser has ended it, whatever came."""
    over = issuer.begin(window + 1) + issuer.task.grace_seconds
    return issuer.clocks.verdict(over + KEY_SECONDS) is Verdict.CLOSE


def keep_told(issuer: Issuer, window: int) -> None:
    """Keep that the number of accounts of a window is told to the analyser no more."""
    with issuer.storage.transaction() as change:
        change.change(
            "UPDATE served SET sent = 1 WHERE task_id = ? AND window = ?",
            (issuer.task.task_id, window),
        )
