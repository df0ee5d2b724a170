"""Tests 1 to 12: formats and sealing."""

from __future__ import annotations

import inspect
import json
import secrets
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.services.client.client import randomize
from smoothdp.services.shuffler.shuffler import Upload
from smoothdp.services.wire.batch import BatchHeader
from smoothdp.services.wire.calls import Outcome
from smoothdp.services.wire.envelope import (
    DUMMY,
    DecodeError,
    Header,
    envelope_bytes,
    envelope_id,
    inner_info,
    open_envelope,
    open_slot,
    seal_envelope,
    seal_values,
)
from smoothdp.services.wire.hybrid import OpenError, PrivateKey, PublicKey
from smoothdp.services.wire.task import Task
from smoothdp.services.wire.task_request import TaskRequest, create_task
from tests.services import rfc9180
from tests.services.world import WINDOW, World, small_task

VECTORS = Path(__file__).parent / "vectors"
OUTER, INNER = PrivateKey.generate(), PrivateKey.generate()
TASK_ID = bytes(32)


def sealed(values: list[int]) -> tuple[bytes, bytes]:
    report_id = secrets.token_bytes(16)
    slots = seal_values(values, key=INNER.public, task_id=TASK_ID, window=WINDOW)
    header = Header(1, len(values), TASK_ID, WINDOW)
    return report_id, seal_envelope(header, report_id, slots, key=OUTER.public)


def opened(slots: bytes) -> list[int]:
    info = inner_info(TASK_ID, WINDOW)
    return [open_slot(slots[at : at + 52], key=INNER, info=info) for at in range(0, len(slots), 52)]


@pytest.mark.parametrize("slots", [1, 8, 17, 101, 1001])
def test_01_round_trip(slots: int) -> None:
    values = [secrets.randbelow(1 << 32) for _ in range(slots)]
    report_id, envelope = sealed(values)
    found, inner = open_envelope(envelope, key=OUTER)
    assert found == report_id
    assert opened(inner) == values


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=20))
def test_02_the_length_does_not_depend_on_values(values: list[int]) -> None:
    _, envelope = sealed(values)
    assert len(envelope) == 104 + 52 * len(values) == envelope_bytes(len(values))


@pytest.mark.parametrize("protocol", ["boolean_sum", "real_sum", "histogram"])
def test_02_the_length_does_not_depend_on_the_datum(world: World, protocol: str) -> None:
    task = small_task(protocol)
    data: list[Any] = [0, 1]
    if protocol != "boolean_sum":
        data = ["a", "b", "c"] if protocol == "histogram" else [0, 0.3, 1]
    key = (1, OUTER.public)
    from smoothdp.services.client.client import Client

    lengths = {
        len(Client(task, world.outcomes, name=f"{d}{i}").envelope(d, shuffler_key=key))
        for d in data
        for i in range(10)
    }
    assert lengths == {envelope_bytes(task.slots)}


def test_03_the_vector_of_rfc_9180() -> None:
    v = json.loads((VECTORS / "rfc9180_a2_1.json").read_text())
    b = {name: bytes.fromhex(text) for name, text in v.items() if name != "source"}
    plain = rfc9180.open_sealed(b["enc"] + b["ct"], b["skRm"], info=b["info"], aad=b["aad"])
    assert plain == b["pt"]
    with pytest.raises(Exception, match=r"^$"):
        rfc9180.open_sealed(b["enc"] + b["ct"], b["skRm"], info=b["info"] + b"!", aad=b["aad"])


def test_03_the_code_under_test_agrees_with_the_rfc() -> None:
    for length in (0, 1, 4, 100, 5000):
        text, info = secrets.token_bytes(length), secrets.token_bytes(76)
        theirs = rfc9180.seal(text, INNER.public.to_bytes(), info=info)
        assert INNER.open(theirs, info=info) == text
        ours = INNER.public.seal(text, info=info)
        assert rfc9180.open_sealed(ours, INNER.to_bytes(), info=info) == text


