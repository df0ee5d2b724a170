"""A ninth round, on what parties keep: who asks first, who holds a file, and what was lost."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from contextlib import ExitStack
from pathlib import Path

import pytest

from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.services.analyzer.release import work
from smoothdp.services.analyzer.window_cards import GATEWAY
from smoothdp.services.check import check_party
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from tests.services.attacks.operations.test_sixth_processes import restart
from tests.services.delivery.test_clocks import JUMP, USERS, OwnClocks
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import small_task
from tests.services.worlds.three_parties import Parties
from tests.services.worlds.whole_world import WholeWorld, weak_task

pytestmark = ONLY_SQLITE


@pytest.mark.parametrize("shuffler", ["asks later", "was silent for ten minutes"])
def test_an_issuer_destroys_nothing_before_the_shuffler_could_contradict(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    shuffler: str,
) -> None:
    """The threat model: the promise needs "the clock of one party at least", and nothing stands
    against "clocks that are wrong everywhere from the start".

    Analyser and issuer, one operator's, start two days ahead by one wrong source. The shuffler's
    clock is right; but the issuer is the first to ask, or the shuffler is away for a while.
    """
    parties = OwnClocks(tmp_path)
    parties.round()
    store = OutcomeStore(tmp_path / "clients.sqlite")
    parties.take_part(store)
    before = parties.what_can_be_destroyed()
    assert len(before["accounts"]) == USERS
    parties.wrong |= {"analyzer": JUMP, "issuer": JUMP}
    for party in ("analyzer", "issuer"):
        restart(parties, party)
    if shuffler == "was silent for ten minutes":
        parties.shuffler.work(parties.url)
        parties.now += 601
    with contextlib.suppress(SmoothdpError, OSError):
        parties.issuer.work(parties.url)
    for _ in range(2):
        parties.round()
    after = parties.what_can_be_destroyed()
    parties.running.close()
    store.close()
    assert after == before


def test_a_batch_that_is_whole_is_released_though_the_ledger_is_held_for_seven_days(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The protocol, of a window seven days after its grace: "What was there whole before is
    counted and released also by an A that runs again only later"; what ends it then says "nothing
    more came of this window in seven days".

    All has come: batch and number served. Somebody holds the ledger, and lets go of it later.
    """
    world = WholeWorld(tmp_path, weak_task(windows=1), fast=True)
    world.open_window()
    assert [world.take_part(str(person)) for person in range(3)] == [202] * 3
    world.seal()
    close_windows(world.issuer)
    world.tell()
    world.deliver()
    world.go_to(world.now + 8 * 86_400)
    holder = sqlite3.connect(world.analyzer.ledger.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(world.analyzer.ledger._ledger._store, "timeout", 0.2)
    with pytest.raises(SmoothdpError, match="locked"):
        work(world.analyzer)
    # Its key goes all the same, and its place in the budget is kept.
    assert world.analyzer.keys.scopes() == []
    assert world.analyzer.cards.put_key(GATEWAY, int(world.now // HOUR), bytes(32)) == 404
    holder.execute("ROLLBACK")
    holder.close()
    work(world.analyzer)
    said = world.result()
    world.close()
    assert said["state"] == "RELEASED", said


def test_no_card_is_signed_of_a_window_whose_gateway_key_was_lost(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol: "a window whose key or card is lost has none", and of the shuffler, before it
    signs: it "checks that the card is one a client would accept, has its own gateway key".

    A key was offered, and no card came of it yet. Then the file of the keys is lost.
    """
    world = PartyWorld(tmp_path, small_task())
    world.shuffler.cards.offered_key(WINDOW + 1)
    world.close()
    for path in tmp_path.glob("gateway.sqlite*"):
        path.unlink()
    world._open()
    with contextlib.suppress(SmoothdpError):
        world.open_window(WINDOW + 1)
    signed, lost = world.shuffler.cards.stored(WINDOW + 1), world.shuffler.cards.lost()
    world.close()
    assert (signed is None, lost) == (True, [])


@pytest.mark.parametrize("file", ["no database", "of another task"])
def test_a_check_sees_a_file_of_window_keys_that_the_start_refuses(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    file: str,
) -> None:
    """The guide: "`serve check` says in words whether the directory is fit: files, rights, keys,
    tables", and "its status is 1 if something is wrong".

    The file of the shuffler's window keys is damaged; or it is another task's, left in the
    directory when its database went.
    """
    for task in ("one", "other"):
        with ExitStack() as stack:
            (tmp_path / task).mkdir()
            Parties(tmp_path / task, stack).round()
    directory = tmp_path / "one" / "shuffler"
    keys = directory / "gateway.sqlite"
    if file == "no database":
        keys.write_bytes(b"no database" * 1000)
    else:
        shutil.copy(tmp_path / "other" / "shuffler" / "gateway.sqlite", keys)
        (directory / "shuffler.sqlite").unlink()
    with pytest.raises(InvalidData):
        ShufflerParty.from_directory(directory)
    wrong = [found.name for found in check_party(directory) if not found.good]
    # The cards are of a time that is over, in any case.
    assert set(wrong) - {"cards"}
