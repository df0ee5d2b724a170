"""The list of the revoked: who writes it, what it says, and whom it keeps out."""

from __future__ import annotations

import encodings.ascii  # noqa: F401, a child of another user may not read it
import errno
import io
import json
import os
import resource
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner

from smoothdp.cli.serving.task_revoke import revoke as revoke_command
from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.services.formats.party_files import revoke_tokens
from smoothdp.services.issuer.issuer_party import issue_invitations
from smoothdp.services.operations.clock_guard import ClockGuard
from smoothdp.services.operations.logs import json_lines
from smoothdp.services.operations.tls import Trust
from smoothdp.services.shuffler.shuffler_party import ShufflerParty, issue_passes
from smoothdp.services.shuffler.shuffler_tables import SHUFFLER_SCHEMA
from smoothdp.services.store.revoked import REVOKED_TABLE, Revoked, ids_of, revoke
from smoothdp.services.store.storage import SqliteStorage
from tests.services.storages import ONLY_SQLITE, open_state
from tests.services.worlds.directories import party_directories
from tests.services.worlds.three_parties import Parties
from tests.services.worlds.whole_world import WholeWorld

NOBODY = 65534
"""Some user of the machine who is not root."""


@pytest.fixture
def folder_of_another_user() -> Iterator[Path]:
    """A folder that another user reaches."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


@ONLY_SQLITE
@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="not root")
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


@ONLY_SQLITE
def test_whoever_is_revoked_while_a_certificate_is_bad_stays_revoked(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "The ids in the file `revoked` are kept in the party's database too, from its
    start or the next round of work (10 s) on."

    A file of authorities that cannot be read ended the rounds before their first step.
    """
    directory = party_directories(tmp_path).shuffler
    (secret,) = issue_passes(directory, 1)
    party = ShufflerParty.from_directory(directory)
    assert revoke_tokens(directory, [secret]) == 1
    assert party.shuffler.sender(secret) is None
    (tmp_path / "ca.pem").write_text("half a file")
    with pytest.raises(SmoothdpError):
        party.work("https://127.0.0.1:9", trust=Trust(ca=tmp_path / "ca.pem"))
    party.close()
    (directory / "revoked").unlink()
    party = ShufflerParty.from_directory(directory)
    sender = party.shuffler.sender(secret)
    party.close()
    assert sender is None


