"""What was skipped, why, and the command that brings it: the last words of a run of the tests.

The root's `conftest.py` prints it. `tests/house/test_skipped.py` holds every reason that a test
gives to have its command here.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
NOTHING = "nothing: it is what this system is"
_COMMANDS = {
    r"\bchromium\b": "make chromium",
    r"browser/node_modules": "make browser/node_modules",
    r"\bnode\b": "apt-get install nodejs npm (or your system's packages of these names)",
    r"\bJava\b": "apt-get install default-jre-headless (or your system's Java 17 or later)",
    r"\binitdb\b": "apt-get install postgresql (or your system's package of the server)",
    r"PostgreSQL does not run as root": "adduser --system postgres, or run the tests as a user",
    r"\bnginx\b": "apt-get install nginx (or your system's package)",
    r"\bno (shell|fork|systemd|/proc)\b": NOTHING,
    r"\bnot Linux\b": NOTHING,
    r"\bno IPv6\b": NOTHING,
    r"\bnot root\b": "run the tests as root, in a container",
}
_LIBRARY = re.compile(r"could not import '([\w.]+)'")


class Skip(NamedTuple):
    """One test, or one whole file, that did not run.

    Attributes:
        path: its file.
        reason: why, as the test says it.
        is_file: True if none of the file's tests was even collected.
    """

    path: str
    reason: str
    is_file: bool = False


def skip_of(report: object) -> Skip:
    """Return what a skipped report of pytest says."""
    path, _, told = str(getattr(report, "nodeid", "")).partition("::")
    longrepr = getattr(report, "longrepr", None)
    reason = str(longrepr[2]) if isinstance(longrepr, tuple) else str(longrepr)
    return Skip(path, reason.removeprefix("Skipped: "), not told)


def command_for(reason: str) -> str | None:
    """Return the command that brings what a reason misses, or None if none is known.

    >>> command_for("could not import 'pyspark': No module named 'pyspark'")
    'make extra-spark'
    >>> command_for("chromium is not installed")
    'make chromium'
    """
    if library := _LIBRARY.search(reason):
        return _command_of_library(library[1].split(".")[0])
    return next((cmd for words, cmd in _COMMANDS.items() if re.search(words, reason)), None)


def _command_of_library(library: str) -> str:
    """Return the target of the smallest extra that has a library, or how to install it alone."""
    extras: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    name = library.replace("_", "-").lower()
    having = [
        extra
        for extra, wanted in extras.items()
        # In the name of a target, - stands between extras.
        if "-" not in extra
        and name in {re.split(r"[^\w.-]", one, maxsplit=1)[0].lower() for one in wanted}
    ]
    if not having:
        return f"install {name} into .venv (no extra has it)"
    return f"make extra-{min(having, key=lambda extra: len(extras[extra]))}"


def report_skipped(skips: Iterable[Skip]) -> list[str]:
    """Return the lines to print: no line if nothing was skipped.

    >>> print("\\n".join(report_skipped([Skip("tests/test_page.py", "chromium is not installed")])))
    1 test in tests/test_page.py
      why:         chromium is not installed
      to have it:  make chromium
    """
    groups: dict[str, list[Skip]] = defaultdict(list)
    for skip in skips:
        groups[skip.reason].append(skip)
    lines = []
    for reason, group in sorted(groups.items(), key=lambda item: -len(item[1])):
        command = command_for(reason) or "no command is known: add one to tests/skipped.py"
        them = "it" if len(group) == 1 and not group[0].is_file else "them"
        lines += [f"{_counted(group)} in {', '.join(sorted({skip.path for skip in group}))}"]
        lines += [f"  why:         {reason}", f"  {f'to have {them}:':<12} {command}"]
    return lines


def _counted(group: list[Skip]) -> str:
    tests = sum(not skip.is_file for skip in group)
    files = len(group) - tests
    parts = [f"{tests} test{'s' * (tests > 1)}"] if tests else []
    parts += [f"all tests of {files} file{'s' * (files > 1)}"] if files else []
    return " and ".join(parts)
