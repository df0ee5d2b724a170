"""``serve check``: is a party's directory fit to be served, and is its peer there."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.services.analyzer.analyzer_party import INNER_KEYS_FILE
from smoothdp.services.analyzer.analyzer_tables import ANALYZER_SCHEMA, MADE, SIGNED
from smoothdp.services.analyzer.window_cards import key_scope
from smoothdp.services.check_ledger import ledger_condition
from smoothdp.services.formats.design.budget import windows_paid
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
    files_condition,
    postgres_condition,
    read_rows,
    rights_condition,
    rows_of_file,
    rows_of_party,
    storage_file_condition,
    time_condition,
)
from smoothdp.services.operations.tls import Trust
from smoothdp.services.shuffler.gateway_cards import over_name
from smoothdp.services.shuffler.shuffler_party import GATEWAY_KEYS_FILE
from smoothdp.services.shuffler.shuffler_tables import OPEN, SHUFFLER_SCHEMA
from smoothdp.services.store.migrations import Schema
from smoothdp.services.store.one_task import OTHER_TASKS, TASK_BYTES, another_task
from smoothdp.services.store.party_storage import STORAGE_FILE
from smoothdp.services.store.revoked import REVOKED_FILE, ids_of
from smoothdp.services.store.storage import StorageUnreachable
from smoothdp.services.wire.calls import ask, connect
from smoothdp.services.wire.clock_call import CLOCK_PATH, TELLS_NOTHING, WHY_NO_TIME, hear_clock
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
    windows: str
    """The table with a row for each window that it has kept anything of."""
    keys: str | None = None
    """The file of its window keys, if they do not lie in its database."""


# Of two whose names are among each other's, the one with more names is first.
_ROLES = (
    _Role(
        *("shuffler", ("sign_key", "pass_key", "analyzer_token"), SHUFFLER_SCHEMA, "card"),
        keys=GATEWAY_KEYS_FILE,
    ),
    _Role("issuer", ("sign_key", "invitation_key", "analyzer_token"), ISSUER_SCHEMA, "window_key"),
    _Role("analyzer", ("sign_key",), ANALYZER_SCHEMA, "card", keys=INNER_KEYS_FILE),
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
        read_callers(directory, task)
    if (damage := _damage(directory, role)) is not None:
        return Condition("keys", False, damage, Cause.DISK)
    scopes = _scopes(directory, role)
    if any(scope[:TASK_BYTES] != task.task_id for scope in scopes):
        raise another_task(directory)
    # A file that is no database, and a server that is not there, are named as the storage.
    with suppress(InvalidData, StorageUnreachable):
        others = OTHER_TASKS.format(role.windows)
        if rows_of_party(directory, role.name, role.windows, others, (task.task_id,)):
            return Condition("keys", False, str(another_task(directory)))
        if lost := _lost_keys(directory, role, task, scopes):
            return keys_condition(lost)
    return Condition("keys", True, f"of the {role.name} of task {task.task_id.hex()[:16]}")


def _damage(directory: Path, role: _Role) -> str | None:
    """Return that the file of window keys is damaged, in words; a start would refuse it."""
    # The second has the keys of rows in PostgreSQL.
    for name in (role.keys, f"{role.name}.keys.sqlite"):
        if name is None or not (directory / name).is_file():
            continue
        is_sound = read_rows(directory / name, "PRAGMA integrity_check(1)") == [("ok",)]
        # SQLite takes a file of a few bytes for an empty database.
        if not is_sound or not rows_of_file(directory / name, "mark", "SELECT 1 FROM mark"):
            return f"{name} is damaged: it has no copies"
    return None


def _scopes(directory: Path, role: _Role) -> set[bytes]:
    """Return the names of the window keys of a party; the issuer's lie among its rows."""
    if role.keys is None:
        return set()
    rows = rows_of_file(directory / role.keys, "data_key", "SELECT scope FROM data_key")
    return {bytes(scope) for (scope,) in rows}


def _notes(directory: Path, role: _Role) -> set[bytes]:
    """Return what was noted beside the window keys of a party."""
    if role.keys is None:
        return set()
    rows = rows_of_file(directory / role.keys, "note", "SELECT name FROM note")
    return {bytes(name) for (name,) in rows}


def _lost_keys(directory: Path, role: _Role, task: Task, there: set[bytes]) -> int:
    """Return of how many windows that go on the private key is lost, as far as files tell."""
    if role.keys is None:
        return 0
    table, states = {
        "shuffler": ("collecting", (OPEN, OPEN)),
        "analyzer": ("card", (MADE, SIGNED)),
    }[role.name]
    going_on = rows_of_party(
        *(directory, role.name, table),
        f"SELECT window FROM {table} WHERE task_id = ? AND state IN (?, ?)",
        (task.task_id, *states),
    )
    return sum(key_scope(task.task_id, int(window)) not in there for (window,) in going_on)


