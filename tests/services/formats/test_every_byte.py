"""Every byte counts: one that is changed is refused, or makes another message of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest

from smoothdp.errors import SmoothdpError
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.card import Card, CardRefused, SignedCard, check_card
from smoothdp.services.formats.marks import MarksFile, mark_of
from smoothdp.services.formats.reading import DecodeError
from smoothdp.services.formats.report import Report, open_report, seal_report
from smoothdp.services.formats.secrets import Secret, check_secret
from smoothdp.services.formats.served import Served
from smoothdp.services.formats.slots import open_slot
from smoothdp.services.formats.task import Task
from tests.services.formats.made import WINDOW, Made

CHANGES = (0x01, 0x80, 0xFF)


@pytest.fixture(scope="module", params=["slots", "none"])
def made(request: pytest.FixtureRequest) -> Made:
    return Made(request.param)


def changed(data: bytes, changes: tuple[int, ...] = CHANGES) -> Iterator[bytes]:
    """Yield the bytes with one of them changed, one missing at the end, and one more."""
    for at in range(len(data)):
        for by in changes:
            yield data[:at] + bytes([data[at] ^ by]) + data[at + 1 :]
    yield from (data[:-1], data + b"\x00", b"", data[:1])


def test_card(made: Made) -> None:
    """With real signatures on the real card, no other bytes are taken."""
    data = made.signed().encode()
    assert check_card(SignedCard.decode(data), task=made.task, window=WINDOW) == made.card
    for other in changed(data):
        with pytest.raises((DecodeError, CardRefused)):
            check_card(SignedCard.decode(other), task=made.task, window=WINDOW)


def test_card_digest(made: Made) -> None:
    data = made.card.encode()
    for other in changed(data):
        try:
            card = Card.decode(other)
        except DecodeError:
            continue
        assert card.encode() == other
        assert card.digest == hashlib.sha256(other).digest() != made.card.digest


def test_report(made: Made) -> None:
    """A changed report is none, or of another card, or of a slot that has no token or value."""
    report = made.report()
    data = report.encode()
    for other in changed(data):
        try:
            found = Report.decode(other, signed=made.task.signed)
        except DecodeError:
            continue
        assert found.encode() == other
        assert found.report_id != report.report_id
        if found.card_digest != made.card.digest:
            continue
        if made.task.signed:
            assert not all(map(made.tokens.verify, found.slots, found.signatures))
        else:
            with pytest.raises(DecodeError):
                [open_slot(slot, made.card, made.inner) for slot in found.slots]


def test_sealed_report(made: Made) -> None:
    sealed = seal_report(made.report().encode(), made.card)
    for other in changed(sealed, (0x01,)):
        with pytest.raises(DecodeError):
            open_report(other, made.card, made.gateway)


def test_slot(made: Made) -> None:
    (slot, _) = made.report().slots
    for other in changed(slot):
        with pytest.raises(DecodeError):
            open_slot(other, made.card, made.inner)


def test_batch_header(made: Made) -> None:
    hashes = (b"a" * 32, b"b" * 32)
    header = BatchHeader(True, made.card.digest, b"i" * 16, 9000, 18000, hashes, b"m" * 32)
    data = header.sign(made.shuffler).encode()
    assert len(data) == 162 + 32 * 2
    for other in changed(data):
        try:
            found = BatchHeader.decode(other)
        except DecodeError:
            continue
        assert found.encode() == other
        assert not found.verify(made.shuffler.public)


def test_a_long_header_is_refused_before_it_is_read() -> None:
    """The number of parts is what a stranger says: it makes no work and no memory."""
    start = bytes([2, 1]) + bytes(48) + b"\xff" * 16
    with pytest.raises(DecodeError, match="another length"):
        BatchHeader.decode(start + bytes(200))


def test_served(made: Made) -> None:
    data = Served(made.card.digest, 1234).sign(made.counter).encode()
    for other in changed(data):
        try:
            found = Served.decode(other)
        except DecodeError:
            continue
        assert found.encode() == other
        assert not found.verify(made.counter.public)


def test_signatures_are_of_one_use(made: Made) -> None:
    """A signature of one message is none of another, whatever its bytes."""
    served = Served(made.card.digest, 1234)
    forged = made.counter.sign("batch", served.body)
    assert not made.counter.public.check("served", served.body, forged)


def test_marks_file(made: Made) -> None:
    file = MarksFile.of(made.card.digest, [bytes([slot]) for slot in range(20)])
    data = file.encode()
    for other in changed(data):
        try:
            found = MarksFile.decode(other)
        except DecodeError:
            continue
        assert found.encode() == other
        assert found.sha256 != file.sha256


def test_marks_are_found_and_others_are_not() -> None:
    slots = [bytes([slot]) for slot in range(64)]
    file = MarksFile.of(bytes(32), slots[::2])
    assert [mark_of(slot) in file for slot in slots] == [True, False] * 32
    empty = MarksFile.of(bytes(32), [])
    assert mark_of(b"") not in empty
    assert MarksFile.decode(empty.encode()) == empty
    twice = MarksFile.of(bytes(32), [b"a", b"a"])
    assert twice.slots == 2


def test_secrets() -> None:
    key, task_id = b"k" * 32, b"t" * 32
    secret = Secret.issue(key, use="pass", task_id=task_id)
    assert check_secret(secret.text, key=key, use="pass", task_id=task_id) == secret.identity
    assert secret.text[32:] not in repr(secret)
    for at in range(96):
        other = f"{int(secret.text[at], 16) ^ 1:x}"
        text = secret.text[:at] + other + secret.text[at + 1 :]
        assert check_secret(text, key=key, use="pass", task_id=task_id) is None
    wrong = [secret.text[:-1], secret.text + "0", "", " " + secret.text, "g" * 96, "é" * 96]
    wrong += [secret.text.upper()] if secret.text.upper() != secret.text else []
    for text in wrong:
        assert check_secret(text, key=key, use="pass", task_id=task_id) is None
    assert check_secret(secret.text, key=key, use="invitation", task_id=task_id) is None
    assert check_secret(secret.text, key=key, use="pass", task_id=b"u" * 32) is None
    assert check_secret(secret.text, key=b"l" * 32, use="pass", task_id=task_id) is None


def test_task(made: Made) -> None:
    """A changed task is refused with a sentence, or is another task."""
    data = made.task.encoded
    for other in changed(data, (0x01,)):
        try:
            task = Task.decode(other)
        except SmoothdpError:
            continue
        assert task.encoded == other
        assert task.task_id != made.task.task_id
