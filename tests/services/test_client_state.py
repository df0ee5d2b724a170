"""What a client keeps: on disk before it sends, one draw per window, one state per user."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from smoothdp.cli.main import main
from smoothdp.errors import InvalidData
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import Kept, OutcomeStore
from smoothdp.services.client.submit import submit
from smoothdp.services.shuffler.shuffler import Upload
from smoothdp.services.shuffler.shuffler_party import ShufflerParty, issue_tokens
from smoothdp.services.wire.calls import Outcome, ServiceError
from smoothdp.services.wire.envelope import Header, inner_info, open_envelope, open_slot
from smoothdp.services.wire.hybrid import PrivateKey
from smoothdp.services.wire.key_files import write_parties
from smoothdp.services.wire.running import on_loopback
from tests.services.changing_keys import ChangingKeys, press
from tests.services.world import KEY, small_task


class Stop(BaseException):
    """A program that ends at once."""


def test_what_is_sent_is_on_disk_first(tmp_path: Path) -> None:
    place, shuffler, seen = tmp_path / "u.sqlite", ChangingKeys(refusals=3), []

    def look() -> None:
        with closing(sqlite3.connect(f"file:{place}?mode=ro", uri=True)) as other, other:
            seen.extend(other.execute("SELECT report_id, slots FROM outcome").fetchall())

    shuffler.before_answer = look
    press(small_task(), place, shuffler, times=1)
    assert len(seen) == len(shuffler.bundles) == 4
    assert set(seen) == set(shuffler.bundles)


@pytest.mark.parametrize("point", ["keep", "keep_envelope"])
@pytest.mark.parametrize("after", [False, True])
def test_a_crash_beside_each_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str, after: bool
) -> None:
    """Before the report is stored nothing was sent; from then on nothing is drawn."""
    place, shuffler, drawn = tmp_path / "u.sqlite", ChangingKeys(refusals=6), []
    true_draw, true_store = Client._draw, getattr(OutcomeStore, point)

    def draw(self: Client, datum: Any, window: int) -> Kept:
        drawn.append(true_draw(self, datum, window))
        return drawn[-1]

    def dies(*args: Any, **fields: Any) -> Any:
        if after:
            true_store(*args, **fields)
        raise Stop

    monkeypatch.setattr(Client, "_draw", draw)
    monkeypatch.setattr(OutcomeStore, point, dies)
    stored = point == "keep_envelope" or after
    for _ in range(1 if point == "keep" and after else 3):
        with suppress(Stop):
            press(small_task(), place, shuffler, times=1)
    assert shuffler.bundles == []
    assert len(drawn) == (1 if stored else 3)
    monkeypatch.setattr(OutcomeStore, point, true_store)
    press(small_task(), place, shuffler, times=2)
    assert set(shuffler.bundles) == {(drawn[-1].report_id, drawn[-1].slots)}
    assert len(shuffler.bundles) >= 7


def test_neither_answer_nor_values_are_kept(tmp_path: Path) -> None:
    store, key = OutcomeStore(tmp_path / "u.sqlite"), PrivateKey.generate().public
    task = small_task("histogram")
    Client(task, store).envelope("b", shuffler_key=(1, key), window=5)
    ((names, row),) = [
        ([column[1] for column in store._storage.read("PRAGMA table_info(outcome)")], row)
        for row in store._storage.read("SELECT * FROM outcome")
    ]
    kept = dict(zip(names, row, strict=True))
    assert {n: len(v) for n, v in kept.items() if isinstance(v, bytes)} == {
        "task_id": 32,
        "report_id": 16,
        "slots": 4 * 52,
        "sealed_to": 33,
        "envelope": 104 + 4 * 52,
    }
    # The slots are the analyser's alone to open.
    info = inner_info(task.task_id, 5)
    values = [
        open_slot(kept["slots"][at : at + 52], key=KEY, info=info) for at in (0, 52, 104, 156)
    ]
    assert 1 in values
    store.close()


def test_another_window_or_task_is_another_report(tmp_path: Path) -> None:
    store, key = OutcomeStore(tmp_path / "u.sqlite"), (1, PrivateKey.generate().public)
    task, other_key = small_task(), small_task(analyzer_key=PrivateKey.generate().public)
    for agreed in (task, other_key):
        for window in (5, 6):
            Client(agreed, store).envelope(1, shuffler_key=key, window=window)
    rows = store._storage.read("SELECT report_id, slots FROM outcome")
    assert len(set(rows)) == 4
    assert len({row[0] for row in rows}) == len({row[1] for row in rows}) == 4
    store.close()


def test_a_clock_that_was_wrong_makes_no_second_draw(tmp_path: Path) -> None:
    """Destroyed reports leave that they were there: sent twice, one would count twice."""
    place, key = tmp_path / "u.sqlite", (1, PrivateKey.generate().public)
    store, task = OutcomeStore(place), small_task()
    client = Client(task, store)
    client.envelope(1, shuffler_key=key, window=5)
    kept = store.get(task.task_id, 5, "me")
    assert kept is not None
    store.forget_before(task.task_id, 9)  # a clock four windows ahead, for a moment
    for _ in range(2):
        with pytest.raises(InvalidData, match="whose report was destroyed here"):
            client.envelope(1, shuffler_key=key, window=5)
        store.close()
        store = OutcomeStore(place)
        client = Client(task, store)
    assert client.envelope(1, shuffler_key=key, window=6)
    store.close()
    for file in tmp_path.iterdir():
        found = file.read_bytes()
        assert kept.slots not in found, file.name
        assert kept.report_id not in found, file.name


def test_a_report_forgotten_while_it_is_sealed_stays_forgotten(tmp_path: Path) -> None:
    store, key, task = OutcomeStore(tmp_path / "u"), PrivateKey.generate().public, small_task()
    Client(task, store).envelope(1, shuffler_key=(1, key), window=5)
    store.forget_before(task.task_id, 6)
    store.keep_envelope(task.task_id, 5, "me", sealed_to=b"k", envelope=b"late")
    assert store.get(task.task_id, 5, "me") == Kept(b"", b"")
    store.close()


def test_a_file_of_an_earlier_program_is_not_drawn_over(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "old.sqlite")) as old, old:
        old.execute(
            "CREATE TABLE outcome (task_id BLOB, window INTEGER, name TEXT, report_id BLOB, "
            "messages BLOB, envelope BLOB, PRIMARY KEY (task_id, window, name)) WITHOUT ROWID"
        )
    with pytest.raises(InvalidData, match="of another version of this program"):
        OutcomeStore(tmp_path / "old.sqlite")


def test_a_copied_state_sends_the_same(tmp_path: Path) -> None:
    """A backup that is restored, or a second machine with a copy, is no second draw."""
    task, shuffler = small_task(), ChangingKeys(refusals=9)
    press(task, tmp_path / "u.sqlite", shuffler, times=1)
    (tmp_path / "copy.sqlite").write_bytes((tmp_path / "u.sqlite").read_bytes())
    press(task, tmp_path / "copy.sqlite", shuffler, times=1)
    assert len(shuffler.bundles) == 10
    assert len(set(shuffler.bundles)) == 1


PROCESS = """
import sys
from smoothdp.services import Client, OutcomeStore, PublicKey, read_task
from pathlib import Path
key = PublicKey.from_bytes(bytes.fromhex(sys.argv[2]))
sys.stdin.readline()
store = OutcomeStore.of_user()
client = Client(read_task(Path(sys.argv[1])), store)
print(client.envelope(1, shuffler_key=(3, key), window=5).hex())
"""


def test_processes_at_once_agree_on_one_draw(tmp_path: Path, state_home: Path) -> None:
    write_parties(tmp_path / "t", small_task(), KEY)
    outer = PrivateKey.generate()
    public = outer.public.to_bytes().hex()
    running = []
    for number in range(4):
        folder = tmp_path / f"folder {number}"
        folder.mkdir()
        running.append(
            subprocess.Popen(
                [sys.executable, "-c", PROCESS, str(tmp_path / "t" / "task.json"), public],
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
    for process in running:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=120)[0].strip() for process in running]
    assert [process.returncode for process in running] == [0] * 4
    bundles = {open_envelope(bytes.fromhex(line), key=outer) for line in said}
    assert len(bundles) == 1
    assert [file.name for file in (state_home / "smoothdp" / "clients").iterdir()] == [
        "outcomes.sqlite"
    ]


# ---- whose the state is --------------------------------------------------------------------


@pytest.mark.usefixtures("state_home")
def test_the_command_in_another_folder_sends_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also with another answer, another copy of the task, and another copy of the token."""
    written = write_parties(tmp_path / "t", small_task(min_batch=10), KEY)
    party = ShufflerParty.from_directory(written.shuffler)
    (token,) = issue_tokens(written.shuffler, 1)
    seen: list[bytes] = []
    true_accept = party.shuffler.accept

    def accept(uploads: Sequence[Upload]) -> list[Outcome]:
        seen.extend(upload.envelope for upload in uploads)
        return true_accept(uploads)

    monkeypatch.setattr(party.shuffler, "accept", accept)
    with on_loopback(party.app("http://127.0.0.1:1", work_seconds=3600)) as url:
        for folder, datum in (("a", "1"), ("b", "0"), ("a", "0")):
            place = tmp_path / folder
            place.mkdir(exist_ok=True)
            monkeypatch.chdir(place)
            (place / "token").write_text(token + "\n")
            (place / "task.json").write_bytes(written.task.read_bytes())
            known = ["--task", "task.json", "--shuffler", url, "--token-file", "token"]
            main(["submit", datum, *known])
            assert sorted(file.name for file in place.iterdir()) == ["task.json", "token"]
    said = [line for line in capsys.readouterr().out.splitlines() if line]
    assert len(said) == len(seen) == 3
    # One envelope per window, whatever the folder; a window may end in between.
    windows = {Header.of(envelope).window for envelope in seen}
    assert len(set(seen)) == len(windows)
    assert party.shuffler.totals()["accepted"] == len(windows)
    party.shuffler.storage.close()


