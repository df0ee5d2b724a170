"""What a shuffler takes: the order of its checks, one report a pass, no slot in two reports."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from smoothdp.services.formats import report as report_format
from smoothdp.services.formats.marks import MarksFile, mark_of
from smoothdp.services.formats.report import Report, seal_report
from smoothdp.services.formats.slots import seal_slots
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.shuffler.recent import Recent
from smoothdp.services.shuffler.shuffler import MOST_UNSIGNED
from smoothdp.services.shuffler.shuffler_web import shuffler_app
from smoothdp.services.store.revoked import Revoked, revoke
from smoothdp.services.wire.hybrid import PublicKey
from smoothdp.services.wire.running import on_loopback
from tests.services.worlds.party_world import WINDOW, PartyWorld
from tests.services.worlds.small_tasks import small_task


@pytest.fixture
def world(tmp_path: Path) -> PartyWorld:
    made = PartyWorld(tmp_path, small_task("real_sum", size=2))
    made.open_window()
    return made


def judged(world: PartyWorld, data: bytes, secret: str) -> Taken:
    """Return the answer to any bytes sealed to the gateway."""
    sender = world.shuffler.sender(secret)
    assert sender is not None
    taken = world.shuffler.judge(WINDOW, sender, seal_report(data, world.card()))
    return taken if isinstance(taken, Taken) else world.shuffler.accept([taken])[0]


@pytest.mark.parametrize("remembered", [None, True, False])
def test_checks_in_their_order(
    world: PartyWorld, monkeypatch: pytest.MonkeyPatch, remembered: bool | None
) -> None:
    """Whether the process remembers who has sent changes what it reads, and no answer."""
    if remembered is not None:
        monkeypatch.setattr(Recent, "met", lambda *_: remembered)
    secret, report = world.new_pass(), world.report(1)
    data = report.encode()
    unsigned = Report(report.card_digest, report.slots, (bytes(256), bytes(256)))
    other_card = Report(bytes(32), *(unsigned.slots, unsigned.signatures))
    backwards = Report(report.card_digest, report.slots[::-1], report.signatures[::-1])
    one_slot = Report(report.card_digest, report.slots[:1], report.signatures[:1])
    for changed in (b"", data[:-1], data + b"0", b"\x03" + data[1:], backwards, one_slot):
        sent = changed if isinstance(changed, bytes) else changed.encode()
        assert judged(world, sent, secret) is Taken.MALFORMED
    assert judged(world, other_card.encode(), secret) is Taken.UNKNOWN
    assert judged(world, unsigned.encode(), secret) is Taken.UNSIGNED
    assert judged(world, data, secret) is Taken.ACCEPTED
    assert judged(world, data, secret) is Taken.ACCEPTED
    # Another report of a pass is known before its signatures are looked at.
    for _ in range(MOST_UNSIGNED + 1):
        assert judged(world, unsigned.encode(), secret) is Taken.OTHER_REPORT
    assert judged(world, data, secret) is Taken.ACCEPTED
    assert judged(world, data, world.new_pass()) is Taken.OTHER_REPORT
    assert world.shuffler.totals()["pending"] == 1
    # Sealed to another key.
    sender = world.shuffler.sender(secret) or b""
    strange = PublicKey.from_bytes(world.card().inner_key)
    sealed = seal_report(data, world.card())
    header = sealed[:7]
    sealed = header + strange.seal(data, info=b"message/vnd.esa.report request\x00" + header)
    assert world.shuffler.judge(WINDOW, sender, sealed) is Taken.MALFORMED
    world.close()


def test_a_slot_may_not_come_twice_in_a_report(
    world: PartyWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = world.report(1)
    twice = Report(report.card_digest, report.slots[:1] * 2, report.signatures[:1] * 2)
    assert world.send(twice) is Taken.MALFORMED
    monkeypatch.setattr(report_format, "pairwise", lambda _: [])
    assert world.send(twice) is Taken.ACCEPTED
    world.close()


def test_five_bad_signatures_and_no_sixth(
    world: PartyWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []
    check = world.shuffler.is_signed

    def counted(*values: object) -> bool:
        looked.append(1)
        return check(*values)  # type: ignore[arg-type]

    monkeypatch.setattr(world.shuffler, "is_signed", counted)
    secret = world.new_pass()
    for attempt in range(20):
        report = world.report(1)
        bad = Report(report.card_digest, report.slots, (report.signatures[0], bytes(256)))
        expected = Taken.UNSIGNED if attempt < 5 else Taken.TOO_MANY_UNSIGNED
        assert world.send(bad, secret) is expected
    assert len(looked) == 10
    assert world.send(world.report(1)) is Taken.ACCEPTED
    world.close()


def test_windows_and_passes(world: PartyWorld) -> None:
    report = world.report(1)
    assert world.send(report, "00" * 48) is Taken.UNAUTHORIZED
    assert world.send(report, "") is Taken.UNAUTHORIZED
    assert world.shuffler.takes(WINDOW + 1) is Taken.TOO_EARLY
    assert world.shuffler.takes(WINDOW - 3) is Taken.UNKNOWN
    world.go_to((WINDOW + 1) * 3600 + 599.0)
    assert world.send(report) is Taken.ACCEPTED
    world.go_to((WINDOW + 1) * 3600 + 600.0)
    assert world.send(report) is Taken.CLOSED
    world.close()


def test_a_pass_that_is_revoked_counts_no_more_from_the_next_request_on(
    world: PartyWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was let in before is kept; what comes after, repeated or new, is refused."""
    world.shuffler._revoked = Revoked(tmp_path / "revoked")
    let_in: list[str] = []
    sender = world.shuffler.sender

    def seen(secret: str) -> bytes | None:
        identity = sender(secret)
        let_in.append(secret)
        return identity

    monkeypatch.setattr(world.shuffler, "sender", seen)
    path = f"/v2/reports/{world.task.task_id.hex()}/{WINDOW}"

    def begin(url: str, secret: str, body: bytes) -> socket.socket:
        wire = socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), timeout=20)
        wire.sendall(
            f"POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {secret}\r\n"
            f"content-length: {len(body)}\r\n\r\n".encode()
        )
        return wire

    def post(url: str, secret: str, body: bytes) -> int:
        with begin(url, secret, body) as wire:
            wire.sendall(body)
            return int(wire.recv(4096).split(b" ")[1])

    lost, other = world.new_pass(), world.new_pass()
    sent, late = (seal_report(world.report(1).encode(), world.card()) for _ in range(2))
    with on_loopback(shuffler_app(world.shuffler)) as url:
        assert post(url, lost, sent) == 202
        with begin(url, other, late) as admitted:
            while other not in let_in:
                time.sleep(0.001)
            assert post(url, lost, sent) == 202
            revoke(tmp_path / "revoked", [bytes.fromhex(one)[:16] for one in (lost, other)])
            assert post(url, lost, sent) == 401
            assert post(url, other, late) == 401
            admitted.sendall(late)
            assert admitted.recv(4096).split(b" ")[1] == b"202"
        assert post(url, other, late) == 401
        assert post(url, world.new_pass(), sent) == 409
    assert world.shuffler.totals()["pending"] == 2
    world.close()


