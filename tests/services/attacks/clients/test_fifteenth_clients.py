"""A fifteenth round of attacks on clients: whose word frees a budget, and whose row is whose."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.services import look_up_report, take_part
from smoothdp.services.client.client import Client
from smoothdp.services.client.datum import read_datum
from smoothdp.services.client.inclusion import Standing
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.card import SignedCard
from smoothdp.services.formats.marks import MarksFile
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.store.overwritten_log import log_of
from smoothdp.services.wire.calls import ServiceError, connect, one_place
from tests.services.page.page_program import needs_node, run
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder
from tests.services.worlds.quick_clients import hasty_world, state_of_me
from tests.services.worlds.small_tasks import ANALYZER_SIGN, SHUFFLER_SIGN, small_task


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[IssuingWorld]:
    made = hasty_world(tmp_path, monkeypatch, windows=1)
    yield made
    made.close()


class OtherAddress:
    """Another address of a dishonest issuer's side, which answers as a shuffler would."""

    def __init__(self, world: IssuingWorld, *, to_reports: int) -> None:
        self.shown = set[str]()
        shown = self.shown

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self._say(410)

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                shown.add(self.headers["authorization"])
                self._say(to_reports)

            def _say(self, status: int) -> None:
                self.send_response(status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=lambda: server.serve_forever(0.02), daemon=True).start()
        world.at_end(server.server_close)
        world.at_end(server.shutdown)
        self.address = f"http://127.0.0.1:{server.server_address[1]}"


# ---- another address of the issuer's side in the place of the shuffler's


def test_another_address_of_the_issuer_frees_a_place_of_the_budget(world: IssuingWorld) -> None:
    """ "Whoever ... gives the issuer's address as the shuffler's, shows the issuer the pass".

    That is not all. "A client answers in no more windows than the budget pays for; ... windows
    that the shuffler destroyed do not count": the word has no signature, and whoever is asked in
    the place of the shuffler gives it. An analyser's side to which somebody once goes astray so
    gets a second answer, by way of the honest shuffler, in a task that pays for one.
    """
    shuffler, astray = Recorder(world), OtherAddress(world, to_reports=503)
    asked = partial(take_part, world.task, 1, pass_secret="0a" * 48, issuer=world.address)
    asked = partial(asked, invitation=world.invitation())
    asked(shuffler=shuffler.address)
    later = WINDOW + 2
    world.go_to(later * HOUR + 5.0)
    world.open_window(later)
    with pytest.raises(InvalidData, match="pays for 1"):
        asked(shuffler=shuffler.address)
    with pytest.raises(ServiceError):
        asked(shuffler=astray.address)
    assert astray.shown == {"Bearer " + "0a" * 48}
    asked(shuffler=shuffler.address)
    # Two answers of one person with the honest shuffler, and so with the analyser.
    assert len(shuffler.bodies) == 2
    assert state_of_me(world) == "marks of a report that the shuffler destroyed"
    assert state_of_me(world, later) == "sent"


def test_another_address_of_the_issuer_has_an_honest_shuffler_accused(world: IssuingWorld) -> None:
    """ "Neither can tell the two apart otherwise": a 202 from there is taken for the shuffler's.

    The look-up then says of a shuffler that never heard of the report that it had said that it has
    it. The signed documents are good, and both services follow the protocol in them.
    """
    astray = OtherAddress(world, to_reports=202)
    secrets = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
    take_part(world.task, 1, shuffler=astray.address, issuer=world.address, **secrets)
    world.go_to((WINDOW + 2) * HOUR)
    digest = SignedCard.decode(world.make_card()).card.digest
    marks = MarksFile.of(digest, [bytes([number]) * 52 for number in range(12)])
    header = BatchHeader(True, digest, bytes(16), 12, 12, (bytes(32),), marks.sha256)
    document = {
        "task_id": world.task.task_id.hex(),
        "window": WINDOW,
        "card_digest": digest.hex(),
        "marks_sha256": marks.sha256.hex(),
        "batch_header": header.sign(SHUFFLER_SIGN).encode().hex(),
    }
    result = SignedResult.sign(document, ANALYZER_SIGN).encode()
    said = look_up_report(world.task, WINDOW, result=result, marks=marks.encode())
    assert said is Standing.LEFT_OUT


