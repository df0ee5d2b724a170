"""The guides followed literally: what a check calls good, and what strangers send."""

from __future__ import annotations

import http.client
import json
import shutil
import sqlite3
import time
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from smoothdp.cli.accounting.account import account
from smoothdp.errors import InvalidData
from smoothdp.ledger import Ledger
from smoothdp.services.analyzer.analyzer_party import INNER_KEYS_FILE, AnalyzerParty
from smoothdp.services.analyzer.task_ledger import TaskLedger
from smoothdp.services.formats.party_files import callers_of, read_half, write_callers
from smoothdp.services.operations.tls import BadCertificate, Served
from smoothdp.services.shuffler.shuffler_party import GATEWAY_KEYS_FILE, ShufflerParty
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.wire.running import on_loopback
from tests.services.operations.certificates import Authority
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.checked import what_is_wrong
from tests.services.worlds.directories import party_directories
from tests.services.worlds.three_parties import HOUR, Parties


def stopped_parties(folder: Path) -> Parties:
    """Return parties that ran, have cards of windows that go on, and were stopped."""
    with ExitStack() as stack:
        parties = Parties(folder, stack, now=time.time())
        for _ in range(3):
            parties.round()
    for role in ("analyzer", "shuffler", "issuer"):
        assert what_is_wrong(folder / role) == {}
    return parties


def flip_a_bit_of(file: Path, index: str, key: bytes) -> None:
    """Change one bit of a key in the page of an index, as a worn disk or a bad cable would."""
    with closing(sqlite3.connect(f"file:{file}?immutable=1", uri=True)) as opened:
        ((size,),) = opened.execute("PRAGMA page_size")
        ((root,),) = opened.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (index,))
    data, start = bytearray(file.read_bytes()), (root - 1) * size
    at = bytes(data).index(key, start, start + size)
    data[at + len(key) - 1] ^= 1
    file.write_bytes(data)


