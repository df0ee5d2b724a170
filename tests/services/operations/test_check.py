"""``serve check`` finds what would go wrong, names it, and changes nothing."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from smoothdp.cli.serving.serve import serve
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.check import check_party
from smoothdp.services.wire.hybrid import PrivateKey
from smoothdp.services.wire.key_files import (
    SECRETS_FILE,
    TASK_FILE,
    Written,
    write_new,
    write_parties,
    write_secret,
)
from smoothdp.services.wire.running import on_loopback
from tests.services.formats.made import Made
from tests.services.operations.certificates import Authority
from tests.services.world import KEY, small_task

NOBODY = "http://127.0.0.1:1"


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return write_parties(tmp_path / "t", small_task(), KEY)


def wrong(directory: Path, **more: object) -> dict[str, str]:
    found = check_party(directory, **more)  # type: ignore[arg-type]
    return {condition.name: condition.says for condition in found if not condition.good}


def state_of(directory: Path) -> dict[str, tuple[int, bytes]]:
    return {p.name: (p.stat().st_mode, p.read_bytes()) for p in directory.iterdir() if p.is_file()}


def test_a_new_directory_is_good_and_stays_as_it_is(written: Written) -> None:
    for directory in (written.shuffler, written.analyzer):
        before = state_of(directory)
        assert wrong(directory) == {}
        assert state_of(directory) == before
    AnalyzerParty.from_directory(written.analyzer).analyzer.storage.close()
    before = state_of(written.analyzer)
    assert wrong(written.analyzer) == {}
    assert set(state_of(written.analyzer)) == set(before)


def test_a_party_that_runs_is_good(written: Written) -> None:
    party = AnalyzerParty.from_directory(written.analyzer)
    with on_loopback(party.app(work_seconds=0.1)) as url:
        assert wrong(written.analyzer) == {}
        assert wrong(written.shuffler, peer=url) == {}
    party.analyzer.storage.close()


def damage_rights(directory: Path) -> None:
    (directory / SECRETS_FILE).chmod(0o640)


def damage_task(directory: Path) -> None:
    (directory / TASK_FILE).write_text("{}")


def damage_keys(directory: Path) -> None:
    path = directory / SECRETS_FILE
    document = json.loads(path.read_text())
    document["private_key"] = PrivateKey.generate().to_bytes().hex()
    path.write_text(json.dumps(document))


def damage_storage(directory: Path) -> None:
    AnalyzerParty.from_directory(directory).analyzer.storage.close()
    connection = sqlite3.connect(directory / "analyzer.sqlite")
    connection.execute("PRAGMA user_version=99")
    connection.close()


def damage_storage_file(directory: Path) -> None:
    (directory / "analyzer.sqlite").write_bytes(b"no database, but long enough to look" * 50)
    (directory / "analyzer.sqlite").chmod(0o600)


def damage_ledger(directory: Path) -> None:
    AnalyzerParty.from_directory(directory).analyzer.storage.close()
    ledger = next(directory.glob("ledger-*.db"))
    ledger.write_bytes(b"nothing")


def lose_ledger(directory: Path) -> None:
    party = AnalyzerParty.from_directory(directory)
    with party.analyzer.storage.transaction() as change:
        change.change(
            "INSERT INTO release (task_id, window, body) VALUES (?, ?, ?)",
            (party.task.task_id, 7, b"{}"),
        )
    party.analyzer.storage.close()
    next(directory.glob("ledger-*.db")).unlink()


def damage_clock(directory: Path) -> None:
    ahead = time.time() + 3600
    os.utime(directory / SECRETS_FILE, (ahead, ahead))


@pytest.mark.parametrize(
    ("damage", "names", "says"),
    [
        (damage_rights, {"rights", "keys", "storage", "ledger"}, "chmod"),
        (damage_task, {"keys", "ledger"}, "task"),
        (damage_keys, {"keys"}, "another task"),
        (damage_storage, {"storage"}, "version 99"),
        (damage_storage_file, {"storage", "ledger"}, "not a database"),
        (damage_ledger, {"ledger"}, "ledger"),
        (lose_ledger, {"ledger"}, "such as 7: restore ledger-"),
        (damage_clock, {"clock"}, "set the clock"),
    ],
)
def test_what_is_wrong_is_named(
    written: Written, damage: Callable[[Path], None], names: set[str], says: str
) -> None:
    damage(written.analyzer)
    found = wrong(written.analyzer)
    assert set(found) == names
    assert all(says in words for words in found.values()), found


def test_files_that_lack_and_parties_that_are_none(written: Written, tmp_path: Path) -> None:
    assert set(wrong(tmp_path / "nowhere")) == {"files"}
    (written.shuffler / SECRETS_FILE).unlink()
    assert SECRETS_FILE in wrong(written.shuffler)["files"]
    assert "somebody else" in wrong(written.collector)["keys"]


def test_a_peer_that_is_away_and_a_certificate_that_ends(written: Written, tmp_path: Path) -> None:
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


def test_the_command_says_it_in_words_and_in_json(written: Written) -> None:
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


# ---- parties of the second protocol


def window_party(directory: Path, role: str, made: Made, **more: str) -> Path:
    """Write the directory of a party as its commands do."""
    keys = {"shuffler": made.shuffler, "analyzer": made.analyzer, "issuer": made.counter}
    secret = {"shuffler": {"pass_key": "1" * 64}, "issuer": {"invitation_key": "2" * 64}}
    document = {"sign_key": keys[role].to_bytes().hex(), **secret.get(role, {}), **more}
    if role != "analyzer":
        document["analyzer_token"] = "a" * 64
    write_secret(directory / SECRETS_FILE, document)
    write_new(directory / TASK_FILE, made.task.encoded, mode=0o644)
    return directory


def analyzer_that_tells(seconds: float) -> Starlette:
    """Answer the clock call of a round, as far as a check sees it."""

    async def clock(request: Request) -> Response:
        if request.headers.get("authorization") != f"Bearer {'a' * 64}":
            return PlainTextResponse("", 401)
        told = (await request.json())["time"]
        return JSONResponse({"time": told + seconds})

    return Starlette(routes=[Route("/v2/clock", clock, methods=["POST"])])


@pytest.mark.parametrize("role", ["shuffler", "issuer", "analyzer"])
def test_parties_with_cards(tmp_path: Path, role: str) -> None:
    made = Made()
    directory = window_party(tmp_path / role, role, made)
    assert wrong(directory) == {}
    found = {c.name: c.says for c in check_party(directory)}
    assert found["keys"].startswith(f"of the {role} of task")
    # The key of another task's party.
    other = window_party(tmp_path / "other", role, replace(Made(), counter=made.counter))
    (other / TASK_FILE).write_bytes(made.task.encoded)
    expected = set() if role == "issuer" else {"keys"}
    assert set(wrong(other)) == expected


def test_cards_in_hand_are_those_signed_of_this_window_and_later(tmp_path: Path) -> None:
    made = Made()
    directory = window_party(tmp_path / "s", "shuffler", made)
    now = int(time.time() // made.task.window_seconds)
    connection = sqlite3.connect(directory / "shuffler.sqlite")
    (directory / "shuffler.sqlite").chmod(0o600)
    connection.execute("CREATE TABLE card (task_id BLOB, window INTEGER, signed BLOB)")
    rows = [(now - 1, b"old"), (now, None), (now + 1, None)]
    connection.executemany(
        "INSERT INTO card VALUES (?, ?, ?)",
        [(made.task.task_id, window, signed) for window, signed in rows],
    )
    connection.commit()
    assert "0 windows" in wrong(directory)["cards"]
    connection.execute("UPDATE card SET signed = x'01' WHERE window >= ?", (now,))
    connection.commit()
    connection.close()
    assert wrong(directory) == {}
    assert {c.name: c.says for c in check_party(directory)}["cards"] == "for 2 windows to come"


def test_a_peer_is_asked_for_its_time_with_this_partys_token(tmp_path: Path) -> None:
    made = Made()
    good = window_party(tmp_path / "s", "shuffler", made)
    bad = window_party(tmp_path / "i", "issuer", made)
    document = json.loads((bad / SECRETS_FILE).read_text()) | {"analyzer_token": "b" * 64}
    (bad / SECRETS_FILE).write_text(json.dumps(document))
    with on_loopback(analyzer_that_tells(0.0)) as url:
        assert wrong(good, peer=url) == {}
        assert "callers.json" in wrong(bad, peer=url)["peer"]
    with on_loopback(analyzer_that_tells(172800.0)) as url:
        assert "differ by more than a minute" in wrong(good, peer=url)["peer"]
