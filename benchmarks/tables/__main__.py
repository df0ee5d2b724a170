"""``python -m benchmarks.tables [--full] [--write docs/benchmarks.md]``."""

import argparse
import contextlib
import io
from pathlib import Path

from benchmarks.tables import main, written

parser = argparse.ArgumentParser(prog="python -m benchmarks.tables")
parser.add_argument("--full", action="store_true", help="all epsilons, more data sets")
parser.add_argument("--write", type=Path, help="the page whose section on tables is replaced")
asked = parser.parse_args()
if asked.write is None:
    main(full=asked.full)
else:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        main(full=asked.full)
    page = asked.write.read_text(encoding="utf-8")
    asked.write.write_text(written(page, printed.getvalue()), encoding="utf-8")
