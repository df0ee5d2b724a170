"""Blind RSA and tokens: the vectors of the RFCs, and keys and answers that are refused."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.serialization import load_der_private_key

from smoothdp.errors import InvalidParameter
from smoothdp.services.tokens import issuer_key
from smoothdp.services.tokens.blind import blind, blinded_by, finalize, pss_verifies, verify
from smoothdp.services.tokens.issuer_key import IssuerKey, IssuerPublicKey
from smoothdp.services.tokens.pss import pss_encode
from smoothdp.services.tokens.refusals import TokenRefused
from smoothdp.services.tokens.token import (
    BLIND_BYTES,
    parse_requests,
    request_body,
    slot_nonce,
    token_coins,
    token_input,
)
from tests.services.formats.vectors import cases

SALT, BLIND = bytes(range(48)), bytes(range(BLIND_BYTES - 256)) + bytes(range(256))


def number(text: str) -> int:
    return int(text, 16)


@pytest.fixture(scope="module", params=range(6))
def token_case(request: pytest.FixtureRequest) -> tuple[dict[str, Any], dict[str, str], IssuerKey]:
    given, expected = cases("token", count=6)[request.param]
    pem = bytes.fromhex(given["skS"]).decode()
    der = base64.b64decode("".join(pem.splitlines()[1:-1]))
    private = load_der_private_key(der, None)
    assert isinstance(private, rsa.RSAPrivateKey)
    primes = private.private_numbers()
    return given, expected, IssuerKey(max(primes.p, primes.q), min(primes.p, primes.q))


@pytest.fixture(scope="module")
def key() -> IssuerKey:
    return IssuerKey.generate()


@pytest.mark.parametrize(("given", "expected"), cases("blind_rsa", count=4))
def test_rfc_9474(given: dict[str, str], expected: dict[str, str]) -> None:
    """The vectors have 4,096 bits; the same arithmetic, and a signature by d alone."""
    n, e = number(given["n"]), number(given["e"])
    message, salt = bytes.fromhex(given["input_msg"]), bytes.fromhex(given["salt"])
    factor = pow(number(given["inv"]), -1, n)
    blinded = blinded_by(n, e, message, salt=salt, factor=factor)
    assert blinded.request.hex() == expected["blinded_msg"]
    answer = pow(number(expected["blinded_msg"]), number(given["d"]), n)
    assert answer == number(expected["blind_sig"])
    signature = answer * blinded.inverse % n
    assert f"{signature:01024x}" == expected["sig"]
    library = rsa.RSAPublicNumbers(e, n).public_key()
    token = bytes.fromhex(expected["sig"])
    assert pss_verifies(library, message, token, salt_bytes=len(salt))
    assert not pss_verifies(library, message + b"?", token, salt_bytes=len(salt))


def test_rfc_9578(token_case: tuple[dict[str, Any], dict[str, str], IssuerKey]) -> None:
    given, expected, private = token_case
    public = IssuerPublicKey.from_spki(bytes.fromhex(expected["pkS"]))
    assert public == private.public
    assert public.spki.hex() == expected["pkS"]
    context = hashlib.sha256(bytes.fromhex(given["token_challenge"])).digest()
    message = token_input(bytes.fromhex(given["nonce"]), context, public.spki)
    # The vectors give the factor itself; ours is one more than the bytes, mod n - 1.
    factor = (number(given["blind"]) - 1).to_bytes(BLIND_BYTES, "big")
    blinded = blind(public, message, salt=bytes.fromhex(given["salt"]), blind=factor)
    body = request_body(public, [blinded.request])
    assert body.hex() == expected["token_request"]
    (asked,) = parse_requests(body, key=public, slots=1)
    answer = private.sign(asked)
    assert answer.hex() == expected["token_response"]
    assert (message + finalize(public, message, blinded, answer)).hex() == expected["token"]


@pytest.mark.parametrize(("given", "expected"), cases("blind_checked", count=3))
def test_a_modulus_of_small_primes(given: dict[str, str], expected: str) -> None:
    public = IssuerPublicKey(number(given["n"]))
    message, salt = bytes.fromhex(given["token_input"]), bytes.fromhex(given["salt"])
    made = bytes.fromhex(given["blind"])
    if expected == "refused":
        with pytest.raises(TokenRefused, match="made to mark people"):
            blind(public, message, salt=salt, blind=made)
    else:
        assert blind(public, message, salt=salt, blind=made).request.hex() == expected


def test_both_ways_of_a_common_divisor_are_met() -> None:
    """One vector is refused for its message, another for its factor."""
    words = []
    for given, expected in cases("blind_checked", count=3):
        if expected == "refused":
            with pytest.raises(TokenRefused) as caught:
                blind(
                    IssuerPublicKey(number(given["n"])),
                    bytes.fromhex(given["token_input"]),
                    salt=bytes.fromhex(given["salt"]),
                    blind=bytes.fromhex(given["blind"]),
                )
            words.append(caught.value.expected)
    assert [("message" in text, "factor" in text) for text in words] == [
        (True, False),
        (False, True),
    ]


def test_signatures_are_those_of_the_library(key: IssuerKey) -> None:
    """What is finalized verifies as PSS, and it is m^d, which the library computes too."""
    message = b"a token input"
    blinded = blind(key.public, message, salt=SALT, blind=BLIND)
    token = finalize(key.public, message, blinded, key.sign(blinded.request))
    scheme = padding.PSS(padding.MGF1(SHA384()), salt_length=48)
    key.public.library_key.verify(token, message, scheme, SHA384())
    encoded = pss_encode(message, bits=2047, salt=SALT)
    assert pow(int.from_bytes(token, "big"), 65537, key.public.n) == int.from_bytes(encoded, "big")


def test_the_library_signs_what_verifies(key: IssuerKey) -> None:
    """The other direction, for our verification: a signature that the library made."""
    p, q = key.p, key.q
    d = pow(65537, -1, (p - 1) * (q - 1))
    numbers = rsa.RSAPrivateNumbers(
        p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p), rsa.RSAPublicNumbers(65537, p * q)
    )
    scheme = padding.PSS(padding.MGF1(SHA384()), salt_length=48)
    signature = numbers.private_key().sign(b"m", scheme, SHA384())
    assert verify(key.public, b"m", signature)
    short = padding.PSS(padding.MGF1(SHA384()), salt_length=47)
    assert not verify(key.public, b"m", numbers.private_key().sign(b"m", short, SHA384()))


def test_signing_without_gmpy2_gives_the_same(
    key: IssuerKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    blinded = blind(key.public, b"m", salt=SALT, blind=BLIND)
    first = key.sign(blinded.request)
    plain = {"_power": pow, "_shown_power": pow, "_number": int, "_EXPONENT": 65537}
    for name, value in plain.items():
        monkeypatch.setattr(issuer_key, name, value)
    # Anew: it keeps its numbers as they are computed with.
    key = IssuerKey.from_bytes(key.to_bytes())
    assert key.sign(blinded.request) == first
    assert {type(number) for number in key._numbers} == {int}


@pytest.mark.parametrize("edge", [0, 1, 2, -1])
def test_the_ends_of_the_range_are_signed(key: IssuerKey, edge: int) -> None:
    asked = edge % key.public.n
    answer = int.from_bytes(key.sign(asked.to_bytes(256, "big")), "big")
    assert pow(answer, 65537, key.public.n) == asked


def test_a_multiple_of_a_prime_is_signed_right(key: IssuerKey) -> None:
    answer = int.from_bytes(key.sign((5 * key.p).to_bytes(256, "big")), "big")
    assert pow(answer, 65537, key.public.n) == 5 * key.p


def test_what_is_not_below_the_modulus_is_not_signed(key: IssuerKey) -> None:
    n = key.public.n
    for request in (n.to_bytes(256, "big"), b"\xff" * 256, bytes(255), bytes(257), b""):
        with pytest.raises(TokenRefused):
            key.sign(request)


def test_a_fault_gives_no_answer(key: IssuerKey, monkeypatch: pytest.MonkeyPatch) -> None:
    """A root that is wrong modulo one prime alone would give the other to whoever asked."""

    def faulty(base: int, exponent: int, modulus: int) -> int:
        good = pow(base, exponent, modulus)
        return good ^ 1 if modulus == key.p else good

    monkeypatch.setattr(issuer_key, "_power", faulty)
    with pytest.raises(AssertionError, match="a fault"):
        key.sign(bytes(255) + b"\x07")


def test_exponents_and_bases_are_fresh(key: IssuerKey, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two signatures of one request share no base and no exponent of the private powers."""
    seen: list[tuple[int, int]] = []

    def watched(base: int, exponent: int, modulus: int) -> int:
        if modulus != key.public.n:
            seen.append((base, exponent))
        return pow(base, exponent, modulus)

    monkeypatch.setattr(issuer_key, "_power", watched)
    request = bytes(255) + b"\x07"
    assert key.sign(request) == key.sign(request)
    assert len({base for base, _ in seen}) == len({exponent for _, exponent in seen}) == 4


