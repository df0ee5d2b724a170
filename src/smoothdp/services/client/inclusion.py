"""Whether a report was counted: looked up in the marks of its window, without asking anybody.

The marks file is static and the same for all, so fetching it names nobody's slots. The
shuffler signed its hash with the batch, the analyser with the result.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from smoothdp.errors import InvalidData
from smoothdp.services.client.outcomes import DESTROYED, Kept
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.marks import MARK_BYTES, MarksFile, mark_of
from smoothdp.services.formats.reading import DecodeError
from smoothdp.services.formats.report import Report
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.formats.task import Task
from smoothdp.services.wire.calls import shown_words


class Standing(StrEnum):
    """What the marks of a window say of one's own report."""

    INCLUDED = (
        "Your report is in the batch of this window: the shuffler handed it over, and the "
        "analyser signed that it got it. The marks do not show that it was counted."
    )
    LEFT_OUT = (
        "Your report is not in the batch of this window: the shuffler did not hand it over, "
        "although it had said that it has it, or somebody had a copy and sent that too. Tell who "
        "runs the shuffler, and the others."
    )
    NOT_THERE = (
        "Your report is not in the batch of this window; this machine never got the shuffler's "
        "word that it had come."
    )
    IN_PART = (
        "A part of your report is in the batch of this window: the shuffler, or somebody on the "
        "way to it, took it apart. Tell who runs the shuffler, and the others."
    )
    DENIED = (
        "The shuffler and the analyser signed different lists of what the batch holds. Publish "
        "both, with their signatures: one of the two is not telling the truth."
    )
    OTHER_CARD = (
        "The result was made with another card than yours: two cards were signed for this "
        "window, or the analyser shows the batch of another one. Publish both."
    )
    DESTROYED = (
        "The shuffler had said that it destroyed the reports of this window, and there is a batch "
        "all the same. Tell who runs the shuffler, and the others."
    )
    NOT_SENT = "Nothing of yours was sent in this window."


def look_up(task: Task, window: int, kept: Kept | None, *, result: bytes, marks: bytes) -> Standing:
    """Return what the marks of a window say of a report.

    What each answer shows, and who departed from the protocol if one accuses somebody, is in
    (proofs/marks-and-erasure#2). Checked are the analyser's signature of the result, the
    shuffler's of the batch header in it, the digest of the card, the hash of the marks file in
    both, and all M marks.

    Args:
        task: what the user agreed to.
        window: the window.
        kept: what the client stored for it.
        result: as the analyser hands it out, with its signature, of a window released or not.
        marks: the marks file, from the shuffler or any copy.

    Raises:
        InvalidData: a signature that is not good, or a marks file whose hash neither signed.
    """
    said = read_evidence(task, window, result)
    header = said.header
    known = standing_without_marks(task, kept, said)
    if known is not None:
        return known
    assert kept is not None
    own = own_marks(kept, signed=task.signed)
    try:
        file = MarksFile.decode(marks)
    except DecodeError:
        raise _not_good("the marks file of the window", "other bytes") from None
    if (
        hashlib.sha256(marks).digest() != header.marks_sha256
        or file.card_digest != kept.card_digest
    ):
        raise _not_good("the marks file whose hash both services signed", "another file")
    found = [mark in file for mark in own]
    if all(found):
        return Standing.INCLUDED
    if any(found):
        return Standing.IN_PART
    return Standing.LEFT_OUT if kept.acknowledged else Standing.NOT_THERE


def standing_without_marks(task: Task, kept: Kept | None, said: Evidence) -> Standing | None:
    """Return what is said by what both services signed alone, or None.

    A shuffler that withholds the marks file, as it does where it said that there is no batch, does
    not withhold that.

    Args:
        task: what the user agreed to.
        kept: what the client stored for the window.
        said: what both services signed.
    """
    if kept is None or not own_marks(kept, signed=task.signed):
        return Standing.NOT_SENT
    if {said.card_digest, said.header.card_digest} != {kept.card_digest}:
        return Standing.OTHER_CARD
    if said.marks_sha256 != said.header.marks_sha256:
        return Standing.DENIED
    return Standing.DESTROYED if kept.state == DESTROYED else None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What both services signed about the batch of a window.

    Attributes:
        card_digest, marks_sha256: as the analyser signed them with the result.
        header: as the shuffler signed it.
    """

    card_digest: bytes
    marks_sha256: bytes
    header: BatchHeader

    @property
    def marks_bytes(self) -> int:
        """The length of the marks file that the shuffler signed."""
        start = MarksFile(self.card_digest, b"").encode()
        return len(start) + MARK_BYTES * self.header.slots


def read_evidence(task: Task, window: int, result: bytes) -> Evidence:
    """Return what both services signed about a batch, from a result with its signature.

    Raises:
        InvalidData: a signature that is not good, or another document.
    """
    document = _released(task, window, result)
    if "state" in document and "batch_header" not in document:
        why = shown_words(str(document.get("reason")))
        raise InvalidData(
            expected="a result with its batch header, card and marks",
            got=f"a signed refusal without them: {why}",
            remedy="Nothing can be looked up in it; ask who runs the analyser",
        )
    try:
        said = Evidence(
            bytes.fromhex(document["card_digest"]),
            bytes.fromhex(document["marks_sha256"]),
            BatchHeader.decode(bytes.fromhex(document["batch_header"])),
        )
    except (DecodeError, KeyError, TypeError, ValueError):
        raise _not_good("a result with its batch header, card and marks", "one without") from None
    if not said.header.verify(task.shuffler_key):
        raise _not_good("a batch header signed by the shuffler of the task", "another signature")
    most = task.slots * task.max_batch
    if said.header.slots > most:
        raise _not_good(f"a batch of at most {most} slots", f"one of {said.header.slots}")
    return said


def _released(task: Task, window: int, result: bytes) -> dict[str, Any]:
    """Return the document of a result that the task's analyser signed for this window."""
    try:
        signed = SignedResult.decode(result)
        document = signed.document
    except DecodeError:
        raise _not_good("a result with the analyser's signature", "another document") from None
    if not signed.verify(task.analyzer_key):
        raise _not_good("a result signed by the analyser of the task", "another signature")
    if (document.get("task_id"), document.get("window")) != (task.task_id.hex(), window):
        raise _not_good(f"the result of window {window} of the task", "another one")
    return document


def own_marks(kept: Kept | None, *, signed: bool) -> list[bytes]:
    """Return the marks of a stored report, which may be replaced by them already."""
    if kept is None:
        return []
    if kept.report:
        return [mark_of(slot) for slot in Report.decode(kept.report, signed=signed).slots]
    return [kept.marks[at : at + MARK_BYTES] for at in range(0, len(kept.marks), MARK_BYTES)]


def _not_good(expected: str, got: str) -> InvalidData:
    return InvalidData(
        expected=expected,
        got=got,
        remedy="Fetch it again; if that does not help, ask who runs the services",
    )
