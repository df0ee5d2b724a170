"""One of the two services denies slots: both hashes are published, and each client says so."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from smoothdp.services.analyzer import release
from smoothdp.services.analyzer.release import read_result
from smoothdp.services.client.inclusion import Standing, look_up
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.marks import MarksFile
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.shuffler import sealing
from tests.services.worlds.small_tasks import ANALYZER_SIGN, SHUFFLER_SIGN
from tests.services.worlds.whole_world import WINDOW, WholeWorld

PEOPLE = ("a", "b", "c", "d")


def sent_and_released(folder: Path) -> tuple[WholeWorld, bytes]:
    """Let four people take part; return the world and what the analyser signed."""
    world = WholeWorld(folder, fast=True)
    world.open_window()
    for person in PEOPLE:
        assert world.take_part(person) == 202
    world.end()
    return world, read_result(world.analyzer, WINDOW, now=world.now)[1]


def standings(world: WholeWorld, result: bytes) -> set[Standing]:
    marks = world.shuffler.marks(WINDOW) or b""
    kept = [world.client(person).kept(WINDOW) for person in PEOPLE]
    return {look_up(world.task, WINDOW, row, result=result, marks=marks) for row in kept}


def test_an_analyser_that_denies_slots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts all of the batch and signs the marks of all but one person."""
    true: Callable[..., dict[str, object]] = release._evidence

    def denying(header: BatchHeader, _: bytes, served: int | None) -> dict[str, object]:
        fewer = MarksFile(header.card_digest, bytes(16 * (header.slots - 1))).sha256
        return true(header, fewer, served)

    monkeypatch.setattr(release, "_evidence", denying)
    world, result = sent_and_released(tmp_path)
    document = json.loads(SignedResult.decode(result).body)
    assert document["users"] == 4
    assert SignedResult.decode(result).verify(ANALYZER_SIGN.public)
    # Published: the analyser's hash beside the header with the shuffler's, both signed.
    header = BatchHeader.decode(bytes.fromhex(document["batch_header"]))
    assert header.verify(SHUFFLER_SIGN.public)
    marks = world.shuffler.marks(WINDOW) or b""
    assert hashlib.sha256(marks).digest() == header.marks_sha256
    assert document["marks_sha256"] != header.marks_sha256.hex()
    assert standings(world, result) == {Standing.DENIED}
    assert "Publish both" in Standing.DENIED
    world.close()


def test_a_shuffler_whose_header_is_not_that_of_its_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is released, and what was signed says which hash is whose."""

    class False_(MarksFile):  # noqa: N801
        @property
        def sha256(self) -> bytes:
            return bytes(32)

    monkeypatch.setattr(sealing, "MarksFile", False_)
    world, result = sent_and_released(tmp_path)
    document = json.loads(SignedResult.decode(result).body)
    assert document["state"] == "QUARANTINED"
    assert BatchHeader.decode(bytes.fromhex(document["batch_header"])).marks_sha256 == bytes(32)
    marks = hashlib.sha256(world.shuffler.marks(WINDOW) or b"").hexdigest()
    assert document["marks_sha256"] == marks
    assert standings(world, result) == {Standing.DENIED}
    world.close()


def test_honest_services_deny_nobody(tmp_path: Path) -> None:
    world, result = sent_and_released(tmp_path)
    assert standings(world, result) == {Standing.INCLUDED}
    world.close()
