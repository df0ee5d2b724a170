"""The walk-through of the services, literally: every block of the page, in its order.

Only the two ports are others, and `pip install` is left out.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "serve.md"
BLOCK = re.compile(r"^```(sh|toml|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


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


def until_it_answers(port: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"http://127.0.0.1:{port}/healthz").text == "ok":
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError(f"nothing at {port}")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("sh") is None, reason="no shell")
def test_the_walk_through(tmp_path: Path) -> None:
    ports = {"8601": free_port(), "8602": free_port()}
    text = PAGE.read_text(encoding="utf-8")
    for written, free in ports.items():
        text = text.replace(written, str(free))
    path = f"{command_directory(tmp_path / 'bin')}{os.pathsep}{os.environ['PATH']}"
    source = str(Path(__file__).parents[2] / "src")
    environment = {
        **os.environ,
        "PATH": path,
        "PYTHONPATH": source,
        "PLACE": str(tmp_path / "place"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    place, printed = tmp_path, []
    services: list[subprocess.Popen[str]] = []
    try:
        for kind, block in BLOCK.findall(text):
            if kind != "sh":
                name = block.splitlines()[0].removeprefix("# ")
                (place / name).write_text(block)
            elif block.startswith("smoothdp serve "):
                services.append(
                    subprocess.Popen(
                        ["sh", "-c", f"exec {block}"],
                        cwd=place,
                        env=environment,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT,
                        text=True,
                    )
                )
                until_it_answers(ports["8602" if "analyzer" in block else "8601"])
            else:
                commands = "\n".join(
                    line for line in block.splitlines() if not line.startswith("pip ")
                )
                done = subprocess.run(
                    ["sh", "-ec", commands + '\npwd > "$PLACE"'],
                    cwd=place,
                    env=environment,
                    capture_output=True,
                    text=True,
                    timeout=240,
                )
                assert done.returncode == 0, (block, done.stdout, done.stderr)
                printed.append(done.stdout)
                place = Path((tmp_path / "place").read_text().strip())
    finally:
        for service in services:
            service.terminate()
        said = [service.communicate(timeout=30)[0] for service in services]
    result = json.loads(next(out for out in printed if out.startswith("{")))
    # The one user by command may be in the same window or in the one before.
    assert result["users"] in (300, 301)
    assert abs(result["sum"] - 100) < 5 * result["error_of_sum"]
    assert result["epsilon_of_this_batch"] <= 1
    assert result["charged"]["number"] == 1
    assert any("Accepted for window" in out for out in printed)
    assert "window" in printed[-1]
    assert said == ["", ""]
