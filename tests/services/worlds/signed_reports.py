"""Reports with tokens by whoever holds an issuer's key of a window."""

from __future__ import annotations

from collections.abc import Sequence

from smoothdp.services.formats.card import Card
from smoothdp.services.formats.report import Report
from smoothdp.services.formats.slot_tokens import SlotTokens
from smoothdp.services.formats.task import Task
from smoothdp.services.tokens.issuer_key import IssuerKey
from smoothdp.services.tokens.token import parse_requests

SEED = b"s" * 32


def signed_report(
    task: Task, card: Card, slots: Sequence[bytes], key: IssuerKey, *, seed: bytes = SEED
) -> Report:
    """Return the report of these slots with tokens of this key on them."""
    slots = tuple(sorted(slots))
    assert task.issuer is not None
    tokens = SlotTokens(card, issuer_name=task.issuer.name, origin=task.origin)
    asked = parse_requests(tokens.request(slots, seed=seed), key=tokens.key, slots=len(slots))
    answer = b"".join(key.sign(message) for message in asked)
    return Report(card.digest, slots, tuple(tokens.finalize(slots, seed=seed, answer=answer)))
