"""Counterexamples to printed claims: programs in rows of ``claims/*.toml``, run by themselves."""

from __future__ import annotations

import difflib
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass

from smoothdp.errors import InvalidParameter
from smoothdp.papers.verdicts import Verdict, verdicts


@dataclass(frozen=True, slots=True)
class Verification:
    """What running a counterexample gave.

    Attributes:
        row: the claim.
        output: what the program printed, errors included.
        refuted: whether the program showed what it says: it ended without an error.

    >>> print(verify("paper-1/theorem-3-i").output.splitlines()[0])
    delta(x) >= 0.3333333333333333 at counts (1, 29, 0)
    """

    row: Verdict
    output: str
    refuted: bool


def counterexamples() -> dict[str, Verdict]:
    """Return the claims that have a counterexample, by name.

    >>> "paper-1/lemma-2" in counterexamples()
    True
    """
    return {row.name: row for row in verdicts() if row.counterexample}


def verify(name: str) -> Verification:
    """Run the counterexample of a claim in a Python of its own.

    The program imports the standard library and numpy, and nothing of this package; it runs in
    an empty folder.

    Args:
        name: of the claim, as "paper-1/lemma-2".

    Raises:
        InvalidParameter: a name without a counterexample.

    >>> verify("paper-1/inequality-7").refuted
    True
    """
    known = counterexamples()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=3)
        raise InvalidParameter(
            expected="a claim with a counterexample",
            got=repr(name),
            remedy=f"Write a name near it: {', '.join(near)}"
            if near
            else "List the names with: smoothdp papers verify",
        )
    row = known[name]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", row.counterexample],
            cwd=folder,
            env={**os.environ, "PYTHONIOENCODING": "utf-8"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
    return Verification(row, done.stdout, done.returncode == 0)
