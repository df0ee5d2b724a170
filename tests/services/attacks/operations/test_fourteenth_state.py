"""A fourteenth round, on state: what fails for a moment, comes on hold, or is older."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import ssl
import time
from contextlib import ExitStack, suppress
from itertools import product
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.analyzer.release import work
from smoothdp.services.analyzer.window_cards import GATEWAY, ISSUER
from smoothdp.services.formats import batch as batches
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.operations import tls
from smoothdp.services.operations.clock_guard import ClockGuard, Hold
from smoothdp.services.operations.party_server import PartyServer, config_of
from smoothdp.services.shuffler.delivery import deliver_batches
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.shuffler.sealing import seal_due
from smoothdp.services.shuffler.shuffler_tables import SEALED
from smoothdp.services.store.storage import StorageUnreachable
from smoothdp.services.wire.running import on_loopback
from tests.services.operations.certificates import Authority
from tests.services.operations.served import Served, serving
from tests.services.storages import ONLY_POSTGRESQL, ONLY_SQLITE, Current
from tests.services.worlds.directories import party_directories
from tests.services.worlds.older_copies import copy_of, put_in_place
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld, issuer_key
from tests.services.worlds.small_tasks import small_task
from tests.services.worlds.whole_world import LOST, WholeWorld, weak_task

DAY = 86_400
USERS = 14


# ---- the seven days ------------------------------------------------------------------------------


def test_a_batch_that_was_whole_is_counted_by_an_analyser_that_comes_back_and_stumbles(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, section 7: "What was there whole before is counted and released also by an A
    that runs again only later".

    It runs again after eight days, and its database is away for a moment of the first round. The
    window was refused for good: "the analyser's key of it was lost, or its storage is damaged".
    """
    stumbles = [True]

    def reach(point: str) -> None:
        if point == "count: inside the transaction" and stumbles and stumbles.pop():
            raise StorageUnreachable(expected="an answer", got="a lost connection", remedy="Again")

    world = PartyWorld(tmp_path, reach=reach)
    world.open_window()
    world.send_many(USERS)
    world.seal()
    assert world.deliver() == 1
    assert world.tell_served(USERS) == 201
    world.go_to(world.now + 8 * DAY)
    with suppress(StorageUnreachable):
        work(world.analyzer)
    assert not stumbles
    work(world.analyzer)
    result = world.result()
    world.close()
    assert result["state"] == "RELEASED", result["reason"]


