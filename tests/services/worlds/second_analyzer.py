"""An analyser written from the page of the protocol alone, for one run.

Nothing of the library's services is imported into it: HPKE is the tests' own from the RFC. Inner
keys and the ledger are files; it holds in memory what else the page wants on disk.
"""

from __future__ import annotations

import json
import math
import os
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tests.services.worlds.second_accountant import NOTHING, SecondAccountant
from tests.services.worlds.second_checks import is_gateway, is_signed, is_spki, opened, sha256, vec
from tests.services.worlds.second_party import RefusedError, tag

PART, WEEK = 16_384, 7 * 86_400
WORDS = {400: "malformed", 401: "unauthorized", 404: "unknown", 408: "slow", 409: "other"}
WORDS |= {410: "over", 413: "long", 422: "damaged", 425: "too-early", 503: "later"}
RELEASED, REFUSED, QUARANTINED, OVER = "RELEASED", "REFUSED", "QUARANTINED", "OVER"


def refused(status: int, after: float | None = None) -> RefusedError:
    return RefusedError(status, WORDS[status], None if after is None else math.ceil(after))


def verdict(wall: float, peer: float, close: float, age: float) -> str:
    if not 0 <= age <= 600 or not abs(wall - peer) <= 60:
        return "hold"
    return "close" if min(wall, peer) >= close else "open"


@dataclass
class Window:
    keys: dict[str, bytes] = field(default_factory=dict)
    half: bytes = b""  # card and sigA
    signed: bytes = b""  # with sigS
    header: bytes = b""
    parts: dict[int, bytes] = field(default_factory=dict)
    tally: Counter[int] | None = None
    fault: str = ""  # why it is quarantined
    marks: bytes = b""  # the hash that A made
    served: bytes = b""
    state: str = ""
    result: bytes = b""

    @property
    def card(self) -> bytes:
        return self.half[:-64]

    @property
    def hashes(self) -> list[bytes]:
        body = self.header[66:-96]
        return [body[at : at + 32] for at in range(0, len(body), 32)]

    @property
    def users(self) -> int:
        return int(struct.unpack(">I", self.header[50:54])[0])


