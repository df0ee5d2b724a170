"""One request an account and window: what is refused, what is stored first, what is left."""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.formats.card import SignedCard
from smoothdp.services.formats.secrets import Secret
from smoothdp.services.formats.served import Served
from smoothdp.services.issuer.issuer import Account, Issuer
from smoothdp.services.issuer.window_keys import (
    close_windows,
    coming_windows,
    keep_card,
    keep_told,
    key_of_window,
    unsent,
)
from smoothdp.services.store.revoked import revoke
from smoothdp.services.tokens.issuer_key import IssuerKey, IssuerPublicKey
from smoothdp.services.tokens.token import request_body
from smoothdp.services.wire.problems import Problem
from tests.services.worlds.issuing_world import HOUR, INVITATION_KEY, WINDOW, IssuingWorld
from tests.services.worlds.small_tasks import ANALYZER_SIGN, ISSUER_SIGN

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[IssuingWorld]:
    made = IssuingWorld(tmp_path)
    made.open_window()
    yield made
    made.close()


def request(world: IssuingWorld, *messages: int, window: int = WINDOW) -> bytes:
    """Return a body that asks for signatures of these numbers."""
    key = IssuerPublicKey.from_spki(world.spki(window))
    return request_body(key, [number.to_bytes(256, "big") for number in messages])


def status(answer: bytes | Problem | Account) -> int:
    return answer.status if isinstance(answer, Problem) else 200


# ---- who may ask, and when: before anything of a body is read


def test_who_is_let_in(world: IssuingWorld) -> None:
    issuer, length = world.issuer, world.issuer.request_bytes
    own = Secret.issue(INVITATION_KEY, use="invitation", task_id=world.task.task_id)
    other_task = Secret.issue(INVITATION_KEY, use="invitation", task_id=bytes(32))
    a_pass = Secret.issue(INVITATION_KEY, use="pass", task_id=world.task.task_id)
    other_key = Secret.issue(b"k" * 32, use="invitation", task_id=world.task.task_id)
    for text in ("", "0" * 96, own.text.upper(), other_task.text, a_pass.text, other_key.text):
        assert status(issuer.admit(text, WINDOW, length)) == 401
    assert status(issuer.admit(own.text, WINDOW, length)) == 200
    assert status(issuer.admit(own.text, WINDOW, length - 1)) == 400
    assert status(issuer.admit(own.text, WINDOW, 2 * length)) == 413
    # Who has no invitation does not learn of lengths or windows either.
    assert status(issuer.admit("", WINDOW + 7, 2 * length)) == 401
    revoke(world.folder / "revoked", [own.identity])
    assert status(issuer.admit(own.text, WINDOW, length)) == 401
    assert status(issuer.admit(world.invitation(), WINDOW, length)) == 200


def test_tokens_from_begin_to_end_of_a_window_with_a_card(world: IssuingWorld) -> None:
    person, length = world.invitation(), world.issuer.request_bytes

    def at(now: float, window: int = WINDOW) -> int:
        world.go_to(now)
        return status(world.issuer.admit(person, window, length))

    begin = WINDOW * HOUR
    world.open_window(WINDOW + 1)
    assert at(begin + 5) == 200
    assert at(begin + HOUR - 1) == 200
    assert at(begin + HOUR - 1, WINDOW + 1) == 425
    assert at(begin + HOUR - 1, WINDOW + 2) == 404
    assert at(begin + HOUR) == 410  # not in the grace
    assert at(begin + HOUR, WINDOW + 1) == 200
    early = world.issuer.admit(person, WINDOW + 1, length)
    world.go_to(begin + HOUR - 2.5)
    early = world.issuer.admit(person, WINDOW + 1, length)
    assert isinstance(early, Problem)
    assert early.response().headers["retry-after"] == "3"


