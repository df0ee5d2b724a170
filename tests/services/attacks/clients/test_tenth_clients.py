"""A tenth round of attacks on clients: what is said after a clock was wrong, what a look-up leaves.

Two programs of one machine at once, files exchanged before a shuffler that fails, a datum that is
none, answers that drip where much is meant.
"""

from __future__ import annotations

import contextlib
import http.server
import socket
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from smoothdp.cli.main import main
from smoothdp.errors import InvalidData, InvalidParameter, SmoothdpError
from smoothdp.services import issue_invitations, look_up_report, take_part
from smoothdp.services.analyzer.release import read_result
from smoothdp.services.client import taking_part
from smoothdp.services.client.outcomes import DRAWN, FINAL, SENT, OutcomeStore
from smoothdp.services.formats.report import Report
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.shuffler.shuffler_party import issue_passes
from smoothdp.services.wire.calls import ServiceError
from smoothdp.services.wire.running import on_loopback
from tests.services.page.page_person import PERSON, page
from tests.services.page.page_program import needs_node, run
from tests.services.worlds.handing_on import hands_on
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder
from tests.services.worlds.quick_clients import hasten, hasty_world, state_of_me, submitting
from tests.services.worlds.small_tasks import ANALYZER_SIGN
from tests.services.worlds.three_parties import USERS, Parties


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[IssuingWorld]:
    made = hasty_world(tmp_path, monkeypatch)
    yield made
    made.close()


def _files(world: IssuingWorld) -> bytes:
    folder = world.folder / "state" / "smoothdp" / "clients"
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


def _reason_alone(world: IssuingWorld) -> bytes:
    """Return what the analyser signs of a window that ended for want of a part of its batch."""
    document = {
        "task_id": world.task.task_id.hex(),
        "window": WINDOW,
        "state": "REFUSED",
        "reason": "a part of the batch never came",
    }
    return SignedResult.sign(document, ANALYZER_SIGN).encode()


# ---- who comes to the issuer


def test_a_shuffler_sends_nobody_away_who_has_a_client_program(world: IssuingWorld) -> None:
    """ "Send people away before they reach the issuer" is what "a client program" stands against.

    A shuffler that answers 503 in one window has everybody come to it first in the next.
    """
    shuffler = Recorder(world, [503, 401])
    own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
    asked: Callable[..., Any] = partial(
        take_part, shuffler=shuffler.address, issuer=world.address, **own
    )
    with pytest.raises(ServiceError):
        asked(world.task, 1)
    world.go_to((WINDOW + 1) * HOUR + 5.0)
    world.open_window(WINDOW + 1)
    with pytest.raises(ServiceError, match="Ask who runs the shuffler for a pass"):
        asked(world.task, 1)
    rows = world.storage.read("SELECT count(*) FROM issued WHERE window = ?", (WINDOW + 1,))
    assert rows[0][0] == 1


