"""The analyser that was written from the page alone, between the other parties and the client."""

from __future__ import annotations

import hashlib
import json
import struct
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from smoothdp.services.client.inclusion import Standing
from tests.services.formats.vectors import cases
from tests.services.parties.test_all_protocols import CASES
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import PartyWorld
from tests.services.worlds.second_accountant import DUMMY, NOTHING, SecondAccountant
from tests.services.worlds.second_analyzer import WEEK, verdict
from tests.services.worlds.second_party import RefusedError, tag
from tests.services.worlds.second_shuffler import Window
from tests.services.worlds.second_world import HOUR, WINDOW, SecondWorld
from tests.services.worlds.small_tasks import small_task

# Nothing of the analyser under test is in a database.
pytestmark = ONLY_SQLITE

YEAR = 365 * 86_400
ALL = ("analyzer", "shuffler", "issuer")


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def open_world(folder: Path, stack: ExitStack, **more: Any) -> SecondWorld:
    """Start the parties, in a window that is open by the clock that the clients read."""
    world = SecondWorld(folder, stack, length=YEAR, now=time.time(), windows=3, **more)
    world.rounds()
    world.serve()
    return world


WORLDS: list[tuple[tuple[str, ...], str, dict[str, Any]]] = [
    (("analyzer",), "boolean_sum", {}),
    (("analyzer",), "boolean_sum", {"has_issuer": False}),
    (ALL, "real_sum", {"size": 4, "bounds": ("0", "1")}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("second", "protocol", "more"), WORLDS)
def test_an_analyser_from_the_page_releases_a_window(
    tmp_path: Path,
    stack: ExitStack,
    second: tuple[str, ...],
    protocol: str,
    more: dict[str, Any],
) -> None:
    """A window that is released, and the next, in which nobody came."""
    world = open_world(tmp_path, stack, second=second, protocol=protocol, **more)
    window = world.send([1, 0] * 6)
    assert world.result(window) == (None, "open")
    world.end(window)
    result, state = world.result(window)
    assert result is not None, state
    document = result.document
    signed = world.task.signed
    wanted = {"users": 12, "honest_users_assumed": 11, "invalid_slots": 0}
    assert document.items() >= (wanted | {"accounts_served": 12 if signed else None}).items()
    assert abs(document["sum"] - 6) <= 3 * document["error_of_sum"]
    assert document["epsilon_of_this_batch"] <= 4
    assert [world.look_up(window, result, at) for at in (0, 11)] == [Standing.INCLUDED] * 2
    # The key is gone, the window charged, and what was signed stays.
    assert window not in world.analyzer.inner_keys()
    assert list(world.analyzer.charges()) == [window]
    world.now += YEAR
    world.rounds()
    marks = f"{world.who['shuffler']}/v2/tasks/{world.task.task_id.hex()}/marks/{window + 1}"
    assert httpx.head(marks).status_code == 410
    assert world.result(window + 1) == (None, "no batch")
    assert window + 1 in world.analyzer.inner_keys()
    world.now += WEEK
    world.rounds()
    assert world.result(window + 1) == (None, "no batch")
    assert window + 1 not in world.analyzer.inner_keys()
    assert world.result(window) == (result, "")


@pytest.mark.slow
def test_too_few_honest_users_of_those_who_were_served_are_refused(
    tmp_path: Path, stack: ExitStack
) -> None:
    world = open_world(tmp_path, stack, second=ALL)
    window = world.send([1] * 12)
    # Eight more got tokens and sent nothing: two may be false, ten honest users do not keep it.
    issued = world.others["issuer"].windows[window].issued
    issued.update({bytes([at]) * 16: (b"", 1) for at in range(8)})
    world.end(window)
    result, state = world.result(window)
    assert state == "REFUSED"
    assert result is not None
    assert "10 honest users" in result.document["reason"]
    assert result.document["accounts_served"] == 20
    assert world.look_up(window, result, 0) == Standing.INCLUDED
    assert window not in world.analyzer.inner_keys()
    assert world.analyzer.charges() == {}


def signed_again(world: SecondWorld, window: Window, order: list[bytes], marks: bytes) -> None:
    """Let the shuffler sign another batch with the same header but for parts and marks."""
    window.parts = [b"".join(order)]
    hashes = hashlib.sha256(window.parts[0]).digest() + hashlib.sha256(marks).digest()
    header = window.header[:66] + hashes
    window.header = header + world.others["shuffler"].sign_key.sign(tag("batch") + header)


def forge(world: SecondWorld, window: Window, how: str) -> None:
    records = [window.parts[0][at : at + 308] for at in range(0, len(window.parts[0]), 308)]
    marks = window.marks
    if how == "signature":
        records[0] = records[0][:-1] + bytes([records[0][-1] ^ 1])
    elif how == "slots":
        records[0] = records[1]
        made = sorted(hashlib.sha256(tag("mark") + one[:52]).digest()[:16] for one in records)
        marks = marks[:41] + b"".join(made)
    else:
        marks = marks[:-1] + bytes([marks[-1] ^ 1])
    signed_again(world, window, records, marks)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["signature", "slots", "marks", "accounts"])
