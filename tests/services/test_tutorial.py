"""The walk-through of the services, literally: every block of the page, in its order.

Only the ports are others, and `pip install` is left out. What a block prints is what the page
says, but for its numbers.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "serve.md"
BLOCK = re.compile(r"^```(sh|toml|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"\b[0-9a-f]{16,}|\b\d+(?:\.\d+)?(?:e-\d+)?\b")
SECONDS = 240.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def command_directory(directory: Path) -> Path:
    """Return a directory in which `smoothdp` and `python` are these ones."""
    directory.mkdir()
    script = directory / "python"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    script.chmod(0o755)
    script = directory / "smoothdp"
    script.write_text(f"#!{sys.executable}\nfrom smoothdp.cli import main\nmain()\n")
    script.chmod(0o755)
    return directory


def says_the_same(page: str, printed: str) -> bool:
    """Whether a program printed what the page says; numbers are any, ... is anything."""
    wanted, got = (NUMBER.sub("#", text) for text in (page, printed))
    return doctest.OutputChecker().check_output(wanted, got, doctest.ELLIPSIS)


def test_other_words_are_noticed_and_other_numbers_are_not() -> None:
    assert says_the_same("Accepted for window 7.\n", "Accepted for window 29923308.\n")
    assert says_the_same('"sum": 93.4, ...\n', '"sum": 101.25, "more"\n')
    assert not says_the_same("Accepted for window 7.\n", "Refused for window 7.\n")


class Shell:
    """The reader's terminals: a folder that `cd` moves, and services that go on."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self._note = folder, folder / "place"
        self._environment = environment | {"PLACE": str(self._note)}
        self.services: list[subprocess.Popen[str]] = []

    def run(self, block: str, *, good: tuple[int, ...] = (0,)) -> str:
        """Run a block, whose status must be a good one, and return what it printed."""
        lines = [line for line in block.splitlines() if not line.startswith("pip ")]
        done = subprocess.run(
            ["sh", "-ec", "\n".join(lines) + '\npwd > "$PLACE"'],
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
        )
        assert done.returncode in good, (block, done.stdout)
        if done.returncode == 0:
            self.folder = Path(self._note.read_text().strip())
        return done.stdout

    def start(self, block: str) -> None:
        """Start a service in a terminal of its own."""
        self.services.append(
            subprocess.Popen(
                ["sh", "-c", f"exec {block}"],
                cwd=self.folder,
                env=self._environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )

    def stop(self) -> list[str]:
        """Stop all services; return what each said."""
        for service in self.services:
            service.terminate()
        return [service.communicate(timeout=30)[0] for service in self.services]


def run_until(shell: Shell, block: str, page: str) -> None:
    """Run a block, as the page tells, until it prints what stands there."""
    deadline = time.monotonic() + SECONDS
    while not says_the_same(page, printed := shell.run(block, good=(0, 1))):
        assert time.monotonic() < deadline, printed
        time.sleep(1.0)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("sh") is None, reason="no shell")
def test_the_walk_through(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    for port in ("8601", "8602", "8603"):
        text = text.replace(port, str(free_port()))
    path = f"{command_directory(tmp_path / 'bin')}{os.pathsep}{os.environ['PATH']}"
    shell = Shell(
        tmp_path,
        {
            **os.environ,
            "PATH": path,
            "PYTHONPATH": str(Path(__file__).parents[2] / "src"),
            "XDG_STATE_HOME": str(tmp_path / "state"),
        },
    )
    blocks = BLOCK.findall(text)
    try:
        for place, (kind, block) in enumerate(blocks):
            after = blocks[place + 1] if place + 1 < len(blocks) else ("", "")
            if kind == "text":
                continue
            if kind != "sh":
                name = block.splitlines()[0].removeprefix("# ")
                (shell.folder / name).write_text(block)
            elif block.startswith("smoothdp serve check"):
                run_until(shell, block, after[1])
            elif block.startswith("smoothdp serve "):
                shell.start(block)
            else:
                printed = shell.run(block)
                wanted = after[1] if after[0] == "text" else ""
                assert says_the_same(wanted, printed), (block, printed)
    finally:
        said = shell.stop()
    result = json.loads(json.loads((shell.folder / "result.json").read_text())["result"])
    assert 200 <= result["users"] <= result["accounts_served"] <= 301
    assert abs(result["sum"] - result["users"] / 3) < 5 * result["error_of_sum"]
    assert result["epsilon_of_this_batch"] <= 1
    assert result["charged"]["number"] == 1
    for service in said:
        events = [json.loads(line)["event"] for line in service.splitlines()]
        starts = ("not ready: ", "ready again: ", "work was put off")
        assert all(event.startswith(starts) for event in events), service
