"""One set of slots a person and window, whatever is retried; nothing to the shuffler too early."""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.client.submit import USED, fetch_card, submit
from smoothdp.services.faults import CLIENT_POINTS
from smoothdp.services.formats.card import SignedCard
from smoothdp.services.formats.slot_tokens import SlotTokens
from smoothdp.services.formats.slots import open_slot
from smoothdp.services.tokens.issuer_key import IssuerKey
from smoothdp.services.tokens.refusals import TokenRefused
from smoothdp.services.wire.calls import ServiceError, connect
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder, send
from tests.services.worlds.small_tasks import ISSUER

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[IssuingWorld]:
    made = IssuingWorld(tmp_path)
    made.open_window()
    yield made
    made.close()


def files_of(world: IssuingWorld) -> bytes:
    return b"".join(path.read_bytes() for path in (world.folder / "client").glob("*"))


# ---- one draw


def test_a_report_on_its_way(world: IssuingWorld) -> None:
    shuffler = Recorder(world)
    assert send(world, world.client(), shuffler, invitation=world.invitation()) == WINDOW
    (report,) = shuffler.reports()
    card = SignedCard.decode(world.make_card()).card
    tokens = SlotTokens(card, issuer_name=ISSUER.name, origin=world.task.origin)
    ((slot,), (signature,)) = report.slots, report.signatures
    assert tokens.verify(slot, signature)
    assert open_slot(slot, card, world.inner) in (0, 1)
    assert report.card_digest == card.digest


def test_a_shuffler_that_refuses_a_hundred_times_has_one_set_of_slots(world: IssuingWorld) -> None:
    """Whatever it answers, and whatever the datum is: ciphertexts differ, slots do not."""
    answers = [*([503] * 4 + [409]) * 20]
    shuffler, mine = Recorder(world, answers), world.invitation()
    for turn in range(20):
        with pytest.raises(ServiceError):
            send(world, world.client(), shuffler, invitation=mine, datum=turn % 2, attempts=9)
    assert len(shuffler.bodies) == 100
    send(world, world.client(), shuffler, invitation=mine, datum=0)
    assert len(set(shuffler.bodies)) == len(shuffler.bodies) == 101
    assert len({report.encode() for report in shuffler.reports()}) == 1
    # Once it has said that it has the report, nothing is sent any more.
    send(world, world.client(), shuffler, invitation=mine)
    assert len(shuffler.bodies) == 101


def test_a_second_draw_from_a_cleared_state_or_another_device(world: IssuingWorld) -> None:
    """The issuer has answered another request: 409 in words, and no byte reaches the shuffler."""
    shuffler, mine = Recorder(world), world.invitation()
    send(world, world.client(), shuffler, invitation=mine)
    before = shuffler.connections
    with pytest.raises(ServiceError, match=USED[:60]):
        send(world, world.client("another device"), shuffler, invitation=mine)
    for path in (world.folder / "client").iterdir():
        path.unlink()
    with pytest.raises(ServiceError, match=USED[:60]):
        send(world, world.client(), shuffler, invitation=mine, attempts=5)
    assert shuffler.connections == before == 1


def test_the_same_store_from_every_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        store = OutcomeStore.of_user()
        store.keep(b"t" * 32, 7, "me", card_digest=b"d", slots=name.encode(), seed=b"s", most=1)
        kept = store.get(b"t" * 32, 7, "me")
        store.close()
        assert kept is not None
        assert kept.slots == b"here"
    (file,) = (tmp_path / "state").rglob("windows.sqlite")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_several_people_of_one_machine(world: IssuingWorld) -> None:
    shuffler = Recorder(world)
    for name in ("me", "you"):
        send(world, world.client(name=name), shuffler, invitation=world.invitation())
    assert len({report.slots for report in shuffler.reports()}) == 2


# ---- stored before it is sent


def killed_at(world: IssuingWorld, point: str, shuffler: Recorder, mine: str, datum: int) -> bool:
    """Take part in a process that is killed at a point; whether it was."""
    address = world.address
    child = os.fork()
    if child == 0:
        try:
            client = world.client(
                reach=lambda name: os.kill(os.getpid(), 9) if name == point else None
            )
            with connect(address) as issuer, connect(shuffler.address) as http:
                submit(
                    *(client, datum),
                    shuffler=http,
                    pass_secret="p" * 96,
                    issuer=issuer,
                    invitation=mine,
                    window=WINDOW,
                    attempts=1,
                )
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("point", CLIENT_POINTS)
def test_killed_at_each_store(world: IssuingWorld, point: str) -> None:
    """Started again, with another datum: one request at the issuer, one report at the shuffler."""
    shuffler, mine = Recorder(world), world.invitation()
    killed = [killed_at(world, point, shuffler, mine, turn % 2) for turn in range(3)]
    # Before a store all is as it was; after it nothing is done twice, so it is not met again.
    assert killed == [True, *[not point.startswith("client: after")] * 2]
    send(world, world.client(), shuffler, invitation=mine)
    assert len({report.encode() for report in shuffler.reports()}) == 1
    assert len(shuffler.bodies) == (4 if point == "client: before sent is stored" else 1)
    asked = 4 if point == "client: before the report is stored" else 1
    assert world.storage.read("SELECT answers FROM issued") == [(asked,)]


