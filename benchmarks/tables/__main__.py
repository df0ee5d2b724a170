"""``python -m benchmarks.tables [--full]``."""

import sys

from benchmarks.tables import main

main(full="--full" in sys.argv[1:])
