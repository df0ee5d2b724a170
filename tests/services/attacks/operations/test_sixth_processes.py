"""Two faults at once: a source of time that is wrong everywhere, and a party that starts again."""

from __future__ import annotations

import asyncio
import io
import json
import os
import time
from contextlib import closing
from pathlib import Path

import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.operations.health import Check, Condition, Health
from smoothdp.services.operations.logs import json_lines
from smoothdp.services.shuffler.shuffler_tables import SHUFFLER_SCHEMA
from smoothdp.services.store.revoked import Revoked, revoke
from smoothdp.services.store.storage import SqliteStorage, StorageUnreachable
from tests.services.delivery.test_clocks import HOUR, JUMP, PARTIES, USERS, WINDOW, OwnClocks
from tests.services.storages import open_state


def restart(parties: OwnClocks, party: str) -> None:
    """Let one party know no more of clocks than after a start; the others go on."""
    clocks = {
        "shuffler": parties.shuffler.shuffler.clocks,
        "analyzer": parties.analyzer.analyzer.clocks,
        "issuer": parties.issuer.issuer.clocks,
    }
    vars(clocks[party]).update(vars(parties._of(party)))


@pytest.mark.parametrize(
    "killed", [PARTIES[0], *(pytest.param(p, marks=pytest.mark.slow) for p in PARTIES[1:])]
)
def test_a_party_that_starts_again_believes_no_clock_that_was_set(
    tmp_path: Path, killed: str
) -> None:
    """All follow one wrong source, and all hold; one is killed and comes back on the wrong time.

    Its own clock has not moved since *its* start, and agrees with the other party's. But that one
    was set since its start: its time is nobody's second clock.
    """
    parties = OwnClocks(tmp_path)
    parties.round()
    store = OutcomeStore(tmp_path / "clients.sqlite")
    parties.take_part(store)
    before = parties.what_can_be_destroyed()
    assert (len(before["reports"]), len(before["accounts"])) == (USERS, USERS)
    parties.wrong = dict.fromkeys(PARTIES, 8 * JUMP)
    parties.round()
    assert parties.what_can_be_destroyed() == before
    restart(parties, killed)
    for _ in range(3):
        parties.round()
    assert parties.what_can_be_destroyed() == before
    # Right again, and all are started again: what was acknowledged is counted.
    parties.wrong = dict.fromkeys(PARTIES, 0.0)
    parties.running.close()
    parties.open()
    parties.now = (WINDOW + 1) * HOUR + 600.0
    parties.round()
    released = parties.analyzer.analyzer.storage.read("SELECT window FROM release")
    assert released == [(WINDOW,)]
    parties.running.close()
    store.close()


@pytest.mark.parametrize("before_the_start", [True, False])
def test_a_list_of_the_revoked_that_is_emptied_is_a_line_of_json_each_ten_minutes(
    tmp_path: Path, before_the_start: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whether the service ran meanwhile or not; and a list that is no list is named too."""
    path, task = tmp_path / "revoked", b"t" * 32
    with closing(open_state(tmp_path, "shuffler", SHUFFLER_SCHEMA)) as storage:
        revoke(path, [b"1" * 16, b"2" * 16])
        revoked = Revoked(path, storage, task)
        path.write_text(f"{(b'1' * 16).hex()}\n")
        if before_the_start:
            revoked = Revoked(path, storage, task)
        assert capfd.readouterr() == ("", "")
        with json_lines("shuffler", stream=(stream := io.StringIO())):
            revoked.remember()
            revoked.remember()
            assert b"2" * 16 in revoked
            path.write_text("not an id")
            revoked.remember()
        short, unread = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert short["event"] == "the list of the revoked is short"
    assert "revoked lacks 1 ids" in short["says"]
    assert unread["event"] == "the list of the revoked was not read"
    assert str(path) in unread["says"]
    assert capfd.readouterr() == ("", "")


# ---- the words of a start that is not permitted, and of a database that does not answer


def test_a_state_that_may_not_be_read_is_no_reason_for_another_path(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """At another path the service would begin anew, with none of what was acknowledged."""
    path, schema = tmp_path / "shuffler.sqlite", "CREATE TABLE IF NOT EXISTS box (item TEXT);"
    SqliteStorage(path, schema).close()
    path.chmod(0o000)
    me = os.geteuid()
    if me == 0:
        os.seteuid(65534)
    try:
        with pytest.raises(InvalidData) as refused:
            SqliteStorage(path, schema)
    finally:
        if me == 0:
            os.seteuid(me)
    assert "another path" not in str(refused.value)
    assert "the state is here" in str(refused.value)


def test_what_cannot_be_known_without_the_storage_is_not_named_beside_it() -> None:
    """A database that hangs is no loss of keys: nobody is sent to look for a file that is there."""

    def hangs() -> Condition:
        time.sleep(0.3)
        return Condition("keys", True, "there")

    def breaks() -> Condition:
        raise StorageUnreachable(expected="an answer", got="none", remedy="Wait")

    full = Condition("disk", False, "1 % free")

    def wrong(storage: Check) -> list[str]:
        checks = {"storage": storage, "keys": hangs, "cards": breaks, "disk": lambda: full}
        health = Health(checks, seconds=0.05)
        found = asyncio.run(health.conditions())
        health.close()
        return [condition.name for condition in found if not condition.good]

    assert wrong(hangs) == wrong(breaks) == ["storage", "disk"]
    assert wrong(lambda: Condition("storage", True, "answers")) == ["keys", "cards", "disk"]
