"""Attacks on proofs/marks-and-erasure: all conduct of two services, every byte of all files.

(proofs/marks-and-erasure#1, #2, #3, #4, #5)
"""

from __future__ import annotations

import hashlib
import random
import secrets
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain, combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from smoothdp.services.client.inclusion import Standing, look_up
from smoothdp.services.client.outcomes import ANSWERED, FINAL, SENT, Kept, OutcomeStore
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.marks import MARK_BYTES, MarksFile, mark_of, repeated_marks
from smoothdp.services.formats.report import Report
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.formats.secrets import tag
from smoothdp.services.formats.slots import seal_slots
from smoothdp.services.store.erasable_keys import ErasableKeys
from tests.services.worlds.key_secrets import secret_of
from tests.services.worlds.party_world import WINDOW, PartyWorld
from tests.services.worlds.small_tasks import ANALYZER_SIGN, SHUFFLER_SIGN, small_task

# ---- 1: marks are those of the ciphertexts ------------------------------------------------------


def test_the_file_forgets_order_and_envelopes() -> None:
    slots = [secrets.token_bytes(52) for _ in range(7)]
    files = {MarksFile.of(b"d" * 32, random.sample(slots, 7)).encode() for _ in range(50)}
    assert files == {MarksFile.of(b"d" * 32, slots).encode()}


def test_a_seal_that_is_not_fresh_would_be_known_by_its_mark(tmp_path: Path) -> None:
    """The assumption is needed: of a deterministic seal everybody can make all marks."""
    with closing(PartyWorld(tmp_path)) as world:
        card = world.open_window()
        fresh = MarksFile.of(card.digest, seal_slots([0, 1], card))
        guesses = seal_slots([0, 1] * 50, card)
        assert not [slot for slot in guesses if mark_of(slot) in fresh]

        def same_every_time(value: int) -> bytes:
            return hashlib.sha512(card.digest + bytes([value])).digest()[:52]

        dull = MarksFile.of(card.digest, map(same_every_time, [0]))
        assert [mark_of(same_every_time(value)) in dull for value in (0, 1)] == [True, False]


# ---- 2: what a look-up shows --------------------------------------------------------------------

TASK = small_task(issuer=None, proof="none")
MINE = b"1" * 52, b"2" * 52
OTHERS = b"3" * 52, b"4" * 52
CARD, OTHER_CARD = b"c" * 32, b"o" * 32


def subsets(items: tuple[bytes, ...]) -> Iterator[tuple[bytes, ...]]:
    return chain.from_iterable(combinations(items, k) for k in range(len(items) + 1))


@dataclass(frozen=True)
class Window:
    """What happened: what the shuffler stored, let out and signed, and what the analyser signed."""

    stored: bool
    stolen: tuple[bytes, ...]  # of a thief's report, which holds some of mine
    batch: tuple[bytes, ...]
    listed: tuple[bytes, ...]
    header_card: bytes
    said: bytes
    said_card: bytes

    def shuffler_is_honest(self) -> bool:
        reports: list[tuple[bytes, ...]] = [OTHERS, *[MINE] * self.stored]
        if self.stolen:
            reports.append(self.stolen)
        marks = b"".join(mark_of(slot) for report in reports for slot in report)
        twice = {at * MARK_BYTES for at in repeated_marks(marks)}
        out, at = [], 0
        for report in reports:
            places = range(at, at + MARK_BYTES * len(report), MARK_BYTES)
            out += [] if twice & set(places) else list(report)
            at += MARK_BYTES * len(report)
        # A header of another card is that of another window, of which nothing is said here.
        as_stored = sorted(self.batch) == sorted(self.listed) == sorted(out)
        return as_stored or self.header_card == OTHER_CARD

    def analyzer_is_honest(self) -> bool:
        of_parts = MarksFile.of(self.header_card, self.batch).sha256
        return (
            self.said == of_parts
            and self.said_card == self.header_card
            # It takes a batch of the window's own card alone.
            and self.header_card == CARD
        )

    def looked_up(self, state: str) -> Standing:
        file = MarksFile.of(self.header_card, self.listed)
        n = len(self.listed)
        header = BatchHeader(False, self.header_card, bytes(16), 1, n, (bytes(32),) * bool(n), b"")
        header = replace(header, marks_sha256=file.sha256)
        document = {
            "task_id": TASK.task_id.hex(),
            "window": WINDOW,
            "card_digest": self.said_card.hex(),
            "marks_sha256": self.said.hex(),
            "batch_header": header.sign(SHUFFLER_SIGN).encode().hex(),
        }
        result = SignedResult.sign(document, ANALYZER_SIGN).encode()
        kept = Kept(CARD, b"", b"", Report(CARD, MINE).encode(), b"", state)
        return look_up(TASK, WINDOW, kept, result=result, marks=file.encode())


