"""What a PostgreSQL server keeps, logs and is set to, and an address that is another database."""

from __future__ import annotations

import struct
import time
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.analyzer.release import work
from smoothdp.services.analyzer.window_cards import GATEWAY, ISSUER
from smoothdp.services.check import check_party
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.slots import open_slot
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.shuffler.shuffler_tables import SEALED, SHUFFLER_SCHEMA
from smoothdp.services.store.party_storage import open_storage
from smoothdp.services.store.storage import StorageUnreachable
from smoothdp.services.wire.hybrid import PrivateKey
from tests.services.storages import ONLY_POSTGRESQL, ONLY_SQLITE, Current
from tests.services.worlds.directories import party_directories
from tests.services.worlds.on_postgresql import on_postgresql, the_server
from tests.services.worlds.party_world import ENOUGH, HOUR, WINDOW, PartyWorld, issuer_key
from tests.services.worlds.postgres_server import PostgresServer
from tests.services.worlds.small_tasks import small_task
from tests.services.worlds.whole_world import WholeWorld


@pytest.mark.slow
@pytest.mark.parametrize("storage_kind", ["postgresql"], indirect=True)
def test_on_postgresql_no_answer_can_be_read_afterwards(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model, of a thief who comes afterwards "with a recording of the network and all
    disks after the erasures": "no answer can be read"; and of PostgreSQL, which keeps deleted
    rows: "so what must be forgotten is sealed with keys of a file beside".

    The analyser keeps its rows in PostgreSQL. A batch of 16,385 slots has two parts, the second
    of one slot: what the analyser counted of that part is the answer in this slot. The marks on a
    device, or the shuffler's recording, say whose it is.
    """
    world = PartyWorld(tmp_path, small_task(issuer=None, proof="none", max_batch=20_000))
    card = world.open_window()
    world.send_many(16_385)
    key = world.analyzer.cards.inner_key(card.window)
    assert key is not None
    world.seal()
    world.deliver()
    (last,) = (body for path, body in world.offers if path.endswith("/parts/1"))
    (first,) = (body for path, body in world.offers if len(path.split("/")) == 4)
    header = BatchHeader.decode(first)
    value = open_slot(last, card, key)
    work(world.analyzer)
    assert world.result()["state"] == "RELEASED"
    for _ in range(2):
        work(world.analyzer)
        world.analyzer.storage.forget()
    assert world.analyzer.storage.read("SELECT * FROM tally") == []
    world.close()
    assert Current.server is not None
    disk = Current.server.bytes_of_everything()
    # A row of a table: the batch, then its part, a value, and how often it came.
    row = b"\x23" + header.batch_id
    read, at = set(), disk.find(row)
    while at >= 0:
        for gap in range(8):
            part, found, n = struct.unpack_from("<qqq", disk, at + len(row) + gap)
            if (part, n) == (1, 1) and found in (0, 1):
                read.add(found)
        at = disk.find(row, at + 1)
    assert value not in read


@on_postgresql
def test_a_server_that_logs_every_statement_with_its_values_learns_no_slot(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "What must be forgotten (reports, batches, the keys of sender marks, the
    shuffler's own keys) is therefore sealed before it is stored".

    The server's log has each statement with its values, in an open window and until the release:
    no slot, no key, no answer is in it, nor in its tables, pages and write-ahead log.
    """
    with psycopg.connect(the_server().address(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET log_min_duration_statement = 0")
        connection.execute("SELECT pg_reload_conf()")
    try:
        world = WholeWorld(tmp_path, fast=True)
        world.open_window()
        assert [world.take_part(person) for person in "abcd"] == [202] * 4
        secrets = [
            bytes(row[0])
            for query in (
                "SELECT slots FROM pending",
                "SELECT tag_key FROM collecting",
            )
            for row in world.shuffler.storage.read(query)
        ]
        opened = world.shuffler.cards.opened(WINDOW)
        inner = world.analyzer.cards.inner_key(WINDOW)
        assert opened is not None
        assert inner is not None
        secrets += [opened[1].to_bytes(), inner.to_bytes()]
        world.seal()
        secrets += world.slots_of_batch()
        close_windows(world.issuer)
        world.tell()
        world.deliver()
        work(world.analyzer)
        assert world.result()["state"] == "RELEASED"
        world.close()
    finally:
        with psycopg.connect(the_server().address(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM RESET log_min_duration_statement")
            connection.execute("SELECT pg_reload_conf()")
    log = (the_server().folder / "log").read_bytes()
    kept = the_server().bytes_of_everything()
    assert b"INSERT INTO pending" in log
    assert b"parameters: $1" in log
    for secret in secrets:
        for piece in (secret[:32], secret[-32:]):
            assert piece not in kept
            assert piece.hex().encode() not in log


class TestErasedSince:
    """A batch whose keys were erased, in rows that are an older copy."""

    pytestmark = ONLY_POSTGRESQL

    def test_it_holds_up_no_other_batch(
        self,
        tmp_path: Path,
        storage_kind: str,  # noqa: ARG002
    ) -> None:
        """The threat model, of the shuffler's database from an older copy: it is refused "if a
        window that is open in it was closed since; else what came since is lost".

        A batch waits in the copy that was handed over since. It does not open, in any round of 30
        days, and no later window got to the analyser, which waits for seven.
        """
        import psycopg

        server = Current.server
        assert server is not None
        world = PartyWorld(tmp_path)
        world.open_window()
        world.send_many(ENOUGH)
        world.seal()
        with psycopg.connect(
            server.schema_for(tmp_path, "shuffler"), autocommit=True
        ) as connection:
            rows = connection.execute("SELECT batch_id, part, bytes FROM batch_part").fetchall()
            assert world.deliver() == 1
            world.shuffler.storage.forget()
            world.close()
            connection.execute("UPDATE batch SET state = %s", (SEALED,))
            for row in rows:
                connection.execute(
                    "INSERT INTO batch_part (batch_id, part, bytes) VALUES (%s, %s, %s)", row
                )
        world._open()
        world.open_window(WINDOW + 1)
        world.go_to((WINDOW + 1) * HOUR + 5.0)
        world.send_many(ENOUGH, window=WINDOW + 1)
        world.seal(WINDOW + 1)
        with pytest.raises(InvalidData, match="sealed with the keys"):
            world.deliver()
        assert world.analyzer.batch_states() == {"COMPLETE": 2}
        world.close()

    def test_a_server_that_is_set_to_fsync_off_meanwhile(
        self,
        tmp_path: Path,
        storage_kind: str,  # noqa: ARG002
    ) -> None:
        """The guide: "a server with `fsync=off` is refused"; the threat model: slots "are stored
        before the first byte leaves".

        The server was started again, so that the connection is made anew.
        """
        import psycopg

        server = Current.server
        assert server is not None
        world = PartyWorld(tmp_path)
        world.open_window()
        report, secret = world.report(), world.new_pass()
        with psycopg.connect(server.address(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
            time.sleep(0.5)
            answers = []
            try:
                for _ in range(3):
                    with suppress(StorageUnreachable):
                        answers.append(world.send(report, secret))
            finally:
                connection.execute("ALTER SYSTEM RESET fsync")
                connection.execute("SELECT pg_reload_conf()")
        world.close()
        assert Taken.ACCEPTED not in answers

    def test_what_a_role_is_set_to_makes_no_commit_weaker(
        self,
        tmp_path: Path,
        storage_kind: str,  # noqa: ARG002
    ) -> None:
        """The guide: "`synchronous_commit` is switched on"; and a snapshot for each statement."""
        import psycopg

        server = Current.server
        assert server is not None
        with psycopg.connect(server.address(), autocommit=True) as connection:
            for setting in (
                "synchronous_commit = off",
                "default_transaction_isolation = 'serializable'",
            ):
                connection.execute(f"ALTER ROLE CURRENT_USER SET {setting}")
            try:
                world = PartyWorld(tmp_path)
                asked = ("SHOW synchronous_commit", "SHOW transaction_isolation")
                for begin in (world.shuffler.storage.transaction, world.shuffler.storage.adding):
                    with begin() as change:
                        assert [change.execute(one) for one in asked] == [
                            [("on",)],
                            [("read committed",)],
                        ]
                world.close()
            finally:
                connection.execute("ALTER ROLE CURRENT_USER RESET ALL")


class TestElsewhere:
    """An address of PostgreSQL that is not the one of before."""

    pytestmark = ONLY_POSTGRESQL

    def test_an_analyser_without_a_batch_begins_in_another_database_as_is_said(
        self,
        tmp_path: Path,
        storage_kind: str,  # noqa: ARG002
    ) -> None:
        """The guide: keys of rows are in `*.keys.sqlite`; "of an analyser there are none before its
        first batch, so check the name of its schema yourself".

        Named rightly again, it has its cards.
        """
        written = party_directories(tmp_path / "t")
        server, now = Current.server, int(time.time())
        assert server is not None
        right, wrong = (server.schema_for(written.analyzer, name) for name in ("right", "wrong"))
        party = AnalyzerParty.from_directory(written.analyzer, storage=right)
        window = now // written.task.window_seconds + 1
        cards = party.analyzer.cards
        gateway = PrivateKey.generate().public.to_bytes()
        assert cards.put_key(GATEWAY, window, gateway) == 201
        assert cards.put_key(ISSUER, window, issuer_key().public.spki) == 201
        assert cards.shown(window) is not None
        assert len(party.keys.scopes()) == 1
        party.close()
        AnalyzerParty.from_directory(written.analyzer, storage=wrong).close()
        again = AnalyzerParty.from_directory(written.analyzer, storage=right)
        assert again.analyzer.cards.shown(window) is not None
        again.close()


@ONLY_SQLITE
@pytest.mark.slow
def test_an_empty_database_does_not_erase_the_keys_of_another_one(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    postgres_server: PostgresServer,
) -> None:
    """A schema that is left out of the address: acknowledged reports would be gone for good."""
    directory = party_directories(tmp_path).shuffler
    right = postgres_server.schema_for(directory, "shuffler")
    wrong = postgres_server.schema_for(directory, "mistaken")
    state = open_storage(directory, "shuffler", SHUFFLER_SCHEMA, right)
    report = (
        "INSERT INTO pending (task_id, window, sender_tag, report_id, slots) VALUES (?, ?, ?, ?, ?)"
    )
    opened = "INSERT INTO collecting (task_id, window, state, tag_key) VALUES (?, ?, ?, ?)"
    with state.transaction() as change:
        change.change(opened, (b"t", 7, "OPEN", b"k" * 32))
        change.change(report, (b"t", 7, b"s", b"r" * 16, b"slots"))
    state.close()
    with pytest.raises(InvalidData, match="an empty one"):
        open_storage(directory, "shuffler", SHUFFLER_SCHEMA, wrong)
    for address, good in ((wrong, False), (right, True)):
        (directory / "storage").write_text(address)
        (directory / "storage").chmod(0o600)
        (found,) = (one for one in check_party(directory) if one.name == "storage")
        assert found.good is good
    state = open_storage(directory, "shuffler", SHUFFLER_SCHEMA, right)
    state.forget()
    assert state.read("SELECT slots FROM pending") == [(b"slots",)]
    state.close()
    # Whoever has lost the database begins anew without the keys.
    (directory / "shuffler.keys.sqlite").unlink()
    state = open_storage(directory, "shuffler", SHUFFLER_SCHEMA, wrong)
    assert state.forget()
    state.close()
