"""Attacks on clients by shufflers, and on tasks by whoever hands them out."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import pytest

from smoothdp.errors import SmoothdpError
from smoothdp.services import ServiceError, read_task
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.client.submit import submit
from smoothdp.services.formats.report import open_report
from tests.services.formats.made import WINDOW, Made
from tests.services.worlds.small_tasks import small_task


def test_a_shuffler_that_refuses_passes_gets_one_draw(tmp_path: Path) -> None:
    """401 says to ask for a pass; each new one must not be drawn for anew."""
    made, bodies, passes = Made("none"), [], []

    def shuffler(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, content=made.signed().encode())
        bodies.append(request.read())
        passes.append(request.headers["authorization"])
        return httpx.Response(401)

    store = OutcomeStore(tmp_path / "windows.sqlite")
    client = Client(made.task, store, clock=lambda: WINDOW * made.task.window_seconds + 1.0)
    with httpx.Client(base_url="https://x", transport=httpx.MockTransport(shuffler)) as http:
        for number in range(5):
            with pytest.raises(ServiceError, match="pass"):
                submit(client, number / 4, shuffler=http, pass_secret=f"{number:096}")
    store.close()
    assert len(set(passes)) == len(set(bodies)) == 5
    assert len({open_report(body, made.card, made.gateway).encode() for body in bodies}) == 1


@pytest.mark.parametrize("protocol", ["boolean_sum", "real_sum", "low_communication_histogram"])
def test_no_task_file_states_what_its_noise_does_not_keep(tmp_path: Path, protocol: str) -> None:
    """Every field changed to something else: refused, or another task that keeps its promise."""
    more = {"domain": ("a", "b", "c")} if "histogram" in protocol else {}
    task = small_task(protocol, **more)
    fields = json.loads(task.encoded)
    values: list[Any] = [
        0,
        1,
        2,
        -1,
        "0",
        "1",
        "1e9",
        "9/10",
        "4611686018427387904",
        None,
        True,
        [],
    ]
    taken, file = 0, tmp_path / "task.json"
    for name in fields:
        for value in values:
            changed = fields | {name: value}
            if changed == fields:
                continue
            file.write_text(json.dumps(changed, sort_keys=True, separators=(",", ":")))
            try:
                read = read_task(file)
            except SmoothdpError:
                continue
            taken += 1
            assert read.task_id != task.task_id
            assert read.collect(read.min_batch).profile().delta(read.epsilon) <= float(
                Fraction(read.delta)
            )
    assert taken
