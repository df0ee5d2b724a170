"""Each dependency has a lower end, and `make test-lowest` installs just that."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.lowest import lowest

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


def test_every_dependency_of_the_library_is_held_down() -> None:
    held = {line.split("==")[0] for line in lowest(PROJECT)}
    wanted = [*PROJECT["dependencies"]]
    for extra in ("data", "plot", "serve", "issuer", "postgres"):
        wanted += PROJECT["optional-dependencies"][extra]
    names = {one.split(">=")[0].split("[")[0] for one in wanted} - {"smoothdp"}
    assert held == names


@pytest.mark.parametrize("requirement", ["numpy", "numpy<3", "numpy~=2.0", "numpy==2.0"])
def test_a_dependency_without_a_lower_end_is_refused(requirement: str) -> None:
    with pytest.raises(ValueError, match="expected name>=version"):
        lowest({"dependencies": [requirement]})
