"""The domain that ``smoothdp collect`` counts over: a file, or a number of hashed bins."""

from __future__ import annotations

import hashlib
from pathlib import Path

import click


def read_domain(
    values: list[str], domain: Path | None, bins: int | None
) -> tuple[list[str], list[str]]:
    """Return the names of the domain, and the users' values as names of it."""
    if domain is not None:
        try:
            names = [line.strip() for line in domain.read_text(encoding="utf-8-sig").splitlines()]
        except (OSError, UnicodeDecodeError) as error:
            raise click.UsageError(
                f"Expected a readable file of values {domain}; got {type(error).__name__}. "
                "Check the path."
            ) from None
        return [name for name in names if name], values
    assert bins is not None
    if not 1 <= bins <= 10**7:
        raise click.UsageError(f"Expected --bins from 1 to 10000000; got {bins}. Mend it.")
    return [f"bin {place}" for place in range(bins)], [_hashed(value, bins) for value in values]


def _hashed(value: str, bins: int) -> str:
    """Return the bin of a text: the same for everybody, so no secret and no protection."""
    digest = hashlib.blake2b(value.encode(), digest_size=16).digest()
    return f"bin {int.from_bytes(digest) % bins}"