def test_all_is_on_disk_before_the_first_byte_leaves(world: IssuingWorld) -> None:
    file, true_asked = world.folder / "client" / "windows.sqlite", world.issuer.asked
    seen: list[tuple[int, int, str]] = []

    def asked(account: Any, body: bytes) -> Any:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as other:
            seen.extend(other.execute("SELECT length(slots), length(seed), state FROM outcome"))
        return true_asked(account, body)

    world.issuer.asked = asked  # type: ignore[method-assign]
    send(world, world.client(), Recorder(world), invitation=world.invitation())
    assert seen == [(52, 32, "drawn")]


def test_neither_seed_nor_datum_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = IssuingWorld(tmp_path, protocol="histogram", domain=("apple", "pear", "plum"))
    world.open_window()
    drawn: list[bytes] = []
    true_bytes = secrets.token_bytes

    def token_bytes(length: int | None = None) -> bytes:
        drawn.append(true_bytes(length))
        return drawn[-1]

    monkeypatch.setattr("smoothdp.services.client.client.secrets.token_bytes", token_bytes)
    store, shuffler, mine = world.client(), Recorder(world, [503]), world.invitation()
    with pytest.raises(ServiceError):
        send(world, store, shuffler, invitation=mine, datum="pear")
    seeds = [value for value in drawn if len(value) == 32]
    assert seeds
    left = files_of(world)
    assert not any(seed in left for seed in seeds)
    assert b"pear" not in left
    (report,) = shuffler.reports()
    assert any(slot in left for slot in report.slots)
    # After the window the report is gone as well; its marks are left.
    world.go_to((WINDOW + 1) * HOUR + 600)
    assert store.settle() == 1
    left = files_of(world)
    assert not any(slot in left for slot in report.slots)
    assert not any(signature in left for signature in report.signatures)
    world.close()


# ---- what a client refuses


