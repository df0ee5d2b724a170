"""A page of a database is lost, or all of it: the check, `/readyz` and the answers say so."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import httpx
import pytest

from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.formats.card import SignedCard
from smoothdp.services.issuer.issuer_party import IssuerParty, issue_invitations
from smoothdp.services.operations.admin import Operations
from smoothdp.services.operations.health import storage_condition
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from smoothdp.services.store.storage import StorageLost
from smoothdp.services.wire.running import on_loopback
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.checked import what_is_wrong
from tests.services.worlds.party_world import PartyWorld
from tests.services.worlds.three_parties import HOUR, Parties

KINDS: dict[str, type[AnalyzerParty | IssuerParty | ShufflerParty]] = {
    "analyzer": AnalyzerParty,
    "issuer": IssuerParty,
    "shuffler": ShufflerParty,
}


def spoil(file: Path, table: str) -> None:
    """Overwrite the page at which a table begins, as a bad block of a disk would."""
    where = f"file:{file}?immutable=1"
    with closing(sqlite3.connect(where, uri=True)) as opened:
        ((size,),) = opened.execute("PRAGMA page_size")
        ((root,),) = opened.execute(
            "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
        )
    data = bytearray(file.read_bytes())
    data[(root - 1) * size : root * size] = b"\xff" * size
    file.write_bytes(data)


def stopped_parties(folder: Path) -> None:
    """Write directories of three parties that ran, have cards, and were stopped."""
    with ExitStack() as stack:
        parties = Parties(folder, stack, now=time.time())
        for _ in range(3):
            parties.round()


@ONLY_SQLITE
@pytest.mark.parametrize(
    ("role", "table"),
    [
        ("issuer", "window_key"),
        ("issuer", "issued"),
        ("shuffler", "collecting"),
        ("shuffler", "pending"),
        ("analyzer", "part"),
    ],
)
def test_a_check_sees_a_damaged_database(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    role: str,
    table: str,
) -> None:
    """The guide: "`serve check` says in words [...] whether the directory is fit: files, rights,
    keys, tables", and "its status is 1 if something is wrong".

    One page of the database is lost: that of the issuer's keys, of who was served, of the reports
    of an open window. With two of them a start is refused.
    """
    stopped_parties(tmp_path)
    assert what_is_wrong(tmp_path / role) == {}
    spoil(tmp_path / role / f"{role}.sqlite", table)
    if table in ("window_key", "collecting"):
        with pytest.raises((SmoothdpError, sqlite3.DatabaseError)):
            KINDS[role].from_directory(tmp_path / role)
    assert what_is_wrong(tmp_path / role)


@contextmanager
def issuer_that_runs(folder: Path, *, spoilt: str | None = None) -> Iterator[tuple[Parties, str]]:
    """Yield parties in an open window with a card, and the address of the issuer."""
    with ExitStack() as stack:
        parties = Parties(folder, stack)
        for _ in range(3):
            parties.round()
        if spoilt is not None:
            parties.issuer.close()
            spoil(folder / "issuer" / "issuer.sqlite", spoilt)
            parties.issuer = IssuerParty.from_directory(folder / "issuer", clocks=parties.clocks())
            stack.callback(parties.issuer.close)
            # Until it has heard the time it holds, and looks into no table.
            parties.issuer.work(parties.url)
        # Whoever waits for a lock for half a minute would wait here too.
        parties.issuer.issuer.storage._connection.execute("PRAGMA busy_timeout = 100")  # type: ignore[attr-defined]
        app = parties.issuer.app(parties.url, work_seconds=3600)
        yield parties, stack.enter_context(on_loopback(app))


def asked_for_tokens(parties: Parties, url: str) -> httpx.Response:
    """Ask the issuer for the tokens of one person."""
    (invitation,) = issue_invitations(parties.folder / "issuer", 1)
    task, window = parties.task.task_id.hex(), int(parties.now // HOUR)
    with httpx.Client(base_url=url) as http:
        card = SignedCard.decode(http.get(f"/v2/tasks/{task}/cards/{window}").content).card
        assert card.issuer_spki is not None
        key = hashlib.sha256(card.issuer_spki).digest()[-1:]
        return http.post(
            f"/v2/tokens/{task}/{window}",
            content=b"\x00\x02" + key + (5).to_bytes(256, "big"),
            headers={"authorization": f"Bearer {invitation}"},
        )


def not_ready(operations: Operations) -> list[str]:
    """Return what `/readyz` names after a round of work that was good."""
    operations.rounds.good()
    return [name for name, check in operations.checks.items() if not check().good]


@ONLY_SQLITE
def test_an_issuer_that_can_serve_nobody_says_so(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: `/readyz` names "storage" at "no answer within 2 seconds, or an error".

    The page of who was served is damaged: the storage answers each request with an error, each
    person is answered 500, rounds of work are good, and the service says that it is ready.
    """
    with issuer_that_runs(tmp_path, spoilt="issued") as (parties, url):
        assert asked_for_tokens(parties, url).status_code >= 500
        parties.issuer.work(parties.url)
        assert not_ready(parties.issuer._operations(10.0))


