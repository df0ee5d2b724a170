"""What a client refuses of a card, with real signatures of both services under it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from smoothdp.errors import InvalidParameter
from smoothdp.services.formats.card import (
    Card,
    CardRefused,
    SignedCard,
    check_card,
    encapsulation_header,
    sign_card,
)
from smoothdp.services.formats.reading import DecodeError, vec
from smoothdp.services.formats.signing import SigningKey, VerifyingKey
from smoothdp.services.tokens.issuer_key import IssuerKey
from tests.services.formats.made import WINDOW, Made


@pytest.fixture(scope="module")
def made() -> Made:
    return Made()


@pytest.fixture(scope="module")
def open_made() -> Made:
    return Made("none")


def spki(made: Made, at: int, by: int) -> bytes:
    key = bytearray(made.issuer.public.spki)
    key[at] ^= by
    return bytes(key)


def test_the_card_is_taken(made: Made, open_made: Made) -> None:
    for one in (made, open_made):
        assert check_card(one.signed(), task=one.task, window=WINDOW) == one.card


@pytest.mark.parametrize("byte", [0, 1, 0xE0, 0xEB])
def test_keys_that_hide_nothing(made: Made, byte: int) -> None:
    """Points of small order: 0, 1 and the two of order 8, whose shared secret is zero."""
    points = {
        0: bytes(32),
        1: b"\x01" + bytes(31),
        0xE0: bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
        0xEB: bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
    }
    for name in ("gateway_key", "inner_key"):
        with pytest.raises(CardRefused, match="full order"):
            check_card(made.signed(**{name: points[byte]}), task=made.task, window=WINDOW)


def test_issuer_keys_that_are_refused(made: Made) -> None:
    wrong = {
        "even modulus": spki(made, -6, 1),
        "another exponent": spki(made, -1, 2),
        "plain RSA": spki(made, 16, 0x0B),
        "a salt of 49 bytes": spki(made, 65, 1),
    }
    for key in wrong.values():
        with pytest.raises(CardRefused, match=r"RSASSA-PSS|odd modulus"):
            check_card(made.signed(issuer_spki=key), task=made.task, window=WINDOW)


def test_an_issuer_where_none_belongs_and_the_reverse(made: Made, open_made: Made) -> None:
    with pytest.raises(CardRefused, match="proof=slots; got none"):
        check_card(made.signed(issuer_spki=None), task=made.task, window=WINDOW)
    key = IssuerKey.generate().public.spki
    with pytest.raises(CardRefused, match="proof=none"):
        check_card(open_made.signed(issuer_spki=key), task=open_made.task, window=WINDOW)


@pytest.mark.parametrize("changes", [{"window": WINDOW + 1}, {"task_id": b"t" * 32}])
def test_another_task_or_window(made: Made, changes: dict[str, Any]) -> None:
    with pytest.raises(CardRefused, match="card of"):
        check_card(made.signed(**changes), task=made.task, window=WINDOW)


def test_one_service_alone_makes_no_card(made: Made) -> None:
    """The analyser alone could be its own gateway; the shuffler alone could read the slots."""
    card = replace(made.card, inner_key=made.gateway.public.to_bytes())
    own, other = sign_card(card, made.shuffler), sign_card(made.card, made.analyzer)
    for first, second in ((own, own), (other, own), (bytes(64), own)):
        with pytest.raises(CardRefused, match="analyser signed"):
            check_card(SignedCard(card, first, second), task=made.task, window=WINDOW)
    by_analyzer = sign_card(card, made.analyzer)
    with pytest.raises(CardRefused, match="shuffler signed"):
        check_card(SignedCard(card, by_analyzer, by_analyzer), task=made.task, window=WINDOW)
    # Both are right, in the other order.
    swapped = SignedCard(card, own, by_analyzer)
    with pytest.raises(CardRefused):
        check_card(swapped, task=made.task, window=WINDOW)


def test_a_signature_of_something_else_is_none_of_a_card(made: Made) -> None:
    body = made.card.encode()
    signed = SignedCard(
        made.card, made.analyzer.sign("result", body), sign_card(made.card, made.shuffler)
    )
    with pytest.raises(CardRefused):
        check_card(signed, task=made.task, window=WINDOW)


def test_one_configuration_and_its_suite(made: Made) -> None:
    """Two configurations, another suite or another key id: the gateway could tell clients apart."""
    data = made.card.encode()
    config = data[41:82]
    assert vec(vec(config)) == data[37:82]
    two = data[:37] + vec(vec(config) + vec(config)) + data[82:]
    longer = data[:37] + vec(vec(config + b"\x00\x01\x00\x03")) + data[82:]
    for other in (
        two,
        longer,
        data[:37] + vec(b"") + data[82:],
        data[:82] + data[82:114] + b"\x02",
    ):
        with pytest.raises(DecodeError):
            Card.decode(other)
    for at, value in ((41, config[0] ^ 1), (43, 0x10), (77, 8), (79, 2), (81, 1)):
        other = data[:at] + bytes([value]) + data[at + 1 :]
        with pytest.raises(DecodeError, match="another key configuration"):
            Card.decode(other)


def test_windows_at_the_edges_of_their_numbers(made: Made) -> None:
    for window in (0, 255, 256, (1 << 32) - 1):
        signed = made.signed(window=window)
        assert SignedCard.decode(signed.encode()) == signed
        assert signed.encode()[41] == encapsulation_header(window)[0] == window % 256
        assert check_card(signed, task=made.task, window=window).window == window
    for bad in (-1, 1 << 32, 1.0, True):
        with pytest.raises(InvalidParameter):
            replace(made.card, window=bad)  # type: ignore[arg-type]


def test_a_card_with_wrong_lengths_is_not_made(made: Made) -> None:
    for changes in (
        {"task_id": bytes(31)},
        {"gateway_key": bytes(33)},
        {"inner_key": "text"},
        {"issuer_spki": bytes(341)},
    ):
        with pytest.raises(InvalidParameter):
            replace(made.card, **changes)


P = (1 << 255) - 19
D = -121665 * pow(121666, -1, P) % P


def _add(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """Add two points of edwards25519, from the formulas of RFC 8032."""
    k = D * a[0] * b[0] * a[1] * b[1] % P
    x = (a[0] * b[1] + a[1] * b[0]) * pow(1 + k, -1, P) % P
    return x, (a[1] * b[1] + a[0] * b[0]) * pow(1 - k, -1, P) % P


def _point(y: int) -> tuple[int, int] | None:
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    return (x, y % P) if x * x % P == square else None


def _small_order() -> set[int]:
    """Return y of every point whose order divides 8: all of them from one of order 8."""
    order = (1 << 252) + 27742317777372353535851937790883648493
    for y in range(2, 50):
        point = _point(y)
        total = (0, 1)
        if point is None:
            continue
        for bit in f"{order:b}":
            total = _add(total, total)
            if bit == "1":
                total = _add(total, point)
        group, multiple = {total[1]}, total
        for _ in range(8):
            multiple = _add(multiple, total)
            group.add(multiple[1])
        if len(group) == 5:  # 1, -1, 0 and two of order 8
            return group
    raise AssertionError


def test_signing_keys_of_small_order_are_refused() -> None:
    """With each of the small y, both signs of x, and y written above p: none is a key."""
    values = _small_order()
    values |= {y + P for y in values if y + P < 1 << 255}
    assert len(values) == 7
    for y in values:
        for sign in (0, 1):
            data = (y | sign << 255).to_bytes(32, "little")
            with pytest.raises(InvalidParameter, match="full order"):
                VerifyingKey.from_bytes(data)


def test_signing_keys_are_read_strictly() -> None:
    key = SigningKey.generate()
    assert VerifyingKey.from_hex(key.public.hex).to_bytes() == key.public.to_bytes()
    for text in ("", key.public.hex[:-1], key.public.hex + "0", "G" * 64, " " + key.public.hex[1:]):
        with pytest.raises(InvalidParameter):
            VerifyingKey.from_hex(text)
    for data in (b"", bytes(31), bytes(33)):
        with pytest.raises(InvalidParameter):
            VerifyingKey.from_bytes(data)
        with pytest.raises(InvalidParameter):
            SigningKey.from_bytes(data)
    assert not key.public.check("card", b"", b"")
    assert key.to_bytes().hex() not in repr(key)
