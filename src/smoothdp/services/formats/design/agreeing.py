"""A task of format 2 from the public halves of its parties, or with all keys made on one host."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from smoothdp.errors import InvalidParameter
from smoothdp.services.formats.design.task_request import create_task
from smoothdp.services.formats.design.task_shape import TaskIssuer
from smoothdp.services.formats.party_files import (
    CALLERS_FILE,
    PUBLIC_FILE,
    Party,
    PublicHalf,
    callers_of,
    make_keys,
    write_callers,
    write_task,
)
from smoothdp.services.formats.signing import VerifyingKey
from smoothdp.services.formats.task import Task
from smoothdp.services.wire.addresses import parts_of
from smoothdp.services.wire.key_files import SECRETS_FILE, TASK_FILE, all_or_none, write_new


def agree_on_task(
    directory: Path,
    halves: Mapping[Party, PublicHalf],
    protocol: str,
    *,
    issuer_url: str,
    origin: str,
    **request: Any,
) -> Task:
    """Write a task, and who may call the analyser, from the public halves of its parties.

    Args:
        directory: gets ``task.json`` for every party, and ``callers.json`` for the analyser.
        halves: of analyser, shuffler and collector, and of the issuer unless there is none.
        protocol: as for `create_task` of this format.
        issuer_url: where clients reach the issuer.
        origin: the analyser's name.
        request: the rest of what `create_task` takes.

    Raises:
        InvalidParameter: a field outside its domain, or too few users for the promise.
        InvalidData: files are there already.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     halves = {party: make_keys(party, Path(folder, party))
    ...         for party in ("analyzer", "shuffler", "collector")}
    ...     task = agree_on_task(Path(folder, "task"), halves, "boolean_sum", epsilon="1",
    ...         delta="1e-6", min_batch=300, issuer_url="", origin="analyzer.example")
    >>> task.proof, task.origin
    ('none', 'analyzer.example')
    """
    issuer = None
    if "issuer" in halves:
        parts = parts_of(issuer_url)
        if parts is None:
            raise InvalidParameter(
                expected="the issuer's address, such as https://issuer.example",
                got=repr(issuer_url[:80]),
                remedy="Write the address with its scheme and host, and no more than a path",
            )
        issuer = TaskIssuer(str(parts.hostname), issuer_url, halves["issuer"].sign_key)
    task = create_task(
        protocol,
        **request,
        analyzer_sign_key=VerifyingKey.from_hex(halves["analyzer"].sign_key),
        shuffler_sign_key=VerifyingKey.from_hex(halves["shuffler"].sign_key),
        issuer=issuer,
        proof="none" if issuer is None else "slots",
        origin=origin,
    )
    write_task(directory, task, callers_of(halves))
    return task


def agree_on_one_host(
    directory: Path, protocol: str, *, has_issuer: bool = True, **request: Any
) -> Task:
    """Make the keys of all parties in directories below one, and their task; to try.

    Whoever controls that host has all keys: it can invent people and read every answer.

    Args:
        directory: gets ``task.json``, and a directory for each party.
        protocol, request: as for `agree_on_task`.
        has_issuer: without one the shuffler alone can invent people.

    Raises:
        InvalidParameter: a field outside its domain, or too few users for the promise.
        InvalidData: files are there already.
        OSError: the disk is full, say.

    After an error none of the files that it made is there, and all that was there before.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     task = agree_on_one_host(Path(folder), "boolean_sum", epsilon="1", delta="1e-6",
    ...         min_batch=300, issuer_url="http://127.0.0.1:8603", origin="127.0.0.1")
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['analyzer', 'callers.json', 'collector', 'issuer', 'shuffler', 'task.json']
    """
    parties: tuple[Party, ...] = ("analyzer", "shuffler", "collector")
    parties += ("issuer",) if has_issuer else ()
    folders = (directory, *(directory / party for party in parties))
    names = (SECRETS_FILE, PUBLIC_FILE, TASK_FILE, CALLERS_FILE)
    with all_or_none(*(folder / name for folder in folders for name in names)):
        halves = {party: make_keys(party, directory / party) for party in parties}
        task = agree_on_task(directory, halves, protocol, **request)
        for party in parties:
            write_new(directory / party / TASK_FILE, task.encoded, mode=0o644)
        write_callers(directory / "analyzer", callers_of(halves))
    return task
