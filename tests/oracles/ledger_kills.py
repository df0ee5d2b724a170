"""Killing a charge: at one instruction of SQLite, at one step of ours, or at a random time."""

from __future__ import annotations

import os
import signal
import sqlite3
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from smoothdp.claims import PureDP
from smoothdp.ledger import Ledger, store
from smoothdp.queries import Count, Sum
from smoothdp.tables import release_table


def kill_self() -> None:
    """End this process as kill -9 does: no clean-up of any kind."""
    os.kill(os.getpid(), signal.SIGKILL)


def fork() -> int:
    """Fork; newer Pythons warn of threads, of which the libraries here may have idle ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def in_child(act: Callable[[], None]) -> int:
    """Run ``act`` in a forked process and return its signal (0 if it ended by itself)."""
    child = fork()
    if child == 0:
        try:
            act()
        except BaseException:
            os._exit(3)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else -os.WEXITSTATUS(status)


def charge_and_release(path: Path, released: Path) -> None:
    """Charge 1/1000, then release: a line in another file, flushed."""
    with Ledger(path).spend(PureDP("0.001")) as spending:
        file = os.open(released, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(file, b"%d\n" % spending.entry.number)
        os.fsync(file)


def charge_and_release_table(path: Path, released: Path) -> None:
    """Charge a table of two groups, one entry, and write its number once the table is made."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = release_table(
            {"region": ["N", "S"] * 3, "wage": [1, 2, 3, 4, 5, 6]},
            by="region",
            keys=["N", "S"],
            statistics={"rows": (None, Count()), "total": ("wage", Sum((0, 10)))},
            guarantee=PureDP("0.01", neighbours="add_remove"),
            label="a table",
            ledger=Ledger(path),
        )
    assert len(made.groups) == 2
    file = os.open(released, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(file, b"%d\n" % len(Ledger(path).entries()))
    os.fsync(file)


def kill_at_instruction(count: int) -> None:
    """Let every new connection kill this process after so many instructions of SQLite."""
    connect = sqlite3.connect
    seen = 0

    def step() -> int:
        nonlocal seen
        seen += 1
        if seen > count:
            kill_self()
        return 0

    def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        connection.set_progress_handler(step, 1)
        return connection

    store.sqlite3.connect = traced  # type: ignore[attr-defined]


STEPS = (
    "before connecting",
    "after connecting",
    "before BEGIN",
    "after BEGIN",
    "after computing the entry",
    "after INSERT",
    "after COMMIT",
    "after closing",
    "after charging",
    "while releasing",
)


def kill_at_step(step: str) -> None:
    """Kill this process at a named step of the next charge."""
    original_connected, original_writing = store.Store._connected, store._writing
    original_append, original_charge = store.Store.append, Ledger.charge

    @contextmanager
    def connected(self: store.Store) -> Any:
        if step == "before connecting":
            kill_self()
        with original_connected(self) as connection:
            if step == "after connecting":
                kill_self()
            yield connection

    @contextmanager
    def writing(connection: sqlite3.Connection) -> Any:
        if step == "before BEGIN":
            kill_self()
        with original_writing(connection):
            if step == "after BEGIN":
                kill_self()
            yield
            if step == "after INSERT":
                kill_self()
        if step == "after COMMIT":
            kill_self()

    def append(self: store.Store, next_row: Any) -> store.Row:
        def computed(tail: store.Tail) -> store.Row:
            row = next_row(tail)
            if step == "after computing the entry":
                kill_self()
            return row  # type: ignore[no-any-return]

        row = original_append(self, computed)
        if step == "after closing":
            kill_self()
        return row

    def charge(self: Ledger, *arguments: Any, **options: Any) -> Any:
        entry = original_charge(self, *arguments, **options)
        if step == "after charging":
            kill_self()
        return entry

    if step == "while releasing":
        os.fsync = lambda _: kill_self()  # type: ignore[assignment]
    store.Store._connected = connected  # type: ignore[method-assign]
    store._writing = writing
    store.Store.append = append  # type: ignore[method-assign]
    Ledger.charge = charge  # type: ignore[method-assign]
