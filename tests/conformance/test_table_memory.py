"""A table of ten million rows and a thousand groups within 2 GB, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LIMIT = 2 * 10**9
WRITE = """
import sys
import numpy as np, pyarrow as pa
from pyarrow import parquet
folder, n = sys.argv[1], 2_500_000
draw = np.random.default_rng(22)
for part in range(4):
    columns = {
        "region": pa.array(np.char.add("region ", draw.integers(0, 25, n).astype(str))),
        "sector": pa.array(np.char.add("sector ", draw.integers(0, 40, n).astype(str))),
        "wage": np.round(draw.lognormal(7, 1, n), 2),
        "other": draw.random(n),
    }
    parquet.write_table(pa.table(columns), f"{folder}/{part}.parquet")
"""
RELEASE = """
import resource, sys
import smoothdp as sd
data = sys.argv[1]
if sys.argv[2] == "duckdb":
    import duckdb
    duckdb.sql("set enable_progress_bar = false")
    duckdb.sql("set memory_limit = '400MB'")
    data = duckdb.read_parquet(data + "/*.parquet")
table = sd.release_table(
    data, by=["region", "sector"], counts=True,
    keys={
        "region": [f"region {k}" for k in range(25)],
        "sector": [f"sector {k}" for k in range(40)],
    },
    statistics={"median": ("wage", sd.queries.Median((0, 50000)))},
    guarantee=sd.PureDP(1, neighbours="add_remove"),
)
assert len(table.groups) == 1000
assert abs(sum(table.columns()["n"]) - 10_000_000) < 10_000
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="not Linux: peaks are in other units")
@pytest.mark.parametrize("kind", ["parquet folder", "duckdb"])
def test_ten_million_rows(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("narwhals")
    pytest.importorskip("duckdb")
    subprocess.run([sys.executable, "-c", WRITE, str(tmp_path)], check=True)
    released = subprocess.run(
        [sys.executable, "-c", RELEASE, str(tmp_path), kind],
        check=True,
        capture_output=True,
        text=True,
    )
    assert int(released.stdout.split()[-1]) < LIMIT