@ONLY_SQLITE
def test_who_was_revoked_is_remembered_from_the_next_round_of_work_on(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "A party whose list of the revoked is lost or older remembers it in its
    database; with the database lost too, whoever was revoked is let in again".

    Without the database being lost too: whoever was revoked since the last round of work, and was
    refused already, if the program is stopped before the next one and the list is lost.
    """
    storage, path = SqliteStorage(tmp_path / "state.sqlite", REVOKED_TABLE), tmp_path / "revoked"
    for goes_round in (False, True):
        who = bytes([goes_round]) * 16
        running = Revoked(path, storage, bytes(32))
        revoke(path, [who])
        assert who in running
        if goes_round:
            running.remember()
        path.unlink()
        assert (who in Revoked(path, storage, bytes(32))) is goes_round
    storage.close()


def test_an_invitation_revoked_in_a_window_ends_no_report_and_gives_no_second(
    tmp_path: Path,
) -> None:
    """Tokens that were given stay good, and count in X; another device gets none."""
    world = WholeWorld(tmp_path)
    world.open_window()
    for person in ("bob", "cy"):
        assert world.take_part(person) == 202
    world.take_part("ann", lose=("reports request",))
    revoke(tmp_path / "revoked", [b"ann".rjust(16)])
    assert world.take_part("ann", device="other") == 401
    assert world.take_part("ann") == 202
    document = world.end()
    assert (document["state"], document["users"], document["accounts_served"]) == ("RELEASED", 3, 3)
    world.close()


@ONLY_SQLITE
def test_whoever_is_revoked_after_a_line_without_an_end_is_out(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Two ids in one line were none: the second person stayed in, and nobody was told."""
    file, first, second = tmp_path / "revoked", b"1" * 16, b"2" * 16
    revoked = Revoked(file)
    file.write_text(first.hex())
    assert first in revoked
    revoke(file, [second])
    assert second in revoked
    assert file.read_text() == f"{first.hex()}\n{second.hex()}\n"


@ONLY_SQLITE
def test_a_damaged_list_is_said_to_whoever_revokes(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    file, who = tmp_path / "revoked", b"1" * 16
    file.write_text(who.hex()[:9])
    with pytest.raises(InvalidData, match="Correct that file"):
        revoke(file, [who])
    assert file.read_text() == who.hex()[:9]


@ONLY_SQLITE
@pytest.mark.parametrize("content", [b"\xdc\x00\xff", "\ufeffabc\n".encode(), "ü\n".encode()])
def test_a_list_that_is_no_text_revokes_nobody_in_words(tmp_path: Path, content: bytes) -> None:
    written = party_directories(tmp_path / "t")
    issue_passes(written.shuffler, 1)
    file = tmp_path / "lost"
    file.write_bytes(content)
    result = CliRunner().invoke(revoke_command, [str(written.shuffler), str(file)])
    assert result.exit_code in (1, 2)
    assert "none was revoked" in " ".join(result.output.split())
    assert not (written.shuffler / "revoked").exists()


@ONLY_SQLITE
@pytest.mark.parametrize("before_the_start", [True, False])
def test_a_list_of_the_revoked_that_is_emptied_is_a_line_of_json_each_ten_minutes(
    tmp_path: Path, before_the_start: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whether the service ran meanwhile or not; and a list that is no list is named too."""
    path, task = tmp_path / "revoked", b"t" * 32
    with closing(open_state(tmp_path, "shuffler", SHUFFLER_SCHEMA)) as storage:
        revoke(path, [b"1" * 16, b"2" * 16])
        revoked = Revoked(path, storage, task)
        path.write_text(f"{(b'1' * 16).hex()}\n")
        if before_the_start:
            revoked = Revoked(path, storage, task)
        assert capfd.readouterr() == ("", "")
        with json_lines("shuffler", stream=(stream := io.StringIO())):
            revoked.remember()
            revoked.remember()
            assert b"2" * 16 in revoked
            path.write_text("not an id")
            revoked.remember()
        short, unread = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert short["event"] == "the list of the revoked is short"
    assert "revoked lacks 1 ids" in short["says"]
    assert unread["event"] == "the list of the revoked was not read"
    assert str(path) in unread["says"]
    assert capfd.readouterr() == ("", "")


@ONLY_SQLITE
def test_revoking_on_a_full_disk_leaves_a_list(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "a full disk loses nothing".

    There is room for a part of a line. `task revoke` says that the disk is full; after that the
    list is none, nobody can be revoked, and the shuffler does not start again.
    """
    with ExitStack() as stack:
        Parties(tmp_path, stack).round()
    path = tmp_path / "shuffler" / "revoked"
    # 124 lines of 33 bytes; the 125th is not whole at 4,096.
    revoke(path, [number.to_bytes(16) for number in range(124)])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises((OSError, SmoothdpError)):
            revoke(path, [b"lost" * 4])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    # There is room again.
    revoke(path, [b"lost" * 4])
    ShufflerParty.from_directory(tmp_path / "shuffler").close()


@ONLY_SQLITE
def test_who_was_revoked_stays_so_where_another_list_finds_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guide: "**Revoked is revoked.** `smoothdp task revoke` may be run by root or by the
    service's user", and so by both at once.

    A long list finds no room on the disk, a short one does in the last block of the file: the first
    took itself out again, and the second with it, of which it had been said that it is revoked.
    """
    path, one, many = tmp_path / "revoked", b"1" * 16, [bytes([n]) * 16 for n in range(200)]
    write, other = os.write, Thread(target=revoke, args=(path, [one]))

    def full(handle: int, data: Any) -> int:
        if len(data) < 200 * 33:
            return write(handle, data)
        other.start()
        # Until it is done, or for as long as it waits for this one.
        other.join(timeout=0.5)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        revoke(path, many)
    other.join()
    assert ids_of(path) == {one}


@ONLY_SQLITE
def test_an_invitation_is_not_revoked_where_passes_are_made(tmp_path: Path) -> None:
    """The guide: "Revoked is revoked": the exchanged file is refused, not noted in vain."""
    written = party_directories(tmp_path)
    (invitation,) = issue_invitations(written.issuer, 1)
    with pytest.raises(InvalidData, match="none was revoked"):
        revoke_tokens(written.shuffler, [invitation])
    assert not (written.shuffler / "revoked").exists()
    assert revoke_tokens(written.issuer, [invitation]) == 1
