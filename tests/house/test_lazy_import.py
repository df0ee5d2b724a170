"""Importing smoothdp is cheap: no numerical library is loaded."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import smoothdp as sd

pytestmark = pytest.mark.smoke

SRC = Path(sd.__file__).parent

HEAVY = {"numpy", "scipy", "flint", "matplotlib", "pyarrow", "click"}


def modules_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; import json; print(json.dumps(list(sys.modules)))"
    output = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
    return set(json.loads(output))


def test_import_loads_only_the_package() -> None:
    before = modules_after("pass")
    loaded = modules_after("import smoothdp") - before
    ours = {name for name in loaded if name.split(".")[0] == "smoothdp"}
    assert ours == {"smoothdp"}
    assert not HEAVY & {name.split(".")[0] for name in loaded}


def test_a_name_loads_what_it_needs() -> None:
    loaded = modules_after("import smoothdp; smoothdp.SamplingHistogram")
    assert "flint" in loaded
    assert not {"scipy", "matplotlib", "pyarrow"} & loaded


def test_bytecode_alone_is_enough(tmp_path: Path) -> None:
    """Frozen applications have no text of the package: its names are found all the same."""
    shutil.copytree(SRC, tmp_path / "smoothdp", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(
        [sys.executable, "-m", "compileall", "-q", "-b", "-j", "2", str(tmp_path)], check=True
    )
    for path in (tmp_path / "smoothdp").rglob("*.py"):
        path.unlink()
    code = "import smoothdp as sd; print(sd.__file__, *sd.__all__); sd.PureDP(1); sd.noise"
    told = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert told[0].endswith("__init__.pyc")
    assert told[1:] == sd.__all__
