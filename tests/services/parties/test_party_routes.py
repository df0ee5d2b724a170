"""The HTTP faces of shuffler and analyser: who may ask what, and what is refused how."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from smoothdp.services.analyzer.analyzer_web import analyzer_app
from smoothdp.services.formats.card import key_config
from smoothdp.services.formats.report import seal_report
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.shuffler.delivery import deliver_batches
from smoothdp.services.shuffler.shuffler_web import shuffler_app
from smoothdp.services.wire.calls import connect
from smoothdp.services.wire.running import on_loopback
from smoothdp.services.wire.tokens import token_hash
from tests.services.worlds.party_world import WINDOW, PartyWorld, issuer_key
from tests.services.worlds.small_tasks import ANALYZER_SIGN, small_task

TOKENS = {role: f"{role} token" for role in ("shuffler", "issuer", "collector")}


@contextmanager
def asking(app: Any) -> Iterator[httpx.Client]:
    with on_loopback(app) as address, connect(address) as http:
        yield http


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.fixture
def world(tmp_path: Path) -> PartyWorld:
    return PartyWorld(tmp_path)


def test_reports(world: PartyWorld) -> None:
    world.open_window()
    path = f"/v2/reports/{world.task.task_id.hex()}/{WINDOW}"
    secret = bearer(world.new_pass())
    sealed = seal_report(world.report(1).encode(), world.card())
    with asking(shuffler_app(world.shuffler)) as http:
        answer = http.post(path, content=sealed)
        assert answer.status_code == 401
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["type"] == "urn:esa:2:unauthorized"
        # Length and credentials are looked at before the body.
        assert http.post(path, content=sealed[:-1], headers=secret).status_code == 400
        assert http.post(path, content=sealed + b"0", headers=secret).status_code == 413
        assert http.post(path, content=b"0" * len(sealed), headers=secret).status_code == 400
        assert http.post(path, content=sealed, headers=secret).status_code == 202
        assert http.post(path, content=sealed, headers=secret).status_code == 202
        early = http.post(
            path.replace(str(WINDOW), str(WINDOW + 1)), content=sealed, headers=secret
        )
        assert early.status_code == 425
        assert early.headers["retry-after"] == "3000"
        for other in (path.replace(str(WINDOW), "7"), f"/v2/reports/{'00' * 32}/{WINDOW}"):
            assert http.post(other, content=sealed, headers=secret).status_code == 404
        # Cards come from the analyser's side, marks when the window was sealed.
        task = f"/v2/tasks/{world.task.task_id.hex()}"
        assert http.get(f"{task}/cards/{WINDOW}").status_code == 404
        assert http.get(f"{task}/marks/{WINDOW}").status_code == 404
        assert http.get(task).content == world.task.encoded
        world.clocks[0].heard(world.now + 61)
        held = http.post(path, content=sealed, headers=secret)
        assert (held.status_code, held.headers["retry-after"]) == (503, "5")
    world.close()


def test_cards_of_a_task_without_an_issuer_come_from_the_shuffler(tmp_path: Path) -> None:
    world = PartyWorld(tmp_path, small_task(issuer=None, proof="none"))
    world.open_window()
    with asking(shuffler_app(world.shuffler)) as http:
        answer = http.get(f"/v2/tasks/{world.task.task_id.hex()}/cards/{WINDOW}")
    assert answer.content == world.shuffler.cards.stored(WINDOW)
    assert "immutable" in answer.headers["cache-control"]
    world.close()


def test_the_exchange_of_a_card_a_batch_and_a_result(world: PartyWorld) -> None:
    callers = {role: token_hash(token) for role, token in TOKENS.items()}
    task, window = world.task.task_id.hex(), WINDOW
    shuffler, issuer, collector = (bearer(TOKENS[role]) for role in TOKENS)
    config = key_config(window, world.shuffler.cards.offered_key(window))
    spki = issuer_key().public.spki
    with asking(analyzer_app(world.analyzer, callers=callers)) as http:

        def put(path: str, body: bytes, who: dict[str, str]) -> int:
            return http.put(path, content=body, headers=who).status_code

        gateway, keys = f"/v2/gateway-keys/{task}/{window}", f"/v2/issuer-keys/{task}/{window}"
        card, served = f"/v2/cards/{task}/{window}", f"/v2/served/{task}/{window}"
        result = f"/v2/tasks/{task}/results/{window}"
        # Nobody does another one's part.
        for path, body, who in (
            (gateway, config, issuer),
            (keys, spki, shuffler),
            (card, b"", issuer),
            (served, bytes(105), shuffler),
        ):
            assert put(path, body, who) == 401
            assert put(path, body, {}) == 401
        assert http.get(result, headers=shuffler).status_code == 401
        assert put(gateway, config[:-1], shuffler) == 400
        assert put(gateway, key_config(window, bytes(32)), shuffler) == 400
        assert put(gateway, config, shuffler) == 201
        assert http.get(card, headers=shuffler).status_code == 404
        assert put(keys, bytes(342), issuer) == 400
        assert put(keys, spki, issuer) == 201
        assert put(gateway, config, shuffler) == 200
        offered = http.get(card, headers=shuffler).content
        signed = world.shuffler.cards.sign(window, offered)
        assert put(card, offered + bytes(64), shuffler) == 422
        assert put(card, signed, shuffler) == 201
        assert put(card, signed, shuffler) == 200
        assert http.get(card, headers=issuer).content == signed
        world.send_many(12)
        assert http.get(result, headers=collector).json() == {"state": "open"}
        world.seal()
        # The issuer's clock is the same operator's: it does not count as a second one.
        world.clocks[1]._heard = None
        for who, trusted in ((issuer, False), (shuffler, True)):
            body = json.dumps({"time": world.now}).encode()
            answer = http.post("/v2/clock", content=body, headers=who)
            # Nor is it told a time that the shuffler has not confirmed.
            assert answer.status_code == (200 if trusted else 503)
            assert (world.clocks[1].hold() is None) == trusted
        answer = http.post("/v2/clock", content=body, headers=issuer)
        assert answer.json() == {"time": world.now}
        assert deliver_batches(world.shuffler, lambda p, b: put(p, b, shuffler)) == 1
        assert put(served, bytes(105), issuer) == 400
        world.finish(12)
        answer = http.get(result, headers=collector)
        assert answer.status_code == 200
        assert SignedResult.decode(answer.content).verify(ANALYZER_SIGN.public)
    world.close()
