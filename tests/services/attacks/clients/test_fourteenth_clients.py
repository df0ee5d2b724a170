"""A fourteenth round of attacks on clients: words after a late report, what is published."""

from __future__ import annotations

import json
import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from smoothdp.cli.main import main
from smoothdp.services import take_part
from smoothdp.services.client.client import Client
from smoothdp.services.client.inclusion import Standing, look_up
from smoothdp.services.client.outcomes import ANSWERED, Kept, OutcomeStore
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.marks import MarksFile
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.issuer.issuer_web import issuer_app
from smoothdp.services.shuffler.published_results import PublishedResults, publish
from smoothdp.services.tokens.refusals import TokenRefused
from smoothdp.services.wire.calls import ServiceError, Unreachable, ask, connect
from smoothdp.services.wire.running import on_loopback
from tests.services.page.page_person import page
from tests.services.page.page_program import needs_node, run
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder
from tests.services.worlds.quick_clients import (
    hasten,
    hasty_world,
    state_of_me,
    submitting,
)
from tests.services.worlds.small_tasks import ANALYZER_SIGN, SHUFFLER_SIGN, small_task


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[IssuingWorld]:
    made = hasty_world(tmp_path, monkeypatch)
    yield made
    made.close()


# ---- who is told that an issuer has seen a pass


