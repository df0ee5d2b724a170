"""One mutant: a snippet of the library, what it becomes, and the tests that should notice."""

from __future__ import annotations

import ast
import difflib
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


class Stale(Exception):
    """A mutant whose snippet is not in the library as it is now, or not once."""


@dataclass(frozen=True)
class Mutant:
    """A change of one place that makes a bound false, or loose where it must not be.

    Attributes:
        file: below src/smoothdp.
        code: the snippet, character by character; it occurs once in the file.
        becomes: what stands there in the mutant.
        why: what is wrong with the mutant.
        tests: the tests of its room that should fail, the quickest first: files, or
            file::function.
        equivalent: for one that may survive: why no double ever shows the difference.
    """

    file: str
    code: str
    becomes: str
    why: str
    tests: tuple[str, ...]
    equivalent: str = ""

    @property
    def room(self) -> str:
        """The folder of the library that it is in."""
        return self.file.rpartition("/")[0]

    def line(self, root: Path = ROOT) -> int:
        """Return the number of the first line that changes."""
        text = self._text(root)
        return text.count("\n", 0, text.index(self.code)) + 1

    def applied(self, root: Path = ROOT) -> str:
        """Return the text of the file with the change, or raise `Stale`."""
        text = self._text(root)
        changed = text.replace(self.code, self.becomes)
        try:
            same = ast.dump(ast.parse(changed)) == ast.dump(ast.parse(text))
        except SyntaxError as error:
            raise Stale(f"{self.file}: the mutant is no Python: {error}") from None
        if same:
            raise Stale(f"{self.file}: the mutant says the same as the code: {self.becomes!r}")
        return changed

    def path(self, root: Path) -> Path:
        """Return the file in a copy of the repository."""
        return root / "src/smoothdp" / self.file

    def _text(self, root: Path) -> str:
        path = self.path(root)
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        times = text.count(self.code)
        if times != 1:
            raise Stale(
                f"{self.file}: found {times} times, not once: {self.code!r}{near(self, text)}"
            )
        return text


def near(mutant: Mutant, text: str) -> str:
    """Return what the snippet may be now, for who has to renew it."""
    lines = text.splitlines()
    first = mutant.code.strip().splitlines()[0].strip()
    close = difflib.get_close_matches(first, [line.strip() for line in lines], n=3, cutoff=0.5)
    return "".join(f"\n    perhaps now: {line}" for line in close)


def missing_tests(mutant: Mutant, root: Path = ROOT) -> list[str]:
    """Return those tests of a mutant that do not exist."""
    gone = []
    for target in mutant.tests:
        file, _, function = target.partition("::")
        path = root / file
        known = path.is_file()
        if known and function:
            name = re.escape(function.partition("[")[0])
            known = bool(re.search(rf"^def {name}\(", path.read_text(encoding="utf-8"), re.M))
        if not known:
            gone.append(target)
    return gone