@ONLY_SQLITE
@pytest.mark.parametrize(
    ("role", "keys"), [("shuffler", GATEWAY_KEYS_FILE), ("analyzer", INNER_KEYS_FILE)]
)
def test_a_check_sees_that_the_index_of_the_window_keys_is_damaged(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    role: str,
    keys: str,
) -> None:
    """The guide: "`serve check` says in words [...] whether the directory is fit: files, rights,
    keys, tables", and "its status is 1 if something is wrong".

    A bit of the index by which a window key is found is another one: the key of the window is
    there, and is not found. What was sent in this window is lost, and the check says good.
    """
    parties = stopped_parties(tmp_path)
    window = int(parties.now // HOUR)
    file, state = tmp_path / role / keys, tmp_path / role / f"{role}.sqlite"
    with closing(sqlite3.connect(f"file:{state}?immutable=1", uri=True)) as opened:
        query = "SELECT sealed_key FROM card WHERE window = ?"
        ((sealed,),) = opened.execute(query, (window,))
    with closing(sqlite3.connect(f"file:{file}?immutable=1", uri=True)) as opened:
        ids = [bytes(name) for (name,) in opened.execute("SELECT id FROM data_key")]
    (name,) = [one for one in ids if bytes(sealed)[16:32] == one]
    opened_keys = ErasableKeys(file)
    assert len(opened_keys.open(sealed)) == 32
    opened_keys.close()

    flip_a_bit_of(file, "sqlite_autoindex_data_key_2", name)
    opened_keys = ErasableKeys(file)
    with pytest.raises(InvalidData):
        opened_keys.open(sealed)
    opened_keys.close()
    assert what_is_wrong(tmp_path / role)


@ONLY_SQLITE
def test_a_check_sees_that_the_index_of_reports_is_damaged(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "`serve check` says in words [...] whether the directory is fit: files, rights,
    keys, tables". By this index the shuffler knows a copy of a report under another pass.
    """
    parties = stopped_parties(tmp_path)
    state, report = tmp_path / "shuffler" / "shuffler.sqlite", b"0123456789abcdef"
    with closing(sqlite3.connect(state)) as opened, opened:
        row = (parties.task.task_id, int(parties.now // HOUR), b"s" * 16, report, b"slots")
        opened.execute("INSERT INTO pending VALUES (?, ?, ?, ?, ?)", row)
    assert what_is_wrong(tmp_path / "shuffler") == {}
    flip_a_bit_of(state, "pending_report", report)
    with closing(sqlite3.connect(f"file:{state}?immutable=1", uri=True)) as opened:
        found = "SELECT 1 FROM pending WHERE report_id = ?"
        assert opened.execute(found, (report,)).fetchall() == []
    assert what_is_wrong(tmp_path / "shuffler")


@ONLY_SQLITE
def test_a_check_sees_that_the_callers_are_those_of_a_task_without_an_issuer(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "`serve check` says in words [...] whether the directory is fit: files, [...]
    keys". The same keys were used for a trial without an issuer, and its file was copied.
    """
    written = party_directories(tmp_path)
    halves = {name: read_half(tmp_path / name) for name in ("shuffler", "collector")}
    (written.analyzer / "callers.json").unlink()
    write_callers(written.analyzer, callers_of(halves))  # type: ignore[arg-type]
    assert written.task.issuer is not None
    with pytest.raises(InvalidData, match="the callers of the analyser"):
        AnalyzerParty.from_directory(written.analyzer)
    assert not list(written.analyzer.glob("*.sqlite*"))
    assert "keys" in what_is_wrong(written.analyzer)


@ONLY_SQLITE
def test_who_shows_the_ledger_beside_the_service_stops_no_charge(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The walk-through: "smoothdp account show analyzer/ledger-*.db", while the analyser runs; and
    "a log that goes while it runs takes no charge", which a reader must not bring about.
    """
    written = party_directories(tmp_path, windows=12)
    ledger = TaskLedger(written.analyzer, written.task)
    show = ["show", str(ledger.path), "--delta", "1e-2"]
    for window in range(4):
        assert ledger.charge(window, batch=bytes([window])).number == window + 1
        said = CliRunner().invoke(account, show)
        assert (said.exit_code, f"{window + 1} entr" in said.output) == (0, True)
        assert set(ledger.charged()) == set(range(window + 1))
    copy = tmp_path / "copy.db"
    shutil.copy(ledger.path, copy)
    # The one file has all charges, as operators copy it.
    assert len(Ledger(copy).entries()) == 4


@ONLY_SQLITE
def test_credentials_of_any_bytes_are_refused_with_a_document(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Section 9: "Refusals are RFC 9457 documents", and 401 where no credential is known; bytes
    that are no text are no error of the service.
    """
    written = party_directories(tmp_path)
    window, task = int(time.time() // HOUR), written.task.task_id.hex()
    shuffler = ShufflerParty.from_directory(written.shuffler)
    analyzer = AnalyzerParty.from_directory(written.analyzer)
    with (
        on_loopback(shuffler.app("http://127.0.0.1:1", work_seconds=3600)) as mixer,
        on_loopback(analyzer.app(work_seconds=3600)) as counter,
    ):
        asked = [
            (mixer, "POST", f"/v2/reports/{task}/{window}"),
            (counter, "POST", "/v2/clock"),
            (counter, "PUT", f"/v2/gateway-keys/{task}/{window}"),
            (counter, "GET", f"/v2/tasks/{task}/results/{window}"),
        ]
        secrets = [b"\xff\xfe", b"\xe9" * 96, b"0" * 32 + b"\xb2" * 64, b"", b"0" * 96, b"A" * 64]
        for url, method, path in asked:
            for secret in secrets:
                with closing(http.client.HTTPConnection(urlsplit(url).netloc, timeout=9)) as to:
                    to.putrequest(method, path)
                    to.putheader("Authorization", b"Bearer " + secret)
                    to.putheader("Content-Length", "0")
                    to.endheaders()
                    answer = to.getresponse()
                    assert answer.status == 401, (method, path, secret)
                    assert json.loads(answer.read())["type"] == "urn:esa:2:unauthorized"
    shuffler.close()
    analyzer.close()


@ONLY_SQLITE
def test_authorities_that_were_written_by_half_are_not_taken(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "bad files change nothing". Of a file of two authorities that a full disk cut off
    within the second, the first is not taken alone: callers of the other one would be shut out.
    """
    first, second = Authority(tmp_path, "first"), Authority(tmp_path, "second")
    served = Served(*first.certificate("server"), tmp_path / "both.pem")
    one, other = first.ca.read_bytes(), second.ca.read_bytes()
    bundle = tmp_path / "both.pem"
    bundle.write_bytes(one + other)
    assert served.context().cert_store_stats()["x509_ca"] == 2
    for length in (40, len(other) // 2, len(other) - 10):
        bundle.write_bytes(one + other[:length])
        with pytest.raises(BadCertificate):
            served.context()