def test_04_cross_opening_with_pyhpke() -> None:
    pyhpke = pytest.importorskip("pyhpke")
    suite = pyhpke.CipherSuite.new(
        pyhpke.KEMId.DHKEM_X25519_HKDF_SHA256,
        pyhpke.KDFId.HKDF_SHA256,
        pyhpke.AEADId.CHACHA20_POLY1305,
    )
    public = suite.kem.deserialize_public_key(INNER.public.to_bytes())
    private = suite.kem.deserialize_private_key(INNER.to_bytes())
    enc, sender = suite.create_sender_context(public, info=b"esa/1 inner")
    assert INNER.open(enc + sender.seal(b"abcd"), info=b"esa/1 inner") == b"abcd"
    ours = INNER.public.seal(b"efgh", info=b"esa/1 inner")
    receiver = suite.create_recipient_context(ours[:32], private, info=b"esa/1 inner")
    assert receiver.open(ours[32:]) == b"efgh"


def test_05_every_single_bit_flip_is_rejected() -> None:
    _, envelope = sealed([1])
    assert len(envelope) * 8 == 1248
    for bit in range(1248):
        changed = bytearray(envelope)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(DecodeError):
            open_envelope(bytes(changed), key=OUTER)


def test_05_every_single_bit_flip_of_a_slot_is_rejected() -> None:
    info = inner_info(TASK_ID, WINDOW)
    slot = seal_values([1], key=INNER.public, task_id=TASK_ID, window=WINDOW)[0]
    for bit in range(52 * 8):
        changed = bytearray(slot)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(DecodeError):
            open_slot(bytes(changed), key=INNER, info=info)


def test_05_no_flipped_envelope_enters_the_shuffler(world: World) -> None:
    upload = world.upload("u")
    flips = []
    for bit in range(1248):
        changed = bytearray(upload.envelope)
        changed[bit // 8] ^= 1 << bit % 8
        flips.append(Upload(upload.token, bytes(changed)))
    outcomes = set(world.shuffler.accept(flips))
    assert outcomes <= {
        Outcome.MALFORMED,
        Outcome.UNKNOWN_TASK,
        Outcome.OUTDATED_KEY,
    }
    assert world.shuffler.totals()["accepted"] == 0
    assert world.shuffler.accept([upload]) == [Outcome.ACCEPTED]


@pytest.mark.parametrize(
    "change",
    [
        lambda e: e[:-1],
        lambda e: e + b"\0",
        lambda _: b"",
        lambda e: e * 1000,
        lambda e: e[:40],
        lambda e: e[:39],
    ],
)
def test_06_other_lengths_are_rejected(change: Any) -> None:
    _, envelope = sealed([0])
    with pytest.raises(DecodeError):
        open_envelope(change(envelope), key=OUTER)


def test_07_layers_are_bound_to_task_window_and_role() -> None:
    slot = seal_values([1], key=INNER.public, task_id=TASK_ID, window=WINDOW)[0]
    for info in (
        inner_info(TASK_ID, WINDOW + 1),
        inner_info(b"\1" + bytes(31), WINDOW),
        b"esa/1 outer" + inner_info(TASK_ID, WINDOW)[11:],
        b"",
    ):
        with pytest.raises(DecodeError):
            open_slot(slot, key=INNER, info=info)
    with pytest.raises(DecodeError):
        open_slot(slot, key=OUTER, info=inner_info(TASK_ID, WINDOW))


def test_08_vectors_good_and_bad() -> None:
    v = json.loads((VECTORS / "envelopes.json").read_text())
    outer = PrivateKey.from_bytes(bytes.fromhex(v["outer_private_key"]))
    inner = PrivateKey.from_bytes(bytes.fromhex(v["inner_private_key"]))
    task = Task.decode(v["task"].encode())
    assert task.task_id.hex() == v["task_id"]
    info = inner_info(task.task_id, v["window"])
    for good in v["good"]:
        envelope = bytes.fromhex(good["envelope"])
        assert envelope_id(envelope).hex() == good["envelope_id"]
        report_id, slots = open_envelope(envelope, key=outer)
        assert report_id.hex() == good["report_id"]
        values = [
            open_slot(slots[at : at + 52], key=inner, info=info) for at in range(0, len(slots), 52)
        ]
        assert values == good["values"]
    assert len(v["bad"]) == 12
    for bad in v["bad"]:
        with pytest.raises(DecodeError):
            open_envelope(bytes.fromhex(bad["envelope"]), key=outer)
    for bad in v["bad_inner"]:
        with pytest.raises(DecodeError):
            open_slot(bytes.fromhex(bad["slot"]), key=inner, info=info)


@given(st.binary(max_size=400))
def test_09_decoders_raise_nothing_else(data: bytes) -> None:
    for decode in (Header.of, BatchHeader.decode, lambda d: open_envelope(d, key=OUTER)):
        with pytest.raises(DecodeError):
            decode(data)


@given(st.binary(max_size=120))
def test_09_task_files_raise_nothing_else(data: bytes) -> None:
    with pytest.raises(InvalidData):
        Task.decode(data)


@given(
    st.sampled_from(
        [
            "noise",
            "epsilon",
            "delta",
            "dishonest_share",
            "bounds",
            "domain",
            "min_batch",
            "size",
            "analyzer_key",
            "protocol",
            "window_seconds",
        ]
    ),
    st.one_of(
        st.text(max_size=8),
        st.integers(-5, 5),
        st.lists(st.text(max_size=3), max_size=3),
        st.sampled_from(["1e999999999", "1/0", "nan", "inf", "-1", "0", "0x10"]),
    ),
)
def test_09_task_fields_raise_nothing_else(name: str, value: Any) -> None:
    document = json.loads(small_task().encoded) | {name: value}
    data = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )
    try:
        Task.decode(data)
    except (InvalidData, InvalidParameter):
        return


