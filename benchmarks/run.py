"""Every benchmark, one after the other: ``make bench``."""

from __future__ import annotations

from benchmarks import import_time, measure


def main() -> None:
    """Run all benchmarks in this process."""
    print("Processor time, best of several batches. Ratios are to the first row of each table.")
    measure.main()
    import_time.main()


if __name__ == "__main__":
    main()
