"""Databases and keys that a party lost: what it says, and what becomes of their windows."""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from smoothdp.errors import SmoothdpError
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.analyzer.release import work
from smoothdp.services.analyzer.window_cards import GATEWAY
from smoothdp.services.check import check_party
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.operations.logs import PutOff
from smoothdp.services.shuffler.delivery import DeliveryRefused
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from smoothdp.services.wire.calls import ServiceError
from smoothdp.services.wire.running import on_loopback
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.directories import party_directories
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import OPEN_TASK, small_task
from tests.services.worlds.three_parties import Parties
from tests.services.worlds.whole_world import WholeWorld


@ONLY_SQLITE
@pytest.mark.parametrize("role", ["shuffler", "analyzer"])
def test_a_lost_file_of_window_keys_is_named(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    role: str,
) -> None:
    """Else every person is told for a day that the window is over, or gives an answer in vain."""
    written = party_directories(tmp_path, has_issuer=False)
    window = written.task.window_at(time.time())

    def started() -> tuple[ShufflerParty, AnalyzerParty]:
        shuffler = ShufflerParty.from_directory(written.shuffler)
        return shuffler, AnalyzerParty.from_directory(written.analyzer)

    def named(parties: tuple[ShufflerParty, AnalyzerParty]) -> list[bool]:
        party = parties[role == "analyzer"]
        directory = party.directory
        checked = [one for one in check_party(directory) if one.name == "keys"]
        asked = [party._operations(10.0).checks["keys"]()]
        return [one.good for one in checked + asked]

    parties = started()
    with on_loopback(parties[1].app(work_seconds=60)) as url:
        parties[0].work(url)
    assert parties[0].shuffler.cards.is_given(window)
    assert named(parties) == [True, True]
    for party in parties:
        party.close()
    parties[role == "analyzer"].keys.path.unlink()
    parties = started()
    assert named(parties) == [False, False]
    for party in parties:
        party.close()


def without_its_database(parties: Parties, stack: ExitStack) -> AnalyzerParty:
    """Let the analyser lose its database, which needs no backup, and start again."""
    parties.analyzer.close()
    for path in (parties.folder / "analyzer").glob("analyzer.sqlite*"):
        path.unlink()
    analyzer = AnalyzerParty.from_directory(parties.folder / "analyzer", clocks=parties.clocks())
    stack.callback(analyzer.close)
    parties.url = stack.enter_context(on_loopback(analyzer.app(work_seconds=3600)))
    return analyzer


@ONLY_SQLITE
def test_an_issuer_is_well_again_after_the_analyser_lost_its_database(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "After the loss of something that has no backup, the windows that have cards
    already are lost. [...] Nothing need be done".

    The issuer tells the number of accounts of a lost window for ever, and is refused for ever:
    "round" at its `/readyz` stays red, whatever else fails later.
    """
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack)
        parties.round()
        analyzer = without_its_database(parties, stack)
        parties.now = (WINDOW + 40 * 24) * HOUR + 60.0
        # The window is closed, and told, in the first; the number is refused: it may fail.
        for _ in range(2):
            parties.shuffler.work(parties.url)
            with suppress(OSError):
                parties.issuer.work(parties.url)
            analyzer.work()
        parties.issuer.work(parties.url)


@ONLY_SQLITE
def test_windows_whose_cards_were_lost_keep_their_places_in_the_budget(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "A card is made once, so there is none in its place, and each keeps its place in
    the budget until its 7 days are over."
    """
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack)
        parties.round()
        made = [w for w in range(WINDOW, WINDOW + 9) if parties.analyzer.analyzer.cards.shown(w)]
        assert made == [WINDOW, WINDOW + 1, WINDOW + 2]
        analyzer = without_its_database(parties, stack)
        for party in (parties.shuffler, parties.issuer, parties.shuffler):
            party.work(parties.url)
        more = [w for w in range(WINDOW, WINDOW + 9) if analyzer.analyzer.cards.shown(w)]
        assert more == [], f"cards for {len(made) + len(more)} windows, where 3 are paid"