def test_a_shuffler_that_wastes_a_window_may_let_some_alone_have_one_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page: it may "tell some alone that a window was destroyed, so that few are served".

    All others are told that the budget is spent, before the issuer hears of them.
    """
    world = hasty_world(tmp_path, monkeypatch, windows=1)
    try:
        shuffler = Recorder(world, [503])  # and 501 to HEAD
        own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
        asked: Callable[..., Any] = partial(
            take_part, shuffler=shuffler.address, issuer=world.address, **own
        )
        with pytest.raises(ServiceError):
            asked(world.task, 1)
        later = WINDOW + 9 * 24  # the first one has given its place in the budget back
        world.go_to(later * HOUR + 5.0)
        world.open_window(later)
        with contextlib.suppress(SmoothdpError):
            asked(world.task, 1)
        rows = world.storage.read("SELECT count(*) FROM issued WHERE window = ?", (later,))
        assert rows[0][0] == 0
    finally:
        world.close()


class Lying:
    """A shuffler of some accounts of its own, before the real one, and the one whom it wants."""

    def __init__(self, to: str, wanted: list[str], *, late: int) -> None:
        self.first = True
        lying, free = self, {f"Bearer {secret}" for secret in wanted}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                named = self.headers["authorization"]
                if lying.first:
                    status = 503
                elif self.path.endswith(f"/{WINDOW}"):
                    status = 410 if named in free else late
                elif named not in free:
                    status = 503
                else:
                    sent = {"authorization": named}
                    status = httpx.post(to + self.path, content=body, headers=sent).status_code
                self.send_response(status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=lambda: self.server.serve_forever(0.02), daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.mark.parametrize("late", [410, 401])
def test_a_shuffler_with_too_few_accounts_singles_nobody_out_among_client_programs(
    late: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 20 who take part 11 are the shuffler's: a batch of them and one more was released.

    It leaves out the other 8 in both cases. After 410 they are served and missing, and the rule
    refuses the batch; 401 to a late report keeps them from the issuer, and nobody misses them.
    """
    with contextlib.ExitStack() as stack:
        parties = Parties(tmp_path, stack)
        parties.round()
        issuer, real = (
            stack.enter_context(on_loopback(party.app(parties.url, work_seconds=3600)))
            for party in (parties.issuer, parties.shuffler)
        )
        people = USERS + 8
        passes = issue_passes(tmp_path / "shuffler", people)
        invitations = issue_invitations(tmp_path / "issuer", people)
        shuffler = Lying(real, passes[:USERS], late=late)
        stack.callback(shuffler.close)
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        hasten(monkeypatch, lambda: parties.now)

        def take_part_from(first: int) -> None:
            for number in range(first, people):
                with contextlib.suppress(SmoothdpError):
                    take_part(
                        parties.task,
                        1,
                        shuffler=shuffler.address,
                        pass_secret=passes[number],
                        invitation=invitations[number],
                        issuer=issuer,
                        person=str(number),
                    )

        take_part_from(USERS)
        shuffler.first = False
        parties.now = (WINDOW + 1) * HOUR + 30.0
        parties.round()
        take_part_from(0)
        parties.now = (WINDOW + 2) * HOUR + 0.0
        parties.round()
        parties.now += 600
        parties.round()
        parties.analyzer.work()
        status, body = read_result(parties.analyzer.analyzer, WINDOW + 1, now=parties.now)
        document = SignedResult.decode(body).document
    assert status != 200, (document["users"], document["accounts_served"])


# ---- what is left on the device


@pytest.mark.parametrize("answers", [[202], [503]])
def test_a_look_up_leaves_no_report_of_a_window_that_is_over(
    answers: list[int], world: IssuingWorld
) -> None:
    """ "A device that has run since, for this task or another one, keeps of it: [...] M marks".

    The natural command after a window is look-up; of a refusal with the reason alone it says that
    nothing can be looked up, and left the whole report where it was.
    """
    shuffler = Recorder(world, answers)
    own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
    asked: Callable[..., Any] = partial(
        take_part, shuffler=shuffler.address, issuer=world.address, **own
    )
    if answers == [202]:
        asked(world.task, 1)
    else:
        with pytest.raises(ServiceError):
            asked(world.task, 1)
    (report,) = shuffler.reports()
    assert report.slots[0] in _files(world)
    world.go_to(world.now + 3 * HOUR)
    with pytest.raises(InvalidData, match="Nothing can be looked up in it"):
        look_up_report(world.task, WINDOW, result=_reason_alone(world), marks=b"")
    assert report.slots[0] not in _files(world)


def test_a_look_up_leaves_no_seed_of_a_window_that_is_over(world: IssuingWorld) -> None:
    """ "Seed and datum are not kept by the client", which ran after the window."""
    own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
    (world.folder / "revoked").write_text(own["invitation"][:32] + "\n")
    with pytest.raises(ServiceError):
        take_part(world.task, 1, shuffler="http://127.0.0.1:9", issuer=world.address, **own)
    store = OutcomeStore.of_user()
    row = store.get(world.task.task_id, WINDOW, "me")
    store.close()
    assert row is not None
    assert row.state == DRAWN
    world.go_to(world.now + 3 * HOUR)
    with pytest.raises(InvalidData, match="Nothing can be looked up in it"):
        look_up_report(world.task, WINDOW, result=_reason_alone(world), marks=b"")
    assert row.seed not in _files(world)


# ---- what is said


@needs_node
def test_the_page_does_not_say_that_nothing_was_sent_of_a_report_that_arrived(
    world: IssuingWorld,
) -> None:
    """The clock of the device was ahead for a while: the answer was accepted before."""
    shuffler = Recorder(world)
    said = page(
        world,
        shuffler,
        """
        const first = await press(1);
        await smoothdp.settle({ task, taskId, seconds: given.now + 3 * 3600 });
        return [first, await press(1), hex(stored.rows)[0].state];
        """,
    )
    assert len(shuffler.bodies) == 1
    assert (said[0], said[2]) == ("", "marks")
    assert "Nothing of this time was sent" not in said[1]


