"""Three parties that listen, and a person with files of secrets who runs commands."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path

from smoothdp.cli.main import main
from smoothdp.services import issue_invitations
from smoothdp.services.shuffler.shuffler_party import issue_passes
from smoothdp.services.wire.running import on_loopback
from tests.services.worlds.three_parties import USERS, Parties

LONG = 10**8


class Place:
    """Three parties that listen, and files of secrets; clients have the clock of this machine."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.parties = Parties(folder, stack, now=time.time(), window_seconds=LONG)
        self.parties.round()
        url, pause = self.parties.url, 3600.0
        self.issuer = stack.enter_context(
            on_loopback(self.parties.issuer.app(url, work_seconds=pause))
        )
        self.shuffler = stack.enter_context(
            on_loopback(self.parties.shuffler.app(url, work_seconds=pause))
        )
        self.passes = issue_passes(folder / "shuffler", USERS)
        self.invitations = issue_invitations(folder / "issuer", USERS)
        self.window = int(self.parties.now // LONG)
        for name, text in (("pass", self.passes[0]), ("invitation", self.invitations[0])):
            (folder / name).write_text(text + "\n")

    def submit(self, datum: str = "1", **files: str) -> None:
        """Run the command; files are named by option."""
        folder = self.folder
        options = {"pass": "pass", "invitation": "invitation"} | files
        named = [
            part for name, file in options.items() for part in (f"--{name}", f"{folder}/{file}")
        ]
        where = ["--shuffler", self.shuffler, "--issuer", self.issuer]
        main(["submit", datum, "--task", f"{folder}/shuffler/task.json", *where, *named])