def test_nothing_is_given_while_clocks_disagree(world: IssuingWorld) -> None:
    person, body = world.account(), request(world, 5)
    world.clocks.heard(world.now + 172_800)
    assert status(world.issuer.admit(world.invitation(), WINDOW, len(body))) == 503
    assert status(world.issuer.answer(person, body)) == 503
    assert world.storage.read("SELECT 1 FROM issued") == []


def test_the_card_is_shown_until_the_grace_is_over(world: IssuingWorld) -> None:
    assert world.issuer.card(WINDOW) == world.make_card()
    assert world.issuer.card(WINDOW + 1) is None
    world.go_to((WINDOW + 1) * HOUR + 599)
    assert world.issuer.card(WINDOW) is not None
    world.go_to((WINDOW + 1) * HOUR + 600)
    assert world.issuer.card(WINDOW) is None


# ---- one request


def test_a_thousand_times_the_same_request_are_six_signings(
    world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed, true_sign = [], IssuerKey.sign

    def sign(self: IssuerKey, blinded: bytes) -> bytes:
        signed.append(blinded)
        return true_sign(self, blinded)

    monkeypatch.setattr(IssuerKey, "sign", sign)
    person, body = world.account(), request(world, 5)
    answers = [world.issuer.answer(person, body) for _ in range(1000)]
    assert [status(answer) for answer in answers] == [200] * 6 + [429] * 994
    assert len(signed) == 6
    assert len(set(answers[:6])) == 1
    first = answers[0]
    assert isinstance(first, bytes)
    n = IssuerPublicKey.from_spki(world.spki()).n
    assert pow(int.from_bytes(first, "big"), 65537, n) == 5
    # Another request of this account is another one after them too.
    assert status(world.issuer.answer(person, request(world, 6))) == 409


def test_another_request_of_an_account_is_refused(world: IssuingWorld) -> None:
    person = world.invitation()
    assert status(world.issuer.answer(world.account(person), request(world, 5))) == 200
    assert status(world.issuer.answer(world.account(person), request(world, 6))) == 409
    assert status(world.issuer.answer(world.account(), request(world, 6))) == 200
    # In the next window there is another account tag, and another key.
    world.go_to((WINDOW + 1) * HOUR + 1)
    world.open_window(WINDOW + 1)
    later = world.account(person, WINDOW + 1)
    assert status(world.issuer.answer(later, request(world, 6, window=WINDOW + 1))) == 200


def test_two_requests_at_once_from_two_processes(world: IssuingWorld) -> None:
    """One set of messages is signed, whoever is faster."""
    person = world.account()
    processes = [world.issuer, world.another_process()]
    bodies = [request(world, number) for number in range(2, 10)]

    def ask(turn: int) -> bytes | Problem:
        return processes[turn % 2].answer(person, bodies[turn % len(bodies)])

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(32)))
    assert {status(answer) for answer in answers} == {200, 409}
    assert len({answer for answer in answers if isinstance(answer, bytes)}) == 1
    assert world.storage.read("SELECT count(*) FROM issued") == [(1,)]
    processes[1].storage.close()


def test_what_is_no_request_for_this_key(world: IssuingWorld) -> None:
    person, issuer = world.account(), world.issuer
    body = request(world, 5)
    n = IssuerPublicKey.from_spki(world.spki()).n
    other_byte = body[:2] + bytes([body[2] ^ 1]) + body[3:]
    bad = [other_byte, b"\x00\x01" + body[2:], body[:3] + n.to_bytes(256, "big")]
    assert [status(issuer.answer(person, one)) for one in bad] == [422] * 3
    assert status(issuer.answer(person, body + body)) == 413
    assert status(issuer.answer(person, body[:-1])) == 400
    # None of them was the account's one request.
    assert world.storage.read("SELECT 1 FROM issued") == []
    assert status(issuer.answer(person, body[:3] + (n - 1).to_bytes(256, "big"))) == 200


