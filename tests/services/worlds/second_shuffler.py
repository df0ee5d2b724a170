"""A shuffler written from the page of the protocol alone, for one run.

Nothing of the library is imported into it: HPKE is the tests' own from the RFC, Ed25519 and the
verification of PSS the cryptography library's. It holds in memory what section 6 wants on disk.
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
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import SystemRandom

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA384

from tests.services.formats.rfc9180 import open_sealed
from tests.services.worlds.second_party import AFTER, BEFORE, RefusedError, SecondParty, tag

SUITE = struct.pack(">HHH", 0x0020, 1, 3)
PART = 16_384
CARD, MARKS, PROBLEM = "vnd.esa.card", "vnd.esa.marks", "problem+json"


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def vec(data: bytes) -> bytes:
    return struct.pack(">H", len(data)) + data


@dataclass
class Window:
    gateway: X25519PrivateKey | None = field(default_factory=X25519PrivateKey.generate)
    tag_key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    card: bytes = b""  # with both signatures
    given: bool = False
    reports: dict[bytes, tuple[bytes, list[bytes]]] = field(default_factory=dict)
    looks: Counter[bytes] = field(default_factory=Counter)
    state: str = "OPEN"
    header: bytes = b""
    parts: list[bytes] = field(default_factory=list)
    marks: bytes = b""

    @property
    def digest(self) -> bytes:
        return sha256(self.card[:-128])


class SecondShuffler(SecondParty):
    def __init__(
        self, task: bytes, own: dict[str, str], analyzer: str, now: Callable[[], float] = time.time
    ) -> None:
        super().__init__(task, own, analyzer, now)
        self.pass_key = bytes.fromhex(own["pass_key"])
        self.windows, self.lock = dict[int, Window](), threading.RLock()
        self.q = int(self.task["proof"] == "slots")
        self.record = 52 + 256 * self.q

    def close_of(self, w: int) -> int:
        return (w + 1) * self.length + int(self.task["grace_seconds"])

    def round(self) -> None:
        self.exchange_clocks()
        self.make_cards()
        for w, window in sorted(self.windows.items()):
            if window.card and window.state == "OPEN" and self.guard(self.close_of(w)) == "close":
                with self.lock:
                    self.seal(window)
            if window.state == "SEALED":
                self.deliver(window)

    # Section 4.
    def make_cards(self) -> None:
        now, task = self.now(), self.id.hex()
        for w in itertools.count(int(now // self.length)):
            if w * self.length >= now + max(2 * self.length, 86_400):
                return
            window = self.windows.setdefault(w, Window())
            if not window.card and window.gateway:
                config = self.key_config(w, window.gateway)
                if self.call("PUT", f"/v2/gateway-keys/{task}/{w}", config)[0] in (404, 425):
                    return
                status, half = self.call("GET", f"/v2/cards/{task}/{w}")
                if status == 200:
                    self.check_card(w, config, half)
                    window.card = half + self.sign_key.sign(tag("card") + half[:-64])
            if window.card and not window.given:
                status = self.call("PUT", f"/v2/cards/{task}/{w}", window.card)[0]
                window.given = status in (200, 201)

    def key_config(self, w: int, key: X25519PrivateKey) -> bytes:
        public = key.public_key().public_bytes_raw()
        return bytes([w % 256]) + SUITE[:2] + public + struct.pack(">HHH", 4, 1, 3)

    def check_card(self, w: int, config: bytes, half: bytes) -> None:
        card, signature = half[:-64], half[-64:]
        start = b"\x02" + self.id + struct.pack(">I", w) + vec(vec(config))
        inner, rest = card[len(start) :][:32], card[len(start) + 32 :]
        modulus = rest[3 + len(BEFORE) : -len(AFTER)]
        spki = vec(BEFORE + modulus + AFTER) if self.q else b""
        assert card == start + inner + bytes([self.q]) + spki
        assert len(card) == 115 + 344 * self.q
        assert not self.q or (modulus[0] >= 128 and modulus[-1] % 2)
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.task["analyzer_sign_key"]))
        key.verify(signature, tag("card") + card)
        # It raises where the shared secret is zero.
        X25519PrivateKey.generate().exchange(X25519PublicKey.from_public_bytes(inner))

    # Section 6.
    def take(self, w: int, secret: str, length: int, read: Callable[[], bytes]) -> None:
        sender = self.holder("pass", self.pass_key, secret)
        wanted = 55 + 35 + self.m * self.record
        if length != wanted:
            raise RefusedError(*((413, "long") if length > wanted else (400, "malformed")))
        verdict, early = self.guard(self.close_of(w)), w * self.length - self.now()
        window = self.windows.get(w, Window())
        if verdict == "hold":
            raise RefusedError(503, "later")
        if early > 0:
            raise RefusedError(425, "too-early", int(early) + 1)
        if not window.card:
            raise RefusedError(404, "unknown")
        if verdict == "close" or window.state != "OPEN":
            raise RefusedError(410, "over")
        report = self.opened(w, window, read())
        records = [report[at : at + self.record] for at in range(35, len(report), self.record)]
        if not all(a[:52] < b[:52] for a, b in itertools.pairwise(records)):
            raise RefusedError(400, "malformed")
        if report[3:35] != window.digest:
            raise RefusedError(404, "unknown")
        with self.lock:
            if window.state != "OPEN":
                raise RefusedError(410, "over")
            name, known = (
                hmac.digest(window.tag_key, of, "sha256")[:16]
                for of in (sender, sha256(tag("report") + report))
            )
            if name in window.reports:
                if window.reports[name][0] == known:
                    return
                raise RefusedError(409, "other-report")
            if window.looks[name] >= 5:
                raise RefusedError(429, "repeated")
            if self.q and not all(self.signed(window, record) for record in records):
                window.looks[name] += 1
                raise RefusedError(403, "unsigned")
            if len(window.reports) >= self.task["max_batch"]:
                raise RefusedError(503, "later")
            if any(other == known for other, _ in window.reports.values()):
                raise RefusedError(409, "other-report")
            window.reports[name] = (known, records)

    def opened(self, w: int, window: Window, body: bytes) -> bytes:
        header, gateway = bytes([w % 256]) + SUITE, window.gateway
        if body[:7] != header or gateway is None:
            raise RefusedError(400, "malformed")
        info = b"message/vnd.esa.report request\x00" + header
        try:
            report = open_sealed(body[7:], gateway.private_bytes_raw(), info=info)
        except (InvalidTag, ValueError):
            raise RefusedError(400, "malformed") from None
        if report[:3] != b"\x02" + struct.pack(">H", self.m):
            raise RefusedError(400, "malformed")
        return report

    # Section 3.4.
    def signed(self, window: Window, record: bytes) -> bool:
        spki = window.card[-128 - 342 : -128]
        origins = [vec(self.task["issuer"]["name"].encode()), vec(self.task["origin"].encode())]
        challenge = b"\x20" + sha256(tag("token") + window.digest)
        challenge = b"\x00\x02" + origins[0] + challenge + origins[1]
        token = b"\x00\x02" + sha256(tag("slot") + record[:52]) + sha256(challenge) + sha256(spki)
        modulus = int.from_bytes(spki[len(BEFORE) : -len(AFTER)])
        pss = padding.PSS(padding.MGF1(SHA384()), 48)
        try:
            key = rsa.RSAPublicNumbers(65537, modulus).public_key()
            key.verify(record[52:], token, pss, SHA384())
        except InvalidSignature:
            return False
        return True

    # Section 3.5.
    def seal(self, window: Window) -> None:
        all_reports = [records for _, records in window.reports.values()]
        seen = Counter(record[:52] for records in all_reports for record in records)
        kept = [records for records in all_reports if all(seen[r[:52]] == 1 for r in records)]
        window.reports, window.tag_key, window.gateway = {}, b"", None
        window.state = "EXPIRED" if len(kept) < self.task["min_batch"] else "SEALED"
        if window.state == "EXPIRED":
            return
        order = [record for records in kept for record in records]
        SystemRandom().shuffle(order)
        count = struct.pack(">Q", len(order))
        marks = sorted(sha256(tag("mark") + record[:52])[:16] for record in order)
        window.marks = b"\x02" + window.digest + count + b"".join(marks)
        window.parts = [b"".join(order[at : at + PART]) for at in range(0, len(order), PART)]
        header = bytes([2, self.q]) + window.digest + secrets.token_bytes(16)
        header += struct.pack(">I", len(kept)) + count + struct.pack(">I", len(window.parts))
        header += b"".join(map(sha256, window.parts)) + sha256(window.marks)
        window.header = header + self.sign_key.sign(tag("batch") + header)

    def deliver(self, window: Window) -> None:
        path = f"/v2/batches/{window.header[34:50].hex()}"
        sent = [(path, window.header)]
        sent += [(f"{path}/parts/{k}", part) for k, part in enumerate(window.parts)]
        if all(self.call("PUT", *one)[0] in (200, 201) for one in sent):
            window.state, window.parts = "DELIVERED", []

    # Section 9.
    def shown(self, path: list[str]) -> tuple[str, bytes]:
        match path:
            case ["v2", "tasks", _]:
                return "json", self.encoded
            case ["v2", "tasks", _, "marks", w]:
                window = self.windows.get(int(w), Window())
                if window.state == "EXPIRED":
                    raise RefusedError(410, "over")
                if window.marks:
                    return MARKS, window.marks
            case ["v2", "tasks", _, "cards", w] if not self.q:
                card = self.windows.get(int(w), Window()).card
                if card and self.now() < self.close_of(int(w)):
                    return CARD, card
        raise RefusedError(404, "unknown")

    @contextmanager
    def listening(self) -> Iterator[str]:
        shuffler = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                """No line names an address."""

            def answer(self, work: Callable[[list[str]], tuple[int, str, bytes]]) -> None:
                path, after = self.path.split("/")[1:], None
                try:
                    if path[2:3] != [shuffler.id.hex()]:
                        raise RefusedError(404, "unknown")
                    status, kind, body = work(path)
                except RefusedError as error:
                    status, word, after = (*error.args, None)[:3]
                    kind, body = PROBLEM, json.dumps({"type": f"urn:esa:2:{word}"}).encode()
                self.close_connection = True  # Of a refusal the body may not have been read.
                self.send_response(status)
                self.send_header("Content-Type", f"application/{kind}")
                self.send_header("Content-Length", str(len(body)))
                if after is not None:
                    self.send_header("Retry-After", str(after))
                self.end_headers()
                self.wfile.write(b"" if self.command == "HEAD" else body)

            def do_GET(self) -> None:
                self.answer(lambda path: (200, *shuffler.shown(path)))

            def do_HEAD(self) -> None:
                self.do_GET()

            def do_POST(self) -> None:
                secret = self.headers.get("Authorization", "").removeprefix("Bearer ")
                length = int(self.headers["Content-Length"])

                def work(path: list[str]) -> tuple[int, str, bytes]:
                    if path[1] != "reports":
                        raise RefusedError(404, "unknown")
                    shuffler.take(int(path[3]), secret, length, lambda: self.rfile.read(length))
                    return 202, "octet-stream", b""

                self.answer(work)

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            server.server_close()
