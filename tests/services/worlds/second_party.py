"""What the shuffler and the issuer that were written from the page alone share."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

# RFC 9578, section 8.2.2: what stands before and after the modulus.
BEFORE = bytes.fromhex(
    "30820152303d06092a864886f70d01010a3030a00d300b0609608648016503040202a11a301806092a864886f70d"
    "010108300b0609608648016503040202a2030201300382010f003082010a0282010100"
)
AFTER = bytes.fromhex("0203010001")


def tag(use: str) -> bytes:
    return b"esa/2 " + use.encode()


class RefusedError(Exception):
    """Status and word of a refusal, and the seconds of Retry-After."""


class SecondParty:
    def __init__(
        self, task: bytes, own: dict[str, str], analyzer: str, now: Callable[[], float] = time.time
    ) -> None:
        self.encoded, self.task, self.now = task, json.loads(task), now
        self.id, self.length = hashlib.sha256(task).digest(), int(self.task["window_seconds"])
        self.m = int(self.task["slots"])
        self.sign_key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(own["sign_key"]))
        self.token, self.analyzer = own["analyzer_token"], analyzer
        self.told, self.heard = float("nan"), float("-inf")

    def call(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        request = urllib.request.Request(self.analyzer + path, data=body, method=method)
        request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    # Section 8, but for the clock that is set while the process runs.
    def guard(self, close: float) -> str:
        wall, age = self.now(), time.monotonic() - self.heard
        if not 0 <= age <= 600 or not abs(wall - self.told - age) <= 60:
            return "hold"
        return "close" if min(wall, self.told + age) >= close else "open"

    def exchange_clocks(self) -> None:
        document = json.dumps({"time": self.now()}).encode()
        status, answer = self.call("POST", "/v2/clock", document)
        if status == 200:
            self.told, self.heard = float(json.loads(answer)["time"]), time.monotonic()

    def holder(self, use: str, key: bytes, secret: str) -> bytes:
        given = bytes.fromhex(secret) if len(secret) == 96 else bytes(48)
        wanted = hmac.digest(key, tag(use) + self.id + given[:16], "sha256")
        if not hmac.compare_digest(given[16:], wanted):
            raise RefusedError(401, "unauthorized")
        return given[:16]
