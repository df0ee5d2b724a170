"""How often intervals contain the quantile, on data made to break them.

Fixed seeds. A cell below its confidence by more than four standard errors fails (by chance once in
30,000), and where the bound is attained one that is above it by as much.
"""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.mechanisms import IntervalRelease
from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.mechanisms.release.smooth_mechanism import smooth_mechanism
from smoothdp.queries import Median, Quantile, Query

BOUNDS = (0, 100)
PURE, ZCDP = sd.PureDP(1), sd.ZCDP("1/2")
PRIVATE = sd.PureDP(1, neighbours="add_remove")


def mechanism(query: Query, guarantee: sd.Guarantee, n: int, covers: str, level: str) -> Any:
    is_public = guarantee.neighbours.value == "replace_one"
    request = ReleaseRequest.read(
        query,
        guarantee=guarantee,
        coverage=Coverage.read(level, covers=covers),
        n_guess=None if is_public else n,
    )
    return smooth_mechanism(request, n_records=n if is_public else None)


def hits(
    made: Any, column: Any, target: float, runs: int, *, seed: object = 1, fresh: bool = False
) -> int:
    """How often the target is in the interval; of one column, or of a fresh one each time."""
    rng = sd.SeededRandom(zlib.crc32(repr(seed).encode()))
    found = 0
    for _ in range(runs):
        released = made.release(column() if fresh else column, rng=rng)
        assert isinstance(released, IntervalRelease)
        found += released.interval[0] <= target <= released.interval[1]
    return found


def z_score(found: int, runs: int, level: float) -> float:
    return (found - runs * level) / math.sqrt(runs * level * (1 - level))


def worst(query: Query, n: int) -> tuple[list[float], float]:
    """Equal up to the rank of the quantile, and far above from there: the excess is attained."""
    q = query.q if isinstance(query, Quantile) else 0.5
    rank = math.ceil(q * n)
    return [40.0] * rank + [60.0] * (n - rank), 40.0


@pytest.mark.parametrize("level", ["0.95", "0.6"])
@pytest.mark.parametrize("guarantee", [PURE, ZCDP], ids=str)
def test_where_the_excess_is_attained_the_confidence_is(guarantee: Any, level: str) -> None:
    """Two values, the change just above the median: the excess of (w - 1) / 2 in units of S."""
    n, runs = 1001, 1500
    made = mechanism(Median(BOUNDS), guarantee, n, "quantile", level)
    data, target = worst(Median(BOUNDS), n)
    # All of the window's excess is of the one gap that S is made of, if S is of it alone.
    w = made.query.window
    s = made.query.smooth_sensitivity(data, smoothing=made.smoothing)
    excess = (made.query.value(data) - target) / s
    found = hits(made, data, target, runs, seed=(str(guarantee), level))
    assert z_score(found, runs, float(level)) > -4
    if excess > (w - 1) / 2 - 1e-9:
        assert z_score(found, runs, float(level)) < 4


@pytest.mark.parametrize(
    ("query", "guarantee"),
    [
        (Median(BOUNDS), PURE),
        (Median(BOUNDS), ZCDP),
        (Quantile("0.9", bounds=BOUNDS), PURE),
        (Median(BOUNDS), PRIVATE),
        (Quantile("0.9", bounds=BOUNDS), PRIVATE),
        (Median(BOUNDS), sd.ZCDP("1/2", neighbours="add_remove")),
    ],
    ids=str,
)
@pytest.mark.parametrize("law", ["lognormal", "two", "comb", "equal"])
def test_the_plain_quantile_is_covered(query: Query, guarantee: Any, law: str) -> None:
    n, runs = 3001, 150
    rng = np.random.default_rng(4)
    q = float(query.q) if isinstance(query, Quantile) else 0.5
    rank = math.ceil(q * n)
    data = {
        "lognormal": np.minimum(rng.lognormal(3, 1, n), 100.0),
        "two": np.repeat([40.0, 60.0], [rank, n - rank]),
        "comb": np.where(np.arange(n) % 7 < 3, 20.0, np.arange(n) / n * 50.0),
        "equal": np.full(n, 41.25),
    }[law]
    target = float(np.sort(data)[rank - 1])
    made = mechanism(query, guarantee, n, "quantile", "0.9")
    found = hits(made, data, target, runs, seed=(str(query), str(guarantee), law))
    assert z_score(found, runs, 0.9) > -4


def test_bars_of_the_window_miss_the_quantile() -> None:
    """What the default mends: on two values the mean of the window is far from the median."""
    n = 1001
    data, target = worst(Median(BOUNDS), n)
    made = mechanism(Median(BOUNDS), PURE, n, "window", "0.95")
    assert hits(made, data, target, 60) < 45


@pytest.mark.parametrize(
    ("law", "guarantee"), [("coin", PURE), ("coin", ZCDP), ("three", PURE), ("normal", PURE)]
)
def test_the_quantile_of_any_population_is_covered(law: str, guarantee: Any) -> None:
    """A fair coin's median too, which no interval by a density covers; fresh columns."""
    n, runs = 1001, 400
    rng = np.random.default_rng(11)
    columns: dict[str, Any] = {
        "coin": lambda: (rng.random(n) < 0.5 - 1e-9) * 100.0,
        "three": lambda: np.searchsorted([0.499, 0.501], rng.random(n)) * 50.0,
        "normal": lambda: rng.normal(50, 10, n),
    }
    target = {"coin": 0.0, "three": 50.0, "normal": 50.0}[law]
    made = mechanism(Median(BOUNDS), guarantee, n, "population", "0.95")
    found = hits(made, columns[law], target, runs, seed=law, fresh=True)
    assert z_score(found, runs, 0.95) > -4


@pytest.mark.slow
@pytest.mark.parametrize("level", ["0.95", "0.6"])
@pytest.mark.parametrize("guarantee", [PURE, ZCDP, PRIVATE], ids=str)
def test_guaranteed_coverage_with_many_runs(guarantee: Any, level: str) -> None:
    n, runs = 1001, 20_000
    made = mechanism(Median(BOUNDS), guarantee, n, "quantile", level)
    for change in range(-4, 5):
        rank = (n + 1) // 2 + change
        data = np.repeat([40.0, 60.0], [rank, n - rank])
        target = float(data[(n + 1) // 2 - 1])
        found = hits(made, data, target, runs // 4, seed=(change, level, str(guarantee)))
        assert z_score(found, runs // 4, float(level)) > -4
