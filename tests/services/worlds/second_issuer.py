"""An issuer written from the page of the protocol alone, for one run.

Nothing of the library is imported into it. It holds in memory what section 6 wants on disk, and
its powers are Python's: for loopback, as the page says.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import secrets
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import gcd

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tests.services.worlds.second_party import AFTER, BEFORE, RefusedError, SecondParty, tag


@dataclass
class Window:
    key: rsa.RSAPrivateNumbers | None = field(
        default_factory=lambda: rsa.generate_private_key(65537, 2048).private_numbers()
    )
    tag_key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    card: bytes = b""  # with both signatures
    issued: dict[bytes, tuple[bytes, int]] = field(default_factory=dict)
    served: bytes = b""
    given: bool = False
    spki: bytes = b""

    def __post_init__(self) -> None:
        assert self.key is not None
        self.spki = BEFORE + self.key.public_numbers.n.to_bytes(256) + AFTER


class SecondIssuer(SecondParty):
    def __init__(
        self, task: bytes, own: dict[str, str], analyzer: str, now: Callable[[], float] = time.time
    ) -> None:
        super().__init__(task, own, analyzer, now)
        self.key = bytes.fromhex(own["invitation_key"])
        self.windows, self.lock = dict[int, Window](), threading.RLock()

    def round(self) -> None:
        self.exchange_clocks()
        self.make_cards()
        for w, window in self.windows.items():
            if window.card and not window.served and self.guard((w + 1) * self.length) == "close":
                with self.lock:
                    self.close(window)
            if window.served and not window.given:
                path = f"/v2/served/{self.id.hex()}/{w}"
                window.given = self.call("PUT", path, window.served)[0] in (200, 201)

    # Section 4.
    def make_cards(self) -> None:
        now, task = self.now(), self.id.hex()
        for w in itertools.count(int(now // self.length)):
            if w * self.length >= now + max(2 * self.length, 86_400):
                return
            window = self.windows[w] if w in self.windows else self.windows.setdefault(w, Window())
            if window.card:
                continue
            if self.call("PUT", f"/v2/issuer-keys/{task}/{w}", window.spki)[0] in (404, 425):
                return
            status, signed = self.call("GET", f"/v2/cards/{task}/{w}")
            if status == 200 and len(signed) == 115 + 344 + 128:
                self.check_card(w, signed, window.spki)
                window.card = signed

    def check_card(self, w: int, signed: bytes, spki: bytes) -> None:
        card, signatures = signed[:-128], (signed[-128:-64], signed[-64:])
        assert card[:37] == b"\x02" + self.id + struct.pack(">I", w)
        suites = struct.pack(">HHH", 4, 1, 3)
        assert card[37:44] == struct.pack(">HHBH", 43, 41, w % 256, 0x0020)
        assert card[76:82] == suites
        assert card[114:] == b"\x01" + struct.pack(">H", 342) + spki
        for party, signature in zip(("analyzer", "shuffler"), signatures, strict=True):
            key = bytes.fromhex(self.task[f"{party}_sign_key"])
            Ed25519PublicKey.from_public_bytes(key).verify(signature, tag("card") + card)

    # Section 6.
    def give(self, w: int, secret: str, length: int, read: Callable[[], bytes]) -> bytes:
        account, wanted = self.holder("invitation", self.key, secret), 259 * self.m
        if length != wanted:
            raise RefusedError(*((413, "long") if length > wanted else (400, "short")))
        begin, window = w * self.length, self.windows.get(w)
        if self.guard(begin + self.length) == "hold":
            raise RefusedError(503, "later")
        if self.now() >= begin + self.length:
            raise RefusedError(410, "over")
        if window is None or not window.card:
            raise RefusedError(404, "unknown")
        if self.now() < begin:
            raise RefusedError(425, "too-early", int(begin - self.now()) + 1)
        body = read()
        head = b"\x00\x02" + hashlib.sha256(window.spki).digest()[-1:]
        requests = [body[at : at + 259] for at in range(0, len(body), 259)]
        numbers = [int.from_bytes(request[3:]) for request in requests]
        with self.lock:
            if window.key is None:
                raise RefusedError(410, "over")
            n = window.key.public_numbers.n
            if any(one[:3] != head for one in requests) or any(one >= n for one in numbers):
                raise RefusedError(422, "key")
            name = hmac.digest(window.tag_key, account, "sha256")[:16]
            known, answers = window.issued.get(name, (hashlib.sha256(body).digest(), 0))
            if known != hashlib.sha256(body).digest():
                raise RefusedError(409, "other-request")
            if answers >= 6:
                raise RefusedError(429, "repeated")
            window.issued[name] = (known, answers + 1)
            key = window.key
        return b"".join(self.sign(key, number) for number in numbers)

    def sign(self, key: rsa.RSAPrivateNumbers, blinded: int) -> bytes:
        n, phi = key.public_numbers.n, (key.p - 1) * (key.q - 1)
        base = next(r for r in iter(lambda: secrets.randbelow(n), None) if gcd(r, n) == 1)
        exponent = key.d + secrets.randbits(64) * phi
        signed = pow(blinded * pow(base, 65537, n), exponent, n) * pow(base, -1, n) % n
        assert pow(signed, 65537, n) == blinded
        return signed.to_bytes(256)

    def close(self, window: Window) -> None:
        count = struct.pack(">Q", len(window.issued))
        served = b"\x02" + hashlib.sha256(window.card[:-128]).digest() + count
        window.served = served + self.sign_key.sign(tag("served") + served)
        window.key, window.tag_key, window.issued = None, b"", {}

    # Section 9.
    def shown(self, w: int) -> bytes:
        window = self.windows.get(w)
        end = (w + 1) * self.length + int(self.task["grace_seconds"])
        if window is None or not window.card or self.now() >= end:
            raise RefusedError(404, "unknown")
        return window.card

    @contextmanager
    def listening(self) -> Iterator[str]:
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                """No line names an address."""

            def answer(self, wanted: str, work: Callable[[int], bytes], kind: str) -> None:
                status, after = 200, None
                parts = self.path.removeprefix(wanted).split("/")
                try:
                    if not self.path.startswith(wanted) or not parts[0].isdecimal():
                        raise RefusedError(404, "unknown")
                    body = work(int(parts[0]))
                except RefusedError as error:
                    status, word, after = (*error.args, None)[:3]
                    kind, body = "problem+json", json.dumps({"type": f"urn:esa:2:{word}"}).encode()
                self.close_connection = True  # Of a refusal the body may not have been read.
                self.send_response(status)
                self.send_header("Content-Type", f"application/{kind}")
                self.send_header("Content-Length", str(len(body)))
                if after is not None:
                    self.send_header("Retry-After", str(after))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self) -> None:
                self.answer(f"/v2/tasks/{issuer.id.hex()}/cards/", issuer.shown, "vnd.esa.card")

            def do_POST(self) -> None:
                secret = self.headers.get("Authorization", "").removeprefix("Bearer ")
                length = int(self.headers["Content-Length"])
                self.answer(
                    f"/v2/tokens/{issuer.id.hex()}/",
                    lambda w: issuer.give(w, secret, length, lambda: self.rfile.read(length)),
                    "vnd.esa.tokens",
                )

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            server.server_close()