@ONLY_SQLITE
def test_a_damaged_storage_is_answered_by_the_documents_of_the_page(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol: "Refusals are RFC 9457 documents", 503 of "all that look into a store".

    A page of the issuer's database is damaged: 500, in plain text, which no table of the page has.
    """
    with issuer_that_runs(tmp_path, spoilt="issued") as (parties, url):
        answer = asked_for_tokens(parties, url)
    assert answer.status_code == 503, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


@ONLY_SQLITE
def test_an_issuer_whose_database_somebody_holds_is_not_ready(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide, of "storage" at `/readyz`: "see who holds a lock on the file or database;
    requests get 503 and are sent again".

    Somebody holds the lock, each request gets 503, and `/readyz` names nothing, for as long as no
    round has anything to store.
    """
    with issuer_that_runs(tmp_path) as (parties, url):
        holds = sqlite3.connect(tmp_path / "issuer" / "issuer.sqlite", isolation_level=None)
        with closing(holds):
            holds.execute("BEGIN EXCLUSIVE")
            assert asked_for_tokens(parties, url).status_code == 503
            parties.issuer.work(parties.url)
            wrong = not_ready(parties.issuer._operations(10.0))
            holds.execute("ROLLBACK")
        assert asked_for_tokens(parties, url).status_code == 200
        assert wrong


@ONLY_SQLITE
def test_a_database_that_is_gone_is_named_and_takes_no_report(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: `/readyz` answers "200, or 503 and the names of what is wrong"; "what was
    acknowledged is on disk".

    The shuffler's database goes while it runs, as in a move without a stop: reports would be
    acknowledged into a file that no directory has, and no restart finds.
    """
    world = PartyWorld(tmp_path)
    world.open_window()
    world.send_many(3)
    for file in tmp_path.glob("shuffler.sqlite*"):
        file.unlink()
    with pytest.raises(StorageLost):
        world.send(world.report())
    assert not storage_condition(world.shuffler.storage).good
    world.restart()
    assert world.shuffler.storage.read("SELECT count(*) FROM pending") == [(0,)]


@ONLY_SQLITE
@pytest.mark.parametrize("role", sorted(KINDS))
def test_a_check_sees_a_database_that_was_cut_off(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    role: str,
) -> None:
    """The guide: "To move a party, stop it, move its whole directory". The new disk was full."""
    stopped_parties(tmp_path)
    file = tmp_path / role / f"{role}.sqlite"
    data = file.read_bytes()
    for pages in (1, len(data) // 8192, len(data) // 4096 - 1):
        file.write_bytes(data[: pages * 4096])
        assert "storage" in what_is_wrong(tmp_path / role)
        with pytest.raises(InvalidData):
            KINDS[role].from_directory(tmp_path / role)
