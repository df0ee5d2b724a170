"""The issuer over HTTP: problems as documents, one origin, and nothing read too early."""

from __future__ import annotations

import socket
import sqlite3
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from smoothdp.errors import InvalidParameter
from smoothdp.services.issuer.issuer_web import issuer_app
from smoothdp.services.wire.calls import connect
from smoothdp.services.wire.running import on_loopback
from tests.services.issuer.test_issuing import request
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld

PAGE = "https://poll.example"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IssuingWorld]:
    made = IssuingWorld(tmp_path_factory.mktemp("issuer"))
    made.open_window()
    yield made
    made.close()


@pytest.fixture(scope="module")
def http(world: IssuingWorld) -> Iterator[httpx.Client]:
    app = issuer_app(world.issuer, page_origin=PAGE)
    with on_loopback(app) as address, connect(address) as connection:
        yield connection


def tokens(world: IssuingWorld, window: int = WINDOW) -> str:
    return f"/v2/tokens/{world.task.task_id.hex()}/{window}"


def bearer(invitation: str) -> dict[str, str]:
    return {"authorization": f"Bearer {invitation}"}


def test_a_card_for_any_cache(world: IssuingWorld, http: httpx.Client) -> None:
    path = f"/v2/tasks/{world.task.task_id.hex()}/cards/{WINDOW}"
    answer = http.get(path)
    assert (answer.status_code, answer.content) == (200, world.make_card())
    assert "immutable" in answer.headers["cache-control"]
    assert "public" in answer.headers["cache-control"]
    for other in (path + "1", path + "/", path.replace(world.task.task_id.hex(), "00" * 32)):
        assert http.get(other).status_code == 404
    assert http.get(path + "1").json()["type"] == "urn:esa:2:unknown"


def test_tokens_and_refusals(world: IssuingWorld, http: httpx.Client) -> None:
    person, body = world.invitation(), request(world, 5)
    answer = http.post(tokens(world), content=body, headers=bearer(person))
    assert (answer.status_code, len(answer.content)) == (200, 256)
    assert answer.headers["cache-control"] == "no-store"

    def refused(
        body: bytes = body, who: str = person, path: str = tokens(world)
    ) -> tuple[int, str]:
        answer = http.post(path, content=body, headers=bearer(who) if who else {})
        assert answer.headers["content-type"] == "application/problem+json"
        document = answer.json()
        assert set(document) == {"type", "title", "status"}
        assert document["status"] == answer.status_code
        assert person not in answer.text
        return answer.status_code, document["type"].removeprefix("urn:esa:2:")

    assert refused(request(world, 6)) == (409, "other-request")
    assert refused(who="") == (401, "unauthorized")
    assert refused(body[:-1]) == (400, "short")
    assert refused(b"") == (400, "short")
    assert refused(body * 2) == (413, "long")
    assert refused(body[:2] + bytes([body[2] ^ 1]) + body[3:]) == (422, "key")
    assert refused(path=tokens(world, WINDOW + 1)) == (404, "unknown")
    assert refused(path=tokens(world, WINDOW - 1)) == (410, "over")
    assert refused(path=tokens(world).replace(world.task.task_id.hex(), "00" * 32))[0] == 404
    for _ in range(5):
        assert http.post(tokens(world), content=body, headers=bearer(person)).status_code == 200
    assert refused() == (429, "repeated")


def test_a_body_of_unknown_length(world: IssuingWorld, http: httpx.Client) -> None:
    pieces = iter([request(world, 5)])
    head = bearer(world.invitation())
    assert http.post(tokens(world), content=pieces, headers=head).status_code == 411
    assert http.post(tokens(world), content=request(world, 5), headers=head).status_code == 200


def test_a_window_that_comes_names_a_time(world: IssuingWorld, http: httpx.Client) -> None:
    world.open_window(WINDOW + 3)
    head = bearer(world.invitation())
    answer = http.post(tokens(world, WINDOW + 3), content=request(world, 5), headers=head)
    assert answer.status_code == 425
    assert int(answer.headers["retry-after"]) == (WINDOW + 3) * HOUR - world.now


def test_nothing_of_a_body_is_read_before_the_invitation(
    world: IssuingWorld, http: httpx.Client
) -> None:
    """The refusal comes although the body never does."""
    parts = urlsplit(str(http.base_url))
    for head, status in (("0" * 96, b"401"), (world.invitation(), b"413")):
        with socket.create_connection((parts.hostname, parts.port), timeout=5) as wire:
            wire.sendall(
                f"POST {tokens(world)} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {head}\r\n"
                "content-length: 1000000\r\n\r\n".encode()
            )
            assert status in wire.recv(200).split(b"\r\n")[0]


def test_only_the_poll_page_may_ask_from_a_browser(world: IssuingWorld, http: httpx.Client) -> None:
    asks = {"access-control-request-method": "POST"}
    asks["access-control-request-headers"] = "authorization, content-type"
    own = http.options(tokens(world), headers=asks | {"origin": PAGE})
    assert own.status_code == 200
    assert own.headers["access-control-allow-origin"] == PAGE
    assert "POST" in own.headers["access-control-allow-methods"]
    other = http.options(tokens(world), headers=asks | {"origin": "https://evil.example"})
    assert other.status_code == 400
    assert "access-control-allow-origin" not in other.headers
    card = f"/v2/tasks/{world.task.task_id.hex()}/cards/{WINDOW}"
    shown = http.get(card, headers={"origin": PAGE})
    assert shown.headers["access-control-allow-origin"] == PAGE
    hidden = http.get(card, headers={"origin": "https://evil.example"})
    assert "access-control-allow-origin" not in hidden.headers


@pytest.mark.parametrize("origin", ["*", "https://a.example/", "a.example", "https://*.example"])
def test_an_origin_is_one_host(world: IssuingWorld, origin: str) -> None:
    with pytest.raises(InvalidParameter, match="origin"):
        issuer_app(world.issuer, page_origin=origin)


def test_while_another_process_holds_the_file(world: IssuingWorld, http: httpx.Client) -> None:
    """503 at once from a store that waits no longer, and nothing is signed."""
    other = sqlite3.connect(world.folder / "issuer.sqlite", isolation_level=None)
    world.storage._connection.execute("PRAGMA busy_timeout = 50")
    other.execute("BEGIN IMMEDIATE")
    before = world.storage.read("SELECT count(*) FROM issued")
    head = bearer(world.invitation())
    answer = http.post(tokens(world), content=request(world, 5), headers=head)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    other.execute("ROLLBACK")
    other.close()
    assert world.storage.read("SELECT count(*) FROM issued") == before
    assert http.post(tokens(world), content=request(world, 5), headers=head).status_code == 200


def test_many_at_once(world: IssuingWorld, http: httpx.Client) -> None:
    """One request sent beside itself: six answers, however many threads."""
    head, body, statuses = bearer(world.invitation()), request(world, 5), []
    address = str(http.base_url)

    def ask() -> None:
        with connect(address) as own:
            statuses.append(own.post(tokens(world), content=body, headers=head).status_code)

    threads = [threading.Thread(target=ask) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] * 6 + [429] * 6
