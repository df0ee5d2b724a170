"""A person at the poll page's client in Node, a real issuer, and a shuffler that records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.services.page.page_program import run
from tests.services.worlds.issuing_world import WINDOW, IssuingWorld, Recorder

PERSON = """
const encoded = new TextEncoder().encode(given.task), taskId = given.taskId;
const task = await smoothdp.readTask(encoded, taskId);
const away = "https://issuer.example", asked = [];
const fetcher = (url, fields = {}) => {
  asked.push([url, fields.body && smoothdp.toHex(fields.body)]);
  const there = url.startsWith(away) ? given.issuer + url.slice(away.length) : given.shuffler + url;
  return fetch(there, fields);
};
let now = given.now;
const press = (datum, invitation = given.invitations?.[0], more = {}) => smoothdp.submit({
  task, taskId, pass: "p".repeat(96), invitation, datum, window: given.window, fetcher,
  pause: async () => {}, seconds: () => now, ...more,
}).then(() => "", (error) => error.message);
const hex = (map) => [...map.values()].map((row) => Object.fromEntries(Object.entries(row).map(
  ([name, value]) => [name, typeof value === "string" ? value : smoothdp.toHex(value)])));
"""


def page(world: IssuingWorld, recorder: Recorder, code: str, **more: Any) -> Any:
    """Return what code returns in a page with people who have an invitation each."""
    given = {
        "task": world.task.encoded.decode(),
        "taskId": world.task.task_id.hex(),
        "issuer": world.address if world.task.signed else "",
        "shuffler": recorder.address,
        "now": world.now,
        "window": WINDOW,
        "invitations": [world.invitation() for _ in range(4)],
    }
    return run(PERSON + code, given | more)


def served(world: IssuingWorld) -> int:
    return int(world.storage.read("SELECT count(*) FROM issued")[0][0])


def without_issuer(tmp_path: Path, code: str) -> Any:
    made = IssuingWorld(tmp_path, issuer=None, proof="none")
    card = made.make_card()
    given = {
        "task": made.task.encoded.decode(),
        "taskId": made.task.task_id.hex(),
        "now": made.now,
        "window": WINDOW,
    }
    start = """
        const sent = [], told = [];
        const shuffler = async (url, fields) => {
          if (url.includes("/cards/")) return new Response(smoothdp.fromHex(given.card));
          sent.push([fields.headers.authorization, smoothdp.toHex(
            await smoothdp.openReport(fields.body, smoothdp.fromHex(given.gateway)))]);
          return new Response(null, { status: told.shift() ?? 202 });
        };
        const by = (pass, more = {}) => press(1, "", { pass, fetcher: shuffler, ...more });
    """
    return run(
        PERSON + start + code,
        given | {"card": card.hex(), "gateway": made.gateway.to_bytes().hex()},
    )
