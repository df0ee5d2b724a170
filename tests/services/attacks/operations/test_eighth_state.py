"""An eighth round, on what parties keep: who writes their files, copies, and who was away."""

from __future__ import annotations

import encodings.ascii  # noqa: F401, a child of another user may not read it
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.services import check
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.analyzer.release import work
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.party_files import revoke_tokens
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.formats.signing import SigningKey
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.operations.clock_guard import ClockGuard
from smoothdp.services.operations.health import cards_condition
from smoothdp.services.operations.tls import Trust
from smoothdp.services.shuffler.delivery import DeliveryRefused
from smoothdp.services.shuffler.shuffler_party import ShufflerParty, issue_passes
from smoothdp.services.wire.running import on_loopback
from tests.services.attacks.operations.test_sixth_processes import restart
from tests.services.delivery.test_clocks import JUMP, PARTIES, USERS, OwnClocks
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.directories import party_directories
from tests.services.worlds.party_world import PartyWorld
from tests.services.worlds.postgres_server import PostgresServer
from tests.services.worlds.small_tasks import small_task
from tests.services.worlds.three_parties import HOUR, WINDOW, Parties
from tests.services.worlds.whole_world import WholeWorld

pytestmark = ONLY_SQLITE

NOBODY = 65534
"""Some user of the machine who is not root."""


@pytest.fixture
def folder_of_another_user() -> Iterator[Path]:
    """A folder that another user reaches."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="not root")
def test_what_root_revokes_counts_for_a_service_of_a_user_of_its_own(
    folder_of_another_user: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """`smoothdp task revoke`: "The service may run; it takes them no more from now on."

    The unit of systemd gives each party a user of its own, and a directory that is this user's
    alone; so it is root who revokes.
    """
    folder = folder_of_another_user
    directory = party_directories(folder).shuffler
    lost, kept = issue_passes(directory, 2)
    for path in (directory, *directory.iterdir()):
        os.chown(path, NOBODY, NOBODY)
    told, tell = os.pipe()
    asked, ask = os.pipe()

    def serve() -> None:
        now = 3_600_600.0
        clocks = ClockGuard(wall=lambda: now, boot=lambda: now - 1000)
        party = ShufflerParty.from_directory(directory, clocks=clocks)
        assert party.shuffler.sender(lost) is not None
        os.write(tell, b"started")
        os.read(asked, 1)
        assert party.shuffler.sender(kept) is not None
        assert party.shuffler.sender(lost) is None, "a pass that was revoked is let in"

    child = os.fork()
    if not child:
        code = 1
        try:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            serve()
            code = 0
        finally:
            os._exit(code)
    os.read(told, 7)
    assert revoke_tokens(directory, [lost]) == 1
    os.write(ask, b"!")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_check_tells_nobody_a_clock_that_the_service_holds(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The threat model: "two clocks must agree, and none may have been set since the start; one
    that was is told to nobody".

    All follow one wrong source, and all hold. The analyser is started again after a crash; at the
    shuffler somebody looks what is wrong, as the guide says: `serve check --peer`.
    """
    parties = OwnClocks(tmp_path)
    parties.round()
    store = OutcomeStore(tmp_path / "clients.sqlite")
    parties.take_part(store)
    before = parties.what_can_be_destroyed()
    assert len(before["reports"]) == USERS
    parties.wrong = dict.fromkeys(PARTIES, 8 * JUMP)
    parties.round()
    restart(parties, "analyzer")
    parties.round()
    assert parties.what_can_be_destroyed() == before
    # A process of its own: its clock has not moved since *its* start.
    monkeypatch.setattr(check, "ClockGuard", lambda: parties._of("shuffler"))
    check.check_party(parties.made.shuffler, peer=parties.url)
    for _ in range(2):
        parties.round()
    after = parties.what_can_be_destroyed()
    parties.running.close()
    store.close()
    assert after == before


