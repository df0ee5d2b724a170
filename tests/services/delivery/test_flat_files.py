"""Thirty windows: what is kept of a window does not depend on how many people were in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from smoothdp.services.formats.report import Report, seal_report
from smoothdp.services.formats.slot_tokens import SlotTokens
from smoothdp.services.formats.slots import seal_slots
from smoothdp.services.issuer.issuer import Account
from smoothdp.services.shuffler.ingest import OpenedReport
from tests.services.worlds.whole_world import WholeWorld, weak_task

WINDOW_SECONDS, FIRST = 5 * 86_400, 4000
FILES = ("shuffler", "analyzer", "issuer", "gateway", "inner", "ledger")


def sizes(folder: Path) -> dict[str, int]:
    """Return the bytes that each kind of file takes, logs included."""
    return {name: sum(path.stat().st_size for path in folder.glob(f"{name}*")) for name in FILES}


def one_window(world: WholeWorld, window: int, people: int) -> None:
    """Let people take part with tokens of the issuer, and the window end."""
    world.go_to(window * WINDOW_SECONDS + 60.0)
    world.open_window(window)
    issuer = world.task.issuer
    assert issuer is not None
    tokens = SlotTokens(world.card(window), issuer_name=issuer.name, origin=world.task.origin)
    group = []
    for person in range(people):
        slots, seed = tuple(seal_slots([person % 2], world.card(window))), bytes(32)
        body = tokens.request(slots, seed=seed)
        account = world.issuer.admit(world.invitation_of(f"u{person}"), window, len(body))
        assert isinstance(account, Account)
        answer = world.issuer.answer(account, body)
        assert isinstance(answer, bytes)
        signed = tuple(tokens.finalize(slots, seed=seed, answer=answer))
        report = Report(world.card(window).digest, slots, signed)
        sender = world.shuffler.sender(world.pass_of(f"u{person}")) or b""
        sealed = seal_report(report.encode(), world.card(window))
        judged = world.shuffler.judge(window, sender, sealed)
        assert isinstance(judged, OpenedReport)
        group.append(judged)
    assert {taken.value for taken in world.shuffler.accept(group)} == {202}
    document = world.end(window)
    assert document["users"] == document["accounts_served"] == people
    world.shuffler.forget_old()
    world.shuffler.storage.forget()


def check_flat(folder: Path, people: int) -> None:
    """Files grow by cards, results and charges: some kB a window, however many took part."""
    task = weak_task(windows=60, delta="0.001", window_seconds=WINDOW_SECONDS, grace_seconds=3600)
    world = WholeWorld(folder, task, fast=True)
    seen = []
    for number in range(30):
        one_window(world, FIRST + number, people)
        world.offers.clear()
        seen.append(sizes(folder))
    for name in FILES:
        # Marks are kept for thirty days: from the seventh window on as many go as come.
        growth = (seen[29][name] - seen[9][name]) / 20
        assert growth <= 16_384, (name, [size[name] for size in seen])
    for name in ("issuer", "gateway", "inner"):
        assert seen[29][name] - seen[9][name] <= 65_536, name
    world.close()


def test_files_stay_flat(tmp_path: Path) -> None:
    check_flat(tmp_path, 4)


@pytest.mark.slow
def test_files_stay_flat_in_windows_of_3000(tmp_path: Path) -> None:
    check_flat(tmp_path, 3000)
