"""The lowest version of each dependency that pyproject.toml allows, as constraints for pip and uv.

``python -m tests.lowest`` prints them; `make test-lowest` runs the fast tests with them.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
_REQUIREMENT = re.compile(r"^([\w.-]+)(?:\[[\w,-]+\])?>=([\w.]+)(?:,<[\w.]+)?(?:;.*)?$")
# Younger ones warn of what the lowest matplotlib does; a warning is an error in the tests.
_OF_THEIR_TIME = ("pyparsing<3.3",)
# Extras of tools, whose versions are pinned, and bridges, whose peers pin each other.
_LEFT_OUT = {"dev", "docs", "demo", "peers", "dp-accounting", "opendp", "autodp", "spark"}


def lowest(project: dict[str, Any]) -> list[str]:
    """Return ``name==version`` for each dependency of the library and of the extra `all`.

    Raises:
        ValueError: a dependency without a lower end.

    >>> lowest({"dependencies": ["numpy>=1.26"], "optional-dependencies": {"data": ["a>=2,<3"]}})
    ['a==2', 'numpy==1.26']
    """
    wanted = list(project["dependencies"])
    for extra, requirements in project.get("optional-dependencies", {}).items():
        wanted += () if extra in _LEFT_OUT else requirements
    found = set()
    for requirement in wanted:
        if requirement.startswith("smoothdp["):
            continue
        parts = _REQUIREMENT.match(requirement.replace(" ", ""))
        if parts is None:
            raise ValueError(f"{requirement}: expected name>=version")
        found.add(f"{parts[1]}=={parts[2]}")
    return sorted(found)


def main() -> None:
    """Print the constraints of this repository."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    sys.stdout.write("\n".join([*lowest(project), *_OF_THEIR_TIME]) + "\n")


if __name__ == "__main__":
    main()