def test_no_part_is_taken_after_the_seven_days_by_an_analyser_that_has_heard_no_time(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, section 7: a part "of a batch whose parts were not all here when its window had
    been over for 7 days: 409"; such a window "ends, [...] no batch is taken then".

    The header came in time. The part comes after eight days, to an analyser that has just started,
    before the shuffler has told it the time: it held, took the part, and released the window.
    """
    world = PartyWorld(tmp_path)
    world.open_window()
    world.send_many(USERS)
    world.seal()

    def header_alone(path: str, body: bytes) -> int:
        return world.put(path, body) if path.count("/") == 3 else 503

    with pytest.raises(OSError, match="503"):
        deliver_batches(world.shuffler, header_alone)
    assert world.tell_served(USERS) == 201
    world.now += 8 * DAY
    world.analyzer.clocks = ClockGuard(wall=lambda: world.now, boot=lambda: world.now - 1000)
    assert world.analyzer.clocks.hold() is Hold.NO_PEER
    ((batch, part),) = world.shuffler.storage.read("SELECT batch_id, bytes FROM batch_part")
    assert world.analyzer.put_part(bytes(batch), 0, bytes(part)) == 503
    world.analyzer.clocks.heard(world.now)
    assert world.analyzer.put_part(bytes(batch), 0, bytes(part)) == 409
    work(world.analyzer)
    assert world.result()["state"] == "REFUSED"
    world.close()


# ---- older copies --------------------------------------------------------------------------------


@ONLY_SQLITE
def test_an_older_copy_from_before_a_month_is_refused_beside_keys_that_were_made_anew(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "The shuffler's database from an older copy is refused beside its keys from
    now, if a window that is open in it was closed since".

    The window was closed a month ago, and the file of the keys was lost since, and made anew
    beside the database of that day: it noted the windows of the last 30 days alone.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    for person in range(4):
        assert world.take_part(f"before {person}") == 202
    world.close()
    copy = copy_of(tmp_path, "shuffler.sqlite")
    world._open()
    assert world.take_part("one more") == 202
    assert world.end()["users"] == 5
    world.go_to(world.now + 31 * DAY)
    world.shuffler.forget_old()
    world.close()
    for lost in tmp_path.glob("gateway.sqlite*"):
        lost.unlink()
    world._open()
    world.close()
    put_in_place(tmp_path, "shuffler.sqlite", copy)
    with pytest.raises(InvalidData, match="it was closed since"):
        world._open()


NOW, OLDER, DELETED = "now", "older", "deleted"
SECOND_RESULT = {(OLDER, OLDER, OLDER), (DELETED, OLDER, OLDER)}
"""Of ledger, database and keys: from where a second batch of a window is released."""


@pytest.mark.slow
@ONLY_SQLITE
def test_what_is_older_or_deleted_of_an_analyser_in_each_combination(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "database and keys from an older copy beside the newest ledger release no
    window again for another batch than it was charged for"; "where none of the three is from now,
    each an older copy [...] or deleted, that is not noticed".

    Each file as it is, as it was before the window was charged, or gone; the shuffler and the
    issuer are from an older copy too, and bring a batch of one person less. Where one of the three
    is from now it is refused, or charged as it was. Two of the others release it.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    assert [world.take_part(person) for person in "abcd"] == [202] * 4
    world.close()
    names = (world.analyzer.ledger.path.name, "analyzer.sqlite", "inner.sqlite")
    before = {name: copy_of(tmp_path, name) for name in names}
    others = {name: copy_of(tmp_path, name) for name in ("shuffler", "gateway", "issuer")}
    world._open()
    assert world.take_part("one more") == 202
    assert world.end()["users"] == 5
    world.close()
    after = {name: copy_of(tmp_path, name) for name in names}
    second = set()
    for combination in product((NOW, OLDER, DELETED), repeat=3):
        for name, which in zip(names, combination, strict=True):
            put_in_place(tmp_path, name, {NOW: after, OLDER: before}.get(which, {}).get(name, {}))
        for name, files in others.items():
            put_in_place(tmp_path, name, files)
        try:
            world._open()
        except SmoothdpError:
            # A ledger that lacks what was spent is refused wherever anything tells of it.
            assert combination[0] != NOW
            assert NOW in combination[1:]
            continue
        assert combination[0] == NOW or NOW not in combination
        with suppress(SmoothdpError, OSError):
            world.end()
        result = world.result()
        if result["state"] == "RELEASED" and result["users"] == 4:
            second.add(combination)
        if combination[0] == NOW:
            assert world.charged() == [WINDOW]
        world.close()
    assert second == SECOND_RESULT


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
        world.send_many(USERS)
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
        world.send_many(USERS, window=WINDOW + 1)
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


# ---- two processes -------------------------------------------------------------------------------


def test_a_process_whose_batch_another_one_hands_over_meanwhile_goes_on(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "whatever the number of processes". The parts of a batch go with the word of the
    analyser; a process that was between two of them failed with an IndexError, "other" in the log.
    """
    monkeypatch.setattr(batches, "PART_RECORDS", 4)
    met: list[str] = []

    def reach(point: str) -> None:
        if point == "deliver: between parts" and not met:
            met.append(point)
            assert world.deliver() == 1

    world = PartyWorld(tmp_path, reach=reach)
    world.open_window()
    world.send_many(USERS)
    world.seal()
    assert world.deliver() == 1
    assert met
    work(world.analyzer)
    assert world.tell_served(USERS) == 201
    work(world.analyzer)
    assert world.result()["users"] == USERS
    world.close()


@pytest.mark.parametrize("when", ["names are looked up", "it is checked"])
def test_a_card_that_another_process_signs_meanwhile_is_no_fault_of_the_analyser(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    when: str,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "whatever the number of processes". Whoever came second was told of a card that
    "was lost here", or that is signed already, and to ask who runs the analyser.
    """
    world = PartyWorld(tmp_path)
    cards, keys = world.shuffler.cards, world.analyzer.cards
    keys.put_key(GATEWAY, WINDOW, cards.offered_key(WINDOW))
    keys.put_key(ISSUER, WINDOW, issuer_key().public.spki)
    offered = keys.shown(WINDOW)
    assert offered is not None
    first: list[bytes] = []
    where: object = cards._keys if when == "names are looked up" else cards
    name = "notes" if when == "names are looked up" else "offered_key"
    asked = getattr(where, name)

    def meanwhile(*args: object) -> object:
        monkeypatch.setattr(where, name, asked)
        first.append(cards.sign(WINDOW, offered))
        return asked(*args)

    monkeypatch.setattr(where, name, meanwhile)
    assert cards.sign(WINDOW, offered) == first[0]
    assert len(first) == 1
    world.close()


# ---- signals ---------------------------------------------------------------------------------


@ONLY_SQLITE
def test_two_signals_at_once_leave_no_listener_that_nobody_knows(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "After a renewal send SIGHUP [...]: files are read again".

    Two that came while the loop was busy were read at once: the listener of one was in no list. No
    later SIGHUP gave it other certificates or authorities, and it took connections at the end.
    """
    certificate, key = Authority(tmp_path).certificate("server")
    served = tls.Served(certificate, key)

    async def listens() -> bool:
        listener = socket.create_server(("127.0.0.1", 0))
        port = int(listener.getsockname()[1])
        server = PartyServer(config_of(Starlette(), "127.0.0.1", 0), tls=served.context)
        server.config.load()
        server.lifespan = server.config.lifespan_class(server.config)
        server.servers = [await server._listen(listener)]
        server._listeners = [listener]
        await asyncio.gather(server.read_again(), server.read_again())
        for known in server.servers:
            known.close()
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            async with asyncio.timeout(1):
                _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        except (TimeoutError, OSError):
            return False
        writer.close()
        return True

    assert not asyncio.run(listens())


# ---- what held -----------------------------------------------------------------------------------


@ONLY_SQLITE
def test_windows_of_one_second_without_grace(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Section 3.1: "L >= 1, 0 <= G <= L". A window ends at its second and not before; its keys are
    gone when it is over, and those of the next one are there.
    """
    world = WholeWorld(tmp_path, weak_task(window_seconds=1, grace_seconds=0), fast=True)
    world.go_to(WINDOW + 0.25)
    for window in (WINDOW, WINDOW + 1):
        world.open_window(window)
    assert [world.take_part(person) for person in "abc"] == [202] * 3
    assert world.take_part("late", lose=("reports request",)) == LOST
    world.go_to(WINDOW + 0.999_999)
    assert seal_due(world.shuffler) == []
    assert close_windows(world.issuer) == []
    world.go_to(WINDOW + 1.0)
    with suppress(SmoothdpError):
        world.take_part("late")
    assert world.last_status == 410
    result = world.end()
    assert (result["state"], result["users"], result["accounts_served"]) == ("RELEASED", 3, 4)
    assert world.shuffler.cards.kept() == [WINDOW + 1]
    assert world.analyzer.cards.inner_key(WINDOW) is None
    assert [world.take_part(person, window=WINDOW + 1) for person in "abc"] == [202] * 3
    world.go_to(WINDOW + 2.0)
    assert world.end(WINDOW + 1)["users"] == 3
    assert world.charged() == [WINDOW, WINDOW + 1]
    world.close()


def test_a_window_that_is_full_answers_those_who_are_in_it(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Section 6: "the same id 202, another id 409", before "the window holds `max_batch` reports:
    503"; also after a restart, and the smallest batch may be the largest.
    """
    world = PartyWorld(tmp_path, small_task(max_batch=12))
    world.open_window()
    passes = [world.new_pass() for _ in range(13)]
    reports = [world.report() for _ in passes]
    for secret, report in zip(passes[:12], reports, strict=False):
        assert world.send(report, secret) is Taken.ACCEPTED
    for _ in range(2):
        assert world.send(reports[12], passes[12]) is Taken.LATER
        assert world.send(reports[3], passes[3]) is Taken.ACCEPTED
        assert world.send(reports[12], passes[3]) is Taken.OTHER_REPORT
        world.restart()
    assert world.finish(12)["users"] == 12
    world.close()


@ONLY_SQLITE
def test_no_time_that_is_none_is_heard_and_none_of_the_issuer(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Section 8: "I's clock is not heard by A"; section 9: `{"time": seconds}` or 400."""
    written = party_directories(tmp_path / "t")
    party = AnalyzerParty.from_directory(written.analyzer)
    tokens = [
        json.loads((directory / "secrets.json").read_text())["analyzer_token"]
        for directory in (written.shuffler, written.issuer)
    ]
    with on_loopback(party.app(work_seconds=1000)) as url, httpx.Client(base_url=url) as http:

        def told(body: bytes, token: str) -> int:
            headers = {"authorization": f"Bearer {token}"}
            return http.post("/v2/clock", content=body, headers=headers).status_code

        now = json.dumps({"time": party.analyzer.clocks.now()}).encode()
        assert told(now, tokens[1]) == 503
        assert party.analyzer.clocks.hold() is Hold.NO_PEER
        assert told(now, tokens[0]) == 200
        for value in (b"NaN", b"1e999", b"-1", b'"5"', b"true", b"null", b"[1]", b"9" * 40):
            assert told(b'{"time":%s}' % value, tokens[0]) == 400
        assert [told(body, tokens[0]) for body in (b"", b"null", b"{ }", b"[" * 60)] == [400] * 4
        # The issuer's word, of another day, is not heard: nothing is held for it.
        assert told(b'{"time":0}', tokens[1]) == 200
        assert party.analyzer.clocks.hold() is None
    party.close()


@pytest.mark.slow
@ONLY_SQLITE
def test_a_session_of_before_is_not_resumed_after_the_authorities_were_read_again(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "`--client-ca` makes a service refuse callers without a certificate of these
    authorities [...]. After a renewal send SIGHUP". A ticket of TLS shows no certificate again.
    """
    directory = party_directories(tmp_path / "t").analyzer
    own, other, new = (Authority(tmp_path, name) for name in ("own", "other", "new"))
    certificate, key = own.certificate("server")
    believed = tmp_path / "believed.pem"
    believed.write_bytes(other.ca.read_bytes())
    context = ssl.create_default_context(cafile=str(own.ca))
    context.load_cert_chain(other.together("client"))
    more = ["--certificate", str(certificate), "--certificate-key", str(key)]
    with ExitStack() as stack:
        party = stack.enter_context(
            serving("analyzer", directory, *more, "--client-ca", str(believed), scheme="https")
        )

        def asked(session: ssl.SSLSession | None) -> tuple[bytes, bool | None, ssl.SSLSession]:
            raw = stack.enter_context(socket.create_connection(("127.0.0.1", party.port), 5))
            sealed = context.wrap_socket(raw, server_hostname="127.0.0.1", session=session)
            stack.enter_context(sealed)
            sealed.sendall(b"GET /v2/tasks/0 HTTP/1.1\r\nhost: x\r\n\r\n")
            answer = sealed.recv(1 << 12)
            assert sealed.session is not None
            return answer, sealed.session_reused, sealed.session

        _, _, session = asked(None)
        answer, reused, _ = asked(session)
        assert reused
        assert answer.startswith(b"HTTP/1.1 404")
        believed.write_bytes(new.ca.read_bytes())
        party.process.send_signal(signal.SIGHUP)
        party.wait(lambda: _read_again(party))
        with suppress(OSError):
            assert asked(session)[0] == b""


def _read_again(party: Served) -> bool:
    return any(line["event"] == "certificates were read again" for line in party.lines())