def test_an_issuer_destroys_nothing_on_a_time_that_the_shuffler_contradicts(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: the promise needs "the clock of one party at least", and nothing stands
    against "clocks that are wrong everywhere from the start".

    Analyser and issuer are one operator's. After a power cut both start two days ahead, by one
    wrong source. The shuffler's clock is right, and the analyser holds; but it tells its time.
    """
    parties = OwnClocks(tmp_path)
    parties.round()
    store = OutcomeStore(tmp_path / "clients.sqlite")
    parties.take_part(store)
    before = parties.what_can_be_destroyed()
    parties.wrong |= {"analyzer": JUMP, "issuer": JUMP}
    for party in ("analyzer", "issuer"):
        restart(parties, party)
    for _ in range(3):
        parties.round()
    after = parties.what_can_be_destroyed()
    parties.running.close()
    store.close()
    assert after == before


def test_two_results_of_one_window_are_not_both_charged(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: `serve check --results` says "whether the ledger has charged all results that
    were published".

    A machine that was set back to a snapshot started by itself, and a shuffler that is not honest
    brought another batch of a window whose result was out: one charge, two results.
    """
    directory = party_directories(tmp_path / "task").analyzer
    party = AnalyzerParty.from_directory(directory)
    published = tmp_path / "published"
    published.mkdir()
    header = BatchHeader(
        signed=True,
        card_digest=bytes(32),
        batch_id=bytes(16),
        users=13,
        slots=13,
        part_hashes=(bytes(32),),
        marks_sha256=bytes(32),
    )
    for users in (13, 12):
        batch = replace(header, users=users, slots=users).sign(SigningKey.generate()).encode()
        document = {
            "task_id": party.task.task_id.hex(),
            "window": 1000,
            "users": users,
            "batch_header": batch.hex(),
        }
        signed = SignedResult.sign(document, party.analyzer.sign_key)
        (published / f"{users}.json").write_bytes(signed.encode())
    # Of the snapshot and what came after it: the charge of the second result alone.
    party.analyzer.ledger.charge(1000, batch=hashlib.sha256(batch).digest())
    party.close()
    said = {one.name: one for one in check.check_party(directory, results=published)}["ledger"]
    assert not said.good, said.says


@pytest.mark.slow
def test_a_short_list_of_the_revoked_is_said_of_a_party_on_postgresql_too(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    postgres_server: PostgresServer,
) -> None:
    """The guide, of a list that is lost or emptied: "the log and `serve check` say so"."""
    directory = party_directories(tmp_path).shuffler
    (directory / "storage").write_text(postgres_server.schema_for(directory, "shuffler"))
    (directory / "storage").chmod(0o600)
    (secret,) = issue_passes(directory, 1)
    assert revoke_tokens(directory, [secret]) == 1
    party = ShufflerParty.from_directory(directory)
    (directory / "revoked").unlink()
    party.revoked.remember()
    assert party.shuffler.sender(secret) is None
    said = {one.name: one for one in check.check_party(directory)}["revoked"]
    party.close()
    assert not said.good, said.says


@pytest.mark.slow
def test_lost_keys_of_windows_are_said_of_a_party_on_postgresql_too(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    postgres_server: PostgresServer,
) -> None:
    """The guide: `serve check` says whether the directory is fit, "keys" among it."""
    made = party_directories(tmp_path, has_issuer=False, issuer_url="")
    directory = made.shuffler
    (directory / "storage").write_text(postgres_server.schema_for(directory, "shuffler"))
    (directory / "storage").chmod(0o600)
    analyzer = AnalyzerParty.from_directory(made.analyzer)
    party = ShufflerParty.from_directory(directory)
    with on_loopback(analyzer.app(work_seconds=3600)) as url:
        party.work(url)
    assert party._cards_to_come()
    party.close()
    for path in directory.glob("gateway.sqlite*"):
        path.unlink()
    party = ShufflerParty.from_directory(directory)
    assert party.shuffler.cards.lost()
    said = {one.name: one for one in check.check_party(directory)}["keys"]
    for opened in (party, analyzer):
        opened.close()
    assert not said.good, said.says


def without_its_database(parties: Parties, stack: ExitStack) -> AnalyzerParty:
    """Let the analyser lose its database, which needs no backup, and start again."""
    parties.analyzer.close()
    for path in (parties.folder / "analyzer").glob("analyzer.sqlite*"):
        path.unlink()
    analyzer = AnalyzerParty.from_directory(parties.folder / "analyzer", clocks=parties.clocks())
    stack.callback(analyzer.close)
    parties.url = stack.enter_context(on_loopback(analyzer.app(work_seconds=3600)))
    return analyzer


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


def test_whoever_is_revoked_while_a_certificate_is_bad_stays_revoked(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "The ids in the file `revoked` are kept in the party's database too, from its
    start or the next round of work (10 s) on."

    A file of authorities that cannot be read ended the rounds before their first step.
    """
    directory = party_directories(tmp_path).shuffler
    (secret,) = issue_passes(directory, 1)
    party = ShufflerParty.from_directory(directory)
    assert revoke_tokens(directory, [secret]) == 1
    assert party.shuffler.sender(secret) is None
    (tmp_path / "ca.pem").write_text("half a file")
    with pytest.raises(SmoothdpError):
        party.work("https://127.0.0.1:9", trust=Trust(ca=tmp_path / "ca.pem"))
    party.close()
    (directory / "revoked").unlink()
    party = ShufflerParty.from_directory(directory)
    sender = party.shuffler.sender(secret)
    party.close()
    assert sender is None


class Stopped(Exception):
    """As if the power had gone."""


def test_an_analyser_that_comes_back_after_the_seven_days_releases_what_it_had_whole(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol: what was there whole is counted and released also by an A that runs again only
    after these 7 days. It said that a window that was charged is refused then.
    """
    stops = [True]

    def reach(point: str) -> None:
        if stops and point == "release: between ledger and result":
            stops.pop()
            raise Stopped

    world = WholeWorld(tmp_path, reach=reach, fast=True)
    world.open_window()
    assert [world.take_part(str(person)) for person in range(3)] == [202] * 3
    with pytest.raises(Stopped):
        world.end()
    assert world.charged() == [WINDOW]
    world.now += 8 * 86_400
    world.restart()
    work(world.analyzer)
    said = world.result()
    assert (said["state"], world.charged()) == ("RELEASED", [WINDOW])
    world.close()


def test_an_analyser_takes_no_batch_after_the_seven_days(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "An analyser ends every window 7 days after its end and grace, and takes no batch
    of it then (409)".

    The shuffler comes back after eight days, tells its time, and hands over in the same round.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    assert [world.take_part(str(person)) for person in range(3)] == [202] * 3
    world.seal()
    close_windows(world.issuer)
    world.tell()
    world.go_to(world.now + 8 * 86_400)
    with pytest.raises(DeliveryRefused, match="answered 409"):
        world.deliver()
    work(world.analyzer)
    assert world.charged() == []
    world.close()


@pytest.mark.parametrize("windows", [3, 60])
def test_cards_are_red_when_no_window_to_come_has_one(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    windows: int,
) -> None:
    """The guide, of `/readyz`: "cards: no cards for the windows to come"; the present one counted.

    Where the budget pays for no more that is as it should be.
    """
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack, windows=windows)
        parties.round()
        ahead = max(
            window
            for window in range(WINDOW, WINDOW + 48)
            if parties.shuffler.shuffler.cards.stored(window) is not None
        )
        parties.now = ahead * HOUR + 60.0
        to_come = parties.shuffler._cards_to_come()
        said = cards_condition(to_come, least=parties.shuffler._cards_wanted())
        assert (to_come, said.good) == (0, windows == 3)


def test_a_card_that_was_shown_after_a_kill_is_noted_beside_the_keys(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol: S "stores the signed card, and beside its gateway keys that there is one, and
    opens the window for reports".

    Killed between the two, it came back and showed the card of an open task to everybody, while
    the analyser was away. Its database was lost then, and the analyser lies.
    """

    def reach(point: str) -> None:
        if point == "card: signature stored":
            raise Stopped

    world = PartyWorld(tmp_path, small_task(issuer=None, proof="none"), reach=reach)
    with pytest.raises(Stopped):
        world.open_window()
    world.reach = lambda _: None
    world.restart()
    assert world.shuffler.cards.stored(WINDOW) is not None
    assert world.shuffler.takes(WINDOW) is None
    world.send_many(3)
    world.close()
    for path in world.folder.iterdir():
        if path.name.split(".")[0] != "gateway":
            path.unlink()
    world._open()
    with pytest.raises(InvalidData, match="one whose card was lost here"):
        world.open_window()
    world.close()


# ---- what held


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


@pytest.mark.parametrize("days", [8, 31])
def test_after_days_without_any_party_nothing_of_an_open_window_is_kept(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    days: int,
) -> None:
    """All stop in an open window, and all come back after its 7 and its 30 days.

    After 8 the analyser takes the batch no more, which the shuffler keeps, sealed to a key that
    is gone, until its 30 days are over.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    assert [world.take_part(str(person)) for person in range(3)] == [202] * 3
    world.now += days * 86_400
    world.restart()
    for _ in range(2):
        world.seal()
        close_windows(world.issuer)
        with suppress(OSError):
            world.tell()
            world.deliver()
        world.shuffler.forget_old()
        work(world.analyzer)
    world.seal()
    assert [keys.scopes() for keys in world.keys] == [[], []]
    if days == 8:
        world.now += 30 * 86_400
        world.restart()
        world.go_to(world.now)
        world.shuffler.forget_old()
    assert world.shuffler.storage.read("SELECT * FROM pending") == []
    assert world.shuffler.storage.read("SELECT * FROM batch_part") == []
    assert world.issuer.storage.read("SELECT secret, tag_key FROM window_key") == [(None, None)]
    for table, column in (("counts", "bytes"), ("part", "bytes")):
        rows = world.analyzer.storage.read(f"SELECT {column} FROM {table}")
        assert [row for row in rows if row != (None,)] == []
    world.close()
