"""A client written from the page of the protocol alone, against the real parties over HTTP.

Nothing of the library is imported into it: HPKE is the tests' own from the RFC, the rest is the
standard library's, Ed25519 and the verification of PSS the cryptography library's.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import struct
import urllib.error
import urllib.request
from contextlib import ExitStack
from math import gcd
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA384

from tests.services.formats.rfc9180 import seal


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def vec(data: bytes) -> bytes:
    return struct.pack(">H", len(data)) + data


def tag(use: str) -> bytes:
    return b"esa/2 " + use.encode()


def expand(key: bytes, info: bytes, length: int) -> bytes:
    out, block = b"", b""
    for counter in range(1, 256):
        block = hmac.digest(key, block + info + bytes([counter]), "sha256")
        out += block
    return out[:length]


def pss_encode(message: bytes, salt: bytes) -> int:
    """Return EMSA-PSS-ENCODE with 2,047 bits (RFC 8017, 9.1.1), SHA-384."""
    seed = hashlib.sha384(bytes(8) + hashlib.sha384(message).digest() + salt).digest()
    block = bytes(256 - 48 - 48 - 2) + b"\x01" + salt
    mask = b"".join(hashlib.sha384(seed + struct.pack(">I", i)).digest() for i in range(5))
    masked = bytearray(a ^ b for a, b in zip(block, mask, strict=False))
    masked[0] &= 0x7F
    return int.from_bytes(bytes(masked) + seed + b"\xbc")


def call(method: str, url: str, secret: str = "", body: bytes | None = None) -> tuple[int, bytes]:
    request = urllib.request.Request(url, data=body, method=method)
    if secret:
        request.add_header("Authorization", f"Bearer {secret}")
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


class SecondClient:
    """One person of a Boolean sum; sections 3 to 5 of the page, without a store."""

    def __init__(self, task: bytes, issuer: str, shuffler: str) -> None:
        self.id, self.task = sha256(task), json.loads(task)
        self.issuer, self.shuffler = issuer, shuffler

    def send(self, bit: int, window: int, invitation: str, pass_secret: str) -> int:
        path = f"{self.id.hex()}/{window}"
        status, signed = call("GET", f"{self.issuer}/v2/tasks/{self.id.hex()}/cards/{window}")
        assert status == 200
        card = self.checked(signed, window)
        # The bit, flipped with probability noise / 2^64.
        value = bit ^ (secrets.randbits(64) < int(self.task["noise"]))
        digest = sha256(card)
        info = tag("inner") + digest
        self.slots = [seal(struct.pack(">I", value), card[82:114], info=info)]
        self.answered, signatures = self.tokens(card, path, invitation)
        if self.answered != 200:
            return self.answered
        start = struct.pack(">BH", 2, 1) + digest
        report = start + self.slots[0] + signatures[0]
        header = struct.pack(">BHHH", window % 256, 0x20, 1, 3)
        info = b"message/vnd.esa.report request\x00" + header
        sealed = header + seal(report, card[44:76], info=info)
        return call("POST", f"{self.shuffler}/v2/reports/{path}", pass_secret, sealed)[0]

    def checked(self, signed: bytes, window: int) -> bytes:
        card = signed[:-128]
        for party, signature in (("analyzer", signed[-128:-64]), ("shuffler", signed[-64:])):
            key = bytes.fromhex(self.task[f"{party}_sign_key"])
            Ed25519PublicKey.from_public_bytes(key).verify(signature, tag("card") + card)
        config = struct.pack(">BH", window % 256, 0x20) + card[44:76]
        config += struct.pack(">HHH", 4, 1, 3)
        start = b"\x02" + self.id + struct.pack(">I", window) + vec(vec(config))
        assert card[: len(start)] == start
        assert (len(card), card[114]) == (115 + 344, 1)
        return card

    def tokens(self, card: bytes, path: str, invitation: str) -> tuple[int, list[bytes]]:
        spki = card[117:]
        assert len(spki) == 342
        n, e = int.from_bytes(spki[81:337]), 65537
        assert spki[337:] == bytes.fromhex("0203010001")
        assert n.bit_length() == 2048
        assert n % 2 == 1
        digest, seed, body, kept = sha256(card), secrets.token_bytes(32), b"", []
        challenge = struct.pack(">H", 2) + vec(self.task["issuer"]["name"].encode()) + b"\x20"
        challenge += sha256(tag("token") + digest) + vec(self.task["origin"].encode())
        for slot in self.slots:
            nonce = sha256(tag("slot") + slot)
            message = struct.pack(">H", 2) + nonce + sha256(challenge) + sha256(spki)
            rest = digest + b"\x00" + nonce
            m = pss_encode(message, expand(seed, tag("salt") + rest, 48))
            r = int.from_bytes(expand(seed, tag("blind") + rest, 272)) % (n - 1) + 1
            assert gcd(m, n) == gcd(r, n) == 1
            body += struct.pack(">HB", 2, sha256(spki)[-1]) + (m * pow(r, e, n) % n).to_bytes(256)
            kept.append((message, m, r))
        status, answer = call("POST", f"{self.issuer}/v2/tokens/{path}", invitation, body)
        if status != 200:
            return status, []
        signatures = []
        for at, (message, m, r) in enumerate(kept):
            s = int.from_bytes(answer[256 * at : 256 * at + 256]) * pow(r, -1, n) % n
            assert pow(s, e, n) == m
            signatures.append(s.to_bytes(256))
            scheme = padding.PSS(padding.MGF1(SHA384()), salt_length=48)
            key = rsa.RSAPublicNumbers(e, n).public_key()
            key.verify(signatures[-1], message, scheme, SHA384())
        return 200, signatures


def marks_of(file: bytes, digest: bytes) -> list[bytes]:
    """Return the marks of a file, its head checked."""
    count = int.from_bytes(file[33:41])
    assert file[:33] == b"\x02" + digest
    marks = [file[at : at + 16] for at in range(41, len(file), 16)]
    assert len(marks) == count
    assert marks == sorted(marks)
    return marks


def test_a_client_from_the_page_takes_part_and_finds_itself(tmp_path: Path) -> None:
    # What sets the parties up is the library's; the client above has nothing of it.
    from smoothdp.services import issue_invitations, issue_passes
    from smoothdp.services.wire.running import on_loopback
    from tests.services.worlds.three_parties import HOUR, USERS, WINDOW, Parties

    with ExitStack() as stack:
        parties = Parties(tmp_path, stack)
        parties.round()
        issuer, shuffler = (
            stack.enter_context(on_loopback(party.app(parties.url, work_seconds=3600)))
            for party in (parties.issuer, parties.shuffler)
        )
        task = (tmp_path / "shuffler" / "task.json").read_bytes()
        passes = issue_passes(tmp_path / "shuffler", USERS)
        invitations = issue_invitations(tmp_path / "issuer", USERS)
        clients = [SecondClient(task, issuer, shuffler) for _ in range(USERS)]
        for number, client in enumerate(clients):
            sent = client.send(number % 2, WINDOW, invitations[number], passes[number])
            assert sent == 202
        # A second draw of a person is refused by the issuer.
        again = SecondClient(task, issuer, shuffler)
        assert again.send(1, WINDOW, invitations[0], passes[0]) == again.answered == 409
        parties.now = float((WINDOW + 1) * HOUR)
        parties.round()
        parties.now += 600
        parties.round()
        parties.analyzer.work()
        token = json.loads((tmp_path / "collector/secrets.json").read_text())["collector_token"]
        asked = f"{parties.url}/v2/tasks/{clients[0].id.hex()}/results/{WINDOW}"
        status, answer = call("GET", asked, token)
        assert status == 200
        document = released(clients[0].task, answer)
        assert (document["users"], document["accounts_served"]) == (USERS, USERS)
        where = f"{shuffler}/v2/tasks/{clients[0].id.hex()}/marks/{WINDOW}"
        file = call("GET", where)[1]
        assert sha256(file).hex() == document["marks_sha256"]
        marks = marks_of(file, bytes.fromhex(document["card_digest"]))
        own = [sha256(tag("mark") + slot)[:16] for client in clients for slot in client.slots]
        assert sorted(own) == marks


def released(task: dict[str, Any], answer: bytes) -> dict[str, Any]:
    """Return a released document, both services' signatures and hashes checked."""
    outer = json.loads(answer)
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(task["analyzer_sign_key"]))
    text = outer["result"].encode()
    key.verify(bytes.fromhex(outer["signature"]), tag("result") + sha256(text))
    document: dict[str, Any] = json.loads(text)
    header = bytes.fromhex(document["batch_header"])
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(task["shuffler_sign_key"]))
    key.verify(header[-64:], tag("batch") + header[:-64])
    assert header[2:34].hex() == document["card_digest"]
    assert header[-96:-64].hex() == document["marks_sha256"]
    return document
