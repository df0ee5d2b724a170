"""Two faults at once: a source of time that is wrong everywhere, and a party that starts again."""

from __future__ import annotations

import asyncio
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.operations.health import Check, Condition, Health
from smoothdp.services.operations.logs import json_lines
from smoothdp.services.shuffler.shuffler_tables import SHUFFLER_SCHEMA
from smoothdp.services.store.revoked import Revoked, revoke
from smoothdp.services.store.storage import SqliteStorage, StorageUnreachable
from tests.services.delivery.test_clocks import HOUR, JUMP, PARTIES, USERS, WINDOW, OwnClocks
from tests.services.operations.served import free_port
from tests.services.storages import open_state


def restart(parties: OwnClocks, party: str) -> None:
    """Let one party know no more of clocks than after a start; the others go on."""
    clocks = {
        "shuffler": parties.shuffler.shuffler.clocks,
        "analyzer": parties.analyzer.analyzer.clocks,
        "issuer": parties.issuer.issuer.clocks,
    }
    vars(clocks[party]).update(vars(parties._of(party)))


@pytest.mark.parametrize(
    "killed", [PARTIES[0], *(pytest.param(p, marks=pytest.mark.slow) for p in PARTIES[1:])]
)
def test_a_party_that_starts_again_believes_no_clock_that_was_set(
    tmp_path: Path, killed: str
) -> None:
    """All follow one wrong source, and all hold; one is killed and comes back on the wrong time.

    Its own clock has not moved since *its* start, and agrees with the other party's. But that one
    was set since its start: its time is nobody's second clock.
    """
    parties = OwnClocks(tmp_path)
    parties.round()
    store = OutcomeStore(tmp_path / "clients.sqlite")
    parties.take_part(store)
    before = parties.what_can_be_destroyed()
    assert (len(before["reports"]), len(before["accounts"])) == (USERS, USERS)
    parties.wrong = dict.fromkeys(PARTIES, 8 * JUMP)
    parties.round()
    assert parties.what_can_be_destroyed() == before
    restart(parties, killed)
    for _ in range(3):
        parties.round()
    assert parties.what_can_be_destroyed() == before
    # Right again, and all are started again: what was acknowledged is counted.
    parties.wrong = dict.fromkeys(PARTIES, 0.0)
    parties.running.close()
    parties.open()
    parties.now = (WINDOW + 1) * HOUR + 600.0
    parties.round()
    released = parties.analyzer.analyzer.storage.read("SELECT window FROM release")
    assert released == [(WINDOW,)]
    parties.running.close()
    store.close()


