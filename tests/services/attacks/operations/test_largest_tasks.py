"""The largest tasks: what they collect is sealed, what they release is fetched and compared."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from smoothdp.services.analyzer.release_rule import rule
from smoothdp.services.analyzer.result_document import describe_batch
from smoothdp.services.analyzer.task_ledger import TaskLedger
from smoothdp.services.check_ledger import ledger_condition
from smoothdp.services.client.collector import fetch_result
from smoothdp.services.formats import batch
from smoothdp.services.formats.design.task_shape import MOST_SLOTS
from smoothdp.services.formats.design.values import DUMMY
from smoothdp.services.formats.result import SignedResult, most_result_bytes
from smoothdp.services.formats.task import Task
from smoothdp.services.shuffler.shuffler_tables import SEALED
from smoothdp.services.store.storage import SqliteStorage
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import WINDOW, PartyWorld
from tests.services.worlds.small_tasks import ANALYZER_SIGN, small_task

pytestmark = ONLY_SQLITE

LONGEST = 500_000_000
"""Bytes of a value that both storages give out: SQLite's default is 1,000,000,000 for a value and a
row (SQLITE_MAX_LENGTH); PostgreSQL writes two digits for each byte, in less than 2^30."""


def test_a_window_as_full_as_a_task_allows_is_sealed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 3.1: "M `max_batch` is at most 20,000,000 with an issuer, else 30,000,000";
    and 6: "if `min_batch` reports remain: a uniform order [...], parts, header, signature, marks
    file are stored"; the guide: "what was acknowledged is on disk", and is counted once.

    A model on the scale of 400 slots to the most that a task allows: all that a server gives out
    of a value is as much smaller. The marks file of a window is one value, of 16 bytes a slot.
    """
    task = small_task(*("histogram",), issuer=None, proof="none", size=4, epsilon="8", min_batch=80)
    assert task.slots == 5
    monkeypatch.setattr(batch, "PART_RECORDS", 16)
    world = PartyWorld(tmp_path, task)
    world.open_window()
    world.send_many(80)
    storage = world.shuffler.storage
    assert isinstance(storage, SqliteStorage)
    model = LONGEST * 80 * task.slots // MOST_SLOTS
    storage._connection.setlimit(0, model)  # SQLITE_LIMIT_LENGTH
    assert [sealed.state for sealed in world.seal()] == [SEALED]
    world.close()


def _of_many_places(task: Task) -> SignedResult:
    """Return what an analyser signs of a batch of 1.4 million, of 46 people in each place."""
    users, here = 1_400_000, 66 + 46
    tally = dict.fromkeys(range(task.size), here)
    tally[DUMMY] = users * task.slots - here * task.size
    ruling = rule(task, users=users, served=None, tally=tally)
    assert not ruling.state
    document = describe_batch(
        task, window=WINDOW, users=users, served=None, tally=tally, ruling=ruling
    )
    assert len(document["counts"]) == task.size
    signed = SignedResult.sign(document, ANALYZER_SIGN)
    assert len(signed.encode()) > most_result_bytes(())
    return signed


def _many_places() -> Task:
    places = tuple(f"населённый пункт {number}" for number in range(30_000))
    return small_task(
        *("low_communication_histogram",),
        issuer=None,
        proof="none",
        size=len(places),
        domain=places,
        epsilon="1",
        delta="1e-6",
        min_batch=1_000_000,
    )


def test_a_result_of_many_bins_comes_to_its_collector() -> None:
    """The protocol, 9: "A `GET /v2/tasks/{id}/results/{w}`: 200 released"; and 3.5: "`counts`, from
    the name of a bin [...] to its estimate".

    The window is charged, and what its number is nobody can read.
    """
    task = _many_places()
    signed = _of_many_places(task)
    answers = httpx.MockTransport(lambda _: httpx.Response(200, content=signed.encode()))
    with httpx.Client(base_url="https://analyser.example", transport=answers) as http:
        assert fetch_result(http, task, WINDOW, token="0" * 64) == (signed, "")


def test_the_check_compares_results_of_many_bins_too(tmp_path: Path) -> None:
    """The guide: "with `--results FOLDER` whether the ledger has charged all results that were
    published (signed, under whatever names, in folders below, and behind links, too; it says how
    many it compared)".

    A file above 4 MiB was passed by without a word, and the ledger called good.
    """
    task, published = _many_places(), tmp_path / "published"
    (tmp_path / "task.json").write_bytes(task.encoded)
    ledger = TaskLedger(tmp_path, task)
    ledger.charge(WINDOW - 1, batch=b"one")
    published.mkdir()
    small = SignedResult.sign({"task_id": task.task_id.hex(), "window": WINDOW - 1}, ANALYZER_SIGN)
    (published / "small").write_bytes(small.encode())
    assert ledger_condition(tmp_path, published).good
    (published / "large").write_bytes(_of_many_places(task).encode())
    assert not ledger_condition(tmp_path, published).good


@pytest.mark.parametrize("letter", ['"', "\\", "\0", "\x7f", "a", "\u00e9", "\uffff", "\U0010ffff"])
@pytest.mark.parametrize("length", [1, 255])
def test_no_result_is_longer_than_is_read(letter: str, length: int) -> None:
    """Names are escaped twice on their way; what is without counts is far below its allowance."""
    names = [f"{number:03}{length * letter}" for number in range(300)]
    bare, full = (
        len(
            SignedResult.sign(
                {"counts": dict.fromkeys(given, -1.2345678901234567e-300)}, ANALYZER_SIGN
            ).encode()
        )
        for given in ((), names)
    )
    assert full - bare <= most_result_bytes(names) - most_result_bytes(())
    assert bare < most_result_bytes(()) // 1000