class SecondAnalyzer:
    def __init__(
        self,
        task: bytes,
        own: dict[str, str],
        callers: dict[str, str],
        folder: Path,
        now: Callable[[], float] = time.time,
        boot: Callable[[], float] = time.monotonic,
    ) -> None:
        self.task, self.id, self.folder = json.loads(task), sha256(task), folder
        self.now, self.boot, self.callers = now, boot, callers
        self.sign_key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(own["sign_key"]))
        self.length, self.grace = (int(self.task[f"{of}_seconds"]) for of in ("window", "grace"))
        self.q, self.law = int(self.task["proof"] == "slots"), SecondAccountant(self.task)
        self.record, self.m = 52 + 256 * self.q, int(self.task["slots"])
        least = int(self.task["min_batch"])
        assert self.law.keeps(least - self.law.false_of(least))
        self.windows, self.lock = dict[int, Window](), threading.RLock()
        self.told, self.heard, self.moved = math.nan, -math.inf, False
        self.start = now() - boot()

    # Section 8.
    def guard(self, close: float) -> str:
        wall, age = self.now(), self.boot() - self.heard
        self.moved = self.moved or abs(wall - self.boot() - self.start) > 60
        return "hold" if self.moved else verdict(wall, self.told + age, close, age)

    def clock(self, who: str, body: bytes) -> bytes:
        if who == "shuffler":
            self.hear(body)
        if (self.guard(0) == "hold" and who == "issuer") or self.moved:
            raise refused(503)
        return json.dumps({"time": self.now()}).encode()

    def hear(self, body: bytes) -> None:
        try:
            document = json.loads(body)
        except ValueError:
            raise refused(400) from None
        if not isinstance(document, dict):
            raise refused(400)
        if document:
            told: Any = document.get("time")
            if type(told) not in (int, float) or not 0 <= told < math.inf:
                raise refused(400)
            self.told, self.heard = float(told), self.boot()

    # Section 2: zeros are a key that was erased, and the file says for ever that sigA left.
    def inner_file(self, w: int) -> Path:
        return self.folder / f"inner-{w}"

    def write(self, path: Path, data: bytes, mode: str) -> None:
        with path.open(mode) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def inner_keys(self) -> dict[int, bytes]:
        found = {int(one.name[6:]): one.read_bytes() for one in self.folder.glob("inner-*")}
        return {w: key for w, key in found.items() if any(key)}

    def erase(self, w: int) -> None:
        self.write(self.inner_file(w), bytes(32), "r+b")

    # Section 4.
    def put_key(self, kind: str, w: int, body: bytes) -> int:
        end, window = (w + 1) * self.length, self.windows.get(w, Window())
        if not (is_gateway(w, body) if kind == "gateway" else is_spki(body)):
            raise refused(400)
        if self.now() >= end:
            raise refused(410)
        early = end - self.length - self.now() - max(2 * self.length, 86_400)
        if early >= 0:
            raise refused(425, early)
        if not window.half and len({*self.inner_keys(), *self.charges()}) >= self.law.paid:
            raise refused(404)
        if kind in window.keys:
            if window.keys[kind] != body:
                raise refused(409)
            return 200
        self.windows.setdefault(w, window).keys[kind] = body
        if len(window.keys) == 1 + self.q and not self.inner_file(w).exists():
            self.make_card(w, window)
        return 201

    def make_card(self, w: int, window: Window) -> None:
        inner = X25519PrivateKey.generate()
        self.write(self.inner_file(w), inner.private_bytes_raw(), "xb")
        card = b"\x02" + self.id + struct.pack(">I", w) + vec(vec(window.keys["gateway"]))
        card += inner.public_key().public_bytes_raw() + bytes([self.q])
        card += vec(window.keys["issuer"]) if self.q else b""
        window.half = card + self.sign_key.sign(tag("card") + card)

    def get_card(self, w: int) -> bytes:
        window = self.windows.get(w, Window())
        if not window.half or not (window.signed or w in self.inner_keys()):
            raise refused(404)
        return window.signed or window.half

    def put_card(self, w: int, body: bytes) -> int:
        window = self.windows.get(w, Window())
        self.get_card(w)
        if window.signed and window.signed == body:
            return 200
        if window.signed or body[: len(window.half)] != window.half:
            raise refused(409)
        if len(body) != len(window.half) + 64 or not self.good(
            "shuffler", "card", window.card, body[-64:]
        ):
            raise refused(422)
        window.signed = body
        return 201

    def good(self, party: str, use: str, signed: bytes, signature: bytes) -> bool:
        issuer = self.task["issuer"] or {"sign_key": ""}
        key = issuer["sign_key"] if party == "issuer" else self.task[f"{party}_sign_key"]
        try:
            Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(
                signature, tag(use) + signed
            )
        except (InvalidSignature, ValueError):
            return False
        return True

    def put_served(self, w: int, body: bytes) -> int:
        window = self.windows.get(w, Window())
        if not window.signed:
            raise refused(409)
        own = body[:33] == b"\x02" + sha256(window.card) and len(body) == 105
        if not own or not self.good("issuer", "served", body[:-64], body[-64:]):
            raise refused(400)
        if window.served not in (b"", body):
            raise refused(409)
        known, window.served = bool(window.served), body
        return 200 if known else 201

    # Section 7.
    def put_batch(self, name: str, body: bytes) -> int:
        if len(body) < 162 or body[0] != 2 or (len(body) - 162) % 32:
            raise refused(400)
        users, slots, parts = struct.unpack(">IQI", body[50:66])
        if parts != (len(body) - 162) // 32 or parts != -(-slots // PART):
            raise refused(400)
        of = [w for w, one in self.windows.items() if one.signed and sha256(one.card) == body[2:34]]
        if not of:
            raise refused(409)
        w, window, task = of[0], self.windows[of[0]], self.task
        fits = task["min_batch"] <= users <= task["max_batch"] and slots == users * self.m
        if body[34:50].hex() != name or body[1] != self.q or not fits:
            raise refused(400)
        if not self.good("shuffler", "batch", body[:-64], body[-64:]):
            raise refused(400)
        if window.header:
            if window.header != body:
                raise refused(409)
            return 200
        close = (w + 1) * self.length + self.grace
        said = self.guard(close)
        if said != "close":
            raise refused(425, close - self.now()) if said == "open" else refused(503)
        if window.state or self.guard(close + WEEK) == "close":
            raise refused(409)
        window.header = body
        return 201

    def put_part(self, name: str, k: int, body: bytes) -> int:
        of = {one.header[34:50].hex(): w for w, one in self.windows.items() if one.header}
        window = self.windows[of[name]] if name in of else Window()
        if k >= len(window.hashes):
            raise refused(404)
        records = min(PART, window.users * self.m - k * PART)
        if len(body) != records * self.record or sha256(body) != window.hashes[k]:
            raise refused(422)
        if k in window.parts:
            return 200
        late = (of[name] + 1) * self.length + self.grace + WEEK
        if not window.state and self.guard(late) == "close":
            raise refused(409)
        window.parts[k] = b"" if window.state else body
        return 201

    def work(self) -> None:
        with self.lock:
            for w, window in sorted(self.windows.items()):
                if window.state or not window.half:
                    continue
                if window.header and len(window.parts) == len(window.hashes):
                    if window.tally is None and not window.fault:
                        self.count(w, window)
                    if window.fault or window.served or not self.q:
                        self.end(w, window, *self.judged(w, window))
                        continue
                if self.guard((w + 1) * self.length + self.grace + WEEK) == "close":
                    if window.header:
                        self.end(w, window, REFUSED, "no whole batch came in time", {})
                    else:
                        window.state = OVER
                        self.erase(w)
            for w in self.inner_keys():
                late = (w + 1) * self.length + self.grace + WEEK
                lost = not self.windows.get(w, Window()).half
                if lost and self.guard(late) == "close":
                    self.erase(w)

    def count(self, w: int, window: Window) -> None:
        records = [
            part[at : at + self.record]
            for _, part in sorted(window.parts.items())
            for at in range(0, len(part), self.record)
        ]
        slots, digest = [record[:52] for record in records], sha256(window.card)
        marks = b"".join(sorted(sha256(tag("mark") + slot)[:16] for slot in slots))
        count = struct.pack(">Q", len(slots))
        window.marks, window.tally = sha256(b"\x02" + digest + count + marks), None
        if len(set(slots)) < len(slots):
            window.fault = "two slots are equal"
        elif window.marks != window.header[-96:-64]:
            window.fault = "the marks are not those that the shuffler signed"
        elif self.q and not all(self.has_token(window, one) for one in records):
            window.fault = "a slot has no good signature of the issuer"
        else:
            inner, info = self.inner_keys()[w], tag("inner") + digest
            values = (opened(slot, inner, info) for slot in slots)
            window.tally = Counter(self.law.meaning(value) for value in values)

    def has_token(self, window: Window, record: bytes) -> bool:
        names = self.task["issuer"]["name"], self.task["origin"]
        return is_signed(record, window.keys["issuer"], sha256(window.card), names)

    def judged(self, w: int, window: Window) -> tuple[str, str, dict[str, Any]]:
        users, law, tally = window.users, self.law, window.tally
        accounts = int.from_bytes(window.served[33:41]) if window.served else None
        if tally is None:
            return QUARANTINED, window.fault, {}
        if accounts is not None and users > accounts:
            return QUARANTINED, "more users than accounts were served", {}
        allowed = law.false_of(users if accounts is None else accounts)
        honest = users - allowed
        if not law.holds(honest):
            return REFUSED, f"{honest} honest users do not keep the promise", {}
        if law.false_users(users, tally) > allowed:
            return QUARANTINED, "more users than are assumed did not follow the protocol", {}
        if law.name == "split_sum" and tally[NOTHING]:
            return REFUSED, "a share means nothing, so that the total could be any number", {}
        refusal = self.charge(w, sha256(window.header))
        if refusal:
            return REFUSED, refusal, {}
        said = {of: self.task[of] for of in ("epsilon", "delta", "unit")}
        return (
            RELEASED,
            "",
            {
                "protocol": law.name,
                "users": users,
                "honest_users_assumed": honest,
                "invalid_slots": tally[NOTHING],
                "promised": said,
                "epsilon_of_this_batch": law.epsilon_with(users, honest),
                **law.estimate(users, tally),
                "error_fails_with_probability": "0.05",
                "sentence": f"It holds if at least {honest} of the {users} followed the protocol.",
                "charged": {"number": len(self.charges())},
            },
        )

    def charges(self) -> dict[int, str]:
        path = self.folder / "ledger"
        lines = path.read_text().splitlines() if path.exists() else []
        return {int(w): header for w, header in (line.split() for line in lines)}

    def charge(self, w: int, header: bytes) -> str:
        charged = self.charges()
        if w in charged:
            return "" if charged[w] == header.hex() else "it was charged for another batch"
        if len(charged) >= self.law.paid:
            return "the budget is spent"
        self.write(self.folder / "ledger", f"{w} {header.hex()}\n".encode(), "ab")
        return ""

    def end(self, w: int, window: Window, state: str, reason: str, more: dict[str, Any]) -> None:
        document: dict[str, Any] = {"task_id": self.id.hex(), "window": w}
        document |= more if state == RELEASED else {"state": state, "reason": reason}
        if window.marks:
            served = int.from_bytes(window.served[33:41]) if window.served else None
            document |= {"accounts_served": served, "card_digest": sha256(window.card).hex()}
            document |= {"marks_sha256": window.marks.hex(), "batch_header": window.header.hex()}
        text = json.dumps(document)
        signature = self.sign_key.sign(tag("result") + sha256(text.encode()))
        answer = {"result": text, "signature": signature.hex()}
        window.state, window.result = state, json.dumps(answer).encode()
        window.tally, window.parts = None, dict.fromkeys(window.parts, b"")
        self.erase(w)

    def words(self, w: int) -> str:
        """Return what is said to people of a window without an end."""
        window, end = self.windows.get(w, Window()), (w + 1) * self.length
        if window.header:
            return "arriving" if len(window.parts) < len(window.hashes) else "counting"
        if self.now() < end:
            return "open" if self.now() >= end - self.length else "not begun"
        return "taking late reports" if self.now() < end + self.grace else "no batch"