def test_a_batch_that_no_honest_shuffler_made_is_quarantined(
    tmp_path: Path, stack: ExitStack, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    world = open_world(tmp_path, stack, second=ALL)
    window = world.send([1] * 12)
    shuffler, issuer = world.others["shuffler"], world.others["issuer"]
    if how == "accounts":
        issuer.windows[window].issued.popitem()
    else:
        seal = shuffler.seal

        def sealed(of: Window) -> None:
            seal(of)
            forge(world, of, how)

        monkeypatch.setattr(shuffler, "seal", sealed)
    world.end(window)
    result, state = world.result(window)
    assert state == "QUARANTINED"
    assert result is not None
    assert world.analyzer.charges() == {}
    assert window not in world.analyzer.inner_keys()
    if how == "marks":
        assert world.look_up(window, result, 0) == Standing.DENIED


# ---- without HTTP, and without people -----------------------------------------------------------


def card_of(world: SecondWorld, window: int) -> bytes:
    """Return what the analyser shows of the card after both keys."""
    shuffler, analyzer = world.others["shuffler"], world.analyzer
    key = shuffler.windows.setdefault(window, Window()).gateway
    assert analyzer.put_key("gateway", window, shuffler.key_config(window, key)) == 201
    return bytes(analyzer.get_card(window))


def open_task(tmp_path: Path, stack: ExitStack, **more: Any) -> SecondWorld:
    return SecondWorld(tmp_path, stack, second=("analyzer", "shuffler"), has_issuer=False, **more)


def test_what_came_in_part_of_a_batch_is_refused_after_a_week(
    tmp_path: Path, stack: ExitStack
) -> None:
    world = open_task(tmp_path, stack)
    half, shuffler, analyzer = card_of(world, WINDOW), world.others["shuffler"], world.analyzer
    card, part = half[:-64], b"p" * 52 * 12
    assert analyzer.put_card(WINDOW, half + shuffler.sign_key.sign(tag("card") + card)) == 201
    header = bytes([2, 0]) + hashlib.sha256(card).digest() + b"b" * 16
    header += struct.pack(">IQI", 12, 12, 1) + hashlib.sha256(part).digest() + bytes(32)
    header += shuffler.sign_key.sign(tag("batch") + header)
    name = (b"b" * 16).hex()
    world.now = (WINDOW + 1) * HOUR + 599.0
    with pytest.raises(RefusedError, match="later"):
        analyzer.put_batch(name, header)
    shuffler.exchange_clocks()
    with pytest.raises(RefusedError, match="too-early"):
        analyzer.put_batch(name, header)
    world.now += 1
    assert analyzer.put_batch(name, header) == 201
    assert world.result(WINDOW) == (None, "arriving")
    world.now += WEEK
    analyzer.work()
    assert world.result(WINDOW) == (None, "arriving")
    shuffler.exchange_clocks()
    analyzer.work()
    result, state = world.result(WINDOW)
    assert result is not None
    assert (state, set(result.document)) == ("REFUSED", {"task_id", "window", "state", "reason"})
    assert analyzer.inner_keys() == {}
    assert analyzer.put_part(name, 0, part) == 201


def test_an_analyser_without_its_database_makes_no_second_card(
    tmp_path: Path, stack: ExitStack
) -> None:
    world = open_task(tmp_path, stack, windows=2)
    first = card_of(world, WINDOW)
    lost = world.analyzer = world.second_analyzer()
    with pytest.raises(RefusedError):
        card_of(world, WINDOW)
    # The window that was lost keeps its place in the budget.
    assert card_of(world, WINDOW + 1) != first
    with pytest.raises(RefusedError) as refused:
        card_of(world, WINDOW + 2)
    assert refused.value.args[0] == 404
    world.now = (WINDOW + 1) * HOUR + 600.0 + WEEK
    lost.clock("shuffler", json.dumps({"time": world.now}).encode())
    lost.work()
    assert list(lost.inner_keys()) == [WINDOW + 1]


def test_the_ledger_is_charged_once_for_a_batch_and_keeps_its_charges(
    tmp_path: Path, stack: ExitStack
) -> None:
    world = open_task(tmp_path, stack, windows=2)
    for analyzer in (world.analyzer, world.second_analyzer()):
        assert analyzer.charge(WINDOW, b"a" * 32) == ""
        assert "another batch" in analyzer.charge(WINDOW, b"b" * 32)
        assert list(analyzer.charges()) == [WINDOW]
    assert world.analyzer.charge(WINDOW + 1, b"b" * 32) == ""
    assert "spent" in world.analyzer.charge(WINDOW + 2, b"b" * 32)


def test_the_guard_has_the_answers_of_the_vectors() -> None:
    for inputs, expected in cases("clock_guard", count=11):
        told = {name: float(text.replace("None", "nan")) for name, text in inputs.items()}
        age = told.pop("seconds_since_peer")
        assert verdict(**told, age=age) == expected


def test_a_clock_that_was_set_is_told_to_nobody(tmp_path: Path, stack: ExitStack) -> None:
    world = open_task(tmp_path, stack)
    body = json.dumps({"time": world.now}).encode()
    world.analyzer.clock("shuffler", body)
    assert json.loads(world.analyzer.clock("issuer", b"{}")) == {"time": world.now}
    world.analyzer.boot = lambda: world.now - 1061
    for who in ("shuffler", "issuer"):
        with pytest.raises(RefusedError):
            world.analyzer.clock(who, body)
    assert world.analyzer.guard(0) == "hold"


QUICK = ("boolean_sum", "real_sum")


@pytest.mark.parametrize(
    "protocol",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CASES],
)
def test_the_numbers_of_a_batch_are_those_of_the_library(tmp_path: Path, protocol: str) -> None:
    """All that does not depend on what people drew: the promise, the error, false users."""
    options, data, _ = CASES[protocol]
    task = small_task(protocol, issuer=None, proof="none", **options)
    law, users = SecondAccountant(json.loads(task.encoded)), task.min_batch + 4
    sent = [value for user in range(users) for value in task.values(data[user % 2])]
    tally = Counter(law.meaning(value) for value in sent)
    honest = users - law.false_of(users)
    assert law.holds(honest)
    assert law.false_users(users, tally) == 0
    assert law.false_users(users, Counter({NOTHING: users * task.slots})) == users
    mine = law.estimate(users, tally)
    mine |= {"honest_users_assumed": honest, "invalid_slots": tally[NOTHING], "users": users}
    mine["epsilon_of_this_batch"] = law.epsilon_with(users, honest)
    world = PartyWorld(tmp_path, task)
    world.open_window()
    world.send_many(users, data)
    said = world.finish()
    world.close()
    assert said.keys() >= mine.keys()
    for name in mine.keys() - {"sum", "mean", "counts"}:
        assert said[name] == pytest.approx(mine[name], rel=1e-12), name
    counted = law.protocol(users)
    if protocol in ("histogram", "low_communication_histogram"):
        for messages in range(users * task.slots + 1):
            dummies = users * task.slots - messages
            false = law.false_users(users, Counter({0: messages, DUMMY: dummies}))
            most = min(counted.honest_at_most(messages), counted.honest_despite(messages))
            assert false == users - most, messages
