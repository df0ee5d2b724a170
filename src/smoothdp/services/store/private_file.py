"""A file that its owner alone reads, made without opening one that is there."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path

_making = threading.Lock()


def make_private(path: Path) -> str:
    """Make a file that its owner alone reads, if it is not there; return why not, or "".

    One that is there is not opened. Whoever closes a file gives back all locks of the process on
    it, also those of a connection elsewhere in the program: other programs would then take its
    log away while it writes there (https://www.sqlite.org/howtocorrupt.html, 2.2).
    """
    made = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW
    try:
        # One at a time: a new file is closed before anybody here connects to it.
        with _making:
            try:
                handle = os.open(path, made, 0o600)
            except FileExistsError:
                return _keep_private(path)
            os.fchmod(handle, 0o600)
            os.close(handle)
    except OSError as error:
        # A folder that shows nothing does not say either what is a link.
        permitted = not isinstance(error, PermissionError)
        return "a link" if permitted and path.is_symlink() else f"{error.strerror}"
    return ""


def _keep_private(path: Path) -> str:
    """Take the rights of others to a file that is there; return why not, or ""."""
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return "a link"
    if stat.S_ISDIR(status.st_mode):
        return os.strerror(errno.EISDIR)
    effective = os.access in os.supports_effective_ids
    if not os.access(path, os.R_OK | os.W_OK, effective_ids=effective):
        read_only = os.statvfs(path).f_flag & os.ST_RDONLY
        return os.strerror(errno.EROFS if read_only else errno.EACCES)
    if stat.S_IMODE(status.st_mode) != 0o600:
        path.chmod(0o600)
    return ""


def identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from one that was put in its place; None if it is not there."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