def odd_product(bits: int) -> int:
    """Return a product of small odd primes with exactly so many bits."""
    n, prime = 1, 3
    while n.bit_length() <= bits - 11:
        if all(prime % d for d in range(3, int(prime**0.5) + 1, 2)):
            n *= prime
        prime += 2
    factor = -(-(1 << bits - 1) // n) | 1
    return n * factor


def test_a_modulus_of_small_primes_marks_nobody(tmp_path: Path) -> None:
    """What the token input of a slot has in common with it would name the slot afterwards."""
    world = IssuingWorld(tmp_path, protocol="real_sum")
    from smoothdp.services.tokens.issuer_key import IssuerPublicKey

    spki = IssuerPublicKey(odd_product(2048)).spki
    card, shuffler = world.make_card(spki=spki), Recorder(world)
    client = world.client()
    client.take_part("0.5", card=card, window=WINDOW)
    for _ in range(2):
        with pytest.raises((TokenRefused, InvalidData)):
            send(world, world.client(), shuffler, invitation=world.invitation(), datum="0.5")
    assert world.storage.read("SELECT 1 FROM issued") == []
    assert shuffler.connections == 0
    kept = client.kept(WINDOW)
    assert kept is not None
    assert (kept.state, kept.slots, kept.seed) == ("ended", b"", b"")
    world.close()


def test_a_small_exponent_is_refused_with_its_card(world: IssuingWorld) -> None:
    spki = IssuerKey.generate().public.spki
    client = world.client()
    for bad in (spki[:-3] + b"\x01\x00\x03", spki[:-5] + b"\x00" + spki[-4:]):
        with pytest.raises(InvalidData):
            client.take_part(1, card=world.make_card(spki=bad), window=WINDOW)
    assert client.kept(WINDOW) is None


def test_answers_that_are_no_signatures(world: IssuingWorld) -> None:
    """The window is over for this person; the shuffler hears nothing, now or later."""
    shuffler, mine, true_sign = Recorder(world), world.invitation(), world.issuer.sign
    world.issuer.sign = lambda *_: bytes(255) + b"\x02"  # type: ignore[method-assign]
    with pytest.raises(TokenRefused):
        send(world, world.client(), shuffler, invitation=mine)
    world.issuer.sign = true_sign  # type: ignore[method-assign]
    with pytest.raises(InvalidData, match="refused"):
        send(world, world.client(), shuffler, invitation=mine)
    assert shuffler.connections == 0


def test_cards_of_another_window_or_a_second_one(world: IssuingWorld) -> None:
    client = world.client()
    for window in (WINDOW - 1, WINDOW + 1, WINDOW + 2):
        with pytest.raises(InvalidData):
            client.take_part(1, card=world.make_card(), window=window)
        with pytest.raises(InvalidData):
            client.take_part(1, card=world.make_card(window), window=window)
    client.take_part(1, card=world.make_card(), window=WINDOW)
    world.inner = world.gateway
    with pytest.raises(InvalidData, match="another card"):
        world.client(name="you").take_part(1, card=world.make_card(), window=WINDOW)
    # Who has drawn goes on with the first one.
    before = client.kept(WINDOW)
    assert client.take_part(0, card=world.make_card(), window=WINDOW) == before


def test_a_cache_with_a_bad_card_stops_nobody(world: IssuingWorld) -> None:
    good = world.make_card()
    bodies = [good[:-1] + bytes([good[-1] ^ 1]), world.make_card(WINDOW + 1), b"", good]

    def source(body: bytes) -> httpx.Client:
        answers = httpx.MockTransport(lambda _: httpx.Response(200, content=body))
        return httpx.Client(base_url="https://cache.example", transport=answers)

    sources = [source(body) for body in bodies]
    assert fetch_card(sources, task=world.task, window=WINDOW) == good
    for bad in sources[:-1]:
        with pytest.raises(InvalidData):
            fetch_card([bad], task=world.task, window=WINDOW)


def test_a_neighbour_within_five_minutes(world: IssuingWorld) -> None:
    world.open_window(WINDOW + 1)
    world.go_to((WINDOW + 1) * HOUR - 299)
    world.client("a").take_part(1, card=world.make_card(WINDOW + 1), window=WINDOW + 1)
    world.go_to((WINDOW + 1) * HOUR + 299)
    world.client("b").take_part(1, card=world.make_card(), window=WINDOW)
    world.go_to((WINDOW + 1) * HOUR + 301)
    with pytest.raises(InvalidData):
        world.client("c").take_part(1, card=world.make_card(), window=WINDOW)


def test_a_datum_outside_the_domain_stores_nothing(world: IssuingWorld) -> None:
    client = world.client()
    with pytest.raises(InvalidData):
        client.take_part(2, card=world.make_card(), window=WINDOW)
    assert client.kept(WINDOW) is None


# ---- after the window


def test_reports_become_marks_once_window_and_grace_are_over(world: IssuingWorld) -> None:
    shuffler = Recorder(world, [202, 503])
    people = [world.client(name=name) for name in ("sent", "unsure", "drawn")]
    send(world, people[0], shuffler, invitation=world.invitation())
    with pytest.raises(ServiceError):
        send(world, people[1], shuffler, invitation=world.invitation())
    people[2].take_part(1, card=world.make_card(), window=WINDOW)
    world.go_to((WINDOW + 1) * HOUR + 299)
    assert people[0].settle() == 0
    # In the grace tokens are given to nobody: of a draw without them nothing is kept.
    world.go_to((WINDOW + 1) * HOUR + 599)
    assert people[0].settle() == 1
    assert people[1].waiting() == [WINDOW]
    send(world, people[1], shuffler, invitation="")  # late, in the grace: it needs no tokens
    world.go_to((WINDOW + 1) * HOUR + 600)
    assert people[0].settle() == 2
    kept = [person.kept(WINDOW) for person in people]
    assert [(row.state, len(row.marks)) for row in kept if row] == [
        ("marks", 16),
        ("marks", 16),
        ("missed", 0),
    ]
    assert people[0].settle() == 0
    with pytest.raises(InvalidData):
        people[0].sealed_report(WINDOW)
    with pytest.raises(InvalidData):
        send(world, people[2], shuffler, invitation=world.invitation())


def test_a_task_without_an_issuer(tmp_path: Path) -> None:
    world = IssuingWorld(tmp_path, issuer=None, proof="none")
    client, shuffler, card = world.client(), Recorder(world), world.make_card()
    client.take_part(1, card=card, window=WINDOW)
    sealed = client.sealed_report(WINDOW)
    assert sealed != client.sealed_report(WINDOW)
    shuffler.bodies = [sealed, client.sealed_report(WINDOW)]
    assert len({report.encode() for report in shuffler.reports()}) == 1
    assert os.path.getsize(world.folder / "client" / "windows.sqlite") > 0
    world.close()


def test_a_store_says_nothing_in_its_representation(world: IssuingWorld) -> None:
    client = world.client()
    kept = client.take_part(1, card=world.make_card(), window=WINDOW)
    assert repr(kept) == "Kept(drawn)"
    assert isinstance(client, Client)
