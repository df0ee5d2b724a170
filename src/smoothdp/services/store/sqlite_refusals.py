"""What SQLite refuses, and what is to be done about it."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from pathlib import Path


def remedy_of(path: Path, words: str) -> str:
    """Return what to do about a file that cannot be opened, by the words of who refused.

    Where the state is there, another path would be another, empty one.

    >>> remedy_of(Path("state.sqlite"), "database or disk is full")
    'Make room on the disk, and start again: nothing is lost'
    """
    if "full" in words or words == os.strerror(errno.ENOSPC):
        return "Make room on the disk, and start again: nothing is lost"
    if "locked" in words:
        return "See which process holds it, end that, and start again"
    if "I/O" in words:
        # What a full disk looks like too, where there is a log to be opened.
        return "Make room on the disk, see that it is sound, and start again: the state is here"
    if "not a database" not in words and _is_state(path):
        rights = "See that the service may read and write it, its folder and what lies beside it"
        return f"{rights}, and start again: the state is here"
    return "Give another path, where the service may keep a file of its own"


def _is_state(path: Path) -> bool:
    """Whether a file with something in it is there, or may be: its folder shows nothing."""
    try:
        status = path.lstat()
    except PermissionError:
        return True
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size > 0


def takes_nothing(error: sqlite3.OperationalError) -> bool:
    """Whether a disk has no more room for this user, fails, or may only be read."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY)