def test_reports_that_share_a_slot_are_left_out_and_the_rest_is_released(
    world: PartyWorld,
) -> None:
    """Two people lose their reports to somebody who read the store; two more sent one slot."""
    whole = [world.report(1) for _ in range(16)]
    taken_apart = world.sign([whole[0].slots[0], whole[1].slots[1]])
    common = seal_slots([1], world.card())[0]
    pair = [world.sign([common, *seal_slots([0], world.card())]) for _ in range(2)]
    for report in (*whole, taken_apart, *pair):
        assert world.send(report) is Taken.ACCEPTED
    (sealed,) = world.seal()
    assert (sealed.state, sealed.users, sealed.shared) == ("SEALED", 14, 5)
    document = world.finish(14)
    assert document["state"] == "RELEASED"
    assert document["users"] == 14
    marks = MarksFile.decode(world.shuffler.marks(WINDOW) or b"")
    there = [all(mark_of(slot) in marks for slot in report.slots) for report in whole]
    assert there == [False, False] + [True] * 14
    assert world.shuffler.totals() == {"pending": 0, "batched": 14, "shared": 5, "expired": 0}
    world.close()


def test_too_few_are_destroyed(world: PartyWorld) -> None:
    world.send_many(11)
    (sealed,) = world.seal()
    assert (sealed.state, sealed.users) == ("EXPIRED", 11)
    assert world.shuffler.totals()["expired"] == 11
    assert world.shuffler.marks(WINDOW) is None
    assert world.deliver() == 0
    assert world.keys[0].scopes() == []
    world.close()


def test_after_thirty_days_cards_alone_are_left(world: PartyWorld) -> None:
    world.send_many(14)
    world.seal()
    assert world.deliver() == 1
    world.go_to((WINDOW + 1) * 3600 + 600 + 30 * 86_400 - 1.0)
    world.shuffler.forget_old()
    assert world.shuffler.marks(WINDOW) is not None
    world.go_to(world.now + 1)
    world.shuffler.forget_old()
    assert world.shuffler.marks(WINDOW) is None
    assert world.shuffler.cards.stored(WINDOW) is not None
    assert world.shuffler.takes(WINDOW) is Taken.CLOSED
    for table in ("collecting", "counter", "marks", "batch_part", "pending"):
        assert world.shuffler.storage.read(f"SELECT count(*) FROM {table}") == [(0,)]
    world.close()