# ---- two calls in one program, and another program


_ANOTHER = """
import sys
from pathlib import Path
from smoothdp.services import read_task
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
folder, now = Path(sys.argv[1]), float(sys.argv[2])
for person in map(str.strip, sys.stdin):
    store = OutcomeStore.of_user()
    client = Client(read_task(folder), store, name=person, clock=lambda: now)
    window, report = client.window_now(), ""
    if person:
        card = (folder / "card").read_bytes()
        report = client.take_part(1, card=card, window=window).report.hex()
    store.close()
    print(report, flush=True)
"""


@pytest.mark.slow
def test_two_calls_at_once_in_one_program_lose_no_draw_of_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "Slots are stored before the first byte leaves and never drawn again".

    A program that opened the state a second time, as a second call of `take_part` in another thread
    does, gave back the locks of the first: closing a file gives back all that its process has on
    it. Another program that ended then removed the log while the first one wrote there, and what
    was stored between was overwritten when the first one closed: a draw that had left. The next
    call made another one.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    world = IssuingWorld(tmp_path, issuer=None, proof="none")
    (tmp_path / "task.json").write_bytes(world.task.encoded)
    (tmp_path / "card").write_bytes(world.make_card())

    started = [sys.executable, "-c", _ANOTHER, str(tmp_path), str(world.now)]
    with subprocess.Popen(started, stdin=-1, stdout=-1, text=True) as program:

        def another(person: str) -> str:
            assert program.stdin is not None
            assert program.stdout is not None
            program.stdin.write(f"{person}\n")
            program.stdin.flush()
            return program.stdout.readline().strip()

        first = OutcomeStore.of_user()
        client = Client(world.task, first, name="first", clock=lambda: world.now)
        OutcomeStore.of_user().close()
        another("")
        client.take_part(1, card=world.make_card(), window=WINDOW)
        drawn = another("third")
        first.close()
        assert drawn
        assert another("third") == drawn
    world.close()


def test_a_second_call_in_one_program_gives_back_no_lock_of_the_first(tmp_path: Path) -> None:
    """The cause of the above: whoever else comes and goes leaves the log of a state in use."""
    state = tmp_path / "windows.sqlite"
    first = OutcomeStore(state)
    first.keep_card(b"task", 7, digest=b"digest", signed=b"card")
    OutcomeStore(state).close()
    read = "import sqlite3, sys; file = sqlite3.connect(sys.argv[1]); "
    read += "file.execute('SELECT count(*) FROM card').fetchone(); file.close()"
    subprocess.run([sys.executable, "-S", "-c", read, str(state)], check=True)
    assert log_of(state).exists()
    first.close()


def test_a_state_that_is_there_is_made_private_and_no_link_is_followed(tmp_path: Path) -> None:
    """A state that is "private to that user": others' rights are taken, of a file that is there."""
    state = tmp_path / "windows.sqlite"
    OutcomeStore(state).close()
    state.chmod(0o644)
    OutcomeStore(state).close()
    assert state.stat().st_mode & 0o777 == 0o600
    (tmp_path / "link").symlink_to(state)
    with pytest.raises(InvalidData, match="a link"):
        OutcomeStore(tmp_path / "link")
    (tmp_path / "nowhere").symlink_to(tmp_path / "absent")
    with pytest.raises(InvalidData, match="a link"):
        OutcomeStore(tmp_path / "nowhere")


# ---- rows of an older page