def windows() -> Iterator[Window]:
    everything = (*MINE, *OTHERS)
    for stored, stolen in product((False, True), ((), MINE[:1])):
        for batch in subsets(everything):
            for listed in {batch, everything, OTHERS, (MINE[0], *OTHERS)}:
                cards = [(CARD, CARD)]
                if batch == listed == OTHERS:
                    cards += [(CARD, OTHER_CARD), (OTHER_CARD, CARD), (OTHER_CARD, OTHER_CARD)]
                for header_card, said_card in cards:
                    of_list = MarksFile.of(header_card, listed).sha256
                    of_batch = MarksFile.of(header_card, batch).sha256
                    of_none = MarksFile.of(header_card, ()).sha256
                    for said in {of_list, of_batch, of_none}:
                        yield Window(stored, stolen, batch, listed, header_card, said, said_card)


def test_all_conduct_of_two_services() -> None:
    """What is said is true of every conduct; what is not claimed is met as well."""
    met = set()
    for window, state in product(windows(), (SENT, FINAL)):
        shuffler, analyzer = window.shuffler_is_honest(), window.analyzer_is_honest()
        if state == SENT and shuffler and not window.stored:
            continue  # an honest shuffler gave no such word
        found = window.looked_up(state)
        met.add((found, shuffler, analyzer, state))
        shared = bool(window.stolen) and window.stored
        if shuffler and analyzer and window.stored and not shared:
            assert found is Standing.INCLUDED
        if found is Standing.INCLUDED and analyzer:
            assert set(MINE) <= set(window.batch)
        if found is Standing.DENIED:
            assert not (shuffler and analyzer)
        if found is Standing.OTHER_CARD:
            assert not analyzer
        if found in (Standing.LEFT_OUT, Standing.NOT_THERE, Standing.IN_PART):
            assert not set(MINE) <= set(window.listed)
            assert not (shuffler and window.stored and not shared)
            if analyzer:
                assert not set(MINE) <= set(window.batch)
        if found is Standing.IN_PART and state == SENT:
            assert not shuffler
    # Not claimed: that an analyser which signed the list has the slots; that nobody on the way took
    # a report apart; that the shuffler is the one that lies, or the analyser.
    assert (Standing.INCLUDED, False, False, SENT) in met
    assert (Standing.IN_PART, True, True, FINAL) in met
    assert {one[1:3] for one in met if one[0] is Standing.DENIED} >= {(True, False), (False, True)}
    assert (Standing.OTHER_CARD, True, False, SENT) in met


# ---- 3: what is left on a device ----------------------------------------------------------------


def test_anybody_makes_such_a_row_from_the_public_file() -> None:
    file = MarksFile.of(CARD, [*MINE, *OTHERS])
    window = Window(True, (), (*MINE, *OTHERS), (*MINE, *OTHERS), CARD, file.sha256, CARD)
    assert window.looked_up(SENT) is Standing.INCLUDED
    marks = [file.marks[at : at + MARK_BYTES] for at in range(0, len(file.marks), MARK_BYTES)]
    header = BatchHeader(False, CARD, bytes(16), 2, 4, (bytes(32),), file.sha256)
    document = {
        "task_id": TASK.task_id.hex(),
        "window": WINDOW,
        "card_digest": CARD.hex(),
        "marks_sha256": file.sha256.hex(),
        "batch_header": header.sign(SHUFFLER_SIGN).encode().hex(),
    }
    result = SignedResult.sign(document, ANALYZER_SIGN).encode()
    for copied in combinations(marks, 2):
        kept = Kept(CARD, b"", b"", b"", b"".join(copied), ANSWERED)
        said = look_up(TASK, WINDOW, kept, result=result, marks=file.encode())
        assert said is Standing.INCLUDED


# ---- 4: later theft -----------------------------------------------------------------------------


def runs_of(files: bytes) -> list[bytes]:
    """Return all runs of 32 bytes that may be a key.

    Of 32 uniform bytes fewer than 20 are different with a probability below 1e-8.
    """
    rows = np.lib.stride_tricks.sliding_window_view(np.frombuffer(files, np.uint8), 32)
    different = 1 + np.count_nonzero(np.diff(np.sort(rows, axis=1), axis=1), axis=1)
    return list({bytes(row) for row in rows[different >= 20]})


def opened_with(runs: list[bytes], sealed: bytes) -> bytes | None:
    """Return what some run of bytes opens of a value sealed by `ErasableKeys`."""
    head, nonce, cipher = sealed[:32], sealed[32:44], sealed[44:]
    for run in runs:
        try:
            return ChaCha20Poly1305(run).decrypt(nonce, cipher, head)
        except InvalidTag:
            continue
    return None


