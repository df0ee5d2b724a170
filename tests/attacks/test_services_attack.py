"""Attacks on clients by shufflers, on slots by networks, on tasks by whoever hands them out."""

from __future__ import annotations

import json
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import pytest
from smoothdp.services.wire.envelope import Header, inner_info, open_envelope, open_slot

from smoothdp.cli.main import main
from smoothdp.errors import SmoothdpError
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.shuffler.shuffler_party import issue_tokens
from smoothdp.services.wire.hybrid import PrivateKey
from smoothdp.services.wire.key_files import read_task, write_parties
from tests.services.world import KEY, small_task


class Refusing:
    """A shuffler that keeps what it is sent and says 401: ask for a token of this task."""

    def __init__(self) -> None:
        self.key = PrivateKey.generate()
        self.bundles: list[tuple[bytes, bytes]] = []

    def http(self) -> httpx.Client:
        """Return a connection to it."""
        return httpx.Client(base_url="https://x", transport=httpx.MockTransport(self._answer))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            public = self.key.public.to_bytes().hex()
            return httpx.Response(200, json={"key_id": 1, "public_key": public})
        assert Header.of(request.read()).window == 77
        self.bundles.append(open_envelope(request.read(), key=self.key))
        return httpx.Response(401)


def test_a_shuffler_that_refuses_tokens_gets_one_draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """401 says to ask for a token; each new one was drawn anew, and all could be counted."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    written = write_parties(tmp_path / "t", small_task(min_batch=10), KEY)
    shuffler = Refusing()
    monkeypatch.setattr("smoothdp.services.connect", lambda _: shuffler.http())
    monkeypatch.setattr(Client, "window_now", lambda _: 77)
    for token in issue_tokens(written.shuffler, 5):
        (tmp_path / "token").write_text(token)
        known = ["--task", str(written.task), "--shuffler", "https://x"]
        with suppress(SystemExit):
            main(["submit", "1", *known, "--token-file", str(tmp_path / "token")])
        assert "for a token of this task" in capsys.readouterr().err
    assert len({slots for _, slots in shuffler.bundles}) == 1


def opens(slot: bytes, info: bytes) -> bool:
    """Whether the analyser can read a slot; any exception is a no."""
    try:
        open_slot(slot, key=KEY, info=info)
    except Exception:
        return False
    return True


def test_no_bit_of_a_slot_can_be_changed(tmp_path: Path) -> None:
    """Else a shuffler could make copies that do not look like copies: X25519 ignores a bit."""
    task, outer = small_task(), PrivateKey.generate()
    store = OutcomeStore(tmp_path / "u.sqlite")
    envelope = Client(task, store).envelope(1, shuffler_key=(1, outer.public), window=5)
    _, slot = open_envelope(envelope, key=outer)
    info = inner_info(task.task_id, 5)
    assert open_slot(slot, key=KEY, info=info) in (0, 1)
    for bit in range(8 * len(slot)):
        changed = bytearray(slot)
        changed[bit // 8] ^= 1 << bit % 8
        assert not opens(bytes(changed), info)
    assert not opens(slot, inner_info(task.task_id, 6))  # nor in another window
    store.close()


@pytest.mark.parametrize("protocol", ["boolean_sum", "real_sum", "histogram"])
def test_no_task_file_states_what_its_noise_does_not_keep(tmp_path: Path, protocol: str) -> None:
    """Every field changed to something else: refused, or another task that keeps its promise."""
    task = small_task(protocol)
    fields = json.loads(write_parties(tmp_path / "t", task, KEY).task.read_text())
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
