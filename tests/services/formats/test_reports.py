"""Slots, reports and tokens: bound to one card, in one order, with one signature each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smoothdp.services.formats.batch import BatchHeader, n_parts
from smoothdp.services.formats.card import Card
from smoothdp.services.formats.design.values import DUMMY
from smoothdp.services.formats.reading import DecodeError, Reader
from smoothdp.services.formats.report import Report, open_report, seal_report, sealed_bytes
from smoothdp.services.formats.signing import SigningKey
from smoothdp.services.formats.slot_tokens import SlotTokens, request_hash
from smoothdp.services.formats.slots import open_slot, seal_slots
from smoothdp.services.tokens.issuer_key import IssuerKey
from smoothdp.services.tokens.refusals import TokenRefused
from smoothdp.services.wire.hybrid import PrivateKey
from tests.services.formats.made import Made

SEED = bytes(range(32))


@pytest.fixture(scope="module")
def made() -> Made:
    return Made()


@pytest.fixture(scope="module")
def report(made: Made) -> Report:
    return made.report()


def test_slots_strictly_ascend(report: Report) -> None:
    """Two equal slots would be a second vote, and another order a second report of the same."""
    (first, second), (one, two) = report.slots, report.signatures
    for slots, signatures in (
        ((second, first), (two, one)),
        ((first, first), (one, one)),
        ((), ()),
    ):
        wrong = Report(report.card_digest, slots, signatures)
        with pytest.raises(DecodeError):
            Report.decode(wrong.encode(), signed=True)


def test_signatures_are_there_or_not(report: Report) -> None:
    """A report of one kind is none of the other, whatever the number of slots says."""
    bare = Report(report.card_digest, report.slots)
    for wrong, signed in ((report, False), (bare, True)):
        with pytest.raises(DecodeError):
            Report.decode(wrong.encode(), signed=signed)


def test_numbers_of_slots_that_are_not_there(report: Report) -> None:
    data = report.encode()
    for count in (0, 1, 3, 0xFFFF):
        with pytest.raises(DecodeError):
            Report.decode(data[:1] + count.to_bytes(2, "big") + data[3:], signed=True)


def test_a_reader_gives_what_is_there_alone() -> None:
    with pytest.raises(DecodeError):
        Reader(b"\x00\x05abcd").vec()
    reader = Reader(b"\x00\x04abcd?")
    assert reader.vec() == b"abcd"
    with pytest.raises(DecodeError):
        reader.end()


def test_a_report_opens_with_its_gateway_and_window_alone(made: Made, report: Report) -> None:
    sealed = seal_report(report.encode(), made.card)
    assert len(sealed) == sealed_bytes(2, True)
    with pytest.raises(DecodeError, match="not sealed"):
        open_report(sealed, made.card, PrivateKey.generate())
    with pytest.raises(DecodeError, match="another key or suite"):
        open_report(sealed, replace(made.card, window=made.card.window + 1), made.gateway)
    # A window whose key id is the same byte: the digest inside tells it, for the answer 404.
    later = replace(made.card, window=made.card.window + 256)
    assert open_report(sealed, later, made.gateway).card_digest not in (later.digest, bytes(32))


def test_a_slot_opens_under_its_card_alone(made: Made, report: Report) -> None:
    values = sorted(open_slot(slot, made.card, made.inner) for slot in report.slots)
    assert values == [0, 1]
    for other in (replace(made.card, window=7), replace(made.card, task_id=bytes(32))):
        with pytest.raises(DecodeError):
            open_slot(report.slots[0], other, made.inner)
    # What was sealed to the key under this card, but holds something else than one number.
    long = made.card.inner.seal(bytes(5), info=b"esa/2 inner" + made.card.digest)
    with pytest.raises(DecodeError, match="another length"):
        open_slot(long, made.card, made.inner)


def test_all_values_have_one_length(made: Made) -> None:
    slots = seal_slots([0, 1, 1 << 31, DUMMY], made.card)
    assert {len(slot) for slot in slots} == {52}
    assert slots == sorted(slots)


def test_a_token_is_good_for_one_slot_card_issuer_and_origin(made: Made, report: Report) -> None:
    first, second = report.slots
    signature = report.signatures[0]
    tokens = made.tokens
    assert tokens.verify(first, signature)
    others = [
        SlotTokens(
            replace(made.card, window=7), issuer_name="issuer.example", origin=tokens.origin
        ),
        SlotTokens(made.card, issuer_name="issuer.exampla", origin=tokens.origin),
        SlotTokens(made.card, issuer_name="issuer.example", origin="another.example"),
    ]
    assert not tokens.verify(second, signature)
    assert not any(other.verify(first, signature) for other in others)
    # Another key of the same issuer: another card.
    spki = IssuerKey.generate().public.spki
    other = SlotTokens(
        replace(made.card, issuer_spki=spki), issuer_name="issuer.example", origin=tokens.origin
    )
    assert not other.verify(first, signature)


def test_a_retry_asks_with_the_same_bytes(made: Made) -> None:
    slots = seal_slots([0, 1], made.card)
    body = made.tokens.request(slots, seed=SEED)
    assert body == made.tokens.request(slots, seed=SEED)
    assert request_hash(body) == request_hash(made.tokens.request(slots, seed=SEED))
    other = made.tokens.request(slots, seed=SEED[::-1])
    again = made.tokens.request(seal_slots([0, 1], made.card), seed=SEED)
    assert len({body, other, again}) == 3


def test_one_answer_that_is_wrong_gives_no_token_at_all(made: Made) -> None:
    slots = seal_slots([0, 1], made.card)
    body = made.tokens.request(slots, seed=SEED)
    answers = [made.issuer.sign(body[at + 3 : at + 259]) for at in (0, 259)]
    assert len(made.tokens.finalize(slots, seed=SEED, answer=b"".join(answers))) == 2
    for wrong in (answers[::-1], answers[:1], [*answers, answers[0]], [answers[0], bytes(256)]):
        with pytest.raises(TokenRefused):
            made.tokens.finalize(slots, seed=SEED, answer=b"".join(wrong))


def test_a_header_says_how_long_its_parts_are() -> None:
    header = BatchHeader(True, bytes(32), bytes(16), 1, 2 * 16384 + 1, (bytes(32),) * 3, bytes(32))
    assert [header.part_bytes(part) for part in range(3)] == [16384 * 308, 16384 * 308, 308]
    assert n_parts(0) == 0
    for parts in (2, 4):
        wrong = replace(header, part_hashes=(bytes(32),) * parts).sign(SigningKey.generate())
        with pytest.raises(DecodeError, match="another length"):
            BatchHeader.decode(wrong.encode())


def test_a_card_of_a_bad_issuer_has_no_tokens(made: Made) -> None:
    key = bytearray(made.issuer.public.spki)
    key[-6] &= 0xFE
    card = Card(bytes(32), 7, made.card.gateway_key, made.card.inner_key, bytes(key))
    with pytest.raises(TokenRefused):
        SlotTokens(card, issuer_name="i", origin="o")
