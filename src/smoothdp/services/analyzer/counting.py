"""Counting: is the batch what its shuffler's header says, and what do its slots hold.

An honest shuffler has checked each signature, and has let no slot out twice. So one signature
that is not good, two equal slots, or other marks than those announced are the shuffler's doing:
nothing of such a batch is counted (proofs/issued-tokens#2), and what is counted has the marks
that everybody looks up (proofs/marks-and-erasure#2). A signed slot that does not open, or
means nothing, is a dishonest client's, and is counted as such.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

import numpy as np

from smoothdp.services.analyzer.analyzer import Analyzer, move_batch
from smoothdp.services.analyzer.analyzer_tables import COMPLETE, COUNTED
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.card import Card
from smoothdp.services.formats.design.values import INVALID
from smoothdp.services.formats.marks import MarksFile, mark_of, repeated_marks
from smoothdp.services.formats.reading import DecodeError
from smoothdp.services.formats.report import record_bytes
from smoothdp.services.formats.slot_tokens import SlotTokens
from smoothdp.services.formats.slots import SLOT_BYTES, open_slot
from smoothdp.services.formats.task import Task
from smoothdp.services.operations.every import do_all
from smoothdp.services.store.storage import Transaction
from smoothdp.services.wire.hybrid import PrivateKey

_VALUE = np.dtype(">i8")
NOT_GENUINE = "the shuffler's batch is not genuine"


class CountedMeanwhile(Exception):
    """Another worker has counted the batch, or ended its window: its ciphertexts are gone."""


def count_complete(analyzer: Analyzer) -> int:
    """Check, open and count the batches that are complete; return how many were.

    A part's tallies and the mark that it is counted are one transaction, and opening is
    deterministic: work that is repeated, or done by two at once, counts once.
    """
    rows = analyzer.storage.read(
        "SELECT batch_id, window FROM batch WHERE task_id = ? AND state = ?",
        (analyzer.task.task_id, COMPLETE),
    )
    do_all(partial(count_batch, analyzer, bytes(row[0]), int(row[1])) for row in rows)
    return len(rows)


def count_batch(analyzer: Analyzer, batch_id: bytes, window: int) -> None:
    """Check, open and count a batch that is complete; nothing happens where its key is gone."""
    header, card = analyzer.header(batch_id), analyzer.cards.card(window)
    key = analyzer.cards.inner_key(window)
    if header is None or card is None or key is None:
        return
    try:
        reason, marks_hash = check_batch(analyzer, header, card)
        if not reason:
            for part in range(len(header.part_hashes)):
                _count_part(analyzer, header, card, key, part)
    except CountedMeanwhile:
        return
    with analyzer.storage.transaction() as change:
        if move_batch(change, batch_id, COMPLETE, COUNTED):
            change.change(
                "UPDATE batch SET reason = ?, marks_hash = ? WHERE batch_id = ?",
                (reason, marks_hash, batch_id),
            )
            erase_ciphertexts(change, batch_id)
    analyzer.storage.forget()


def erase_ciphertexts(change: Transaction, batch_id: bytes) -> None:
    """Erase what came of a batch: of no more use. The rows stay, to answer a repeated part."""
    held = "UPDATE part SET bytes = NULL WHERE batch_id = ? AND bytes IS NOT NULL"
    if change.change(held, (batch_id,)):
        change.rewrite("part")


def check_batch(analyzer: Analyzer, header: BatchHeader, card: Card) -> tuple[str, bytes]:
    """Return ("", hash of the marks) for a batch that an honest shuffler made, else (why, hash).

    All of it is looked at, so that the hash of the marks is that of what came, in any case.
    """
    marks, unsigned, tokens = bytearray(), 0, _tokens(analyzer.task, card)
    for slot, signature in _records(analyzer, header):
        marks += mark_of(slot)
        unsigned += not is_signed(tokens, slot, signature)
    marks_hash = MarksFile.sorted(card.digest, bytes(marks)).sha256
    if unsigned:
        return f"{NOT_GENUINE}: {unsigned} slots have no good signature of the issuer", marks_hash
    if repeated_marks(bytes(marks)):
        return f"{NOT_GENUINE}: slots come more than once", marks_hash
    if marks_hash != header.marks_sha256:
        return f"{NOT_GENUINE}: its marks are not those that its header announced", marks_hash
    return "", marks_hash


def is_signed(tokens: SlotTokens | None, slot: bytes, signature: bytes) -> bool:
    """Whether a slot has the issuer's signature, if the task has an issuer."""
    return tokens is None or tokens.verify(slot, signature)


def _tokens(task: Task, card: Card) -> SlotTokens | None:
    if task.issuer is None:
        return None
    return SlotTokens(card, issuer_name=task.issuer.name, origin=task.origin)


def _records(analyzer: Analyzer, header: BatchHeader) -> Iterator[tuple[bytes, bytes]]:
    width = record_bytes(header.signed)
    for part in range(len(header.part_hashes)):
        data = _part(analyzer, header, part)
        for at in range(0, len(data), width):
            yield data[at : at + SLOT_BYTES], data[at + SLOT_BYTES : at + width]


def _part(analyzer: Analyzer, header: BatchHeader, part: int) -> bytes:
    data = analyzer.part_bytes(header.batch_id, part)
    if data is None:
        raise CountedMeanwhile
    return data


def _count_part(
    analyzer: Analyzer, header: BatchHeader, card: Card, key: PrivateKey, part: int
) -> None:
    data, width = _part(analyzer, header, part), record_bytes(header.signed)
    values = list[int]()
    for at in range(0, len(data), width):
        try:
            value = open_slot(data[at : at + SLOT_BYTES], card, key)
        except DecodeError:
            value = INVALID
        values.append(value if analyzer.task.is_meant(value) else INVALID)
    with analyzer.storage.transaction() as change:
        # Of a window that another worker has ended meanwhile nothing is kept.
        states = change.execute("SELECT state FROM batch WHERE batch_id = ?", (header.batch_id,))
        if states != [(COMPLETE,)]:
            raise CountedMeanwhile
        if not change.change(
            "UPDATE part SET counted = 1 WHERE batch_id = ? AND part = ? AND counted = 0",
            (header.batch_id, part),
        ):
            return
        change.change(
            "INSERT INTO counts (batch_id, part, bytes) VALUES (?, ?, ?)",
            # In ascending order, whatever slots they came from.
            (header.batch_id, part, np.sort(np.array(values, dtype=_VALUE)).tobytes()),
        )
        analyzer.reach("count: inside the transaction")


def tallies(analyzer: Analyzer, batch_id: bytes) -> dict[int, int]:
    """Return value -> slots of a counted batch, with INVALID."""
    parts = analyzer.storage.read("SELECT bytes FROM counts WHERE batch_id = ?", (batch_id,))
    values = np.frombuffer(b"".join(bytes(part) for (part,) in parts), dtype=_VALUE)
    found, numbers = np.unique(values, return_counts=True)
    tally = Counter(dict(zip(found.tolist(), numbers.tolist(), strict=True)))
    before = "SELECT value, sum(n) FROM tally WHERE batch_id = ? GROUP BY value"
    for value, n in analyzer.storage.read(before, (batch_id,)):
        tally[int(value)] += int(n)
    return dict(tally)


def erase_tallies(change: Transaction, batch_id: bytes) -> None:
    """Erase what was counted of a batch."""
    for table in ("counts", "tally"):
        change.change(f"DELETE FROM {table} WHERE batch_id = ?", (batch_id,))
        change.rewrite(table)
