"""``serve check``: is a party's directory fit to be served, and is its peer there."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smoothdp.errors import InvalidData, LedgerError, SmoothdpError
from smoothdp.ledger import Ledger
from smoothdp.services.analyzer.analyzer import noted
from smoothdp.services.analyzer.analyzer_party import INNER_KEYS_FILE
from smoothdp.services.analyzer.analyzer_tables import ANALYZER_SCHEMA, MADE, SIGNED
from smoothdp.services.analyzer.window_cards import key_scope
from smoothdp.services.formats.party_files import (
    CALLERS_FILE,
    PUBLIC_FILE,
    read_callers,
    read_task,
)
from smoothdp.services.formats.signing import SigningKey
from smoothdp.services.formats.task import Task
from smoothdp.services.issuer.issuer_tables import ISSUER_SCHEMA
from smoothdp.services.operations.clock_guard import ClockGuard
from smoothdp.services.operations.health import (
    Check,
    Condition,
    cards_condition,
    certificate_condition,
    disk_condition,
    keys_condition,
)
from smoothdp.services.operations.logs import Cause, cause_of, words_of
from smoothdp.services.operations.own_files import (
    copied,
    files_condition,
    postgres_condition,
    read_rows,
    rights_condition,
    storage_file_condition,
    time_condition,
)
from smoothdp.services.operations.tls import Trust
from smoothdp.services.shuffler.poll_routes import signed_results
from smoothdp.services.shuffler.shuffler_party import GATEWAY_KEYS_FILE
from smoothdp.services.shuffler.shuffler_tables import OPEN, SHUFFLER_SCHEMA
from smoothdp.services.store.migrations import Schema
from smoothdp.services.store.party_storage import STORAGE_FILE
from smoothdp.services.store.revoked import REVOKED_FILE, ids_of
from smoothdp.services.wire.calls import ask, connect
from smoothdp.services.wire.clock_call import CLOCK_PATH, TELLS_NOTHING, hear_clock
from smoothdp.services.wire.key_files import SECRETS_FILE, TASK_FILE, read_secret

_ELSEWHERE = (
    f"in PostgreSQL at an address that is given at the start: put it into the file {STORAGE_FILE} "
    "and it is looked at"
)


@dataclass(frozen=True, slots=True)
class _Role:
    """A party, told from others by the names of its secrets."""

    name: str
    secrets: tuple[str, ...]
    schema: Schema


# Of two whose names are among each other's, the one with more names is first.
_ROLES = (
    _Role("shuffler", ("sign_key", "pass_key", "analyzer_token"), SHUFFLER_SCHEMA),
    _Role("issuer", ("sign_key", "invitation_key", "analyzer_token"), ISSUER_SCHEMA),
    _Role("analyzer", ("sign_key",), ANALYZER_SCHEMA),
)
_PUBLIC = (TASK_FILE, PUBLIC_FILE, CALLERS_FILE)


def check_party(
    directory: Path,
    *,
    peer: str | None = None,
    trust: Trust | None = None,
    certificate: Path | None = None,
    results: Path | None = None,
) -> list[Condition]:
    """Return what was found in a party's directory, good or not; nothing is changed.

    Args:
        directory: of a shuffler, an issuer or an analyser; it may be in use.
        peer: address of the other party; not asked if None.
        trust: whom to believe at that address.
        certificate: the service's own, PEM.
        results: a folder of published results, under any names and in folders below: the ledger
            must have a charge for each.

    >>> [found.name for found in check_party(Path("nowhere")) if not found.good]
    ['files']
    """
    found = [_asked("files", lambda: files_condition(directory, [TASK_FILE, SECRETS_FILE]))]
    if not found[0].good:
        return found
    checks: dict[str, Check] = {
        "rights": lambda: rights_condition(directory, public=_PUBLIC),
        "keys": lambda: _keys(directory),
        "storage": lambda: _storage(directory),
        "ledger": lambda: _ledger(directory, results),
        "clock": lambda: time_condition(directory),
        "disk": lambda: disk_condition(directory),
    }
    role = _asked_role(directory)
    if role is not None:
        checks["cards"] = lambda: _cards(directory, role)
        if role.name != "analyzer":
            checks["revoked"] = lambda: _revoked(directory, role)
    if certificate is not None:
        checks["certificate"] = lambda: certificate_condition(certificate)
    if peer is not None:
        checks["peer"] = lambda: _peer(directory, role, peer, trust)
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
        expected="the directory of a shuffler, an issuer or an analyser",
        got=f"the secrets of somebody else in {directory}",
        remedy="Give the directory that this party serves from",
    )


def _asked_role(directory: Path) -> _Role | None:
    try:
        return _role(directory)
    except SmoothdpError:
        return None  # the condition of the keys says why


def _keys(directory: Path) -> Condition:
    role = _role(directory)
    task = read_task(directory)
    secrets = read_secret(directory / SECRETS_FILE, role.secrets)
    own = SigningKey.from_bytes(bytes.fromhex(secrets["sign_key"])).public.hex
    named = {"analyzer": task.analyzer_sign_key, "shuffler": task.shuffler_sign_key}
    named["issuer"] = "" if task.issuer is None else task.issuer.sign_key
    if own != named[role.name]:
        return Condition("keys", False, "the key of another task: the other parties refuse it")
    if role.name == "analyzer":
        read_callers(directory)
    # A file that is no database is named as the storage.
    with suppress(InvalidData):
        if lost := _lost_keys(directory, role, task):
            return keys_condition(lost)
    return Condition("keys", True, f"of the {role.name} of task {task.task_id.hex()[:16]}")


def _lost_keys(directory: Path, role: _Role, task: Task) -> int:
    """Return of how many windows that go on the private key is lost, as far as files tell."""
    if role.name == "issuer":
        return 0  # its keys lie in the file that says so
    file, table, states = {
        "shuffler": (GATEWAY_KEYS_FILE, "collecting", (OPEN, OPEN)),
        "analyzer": (INNER_KEYS_FILE, "card", (MADE, SIGNED)),
    }[role.name]
    going_on = _rows(
        directory / f"{role.name}.sqlite",
        table,
        f"SELECT window FROM {table} WHERE task_id = ? AND state IN (?, ?)",
        (task.task_id, *states),
    )
    scopes = _rows(directory / file, "data_key", "SELECT scope FROM data_key")
    there = {bytes(scope) for (scope,) in scopes}
    return sum(key_scope(task.task_id, int(window)) not in there for (window,) in going_on)


def _cards(directory: Path, role: _Role) -> Condition:
    """Whether there are cards of the window that is open now, or of later ones."""
    task = read_task(directory)
    path = directory / f"{role.name}.sqlite"
    if (directory / STORAGE_FILE).is_file():
        return Condition("cards", True, "in PostgreSQL: /readyz counts them while the party runs")
    if not path.is_file():
        return Condition("cards", True, "none yet, they are made while all parties run")
    now = int(time.time() // task.window_seconds)
    rows = read_rows(
        path,
        "SELECT count(*) FROM card WHERE task_id = ? AND window >= ? AND signed IS NOT NULL",
        (task.task_id, now),
    )
    return cards_condition(int(rows[0][0]))


def _storage(directory: Path) -> Condition:
    role = _role(directory)
    if not (directory / STORAGE_FILE).is_file():
        if (directory / f"{role.name}.keys.sqlite").is_file():
            return Condition("storage", True, _ELSEWHERE)
        return storage_file_condition(directory / f"{role.name}.sqlite", role.schema)
    return postgres_condition(directory, role.name, role.schema)


def _ledger(directory: Path, results: Path | None) -> Condition:
    if _role(directory).name != "analyzer":
        return Condition("ledger", True, "this party has none")
    task = read_task(directory)
    path = directory / f"ledger-{task.task_id.hex()[:16]}.db"
    state = directory / "analyzer.sqlite"
    rows = _rows(state, "release", "SELECT window FROM release WHERE task_id = ?", (task.task_id,))
    released = {int(window) for (window,) in rows}
    notes = _rows(directory / INNER_KEYS_FILE, "note", "SELECT name FROM note")
    released |= noted((bytes(name) for (name,) in notes), task)
    shown: list[dict[str, Any]] = []
    if results is not None:
        compared = signed_results(_files(results), task)
        if not compared:
            words = f"nothing to compare: no file in {results} is signed by this task's analyser"
            return Condition("ledger", False, words, Cause.LEDGER)
        # A window that was refused has a signed statement too, and no charge.
        shown = [one.document for one in compared if "state" not in one.document]
        released |= {int(document["window"]) for document in shown}
    charged: dict[int, str] = {}
    if path.is_file():
        try:
            with copied(path) as copy:
                entries = Ledger(copy).entries()
        except LedgerError as error:
            words = str(error).replace(str(copy), str(path))
            return Condition("ledger", False, words, Cause.LEDGER)
        ours = [e for e in entries if e.parameters.get("task_id") == task.task_id.hex()]
        charged = {int(e.parameters["window"]): e.parameters.get("batch", "") for e in ours}
    lost = released - charged.keys()
    if lost:
        return Condition(
            "ledger",
            False,
            f"no charge of {len(lost)} windows that were released, such as {min(lost)}: restore "
            f"the newest copy of {path.name}",
            Cause.LEDGER,
        )
    if twice := sorted(set(_of_other_batches(shown, charged))):
        words = (
            f"results of {len(twice)} windows are of another batch than was charged, such as "
            f"{twice[0]}: one charge, two results. Stop the analyser: the difference of the two "
            "may show one person"
        )
        return Condition("ledger", False, words, Cause.LEDGER)
    words = f"whole; windows charged: {len(charged)}"
    if results is not None:
        words += f"; signed results compared: {len(compared)}"
    return Condition("ledger", True, words)


def _of_other_batches(shown: Sequence[dict[str, Any]], charged: dict[int, str]) -> Iterator[int]:
    """Yield the windows of results whose batch is not the one that the charge of the window names.

    A charge of an earlier program names none: then two results are told by their own batches.
    """
    batches = dict(charged)
    for document in shown:
        window, header = int(document["window"]), str(document.get("batch_header", ""))
        with suppress(ValueError):
            name = hashlib.sha256(bytes.fromhex(header)).hexdigest() if header else ""
            if batches.get(window) and name and name != batches[window]:
                yield window
            batches[window] = batches.get(window) or name


def _files(folder: Path) -> list[Path]:
    """Return all files of a folder, whatever they are called: collectors name their own.

    Folders that it has links to are folders of it: an archive may be on another disk.

    Raises:
        InvalidData: a file or folder that cannot be read may be the one that tells.
    """
    seen: set[tuple[int, int]] = set()
    files: list[Path] = []

    def refused(error: OSError) -> None:
        raise _unreadable(folder, error.filename) from None

    for place, folders, names in os.walk(folder, onerror=refused, followlinks=True):
        status = os.stat(place)
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        files += [path for name in names if (path := Path(place, name)).is_file()]
    for path in files:
        if not os.access(path, os.R_OK):
            raise _unreadable(folder, path)
    return sorted(files)


def _unreadable(folder: Path, path: object) -> InvalidData:
    return InvalidData(
        expected=f"results in {folder} that can be read",
        got=f"no right to read {path}",
        remedy="Give the right to read them, or copies of them",
    )


def _revoked(directory: Path, role: _Role) -> Condition:
    """Whether the list of the revoked has all that were in it once."""
    own = ids_of(directory / REVOKED_FILE)
    if (directory / STORAGE_FILE).is_file():
        return Condition("revoked", True, f"{len(own)} ids; those in PostgreSQL count too")
    task = read_task(directory)
    known = _rows(
        directory / f"{role.name}.sqlite",
        "revoked",
        "SELECT id FROM revoked WHERE task_id = ?",
        (task.task_id,),
    )
    lost = {bytes(who) for (who,) in known} - own
    if lost:
        return Condition(
            "revoked",
            False,
            f"{REVOKED_FILE} lacks {len(lost)} ids that were in it, and count all the same: "
            "restore it from a copy",
        )
    return Condition("revoked", True, f"{len(own)} ids")


def _rows(
    path: Path, table: str, statement: str, values: Sequence[Any] = ()
) -> list[tuple[Any, ...]]:
    """Return rows of a file that need not be there; none if an earlier program made it."""
    tables = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    if not path.is_file() or not read_rows(path, tables, (table,)):
        return []
    return read_rows(path, statement, values)


def _peer(directory: Path, role: _Role | None, address: str, trust: Trust | None) -> Condition:
    with connect(address, trust=trust) as http:
        if role is None or role.name == "analyzer":
            # The others know no token of it: any answer is one.
            ask(http, "GET", "/livez")
            return Condition("peer", True, "it answers")
        # The clock call of a round: it shows the token, and tells the peer's clock. This one's is
        # the service's to tell: it knows whether it was set.
        secrets, clocks = read_secret(directory / SECRETS_FILE, role.secrets), ClockGuard()
        token = secrets["analyzer_token"]
        answer = ask(http, "POST", CLOCK_PATH, token=token, body=TELLS_NOTHING)
    if answer.status == 401:
        return Condition(
            "peer",
            False,
            "it does not know this party's token: has it the callers.json of this task?",
            Cause.REFUSED,
        )
    if answer.status == 503:
        words = "it answers, but tells no time: was its clock set while it ran?"
        return Condition("peer", False, words, Cause.CLOCK)
    if answer.status != 200:
        return Condition("peer", False, f"it answers {answer.status}", Cause.CONNECTION)
    hear_clock(answer.body, clocks)
    hold = clocks.hold()
    if hold is not None:
        return Condition("peer", False, f"it answers, but {hold.value}", Cause.CLOCK)
    return Condition("peer", True, "it answers, knows the token, and its clock agrees")
