"""The library's analyser and the one from the page, asked the same: they answer alike."""

from __future__ import annotations

import json
import struct
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA384

from smoothdp.services.client.collector import read_collector
from tests.services.formats.rfc9180 import seal
from tests.services.worlds.second_analyzer import WEEK
from tests.services.worlds.second_checks import sha256, vec
from tests.services.worlds.second_party import AFTER, BEFORE, tag
from tests.services.worlds.second_world import GRACE, HOUR, WINDOW, SecondWorld

pytestmark = pytest.mark.slow

END = (WINDOW + 1) * HOUR + GRACE
ISSUER = rsa.generate_private_key(65537, 2048)
SPKI = BEFORE + ISSUER.public_key().public_numbers().n.to_bytes(256) + AFTER
BATCH = b"b" * 16
DUMMY, NOTHING, SHUT = 0xFFFFFFFF, 0xFFFFFFFE, -1
"""A dummy, a value that means nothing, and a slot that does not open."""


class Asked:
    """One analyser, whose answers are noted; shuffler and issuer are made by hand."""

    def __init__(self, folder: Path, stack: ExitStack, kind: str, **more: Any) -> None:
        folder.mkdir()
        second = ("shuffler", "issuer", *(["analyzer"] if kind == "page" else []))
        self.world = SecondWorld(folder, stack, second=second, **more)
        self.shuffler = self.world.others["shuffler"]
        self.issuer = self.world.others.get("issuer")
        self.collector = read_collector(self.world.made.collector)[1]
        self.task, self.said = self.world.task, list[Any]()
        self.http = stack.enter_context(httpx.Client(base_url=self.world.url))
        self.id = self.task.task_id.hex()
        self.sync()

    def ask(self, method: str, path: str, token: str, body: bytes = b"") -> httpx.Response:
        answer = self.http.request(
            method,
            f"/v2/{path}",
            headers={"authorization": f"Bearer {token}"},
            content=body,
        )
        is_problem = answer.headers.get("content-type", "").startswith("application/problem")
        word = answer.json()["type"] if is_problem else ""
        self.said.append((method, path.replace(self.id, "{id}"), answer.status_code, word))
        return answer

    def by_shuffler(self, path: str, body: bytes = b"", method: str = "PUT") -> bytes:
        return self.ask(method, path, self.shuffler.token, body).content

    def by_issuer(self, path: str, body: bytes = b"", method: str = "PUT") -> bytes:
        assert self.issuer is not None
        return self.ask(method, path, self.issuer.token, body).content

    def sync(self) -> None:
        self.by_shuffler("clock", json.dumps({"time": self.world.now}).encode(), "POST")

    def gateway(self, window: int = WINDOW, number: int = 1) -> bytes:
        key = X25519PrivateKey.from_private_bytes(bytes([number]) * 32)
        return bytes(self.shuffler.key_config(window, key))

    def card(self, window: int = WINDOW) -> bytes:
        """Bring both keys; return the card with both signatures, which A does not have yet."""
        self.by_shuffler(f"gateway-keys/{self.id}/{window}", self.gateway(window))
        if self.issuer:
            self.by_issuer(f"issuer-keys/{self.id}/{window}", SPKI)
        half = self.by_shuffler(f"cards/{self.id}/{window}", method="GET")
        return half + bytes(self.shuffler.sign_key.sign(tag("card") + half[:-64]))

    def served(self, card: bytes, accounts: int) -> bytes:
        assert self.issuer is not None
        told = b"\x02" + sha256(card[:-128]) + struct.pack(">Q", accounts)
        return told + bytes(self.issuer.sign_key.sign(tag("served") + told))

    def batch(self, card: bytes, values: list[int], **changed: Any) -> tuple[bytes, bytes]:
        """Return header and part of a batch of these values."""
        digest, names = sha256(card[:-128]), [self.task.origin]
        slots = []
        for value in values:
            shown = (0 if value == SHUT else value).to_bytes(4)
            slot = seal(shown, card[82:114], info=tag("inner") + digest)
            slots.append(slot if value != SHUT else slot[:-1] + bytes([slot[-1] ^ 1]))
        signatures = [b""] * len(slots)
        if self.task.issuer is not None:
            names.insert(0, self.task.issuer.name)
            issuer, origin = (vec(name.encode()) for name in names)
            challenge = issuer + b"\x20" + sha256(tag("token") + digest) + origin
            end = sha256(b"\x00\x02" + challenge) + sha256(SPKI)
            pss = padding.PSS(padding.MGF1(SHA384()), 48)
            tokens = (b"\x00\x02" + sha256(tag("slot") + slot) + end for slot in slots)
            signatures = [ISSUER.sign(token, pss, SHA384()) for token in tokens]
        part = b"".join(a + b for a, b in zip(slots, signatures, strict=True))
        marks = b"".join(sorted(sha256(tag("mark") + slot)[:16] for slot in slots))
        of: dict[str, Any] = {
            "version": 2,
            "q": int(self.issuer is not None),
            "digest": digest,
            "id": BATCH,
        }
        of |= {"users": len(slots) // self.task.slots, "slots": len(slots), "parts": 1} | changed
        header = bytes([of["version"], of["q"], *of["digest"], *of["id"]])
        header += struct.pack(">IQI", of["users"], of["slots"], of["parts"]) + sha256(part)
        header += sha256(b"\x02" + digest + struct.pack(">Q", len(slots)) + marks)
        return header + bytes(self.shuffler.sign_key.sign(tag("batch") + header)), part

    def ended(self, window: int = WINDOW) -> None:
        """Note what the analyser says of a window, but for words and what is random."""
        answer = self.ask("GET", f"tasks/{self.id}/results/{window}", self.collector)
        document = answer.json()
        if "result" in document:
            document = json.loads(document["result"])
        self.said.append({name: said for name, said in document.items() if name in SHOWN})


SHOWN = (
    *("state", "protocol", "users", "invalid_slots", "honest_users_assumed", "sum", "counts"),
    *("promised", "epsilon_of_this_batch", "error_of_sum", "error_of_all_counts", "mean"),
    *("accounts_served", "error_fails_with_probability"),
)


def keys_and_cards(asked: Asked) -> None:
    for text in ("{}", "[]", '{"x": 1}', '{"time": -1}', '{"time": true}', "x", ""):
        asked.by_issuer("clock", text.encode(), "POST")
        asked.by_shuffler("clock", text.encode(), "POST")
    keys, cards = f"gateway-keys/{asked.id}", f"cards/{asked.id}"
    for window in (WINDOW - 1, WINDOW + 23, WINDOW + 24, 2**32 - 1):
        asked.by_shuffler(f"{keys}/{window}", asked.gateway(window))
    for body in (b"", asked.gateway()[:-1], asked.gateway(WINDOW + 1)):
        asked.by_shuffler(f"{keys}/{WINDOW}", body)
    asked.by_issuer(f"{keys}/{WINDOW}", asked.gateway())
    asked.by_shuffler(f"gateway-keys/{'0' * 64}/{WINDOW}", asked.gateway())
    asked.by_shuffler(f"{keys}/0{WINDOW}", asked.gateway())
    asked.by_shuffler(f"{cards}/{WINDOW}", bytes(587))
    asked.by_shuffler(f"{keys}/{WINDOW + 4}", asked.gateway(WINDOW + 4))
    card = asked.card()
    for body in (b"", card[:-1], card[:-64] + bytes(64), bytes(587), card, card, card[:-1]):
        asked.by_shuffler(f"{cards}/{WINDOW}", body)
        asked.ask("GET", f"{cards}/{WINDOW}", asked.collector)
    # The budget pays for three.
    for window in (WINDOW + 1, WINDOW + 2, WINDOW + 3, WINDOW + 4):
        asked.card(window)
    asked.by_shuffler(f"{keys}/{WINDOW}", asked.gateway())
    asked.by_shuffler(f"{keys}/{WINDOW}", asked.gateway(number=2))
    for window, told in ((WINDOW, 5), (WINDOW, 5), (WINDOW, 6), (WINDOW + 1, 5), (WINDOW + 9, 5)):
        asked.by_issuer(f"served/{asked.id}/{window}", asked.served(card, told))
        asked.ended(window)
    asked.world.now = END - GRACE + 1.0
    asked.sync()
    asked.by_shuffler(f"{keys}/{WINDOW}", asked.gateway())
    asked.world.now = END + 3 * HOUR + float(WEEK)
    asked.sync()
    asked.world.analyzer.work()
    for window in range(WINDOW, WINDOW + 5):
        asked.by_shuffler(f"{cards}/{window}", method="GET")
        asked.ended(window)


def batches(asked: Asked) -> None:
    card = asked.card()
    asked.by_shuffler(f"cards/{asked.id}/{WINDOW}", card)
    path, good = f"batches/{BATCH.hex()}", asked.batch(card, [1] * 12)
    other = asked.batch(card, [1] * 12, id=b"c" * 16)[0]
    for now in (END - 1.0, float(END)):
        for told in (False, True):
            if told:
                asked.sync()
            else:
                asked.world.now = now + 601
                asked.by_shuffler(path, good[0])
                asked.world.now = now
            for changed in (
                *({"version": 3}, {"q": 0}, {"digest": bytes(32)}, {"id": bytes(16)}),
                *({"users": 11}, {"slots": 13}, {"parts": 2}),
            ):
                asked.by_shuffler(path, asked.batch(card, [1] * 12, **changed)[0])
            asked.by_shuffler(path, good[0][:-1] + bytes([good[0][-1] ^ 1]))
        asked.by_shuffler(path, good[0])
    asked.by_shuffler(path, other)
    asked.by_shuffler(f"batches/{(b'c' * 16).hex()}", other)
    for k, body in (("1", good[1]), ("00", good[1]), ("0", good[1][1:])) + (("0", good[1]),) * 2:
        asked.by_shuffler(f"{path}/parts/{k}", body)
        asked.ended()
    asked.world.analyzer.work()
    asked.ended()
    asked.by_issuer(f"served/{asked.id}/{WINDOW}", asked.served(card, 12))
    asked.world.analyzer.work()
    asked.ended()
    asked.by_shuffler(path, good[0])
    asked.by_shuffler(f"{path}/parts/0", good[1])
    asked.by_shuffler(f"batches/{(b'c' * 16).hex()}", other)
    asked.by_issuer(f"served/{asked.id}/{WINDOW}", asked.served(card, 13))


@pytest.mark.parametrize("requests", [keys_and_cards, batches])
def test_both_answer_alike(tmp_path: Path, requests: Any) -> None:
    with ExitStack() as stack:
        said: list[list[Any]] = []
        for kind in ("page", "library"):
            asked = Asked(tmp_path / kind, stack, kind, windows=3)
            requests(asked)
            said.append(asked.said)
    assert said[0] == said[1]
    assert len(said[0]) > 50


HISTOGRAM = {"protocol": "histogram", "domain": ("a", "b", "c"), "min_batch": 16}
ENDS: dict[str, tuple[list[int], int | None, str, dict[str, Any]]] = {
    "released": ([1] * 11 + [SHUT], None, "", {}),
    "two false": ([1] * 10 + [SHUT, NOTHING], None, "", {}),
    "fewer served": ([1] * 12, 11, "", {}),
    "19 served": ([1] * 12, 19, "", {}),
    "20 served": ([1] * 12, 20, "", {}),
    "two false of 99": ([1] * 18 + [NOTHING] * 2, 99, "", {}),
    "late part": ([1] * 12, None, "part", {}),
    "late work": ([1] * 12, None, "work", {}),
    "never served": ([1] * 12, 12, "served", {}),
    "split sum": ([1] * 127 + [NOTHING], None, "", {"protocol": "split_sum", "bounds": ("0", "1")}),
    "histogram": ([0, 1, 2, DUMMY] * 18, None, "", HISTOGRAM),
    "little noise": ([0, DUMMY, DUMMY, DUMMY] * 18, None, "", HISTOGRAM),
    "paired": (([1] + [DUMMY] * 17) * 12, None, "", {"protocol": "paired_count"}),
    "no sign": (([1] + [DUMMY] * 17) * 10 + [DUMMY] * 36, None, "", {"protocol": "paired_count"}),
}


@pytest.mark.parametrize("end", ENDS)
def test_both_end_a_window_alike(tmp_path: Path, end: str) -> None:
    values, accounts, late, more = ENDS[end]
    said: list[list[Any]] = []
    with ExitStack() as stack:
        for kind in ("page", "library"):
            has = accounts is not None
            asked = Asked(tmp_path / kind, stack, kind, windows=3, has_issuer=has, **more)
            card, path = asked.card(), f"batches/{BATCH.hex()}"
            asked.by_shuffler(f"cards/{asked.id}/{WINDOW}", card)
            header, part = asked.batch(card, values)
            asked.world.now = float(END)
            asked.sync()
            asked.by_shuffler(path, header)
            if late == "part":
                asked.world.now += WEEK
                asked.sync()
            asked.by_shuffler(f"{path}/parts/0", part)
            if accounts is not None and late != "served":
                asked.by_issuer(f"served/{asked.id}/{WINDOW}", asked.served(card, accounts))
            if late in ("work", "served"):
                asked.world.now += WEEK
                asked.sync()
            asked.world.analyzer.work()
            asked.ended()
            said.append(asked.said)
    assert said[0] == said[1]