@pytest.mark.parametrize("present", ["accepted before", "tokens refused"])
def test_a_late_report_to_another_address_of_the_issuer_is_told_whatever_the_present_one_is(
    present: str, world: IssuingWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """ "What is printed after the issuer's answer, ... 404 at another address of it, says so."

    A late report waits, and in the present window there is nothing to send: it has arrived, or its
    tokens were refused. The issuer's other address in the place of the shuffler's gets the pass.
    """
    asked = submitting(world, Recorder(world, [503]).address)
    with pytest.raises(SystemExit):
        main(asked)
    world.go_to((WINDOW + 1) * HOUR + 5.0)
    world.open_window(WINDOW + 1)
    if present == "accepted before":
        # The late one is refused, then the present one is taken.
        main(to(Recorder(world, [503, 202]).address, asked))
    else:
        end_present_window(world)
    capsys.readouterr()
    shown: list[str] = []

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        shown.extend(v.decode() for k, v in scope.get("headers", ()) if k == b"authorization")
        await issuer_app(world.issuer)(scope, receive, send)

    app: Any = watched
    with on_loopback(app) as another, suppress(SystemExit):
        main(to(another, asked))
    assert "Bearer " + "0a" * 48 in shown
    said = capsys.readouterr()
    assert "your pass" in said.err, said


def test_who_shows_the_invitation_to_another_address_of_the_shuffler_is_told(
    world: IssuingWorld,
) -> None:
    """ "The shuffler's address as the issuer's shows ... the invitation ...: its 404 says so."

    The draw is there since the issuer was away; so no card is asked for, which a shuffler has not.
    """
    own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
    own["shuffler"] = Recorder(world).address
    world.clocks.heard(world.now - 100)
    with pytest.raises(ServiceError):
        take_part(world.task, 1, issuer=world.address, **own)
    another = Recorder(world, [404])
    with pytest.raises(ServiceError) as said:
        take_part(world.task, 1, issuer=another.address, **own)
    assert another.passes == {f"Bearer {own['invitation']}"}
    assert "your invitation" in str(said.value), str(said.value)


def test_a_late_report_that_was_sent_is_told_beside_a_present_one_that_was_not(
    world: IssuingWorld,
) -> None:
    """ "A report of a window before ... is sent after step 4": a person is told that it was."""
    own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
    own["issuer"] = world.address
    with pytest.raises(ServiceError):
        take_part(world.task, 1, shuffler=Recorder(world, [503]).address, **own)
    world.go_to((WINDOW + 1) * HOUR + 5.0)
    world.open_window(WINDOW + 1)
    with pytest.raises(ServiceError) as said:
        take_part(world.task, 1, shuffler=Recorder(world, [202, 503]).address, **own)
    assert f"The report of window {WINDOW} was sent now" in str(said.value)


def to(shuffler: str, asked: list[str]) -> list[str]:
    """Return the same command with another address of the shuffler."""
    at = asked.index("--shuffler") + 1
    return [*asked[:at], shuffler, *asked[at + 1 :]]


def end_present_window(world: IssuingWorld) -> None:
    """Let the window after the first one end for this user, at answers that are no signatures."""
    store = OutcomeStore.of_user()
    client = Client(world.task, store, clock=lambda: world.now)
    client.take_part(1, card=world.make_card(WINDOW + 1), window=WINDOW + 1)
    with pytest.raises(TokenRefused):
        client.finish(WINDOW + 1, bytes(256))
    store.close()
    assert state_of_me(world, WINDOW + 1) == "ended"


# ---- a datum on a screen


def test_a_part_of_a_datum_is_not_repeated(
    world: IssuingWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """A datum that is none "is not repeated in the words": nor half of one without its quotes."""
    asked = submitting(world, "http://127.0.0.1:9")
    asked[1:2] = ["New", "York"]
    with pytest.raises(SystemExit):
        main(asked)
    said = capsys.readouterr()
    assert "quotes" in said.err
    assert "New" not in said.err + said.out
    assert "York" not in said.err + said.out


# ---- what the page says


@needs_node
def test_the_page_says_no_smaller_share_of_followers_than_the_promise_needs() -> None:
    """ "At most the share gamma ... are false": the page said "at least 1%" where all must follow.

    Zeros before the point were cut off with those after it, and shares were rounded down.
    """
    needed = {"1": "100%", "0.9996": "99.96%", "0.9994": "99.94%", "2/3": "66.67%", "0.9": "90%"}
    tasks = [small_task(honest_share=share, min_batch=4000) for share in needed]
    said = _words([task.encoded.decode() for task in tasks])
    for share, words in zip(needed.values(), said, strict=True):
        promise = words["What the published result tells about you"]
        assert f"at least {share} of the participants follow the rules" in promise


@needs_node
def test_the_page_says_that_nearly_every_choice_is_made_up_where_it_is() -> None:
    """ "The page says so", of its noise: of choices added with probability .9998 it said 1%."""
    task = small_task("histogram", size=3, min_batch=16)
    document = json.loads(task.encoded) | {"noise": "0.0002"}
    (words,) = _words([json.dumps(document)])
    assert "added with probability 100%" in words["What happens on your device"]


def _words(tasks: list[str]) -> list[dict[str, str]]:
    found = run("return given.map((task) => smoothdp.privacyWords(JSON.parse(task)));", tasks)
    return [dict(words) for words in found]


# ---- what leaves a device, and what stays on it

_DATA: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "real_sum": ({}, ["0", "1", "0.333333333333333333333", "1e-90"]),
    "histogram": ({"size": 3, "min_batch": 16, "domain": ("a", "b" * 90, "-")}, ["a", "b" * 90]),
    "paired_count": ({}, [0, 1]),
    "split_sum": ({"bounds": ("-5", "10")}, ["-5", "10", "7.77"]),
}


@pytest.mark.parametrize("protocol", list(_DATA))
def test_all_that_travels_is_the_same_but_for_secrets_whatever_the_datum_is(
    protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "Lengths, which are the same for every value": order, connections and headers are too."""
    options, data = _DATA[protocol]
    world = hasty_world(tmp_path, monkeypatch, protocol=protocol, **options)
    seen: list[Any] = []
    secret = re.compile(rb"[0-9a-f]{96}")

    def watched(name: str, app: Any) -> Any:
        async def watching(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                headers = [(key, secret.sub(b"...", value)) for key, value in scope["headers"]]
                seen.append((name, scope["method"], scope["path"], headers, scope["client"][1]))
            await app(scope, receive, send)

        return watching

    async def takes_all(request: Request) -> Response:
        await request.body()
        return Response(status_code=202)

    taking = Starlette(routes=[Route("/{path:path}", takes_all, methods=["POST", "HEAD", "GET"])])
    shapes = []
    with (
        on_loopback(watched("issuer", issuer_app(world.issuer))) as issuer,
        on_loopback(watched("shuffler", taking)) as shuffler,
    ):
        for person, datum in enumerate(data):
            seen.clear()
            own = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
            at = {"shuffler": shuffler, "issuer": issuer, "person": str(person)}
            take_part(world.task, datum, **own, **at)
            ports = [port for *_, port in seen]
            shapes.append(([tuple(one) for *one, _ in seen], [ports.index(port) for port in ports]))
    world.close()
    assert len(shapes[0][0]) == 3
    assert all(shape == shapes[0] for shape in shapes)


def test_a_seed_is_on_the_device_while_tokens_are_waited_for_and_no_longer(
    world: IssuingWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "The seed while tokens are waited for": as long as the issuer is away."""
    drawn: list[bytes] = []

    def noted(length: int) -> bytes:
        drawn.append(os.urandom(length))
        return drawn[-1]

    def is_kept() -> bool:
        folder = tmp_path / "state" / "smoothdp" / "clients"
        left = b"".join(path.read_bytes() for path in folder.glob("*"))
        return any(seed in left for seed in drawn)

    own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
    own["shuffler"] = Recorder(world).address
    monkeypatch.setattr("smoothdp.services.client.client.secrets.token_bytes", noted)
    world.clocks.heard(world.now - 100)
    with pytest.raises(ServiceError):
        take_part(world.task, 1, issuer=world.address, **own)
    assert [len(seed) for seed in drawn] == [32]
    assert is_kept()
    world.go_to(world.now + 60)
    assert not take_part(world.task, 0, issuer=world.address, **own).before
    assert not is_kept()


# ---- services that answer anything


def test_interim_answers_without_end_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """ "An answer has a minute": a service that only ever says that it goes on is left."""
    monkeypatch.setattr("smoothdp.services.wire.calls.whole_seconds", lambda _: 0.3)

    def flood(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(1 << 16)
            while True:
                connection.sendall(b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n")
                time.sleep(0.01)

    with socket.create_server(("127.0.0.1", 0)) as service:

        def listen() -> None:
            with suppress(OSError):
                flood(service.accept()[0])

        threading.Thread(target=listen, daemon=True).start()
        address = f"http://127.0.0.1:{service.getsockname()[1]}"
        start = time.monotonic()
        with connect(address) as http, pytest.raises(Unreachable):
            ask(http, "POST", "/v2/reports", body=b"a report")
    assert time.monotonic() - start < 5


@needs_node
def test_a_page_takes_an_answer_that_leads_away_for_silence(tmp_path: Path) -> None:
    """ "A browser tells a redirect from silence to no page: there it is repeated"; one report."""
    world = IssuingWorld(tmp_path)
    world.open_window()
    shuffler = Recorder(world)

    async def away(request: Request) -> Response:
        await request.body()
        return RedirectResponse("https://other.example/")

    leading = Starlette(routes=[Route("/{path:path}", away, methods=["POST"])])
    with on_loopback(leading) as lead:
        asked, said, then = page(
            *(world, shuffler),
            """
            let count = 0;
            const led = (url, fields) => {
              if (!url.includes("/reports/")) return fetcher(url, fields);
              count++;
              return fetch(given.lead + url, fields);
            };
            const said = await press(1, undefined, { fetcher: led });
            return [count, said, await press(0)];
            """,
            lead=lead,
        )
    assert asked == 5
    assert "does not answer" in said
    assert then == ""
    assert len(shuffler.reports()) == 1
    world.close()


# ---- windows that were refused


def test_the_page_is_shown_nothing_of_a_window_that_was_refused(tmp_path: Path) -> None:
    """ "Each window with a result", "not ... one that was refused": that is for `look-up`."""
    task = small_task()
    digest = b"d" * 32
    file = MarksFile.of(digest, [bytes(52)])
    header = BatchHeader(True, digest, bytes(16), 1, 1, (bytes(32),), file.sha256)
    evidence = {
        "task_id": task.task_id.hex(),
        "window": WINDOW,
        "card_digest": digest.hex(),
        "marks_sha256": file.sha256.hex(),
        "batch_header": header.sign(SHUFFLER_SIGN).encode().hex(),
    }
    refused = evidence | {"state": "REFUSED", "reason": "too few of those who were served"}
    result = SignedResult.sign(refused, ANALYZER_SIGN)
    publish(tmp_path, result)
    assert PublishedResults(tmp_path, task).document() == b"[]"
    kept = Kept(digest, b"", b"", b"", b"m" * 16, ANSWERED)
    said = look_up(task, WINDOW, kept, result=result.encode(), marks=file.encode())
    assert said is Standing.LEFT_OUT


# ---- clocks


def test_a_clock_that_is_days_off_is_named_where_there_is_no_card(
    world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "Set this machine's clock right": days away there is no card, and no more was said.

    The device is the one party that sees which time it has.
    """
    hasten(monkeypatch, lambda: world.now - 5 * 24 * HOUR)
    with pytest.raises(ServiceError) as said:
        take_part(
            *(world.task, 1),
            shuffler=Recorder(world).address,
            issuer=world.address,
            pass_secret="0a" * 48,
            invitation=world.invitation(),
        )
    assert "clock" in str(said.value)
