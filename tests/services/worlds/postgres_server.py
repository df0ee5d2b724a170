"""A PostgreSQL server for one run of the tests: on a socket in a folder of its own."""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import quote

import pytest

_PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin")


def _binary(name: str) -> str | None:
    found = shutil.which(name)
    if found is None:
        for place in _PLACES:
            for path in sorted(Path("/").glob(place.lstrip("/") + "/" + name), reverse=True):
                return str(path)
    return found


class PostgresServer:
    """Started on construction, with the server's own defaults of durability."""

    def __init__(self) -> None:
        initdb, pg_ctl = _binary("initdb"), _binary("pg_ctl")
        if initdb is None or pg_ctl is None:
            pytest.skip("initdb and pg_ctl of PostgreSQL are not installed")
        self._control = pg_ctl
        self._as: list[str] = []
        self.user = pwd.getpwuid(os.getuid()).pw_name
        # Long paths make no sockets.
        self.folder = Path(tempfile.mkdtemp(prefix="pg"))
        if os.getuid() == 0:
            if shutil.which("setpriv") is None or "postgres" not in {
                u.pw_name for u in pwd.getpwall()
            }:
                pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
            self.user = "postgres"
            self._as = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
            shutil.chown(self.folder, "postgres")
        self.data = self.folder / "data"
        self._run([initdb, "-D", str(self.data), "-U", self.user, "-A", "trust", "--no-sync"])
        self.start()

    def _run(self, command: list[str]) -> None:
        done = subprocess.run(
            [*self._as, *command], capture_output=True, text=True, cwd=self.folder, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self) -> None:
        """Start, and wait until it answers."""
        options = f"-c listen_addresses= -c unix_socket_directories={self.folder}"
        self._run(
            [
                self._control,
                "-D",
                str(self.data),
                "-l",
                f"{self.folder}/log",
                "-o",
                options,
                "-w",
                "start",
            ]
        )

    def stop(self, mode: str = "fast") -> None:
        """Stop; ``immediate`` is a crash."""
        self._run([self._control, "-D", str(self.data), "-m", mode, "-w", "stop"])

    def remove(self) -> None:
        """Stop and delete everything."""
        self.stop("immediate")
        shutil.rmtree(self.folder)

    def address(self, name: str = "public") -> str:
        """Return the address of a schema."""
        options = quote(f"-csearch_path={name}")
        return f"postgresql://{self.user}@/postgres?host={self.folder}&options={options}"

    def schema_for(self, directory: Path, role: str) -> str:
        """Return the address of the schema of a service in a directory, made if it is not there."""
        import psycopg

        name = "w" + hashlib.sha256(f"{directory}/{role}".encode()).hexdigest()[:20]
        with psycopg.connect(self.address(), autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {name}")
        return self.address(name)

    def bytes_of_everything(self) -> bytes:
        """Return all files of the server after a checkpoint: tables, indexes, logs."""
        import psycopg

        with psycopg.connect(self.address(), autocommit=True) as connection:
            connection.execute("CHECKPOINT")
        found = []
        for path in self.data.rglob("*"):
            try:
                found.append(path.read_bytes() if path.is_file() else b"")
            except FileNotFoundError:
                continue  # the server replaces files of its own meanwhile
        return b"".join(found)
