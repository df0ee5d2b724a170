"""The attack of changing keys as a script of the poll page, and what it got."""

from __future__ import annotations

import json
from typing import Any

from smoothdp.services.wire.envelope import open_envelope
from smoothdp.services.wire.hybrid import PrivateKey
from tests.services.changing_keys import polled
from tests.services.world import WINDOW

# How many questions for a key there may be.
_KEYS = [PrivateKey.generate() for _ in range(150)]

_TERMS = f"""
const keys = {json.dumps([key.public.to_bytes().hex() for key in _KEYS])};
const encoded = new TextEncoder().encode({json.dumps(polled().encoded.decode())});
const taskId = "{polled().task_id.hex()}", now = {WINDOW};
const task = await smoothdp.readTask(encoded, taskId);
"""
_ANSWERS = """
const sent = [];
let asked = first;
const fetcher = async (path, fields) => {
  if (path === "/v1/keys") {
    const keyId = asked++;
    return { ok: true, json: async () => ({ key_id: keyId, public_key: keys[keyId] }) };
  }
  sent.push([fields.body[1], smoothdp.toHex(fields.body)]);
  const status = [409, 503, 0][sent.length % 3];
  if (status === 0) throw new TypeError("lost");
  return { status };
};
const press = (datum, token = "ab", window = now, anotherPerson = false) => smoothdp.submit({
  task, taskId, token, datum, window, anotherPerson, fetcher, pause: async () => {},
}).catch((error) => error.message);
"""
SERVICE = _TERMS + _ANSWERS
"""Defines ``press`` and ``sent``; wants ``first``, the number of the first key, before it."""


def bundles(sent: list[Any]) -> list[tuple[bytes, bytes]]:
    """Return (report number, slots) of what a page sent, opened as the shuffler can."""
    return [open_envelope(bytes.fromhex(text), key=_KEYS[key]) for key, text in sent]