@needs_node
def test_a_row_that_an_older_page_kept_without_a_pass_stays_everybodys() -> None:
    """ "An answer that an older page kept without a pass counts for everybody".

    Also once it is sent again, with a pass that is mistyped, say: then it counted for that one
    alone, and not "with every row that was made ... with the same pass". A new invitation was a
    new budget.
    """
    found = run(
        """
        const { outcomes, placeOf } = smoothdp, of = (...numbers) => new Uint8Array(numbers);
        const at = (window, invitation, pass) =>
          placeOf({ task: { proof: "slots" }, taskId: "task", window, invitation, pass });
        const draw = async (...where) => {
          const row = { cardDigest: of(1), state: outcomes.DRAWN, slots: of(2), seed: of(3) };
          return outcomes.keep(await at(...where), { row, signed: of(4) }, { most: 1 })
            .then(() => "", (error) => error.message);
        };
        await draw(7, "a", "right");
        const { who } = await at(7, "a", "right"), key = JSON.stringify(["task", 7, who]);
        const { pass, ...older } = stored.rows.get(key);
        stored.rows.set(key, older);
        await outcomes.keepPass(await at(7, "a", "mistyped"), 1);
        return [await draw(8, "b", "right"), await draw(8, "c", "mistyped")];
        """
    )
    assert all(said.startswith("The budget of this poll pays for no more") for said in found), found


# ---- what held


@pytest.mark.parametrize(
    "protocol",
    [
        {"protocol": "real_sum"},
        {"protocol": "split_sum", "size": 8, "bounds": ("-1", "1e50")},
        {"protocol": "histogram", "size": 3},
    ],
    ids=lambda given: str(given["protocol"]),
)
def test_what_passes_for_a_datum_can_be_drawn(protocol: dict[str, Any]) -> None:
    """A datum that is taken for one before the card, and refused after it, would be seen to be.

    So of all that can be typed nothing may pass the first look and fail in the draw.
    """
    task = small_task(**protocol)
    digits, taken = "9" * 60, 0
    typed = ["0", "-0", "1e-999", "-1e999", "1e999", digits, f"1/{digits}", f"{digits}/7", "1/0"]
    typed += [
        "1_0",
        " 1",
        "1\n",
        "+1",
        "1.",
        ".5",
        "\uff11",
        "\u0663",
        "nan",
        "inf",
        "1e",
        "\0",
        "",
    ]
    for datum in typed:
        try:
            read = read_datum(task, datum)
        except InvalidData:
            continue
        assert len(task.values(read)) == task.slots
        taken += 1
    assert taken


def test_no_two_spellings_of_one_connection_are_two_places() -> None:
    """ "The client refuses ... one host and port for both sides, however these are spelt".

    Held against what the connection itself takes an address for, over all pairs of spellings.
    """
    hosts = ["esa.example", "ESA.Example", "e%73a.example", "esa\uff0eexample", "127.0.0.1"]
    hosts += ["[2001:DB8::1]", "[2001:db8:0::1]", "esa.example\\x", "user@esa.example"]
    taken: dict[str, tuple[bytes, int]] = {}
    for host in hosts:
        for port in ("", ":0443"):
            address = f"https://{host}{port}/a/.."
            try:
                with connect(address) as http:
                    taken[address] = http.base_url.raw_host.lower(), http.base_url.port or 443
            except SmoothdpError:
                continue
    same = [pair for pair in combinations(taken, 2) if taken[pair[0]] == taken[pair[1]]]
    assert len(same) > 8
    assert all(one_place(*pair) for pair in same)


@needs_node
def test_a_task_under_another_spelling_of_its_name_is_no_other_task() -> None:
    """ "The page takes the task by its hash": a name spelt anew is no second budget."""
    task = small_task()
    name = task.task_id.hex()
    other = [name.upper(), f"%{ord(name[0]):x}{name[1:]}", f"{name} ", f"{name}\u200b"]
    found = run(
        """
        const encoded = new TextEncoder().encode(given.task), said = [];
        for (const name of given.names) {
          const read = smoothdp.readTask(encoded, name);
          said.push(await read.then(() => "", ({ message }) => message));
        }
        return said;
        """,
        {"task": task.encoded.decode(), "names": [name, *other]},
    )
    assert found == ["", *["The terms of this poll are not those of its name."] * len(other)]