def test_the_key_is_found_by_the_path(world: IssuingWorld) -> None:
    """A key byte that suits another window's key gets no signature of that key."""
    world.open_window(WINDOW + 1)
    person = world.account()
    own = IssuerPublicKey.from_spki(world.spki())
    body = request(world, 5, window=WINDOW + 1)
    answer = world.issuer.answer(person, body)
    if isinstance(answer, bytes):  # one in 256: the two keys have one byte
        assert pow(int.from_bytes(answer, "big"), 65537, own.n) == 5
    else:
        assert answer.status == 422


# ---- stored before it is signed


def in_a_process(world: IssuingWorld, point: str, body: bytes, person: Account | None) -> int:
    """Answer a request, or close windows, in a process that is killed at a point."""
    child = os.fork()
    if child == 0:
        try:
            world.reach = lambda name: os.kill(os.getpid(), 9) if name == point else None
            issuer = world.another_process()
            if person is None:
                close_windows(issuer)
            else:
                issuer.answer(person, body)
        finally:
            os._exit(1)
    return os.WTERMSIG(os.waitpid(child, 0)[1])


@pytest.mark.parametrize(("point", "stored"), [("before", False), ("after", True)])
def test_killed_beside_the_commit(world: IssuingWorld, point: str, stored: bool) -> None:
    person, body = world.account(), request(world, 5)
    assert in_a_process(world, f"issue: {point} commit", body, person) == signal.SIGKILL
    assert len(world.storage.read("SELECT 1 FROM issued")) == stored
    other = world.issuer.answer(person, request(world, 6))
    assert status(other) == (409 if stored else 200)
    assert status(world.issuer.answer(person, body)) == (200 if stored else 409)


# ---- the end of a window


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("issuer.sqlite*"))


def test_after_a_window_its_key_and_rows_are_gone(world: IssuingWorld) -> None:
    people = [world.account() for _ in range(20)]
    bodies = [request(world, number) for number in range(2, 22)]
    for person, body in zip(people, bodies, strict=True):
        assert status(world.issuer.answer(person, body)) == 200
    secret, tag_key = world.storage.read("SELECT secret, tag_key FROM window_key")[0]
    rows = world.storage.read("SELECT account_tag, request_hash FROM issued")
    hidden = [secret, secret[:128], tag_key, *(value for row in rows for value in row)]
    before = everything(world.folder)
    assert all(value in before for value in hidden)

    world.go_to((WINDOW + 1) * HOUR - 1)
    assert close_windows(world.issuer) == []
    world.wall_ahead = 172_800
    assert close_windows(world.issuer) == []  # a clock two days ahead, alone
    world.clocks.heard(world.now + 172_800)
    assert close_windows(world.issuer) == []  # and with a peer that follows the same wrong source
    world.wall_ahead = 0
    world.go_to((WINDOW + 1) * HOUR)
    assert close_windows(world.issuer) == []  # until somebody starts it again
    world.restart()
    assert close_windows(world.issuer) == [WINDOW]
    after = everything(world.folder)
    assert not any(value in after for value in hidden)

    card = SignedCard.decode(world.make_card()).card
    ((window, statement),) = unsent(world.issuer)
    served = Served.decode(statement)
    assert (window, served.accounts, served.card_digest) == (WINDOW, 20, card.digest)
    assert served.verify(ISSUER_SIGN.public)
    keep_told(world.issuer, WINDOW)
    assert unsent(world.issuer) == []
    assert close_windows(world.issuer) == []
    # Nothing brings the key back, nor a second one for the window.
    assert key_of_window(world.issuer, WINDOW) is None
    world.go_to(WINDOW * HOUR + 1)
    assert status(world.issuer.answer(people[0], bodies[0])) == 410


def test_a_window_without_a_card_ends_too(tmp_path: Path) -> None:
    world = IssuingWorld(tmp_path)
    assert key_of_window(world.issuer, WINDOW) is not None
    world.go_to((WINDOW + 1) * HOUR)
    assert close_windows(world.issuer) == [WINDOW]
    assert unsent(world.issuer) == []
    assert world.storage.read("SELECT 1 FROM window_key WHERE secret IS NOT NULL") == []
    world.close()


