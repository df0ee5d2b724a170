"""The same flights as users who trust nobody: what the analyser learns, beside the truth.

``python -m demo.collected FOLDER``. The truth is shown because these flights are public.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import smoothdp as sd
from smoothdp.text import table

GUARANTEE = sd.ApproxDP(1, delta="1e-6")
BOUNDS = (-60, 240)
_SHOWN = 8
_DELAYS = "flights.parquet --column dep_delay"


def main(folder: str) -> None:
    """Collect shares, means and two histograms, and print each beside the truth."""
    place = Path(folder)
    flights = place / "flights.parquet"
    delays = sd.read_column(flights, "dep_delay", missing="0")

    late = float((delays > 15).mean())
    for protocol in (None, "boolean-sum", "paired-count", "split-sum"):
        print(f"$ smoothdp collect {_DELAYS} --above 15 {_named(protocol)}...")
        share = sd.report.collect_share(delays, above=15, protocol=protocol, guarantee=GUARANTEE)
        _show(share, {"share above 15": late})

    for protocol in (None, "split-sum"):
        print(f"$ smoothdp collect {_DELAYS} --bounds -60 240 {_named(protocol)}...")
        mean = sd.report.collect_mean(delays, bounds=BOUNDS, protocol=protocol, guarantee=GUARANTEE)
        _show(mean, {"mean": float(np.clip(delays, *BOUNDS).mean())})

    for column, domain in (("dest", "airports.txt"), ("tailnum", "tails.txt")):
        print(f"$ smoothdp collect flights.parquet --column {column} --domain {domain} ...")
        names = (place / domain).read_text(encoding="utf-8").split()
        values = sd.read_column(flights, column, kind="category", missing="none")
        truth = sd.data.count_column(flights, column, universe=names, missing="none")
        found = sd.report.collect_histogram(values, domain=names, guarantee=GUARANTEE)
        _show(found, {name: float(count) for name, count in truth.items()} | {"other": 0.0})


def _named(protocol: str | None) -> str:
    """Return the option that names a protocol; without one the planner chooses."""
    return "" if protocol is None else f"--protocol {protocol} "


def _show(found: sd.report.Collection, truth: dict[str, float]) -> None:
    print(found.text())
    top = sorted(found.estimates, key=lambda name: -found.estimates[name])[:_SHOWN]
    rows = [(name, f"{found.estimates[name]:.6g}", f"{truth[name]:.6g}") for name in top]
    worst = max(abs(found.estimates.get(name, 0.0) - value) for name, value in truth.items())
    print(f"\n{table(rows, header=('', 'estimate', 'truth'))}")
    print(f"largest error over all {len(truth)}: {worst:.4g}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