def test_09_another_encoding_of_a_task_is_refused() -> None:
    task = small_task()
    assert Task.decode(task.encoded) == task
    for other in (
        task.encoded + b"\n",
        json.dumps(json.loads(task.encoded)).encode(),
        task.encoded.replace(b'"format":1', b'"format":1.0'),
        task.encoded.replace(b'"size":1', b'"size":1,"size":1'),
    ):
        with pytest.raises(InvalidData):
            Task.decode(other)


def test_09_every_field_changes_the_name_of_the_task() -> None:
    task = small_task()
    other = small_task(unit="one row")
    assert task.task_id != other.task_id
    assert small_task(min_batch=5).task_id != task.task_id


def test_10_an_unknown_key_is_outdated(world: World) -> None:
    upload = world.upload("u")
    changed = Upload(upload.token, upload.envelope[:1] + b"\xc8" + upload.envelope[2:])
    assert world.shuffler.accept([changed]) == [Outcome.OUTDATED_KEY]


LOW_ORDER = [
    bytes(32),
    b"\1" + bytes(31),
    bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
    bytes.fromhex("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
    bytes.fromhex("edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
]


@pytest.mark.parametrize("point", LOW_ORDER)
def test_11_points_of_low_order_are_rejected(point: bytes) -> None:
    with pytest.raises(InvalidParameter):
        PublicKey.from_bytes(point)
    with pytest.raises(OpenError):
        INNER.open(point + bytes(20), info=b"")


def test_12_dummies_fill_the_slots(world: World) -> None:
    task = small_task("histogram")
    for datum in "abc":
        values = randomize(task, datum)
        assert len(values) == 4
        assert set(values) <= {0, 1, 2, DUMMY}
        assert sum(value != DUMMY for value in values) >= 1
    # A value and a dummy seal to the same length.
    slots = seal_values([0, DUMMY], key=INNER.public, task_id=TASK_ID, window=0)
    assert [len(slot) for slot in slots] == [52, 52]
    assert world.task.slots == 1


def test_domain_and_promise_are_checked() -> None:
    task = small_task("histogram", min_batch=50)
    with pytest.raises(InvalidParameter, match="min_batch"):
        replace(task, min_batch=7)
    with pytest.raises(InvalidData):
        randomize(small_task("histogram"), "no such bin")
    with pytest.raises(InvalidData):
        randomize(small_task(), 2)


def test_a_request_has_the_parameters_of_create_task() -> None:
    parameters = inspect.signature(create_task).parameters
    asked = {one.name: one.default for one in fields(TaskRequest)}
    assert list(asked) == list(parameters)
    for name, parameter in parameters.items():
        default = MISSING if parameter.default is parameter.empty else parameter.default
        assert asked[name] == default, name


def test_what_a_slot_may_mean() -> None:
    """Bits of sums; bins of a histogram, and dummies beside them: nothing else is counted."""
    bits, bins = small_task(), small_task("histogram")
    tried = (-2, -1, 0, 1, 2, 3, DUMMY - 1, DUMMY)
    assert [value for value in tried if bits.is_meant(value)] == [0, 1]
    assert [value for value in tried if bins.is_meant(value)] == [0, 1, 2, DUMMY]