@pytest.mark.parametrize(
    ("point", "closed"),
    [("close: inside the transaction", False), ("close: after commit", True)],
)
def test_killed_beside_closing(world: IssuingWorld, point: str, closed: bool) -> None:
    assert status(world.issuer.answer(world.account(), request(world, 5))) == 200
    secret = bytes(world.storage.read("SELECT secret FROM window_key")[0][0])
    world.go_to((WINDOW + 1) * HOUR)
    assert in_a_process(world, point, b"", None) == signal.SIGKILL
    assert len(unsent(world.issuer)) == closed
    assert close_windows(world.issuer) == ([] if closed else [WINDOW])
    ((_, statement),) = unsent(world.issuer)
    assert Served.decode(statement).accounts == 1
    assert secret not in everything(world.folder)


def test_what_came_in_while_the_window_closed(world: IssuingWorld) -> None:
    """A request that was admitted before the end is counted, or gets nothing."""
    person, body = world.account(), request(world, 5)
    world.go_to((WINDOW + 1) * HOUR)
    assert status(world.issuer.answer(person, body)) == 410
    assert close_windows(world.issuer) == [WINDOW]
    assert Served.decode(unsent(world.issuer)[0][1]).accounts == 0


# ---- keys and cards


def test_windows_ahead_have_keys(world: IssuingWorld) -> None:
    begin = WINDOW * HOUR
    assert list(coming_windows(world.issuer)) == list(range(WINDOW, WINDOW + 25))
    world.go_to(begin)
    # The window that begins exactly a day from now is not yet one of them.
    assert list(coming_windows(world.issuer)) == list(range(WINDOW, WINDOW + 24))


def test_two_processes_make_one_key(world: IssuingWorld) -> None:
    other = world.another_process()
    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(lambda i: key_of_window(i, WINDOW + 3), (world.issuer, other)))
    assert made[0] == made[1] is not None
    other.storage.close()


def test_one_card_for_ever(world: IssuingWorld) -> None:
    keep_card(world.issuer, WINDOW, world.make_card())  # again
    world.inner = world.gateway
    with pytest.raises(InvalidData, match="another card"):
        keep_card(world.issuer, WINDOW, world.make_card())
    assert world.issuer.card(WINDOW) != world.make_card()


def test_cards_that_are_not_good(world: IssuingWorld) -> None:
    other_key = world.make_card(WINDOW + 1, spki=IssuerKey.generate().public.spki)
    key_of_window(world.issuer, WINDOW + 1)
    good = world.make_card(WINDOW + 1)
    unsigned = SignedCard.decode(good)
    only_analyzer = ANALYZER_SIGN.sign("card", unsigned.card.encode())
    cases = {
        "another key": other_key,
        "signature": good[:-64] + only_analyzer,
        "window": world.make_card(WINDOW + 2, spki=unsigned.card.issuer_spki),
        "bytes": good[:-64],
    }
    for what, card in cases.items():
        with pytest.raises(InvalidData, match=what):
            keep_card(world.issuer, WINDOW + 1, card)
    assert world.issuer.card(WINDOW + 1) is None
    keep_card(world.issuer, WINDOW + 1, good)
    assert secrets.compare_digest(world.issuer.card(WINDOW + 1) or b"", good)


def test_an_issuer_has_no_words_about_people(world: IssuingWorld) -> None:
    person = world.invitation()
    identity = bytes.fromhex(person)[:16]
    assert status(world.issuer.answer(world.account(person), request(world, 5))) == 200
    files = everything(world.folder)
    assert identity not in files
    assert identity.hex().encode() not in files
    assert issuers_columns(world.issuer) == {
        *("task_id", "window", "account_tag", "request_hash", "answers")
    }


def issuers_columns(issuer: Issuer) -> set[str]:
    return {str(row[1]) for row in issuer.storage.read("PRAGMA table_info(issued)")}
