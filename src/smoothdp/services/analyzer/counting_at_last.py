"""A batch that is still whole when its window lapses: is it to be counted, or never to be.

A key that is lost, or bytes that are damaged, are so in the next round too, and its window ends.
A disk that gives an error, a server that cancels a statement, a process without memory may be
well in the next round: such a batch is tried again, for a day, while this process runs. The
window's key stays for as long.
"""

from __future__ import annotations

import sqlite3

from smoothdp.services.analyzer.analyzer import Analyzer
from smoothdp.services.analyzer.analyzer_tables import COMPLETE
from smoothdp.services.analyzer.counting import count_batch
from smoothdp.services.formats.reading import DecodeError
from smoothdp.services.store.storage import StorageFull, StorageUnreachable

TRYING_SECONDS = 86_400.0
"""For how long a process tries again what has failed for a reason that may go."""


def count_at_last(analyzer: Analyzer, window: int) -> set[bytes]:
    """Count the batches of a window that are still whole; return those that were tried.

    One of them that is whole all the same is never counted: nothing is to be waited for.

    Raises:
        Exception: a fault that may go again, which is no reason to end the window: whatever is
            no word of what is stored, within a day of its first time; what the storage itself
            says of being away or full, however long it does.
    """
    rows = analyzer.storage.read(
        "SELECT batch_id FROM batch WHERE task_id = ? AND window = ? AND state = ?",
        (analyzer.task.task_id, window, COMPLETE),
    )
    tried = {bytes(batch_id) for (batch_id,) in rows}
    for batch_id in sorted(tried):
        try:
            count_batch(analyzer, batch_id, window)
        except (StorageUnreachable, StorageFull):
            raise
        except Exception as error:  # whatever is wrong with it was said when it was counted before
            if not _is_lasting(error) and _may_go(analyzer, window):
                raise
    analyzer.trying.pop(window, None)
    return tried


def _is_lasting(error: Exception) -> bool:
    """Whether an error is a word about what is stored: damaged, lost, or of another form."""
    if isinstance(error, sqlite3.Error):
        # A damaged file is a DatabaseError; what is operational is of the moment.
        return not isinstance(error, sqlite3.OperationalError)
    return isinstance(error, DecodeError | ValueError | LookupError | TypeError)


def _may_go(analyzer: Analyzer, window: int) -> bool:
    """Whether what failed just now is tried again."""
    now = analyzer.clocks.since_boot()
    return now - analyzer.trying.setdefault(window, now) < TRYING_SECONDS
