"""How long ``import smoothdp`` takes, beside ``import numpy``, in fresh processes."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from benchmarks.kept import MEASURED


def seconds(statement: str, *, runs: int = 9) -> float:
    """Return the median time of a fresh process that runs a statement."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Print the two times, less that of an empty process, and their ratio."""
    empty = seconds("pass")
    ours, numpy = seconds("import smoothdp") - empty, seconds("import numpy") - empty
    print("\nImport, fresh processes, less an empty one")
    print(f"  import smoothdp  {ours * 1e3:.1f} ms")
    MEASURED.add("Import", "import smoothdp", numpy / ours)
    print(f"  import numpy     {numpy * 1e3:.1f} ms  (ratio {ours / numpy:.2f})")


if __name__ == "__main__":
    main()
