"""Card, slots, report, batch, marks and number served: the bytes of other implementations."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from smoothdp.services.formats.batch import PART_RECORDS, BatchHeader, split_parts
from smoothdp.services.formats.card import Card, SignedCard, sign_card
from smoothdp.services.formats.marks import MarksFile, mark_of
from smoothdp.services.formats.reading import DecodeError
from smoothdp.services.formats.report import Report, open_report, seal_report, sealed_bytes
from smoothdp.services.formats.served import Served
from smoothdp.services.formats.signing import SigningKey
from smoothdp.services.formats.slot_tokens import SlotTokens
from smoothdp.services.formats.slots import open_slot, seal_slots
from smoothdp.services.tokens.refusals import TokenRefused
from smoothdp.services.tokens.token import REQUEST_BYTES, slot_nonce
from smoothdp.services.wire.hybrid import PrivateKey
from tests.services.formats.rfc9180 import derive_key_pair, seal
from tests.services.formats.vectors import cases

H = bytes.fromhex


@pytest.mark.parametrize(("given", "expected"), cases("card", count=2))
def test_card(given: dict[str, Any], expected: dict[str, str]) -> None:
    (spki,) = given["issuer_spki"] or [None]
    card = Card(
        H(given["task_id"]),
        given["window"],
        H(given["gateway_public"]),
        H(given["analyzer_public"]),
        spki and H(spki),
    )
    assert card.encode().hex() == expected["card"]
    assert card.digest.hex() == expected["card_digest"]
    assert Card.decode(H(expected["card"])) == card
    analyzer, shuffler = (
        SigningKey.from_bytes(H(given[f"{party}_sign_secret"]))
        for party in ("analyzer", "shuffler")
    )
    signed = SignedCard(card, sign_card(card, analyzer), sign_card(card, shuffler))
    assert signed.analyzer_signature.hex() == expected["card_signature"]
    assert signed.shuffler_signature.hex() == expected["cosignature"]
    sent = H(expected["card"] + expected["card_signature"] + expected["cosignature"])
    assert SignedCard.decode(sent) == signed
    assert analyzer.public.check("card", card.encode(), signed.analyzer_signature)


@pytest.mark.parametrize(("given", "expected"), cases("report", count=15))
def test_report(given: dict[str, Any], expected: dict[str, Any]) -> None:
    card = Card.decode(H(given["card"]))
    assert (card.task_id.hex(), card.window) == (given["task_id"], given["window"])
    slots = [H(slot) for slot in expected["slots"]]
    assert slots == sorted(slots)
    assert len(slots) == given["task"]["slots"]
    inner = PrivateKey.from_bytes(H(given["analyzer_secret"]))
    values = [open_slot(slot, card, inner) for slot in slots]
    assert sorted(values) == sorted(expected["values"])
    assert [slot_nonce(slot).hex() for slot in slots] == expected["nonces"]
    signatures: list[bytes] = []
    if card.signed:
        tokens = SlotTokens(card, issuer_name=given["issuer_name"], origin=given["origin"])
        body = tokens.request(slots, seed=H(given["k_w"]))
        asked = [body[at : at + REQUEST_BYTES].hex() for at in range(0, len(body), REQUEST_BYTES)]
        assert asked == expected["requests"]
        answer = b"".join(map(H, given["responses"]))
        signatures = tokens.finalize(slots, seed=H(given["k_w"]), answer=answer)
        assert all(map(tokens.verify, slots, signatures))
    report = Report(card.digest, tuple(slots), tuple(signatures))
    assert report.encode().hex() == expected["report"]
    assert report.report_id.hex() == expected["report_id"]
    assert Report.decode(H(expected["report"]), signed=card.signed) == report


@pytest.mark.parametrize(("given", "expected"), cases("shuffler_answer", count=11))
def test_what_a_shuffler_finds(given: dict[str, str], expected: str) -> None:
    """The formats alone tell 400, 404, 403 and 202 apart."""
    card = Card.decode(H(given["card"]))
    tokens = SlotTokens(card, issuer_name="issuer.example", origin="analyzer.example")

    def answer() -> int:
        try:
            report = Report.decode(H(given["report"]), signed=card.signed)
        except DecodeError:
            return 400
        if report.card_digest != card.digest:
            return 404
        good = all(map(tokens.verify, report.slots, report.signatures))
        return 202 if good else 403

    assert answer() == int(expected)


@pytest.mark.parametrize(("given", "expected"), cases("sealed_report", count=2))
def test_sealed_report(given: dict[str, Any], expected: str) -> None:
    gateway = PrivateKey.from_bytes(H(given["gateway_secret"]))
    spki = next(H(c["issuer_spki"][0]) for c, _ in cases("report", count=15) if c["issuer_spki"])
    key = gateway.public.to_bytes()
    card = Card(bytes(32), given["window"], key, key, spki)
    report = open_report(H(expected), card, gateway)
    assert report.encode().hex() == given["report"]
    ours = seal_report(H(given["report"]), card)
    assert len(ours) == len(H(expected)) == sealed_bytes(1, True)
    assert ours[:7] == H(expected)[:7]
    assert ours[7:] != H(expected)[7:]
    assert open_report(ours, card, gateway) == report
    # The same bytes from a given ephemeral, by the reading of RFC 9180 in the tests.
    header = H(expected)[:7]
    info = b"message/vnd.esa.report request\x00" + header
    secret, _ = derive_key_pair(H(given["ephemeral_ikm"]))
    assert header + seal(H(given["report"]), key, info=info, ephemeral=secret) == H(expected)


@pytest.mark.parametrize(("given", "expected"), cases("marks_file", count=2))
def test_marks_file(given: dict[str, Any], expected: str) -> None:
    slots = [H(slot) for slot in given["slots"]]
    for order in (slots, slots[::-1]):
        file = MarksFile.of(H(given["card_digest"]), order)
        assert file.encode().hex() == expected
    assert MarksFile.decode(H(expected)) == file
    assert file.slots == len(slots)
    assert all(mark_of(slot) in file for slot in slots)
    assert mark_of(b"another") not in file


@pytest.mark.parametrize(("given", "expected"), cases("batch_header", count=1))
def test_batch_header(given: dict[str, Any], expected: str) -> None:
    key = SigningKey.from_bytes(H(given["shuffler_sign_secret"]))
    parts = tuple(hashlib.sha256(H(part)).digest() for part in given["parts"])
    header = BatchHeader(
        True,
        H(given["card_digest"]),
        H(given["batch_id"]),
        given["users"],
        given["slots"],
        parts,
        H(given["marks_sha256"]),
    ).sign(key)
    assert header.encode().hex() == expected
    assert BatchHeader.decode(H(expected)) == header
    assert header.verify(key.public)
    assert [header.part_bytes(i) for i in range(len(parts))] == [len(H(p)) for p in given["parts"]]


@pytest.mark.parametrize(("given", "expected"), cases("accounts_served", count=1))
def test_served(given: dict[str, Any], expected: str) -> None:
    key = SigningKey.from_bytes(H(given["issuer_sign_secret"]))
    served = Served(H(given["card_digest"]), given["accounts"]).sign(key)
    assert served.encode().hex() == expected
    assert Served.decode(H(expected)) == served
    assert served.verify(key.public)


def test_derive_key_pair() -> None:
    """RFC 9180, A.1.1: the derivation of the vectors that are sealed below."""
    ((given, expected),) = cases("derive_key_pair", count=1)
    secret, public = derive_key_pair(H(given["ikm"]))
    assert secret.hex() == expected
    key = X25519PrivateKey.from_private_bytes(secret).public_key()
    assert key.public_bytes_raw() == public


def test_hpke() -> None:
    """Six vectors in the suite of the protocol, and A.1.1 of the RFC with AES."""
    for given, expected in cases("hpke_seal", count=7):
        derived = "ikm" in given
        secret = derive_key_pair(H(given["ikm"]))[0] if derived else H(given["ephemeral_secret"])
        sealed = seal(
            H(given["plaintext"]),
            H(given["public"]),
            info=H(given["info"]),
            aad=H(given["aad"]),
            ephemeral=secret,
            aead=int(given["aead"]),
        )
        assert sealed.hex() == expected


def test_parts_are_cut_the_same_from_any_chunks() -> None:
    data = bytes(range(256)) * 308 * 80
    for signed, length in ((True, 308), (False, 52)):
        step = length * PART_RECORDS
        whole = [data[at : at + step] for at in range(0, len(data), step)]
        for size in (len(data), 1 << 20, step, step + 1):
            chunks = [data[at : at + size] for at in range(0, len(data), size)]
            assert list(split_parts(chunks, signed=signed)) == whole


def test_a_card_without_issuer_has_no_tokens() -> None:
    key = PrivateKey.generate().public.to_bytes()
    with pytest.raises(TokenRefused, match="proof=slots"):
        SlotTokens(Card(bytes(32), 7, key, key), issuer_name="i", origin="o")


def test_sealing_is_fresh() -> None:
    """Two seals of one report share the header alone, two slots of one value nothing."""
    key = PrivateKey.generate()
    card = Card(bytes(32), 7, key.public.to_bytes(), key.public.to_bytes())
    first, second = seal_slots([1, 1], card)
    assert first[:32] != second[:32]
    report = Report(card.digest, (first, second)).encode()
    one, two = seal_report(report, card), seal_report(report, card)
    assert one[7:39] != two[7:39]
    assert open_report(one, card, key) == open_report(two, card, key)
