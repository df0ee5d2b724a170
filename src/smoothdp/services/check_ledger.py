"""``serve check`` of an analyser's ledger: is all charged that was released, and once."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from smoothdp.claims import ApproxDP
from smoothdp.errors import InvalidData, InvalidParameter, LedgerError
from smoothdp.ledger import Ledger
from smoothdp.services.analyzer.analyzer import noted
from smoothdp.services.analyzer.analyzer_party import INNER_KEYS_FILE
from smoothdp.services.formats.party_files import read_task
from smoothdp.services.operations.health import Condition
from smoothdp.services.operations.logs import Cause
from smoothdp.services.operations.own_files import copied, rows_of_file, rows_of_party
from smoothdp.services.shuffler.published_results import signed_results


def ledger_condition(directory: Path, results: Path | None = None) -> Condition:
    """Whether an analyser's ledger has a charge for each result, and the one batch of each.

    Args:
        directory: the analyser's; it may be in use.
        results: a folder of published results, under any names and in folders below.

    Raises:
        InvalidData: results, or state of the party, that cannot be read.
    """
    task = read_task(directory)
    path = directory / f"ledger-{task.task_id.hex()[:16]}.db"
    rows = rows_of_party(
        *(directory, "analyzer", "release"),
        "SELECT window FROM release WHERE task_id = ?",
        (task.task_id,),
    )
    released = {int(window) for (window,) in rows}
    notes = rows_of_file(directory / INNER_KEYS_FILE, "note", "SELECT name FROM note")
    released |= noted((bytes(name) for (name,) in notes), task)
    shown: list[dict[str, Any]] = []
    if results is not None:
        try:
            compared = signed_results(_files(results), task)
        except OSError as error:
            raise _unreadable(results, error.filename, error.strerror or "an error of") from None
        if not compared:
            words = f"nothing to compare: no file in {results} is signed by this task's analyser"
            return Condition("ledger", False, words, Cause.LEDGER)
        # A window that was refused has a signed statement too, and no charge.
        shown = [one.document for one in compared if "state" not in one.document]
        released |= {int(document["window"]) for document in shown}
    charged: dict[int, str] = {}
    if path.exists() and not path.is_file():
        return Condition("ledger", False, f"{path.name} is no file: move it away", Cause.LEDGER)
    if path.is_file():
        try:
            with copied(path) as copy:
                entries = Ledger(copy).entries()
                # Refused at the start: of another task, under the name of this one's.
                Ledger(copy, budget=ApproxDP(task.budget_epsilon, delta=task.budget_delta))
        except (LedgerError, InvalidParameter) as error:
            words = str(error).replace(str(copy), str(path))
            return Condition("ledger", False, words, Cause.LEDGER)
        ours = [e for e in entries if e.parameters.get("task_id") == task.task_id.hex()]
        charged = {int(e.parameters["window"]): e.parameters.get("batch", "") for e in ours}
    lost = released - charged.keys()
    if lost:
        return Condition(
            "ledger",
            False,
            f"no charge of {len(lost)} windows that were released, such as {min(lost)}: restore "
            f"the newest copy of {path.name}",
            Cause.LEDGER,
        )
    if twice := sorted(set(_of_other_batches(shown, charged))):
        words = (
            f"results of {len(twice)} windows are of another batch than was charged, such as "
            f"{twice[0]}: one charge, two results. Stop the analyser: the difference of the two "
            "may show one person"
        )
        return Condition("ledger", False, words, Cause.LEDGER)
    words = f"whole; windows charged: {len(charged)}"
    if results is not None:
        words += f"; signed results compared: {len(compared)}"
    return Condition("ledger", True, words)


def _of_other_batches(shown: Sequence[dict[str, Any]], charged: dict[int, str]) -> Iterator[int]:
    """Yield the windows of results whose batch is not the one that the charge of the window names.

    A charge of an earlier program names none: then two results are told by their own batches.
    """
    batches = dict(charged)
    for document in shown:
        window, header = int(document["window"]), str(document.get("batch_header", ""))
        with suppress(ValueError):
            name = hashlib.sha256(bytes.fromhex(header)).hexdigest() if header else ""
            if batches.get(window) and name and name != batches[window]:
                yield window
            batches[window] = batches.get(window) or name


def _files(folder: Path) -> list[Path]:
    """Return all files of a folder, whatever they are called: collectors name their own.

    Folders that it has links to are folders of it: an archive may be on another disk.

    Raises:
        InvalidData: a file or folder that cannot be read may be the one that tells.
    """
    seen: set[tuple[int, int]] = set()
    files: list[Path] = []

    def refused(error: OSError) -> None:
        raise _unreadable(folder, error.filename) from None

    for place, folders, names in os.walk(folder, onerror=refused, followlinks=True):
        status = os.stat(place)
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        paths = [Path(place, name) for name in names]
        if gone := [path for path in paths if path.is_symlink() and not path.exists()]:
            raise _unreadable(folder, gone[0], "nothing behind the link")
        files += [path for path in paths if path.is_file()]
    for path in files:
        if not os.access(path, os.R_OK):
            raise _unreadable(folder, path)
    return sorted(files)


def _unreadable(folder: Path, path: object, why: str = "no right to read") -> InvalidData:
    return InvalidData(
        expected=f"results in {folder} that can be read",
        got=f"{why} {path}",
        remedy="Give the right to read them, or copies of them",
    )