@needs_node
def test_the_page_does_not_say_that_nothing_was_sent_when_a_pass_has_no_room(
    world: IssuingWorld,
) -> None:
    """The report left with the pass of before, and its answer was lost."""
    shuffler = Recorder(world, [503])
    said = page(
        world,
        shuffler,
        """
        const { outcomes } = smoothdp;
        const first = { pass: "a".repeat(96), attempts: 1 }, other = { pass: "b".repeat(96) };
        await press(1, given.invitations[0], first);
        const pass = await outcomes.nameOf(other.pass), marks = new Uint8Array(16);
        for (let at = 0; at < 40; at++) {
          stored.rows.set(JSON.stringify([taskId, 10 + at, "x"]), { state: "marks", pass, marks });
        }
        return press(1, given.invitations[0], other);
        """,
    )
    assert len(shuffler.bodies) == 1
    assert "The budget of this poll pays for no more answers" in said
    assert "nothing of this time was sent" not in said


@pytest.mark.parametrize("who", ["shuffler", "issuer"])
def test_trying_again_sends_the_same_and_no_more(who: str, world: IssuingWorld) -> None:
    """ "Try again: the same is sent" is said at the end of a window, and tried again in the next.

    A second, fresh draw of the same datum leaves then: one who was told to repeat has answered in
    two windows of the budget.
    """
    shuffler = Recorder(world, [503] if who == "shuffler" else [])
    own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
    drawn: list[bytes] = []
    store = OutcomeStore.of_user()
    if who == "issuer":
        world.clocks.heard(world.now + 3600)  # it answers 503 until clocks agree
    with pytest.raises(ServiceError) as said:
        take_part(world.task, 1, shuffler=shuffler.address, issuer=world.address, **own)
    row = store.get(world.task.task_id, WINDOW, "me")
    assert row is not None
    drawn.append(row.slots or Report.decode(row.report, signed=True).slots[0])
    world.go_to((WINDOW + 1) * HOUR + 5.0)
    world.open_window(WINDOW + 1)
    take_part(world.task, 1, shuffler=shuffler.address, issuer=world.address, **own)
    row = store.get(world.task.task_id, WINDOW + 1, "me")
    store.close()
    assert "Try again: the same is sent" not in str(said.value) or row is None


