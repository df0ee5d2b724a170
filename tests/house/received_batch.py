"""A directory of an analyser that has received a batch, as a page of the documents expects it."""

from __future__ import annotations

from pathlib import Path

from smoothdp.services import AnalyzerParty, Card
from smoothdp.services.analyzer.window_cards import GATEWAY
from smoothdp.services.formats.card import sign_card
from smoothdp.services.formats.design.values import DUMMY
from smoothdp.services.formats.signing import SIGNATURE_BYTES, SigningKey
from smoothdp.services.formats.slots import seal_slots
from smoothdp.services.operations.clock_guard import ClockGuard
from smoothdp.services.wire.hybrid import PrivateKey
from smoothdp.services.wire.key_files import SECRETS_FILE, read_secret
from tests.services.worlds.directories import party_directories


def write_received_batch(directory: Path, window: int) -> None:
    """Write the parties of a small task into a directory, with one batch of one part."""
    made = party_directories(
        directory, "histogram", has_issuer=False, min_batch=50, domain=("a", "b", "c")
    )
    now = window * made.task.window_seconds + 60.0
    clocks = ClockGuard(wall=lambda: now, boot=lambda: now)
    party = AnalyzerParty.from_directory(made.analyzer, clocks=clocks)
    cards, gateway = party.analyzer.cards, PrivateKey.generate()
    assert cards.put_key(GATEWAY, window, gateway.public.to_bytes()) == 201
    shown = cards.shown(window)
    secrets = read_secret(made.shuffler / SECRETS_FILE, ("sign_key",))
    shuffler = SigningKey.from_bytes(bytes.fromhex(secrets["sign_key"]))
    assert shown is not None
    card = Card.decode(shown[:-SIGNATURE_BYTES])
    assert cards.put_signed(window, shown + sign_card(card, shuffler)) == 201
    slots = seal_slots([0, 1, 2, DUMMY] * 8, card)
    storage, name = party.analyzer.storage, bytes(16)
    with storage.transaction() as change:
        change.change(
            "INSERT INTO batch (batch_id, task_id, window, header, state) VALUES (?, ?, ?, ?, ?)",
            (name, made.task.task_id, window, b"", "RECEIVING"),
        )
        change.change(
            "INSERT INTO part (batch_id, part, bytes) VALUES (?, ?, ?)", (name, 0, b"".join(slots))
        )
    party.close()