@ONLY_SQLITE
@pytest.mark.parametrize("database_too", [False, True])
def test_windows_that_an_analyser_lost_keep_their_places_while_it_knows_of_them(
    tmp_path: Path,
    database_too: bool,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide, of the loss of what has no backup: "each keeps its place in the budget".

    Not so where the database was lost too, as it says: of the two windows nobody knows then.
    """
    world = PartyWorld(tmp_path, small_task(windows=2))
    for window in (WINDOW, WINDOW + 1):
        world.open_window(window)
    offered = world.shuffler.cards.offered_key(WINDOW + 2)
    assert world.analyzer.cards.put_key(GATEWAY, WINDOW + 2, offered) == 404
    world.analyzer.storage.close()
    world.keys[1].close()
    for name in ("inner.sqlite", "analyzer.sqlite")[: 1 + database_too]:
        for lost in tmp_path.glob(f"{name}*"):
            lost.unlink()
    world.shuffler.storage.close()
    world.keys[0].close()
    world._open()
    try:
        status = world.analyzer.cards.put_key(GATEWAY, WINDOW + 2, offered)
        assert status == (201 if database_too else 404)
    finally:
        world.close()


@ONLY_SQLITE
def test_keys_of_lost_windows_go_though_others_bring_their_keys_again(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The issuer stopped before it had the cards; then the analyser lost its database.

    The issuer brings its keys anew, and the windows have rows again that get no card: what is
    left of the first cards goes after 7 days all the same.
    """
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack)
        for party in (parties.shuffler, parties.issuer, parties.shuffler):
            party.work(parties.url)
        first = set(parties.analyzer.keys.scopes())
        assert len(first) == 3
        analyzer = without_its_database(parties, stack)
        analyzer.analyzer.clocks.heard(parties.now)
        parties.issuer.work(parties.url)
        assert analyzer.analyzer.cards.going_on()[:3] == [WINDOW, WINDOW + 1, WINDOW + 2]
        assert analyzer.analyzer.cards.shown(WINDOW) is None
        parties.now += 8 * 86_400
        parties.shuffler.work(parties.url)
        analyzer.work()
        assert not first & set(analyzer.keys.scopes())


def bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())


@ONLY_SQLITE
def test_the_key_of_a_window_that_the_database_has_lost_is_erased_after_seven_days(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """A later copy of the database has the sealed key: with its data key the batch would open."""
    world = PartyWorld(tmp_path, small_task(**OPEN_TASK))
    world.open_window()
    ((secret,),) = world.keys[1]._storage.read("SELECT secret FROM data_key")
    world.close()
    for path in tmp_path.glob("analyzer.sqlite*"):
        path.unlink()
    world._open()
    lapses = (WINDOW + 1) * HOUR + world.task.grace_seconds + 7 * 86_400
    for now, kept in ((lapses - 1, True), (lapses, False)):
        world.go_to(now)
        work(world.analyzer)
        assert (bytes(secret) in bytes_of(tmp_path)) is kept
    world.close()


def test_a_window_that_the_analyser_forgot_holds_up_no_later_one(tmp_path: Path) -> None:
    """Restored from an older copy it has no card of a window: its number is refused for ever."""
    world = WholeWorld(tmp_path)
    for window in (WINDOW, WINDOW + 1):
        world.go_to(window * 3600 + 600.0)
        world.open_window(window)
        for person in ("ann", "bob", "cy"):
            assert world.take_part(person, window=window) == 202
        world.seal(window)
        close_windows(world.issuer)
    with world.analyzer.storage.transaction() as change:
        change.change("DELETE FROM card WHERE window = ?", (WINDOW,))
    for _ in range(2):
        with pytest.raises(PutOff, match=f"409 to the number of accounts of window {WINDOW}"):
            world.tell()
    with pytest.raises(DeliveryRefused):
        world.deliver()
    work(world.analyzer)
    assert world.result(WINDOW + 1)["state"] == "RELEASED"
    assert world.charged() == [WINDOW + 1]
    world.close()


def test_a_window_with_another_gateway_key_holds_up_no_later_card(tmp_path: Path) -> None:
    """A shuffler that lost its state brings another key for a window that has one."""
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack)
        lost = bytes(31) + b"\x09"
        cards = parties.analyzer.analyzer.cards
        assert cards.put_key(GATEWAY, WINDOW, lost) == 201
        for party in (parties.shuffler, parties.issuer, parties.shuffler):
            with suppress(SmoothdpError):
                party.work(parties.url)
        own = parties.shuffler.shuffler.cards
        assert not own.is_given(WINDOW)
        assert own.is_given(WINDOW + 1)
        with pytest.raises(ServiceError, match=f"gateway key of window {WINDOW}"):
            parties.shuffler.work(parties.url)
