"""``serve check`` finds what would go wrong, names it, and changes nothing."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from smoothdp.cli.serving.serve import serve
from smoothdp.errors import InvalidData
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.check import check_party
from smoothdp.services.formats.signing import SigningKey
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from smoothdp.services.wire.key_files import (
    SECRETS_FILE,
    TASK_FILE,
)
from smoothdp.services.wire.running import on_loopback
from tests.services.operations.certificates import Authority
from tests.services.worlds.directories import Directories, party_directories

NOBODY = "http://127.0.0.1:1"


@pytest.fixture
def written(tmp_path: Path) -> Directories:
    return party_directories(tmp_path / "t")


def wrong(directory: Path, **more: object) -> dict[str, str]:
    found = check_party(directory, **more)  # type: ignore[arg-type]
    return {condition.name: condition.says for condition in found if not condition.good}


def state_of(directory: Path) -> dict[str, tuple[int, bytes]]:
    return {p.name: (p.stat().st_mode, p.read_bytes()) for p in directory.iterdir() if p.is_file()}


def test_a_new_directory_is_good_and_stays_as_it_is(written: Directories) -> None:
    for directory in (written.shuffler, written.issuer, written.analyzer):
        before = state_of(directory)
        assert wrong(directory) == {}
        assert state_of(directory) == before
    AnalyzerParty.from_directory(written.analyzer).close()
    before = state_of(written.analyzer)
    # From the first start on it should have cards.
    assert set(wrong(written.analyzer)) == {"cards"}
    assert set(state_of(written.analyzer)) == set(before)


def test_a_party_that_runs_is_good(written: Directories) -> None:
    party = AnalyzerParty.from_directory(written.analyzer)
    with on_loopback(party.app(work_seconds=0.1)) as url:
        assert set(wrong(written.analyzer)) == {"cards"}
        assert wrong(written.shuffler, peer=url) == {}
        # An issuer would hold until the shuffler has told its time.
        assert "the shuffler" in wrong(written.issuer, peer=url)["peer"]
        party.analyzer.clocks.heard(time.time())
        assert wrong(written.issuer, peer=url) == {}
    party.close()


def damage_rights(directory: Path) -> None:
    (directory / SECRETS_FILE).chmod(0o640)


def damage_task(directory: Path) -> None:
    (directory / TASK_FILE).write_text("{}")


def damage_keys(directory: Path) -> None:
    path = directory / SECRETS_FILE
    document = json.loads(path.read_text())
    document["sign_key"] = SigningKey.generate().to_bytes().hex()
    path.write_text(json.dumps(document))


def damage_storage(directory: Path) -> None:
    AnalyzerParty.from_directory(directory).close()
    connection = sqlite3.connect(directory / "analyzer.sqlite")
    connection.execute("PRAGMA user_version=99")
    connection.close()


def damage_storage_file(directory: Path) -> None:
    (directory / "analyzer.sqlite").write_bytes(b"no database, but long enough to look" * 50)
    (directory / "analyzer.sqlite").chmod(0o600)


def damage_ledger(directory: Path) -> None:
    AnalyzerParty.from_directory(directory).close()
    ledger = next(directory.glob("ledger-*.db"))
    ledger.write_bytes(b"nothing")


def lose_ledger(directory: Path) -> None:
    party = AnalyzerParty.from_directory(directory)
    with party.analyzer.storage.transaction() as change:
        change.change(
            "INSERT INTO release (task_id, window, body) VALUES (?, ?, ?)",
            (party.task.task_id, 7, b"{}"),
        )
    party.close()
    next(directory.glob("ledger-*.db")).unlink()


def damage_clock(directory: Path) -> None:
    ahead = time.time() + 3600
    os.utime(directory / SECRETS_FILE, (ahead, ahead))


@pytest.mark.parametrize(
    ("damage", "names", "says"),
    [
        (damage_rights, {"rights", "keys", "storage", "ledger"}, "chmod"),
        (damage_task, {"keys", "ledger", "cards"}, "task"),
        (damage_keys, {"keys"}, "another task"),
        (damage_storage, {"storage", "cards"}, "version 99"),
        (damage_storage_file, {"storage", "ledger", "cards"}, "not a database"),
        (damage_ledger, {"ledger", "cards"}, "ledger"),
        (lose_ledger, {"ledger", "cards"}, "such as 7: restore the newest copy of ledger-"),
        (damage_clock, {"clock"}, "set the clock"),
    ],
)
def test_what_is_wrong_is_named(
    written: Directories, damage: Callable[[Path], None], names: set[str], says: str
) -> None:
    damage(written.analyzer)
    found = wrong(written.analyzer)
    assert set(found) == names
    # A party that never met the others has no cards, besides.
    assert all(says in words for name, words in found.items() if name != "cards"), found


def test_files_that_lack_and_parties_that_are_none(written: Directories, tmp_path: Path) -> None:
    assert set(wrong(tmp_path / "nowhere")) == {"files"}
    (written.shuffler / SECRETS_FILE).unlink()
    assert SECRETS_FILE in wrong(written.shuffler)["files"]
    assert "somebody else" in wrong(written.collector)["keys"]


def test_a_peer_that_is_away_and_a_certificate_that_ends(
    written: Directories, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    found = wrong(
        written.shuffler, peer=NOBODY, certificate=authority.certificate("server", days=2)[0]
    )
    assert set(found) == {"peer", "certificate"}
    assert "an answer from http://127.0.0.1:1" in found["peer"]
    assert found["certificate"].startswith("ends in ")
    over = authority.certificate("old", days=-1)[0]
    assert wrong(written.shuffler, certificate=over)["certificate"].startswith("has ended")
    assert wrong(written.shuffler, certificate=authority.certificate("new")[0]) == {}


def test_the_command_says_it_in_words_and_in_json(written: Directories) -> None:
    good = CliRunner().invoke(serve, ["check", str(written.shuffler), "--json"])
    assert good.exit_code == 0
    document = json.loads(good.output)
    assert document["good"] is True
    assert [c["name"] for c in document["conditions"]][:3] == ["files", "rights", "keys"]
    damage_rights(written.shuffler)
    bad = CliRunner().invoke(serve, ["check", str(written.shuffler)])
    assert bad.exit_code == 1
    assert "WRONG  rights: others have rights on" in bad.output
    secrets = json.loads((written.shuffler / SECRETS_FILE).read_text())
    assert not any(value in bad.output + good.output for value in secrets.values())
    assert not (written.shuffler / "shuffler.sqlite").exists()


# ---- cards, and the peer's clock


def analyzer_that_tells(seconds: float) -> Starlette:
    """Answer the clock call of a round, as far as a check sees it."""

    async def clock(request: Request) -> Response:
        if request.headers.get("authorization") != f"Bearer {'a' * 64}":
            return PlainTextResponse("", 401)
        assert await request.body() == b"{}"
        return JSONResponse({"time": time.time() + seconds})

    return Starlette(routes=[Route("/v2/clock", clock, methods=["POST"])])


@pytest.mark.parametrize("role", ["shuffler", "issuer", "analyzer"])
def test_the_key_of_another_task_is_named(written: Directories, tmp_path: Path, role: str) -> None:
    directory, other = getattr(written, role), party_directories(tmp_path / "other")
    found = {c.name: c.says for c in check_party(directory)}
    assert found["keys"].startswith(f"of the {role} of task")
    (directory / TASK_FILE).write_bytes(other.task.encoded)
    assert set(wrong(directory)) == {"keys"}


def test_files_of_the_first_protocol_are_refused_in_words(written: Directories) -> None:
    for role in ("shuffler", "analyzer", "issuer"):
        path = getattr(written, role) / f"{role}.sqlite"
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE pending (x)")
        connection.execute("PRAGMA user_version=1")
        connection.close()
        path.chmod(0o600)
        assert "of an earlier protocol" in wrong(getattr(written, role))["storage"]
    with pytest.raises(InvalidData, match="version 1, of an earlier protocol"):
        AnalyzerParty.from_directory(written.analyzer)
    (written.analyzer / TASK_FILE).write_text('{"format":1,"protocol":"boolean_sum"}')
    assert "format 1, an earlier protocol" in wrong(written.analyzer)["keys"]


def test_cards_to_come_are_those_signed_of_later_windows(written: Directories) -> None:
    directory, task = written.shuffler, written.task
    now = int(time.time() // task.window_seconds)
    ShufflerParty.from_directory(directory).close()
    connection = sqlite3.connect(directory / "shuffler.sqlite")
    rows = [(now - 1, b"old"), (now, b"present"), (now + 1, None)]
    connection.executemany(
        "INSERT INTO card (task_id, window, gateway, sealed_key, signed, state) "
        "VALUES (?, ?, x'00', x'00', ?, 'OFFERED')",
        [(task.task_id, window, signed) for window, signed in rows],
    )
    connection.commit()
    assert "0 windows" in wrong(directory)["cards"]
    connection.execute("UPDATE card SET signed = x'01' WHERE window > ?", (now,))
    connection.commit()
    connection.close()
    assert wrong(directory) == {}
    assert {c.name: c.says for c in check_party(directory)}["cards"] == "for 1 windows to come"


def test_a_peer_is_asked_for_its_time_with_this_partys_token(written: Directories) -> None:
    good, bad = written.shuffler, written.issuer
    for directory, token in ((good, "a"), (bad, "b")):
        path = directory / SECRETS_FILE
        path.write_text(json.dumps(json.loads(path.read_text()) | {"analyzer_token": token * 64}))
    with on_loopback(analyzer_that_tells(0.0)) as url:
        assert wrong(good, peer=url) == {}
        assert "callers.json" in wrong(bad, peer=url)["peer"]
    with on_loopback(analyzer_that_tells(172800.0)) as url:
        assert "differ by more than a minute" in wrong(good, peer=url)["peer"]
