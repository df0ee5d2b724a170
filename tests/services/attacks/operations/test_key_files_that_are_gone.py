"""A file of window keys that is removed, or moved, while a party runs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.services.analyzer.window_cards import GATEWAY, ISSUER
from smoothdp.services.operations.health import keys_condition, storage_condition
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import ENOUGH, HOUR, WINDOW, PartyWorld, issuer_key
from tests.services.worlds.small_tasks import open_task


def test_no_card_is_shown_whose_inner_key_is_in_a_file_that_is_gone(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 2: an inner key is "stored before A's signature leaves"; 4: no card has a
    window "whose inner key is gone before S signed": "A answers 404 to GET /v2/cards"; the guide:
    after the loss "the windows that have cards already are lost", "windows after these have keys
    of their own".

    The file of the inner keys is removed while the analyser runs. The shuffler beside such a file
    signs nothing; the analyser made cards, whose keys a restart does not find.
    """
    world = PartyWorld(tmp_path)
    world.open_window()
    for path in tmp_path.glob("inner.sqlite*"):
        path.unlink()
    after = WINDOW + 1
    world.go_to(world.now + HOUR)
    cards = world.analyzer.cards
    with suppress(Exception):
        cards.put_key(GATEWAY, after, world.shuffler.cards.offered_key(after))
        cards.put_key(ISSUER, after, issuer_key().public.spki)
    shown = cards.shown(after)
    world.restart()
    is_there = world.analyzer.cards.inner_key(after) is not None
    world.close()
    assert shown is None or is_there


@ONLY_SQLITE
@pytest.mark.parametrize("moved", [False, True])
def test_a_key_is_overwritten_or_it_is_said_that_its_file_is_not_where_it_was(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    moved: bool,
) -> None:
    """The protocol, 2: an inner key is destroyed "at the window's end: RELEASED"; "Erased means
    overwritten, in the file and in its log"; the guide: `/readyz` names "storage" of a file "that
    is not where it was", "keys" of one that was "left behind in a move".

    The file of the inner keys is moved, with its log, while the analyser runs. At the end of the
    window the key was said to be erased, and stood in the log; all was green.
    """
    party, elsewhere = tmp_path / "party", tmp_path / "elsewhere"
    party.mkdir()
    elsewhere.mkdir()
    world = PartyWorld(party)
    world.open_window()
    world.send_many(ENOUGH)
    ((secret,),) = world.keys[1]._storage.read("SELECT secret FROM data_key")
    for path in party.glob("inner.sqlite*") if moved else ():
        path.rename(elsewhere / path.name)
    said = list[bool]()
    try:
        assert world.finish(ENOUGH)["state"] == "RELEASED"
        said.append(world.keys[1].erase([]))
    except (OSError, SmoothdpError):
        said.append(False)
    said.append(keys_condition(len(world.analyzer.cards.lost())).good)
    said.append(storage_condition(world.analyzer.storage).good)
    world.close()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    there = [path.name for path in files if bytes(secret) in path.read_bytes()]
    assert not (all(said) and there), there


@pytest.mark.parametrize("lost", ["gateway.sqlite", ""])
def test_a_shuffler_signs_no_card_whose_gateway_key_is_in_a_file_that_is_gone(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    lost: str,
) -> None:
    """The protocol, 4: S signs a card if it "has its own gateway key" and "this key is there"."""
    world = PartyWorld(tmp_path, open_task())
    world.shuffler.cards.offered_key(WINDOW)
    for path in tmp_path.glob(f"{lost}*" if lost else "nothing"):
        path.unlink()
    if lost:
        with pytest.raises(InvalidData):
            world.open_window()
    else:
        world.open_window()
    assert (world.shuffler.cards.stored(WINDOW) is None) == bool(lost)
    world.close()
