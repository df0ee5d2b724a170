"""Every benchmark, one after the other: ``make bench``; with --keep, ``make bench-keep``."""

from __future__ import annotations

import argparse
import pkgutil
import sys
from collections.abc import Sequence
from importlib import import_module

import benchmarks
from benchmarks.kept import FILE, MEASURED, Ratios, compare


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``main()`` of every module of this folder that has one, in this process."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("names", nargs="*", help="benchmarks to run; all if none is named")
    parser.add_argument("--keep", action="store_true", help="compare later runs with this one")
    asked = parser.parse_args(arguments)
    # The benchmarks have options of their own, which stay at their defaults here.
    del sys.argv[1:]
    print("Processor time, best of several batches. Ratios are to the first row of each table.")
    for module in pkgutil.iter_modules(benchmarks.__path__):
        if module.name != "run" and (not asked.names or module.name in asked.names):
            run = getattr(import_module(f"benchmarks.{module.name}"), "main", None)
            if run is not None:
                run()
    kept = Ratios.from_json(FILE.read_text(encoding="utf-8")) if FILE.exists() else Ratios("")
    print("\n" + compare(kept, MEASURED, is_whole=not asked.names))
    if asked.keep:
        # A run of some benchmarks leaves the ratios of the others.
        values = (kept.values if asked.names else {}) | MEASURED.values
        FILE.write_text(Ratios(MEASURED.machine, values).to_json(), encoding="utf-8")
        print(f"kept: {len(values)} ratios")


if __name__ == "__main__":
    main()
