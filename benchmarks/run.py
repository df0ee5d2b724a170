"""Every benchmark, one after the other: ``make bench``."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import benchmarks


def main() -> None:
    """Run ``main()`` of every module of this folder that has one, in this process."""
    print("Processor time, best of several batches. Ratios are to the first row of each table.")
    for module in pkgutil.iter_modules(benchmarks.__path__):
        if module.name != "run":
            run = getattr(import_module(f"benchmarks.{module.name}"), "main", None)
            if run is not None:
                run()


if __name__ == "__main__":
    main()
