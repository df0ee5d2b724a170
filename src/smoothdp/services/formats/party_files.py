"""What each party makes on its own host, and the public halves from which a task is made.

secrets.json   the party's alone: signing key, key of passes or invitations, tokens
public.json    what others need of it: {"party", "sign_key", "token_sha256"}
task.json      what all agree on, made from public halves
callers.json   at the analyser: role -> SHA-256 of the token of that party
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from smoothdp.data.refusals import reason
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.services.formats.secrets import Use, check_secret
from smoothdp.services.formats.signing import SigningKey, VerifyingKey
from smoothdp.services.formats.task import Task
from smoothdp.services.store.revoked import REVOKED_FILE, revoke
from smoothdp.services.wire.key_files import (
    SECRETS_FILE,
    TASK_FILE,
    all_or_none,
    read_secret,
    write_new,
    write_secret,
)
from smoothdp.services.wire.tokens import new_secret, token_hash

Party: TypeAlias = Literal["analyzer", "shuffler", "issuer", "collector"]
PARTIES: tuple[Party, ...] = get_args(Party)
PUBLIC_FILE, CALLERS_FILE = "public.json", "callers.json"
CALLERS: tuple[Party, ...] = ("shuffler", "issuer", "collector")
_HASH = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class PublicHalf:
    """What others need of a party.

    Attributes:
        party: whose it is.
        sign_key: 64 hexadecimal digits; empty of a collector, which signs nothing.
        token_sha256: of the token that it shows the analyser; empty of the analyser.
    """

    party: Party
    sign_key: str = ""
    token_sha256: str = ""

    def encode(self) -> bytes:
        """Return it as JSON."""
        document = {
            "party": self.party,
            "sign_key": self.sign_key,
            "token_sha256": self.token_sha256,
        }
        return json.dumps(document, indent=2).encode()


def make_keys(party: Party, directory: Path) -> PublicHalf:
    """Make the keys of a party in a new directory on its own host; return the public half.

    The half is in ``public.json`` too: hand that to whoever makes the task, and nothing else.

    Raises:
        InvalidParameter: no such party.
        InvalidData: keys are there already.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     half = make_keys("shuffler", Path(folder, "shuffler"))
    ...     read_half(Path(folder, "shuffler")) == half
    True
    """
    if party not in PARTIES:
        raise InvalidParameter(
            expected=f"a party: {', '.join(PARTIES)}", got=repr(party), remedy="Name one of these"
        )
    secrets: dict[str, str] = {}
    half: dict[str, Any] = {}
    if party != "collector":
        key = SigningKey.generate()
        secrets["sign_key"], half["sign_key"] = key.to_bytes().hex(), key.public.hex
    if party == "shuffler":
        secrets["pass_key"] = new_secret().hex()
    if party == "issuer":
        secrets["invitation_key"] = new_secret().hex()
    if party in CALLERS:
        token = new_secret().hex()
        name = "collector_token" if party == "collector" else "analyzer_token"
        secrets[name], half["token_sha256"] = token, token_hash(token)
    made = PublicHalf(party, **half)
    with all_or_none(directory / SECRETS_FILE, directory / PUBLIC_FILE):
        write_secret(directory / SECRETS_FILE, secrets)
        write_new(directory / PUBLIC_FILE, made.encode(), mode=0o644)
    return made


def read_half(path: Path, *, party: Party | None = None) -> PublicHalf:
    """Return the public half in a file, or in a party's directory.

    Raises:
        InvalidData: no such file, something else in it, or the half of another party.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = make_keys("collector", Path(folder, "mine"))
    ...     read_half(Path(folder, "mine"), party="collector") == made
    True
    """
    file = path / PUBLIC_FILE if path.is_dir() else path
    document = _read_json(file, "a party's public half", "Run smoothdp task keys on its host")
    half = PublicHalf(
        str(document.get("party")),  # type: ignore[arg-type]
        str(document.get("sign_key", "")),
        str(document.get("token_sha256", "")),
    )
    good = half.party in PARTIES and set(document) == {"party", "sign_key", "token_sha256"}
    if good:
        signs, calls = half.party != "collector", half.party in CALLERS
        good = bool(half.sign_key) == signs and bool(_HASH.fullmatch(half.token_sha256)) == calls
    if not good or (party is not None and half.party != party):
        raise InvalidData(
            expected=f"the public half of the {party or 'party'} in {file}",
            got="another party's" if good else "something else",
            remedy="Give the public.json that smoothdp task keys made",
        )
    if half.sign_key:
        VerifyingKey.from_hex(half.sign_key)
    return half


def callers_of(halves: Mapping[Party, PublicHalf]) -> dict[str, str]:
    """Return role -> SHA-256 of the token of each party that calls the analyser."""
    return {party: half.token_sha256 for party, half in halves.items() if party in CALLERS}


def write_task(directory: Path, task: Task, callers: Mapping[str, str]) -> None:
    """Write task and callers into a new place, for every party to copy.

    Raises:
        InvalidData: files are there already.
    """
    with all_or_none(directory / TASK_FILE, directory / CALLERS_FILE):
        write_new(directory / TASK_FILE, task.encoded, mode=0o644)
        write_callers(directory, callers)


def write_callers(directory: Path, callers: Mapping[str, str]) -> None:
    """Write the hashes of the tokens of those who call the analyser."""
    write_new(directory / CALLERS_FILE, json.dumps(dict(callers), indent=2).encode(), mode=0o644)


def read_callers(directory: Path, task: Task) -> dict[str, str]:
    """Return role -> SHA-256 of the token of each party that calls the analyser of a task.

    Raises:
        InvalidData: no such file in the directory, or something else in it.
    """
    file = directory / CALLERS_FILE
    remedy = "Copy the callers.json that smoothdp task create made into the analyser's directory"
    document = _read_json(file, "the callers of the analyser", remedy)
    wanted = {"shuffler", "collector", *(["issuer"] if task.signed else [])}
    good = wanted <= set(document) <= set(CALLERS)
    if not good or not all(_HASH.fullmatch(str(value)) for value in document.values()):
        raise InvalidData(
            expected=f"the callers of the analyser at {file}", got="something else", remedy=remedy
        )
    return {str(name): str(value) for name, value in document.items()}


def read_task(path: Path) -> Task:
    """Return the task in a file or directory.

    Raises:
        InvalidData: no such file, or something else in it.
        InvalidParameter: a task with a field outside its domain.

    >>> read_task(Path("smokers"))  # doctest: +SKIP
    """
    file = path / TASK_FILE if path.is_dir() else path
    try:
        return Task.decode(file.read_bytes())
    except OSError as error:
        raise InvalidData(
            expected=f"a task at {file}",
            got=reason(error),
            remedy="Copy the task.json that smoothdp task create made to it",
        ) from None


def revoke_tokens(directory: Path, texts: Sequence[str]) -> int:
    """Revoke passes or invitations of the party whose directory it is; return how many.

    The service needs no restart. What was accepted or signed before stays.

    Args:
        directory: the shuffler's or the issuer's.
        texts: the secrets as they were handed out.

    Raises:
        InvalidData: a text that is no secret of this party, or a damaged list of the revoked,
            and then none is revoked; or no directory of such a party.

    >>> revoke_tokens(Path("issuer"), ["0" * 96])  # doctest: +SKIP
    """
    use, key = _maker(directory)
    task_id = read_task(directory).task_id
    found = [check_secret(text, key=key, use=use, task_id=task_id) for text in texts]
    people = [identity for identity in found if identity is not None]
    if len(people) != len(texts):
        raise InvalidData(
            expected=f"secrets that were made in {directory}, {len(texts)} of them",
            got=f"{len(texts) - len(people)} others; none was revoked",
            remedy="Give them as smoothdp task tokens printed them, one a line",
        )
    revoke(directory / REVOKED_FILE, people)
    return len(people)


def _maker(directory: Path) -> tuple[Use, bytes]:
    """Return what the party of a directory makes, and the key."""
    file = directory / SECRETS_FILE
    try:
        return "pass", bytes.fromhex(read_secret(file, ("pass_key",))["pass_key"])
    except InvalidData:
        # Of an issuer; of any other party this says what is wrong.
        key = read_secret(file, ("invitation_key",))["invitation_key"]
        return "invitation", bytes.fromhex(key)


def _read_json(file: Path, what: str, remedy: str) -> dict[str, Any]:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidData(
            expected=f"{what} at {file}",
            got=reason(error) if isinstance(error, OSError) else "no JSON",
            remedy=remedy,
        ) from None
    if not isinstance(document, dict):
        raise InvalidData(expected=f"{what} at {file}", got="something else", remedy=remedy)
    return document
