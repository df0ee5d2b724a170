"""The names of Spark's masters: Spark itself tells a wrong one by a Java stack."""

from __future__ import annotations

import re

from smoothdp.errors import InvalidParameter

_COUNT = "[1-9][0-9]*"
_MASTER = re.compile(
    rf"local(\[({_COUNT}|\*)(\s*,\s*{_COUNT})?\])?|local-cluster\[.+\]|yarn|(spark|k8s)://.+"
)


def check_master(master: str) -> str:
    """Return a master of Spark, or raise InvalidParameter.

    >>> check_master("local[2]")
    'local[2]'
    """
    if not isinstance(master, str) or not _MASTER.fullmatch(master):
        raise InvalidParameter(
            expected='a master such as "local", "local[2]" or "local[*]"',
            got=f"master={master!r}",
            remedy="Give the number of cores as a whole number, or * for all of them",
        )
    return master