def test_the_command_under_changing_keys_sends_one_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refused from every folder, it still gives a dishonest shuffler one set of slots."""
    written = write_parties(tmp_path / "t", small_task(min_batch=10), KEY)
    (tmp_path / "token").write_text(issue_tokens(written.shuffler, 1)[0])
    shuffler = ChangingKeys(refusals=100)
    monkeypatch.setattr("smoothdp.services.connect", lambda _: shuffler.http())
    monkeypatch.setattr(
        submit, "__kwdefaults__", {**(submit.__kwdefaults__ or {}), "pause": lambda _: None}
    )
    monkeypatch.setattr(Client, "window_now", lambda _: 77)
    for number in range(4):
        place = tmp_path / f"{number}"
        place.mkdir()
        monkeypatch.chdir(place)
        known = ["--task", "../t", "--shuffler", "https://x", "--token-file", "../token"]
        with pytest.raises(SystemExit):
            main(["submit", str(number % 2), *known])
        assert capsys.readouterr().err.startswith("Error: Expected ")
    assert len(set(shuffler.envelopes)) == 20
    assert len(set(shuffler.bundles)) == 1


def test_the_state_is_its_users_alone(state_home: Path) -> None:
    OutcomeStore.of_user().close()
    clients = state_home / "smoothdp" / "clients"
    clients.chmod(0o755)
    store = OutcomeStore.of_user()
    key = PrivateKey.generate().public
    Client(small_task(), store).envelope(1, shuffler_key=(1, key), window=5)
    for folder in (clients, clients.parent, state_home):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder
    files = list(clients.iterdir())
    assert "outcomes.sqlite" in {file.name for file in files}
    for file in files:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    store.close()


@pytest.mark.parametrize("named", [None, "", "state", "./state"])
def test_a_state_folder_that_depends_on_the_folder_is_not_used(
    named: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_STATE_HOME")
    if named is not None:
        monkeypatch.setenv("XDG_STATE_HOME", named)
    OutcomeStore.of_user().close()
    found = [str(file.relative_to(tmp_path)) for file in tmp_path.rglob("outcomes.sqlite")]
    assert found == ["home/.local/state/smoothdp/clients/outcomes.sqlite"]


def test_state_folders_that_cannot_be_used(
    tmp_path: Path, state_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state_home.write_text("a file")
    with pytest.raises(InvalidData, match="a folder for the state of clients"):
        OutcomeStore.of_user()
    state_home.unlink()
    (tmp_path / "elsewhere").mkdir()
    (state_home / "smoothdp").mkdir(parents=True)
    (state_home / "smoothdp" / "clients").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidData, match="to be a folder of yours; got a link"):
        OutcomeStore.of_user()
    (state_home / "smoothdp" / "clients").unlink()
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(InvalidData, match="to be a folder of yours; got somebody else's"):
        OutcomeStore.of_user()


# ---- another token -------------------------------------------------------------------------


class Answering:
    """A shuffler that answers as it is told, and keeps whatever it is sent."""

    def __init__(self, *answers: int) -> None:
        self.key = PrivateKey.generate()
        self.answers = list(answers)
        self.bundles: list[tuple[bytes, bytes]] = []

    def http(self) -> httpx.Client:
        """Return a connection to it."""
        return httpx.Client(base_url="https://x", transport=httpx.MockTransport(self._answer))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            public = self.key.public.to_bytes().hex()
            return httpx.Response(200, json={"key_id": 1, "public_key": public})
        self.bundles.append(open_envelope(request.read(), key=self.key))
        status = self.answers.pop(0)
        if status == 0:
            raise httpx.ReadError("lost", request=request)
        return httpx.Response(status)


def send(store: OutcomeStore, shuffler: Answering, token: str, **fields: Any) -> None:
    """Send once under a token, each its own name in a store of one person."""
    client = Client(small_task(), store, name=token, **{"one_person": True, **fields})
    with shuffler.http() as http, suppress(ServiceError):
        submit(client, 1, http=http, token=token, window=5, attempts=1)


@pytest.mark.parametrize("status", [401, 409, 410, 425, 429, 503, 0])
def test_another_token_sends_what_was_not_accepted(tmp_path: Path, status: int) -> None:
    """Also back under the first; once it is accepted, under whichever, a third is a person."""
    store, shuffler = OutcomeStore(tmp_path / "u"), Answering(status, status, 202, 202, 202, 202)
    for token in "abbac":
        send(store, shuffler, token)
    first, *again, third = shuffler.bundles
    assert again == [first] * 3
    assert third[0] != first[0]
    assert third[1] != first[1]
    send(store, shuffler, "b")
    assert shuffler.bundles[-1] == first
    store.close()


def test_another_person_behind_a_report_that_was_not_accepted(tmp_path: Path) -> None:
    store, shuffler = OutcomeStore(tmp_path / "u"), Answering(401, 401, 401)
    send(store, shuffler, "a")
    send(store, shuffler, "b", one_person=False)
    send(store, shuffler, "b")
    assert shuffler.bundles[1] == shuffler.bundles[2] != shuffler.bundles[0]
    store.close()


def test_what_was_destroyed_and_not_accepted_is_not_drawn_anew(tmp_path: Path) -> None:
    store, shuffler = OutcomeStore(tmp_path / "u"), Answering(401)
    send(store, shuffler, "a")
    store.forget_before(small_task().task_id, 9)
    with pytest.raises(InvalidData, match="whose report was destroyed here"):
        send(store, shuffler, "b")
    store.close()


@pytest.mark.usefixtures("state_home")
def test_the_command_says_that_another_tokens_report_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written, shuffler = write_parties(tmp_path / "t", small_task(min_batch=10), KEY), Answering()
    shuffler.answers = [401, 202, 401, 202]
    monkeypatch.setattr("smoothdp.services.connect", lambda _: shuffler.http())
    monkeypatch.setattr(Client, "window_now", lambda _: 77)
    said = []
    for token, more in zip(
        issue_tokens(written.shuffler, 4), ([], [], [], ["--another-person"]), strict=True
    ):
        (tmp_path / "token").write_text(token)
        known = ["--task", str(written.task), "--shuffler", "https://x"]
        with suppress(SystemExit):
            main(["submit", "1", *known, "--token-file", str(tmp_path / "token"), *more])
        said.append(capsys.readouterr().err)
    assert ["is sent again" in words for words in said] == [False, True, False, False]
    assert said[1].count("\n") == 1
    assert "--another-person" in said[1]
    one, again, two, three = shuffler.bundles
    assert one == again
    assert len({one, two, three}) == 3
