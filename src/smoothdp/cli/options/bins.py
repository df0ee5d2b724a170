"""The bins of ``smoothdp collect --bins``: a public hash, and the public values that share one."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import smoothdp as sd
from smoothdp.cli.options.columns import read_domain

RULE = "the 16-byte BLAKE2b digest of its UTF-8 text, big-endian, modulo the number of bins"
_VALUES_SHOWN = 12
_BINS_SHOWN = 10


@dataclass(frozen=True)
class Bins:
    """So many bins, and the public values of a file by the bin that they share, if there is one."""

    count: int
    path: Path | None = None
    values: Sequence[str] = ()

    def shared(self) -> dict[str, list[str]] | None:
        """Return bin -> public values; None without a file of them."""
        if self.path is None:
            return None
        by_bin: dict[str, list[str]] = {}
        for value in self.values:
            by_bin.setdefault(bin_of(value, self.count), []).append(value)
        return by_bin

    def to_dict(self) -> dict[str, object]:
        """Return the rule and the public values by bin, for JSON."""
        return {"count": self.count, "rule": f"bin of a value: {RULE}", "values": self.shared()}

    def text(self, shown: Sequence[str]) -> str:
        """Return which values the bins that are shown count."""
        rule = f"Bin of a value: {RULE} ({self.count}): public, and no protection."
        shared = self.shared()
        if shared is None:
            return (
                f"{rule} Which values occur is private and not listed; --bins with --domain FILE "
                "lists the public values in FILE by their bins."
            )
        lines = [f"{name}: {_some(shared.get(name, []))}" for name in shown[:_BINS_SHOWN]]
        return (
            f"{rule} The values of {self.path} that share a bin (values outside it are counted "
            "there, too; --json lists all bins):\n" + "\n".join(lines)
        )


def read_counted(
    file: Path,
    column: str,
    domain: Path | None,
    bins: int | None,
    missing: str | None,
    csv: dict[str, Any],
) -> tuple[list[str], list[str], Bins | None]:
    """Return the users' values, all that there may be, and the bins if they were hashed."""
    listed = [] if domain is None else read_domain(domain)
    names = listed if bins is None else bin_names(bins)
    values = sd.read_column(file, column, kind="category", missing=missing, **csv)
    if bins is not None:
        return [bin_of(value, bins) for value in values], names, Bins(bins, domain, listed)
    return values, names, None


def bin_names(bins: int) -> list[str]:
    """Return the names of so many bins."""
    if not 1 <= bins <= 10**7:
        raise click.UsageError(
            f"Expected --bins from 1 to 10000000; got {bins}. Give the number of bins."
        )
    return [f"bin {number}" for number in range(bins)]


def bin_of(value: str, bins: int) -> str:
    """Return the bin of a text: the same for everybody, so no secret and no protection."""
    digest = hashlib.blake2b(value.encode(), digest_size=16).digest()
    return f"bin {int.from_bytes(digest) % bins}"


def _some(values: Sequence[str]) -> str:
    rest = len(values) - _VALUES_SHOWN
    more = f" and {rest} more" if rest > 0 else ""
    return ", ".join(values[:_VALUES_SHOWN]) + more if values else "none of the file"