def test_no_byte_of_any_file_opens_anything_afterwards(tmp_path: Path) -> None:
    """Every run of bytes is tried: on the sealed keys, as the private keys, as the tag key."""
    with closing(PartyWorld(tmp_path)) as world:
        card, mine = world.open_window(), world.new_pass()
        gateway = card.gateway_key, world.shuffler
        inner = card.inner_key, world.analyzer
        sealed = [
            bytes(party.storage.read("SELECT sealed_key FROM card")[0][0])
            for _, party in (gateway, inner)
        ]
        world.send(world.report(), mine)
        world.send_many(13)
        name = world.shuffler.sender(mine) or b""
        tags = {
            bytes(row[0]) for row in world.shuffler.storage.read("SELECT sender_tag FROM pending")
        }
        before = runs_of(world.files())
        # What is searched for is found as long as the window is open.
        for value, (public, _) in zip(sealed, (gateway, inner), strict=True):
            secret = opened_with(before, value)
            assert secret is not None
            key = X25519PrivateKey.from_private_bytes(secret)
            assert key.public_key().public_bytes_raw() == public
        assert any(tag(run, name) in tags for run in before)
        assert world.finish(14)["state"] == "RELEASED"
        world.deliver()
        after = runs_of(world.files())
        assert [opened_with(after, value) for value in sealed] == [None, None]
        assert not any(tag(run, name) in tags for run in after)
        publics = {card.gateway_key, card.inner_key}
        for run in after:
            key = X25519PrivateKey.from_private_bytes(run)
            assert key.public_key().public_bytes_raw() not in publics


@pytest.mark.parametrize("overwritten", [True, False])
def test_keys_that_are_erased_in_any_order_are_nowhere(tmp_path: Path, overwritten: bool) -> None:
    """Pages split and merge meanwhile. Without overwriting, erased keys are in the file."""
    source = random.Random(7)
    with closing(ErasableKeys(tmp_path / "keys.sqlite")) as keys:
        connection = keys._storage._connection
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute(f"PRAGMA secure_delete={'ON' if overwritten else 'OFF'}")
        live: dict[bytes, bytes] = {}
        gone: list[bytes] = []
        for number in range(160):
            scope = source.randbytes(20) + number.to_bytes(4, "big")
            keys.seal(scope, b"private")
            live[scope] = secret_of(keys, scope)
            if len(live) > 60:
                scope = source.choice(sorted(live))
                gone.append(live.pop(scope))
                keys.erase([scope])
        files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert all(secret in files for secret in live.values())
    assert any(secret in files for secret in gone) is not overwritten


def test_the_names_of_a_report_say_nothing_without_the_windows_key(tmp_path: Path) -> None:
    """A database server may keep such a row: it must not tell which slots came together."""
    with closing(PartyWorld(tmp_path)) as world:
        world.open_window()
        report = world.report()
        world.send(report)
        ((tag_key,),) = world.shuffler.storage.read("SELECT tag_key FROM collecting")
        ((stored,),) = world.shuffler.storage.read("SELECT report_id FROM pending")
    assert bytes(stored) == tag(bytes(tag_key), report.report_id)
    assert report.report_id[:16] not in bytes(stored)


# ---- 5: the budget of one person ----------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_in_any_order_of_steps_no_more_windows_reach_the_analyser(
    tmp_path: Path, seed: int
) -> None:
    """Draw, finish, send, end, forget, hear of a destroyed window, at random: a model beside it."""
    source, paid = random.Random(seed), 3
    reached: set[int] = set()
    drawn: dict[str, Any] = {"card_digest": b"d", "slots": b"s", "seed": b"r", "most": paid}
    refused = 0
    with closing(OutcomeStore(tmp_path / "windows.sqlite")) as store:
        store._storage._connection.execute("PRAGMA synchronous=OFF")
        destroyed: set[int] = set()
        for _ in range(150):
            window = source.randrange(14)
            row = (b"t", window, "me")
            step = source.choice(("draw", "finish", "send", "end", "over", "destroyed"))
            if step == "draw":
                refused += store.keep(*row, **drawn) is None
            elif step == "finish":
                store.keep_report(*row, b"report")
            elif step == "send":
                kept = store.get(*row)
                if kept is not None and kept.state in (FINAL, SENT) and window not in destroyed:
                    store.keep_sent(*row)
                    reached.add(window)
            elif step == "end":
                store.keep_end(*row)
            elif step == "over":
                kept = store.get(*row)
                store.keep_marks(*row, b"m" * 16 if kept is not None and kept.report else b"")
            elif (kept := store.get(*row)) is not None and kept.marks:
                # An honest shuffler: what it destroyed never reached the analyser.
                store.keep_destroyed(*row)
                reached.discard(window)
                destroyed.add(window)
            assert len(reached) <= len(store.windows(b"t", "me")) <= paid
    assert refused