SPKI = bytes.fromhex(cases("token", count=6)[0][1]["pkS"])


def spki_with(change: Callable[[bytearray], None]) -> bytes:
    spki = bytearray(SPKI)
    change(spki)
    return bytes(spki)


def _set(at: int, value: int) -> Callable[[bytearray], None]:
    def change(spki: bytearray) -> None:
        spki[at] = value

    return change


@pytest.mark.parametrize(
    "spki",
    [
        spki_with(_set(-6, SPKI[-6] & 0xFE)),  # even n
        spki_with(_set(-1, 3)),  # e = 65539
        SPKI[:-5] + bytes.fromhex("020103"),  # e = 3, three bytes shorter
        SPKI[:-5] + bytes.fromhex("0203000003"),  # e = 3, written long
        spki_with(_set(81, 0x7F)),  # n of 2,047 bits
        spki_with(_set(80, 1)),  # n of 2,049 bits
        SPKI[:-1],
        SPKI + b"\x00",
        b"",
    ],
)
def test_a_key_that_is_refused(spki: bytes) -> None:
    with pytest.raises(TokenRefused):
        IssuerPublicKey.from_spki(spki)


def test_every_byte_of_the_prefix_counts() -> None:
    IssuerPublicKey.from_spki(SPKI)
    for at in range(81):
        with pytest.raises(TokenRefused):
            IssuerPublicKey.from_spki(spki_with(_set(at, SPKI[at] ^ 1)))


