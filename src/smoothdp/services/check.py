"""``serve check``: is a party's directory fit to be served, and is its peer there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.services.analyzer.analyzer_tables import ANALYZER_SCHEMA
from smoothdp.services.analyzer.task_ledger import TaskLedger
from smoothdp.services.operations.health import (
    Check,
    Condition,
    certificate_condition,
    disk_condition,
    storage_condition,
)
from smoothdp.services.operations.logs import Cause, cause_of, words_of
from smoothdp.services.operations.own_files import (
    files_condition,
    rights_condition,
    storage_file_condition,
    time_condition,
)
from smoothdp.services.operations.tls import Trust
from smoothdp.services.shuffler.shuffler_tables import SHUFFLER_SCHEMA
from smoothdp.services.store.migrations import Schema
from smoothdp.services.store.party_storage import STORAGE_FILE, open_storage
from smoothdp.services.wire.calls import ask, connect
from smoothdp.services.wire.hybrid import PrivateKey
from smoothdp.services.wire.key_files import SECRETS_FILE, TASK_FILE, read_secret, read_task


@dataclass(frozen=True, slots=True)
class _Role:
    name: str
    secrets: tuple[str, ...]
    schema: Schema | str


_ROLES = (
    _Role("shuffler", ("issuing_key", "delivery_token"), SHUFFLER_SCHEMA),
    _Role(
        "analyzer",
        ("private_key", "delivery_token_sha256", "collector_token_sha256"),
        ANALYZER_SCHEMA,
    ),
)


def check_party(
    directory: Path,
    *,
    peer: str | None = None,
    trust: Trust | None = None,
    certificate: Path | None = None,
) -> list[Condition]:
    """Return what was found in a party's directory, good or not; nothing is changed.

    Args:
        directory: of a shuffler or an analyser; it may be in use.
        peer: address of the other party; not asked if None.
        trust: whom to believe at that address.
        certificate: the service's own, PEM.

    >>> [found.name for found in check_party(Path("nowhere")) if not found.good]
    ['files']
    """
    found = [_asked("files", lambda: files_condition(directory, [TASK_FILE, SECRETS_FILE]))]
    if not found[0].good:
        return found
    checks: dict[str, Check] = {
        "rights": lambda: rights_condition(directory, public=[TASK_FILE, "log"]),
        "keys": lambda: _keys(directory),
        "storage": lambda: _storage(directory),
        "ledger": lambda: _ledger(directory),
        "clock": lambda: time_condition(directory),
        "disk": lambda: disk_condition(directory),
    }
    if certificate is not None:
        checks["certificate"] = lambda: certificate_condition(certificate)
    if peer is not None:
        checks["peer"] = lambda: _peer(peer, trust)
    return found + [_asked(name, check) for name, check in checks.items()]


def _asked(name: str, check: Callable[[], Condition]) -> Condition:
    try:
        return check()
    except (SmoothdpError, OSError) as error:
        words = str(error) if isinstance(error, SmoothdpError) else words_of(error)
        return Condition(name, False, words, cause_of(error))


def _role(directory: Path) -> _Role:
    for role in _ROLES:
        try:
            read_secret(directory / SECRETS_FILE, role.secrets)
        except InvalidData as error:
            # Damaged, or readable by others, is said as it is; another party's is looked for.
            if "another party" not in str(error):
                raise
            continue
        return role
    raise InvalidData(
        expected="the directory of a shuffler or of an analyser",
        got=f"the secrets of somebody else in {directory}",
        remedy="Give the directory that this party serves from",
    )


def _keys(directory: Path) -> Condition:
    role, task = _role(directory), read_task(directory)
    if role.name == "analyzer":
        secrets = read_secret(directory / SECRETS_FILE, ("private_key",))
        key = PrivateKey.from_bytes(bytes.fromhex(secrets["private_key"]))
        if key.public.to_bytes().hex() != task.analyzer_key:
            return Condition("keys", False, "the key of another task: nothing could be opened")
    return Condition("keys", True, f"of the {role.name} of task {task.task_id.hex()[:16]}")


def _storage(directory: Path) -> Condition:
    role = _role(directory)
    if not (directory / STORAGE_FILE).is_file():
        return storage_file_condition(directory / f"{role.name}.sqlite", role.schema)
    storage = open_storage(directory, role.name, role.schema)
    try:
        return storage_condition(storage)
    finally:
        storage.close()


def _ledger(directory: Path) -> Condition:
    if _role(directory).name != "analyzer":
        return Condition("ledger", True, "this party has none")
    task = read_task(directory)
    path = directory / f"ledger-{task.task_id.hex()[:16]}.db"
    if not path.is_file():
        # Whether results were released without it, the analyser says at its start.
        return Condition("ledger", True, "none yet: nothing was released")
    charged = TaskLedger(directory, task).charged()
    return Condition("ledger", True, f"whole, with {len(charged)} windows charged")


def _peer(address: str, trust: Trust | None) -> Condition:
    with connect(address, trust=trust) as http:
        status = ask(http, "GET", "/healthz").status
    if status != 200:
        return Condition("peer", False, f"it answers {status}", Cause.CONNECTION)
    return Condition("peer", True, "it answers")
