"""Where a user's clients keep their state: one folder of the user, not of where they stand."""

from __future__ import annotations

import os
from pathlib import Path

from smoothdp.data.refusals import reason
from smoothdp.errors import InvalidData

STATE_HOME = "XDG_STATE_HOME"


def client_folder() -> Path:
    """Return ``$XDG_STATE_HOME/smoothdp/clients``, which its owner alone enters; made if not there.

    The default of the variable is ``~/.local/state``. A relative path in it is not used, as the
    specification says: each folder would have a state of its own. So is a relative home folder.

    Source: XDG Base Directory Specification 0.8, state files.

    Raises:
        InvalidData: no home folder, a folder that cannot be made, or one that is somebody else's.
    """
    named = Path(os.environ.get(STATE_HOME, ""))
    try:
        home = named if named.is_absolute() else Path.home() / ".local" / "state"
        if not home.is_absolute():
            raise RuntimeError
    except RuntimeError:
        raise InvalidData(
            expected="a home folder",
            got="none, or a relative path",
            remedy=f"Set {STATE_HOME} to a folder of yours",
        ) from None
    folder = home
    try:
        _make(home)
        for part in ("smoothdp", "clients"):
            folder = folder / part
            _make(folder)
            _require_own(folder)
            os.chmod(folder, 0o700)
    except OSError as error:
        raise InvalidData(
            expected=f"a folder for the state of clients at {folder}",
            got=reason(error),
            remedy=f"Get the right to write there, or set {STATE_HOME} to a folder of yours",
        ) from None
    return folder


def _require_own(folder: Path) -> None:
    status = folder.lstat()
    if folder.is_symlink() or status.st_uid != os.geteuid():
        raise InvalidData(
            expected=f"{folder} to be a folder of yours",
            got="a link" if folder.is_symlink() else "somebody else's",
            remedy=f"Move {folder} away, or set {STATE_HOME} to a folder of yours",
        )


def _make(folder: Path) -> None:
    """Make a folder, and those that it is in, so that they survive a loss of power."""
    if folder.is_dir():
        return
    if folder.parent != folder:
        _make(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    above = os.open(folder.parent, os.O_RDONLY)
    try:
        os.fsync(above)
    finally:
        os.close(above)