@pytest.mark.parametrize("before_the_start", [True, False])
def test_a_list_of_the_revoked_that_is_emptied_is_a_line_of_json_each_ten_minutes(
    tmp_path: Path, before_the_start: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whether the service ran meanwhile or not; and a list that is no list is named too."""
    path, task = tmp_path / "revoked", b"t" * 32
    with closing(open_state(tmp_path, "shuffler", SHUFFLER_SCHEMA)) as storage:
        revoke(path, [b"1" * 16, b"2" * 16])
        revoked = Revoked(path, storage, task)
        path.write_text(f"{(b'1' * 16).hex()}\n")
        if before_the_start:
            revoked = Revoked(path, storage, task)
        assert capfd.readouterr() == ("", "")
        with json_lines("shuffler", stream=(stream := io.StringIO())):
            revoked.remember()
            revoked.remember()
            assert b"2" * 16 in revoked
            path.write_text("not an id")
            revoked.remember()
        short, unread = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert short["event"] == "the list of the revoked is short"
    assert "revoked lacks 1 ids" in short["says"]
    assert unread["event"] == "the list of the revoked was not read"
    assert str(path) in unread["says"]
    assert capfd.readouterr() == ("", "")


# ---- the words of a start that is not permitted, and of a database that does not answer


def test_a_state_that_may_not_be_read_is_no_reason_for_another_path(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """At another path the service would begin anew, with none of what was acknowledged."""
    path, schema = tmp_path / "shuffler.sqlite", "CREATE TABLE IF NOT EXISTS box (item TEXT);"
    SqliteStorage(path, schema).close()
    path.chmod(0o000)
    me = os.geteuid()
    if me == 0:
        os.seteuid(65534)
    try:
        with pytest.raises(InvalidData) as refused:
            SqliteStorage(path, schema)
    finally:
        if me == 0:
            os.seteuid(me)
    assert "another path" not in str(refused.value)
    assert "the state is here" in str(refused.value)


def test_what_cannot_be_known_without_the_storage_is_not_named_beside_it() -> None:
    """A database that hangs is no loss of keys: nobody is sent to look for a file that is there."""

    def hangs() -> Condition:
        time.sleep(0.3)
        return Condition("keys", True, "there")

    def breaks() -> Condition:
        raise StorageUnreachable(expected="an answer", got="none", remedy="Wait")

    full = Condition("disk", False, "1 % free")

    def wrong(storage: Check) -> list[str]:
        checks = {"storage": storage, "keys": hangs, "cards": breaks, "disk": lambda: full}
        health = Health(checks, seconds=0.05)
        found = asyncio.run(health.conditions())
        health.close()
        return [condition.name for condition in found if not condition.good]

    assert wrong(hangs) == wrong(breaks) == ["storage", "disk"]
    assert wrong(lambda: Condition("storage", True, "answers")) == ["keys", "cards", "disk"]


# ---- real processes, real commands of people, two faults at once

STEP = """
import os, time
_time = time.time
def stepped():
    try:
        return _time() + float(open(os.environ["STEP"]).read() or 0)
    except (KeyError, OSError, ValueError):
        return _time()
time.time = stepped
"""
LENGTH, GRACE, LEAST, PEOPLE = 40, 6, 4, 5


class Processes:
    """Three services of one task, each a process whose clock and life are ours."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.choice = folder, random.Random(seed)
        self.ports = {role: (free_port(), free_port()) for role in PARTIES}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        for role in (*PARTIES, "collector"):
            self.said("task", "keys", role, role)
        halves = [part for p in (*PARTIES, "collector") for part in (f"--{p}", f"{p}/public.json")]
        self.said(
            *("task", "create", "agreed", "--protocol", "boolean-sum", "--epsilon", "4"),
            *("--delta", "1e-2", "--honest-share", "0.8", "--min-batch", str(LEAST)),
            *("--windows", "4", "--window-seconds", str(LENGTH), "--grace-seconds", str(GRACE)),
            *halves,
            *("--issuer-url", self.address("issuer"), "--origin", "analyser.example"),
        )
        for role in (*PARTIES, "collector"):
            shutil.copy(folder / "agreed/task.json", folder / role)
        shutil.copy(folder / "agreed/callers.json", folder / "analyzer")
        (folder / "sitecustomize.py").write_text(STEP)

    def address(self, role: str) -> str:
        return f"http://127.0.0.1:{self.ports[role][0]}"

    def call(self, *arguments: str, home: str = ".", typed: str = "") -> tuple[int, str]:
        """Run a command of a person; return its status and all that it says."""
        (self.folder / home).mkdir(exist_ok=True)
        environment = {**os.environ, "HOME": str(self.folder / home)}
        environment.pop("XDG_STATE_HOME", None)
        done = subprocess.run(
            [sys.executable, "-m", "smoothdp", *arguments],
            cwd=self.folder,
            env=environment,
            input=typed,
            text=True,
            capture_output=True,
            timeout=200,
        )
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout + done.stderr

    def said(self, *arguments: str) -> str:
        status, words = self.call(*arguments)
        assert status == 0, words
        return words

    def start(self, role: str) -> None:
        port, admin = self.ports[role]
        peer = [] if role == "analyzer" else ["--analyzer", self.address("analyzer")]
        own = os.pathsep.join([str(self.folder), os.environ.get("PYTHONPATH", "")])
        with (self.folder / f"{role}.log").open("ab") as log:
            self.processes[role] = subprocess.Popen(
                [
                    *(sys.executable, "-m", "smoothdp", "serve", role, role, "--port", str(port)),
                    *("--admin", f"127.0.0.1:{admin}", "--work-seconds", "1", *peer),
                ],
                cwd=self.folder,
                stderr=log,
                stdout=log,
                env={**os.environ, "PYTHONPATH": own, "STEP": str(self.folder / f"{role}.step")},
            )

    def kill(self, role: str) -> None:
        self.processes[role].kill()
        self.processes[role].wait()

    def step(self, seconds: float) -> None:
        """Set the clocks of all services alike, as one wrong source does."""
        for role in PARTIES:
            (self.folder / f"{role}.step").write_text(str(seconds))

    def wrong(self, role: str) -> list[str]:
        try:
            answer = httpx.get(f"http://127.0.0.1:{self.ports[role][1]}/readyz", timeout=5)
        except httpx.HTTPError:
            return ["silent"]
        return [str(name) for name in answer.json()["wrong"]]

    def until_ready(self) -> None:
        deadline = time.monotonic() + 120
        while any(self.wrong(role) for role in PARTIES):
            assert time.monotonic() < deadline, {role: self.wrong(role) for role in PARTIES}
            time.sleep(0.5)

    def submit(self, person: int, until: float, accepted: dict[int, set[int]]) -> None:
        secrets = ["--pass", f"pass{person}", "--invitation", f"invitation{person}"]
        while time.time() < until:
            status, words = self.call(
                *("submit", "-", "--task", "agreed/task.json"),
                *("--shuffler", self.address("shuffler"), *secrets),
                home=f"home{person}",
                typed=str(person % 2),
            )
            if status == 0:
                accepted[int(words.split("window ")[1].split(".")[0])].add(person)
                return
            time.sleep(1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_processes_on_one_wrong_clock_that_are_killed_and_halted_count_each_once(
    seed: int, tmp_path: Path
) -> None:
    """All clocks jump alike while one is killed and another halted; people use the command."""
    parties = Processes(tmp_path, seed)
    for kind, role in (("pass", "shuffler"), ("invitation", "issuer")):
        secrets = parties.said("task", "tokens", role, "--count", str(PEOPLE)).split()
        for person, secret in enumerate(secrets[:PEOPLE]):
            (tmp_path / f"{kind}{person}").write_text(secret)
    try:
        for role in ("analyzer", "issuer", "shuffler"):
            parties.start(role)
        parties.until_ready()
        window = int(time.time() // LENGTH) + 1
        time.sleep(window * LENGTH - time.time())
        accepted: dict[int, set[int]] = defaultdict(set)
        end = (window + 1) * LENGTH
        people = [
            threading.Thread(target=parties.submit, args=(person, end, accepted))
            for person in range(PEOPLE)
        ]
        for program in people:
            program.start()
        time.sleep(parties.choice.uniform(2, 12))
        killed, halted = parties.choice.sample(PARTIES, 2)
        parties.step(parties.choice.choice((864_000, 3600, -3600)))
        time.sleep(2.5)
        parties.processes[halted].send_signal(signal.SIGSTOP)
        parties.kill(killed)
        parties.start(killed)
        time.sleep(parties.choice.uniform(3, 6))
        parties.processes[halted].send_signal(signal.SIGCONT)
        time.sleep(3)
        assert "clock" in parties.wrong(killed) + parties.wrong(halted)
        parties.step(0)
        for role in PARTIES:
            parties.kill(role)
            parties.start(role)
        for program in people:
            program.join()
        time.sleep(max(0.0, end + GRACE - time.time()))
        parties.until_ready()
        status, words = parties.call(
            *("results", str(window), "--collector", "collector", "--signed", "result.json"),
            *("--analyzer", parties.address("analyzer"), "--wait", "30"),
        )
        found = [
            parties.call(
                *("look-up", str(window), "--task", "agreed/task.json", "--result", "result.json"),
                *("--shuffler", parties.address("shuffler")),
                home=f"home{person}",
            )[0]
            for person in range(PEOPLE)
            if status == 0
        ]
        if status == 0:
            assert json.loads(words)["users"] == found.count(0) >= LEAST
            assert all(found[person] == 0 for person in accepted[window])
            ledger = next((tmp_path / "analyzer").glob("ledger-*.db"))
            assert "1 entry" in parties.said("account", "show", str(ledger), "--delta", "1e-2")
        else:
            assert len(accepted[window]) < LEAST, words
    finally:
        for process in parties.processes.values():
            process.kill()
            process.wait()
