"""What the page of threats says of each party, taken literally: who sees what, who can do what."""

from __future__ import annotations

import math
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from smoothdp.claims import ApproxDP
from smoothdp.services.client.submit import submit
from smoothdp.services.formats.report import Report, seal_report
from smoothdp.services.formats.slot_tokens import SlotTokens
from smoothdp.services.issuer.issuer import Account
from smoothdp.services.shuffler.delivery import deliver_batches
from smoothdp.services.wire.calls import ServiceError, connect
from smoothdp.shuffle import LowCommunicationHistogram
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.issuing_world import IssuingWorld, Recorder
from tests.services.worlds.whole_world import WINDOW, WholeWorld

pytestmark = ONLY_SQLITE
DAY = 86_400


# ---- who sees what -------------------------------------------------------------------------------


class Front:
    """What an issuer sees of a connection beside its bytes: for how long it stays open."""

    def __init__(self, address: str) -> None:
        host, port = address.removeprefix("http://").split(":")
        self._target = host, int(port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.answered = math.inf
        self.ended = math.inf
        self.over = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def seconds(self) -> float:
        """From the last byte of an answer to the end of the client's side."""
        assert self.over.wait(20)
        return self.ended - self.answered

    def _serve(self) -> None:
        # For the card, and for the tokens.
        for _ in range(2):
            near, _ = self._listener.accept()
            with near, socket.create_connection(self._target) as far:
                threading.Thread(target=self._back, args=(far, near), daemon=True).start()
                while data := near.recv(1 << 16):
                    far.sendall(data)
                self.ended = time.monotonic()
        self.over.set()
        self._listener.close()

    def _back(self, far: socket.socket, near: socket.socket) -> None:
        # The other copy may have ended both by then.
        with suppress(OSError):
            while data := far.recv(1 << 16):
                self.answered = time.monotonic()
                near.sendall(data)


def test_the_issuer_does_not_see_whether_the_report_was_sent(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The page: the issuer does not see "whether the report was sent".

    The connection to the issuer stays open until the shuffler has answered, or the client has
    given up: its end tells the two apart.
    """
    seconds = []
    for name, answers in (("sent", [202]), ("not sent", [503] * 3)):
        (tmp_path / name).mkdir()
        world = IssuingWorld(tmp_path / name)
        world.open_window()
        front, shuffler = Front(world.address), Recorder(world, answers)
        client = world.client()
        with connect(front.address) as issuer, connect(shuffler.address) as to_shuffler:
            try:
                submit(
                    *(client, 1),
                    shuffler=to_shuffler,
                    pass_secret="p" * 96,
                    issuer=issuer,
                    invitation=world.invitation(),
                    window=WINDOW,
                    attempts=3,
                )
            except ServiceError:
                assert name == "not sent"
        seconds.append(front.seconds)
        world.close()
    sent, not_sent = seconds
    assert abs(sent - not_sent) < 0.5


# ---- who reads the shuffler's store --------------------------------------------------------------


def test_who_reads_the_store_knocks_people_out_with_an_account_of_its_own(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The page: "a report of one slot each of M people, by an account of one's own"; M may be 1.

    Another token is put on the one slot of somebody: that is another report.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    for person in range(6):
        assert world.take_part(f"person {person}") == 202
    (row,) = world.shuffler.storage.read("SELECT slots FROM pending LIMIT 1")
    slots, card = (bytes(row[0])[:52],), world.card()
    assert world.task.issuer is not None
    tokens = SlotTokens(card, issuer_name=world.task.issuer.name, origin=world.task.origin)
    request = tokens.request(slots, seed=b"x" * 32)
    account = world.issuer.admit(world.invitation_of("reader"), WINDOW, len(request))
    assert isinstance(account, Account)
    answer = world.issuer.answer(account, request)
    assert isinstance(answer, bytes)
    signatures = tokens.finalize(slots, seed=b"x" * 32, answer=answer)
    copied = Report(card.digest, slots, tuple(signatures))
    world.post(WINDOW, world.pass_of("reader"), seal_report(copied.encode(), card))
    (sealed,) = world.seal()
    assert (sealed.users, sealed.shared) == (5, 2)
    world.close()


# ---- an analyser that has a batch and does not say so --------------------------------------------


def test_a_batch_that_the_analyser_has_and_never_acknowledged_was_not_destroyed(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """It takes every part and answers 503 to the last one until the shuffler drops the batch.

    Were that window said to be destroyed, each person would answer in one more than the budget
    pays for.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    for person in range(4):
        assert world.take_part(f"person {person}") == 202
    world.seal()

    def put(path: str, body: bytes) -> int:
        status = world.put(path, body)
        return 503 if "/parts/" in path else status

    with pytest.raises(OSError, match="503"):
        deliver_batches(world.shuffler, put)
    assert world.analyzer.batch_states() == {"COMPLETE": 1}
    assert not world.shuffler.is_expired(WINDOW)
    world.go_to(world.now + 31 * DAY)
    world.shuffler.forget_old()
    assert world.shuffler.batch_states() == {"DROPPED": 1}
    assert not world.shuffler.is_expired(WINDOW)
    client = world.client("person 0")
    client.settle()
    store = world.stores["clients"]
    assert store.windows(world.task.task_id, "person 0") == [WINDOW]
    world.close()


# ---- epsilon by how many honest users are left ---------------------------------------------------


def test_what_is_left_of_a_low_communication_histogram_is_the_law_of_two_bins() -> None:
    """Of two bins that one user may move between, the exact law: never more than is said."""
    promise = ApproxDP(2, delta="1e-4")
    protocol = LowCommunicationHistogram.calibrate(
        300, n_bins=10, guarantee=promise, honest_share="0.9"
    )
    probability = float(protocol.noise_probability)
    for honest in (270, 250):
        said = protocol.profile(n_honest=honest).epsilon("1e-4")
        exact = _two_bins(honest, probability, 1e-4)
        assert exact <= said * (1 + 1e-9)
        assert said - exact < 1e-2


def _two_bins(honest: int, probability: float, delta: float) -> float:
    noise = binom.pmf(np.arange(honest + 2), honest, probability)
    own = np.concatenate([[0.0], noise[:-1]])
    one, other = np.outer(own, noise), np.outer(noise, own)
    low, high = 0.0, 40.0
    for _ in range(50):
        middle = (low + high) / 2
        more = np.maximum(one - math.exp(middle) * other, 0).sum() > delta
        low, high = (middle, high) if more else (low, middle)
    return high
