"""What the doctests of ``src`` leave out: modules whose extra is too large for `make check`."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore = [] if find_spec("pyspark") else ["src/smoothdp/engines/spark.py"]
