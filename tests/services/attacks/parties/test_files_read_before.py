"""Whose files are read before a window: for how long ahead they hold its keys."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from smoothdp.services.analyzer.analyzer_tables import ANALYZER_SCHEMA
from smoothdp.services.formats.card import Card
from smoothdp.services.formats.report import open_report, seal_report
from smoothdp.services.formats.secrets import tag
from smoothdp.services.formats.slots import open_slot, seal_slots
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.storage import SqliteStorage
from smoothdp.services.tokens.issuer_key import IssuerKey
from smoothdp.services.wire.hybrid import PrivateKey
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.page_of_threats import on_the_page
from tests.services.worlds.party_world import HOUR, WINDOW
from tests.services.worlds.signed_reports import signed_report
from tests.services.worlds.three_parties import Parties
from tests.services.worlds.whole_world import WholeWorld, weak_task

pytestmark = ONLY_SQLITE
DAY = 86_400


@pytest.mark.parametrize("days", [1, 7])
def test_who_reads_the_analysers_files_opens_windows_that_begin_within_a_day_or_two_windows(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    days: int,
) -> None:
    """A day is also what `task create` makes a window by default."""
    assert on_the_page("or begin within a day, or within two windows if that is longer")
    length = days * DAY
    now = WINDOW * length + 60.0
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack, now=now, window_seconds=length, windows=40)
        parties.round()
        thief = tmp_path / "thief"
        shutil.copytree(
            parties.folder / "analyzer", thief, ignore=shutil.ignore_patterns("secrets.json")
        )
        state = SqliteStorage(thief / "analyzer.sqlite", ANALYZER_SCHEMA)
        keys = ErasableKeys(thief / "inner.sqlite")
        stack.callback(state.close)
        stack.callback(keys.close)
        ahead = {}
        for window, data, sealed in state.read(
            "SELECT window, card, sealed_key FROM card WHERE signed IS NOT NULL ORDER BY window"
        ):
            card, inner = Card.decode(bytes(data)), PrivateKey.from_bytes(keys.open(bytes(sealed)))
            (slot,) = seal_slots([1], card)  # What a device of that window will send.
            assert open_slot(slot, card, inner) == 1
            ahead[int(window)] = (int(window) * length - now) / DAY
    assert 1 < max(ahead.values()) <= 2 * days, ahead


def test_who_read_the_issuers_file_before_a_window_sends_reports_that_no_account_stands_for(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """It was read in the window before, which is over, with its key, when tokens are made."""
    world = WholeWorld(tmp_path)
    card = world.open_window(WINDOW + 1)
    copy = tmp_path / "copy.sqlite"
    with ExitStack() as stack:
        for suffix in ("", "-wal"):
            shutil.copy(tmp_path / f"issuer.sqlite{suffix}", f"{copy}{suffix}")
        read = stack.enter_context(closing(sqlite3.connect(copy)))
        ((secret,),) = read.execute("SELECT secret FROM window_key WHERE window = ?", (WINDOW + 1,))
    stolen = IssuerKey.from_bytes(bytes(secret))

    world.go_to((WINDOW + 1) * HOUR + 600)
    world.clocks[-1].heard(world.now)
    for person in ("ann", "bob", "cy"):
        assert world.take_part(person, 1, window=WINDOW + 1) == 202
    world.take_part("dee", 1, window=WINDOW + 1, lose=("reports request",))
    report = signed_report(world.task, card, seal_slots([0] * world.task.slots, card), stolen)
    sealed = seal_report(report.encode(), card)
    assert world.post(WINDOW + 1, world.pass_of("thief"), sealed) == 202
    document = world.end(WINDOW + 1)
    world.close()
    assert (document["state"], document["users"]) == ("RELEASED", 4)
    assert document["accounts_served"] == 4


def test_who_read_the_shufflers_files_before_a_window_links_the_slots_of_a_record(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """What came over the network later, with TLS taken off, opens with the key of before."""
    world = WholeWorld(tmp_path)
    card = world.open_window(WINDOW + 1)
    thief = tmp_path / "thief"
    thief.mkdir()
    for file in [*tmp_path.glob("shuffler*.sqlite*"), *tmp_path.glob("gateway.sqlite*")]:
        shutil.copy(file, thief)
    with ExitStack() as stack:
        state = stack.enter_context(closing(sqlite3.connect(thief / "shuffler.sqlite")))
        keys = ErasableKeys(thief / "gateway.sqlite")
        stack.callback(keys.close)
        ((sealed_key,),) = state.execute(
            "SELECT sealed_key FROM card WHERE window = ?", (WINDOW + 1,)
        )
        gateway = PrivateKey.from_bytes(keys.open(bytes(sealed_key)))
    world.go_to((WINDOW + 1) * HOUR + 600)
    world.clocks[-1].heard(world.now)
    for person in ("ann", "bob", "cy"):
        assert world.take_part(person, 1, window=WINDOW + 1) == 202
    (_, sender, body), *_ = world.sent
    opened = open_report(body, card, gateway)
    assert sender == world.pass_of("ann")
    assert opened == world.report_of("ann", WINDOW + 1)
    world.close()


def test_who_reads_the_shufflers_store_names_the_slots_of_a_pass_to_the_analyser(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """By the id of a pass, which lets nobody in: with the analyser it is all that both see."""
    assert on_the_page("link slots, and to passes that it knows; see which of these have sent;")
    world = WholeWorld(tmp_path, weak_task(min_batch=3, max_batch=40), fast=True)
    card = world.open_window()
    for person in ("ann", "bob", "cy"):
        assert world.take_part(person, 1) == 202
    store = world.shuffler.storage
    ((tag_key,),) = store.read("SELECT tag_key FROM collecting WHERE window = ?", (WINDOW,))

    def rows_of(person: str) -> list[tuple[object, ...]]:
        name = tag(bytes(tag_key), bytes.fromhex(world.pass_of(person))[:16])
        return list(store.read("SELECT slots FROM pending WHERE sender_tag = ?", (name,)))

    own, key = world.report_of("ann"), world.analyzer.cards.inner_key(WINDOW)
    assert rows_of("ann") == [(b"".join(own.records),)]
    assert rows_of("dee") == []
    assert key is not None
    assert open_slot(own.slots[0], card, key) == next(iter(world.values_of(own, WINDOW)))
    world.close()
