"""A ninth round of attacks on clients: slow lines, and secrets in addresses."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from smoothdp.services import look_up_report
from smoothdp.services.client.client import Client
from smoothdp.services.client.inclusion import Standing
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.card import SignedCard
from smoothdp.services.formats.marks import MarksFile
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.shuffler.shuffler_web import shuffler_app
from smoothdp.services.wire.calls import ServiceError, ask, connect
from smoothdp.services.wire.running import on_loopback
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld
from tests.services.worlds.party_world import PartyWorld
from tests.services.worlds.small_tasks import ANALYZER_SIGN, SHUFFLER_SIGN


@contextmanager
def _slow_line(target: str, *, bytes_a_second: int) -> Iterator[str]:
    """Copy bytes to a service at once, and its answers no faster than a line of that speed."""
    port = int(target.rsplit(":", 1)[1])
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def up(here: socket.socket, there: socket.socket) -> None:
            with suppress(OSError):
                while data := here.recv(1 << 16):
                    there.sendall(data)

        def down(here: socket.socket, there: socket.socket) -> None:
            with here, there:
                with suppress(OSError):
                    while data := there.recv(bytes_a_second // 20):
                        here.sendall(data)
                        time.sleep(len(data) / bytes_a_second)
                # The other copy holds it open.
                here.shutdown(socket.SHUT_RDWR)

        def serve() -> None:
            with suppress(OSError):
                while True:
                    here, _ = listening.accept()
                    there = socket.socket()
                    there.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
                    there.connect(("127.0.0.1", port))
                    for copy in (up, down):
                        threading.Thread(target=copy, args=(here, there), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


# ---- the marks over a line that is not fast


def test_who_was_left_out_sees_it_over_a_slow_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "People who were left out see it in the marks, afterwards": 8 MB of them, in two seconds.

    "An answer has a minute, and a second for each 64 kB that it and the request may have": all of
    it was handed over long before a connection has been silent for too long.
    """
    (tmp_path / "parties").mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    world = IssuingWorld(tmp_path, issuer=None, proof="none")
    parties = PartyWorld(tmp_path / "parties", world.task)
    store = OutcomeStore.of_user()
    client = Client(world.task, store, clock=lambda: world.now)
    digest = SignedCard.decode(world.make_card()).card.digest
    client.take_part(1, card=world.make_card(), window=WINDOW)
    client.accepted(WINDOW)
    world.go_to((WINDOW + 2) * HOUR)
    client.settle()
    store.close()
    n = 1 << 19
    every = sorted({os.urandom(16) for _ in range(n)})
    marks = MarksFile(digest, b"".join(every))
    header = BatchHeader(False, digest, bytes(16), n, n, (bytes(32),) * (n >> 14), marks.sha256)
    document = {
        "task_id": world.task.task_id.hex(),
        "window": WINDOW,
        "card_digest": digest.hex(),
        "marks_sha256": marks.sha256.hex(),
        "batch_header": header.sign(SHUFFLER_SIGN).encode().hex(),
    }
    result = SignedResult.sign(document, ANALYZER_SIGN).encode()
    with parties.shuffler.storage.transaction() as change:
        row = (world.task.task_id, WINDOW, marks.encode())
        change.change("INSERT INTO marks VALUES (?, ?, ?)", row)
    with on_loopback(shuffler_app(parties.shuffler), header_seconds=0.3) as shuffler:
        at_once = look_up_report(world.task, WINDOW, result=result, shuffler=shuffler)
        assert at_once is Standing.LEFT_OUT
        with _slow_line(shuffler, bytes_a_second=4 << 20) as slow:
            said = look_up_report(world.task, WINDOW, result=result, shuffler=slow)
    assert said is Standing.LEFT_OUT
    parties.close()
    world.close()


# ---- secrets in the wrong place


@pytest.mark.parametrize("path", ["/", "/poll/"])
def test_a_secret_in_the_path_of_an_address_is_not_repeated(path: str) -> None:
    """As in any other part of an address: "secrets in the wrong option" are "not repeated"."""
    secret = "0b" * 48
    url = f"http://127.0.0.1:1{path}{secret}"
    with (
        connect(url) as nobody,
        pytest.raises(ServiceError) as said,
    ):
        ask(nobody, "GET", "/v2")
    assert secret not in str(said.value)
