"""A charge against a ledger of 10,000 entries, durable, beside one flushed write of 4 KiB."""

from __future__ import annotations

import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.timing import Row, show
from smoothdp.claims import ZCDP
from smoothdp.ledger import Ledger
from smoothdp.ledger.bookkeeping import next_row
from smoothdp.ledger.charged import read_charged
from smoothdp.ledger.store import Store, Tail

N_ENTRIES = 10_000
CHARGE = ZCDP("1e-6")


def filled(path: Path) -> Ledger:
    """Return a ledger with 10,000 entries, written in one go."""
    ledger = Ledger(path, budget=ZCDP(1))
    tail, rows = Store(path, 1.0).tail(), []
    charged, costs = read_charged(CHARGE, None), ledger.filter.price(CHARGE)
    for _ in range(N_ENTRIES):
        row = next_row(ledger.filter, charged, costs, tail, now=datetime.now(UTC), path=path)
        previous = tail.head.identity if tail.row is None else tail.row.digest
        tail = Tail(tail.head, row, previous)
        rows.append(row)
    with sqlite3.connect(path) as connection:
        connection.executemany("INSERT INTO entry VALUES (?, ?, ?)", rows)
    connection.close()
    return ledger


def median_wall_time(call: Callable[[], object], *, calls: int = 101) -> float:
    """Return the median of wall-clock seconds: waiting for the disk is the point here."""
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        file = os.open(Path(folder) / "plain", os.O_WRONLY | os.O_CREAT)

        def write() -> None:
            os.write(file, bytes(4096))
            os.fsync(file)

        ledger = filled(Path(folder) / "ledger.db")
        rows = [
            Row("write 4 KiB and flush", median_wall_time(write), "the disk", False),
            Row("charge, durable", median_wall_time(lambda: ledger.charge(CHARGE)), "< 20 ms"),
            Row("read all entries", median_wall_time(ledger.entries, calls=3), ""),
            Row("verify everything", median_wall_time(ledger.verify, calls=3), ""),
        ]
        os.close(file)
    show("Ledger of 10,000 entries (wall-clock time, median)", rows)


if __name__ == "__main__":
    main()
