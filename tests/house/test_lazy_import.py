"""Importing smoothdp is cheap: no numerical library is loaded."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.smoke

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
