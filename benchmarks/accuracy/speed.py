"""The time of a release of a million floats, against OpenDP's quantile."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.accuracy.cells import SEED, Cell
from benchmarks.accuracy.ratios import Targets
from benchmarks.baselines import opendp_peer
from benchmarks.timing import best_time, measured_seconds
from smoothdp.claims import PureDP
from smoothdp.exact.random.entropy import SystemRandom
from smoothdp.mechanisms.release.release import release
from smoothdp.queries import Median, Quantile, Query, TrimmedMean


def show_speed(targets: Targets) -> None:
    """Print processor times, best of three."""
    data = np.random.default_rng(SEED).normal(100, 15, 10**6)
    bounds, rng = (0.0, 200.0), SystemRandom()
    queries: list[tuple[str, Query]] = [
        ("median", Median(bounds)),
        ("90% quantile", Quantile("0.9", bounds=bounds)),
        ("5% trimmed mean", TrimmedMean("0.05", bounds=bounds)),
    ]
    rows: list[tuple[str, Callable[[], object]]] = [
        (
            f"smoothdp release, {name}",
            lambda query=query: release(data, query, guarantee=PureDP(1), rng=rng),  # type: ignore[misc]
        )
        for name, query in queries
    ]
    guarantee = Cell("normal", 10**6, "1", 1, "pure").guarantee()
    peer = opendp_peer.quantile(0.5, 10**6, guarantee, list(np.linspace(*bounds, 1001)))
    print("\nA release of 1e6 floats (the default guarantee of this page: pure, epsilon = 1)")
    if peer is None:
        print("  OpenDP is not installed: nothing to compare with")
    else:
        as_list = data.tolist()
        rows += [
            ("OpenDP quantile, 1001 candidates, an array", lambda: peer(data)),
            ("OpenDP quantile, 1001 candidates, a list", lambda: peer(as_list)),
        ]
    times = [best_time(call, calls=1, batches=3) for _, call in rows]
    for (name, _), seconds in zip(rows, times, strict=True):
        print(f"  {name:<46}{seconds * 1e3:>10.1f} ms  x{seconds / times[0]:.3g}")
        if name.startswith("smoothdp"):
            measured_seconds("A release of 1e6 floats", name, seconds)
    if peer is not None:
        fastest = min(times[len(queries) :])
        row = targets.row("time of a release of 1e6 floats / OpenDP's quantile", 1.5, at_most=True)
        for (name, _), seconds in zip(rows[: len(queries)], times, strict=False):
            row.add(name, seconds / fastest)