def test_a_report_that_had_arrived_is_not_said_to_have_not(
    world: IssuingWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """The shuffler stored it, and its answer was lost on the way."""
    shuffler = Recorder(world, [503])  # stands for an answer that was lost: the body was read
    asked = submitting(world, shuffler.address)
    with pytest.raises(SystemExit):
        main(asked)
    assert len(shuffler.bodies) == 1
    world.go_to((WINDOW + 1) * HOUR + 5.0)
    world.open_window(WINDOW + 1)
    capsys.readouterr()
    main(asked)
    assert "which had not arrived" not in capsys.readouterr().err


def _card_alone(world: IssuingWorld, window: int) -> str:
    """Return the address of an issuer that hands out cards, and then fails."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            card = world.make_card(window)
            self.send_response(200)
            self.send_header("content-length", str(len(card)))
            self.end_headers()
            self.wfile.write(card)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(503)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    return _serving(world, Handler)


def _serving(world: IssuingWorld, handler: type[http.server.BaseHTTPRequestHandler]) -> str:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=lambda: server.serve_forever(0.02), daemon=True).start()
    world.at_end(server.server_close)
    world.at_end(server.shutdown)
    return f"http://127.0.0.1:{server.server_address[1]}"


def test_a_window_in_which_the_issuer_was_away_is_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A budget of two windows, one of them answered: "one more, after answers in windows" two.

    The analyser refused the first window, so that there are cards for two more. Tokens are not
    given in the grace: what was drawn while the issuer was away can reach nobody any more.
    """
    world = hasty_world(tmp_path, monkeypatch, windows=2)
    try:
        shuffler = Recorder(world)
        own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
        asked: Callable[..., Any] = partial(
            take_part, world.task, 1, shuffler=shuffler.address, **own
        )
        asked(issuer=world.address)
        world.go_to((WINDOW + 1) * HOUR + 3000.0)
        with pytest.raises(ServiceError):
            asked(issuer=_card_alone(world, WINDOW + 1))
        world.go_to((WINDOW + 2) * HOUR + 305.0)
        world.open_window(WINDOW + 2)
        assert (state_of_me(world), state_of_me(world, WINDOW + 1)) == ("marks", DRAWN)
        said = ""
        try:
            asked(issuer=world.address)
        except InvalidData as error:
            said = str(error)
        assert "answers drawn for windows 1000, 1001" not in said
        assert len(shuffler.bodies) == 2
    finally:
        world.close()


@needs_node
def test_a_time_in_which_the_issuer_was_away_is_no_answer_to_the_page(tmp_path: Path) -> None:
    """As with the command: "no more answers of one person than were given here", which is one."""
    world = IssuingWorld(tmp_path, windows=2)
    try:
        for window in (WINDOW, WINDOW + 1, WINDOW + 2):
            world.open_window(window)
        shuffler = Recorder(world)
        said = page(
            world,
            shuffler,
            """
            const broken = async (url, fields) =>
              url.includes("/tokens/") ? new Response(null, { status: 503 }) : fetcher(url, fields);
            const said = [await press(1)], [mine] = given.invitations;
            now = (given.window + 1) * 3600 + 3000;
            const next = { window: given.window + 1, fetcher: broken, attempts: 1 };
            said.push(await press(1, mine, next));
            now = (given.window + 2) * 3600 + 305;
            said.push(await press(1, mine, { window: given.window + 2 }));
            return said;
            """,
        )
        assert said[0] == ""
        assert "does not answer" in said[1]
        assert len(shuffler.bodies) == 1
        assert "than were given here" not in said[2]
    finally:
        world.close()


def test_an_invitation_that_was_used_under_another_name_is_said_to_be(
    world: IssuingWorld,
) -> None:
    """Who forgets --person is told of another device, of a cleared state, and of somebody else."""
    shuffler = Recorder(world)
    own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
    asked: Callable[..., Any] = partial(
        take_part, shuffler=shuffler.address, issuer=world.address, **own
    )
    asked(world.task, 1, person="ann")
    with pytest.raises(ServiceError, match="This invitation was used in this window") as said:
        asked(world.task, 1)
    assert "name" in str(said.value) or "person" in str(said.value)


class Between:
    """An issuer that does something else before it hands out a card, as a slow one lets happen."""

    def __init__(self, world: IssuingWorld, before_a_card: Callable[[], None]) -> None:
        def before(asked: http.server.BaseHTTPRequestHandler) -> None:
            if asked.command == "GET":
                before_a_card()

        self.address = _serving(world, hands_on(world.address, before))


@pytest.mark.parametrize("answer", [202, 503])
def test_whoever_is_overtaken_while_waiting_for_the_card_is_told(
    answer: int, world: IssuingWorld
) -> None:
    """Two people of one account at once: "Accepted" was said to one of whom nothing was drawn."""
    shuffler = Recorder(world, [answer])
    people = [
        {"pass_secret": secret, "invitation": world.invitation()}
        for secret in ("0a" * 48, "0b" * 48)
    ]

    def overtakes() -> None:
        try:
            take_part(world.task, 1, shuffler=shuffler.address, issuer=world.address, **people[0])
        except ServiceError:
            assert answer == 503

    slow = Between(world, overtakes)
    part = take_part(world.task, 0, shuffler=shuffler.address, issuer=slow.address, **people[1])
    assert len({slot for report in shuffler.reports() for slot in report.slots}) == 1
    assert part.before or part.begun


def test_files_exchanged_before_a_shuffler_that_fails(world: IssuingWorld) -> None:
    """The issuer has seen the pass, and says so; nothing goes to the shuffler then."""
    shuffler = Recorder(world, [503, 503])
    own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
    asked: Callable[..., Any] = partial(take_part, shuffler=shuffler.address, issuer=world.address)
    with pytest.raises(ServiceError):
        asked(world.task, 1, **own)
    assert state_of_me(world) == FINAL
    world.go_to(world.now + HOUR - 300)
    world.open_window(WINDOW + 1)
    exchanged = {"pass_secret": own["invitation"], "invitation": own["pass_secret"]}
    with pytest.raises(SmoothdpError) as said:
        asked(world.task, 1, **exchanged)
    assert f"Bearer {own['invitation']}" not in shuffler.passes
    assert "the issuer has seen it now" in str(said.value)


@pytest.mark.parametrize("shuffler", ["https://127.0.0.2:8603", "https://127.1.2.3:8603"])
def test_all_addresses_of_this_machine_are_one(
    shuffler: str, world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As 0.0.0.0: whoever listens at all addresses of a machine answers at 127.0.0.2 too."""
    monkeypatch.setattr(taking_part, "prepare", lambda *_, **__: None)
    own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": "0b" * 48}
    with pytest.raises(InvalidParameter, match="addresses of the shuffler and the issuer"):
        take_part(world.task, 1, shuffler=shuffler, issuer="https://127.0.0.1:8603", **own)


# ---- what is asked for


@pytest.mark.parametrize("datum", ["maybe", 2])
def test_a_datum_that_is_none_asks_nobody(datum: Any, world: IssuingWorld) -> None:
    """ "Clients must not let their datum decide whether or when they send": the issuer sees it."""
    asked: list[str] = []
    slow = Between(world, lambda: asked.append("card"))
    own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
    with pytest.raises(InvalidData, match="Expected a whole number from 0 to 1"):
        take_part(world.task, datum, shuffler="http://127.0.0.1:9", issuer=slow.address, **own)
    assert asked == []


@needs_node
def test_a_datum_that_is_none_asks_nobody_from_the_page(tmp_path: Path) -> None:
    """ "1,234" is no number to the page: who types it is seen to have asked for the card twice."""
    made = IssuingWorld(tmp_path, protocol="real_sum", bounds=("0", "5000"))
    made.open_window()
    try:
        found = page(
            made,
            Recorder(made),
            "return [await press('1,234'), asked.map(([url]) => url.split('/').at(-2))];",
        )
    finally:
        made.close()
    assert found[0] != ""
    assert found[1] == []


@needs_node
def test_results_that_drip_hold_a_page_for_as_long_as_is_said() -> None:
    """ "For one that drips a minute and a second for each 64 kB": of results 64 MB are meant."""
    longest = run(
        """
        const own = setTimeout, times = [];
        globalThis.setTimeout = (work, time) => { times.push(time); return own(work, time); };
        const fetcher = async () => new Response("[]");
        await smoothdp.ask("/poll/x/results", {}, { most: smoothdp.MOST_RESULTS, fetcher });
        return Math.max(...times);
        """
    )
    assert longest == 1000 * (60 + 1024)


# ---- what held


STATUS = b"HTTP/1.1 200 Good\r\n"
SHAPES = (
    b"",
    b"\x15\x03\x01\x00\x02\x02\x50",
    b"PRI * HTTP/2.0\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n" * 5000,
    b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
    b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" * 3000 + b"HTTP/1.1 204 Nothing\r\n\r\n",
    b"HTTP/1.1 099 Low\r\n\r\n",
    b"HTTP/1.1 1000 High\r\n\r\n",
    b"HTTP/1.1 401 No\r\nwww-authenticate: Digest realm=x, nonce=y\r\ncontent-length: 0\r\n\r\n",
    b"HTTP/1.1 407 No\r\nproxy-authenticate: Basic\r\ncontent-length: 0\r\n\r\n",
    b"HTTP/1.1 410 Gone\r\ncontent-length: 99999999999999999999\r\n\r\n",
    STATUS + b"content-length: -1\r\n\r\n",
    STATUS + b"content-length: 1\r\ncontent-length: 2\r\n\r\nab",
    STATUS + b"transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    STATUS + b"transfer-encoding: chunked\r\n\r\nzz\r\n",
    STATUS + b"content-encoding: \xff\r\ncontent-length: 0\r\n\r\n",
    STATUS + b"a: b\r\n" * 20_000 + b"\r\n",
)


def test_an_answer_of_any_shape_is_refused_in_words(world: IssuingWorld) -> None:
    """Upgrades, thousands of early hints, two lengths, other protocols: never a traceback."""
    shape = [b""]
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    with connection, contextlib.suppress(OSError):
                        connection.recv(1 << 16)
                        connection.sendall(shape[0])

        threading.Thread(target=serve, daemon=True).start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
        for shape[0] in SHAPES:
            with pytest.raises(SmoothdpError):
                take_part(world.task, 1, shuffler="http://127.0.0.1:9", issuer=address, **own)
        assert state_of_me(world) is None
        with pytest.raises(SmoothdpError):
            take_part(world.task, 1, shuffler=address, issuer=world.address, **own)
        for shape[0] in SHAPES[::4]:
            with pytest.raises(SmoothdpError):
                take_part(world.task, 1, shuffler=address, issuer=world.address, **own)
        assert state_of_me(world) == FINAL
        listening.shutdown(socket.SHUT_RDWR)
    shuffler = Recorder(world)
    part = take_part(world.task, 0, shuffler=shuffler.address, issuer=world.address, **own)
    assert part.begun
    assert state_of_me(world) == SENT


STORM = """
let state = given.seed;
const below = (n) => { state = (state * 1103515245 + 12345) % 2 ** 31; return (state >> 8) % n; };
const pass_by = (turns, done) => (turns ? setImmediate(pass_by, turns - 1, done) : done());
globalThis.atStep = () => new Promise((done) => pass_by(below(4), done));
const byPass = new Map(), byReport = new Set(), expired = new Set(), seen = {}, false_words = [];
let real = given.now;
const shuffler = async (url, { headers, body } = {}) => {
  const window = Number(url.split("/").at(-1)), fault = below(6);
  const says = (status) => new Response(null, { status });
  if (url.includes("/cards/")) return new Response(smoothdp.fromHex(given.cards[window]));
  if (url.includes("/marks/")) return says(expired.has(window) ? 410 : 404);
  if (fault === 0) throw new TypeError("lost");
  if (fault === 1) return says(503);
  const opened = await smoothdp.openReport(body, smoothdp.fromHex(given.gateway));
  const report = smoothdp.toHex(opened), at = `${headers.authorization} ${window}`;
  (seen[at] ??= new Set()).add(report);
  if (real >= (window + 1) * 3600 + 600) return says(410);
  if (byPass.has(at) ? byPass.get(at) !== report : byReport.has(report)) return says(409);
  byPass.set(at, report);
  byReport.add(report);
  if (fault === 2) throw new TypeError("lost");
  return says(202);
};
for (let step = 0; step < 25; step++) {
  if (!below(4)) real += 900 * below(5);
  for (const window of Object.keys(given.cards).map(Number)) {
    const over = real >= (window + 1) * 3600 + 600;
    if (over && ![...byPass.keys()].some((at) => at.endsWith(window))) expired.add(window);
  }
  await Promise.all(Array.from({ length: 1 + below(3) }, () => {
    const device = real + [0, 0, 0, 0, 0, 0, 4000, -4000][below(8)];
    const window = Math.floor(device / 3600), pass = "abc"[below(3)].repeat(96);
    const more = { task, taskId, fetcher: shuffler, pause: async () => {}, attempts: 2 };
    return smoothdp.submit({
      ...more, pass, datum: below(2), window, anotherPerson: !below(2), seconds: () => device,
    }).then(async () => {
      const { report } = (await smoothdp.outcomes.find({
        taskId, window, who: await smoothdp.outcomes.nameOf(pass) })) ?? {};
      if (report && !byReport.has(smoothdp.toHex(report))) false_words.push(window);
    }, () => {});
  }));
}
const counted = {}, answers = ["drawn", "final", "sent", "marks", smoothdp.outcomes.UNSURE];
for (const [key, row] of stored.rows) {
  const who = JSON.parse(key)[2];
  if (answers.includes(row.state)) counted[who] = (counted[who] ?? 0) + 1;
}
await smoothdp.settle({ task, taskId, seconds: real + 1e6 });
const left = [...stored.rows.values()].filter((row) => row.report || row.slots || row.seed);
const sets = Object.values(seen).map((reports) => reports.size);
return { sets, most: Math.max(...Object.values(counted)), left: left.length, false_words };
"""


@needs_node
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_tabs_of_several_people_at_once_on_clocks_that_jump(seed: int, tmp_path: Path) -> None:
    """Three passes, no issuer, lost answers, expired windows: one report, the budget, nothing left.

    "Has arrived" is said only of a report that the shuffler has.
    """
    made = IssuingWorld(tmp_path, issuer=None, proof="none", windows=3)
    try:
        windows = range(WINDOW - 2, WINDOW + 40)
        given = {
            "seed": seed,
            "task": made.task.encoded.decode(),
            "taskId": made.task.task_id.hex(),
            "now": made.now,
            "cards": {window: made.make_card(window).hex() for window in windows},
            "gateway": made.gateway.to_bytes().hex(),
        }
        found = run(PERSON + STORM, given)
    finally:
        made.close()
    assert set(found["sets"]) == {1}
    assert found["most"] <= 3
    assert found["left"] == 0
    assert found["false_words"] == []
