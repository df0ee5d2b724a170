"""`make tests-of`: a test is found on every path on which a name can come, and no other is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tests_of import Found, Tree, main, report, the_tree

ROOT = Path(__file__).parents[2]
FILES = {
    "src/house/__init__.py": (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from house.room import Median\n    from house import room\n"
    ),
    "src/house/room/__init__.py": "from house.room.median import *\nfrom .mean import Mean\n",
    "src/house/room/median.py": "class Median: pass\nclass Other: pass\n",
    "src/house/room/mean.py": "class Mean: pass\n",
    "tests/__init__.py": "",
    "tests/helper.py": "from house.room.mean import Mean\ndef make(): return Mean()\n",
    "tests/test_by_root.py": (
        "import house as h\ndef test_it(): h.Median(), h.Median, h.room.Other\n"
    ),
    "tests/test_by_room.py": "from house.room import Median\ndef test_it(): Median.made()\n",
    "tests/test_in_function.py": "def test_it():\n    import house.room.median\n",
    "tests/test_by_helper.py": (
        "import pytest\nfrom tests.helper import make\n@pytest.mark.slow\ndef test_it(): make()\n"
    ),
    "tests/test_mean.py": "def test_nothing(): pass\n",
    "tests/test_page.py": "NAME = 'page.js'\n",
    "src/house/page.js": "",
}


@pytest.fixture
def house(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def found(house: Path, name: str) -> dict[str, Found]:
    return {one.path: one for one in Tree(house).tests_of(house / name)}


def test_names_are_followed_through_packages_stars_and_attributes(house: Path) -> None:
    of_median = found(house, "src/house/room/median.py")
    assert set(of_median) == {
        "tests/test_by_root.py",
        "tests/test_by_room.py",
        "tests/test_in_function.py",
    }
    assert of_median["tests/test_by_root.py"].uses == 3
    assert next(iter(of_median)) == "tests/test_by_root.py"


def test_a_helper_of_the_tests_is_seen_through(house: Path) -> None:
    of_mean = found(house, "src/house/room/mean.py")
    assert list(of_mean) == ["tests/test_mean.py", "tests/test_by_helper.py"]
    assert of_mean["tests/test_mean.py"].is_named_after
    assert of_mean["tests/test_by_helper.py"].helper == "tests/helper.py"
    assert of_mean["tests/test_by_helper.py"].has_slow


def test_what_is_not_python_has_the_tests_that_name_it(house: Path) -> None:
    assert list(found(house, "src/house/page.js")) == ["tests/test_page.py"]


def test_nobody_is_named_where_nobody_tests(house: Path) -> None:
    (house / "src/house/alone.py").write_text("X = 1\n")
    assert found(house, "src/house/alone.py") == {}
    assert "No test uses" in report("src/house/alone.py", [])


def test_every_direct_import_of_the_real_tests_is_found() -> None:
    """Against a plain search for the words of an import, over some files of every room."""
    tree = the_tree()
    texts = [
        (str(test.path.relative_to(ROOT)), test.path.read_text(encoding="utf-8"))
        for test in tree.tests()
    ]
    checked = 0
    for module in sorted(m for m in tree.modules if m.startswith("smoothdp."))[::50]:
        line = re.compile(
            rf"^\s*(from {re.escape(module)} import|import {re.escape(module)}\b)", re.M
        )
        plain = {path for path, text in texts if line.search(text)}
        if tree.modules[module].path.name != "__init__.py":
            checked += len(plain)
            assert plain <= {one.path for one in tree.tests_of(tree.modules[module].path)}, module
    assert checked > 3


def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["tests/tests_of.py"]) == 0
    told = capsys.readouterr().out
    assert "tests/house/test_tests_of.py" in told
    assert "-m pytest -q tests/house/test_tests_of.py" in told
    # And as a program.
    refused = subprocess.run(
        [sys.executable, "-m", "tests.tests_of", "src/nowhere.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 2
    assert "Expected a file; got src/nowhere.py" in refused.stdout
