"""What is left on a device: no report, no seed and no datum of a window that is over."""

from __future__ import annotations

import gc
import os
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from smoothdp.errors import InvalidData
from smoothdp.services import look_up_report, take_part
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import DRAWN, MISSED, UNSURE, OutcomeStore
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.store import storage
from smoothdp.services.store.overwritten_log import log_of, overwrite_log
from smoothdp.services.wire.calls import ServiceError
from tests.services.worlds.draws import DRAW
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder, send
from tests.services.worlds.small_tasks import ANALYZER_SIGN, small_task


def test_a_seed_is_on_the_device_while_tokens_are_waited_for_and_no_longer(
    quick_world: IssuingWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "The seed while tokens are waited for": as long as the issuer is away."""
    drawn: list[bytes] = []

    def noted(length: int) -> bytes:
        drawn.append(os.urandom(length))
        return drawn[-1]

    def is_kept() -> bool:
        folder = tmp_path / "state" / "smoothdp" / "clients"
        left = b"".join(path.read_bytes() for path in folder.glob("*"))
        return any(seed in left for seed in drawn)

    own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": quick_world.invitation()}
    own["shuffler"] = Recorder(quick_world).address
    monkeypatch.setattr("smoothdp.services.client.client.secrets.token_bytes", noted)
    quick_world.clocks.heard(quick_world.now - 100)
    with pytest.raises(ServiceError):
        take_part(quick_world.task, 1, issuer=quick_world.address, **own)
    assert [len(seed) for seed in drawn] == [32]
    assert is_kept()
    quick_world.go_to(quick_world.now + 60)
    assert not take_part(quick_world.task, 0, issuer=quick_world.address, **own).before
    assert not is_kept()


def _files(world: IssuingWorld) -> bytes:
    folder = world.folder / "state" / "smoothdp" / "clients"
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


def _reason_alone(world: IssuingWorld) -> bytes:
    """Return what the analyser signs of a window that ended for want of a part of its batch."""
    document = {
        "task_id": world.task.task_id.hex(),
        "window": WINDOW,
        "state": "REFUSED",
        "reason": "a part of the batch never came",
    }
    return SignedResult.sign(document, ANALYZER_SIGN).encode()


@pytest.mark.parametrize("answers", [[202], [503]])
def test_a_look_up_leaves_no_report_of_a_window_that_is_over(
    answers: list[int], quick_world: IssuingWorld
) -> None:
    """ "A device that has run since, for this task or another one, keeps of it: [...] M marks".

    The natural command after a window is look-up; of a refusal with the reason alone it says that
    nothing can be looked up, and left the whole report where it was.
    """
    shuffler = Recorder(quick_world, answers)
    own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": quick_world.invitation()}
    asked: Callable[..., Any] = partial(
        take_part, shuffler=shuffler.address, issuer=quick_world.address, **own
    )
    if answers == [202]:
        asked(quick_world.task, 1)
    else:
        with pytest.raises(ServiceError):
            asked(quick_world.task, 1)
    (report,) = shuffler.reports()
    assert report.slots[0] in _files(quick_world)
    quick_world.go_to(quick_world.now + 3 * HOUR)
    with pytest.raises(InvalidData, match="Nothing can be looked up in it"):
        look_up_report(quick_world.task, WINDOW, result=_reason_alone(quick_world), marks=b"")
    assert report.slots[0] not in _files(quick_world)


def test_a_look_up_leaves_no_seed_of_a_window_that_is_over(quick_world: IssuingWorld) -> None:
    """ "Seed and datum are not kept by the client", which ran after the window."""
    own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": quick_world.invitation()}
    (quick_world.folder / "revoked").write_text(own["invitation"][:32] + "\n")
    with pytest.raises(ServiceError):
        take_part(
            quick_world.task, 1, shuffler="http://127.0.0.1:9", issuer=quick_world.address, **own
        )
    store = OutcomeStore.of_user()
    row = store.get(quick_world.task.task_id, WINDOW, "me")
    store.close()
    assert row is not None
    assert row.state == DRAWN
    quick_world.go_to(quick_world.now + 3 * HOUR)
    with pytest.raises(InvalidData, match="Nothing can be looked up in it"):
        look_up_report(quick_world.task, WINDOW, result=_reason_alone(quick_world), marks=b"")
    assert row.seed not in _files(quick_world)


@pytest.mark.parametrize("how", ["drawn", "final"])
def test_a_device_that_goes_on_to_another_task_keeps_no_report_and_no_seed(
    how: str, world: IssuingWorld
) -> None:
    """They stayed for ever, if the first task never ran again."""
    first, shuffler = world.client(), Recorder(world, [503])
    if how == "drawn":
        row = first.take_part(1, card=world.make_card(), window=WINDOW)
        secret: tuple[bytes, ...] = (row.slots, row.seed)
    else:
        with suppress(ServiceError):
            send(world, first, shuffler, invitation=world.invitation())
        row = first.kept(WINDOW) or row
        secret = shuffler.reports()[0].slots + shuffler.reports()[0].signatures
    world.go_to((WINDOW + 2) * HOUR)
    second = Client(
        small_task(issuer=None, proof="none", window_seconds=7, grace_seconds=0),
        OutcomeStore(world.folder / "client" / "windows.sqlite"),
        clock=lambda: world.now,
    )
    assert all(secret)
    assert second.settle() == 1
    left = b"".join(path.read_bytes() for path in (world.folder / "client").glob("*"))
    assert not any(each in left for each in secret)
    settled = first.kept(WINDOW)
    assert settled is not None
    assert settled.state == (MISSED if how == "drawn" else UNSURE)
    # Windows of another length are no reason to end those of this one too early.
    assert first.window_now() == WINDOW + 2


def test_a_window_of_another_task_that_is_open_is_left_alone(world: IssuingWorld) -> None:
    first = world.client()
    first.take_part(1, card=world.make_card(), window=WINDOW)
    for now, settled in (((WINDOW + 1) * HOUR + 299, 0), ((WINDOW + 1) * HOUR + 300, 1)):
        world.go_to(now)
        second = Client(
            small_task(issuer=None, proof="none", window_seconds=7, grace_seconds=0),
            OutcomeStore(world.folder / "client" / "windows.sqlite"),
            clock=lambda: world.now,
        )
        assert second.settle() == settled


def test_rows_of_an_earlier_program_are_settled_when_their_task_runs(world: IssuingWorld) -> None:
    first = world.client()
    first.take_part(1, card=world.make_card(), window=WINDOW)
    with closing(sqlite3.connect(world.folder / "client" / "windows.sqlite")) as file, file:
        file.execute("DROP TABLE task")
        file.execute("UPDATE schema_number SET number = 1")
        file.execute("PRAGMA user_version = 1")
    world.go_to((WINDOW + 2) * HOUR)
    assert world.client().settle() == 1


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_whoever_stops_a_program_twice_keeps_no_seed_in_blocks_that_were_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "SQLite's log is overwritten before it is cut off or removed".

    The first signal comes when the report is stored and the log not overwritten yet, the second
    while the file is closed for it. Then the log stays, and the next call overwrites it.
    """
    state, blocks, calls = tmp_path / "windows.sqlite", tmp_path / "blocks", iter(range(9))

    def stopped(*given: Any) -> bool:
        if next(calls) in (1, 2):
            signal.raise_signal(signal.SIGINT)
        return overwrite_log(*given)

    def call() -> None:
        store = OutcomeStore(state)
        try:
            store.keep(b"task", 7, "me", **DRAW, most=1)
            os.link(log_of(state), blocks)
            store.keep_report(b"task", 7, "me", b"report" * 1000)
        finally:
            store.close()

    monkeypatch.setattr(storage, "overwrite_log", stopped)
    # Who runs tests side by side may have switched it off.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
    finally:
        signal.signal(signal.SIGINT, before)
    gc.collect()
    assert DRAW["seed"] in blocks.read_bytes()
    assert log_of(state).samefile(blocks)
    OutcomeStore(state).close()
    assert DRAW["seed"] not in blocks.read_bytes() + state.read_bytes()
