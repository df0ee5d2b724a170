"""``python -m benchmarks.accuracy [--full]``."""

import sys

from benchmarks.accuracy import main

main(full="--full" in sys.argv[1:])
