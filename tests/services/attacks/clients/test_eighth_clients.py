"""An eighth round of attacks on clients: answers that lead away, words about what was sent.

A redirection that cannot be read, a report that is sent late within a command that ends with a
refusal, the issuer's address with the number of a network card.
"""

from __future__ import annotations

import contextlib
import http.server
import io
import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from smoothdp.cli.main import main
from smoothdp.errors import InvalidData, InvalidParameter, SmoothdpError
from smoothdp.services import look_up_report, take_part
from smoothdp.services.client import taking_part
from smoothdp.services.client.client import Client
from smoothdp.services.client.inclusion import Standing
from smoothdp.services.client.outcomes import FINAL, SENT, OutcomeStore
from smoothdp.services.client.submit import fetch_card
from smoothdp.services.client.taking_part import TakenPart
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.card import SignedCard
from smoothdp.services.formats.marks import MarksFile
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.wire.calls import ServiceError, ask, connect
from tests.services.page.page_person import page
from tests.services.page.page_program import needs_node, run
from tests.services.worlds.handing_on import hands_on
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder
from tests.services.worlds.quick_clients import hasten
from tests.services.worlds.small_tasks import ANALYZER_SIGN, SHUFFLER_SIGN, small_task


@pytest.fixture
def world(tmp_path: Path) -> Iterator[IssuingWorld]:
    made = IssuingWorld(tmp_path)
    made.open_window()
    yield made
    made.close()


@pytest.fixture
def says() -> Iterator[Callable[[bytes], str]]:
    """Start somebody who gives one answer to all; return the address."""
    with contextlib.ExitStack() as stack:

        def start(answer: bytes) -> str:
            listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

            def serve() -> None:
                while True:
                    try:
                        connection, _ = listening.accept()
                    except OSError:
                        return
                    with connection, contextlib.suppress(OSError):
                        while connection.recv(1 << 16):
                            connection.sendall(answer)

            threading.Thread(target=serve, daemon=True).start()
            # That wakes whoever waits for the next one.
            stack.callback(listening.shutdown, socket.SHUT_RDWR)
            return f"http://127.0.0.1:{listening.getsockname()[1]}"

        yield start


Says = Callable[[bytes], str]

LEADS_AWAY = {
    "no international name": b"https://xn--",
    "no path": b"mailto:somebody",
    "no host": b"https:///",
    "bytes": b"https://\xff\xfe/",
    "no port": b"https://x:99999999/",
}


def _away(place: bytes) -> bytes:
    return b"HTTP/1.1 302 Found\r\nlocation: " + place + b"\r\ncontent-length: 0\r\n\r\n"


# ---- answers that lead away


@pytest.mark.parametrize("place", LEADS_AWAY.values(), ids=LEADS_AWAY)
def test_an_answer_that_leads_nowhere_is_said_in_words(place: bytes, says: Says) -> None:
    """A client stops at all that is not 408, 5xx or silence, in words and without a traceback."""
    with connect(says(_away(place))) as service, contextlib.suppress(ServiceError):
        assert ask(service, "GET", "/").status == 302


