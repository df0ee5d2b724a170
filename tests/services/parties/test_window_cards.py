"""Cards: one a window for ever, within the budget, no further ahead than a day or two windows."""

from __future__ import annotations

from pathlib import Path

import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.analyzer.window_cards import GATEWAY, ISSUER
from smoothdp.services.formats.card import Card, SignedCard, sign_card
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.wire.hybrid import PrivateKey
from tests.services.worlds.party_world import WINDOW, PartyWorld, issuer_key
from tests.services.worlds.small_tasks import ANALYZER_SIGN, small_task


def a_key() -> bytes:
    return PrivateKey.generate().public.to_bytes()


def test_a_second_card_is_refused_by_both(tmp_path: Path) -> None:
    world = PartyWorld(tmp_path)
    card = world.open_window()
    cards = world.analyzer.cards
    assert cards.put_key(GATEWAY, WINDOW, a_key()) == 409
    # Asked again with the same keys: the same card.
    assert world.open_window() == card
    second = Card(card.task_id, WINDOW, card.gateway_key, a_key(), card.issuer_spki)
    with pytest.raises(InvalidData, match="the one card of the window"):
        world.shuffler.cards.sign(WINDOW, second.encode() + sign_card(second, ANALYZER_SIGN))
    assert cards.put_signed(WINDOW, second.encode() + bytes(128)) == 409
    # Not even if the keys are lost, or after a restart.
    world.restart()
    world.keys[1].erase(world.keys[1].scopes())
    assert world.analyzer.cards.put_key(GATEWAY, WINDOW, a_key()) == 409
    assert world.open_window() == card
    world.close()


def test_the_shuffler_signs_its_own_key_and_what_a_client_would_take(tmp_path: Path) -> None:
    world = PartyWorld(tmp_path)
    gateway, spki = world.shuffler.cards.offered_key(WINDOW), issuer_key().public.spki
    task_id = world.task.task_id
    for card, words in (
        (Card(task_id, WINDOW, a_key(), a_key(), spki), "gateway key"),
        (Card(bytes(32), WINDOW, gateway, a_key(), spki), "card of this task"),
        (Card(task_id, WINDOW + 1, gateway, a_key(), spki), f"window {WINDOW}"),
        (Card(task_id, WINDOW, gateway, a_key(), None), "proof=slots"),
        (Card(task_id, WINDOW, gateway, bytes(32), spki), "full order"),
    ):
        with pytest.raises(InvalidData, match=words):
            world.shuffler.cards.sign(WINDOW, card.encode() + sign_card(card, ANALYZER_SIGN))
    card = Card(task_id, WINDOW, gateway, a_key(), spki)
    with pytest.raises(InvalidData, match="analyser signed"):
        world.shuffler.cards.sign(WINDOW, card.encode() + bytes(64))
    assert world.shuffler.cards.stored(WINDOW) is None
    world.close()


def test_windows_too_far_ahead_over_or_not_paid(tmp_path: Path) -> None:
    world = PartyWorld(tmp_path, small_task(windows=2))
    cards = world.analyzer.cards
    # Within now + 24 hours, which is more than two windows of an hour.
    assert cards.put_key(GATEWAY, WINDOW + 24, a_key()) == 201
    assert cards.put_key(GATEWAY, WINDOW + 25, a_key()) == 425
    assert cards.put_key(GATEWAY, WINDOW - 1, a_key()) == 410
    world.open_window(WINDOW)
    world.open_window(WINDOW + 1)
    assert cards.put_key(GATEWAY, WINDOW + 2, a_key()) == 404
    # A half that was taken before is no card either.
    assert cards.put_key(ISSUER, WINDOW + 24, issuer_key().public.spki) == 404
    assert cards.shown(WINDOW + 24) is None
    world.close()


def test_a_window_that_ends_without_a_charge_gives_its_share_back(tmp_path: Path) -> None:
    world = PartyWorld(tmp_path, small_task(windows=2))
    world.open_window(WINDOW)
    world.send_many(12)
    assert world.finish(1000)["state"] == "REFUSED"
    for window in (WINDOW + 1, WINDOW + 2):
        world.open_window(window)
    world.go_to((WINDOW + 1) * 3600.0)
    assert world.analyzer.cards.put_key(GATEWAY, WINDOW + 3, a_key()) == 404
    world.send_many(12, window=WINDOW + 1)
    assert world.finish(12, WINDOW + 1)["state"] == "RELEASED"
    # A charge is for ever.
    assert world.analyzer.cards.put_key(GATEWAY, WINDOW + 3, a_key()) == 404
    assert world.charged() == [WINDOW + 1]
    world.close()


def test_seven_days_without_an_end_are_an_end(tmp_path: Path) -> None:
    world = PartyWorld(tmp_path)
    world.open_window()
    world.send_many(12)
    # The issuer's statement never comes.
    assert world.finish()["state"] == "counting"
    world.go_to(world.now + 7 * 86_400 - 1)
    assert world.finish()["state"] == "counting"
    assert world.analyzer.cards.inner_key(WINDOW) is not None
    world.go_to(world.now + 1)
    assert world.finish()["state"] == "REFUSED"
    assert world.analyzer.cards.inner_key(WINDOW) is None
    assert world.analyzer.storage.read("SELECT count(*) FROM counts") == [(0,)]
    assert world.finish(12)["state"] == "REFUSED"
    world.close()


def test_nothing_is_closed_on_the_word_of_one_clock(tmp_path: Path) -> None:
    world = PartyWorld(tmp_path)
    world.open_window()
    world.send_many(12)
    shuffler, analyzer = world.clocks
    world.now += 2 * 86_400
    # The shuffler's clock jumped, the analyser's did not.
    shuffler.heard(world.now - 2 * 86_400)
    assert world.shuffler.takes(WINDOW) is Taken.LATER
    from smoothdp.services.shuffler.sealing import seal_due

    assert seal_due(world.shuffler) == []
    assert world.shuffler.totals()["pending"] == 12
    analyzer.heard(world.now - 2 * 86_400)
    world.analyzer.cards.erase_ended()
    assert world.analyzer.cards.inner_key(WINDOW) is not None
    world.close()


def test_a_card_of_a_task_without_an_issuer(tmp_path: Path) -> None:
    world = PartyWorld(tmp_path, small_task(issuer=None, proof="none"))
    card = world.open_window()
    assert SignedCard.decode(world.shuffler.cards.stored(WINDOW) or b"").card == card
    assert len(card.encode()) == 115
    world.send_many(14)
    document = world.finish()
    assert document["state"] == "RELEASED"
    assert document["accounts_served"] is None
    assert (
        "The shuffler alone, which can fill a batch with people that it invents"
        in (document["sentence"])
    )
    world.close()
