"""Batches that a shuffler makes by hand, and signs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.marks import MarksFile
from smoothdp.services.formats.slots import SLOT_BYTES
from tests.services.worlds.party_world import PartyWorld
from tests.services.worlds.small_tasks import SHUFFLER_SIGN


def hand_over(
    world: PartyWorld, records: Sequence[bytes], window: int, batch_id: bytes
) -> list[int]:
    """Deliver records under a header that the shuffler signs; return the answers."""
    data, digest = b"".join(records), world.card(window).digest
    header = BatchHeader(
        signed=True,
        card_digest=digest,
        batch_id=batch_id,
        users=len(records),
        slots=len(records),
        part_hashes=(hashlib.sha256(data).digest(),),
        marks_sha256=MarksFile.of(digest, [record[:SLOT_BYTES] for record in records]).sha256,
    ).sign(SHUFFLER_SIGN)
    answers = [world.analyzer.put_batch(batch_id, header.encode())]
    return [*answers, world.analyzer.put_part(batch_id, 0, data)]
