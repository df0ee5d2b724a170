"""A batch that is still whole when its window lapses: is it to be counted, or never to be."""

from __future__ import annotations

import sqlite3

from smoothdp.services.analyzer.analyzer import Analyzer
from smoothdp.services.analyzer.analyzer_tables import COMPLETE
from smoothdp.services.analyzer.counting import count_batch
from smoothdp.services.formats.reading import DecodeError


def count_at_last(analyzer: Analyzer, window: int) -> set[bytes]:
    """Count the batches of a window that are still whole; return those that were tried.

    One of them that is whole all the same is never counted: nothing is to be waited for.

    Raises:
        Exception: a fault that may go again, such as of a disk, a server, or a process without
            memory: no reason to end the window. `WindowCards.erase_ended` gives it a day.
    """
    rows = analyzer.storage.read(
        "SELECT batch_id FROM batch WHERE task_id = ? AND window = ? AND state = ?",
        (analyzer.task.task_id, window, COMPLETE),
    )
    tried = {bytes(batch_id) for (batch_id,) in rows}
    for batch_id in sorted(tried):
        try:
            count_batch(analyzer, batch_id, window)
        except Exception as error:  # whatever is wrong with it was said when it was counted before
            if not _is_lasting(error):
                raise
    return tried


def _is_lasting(error: Exception) -> bool:
    """Whether an error is a word about what is stored: damaged, lost, or of another form."""
    if isinstance(error, sqlite3.Error):
        # A damaged file is a DatabaseError; what is operational is of the moment.
        return not isinstance(error, sqlite3.OperationalError)
    return isinstance(error, DecodeError | ValueError | LookupError | TypeError)
