"""Writes tests/services/vectors/envelopes.json: run `python -m tests.services.make_vectors`.

Sealing draws fresh randomness, so a new run writes other bytes with the same meaning.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from smoothdp.services.wire.envelope import DUMMY, Header, envelope_id, seal_envelope, seal_values
from smoothdp.services.wire.hybrid import PrivateKey
from tests.services.world import small_task

FILE = Path(__file__).parent / "vectors" / "envelopes.json"
OUTER = PrivateKey.from_bytes(hashlib.sha256(b"smoothdp test outer key").digest())
INNER = PrivateKey.from_bytes(hashlib.sha256(b"smoothdp test inner key").digest())
WINDOW = 20_000


def good(values: list[int], task_id: bytes, name: str) -> dict[str, Any]:
    """Return a vector that must open to the values, in their order."""
    header = Header(7, len(values), task_id, WINDOW)
    report_id = hashlib.sha256(name.encode()).digest()[:16]
    slots = seal_values(values, key=INNER.public, task_id=task_id, window=WINDOW)
    envelope = seal_envelope(header, report_id, slots, key=OUTER.public)
    return {
        "name": name,
        "envelope": envelope.hex(),
        "envelope_id": envelope_id(envelope).hex(),
        "report_id": report_id.hex(),
        "values": values,
    }


def flipped(data: bytes, place: int) -> bytes:
    """Return the bytes with one bit turned."""
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def main() -> None:
    """Write the file."""
    task = small_task("histogram")
    one = good([1], task.task_id, "one slot")
    four = good([2, DUMMY, 0, DUMMY], task.task_id, "four slots with dummies")
    eight = good([0, 1, 1, 0, 1, 0, 0, 1], task.task_id, "eight slots")
    plain = bytes.fromhex(one["envelope"])
    bad = {
        "bad_empty": b"",
        "bad_truncated": plain[:-1],
        "bad_extended": plain + b"\0",
        "bad_version": b"\2" + plain[1:],
        "bad_key_id": flipped(plain, 1),
        "bad_slot_count": plain[:2] + b"\0\2" + plain[4:],
        "bad_task": flipped(plain, 4),
        "bad_window": flipped(plain, 39),
        "bad_encapsulation": flipped(plain, 40),
        "bad_ciphertext": flipped(plain, 80),
        "bad_tag": flipped(plain, len(plain) - 1),
        "bad_inner_layer_sent_as_outer": plain[:40] + bytes(32) + plain[72:],
    }
    other = seal_values([1], key=INNER.public, task_id=task.task_id, window=WINDOW + 1)
    bad_inner = {
        "bad_inner_window": other[0],
        "bad_inner_bit": flipped(
            seal_values([1], key=INNER.public, task_id=task.task_id, window=WINDOW)[0], 40
        ),
        "bad_inner_truncated": other[0][:-1],
    }
    document = {
        "format": "docs/threats.md and src/smoothdp/services/wire/envelope.py",
        "outer_private_key": OUTER.to_bytes().hex(),
        "inner_private_key": INNER.to_bytes().hex(),
        "task": task.encoded.decode(),
        "task_id": task.task_id.hex(),
        "window": WINDOW,
        "dummy": DUMMY,
        "good": [one, four, eight],
        "bad": [{"name": name, "envelope": data.hex()} for name, data in bad.items()],
        "bad_inner": [{"name": name, "slot": data.hex()} for name, data in bad_inner.items()],
    }
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