def _cards(directory: Path, role: _Role) -> Condition:
    """Whether there are cards of windows to come, while the budget pays for some."""
    task = read_task(directory)
    path, named = directory / f"{role.name}.sqlite", directory / STORAGE_FILE
    if not path.is_file() and not named.is_file():
        return Condition("cards", True, "none yet, they are made while all parties run")
    now = int(time.time() // task.window_seconds)
    rows = rows_of_party(
        *(directory, role.name, "card"),
        "SELECT window FROM card WHERE task_id = ? AND signed IS NOT NULL",
        (task.task_id,),
    )
    to_come = sum(int(window) > now for (window,) in rows)
    return cards_condition(to_come, least=int(len(rows) < windows_paid(task)))


def _storage(directory: Path) -> Condition:
    role = _role(directory)
    if not (directory / STORAGE_FILE).is_file():
        if (directory / f"{role.name}.keys.sqlite").is_file():
            return Condition("storage", True, _ELSEWHERE)
        path = directory / f"{role.name}.sqlite"
        is_empty = not path.exists() or (path.is_file() and not path.stat().st_size)
        if is_empty and (_scopes(directory, role) or _notes(directory, role)):
            words = f"{path.name} was lost, or left behind: {role.keys} knows windows of it. Put it"
            remedy = "there; where it is lost, the next start begins a new one"
            return Condition("storage", False, f"{words} {remedy}", Cause.DISK)
        found = storage_file_condition(path, role.schema)
    else:
        found = postgres_condition(directory, role.name, role.schema)
    return _older_copy(directory, role) or found if found.good else found


def _older_copy(directory: Path, role: _Role) -> Condition | None:
    """Return that a window is open in a shuffler's storage which was closed since, if one is."""
    if role.name != "shuffler":
        return None
    # In this order: of a service beside, a window is noted after it is closed.
    notes, task_id = _notes(directory, role), read_task(directory).task_id
    statement = "SELECT window FROM collecting WHERE task_id = ? AND state = ?"
    rows = rows_of_party(directory, role.name, "collecting", statement, (task_id, OPEN))
    over = [int(window) for (window,) in rows if over_name(task_id, int(window)) in notes]
    if not over:
        return None
    words = f"an older copy, in which window {over[0]} is open: it was closed since. Put the newest"
    words = f"{words} in its place; where it is lost, move this one away, and let its windows go"
    return Condition("storage", False, words, Cause.DISK)


def _ledger(directory: Path, results: Path | None) -> Condition:
    if _role(directory).name != "analyzer":
        return Condition("ledger", True, "this party has none")
    return ledger_condition(directory, results)


def _revoked(directory: Path, role: _Role) -> Condition:
    """Whether the list of the revoked has all that were in it once."""
    own = ids_of(directory / REVOKED_FILE)
    known = rows_of_party(
        *(directory, role.name, "revoked"),
        "SELECT id FROM revoked WHERE task_id = ?",
        (read_task(directory).task_id,),
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


def _peer(directory: Path, role: _Role | None, address: str, trust: Trust | None) -> Condition:
    with connect(address, trust=trust) as http:
        if role is None or role.name == "analyzer":
            # The others know no token of it; a shuffler gives its task to anybody.
            return _shuffler(http, read_task(directory))
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
        words = f"it answers, but tells no time: {WHY_NO_TIME}"
        return Condition("peer", False, words, Cause.CLOCK)
    if answer.status != 200:
        return Condition("peer", False, f"it answers {answer.status}", Cause.CONNECTION)
    hear_clock(answer.body, clocks)
    hold = clocks.hold()
    if hold is not None:
        return Condition("peer", False, f"it answers, but {hold.value}", Cause.CLOCK)
    return Condition("peer", True, "it answers, knows the token, and its clock agrees")


def _shuffler(http: httpx.Client, task: Task) -> Condition:
    """Whether the shuffler of a task answers, and nobody in its place."""
    path = f"/v2/tasks/{task.task_id.hex()}"
    answer = ask(http, "GET", path, most=max(len(task.encoded), 1 << 16))
    if answer.status != 200:
        words = f"it answers {answer.status}: does the shuffler of this task run there?"
        return Condition("peer", False, words, Cause.CONNECTION)
    if answer.body != task.encoded:
        return Condition("peer", False, "it is no shuffler of this task", Cause.REFUSED)
    return Condition("peer", True, "it answers, and has this task")
