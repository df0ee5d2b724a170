"""A tenth round, on what parties keep: other storages, who was away, what was lost or full."""

from __future__ import annotations

import json
import resource
import struct
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from smoothdp.errors import LedgerError, SmoothdpError
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.analyzer.counting import count_complete
from smoothdp.services.analyzer.release import work
from smoothdp.services.check import check_party
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.card import key_config
from smoothdp.services.formats.slots import open_slot
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from smoothdp.services.store.revoked import revoke
from smoothdp.services.wire.hybrid import PrivateKey
from smoothdp.services.wire.key_files import SECRETS_FILE
from tests.services.storages import ONLY_SQLITE, Current
from tests.services.worlds.party_world import PartyWorld
from tests.services.worlds.small_tasks import small_task
from tests.services.worlds.three_parties import Parties
from tests.services.worlds.whole_world import WINDOW, WholeWorld


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


def _lose_ledger(folder: Path) -> None:
    for path in folder.glob("ledger-*.db*"):
        path.unlink()


@ONLY_SQLITE
def test_an_analyser_whose_ledger_is_lost_is_not_ready(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: `/readyz` answers "200, or 503 and the names of what is wrong, in words".

    The file of the ledger goes while the analyser runs: no card is made any more, and nothing can
    be released. The shuffler and the issuer see that the analyser fails; it says that all is well.
    """
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack)
        for _ in range(2):
            parties.round()
        _lose_ledger(tmp_path / "analyzer")
        parties.analyzer.work()
        operations = parties.analyzer._operations(10.0)
        operations.rounds.good()  # As the last round was: it raised nothing.
        wrong = [name for name, check in operations.checks.items() if not check().good]
    assert wrong


@ONLY_SQLITE
def test_an_analyser_whose_ledger_is_lost_says_try_again_later(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol: "Refusals are RFC 9457 documents", and 503 is answered by "all that look into
    a store"; without the file of its ledger the analyser answers 500 and no document.
    """
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack)
        _lose_ledger(tmp_path / "analyzer")
        window = WINDOW + 1
        token = json.loads((tmp_path / "shuffler" / SECRETS_FILE).read_text())["analyzer_token"]
        answer = httpx.put(
            f"{parties.url}/v2/gateway-keys/{parties.task.task_id.hex()}/{window}",
            content=key_config(window, PrivateKey.generate().public.to_bytes()),
            headers={"authorization": f"Bearer {token}"},
        )
    assert answer.status_code == 503, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


