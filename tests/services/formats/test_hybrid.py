"""Hybrid encryption against RFC 9180 and another implementation, and decoders against anything."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.card import Card, SignedCard
from smoothdp.services.formats.design.values import DUMMY
from smoothdp.services.formats.marks import MarksFile
from smoothdp.services.formats.reading import DecodeError
from smoothdp.services.formats.report import Report
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.formats.served import Served
from smoothdp.services.formats.task import Task
from smoothdp.services.wire.hybrid import OpenError, PrivateKey, PublicKey
from tests.services.formats import rfc9180
from tests.services.worlds.small_tasks import small_task

VECTOR = Path(__file__).parent / "rfc9180_a2_1.json"
KEY = PrivateKey.generate()


def test_the_vector_of_rfc_9180() -> None:
    v = json.loads(VECTOR.read_text())
    b = {name: bytes.fromhex(text) for name, text in v.items() if name != "source"}
    plain = rfc9180.open_sealed(b["enc"] + b["ct"], b["skRm"], info=b["info"], aad=b["aad"])
    assert plain == b["pt"]
    with pytest.raises(Exception, match=r"^$"):
        rfc9180.open_sealed(b["enc"] + b["ct"], b["skRm"], info=b["info"] + b"!", aad=b["aad"])


def test_the_code_under_test_agrees_with_the_rfc() -> None:
    for length in (0, 1, 4, 100, 5000):
        text, info = secrets.token_bytes(length), secrets.token_bytes(76)
        theirs = rfc9180.seal(text, KEY.public.to_bytes(), info=info)
        assert KEY.open(theirs, info=info) == text
        ours = KEY.public.seal(text, info=info)
        assert rfc9180.open_sealed(ours, KEY.to_bytes(), info=info) == text


def test_cross_opening_with_pyhpke() -> None:
    pyhpke = pytest.importorskip("pyhpke")
    suite = pyhpke.CipherSuite.new(
        pyhpke.KEMId.DHKEM_X25519_HKDF_SHA256,
        pyhpke.KDFId.HKDF_SHA256,
        pyhpke.AEADId.CHACHA20_POLY1305,
    )
    public = suite.kem.deserialize_public_key(KEY.public.to_bytes())
    private = suite.kem.deserialize_private_key(KEY.to_bytes())
    enc, sender = suite.create_sender_context(public, info=b"esa/2 inner")
    assert KEY.open(enc + sender.seal(b"abcd"), info=b"esa/2 inner") == b"abcd"
    ours = KEY.public.seal(b"efgh", info=b"esa/2 inner")
    receiver = suite.create_recipient_context(ours[:32], private, info=b"esa/2 inner")
    assert receiver.open(ours[32:]) == b"efgh"


LOW_ORDER = [
    bytes(32),
    b"\1" + bytes(31),
    bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
    bytes.fromhex("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
    bytes.fromhex("edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
]


@pytest.mark.parametrize("point", LOW_ORDER)
def test_points_of_low_order_are_rejected(point: bytes) -> None:
    with pytest.raises(InvalidParameter):
        PublicKey.from_bytes(point)
    with pytest.raises(OpenError):
        KEY.open(point + bytes(20), info=b"")


# ---- anything instead of a message

DECODERS: list[Callable[[bytes], object]] = [
    Card.decode,
    SignedCard.decode,
    BatchHeader.decode,
    MarksFile.decode,
    SignedResult.decode,
    Served.decode,
    lambda data: Report.decode(data, signed=True),
    lambda data: Report.decode(data, signed=False),
]


@given(st.binary(max_size=400), st.sampled_from(DECODERS))
def test_decoders_raise_nothing_else(data: bytes, decode: Callable[[bytes], object]) -> None:
    for start in (b"", b"\x02"):
        with pytest.raises(DecodeError):
            decode(start + data)


@given(st.binary(max_size=120))
def test_task_files_raise_nothing_else(data: bytes) -> None:
    with pytest.raises(InvalidData):
        Task.decode(data)


@given(
    st.sampled_from(sorted(json.loads(small_task().encoded))),
    st.one_of(
        st.text(max_size=8),
        st.integers(-5, 5),
        st.lists(st.text(max_size=3), max_size=3),
        st.sampled_from(["1e999999999", "1/0", "nan", "inf", "-1", "0", "0x10"]),
        st.dictionaries(st.sampled_from(["name", "url", "sign_key"]), st.text(max_size=3)),
    ),
)
def test_task_fields_raise_nothing_else(name: str, value: Any) -> None:
    document = json.loads(small_task().encoded) | {name: value}
    data = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )
    try:
        Task.decode(data)
    except (InvalidData, InvalidParameter):
        return


def test_what_a_slot_may_mean() -> None:
    """Bits of sums; bins of a histogram, and dummies beside them: nothing else is counted."""
    bits = small_task()
    bins = small_task("low_communication_histogram", domain=("a", "b", "c"))
    tried = (-2, -1, 0, 1, 2, 3, DUMMY - 1, DUMMY)
    assert [value for value in tried if bits.is_meant(value)] == [0, 1]
    assert [value for value in tried if bins.is_meant(value)] == [0, 1, 2, DUMMY]
