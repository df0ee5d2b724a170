"""A service in a process of its own, to be attacked: its memory and its answers are looked at."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

_MAIN = """
import sys
from smoothdp.cli.main import main
main(sys.argv[1:])
"""


def free_port() -> int:
    """Return a port of this machine that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@dataclass
class Served:
    """A party that runs."""

    port: int
    admin: int
    process: subprocess.Popen[bytes]
    log: Path
    scheme: str = "http"

    def get(self, path: str, **more: Any) -> httpx.Response:
        return httpx.get(f"{self.scheme}://127.0.0.1:{self.port}{path}", **more)

    def ask(self, path: str, *, timeout: float = 10.0) -> httpx.Response:
        """Ask at the admin port."""
        return httpx.get(f"http://127.0.0.1:{self.admin}{path}", timeout=timeout)

    def wrong(self) -> set[str]:
        """Return what /readyz names."""
        return set(self.ask("/readyz").json()["wrong"])

    def memory(self) -> int:
        """Return the bytes that the process holds."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0]) * 1024

    def peak(self) -> int:
        """Return the most bytes that the process has held."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split("VmHWM:")[1].split()[0]) * 1024

    def lines(self) -> list[dict[str, str]]:
        """Return what was logged."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def wait(self, condition: Any, seconds: float = 20.0) -> None:
        """Wait until a condition holds."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)


@contextmanager
def serving(role: str, directory: Path, *more: str, scheme: str = "http") -> Iterator[Served]:
    """Run ``smoothdp serve`` in a process until the end."""
    port, admin = free_port(), free_port()
    log = directory.parent / f"{directory.name}.log"
    arguments = ["serve", role, str(directory), "--port", str(port)]
    arguments += ["--admin", f"127.0.0.1:{admin}", *more]
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-c", _MAIN, *arguments], stderr=stream, stdout=stream, env=os.environ
        )
    served = Served(port, admin, process, log, scheme)
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                if served.ask("/livez").text == "ok":
                    break
            except httpx.TransportError:
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.05)
        yield served
    finally:
        process.terminate()
        process.wait(timeout=30)


def from_address(address: str, port: int) -> socket.socket:
    """Connect from an address of this machine, so as to be many."""
    connection = socket.socket()
    connection.bind((address, 0))
    connection.settimeout(10)
    connection.connect(("127.0.0.1", port))
    return connection