@pytest.mark.parametrize("place", [b"https://xn--", b"mailto:somebody"])
@pytest.mark.parametrize("lie", [Standing.DENIED, Standing.OTHER_CARD, Standing.DESTROYED])
def test_a_shuffler_that_leads_away_from_its_marks_withholds_no_lie(
    place: bytes, lie: Standing, says: Says, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The three lies "are said also if S withholds the marks file": it leads away in its place."""
    world = IssuingWorld(tmp_path, issuer=None, proof="none")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    store = OutcomeStore.of_user()
    client = Client(world.task, store, clock=lambda: world.now)
    digest = SignedCard.decode(world.make_card()).card.digest
    client.take_part(1, card=world.make_card(), window=WINDOW)
    client.accepted(WINDOW)
    world.go_to((WINDOW + 2) * HOUR)
    client.settle()
    if lie is Standing.DESTROYED:
        client.destroyed(WINDOW)
    store.close()
    marks = MarksFile.of(digest, [bytes(52)])
    header = BatchHeader(False, digest, bytes(16), 20, 1, (bytes(32),), marks.sha256)
    document = {
        "task_id": world.task.task_id.hex(),
        "window": WINDOW,
        "card_digest": (bytes(32) if lie is Standing.OTHER_CARD else digest).hex(),
        "marks_sha256": (bytes(32) if lie is Standing.DENIED else marks.sha256).hex(),
        "batch_header": header.sign(SHUFFLER_SIGN).encode().hex(),
    }
    result = SignedResult.sign(document, ANALYZER_SIGN).encode()
    shuffler = says(_away(place))
    assert look_up_report(world.task, WINDOW, result=result, shuffler=shuffler) is lie
    world.close()


def test_a_cache_that_leads_away_stops_nobody(world: IssuingWorld, says: Says) -> None:
    """The card comes "from I, or any cache": one that is none is passed by."""
    with connect(says(_away(b"mailto:somebody"))) as cache, connect(world.address) as issuer:
        card = fetch_card(
            [cache, issuer], task=world.task, window=WINDOW, attempts=1, pause=lambda _: None
        )
    assert card == world.make_card()


# ---- what was sent, and what is said of it


class Late:
    """A person whose report is final when the window ends, and waits for the shuffler."""

    def __init__(self, world: IssuingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world, self.shuffler = world, Recorder(world, [503])
        monkeypatch.setenv("XDG_STATE_HOME", str(world.folder / "state"))
        hasten(monkeypatch, lambda: world.now)
        self.secrets = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
        with pytest.raises(ServiceError):
            self.take_part()
        assert self.state(WINDOW) == FINAL
        # The next window, and the grace of this one.
        world.go_to(world.now + HOUR - 300)

    def take_part(self, datum: Any = 1) -> Any:
        world = self.world
        return take_part(
            world.task, datum, shuffler=self.shuffler.address, issuer=world.address, **self.secrets
        )

    def state(self, window: int) -> str | None:
        store = OutcomeStore.of_user()
        row = store.get(self.world.task.task_id, window, "me")
        store.close()
        return None if row is None else row.state


def test_a_person_whose_late_report_was_sent_is_not_told_that_nothing_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The budget is spent by the very report that this command has just handed in."""
    world = IssuingWorld(tmp_path, windows=1)
    world.open_window()
    late = Late(world, monkeypatch)
    world.open_window(WINDOW + 1)
    with pytest.raises(InvalidData) as said:
        late.take_part()
    assert late.state(WINDOW) == SENT
    assert len(late.shuffler.bodies) == 2
    assert "Nothing was sent" not in str(said.value)
    world.close()


def test_a_datum_that_is_none_beside_a_late_report_is_not_said_to_be_all(
    world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report of the window before was sent, and then "Nothing was sent" of what was typed."""
    late = Late(world, monkeypatch)
    world.open_window(WINDOW + 1)
    with pytest.raises(InvalidData) as said:
        late.take_part("maybe")
    assert late.state(WINDOW) == SENT
    assert "Nothing was sent" not in str(said.value)


def test_a_late_report_that_is_sent_beside_an_accepted_one_is_no_nothing(
    world: IssuingWorld, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run that sent the report of the window before said "nothing was sent now"."""
    late = Late(world, monkeypatch)
    world.open_window(WINDOW + 1)
    late.shuffler.answers.append(503)
    late.take_part()
    assert [late.state(WINDOW), late.state(WINDOW + 1)] == [FINAL, SENT]
    for name, text in (("task.json", world.task.encoded.decode()), ("p", "0a" * 48)):
        (world.folder / name).write_text(text)
    (world.folder / "i").write_text(late.secrets["invitation"])
    sent = len(late.shuffler.bodies)
    asked = ["submit", "1", "--task", f"{world.folder}/task.json", "--issuer", world.address]
    asked += ["--pass", f"{world.folder}/p", "--invitation", f"{world.folder}/i"]
    main([*asked, "--shuffler", late.shuffler.address])
    assert late.state(WINDOW) == SENT
    assert len(late.shuffler.bodies) == sent + 1
    assert "nothing was sent now" not in capsys.readouterr().err


def test_a_late_report_that_is_led_away_costs_no_present_window(
    world: IssuingWorld, monkeypatch: pytest.MonkeyPatch, says: Says
) -> None:
    """Too late is no reason to miss the present window, whatever the answer is."""
    late = Late(world, monkeypatch)
    world.open_window(WINDOW + 1)
    late.shuffler.address = says(_away(b"mailto:somebody"))
    with contextlib.suppress(Exception):
        late.take_part()
    assert late.state(WINDOW + 1) == FINAL


@pytest.mark.parametrize("typed", [" a\n", "a\n"])
def test_what_is_read_is_the_choice_that_was_typed(
    typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two names that differ in a space, the standard input gave the other one."""
    task = small_task("histogram", size=2, min_batch=200, domain=(" a", "a"))
    given: list[str] = []
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))

    def note(_: Any, datum: str, **__: Any) -> TakenPart:
        given.append(datum)
        return TakenPart(1, before=False)

    monkeypatch.setattr("smoothdp.services.take_part", note)
    (tmp_path / "task.json").write_bytes(task.encoded)
    for name, text in (("p", "0a" * 48), ("i", "0b" * 48)):
        (tmp_path / name).write_text(text)
    asked = ["submit", "-", "--task", f"{tmp_path}/task.json", "--pass", f"{tmp_path}/p"]
    main([*asked, "--invitation", f"{tmp_path}/i", "--shuffler", "https://shuffler.example"])
    assert given == [typed.rstrip("\n")]


# ---- which party has seen which secret


def _exchanged(late: Late) -> None:
    own_pass, invitation = late.secrets["pass_secret"], late.secrets["invitation"]
    late.secrets = {"pass_secret": invitation, "invitation": own_pass}
    late.shuffler.answers = [401, 401]


def _shown(late: Late) -> bool:
    return f"Bearer {late.secrets['pass_secret']}" in late.shuffler.passes


@pytest.mark.parametrize("window", [WINDOW, WINDOW + 1])
def test_whoever_exchanges_the_files_at_a_retry_is_told_what_the_shuffler_has_seen(
    window: int, world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With tokens in hand the invitation goes to the shuffler first: the issuer cannot say it."""
    late = Late(world, monkeypatch)
    if window == WINDOW:
        world.go_to(world.now - HOUR + 300)
    world.open_window(window)
    _exchanged(late)
    with pytest.raises(ServiceError) as said:
        late.take_part()
    assert not _shown(late) or "the shuffler has seen it now" in str(said.value)


# ---- words, and what is in them


def test_a_secret_in_the_place_of_another_option_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As with --task: what a person pasted into the wrong place stays out of the words."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    secret, other = "0a" * 48, "0b" * 48
    (tmp_path / "task.json").write_bytes(small_task().encoded)
    for name, text in (("p", secret), ("i", other)):
        (tmp_path / name).write_text(text)
    right = {"--pass": "p", "--invitation": "i", "--task": "task.json"}
    usual = {name: f"{tmp_path}/{file}" for name, file in right.items()}
    usual["--shuffler"] = "https://shuffler.example"
    wrong = [("--pass", secret), ("--invitation", other), ("--shuffler", secret)]
    wrong += [("--shuffler", f"https://poll.example#{secret}"), ("--issuer", other)]
    for option, value in wrong:
        given = usual | {option: value}
        with pytest.raises(SystemExit):
            main(["submit", "1", *(part for one in given.items() for part in one)])
        error = capsys.readouterr().err
        assert secret[:48] not in error, option
        assert other[:48] not in error, option


@pytest.mark.parametrize("host", ["a" * 64, "a..b"])
def test_a_host_that_is_no_name_is_refused_in_words(host: str) -> None:
    """A label of 64 letters ended in a traceback, of a cache that nobody needed too."""
    with pytest.raises(SmoothdpError), connect(f"https://{host}") as service:
        ask(service, "GET", "/")


def test_a_time_of_no_seconds_is_waited_for() -> None:
    """A client "waits once on a 425 that names less than 310 s": 0 is less."""
    asked: list[str] = []

    def soon(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return httpx.Response(425, headers={"retry-after": "0"})

    transport = httpx.MockTransport(soon)
    with (
        httpx.Client(base_url="https://x", transport=transport) as http,
        pytest.raises(ServiceError),
    ):
        fetch_card([http], task=small_task(), window=WINDOW, pause=lambda _: None)
    assert len(asked) == 2


# ---- one address for both sides


class Ahead(http.server.ThreadingHTTPServer):
    """A service at ::1 that hands all on to another address, and keeps what it reads."""

    address_family = socket.AF_INET6
    daemon_threads = True

    def __init__(self, to: str) -> None:
        self.read: list[tuple[str, str]] = []

        def before(asked: http.server.BaseHTTPRequestHandler) -> None:
            self.read.append((asked.path, asked.headers.get("authorization", "")))

        super().__init__(("::1", 0), hands_on(to, before))
        threading.Thread(target=lambda: self.serve_forever(0.02), daemon=True).start()


def test_the_issuers_address_with_a_zone_is_not_the_shufflers(
    world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One host and port for both sides is refused, "however these are spelt"."""
    monkeypatch.setenv("XDG_STATE_HOME", str(world.folder / "state"))
    hasten(monkeypatch, lambda: world.now)
    try:
        issuer = Ahead(world.address)
    except OSError:
        pytest.skip("no IPv6 here")
    port, own = issuer.server_address[1], "0a" * 48
    try:
        take_part(
            world.task,
            1,
            shuffler=f"http://[::1%1]:{port}",
            pass_secret=own,
            invitation=world.invitation(),
            issuer=f"http://[::1]:{port}",
        )
    except SmoothdpError as error:
        refused = str(error)
    finally:
        issuer.shutdown()
        issuer.server_close()
    assert f"Bearer {own}" not in {named for _, named in issuer.read}
    assert "addresses of the shuffler and the issuer" in refused


@pytest.mark.parametrize("shuffler", ["https://0.0.0.0:8603", "https://[::]:8603"])
def test_the_address_of_all_is_this_machine(
    shuffler: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Who connects to 0.0.0.0 comes to whoever listens on this machine."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(taking_part, "prepare", lambda *_, **__: pytest.fail("it would be sent"))
    with pytest.raises(InvalidParameter, match="addresses of the shuffler and the issuer"):
        take_part(
            small_task(),
            1,
            shuffler=shuffler,
            pass_secret="0a" * 48,
            invitation="0b" * 48,
            issuer="https://127.0.0.1:8603",
        )


# ---- the poll page

PAGE = """
const { outcomes, fromHex } = smoothdp, own = setTimeout;
const element = () => ({
  style: {}, value: "", textContent: "", append() {}, replaceChildren() {}, setAttribute() {},
  addEventListener() {}, reset() {}, tBodies: [{ replaceChildren() {} }],
});
const elements = {};
const place = { taskId: given.taskId, window: given.window, who: "a" };
const cardDigest = fromHex(given.digest);
await outcomes.keep(place, {
  row: { state: outcomes.FINAL, cardDigest, report: new Uint8Array(1) }, signed: new Uint8Array(1),
}, { most: 9 });
await outcomes.keepMarks([place.taskId, place.window, place.who], new Uint8Array(16));
if (given.destroyed) await outcomes.keepDestroyed(place);
globalThis.document = {
  getElementById: (id) => (elements[id] ??= element()),
  createElement: element, createElementNS: element,
};
globalThis.location = { pathname: `/poll/${given.taskId}`, hash: "#" + "0a".repeat(48) };
globalThis.addEventListener = () => {};
Date.now = () => 1000 * given.now;
globalThis.fetch = async (url) => {
  if (url.includes("/marks/")) return new Response(new Uint8Array(given.bytes));
  if (url.endsWith("/about")) return new Response(JSON.stringify({ question: "Tea?" }));
  if (url.endsWith("/results")) return new Response(JSON.stringify([given.result]));
  return new Response(given.task);
};
load();
for (let i = 0; i < 500 && !elements.standing?.textContent; i++) {
  await new Promise((done) => own(done, 10));
}
return elements.standing?.textContent ?? "nothing";
"""


@needs_node
@pytest.mark.parametrize("lie", [Standing.DENIED, Standing.OTHER_CARD, Standing.DESTROYED])
@pytest.mark.parametrize("more", [0, 1 << 17])
def test_marks_of_any_length_hide_no_lie_from_the_page(lie: Standing, more: int) -> None:
    """The three lies that the signed result alone shows were hidden by a file that is too long."""
    task, digest = small_task(), b"d" * 32
    file = MarksFile.of(digest, [bytes([number]) * 52 for number in range(20)])
    header = BatchHeader(True, digest, bytes(16), 20, 20, (bytes(32),), file.sha256)
    document = {
        "task_id": task.task_id.hex(),
        "window": WINDOW,
        "users": 20,
        "sum": 10.0,
        "error_of_sum": 1.0,
        "error_fails_with_probability": "0.05",
        "sentence": "Good.",
        "epsilon_of_this_batch": 1.0,
        "card_digest": (bytes(32) if lie is Standing.OTHER_CARD else digest).hex(),
        "marks_sha256": (bytes(32) if lie is Standing.DENIED else file.sha256).hex(),
        "batch_header": header.sign(SHUFFLER_SIGN).encode().hex(),
    }
    said = run(
        PAGE,
        {
            "task": task.encoded.decode(),
            "taskId": task.task_id.hex(),
            "window": WINDOW,
            "now": (WINDOW + 2) * HOUR,
            "digest": digest.hex(),
            "destroyed": lie is Standing.DESTROYED,
            "bytes": len(file.encode()) + more,
            "result": json.loads(SignedResult.sign(document, ANALYZER_SIGN).encode()),
        },
    )
    assert said == lie


@needs_node
def test_a_page_that_has_sent_a_late_report_does_not_say_that_nothing_was_sent(
    tmp_path: Path,
) -> None:
    """As with the command: the late report spends the budget, and is what was sent."""
    world = IssuingWorld(tmp_path, windows=1)
    world.open_window()
    world.open_window(WINDOW + 1)
    shuffler = Recorder(world, [503] * 5)
    said = page(
        world,
        shuffler,
        """
        const words = [await press(1)];
        now += 3000;
        words.push(await press(1, given.invitations[0], { window: given.window + 1 }));
        const rows = [...stored.rows.values()].map(({ state }) => state);
        return [words, rows];
        """,
    )
    assert said[1] == ["sent"]
    assert len(shuffler.bodies) == 6
    assert "nothing was sent" not in said[0][1]
    world.close()