@ONLY_SQLITE
def test_a_check_says_in_words_that_a_ledger_is_damaged(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "`serve check` says in words whether the directory is fit", the ledger among it.

    The first page of the ledger, which names its tables, is damaged: the text in it is none.
    """
    with ExitStack() as stack:
        Parties(tmp_path, stack).round()
    (ledger,) = (tmp_path / "analyzer").glob("ledger-*.db")
    data = bytearray(ledger.read_bytes())
    data[4000:4096] = bytes(byte ^ 0xFF for byte in data[4000:4096])
    ledger.write_bytes(data)
    wrong = [found.name for found in check_party(tmp_path / "analyzer") if not found.good]
    assert "ledger" in wrong
    with pytest.raises(SmoothdpError):
        AnalyzerParty.from_directory(tmp_path / "analyzer")


@ONLY_SQLITE
def test_a_check_says_in_words_that_the_storage_is_named_by_no_text(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "`serve check` says in words whether the directory is fit"; the line in the file
    `storage` is no UTF-8.
    """
    with ExitStack() as stack:
        Parties(tmp_path, stack).round()
    path = tmp_path / "analyzer" / "storage"
    path.write_bytes(b"postgresql://\xff\xfe")
    path.chmod(0o600)
    assert any(not found.good for found in check_party(tmp_path / "analyzer"))


@pytest.mark.parametrize("party", ["analyzer", "shuffler", "issuer"])
@ONLY_SQLITE
def test_a_check_sees_a_folder_in_the_place_of_the_database(
    tmp_path: Path,
    party: str,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "`serve check` says in words whether the directory is fit", the tables among it:
    the start refuses a folder in the place of the database.
    """
    with ExitStack() as stack:
        Parties(tmp_path, stack).round()
    path = tmp_path / party / f"{party}.sqlite"
    path.unlink()
    path.mkdir(mode=0o700)
    wrong = [found.name for found in check_party(tmp_path / party) if not found.good]
    # The cards and the clock are of another time in any case.
    assert set(wrong) - {"cards", "clock"}


@ONLY_SQLITE
def test_revoking_on_a_full_disk_leaves_a_list(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "a full disk loses nothing".

    There is room for a part of a line. `task revoke` says that the disk is full; after that the
    list is none, nobody can be revoked, and the shuffler does not start again.
    """
    with ExitStack() as stack:
        Parties(tmp_path, stack).round()
    path = tmp_path / "shuffler" / "revoked"
    # 124 lines of 33 bytes; the 125th is not whole at 4,096.
    revoke(path, [number.to_bytes(16) for number in range(124)])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises((OSError, SmoothdpError)):
            revoke(path, [b"lost" * 4])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    # There is room again.
    revoke(path, [b"lost" * 4])
    ShufflerParty.from_directory(tmp_path / "shuffler").close()


@ONLY_SQLITE
def test_a_released_window_is_not_refused_by_an_older_copy_of_the_database(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol: "RELEASED, REFUSED, QUARANTINED are final". The guide asks for no backup of
    `analyzer.sqlite`, and for none to be kept away.

    The database is a copy from between the batch and its release; ledger and keys are those of
    now. Seven days later the analyser signs that nothing more came of the window, which all have
    the signed result of.
    """
    world = WholeWorld(tmp_path)
    world.open_window()
    assert [world.take_part(str(person)) for person in range(3)] == [202] * 3
    world.seal()
    world.deliver()
    world.close()
    older = (tmp_path / "analyzer.sqlite").read_bytes()
    world._open()
    assert world.end()["state"] == "RELEASED"
    world.close()
    for path in tmp_path.glob("analyzer.sqlite*"):
        path.unlink()
    (tmp_path / "analyzer.sqlite").write_bytes(older)
    (tmp_path / "analyzer.sqlite").chmod(0o600)
    world._open()
    world.go_to(world.now + 8 * 86_400)
    work(world.analyzer)
    said = world.result()
    world.close()
    assert said["state"] != "REFUSED", said


@ONLY_SQLITE
def test_a_file_of_window_keys_that_is_made_anew_knows_the_charges_of_before(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "The analyser's ledger and database from an older copy, with the file of
    its keys from now, are refused at the start"; also if that file was lost since the release, and
    made anew.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    assert [world.take_part(str(person)) for person in range(3)] == [202] * 3
    world.close()
    older = {path: path.read_bytes() for path in _of_ledger_and_database(tmp_path)}
    world._open()
    assert world.end()["state"] == "RELEASED"
    world.close()
    for path in tmp_path.glob("inner.sqlite*"):
        path.unlink()
    world._open()
    world.close()
    for path in _of_ledger_and_database(tmp_path):
        path.unlink()
    for path, data in older.items():
        path.write_bytes(data)
        path.chmod(0o600)
    with pytest.raises(LedgerError):
        world._open()


def _of_ledger_and_database(folder: Path) -> list[Path]:
    return [*folder.glob("ledger-*.db*"), *folder.glob("analyzer.sqlite*")]


def test_what_a_program_before_has_counted_is_released(tmp_path: Path, storage_kind: str) -> None:
    """Its rows, one for each value, lie in the table of then: nothing of them was lost."""
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    for person in range(4):
        assert world.take_part(str(person)) == 202
    world.seal()
    world.deliver()
    count_complete(world.analyzer)
    counted = world.tally()
    (batch_id,) = world.analyzer.storage.read("SELECT batch_id FROM batch")[0]
    with world.analyzer.storage.transaction() as change:
        change.change("DELETE FROM counts WHERE batch_id = ?", (batch_id,))
        change.change_many(
            "INSERT INTO tally (batch_id, part, value, n) VALUES (?, ?, ?, ?)",
            [(batch_id, 0, value, n) for value, n in counted.items()],
        )
    assert world.tally() == counted
    assert world.end()["state"] == "RELEASED", storage_kind
    assert world.analyzer.storage.read("SELECT * FROM tally") == []
    world.close()