def test_the_identifier_of_plain_rsa_is_refused() -> None:
    """The same n and e under rsaEncryption, as libraries write it."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    public = IssuerPublicKey.from_spki(SPKI)
    plain = public.library_key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    with pytest.raises(TokenRefused):
        IssuerPublicKey.from_spki(plain)


def _prime_with_divisor(divisor: int) -> int:
    """Return a prime p of 1,024 bits with p = 1 mod divisor, and p = 1 mod 4 left to chance."""
    start = (3 << 1022) // (2 * divisor) * 2 * divisor + 1
    return next(
        candidate
        for candidate in range(start, start + (1 << 20) * divisor, 2 * divisor)
        if pow(2, candidate - 1, candidate) == 1 and pow(3, candidate - 1, candidate) == 1
    )


def test_an_exponent_that_divides_p_minus_one_marks_nobody(key: IssuerKey) -> None:
    """Where x -> x^e is no bijection mod n, most messages have no root: nothing is finalized."""
    p = _prime_with_divisor(65537)
    n = p * key.p
    assert n.bit_length() == 2048
    public = IssuerPublicKey(n)
    message = b"a token input"
    blinded = blind(public, message, salt=SALT, blind=BLIND)
    # The best that this issuer can answer: a root modulo the good prime, anything modulo p.
    root = pow(int.from_bytes(blinded.request, "big"), pow(65537, -1, key.p - 1), key.p)
    answer = root + key.p * ((1 - root) * pow(key.p, -1, p) % p)
    with pytest.raises(TokenRefused, match="Send nothing"):
        finalize(public, message, blinded, answer.to_bytes(256, "big"))
    with pytest.raises(InvalidParameter):
        IssuerKey(max(p, key.p), min(p, key.p))


def test_a_changed_answer_gives_no_token(key: IssuerKey) -> None:
    message = b"a token input"
    blinded = blind(key.public, message, salt=SALT, blind=BLIND)
    answer = key.sign(blinded.request)
    whole = int.from_bytes(answer, "big") + key.public.n
    wrong = [answer[:-1], answer + b"\x00", b"", bytes(256), blinded.request]
    wrong += [bytes([*answer[:at], answer[at] ^ 1, *answer[at + 1 :]]) for at in (0, 100, 255)]
    wrong += [whole.to_bytes(257, "big")]
    for other in wrong:
        with pytest.raises(TokenRefused):
            finalize(key.public, message, blinded, other)
    with pytest.raises(TokenRefused):
        finalize(key.public, b"another", blinded, answer)
    # The negative root: s^e = -m is refused as well.
    negative = key.public.n - int.from_bytes(answer, "big")
    with pytest.raises(TokenRefused):
        finalize(key.public, message, blinded, negative.to_bytes(256, "big"))


def test_a_signature_with_another_salt_is_refused(key: IssuerKey) -> None:
    """It verifies, but s^e is not the m that was blinded: s could carry a mark in its salt."""
    message = b"a token input"
    blinded = blind(key.public, message, salt=SALT, blind=BLIND)
    marked = blind(key.public, message, salt=SALT[::-1], blind=BLIND)
    answer = key.sign(marked.request)
    assert verify(key.public, message, finalize(key.public, message, marked, answer))
    with pytest.raises(TokenRefused):
        finalize(key.public, message, blinded, answer)


def test_an_answer_has_one_form(key: IssuerKey) -> None:
    """The same number plus n, where both have 256 bytes: the answer of this factor is 7."""
    n, message = key.public.n, b"a token input"
    root = int.from_bytes(key.sign(pss_encode(message, bits=2047, salt=SALT)), "big")
    blinded = blinded_by(n, 65537, message, salt=SALT, factor=7 * pow(root, -1, n) % n)
    assert key.sign(blinded.request) == (7).to_bytes(256, "big")
    assert finalize(key.public, message, blinded, (7).to_bytes(256, "big"))
    with pytest.raises(TokenRefused):
        finalize(key.public, message, blinded, (7 + n).to_bytes(256, "big"))


def test_a_factor_is_never_zero(key: IssuerKey) -> None:
    n = key.public.n
    for value in (0, n - 1, n - 2):
        made = value.to_bytes(BLIND_BYTES, "big")
        blinded = blind(key.public, b"m", salt=SALT, blind=made)
        assert blinded.inverse * (value % (n - 1) + 1) % n == 1


def test_bodies_that_are_refused(key: IssuerKey) -> None:
    body = request_body(key.public, [bytes(256), bytes(255) + b"\x01"])
    wrong = [body[:-1], body + b"\x00", body[:259], body * 2, b""]
    wrong += [bytes([*body[:at], body[at] ^ 1, *body[at + 1 :]]) for at in (0, 1, 2, 259, 260, 261)]
    wrong += [request_body(key.public, [bytes(256), key.public.n.to_bytes(256, "big")])]
    for changed in wrong:
        with pytest.raises(TokenRefused):
            parse_requests(changed, key=key.public, slots=2)


def test_a_key_is_kept_and_read_again(key: IssuerKey) -> None:
    assert IssuerKey.from_bytes(key.to_bytes()) == key
    assert str(key.p) not in repr(key)
    blinded = blind(key.public, b"m", salt=SALT, blind=BLIND)
    assert str(blinded.inverse) not in repr(blinded)
    swapped = key.to_bytes()[128:] + key.to_bytes()[:128]
    for data in (b"", key.to_bytes()[:-1], bytes(256), swapped):
        with pytest.raises(InvalidParameter):
            IssuerKey.from_bytes(data)


def test_coins_depend_on_seed_card_and_slot() -> None:
    first = token_coins(b"s" * 32, card_digest=b"c" * 32, nonce=slot_nonce(b"slot"))
    assert first == token_coins(b"s" * 32, card_digest=b"c" * 32, nonce=slot_nonce(b"slot"))
    others = [
        token_coins(b"t" * 32, card_digest=b"c" * 32, nonce=slot_nonce(b"slot")),
        token_coins(b"s" * 32, card_digest=b"d" * 32, nonce=slot_nonce(b"slot")),
        token_coins(b"s" * 32, card_digest=b"c" * 32, nonce=slot_nonce(b"slit")),
    ]
    salts, blinds = zip(first, *others, strict=True)
    assert len(set(salts)) == len(set(blinds)) == 4


def test_a_bad_encoding_is_refused(key: IssuerKey) -> None:
    with pytest.raises(InvalidParameter, match="777"):
        pss_encode(b"", bits=776, salt=bytes(48))
    assert len(pss_encode(b"", bits=777, salt=bytes(48))) == 98
    for salt in (b"", SALT[:47], SALT + b"0"):
        with pytest.raises(TokenRefused, match="salt of 48"):
            blind(key.public, b"m", salt=salt, blind=BLIND)
