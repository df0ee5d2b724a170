"""Passes and invitations that count no more, noted in the directory of the party that made them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from smoothdp.errors import InvalidData
from smoothdp.services.formats.party_files import read_window_task
from smoothdp.services.formats.secrets import Use, check_secret
from smoothdp.services.store.revoked import REVOKED_FILE, revoke
from smoothdp.services.wire.key_files import SECRETS_FILE, read_secret


def revoke_tokens(directory: Path, texts: Sequence[str]) -> int:
    """Revoke passes or invitations of the party whose directory it is; return how many.

    The service needs no restart. What was accepted or signed before stays.

    Args:
        directory: the shuffler's or the issuer's.
        texts: the secrets as they were handed out.

    Raises:
        InvalidData: a text that is no secret of this party, and then none is revoked; or no
            directory of such a party.

    >>> revoke_tokens(Path("issuer"), ["0" * 96])  # doctest: +SKIP
    """
    use, key = _maker(directory)
    task_id = read_window_task(directory).task_id
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
