"""An eighth round, on what parties keep: who writes their files, copies, and parties that were away."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from smoothdp.services.formats.party_files import revoke_tokens
from smoothdp.services.operations.clock_guard import ClockGuard
from smoothdp.services.shuffler.shuffler_party import ShufflerParty, issue_passes
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.directories import party_directories

pytestmark = ONLY_SQLITE

NOBODY = 65534
"""Some user of the machine who is not root."""


def as_another_user(call: Callable[[], None]) -> int:
    """Run something in a process of another user; return 0 if it went well."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        call()
        code = 0
    finally:
        os._exit(code)


@pytest.fixture
def folder_of_another_user() -> Iterator[Path]:
    """A folder that another user reaches, as /var/lib is."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs another user")
def test_what_root_revokes_counts_for_a_service_of_a_user_of_its_own(
    folder_of_another_user: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """`smoothdp task revoke`: "The service may run; it takes them no more from now on."

    The unit of systemd gives each party a user of its own, and a directory that is this user's
    alone; so it is root who revokes.
    """
    folder = folder_of_another_user
    directory = party_directories(folder).shuffler
    lost, kept = issue_passes(directory, 2)
    for path in (directory, *directory.iterdir()):
        os.chown(path, NOBODY, NOBODY)
    told, tell = os.pipe()
    asked, ask = os.pipe()

    def serve() -> None:
        now = 3_600_600.0
        clocks = ClockGuard(wall=lambda: now, boot=lambda: now - 1000)
        party = ShufflerParty.from_directory(directory, clocks=clocks)
        assert party.shuffler.sender(lost) is not None
        os.write(tell, b"started")
        os.read(asked, 1)
        assert party.shuffler.sender(kept) is not None
        assert party.shuffler.sender(lost) is None, "a pass that was revoked is let in"

    child = os.fork()
    if not child:
        code = 1
        try:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            serve()
            code = 0
        finally:
            os._exit(code)
    os.read(told, 7)
    assert revoke_tokens(directory, [lost]) == 1
    os.write(ask, b"!")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
