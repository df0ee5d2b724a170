"""Departure delays of New York in 2013: private statistics beside what they hide.

``python -m demo.releases FOLDER`` reads FOLDER/flights.parquet and draws FOLDER/delays.png.
The non-private column is shown because these flights are public: a real release prints the
private one alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import smoothdp as sd
from smoothdp.plots.canvas import BLUE, GREY, ORANGE, new_axes, save
from smoothdp.text import table

BOUNDS = (-60, 1440)
GUARANTEE = sd.PureDP(1)
QUERIES: dict[str, sd.queries.Query] = {
    "median": sd.queries.Median(BOUNDS),
    "5% trimmed mean": sd.queries.TrimmedMean("0.05", bounds=BOUNDS),
    "90% quantile": sd.queries.Quantile("0.9", bounds=BOUNDS),
}


def main(folder: str) -> None:
    """Print the table and draw the picture."""
    place = Path(folder)
    delays = sd.read_column(place / "flights.parquet", "dep_delay", missing="0")
    releases = {
        name: sd.release(delays, query, guarantee=GUARANTEE, clamp=True)
        for name, query in QUERIES.items()
    }
    rows = [
        (name, f"{release.value:.4f}", f"{QUERIES[name].value(delays):.4f}")
        for name, release in releases.items()
    ]
    print(f"Departure delay in minutes, {len(delays)} flights; a missing delay counts as 0\n")
    print(table(rows, header=("statistic", "private, epsilon = 1", "not private")))
    for name, release in releases.items():
        print(f"\n{name}: {release.mechanism}")
    print(f"\nEach of the three: {GUARANTEE.sentence()} Together they cost epsilon = 3.")
    print(f"\nPicture: {_draw(delays, releases, place / 'delays.png')}")


def _draw(
    delays: np.ndarray[tuple[int], np.dtype[np.float64]],
    releases: dict[str, sd.claims.Release[float | int]],
    path: Path,
) -> Path:
    axes = new_axes()
    axes.hist(np.clip(delays, -30, 120), bins=150, color=GREY, alpha=0.5)
    for (name, release), colour in zip(releases.items(), (BLUE, ORANGE, "black"), strict=True):
        axes.axvline(float(release.value), color=colour, label=f"{name}, private")
    axes.set_xlabel("departure delay in minutes (the last bar holds all above 120)")
    axes.set_ylabel("flights")
    axes.legend(frameon=False, fontsize=9)
    return save(axes, path)


if __name__ == "__main__":
    main(*sys.argv[1:])
