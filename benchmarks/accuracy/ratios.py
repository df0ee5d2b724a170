"""Ratios of root-mean-square errors with bootstrap intervals, and the targets they are held to."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from benchmarks.accuracy.cells import SEED
from benchmarks.kept import MEASURED
from smoothdp.types import FloatArray


class Ratio(NamedTuple):
    """(error of the peer) / (error of smoothdp), and its 95% interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        mark = " loss" if self.high < 1 else " tie" if self.low < 1 else ""
        return f"{digits(self.value)} ({digits(self.low)}-{digits(self.high)}){mark}"


def digits(value: float) -> str:
    """Return three digits, large numbers as 1.23e4."""
    return f"{value:.3g}".replace("e+0", "e").replace("e+", "e")


def ratio(peer: FloatArray, ours: FloatArray) -> Ratio:
    """Return sqrt(mean peer / mean ours) of squared errors, one for each data set.

    The interval is a bootstrap over data sets, which both sides share.
    """
    rng = np.random.default_rng(SEED)
    picks = rng.integers(len(ours), size=(400, len(ours)))
    with np.errstate(divide="ignore", invalid="ignore"):
        resampled = np.sqrt(peer[picks].mean(axis=1) / ours[picks].mean(axis=1))
        value = float(np.sqrt(peer.mean() / ours.mean()))
    low, high = np.quantile(np.nan_to_num(resampled, nan=1.0, posinf=math.inf), [0.025, 0.975])
    return Ratio(value, float(low), float(high))


@dataclass
class Target:
    """One row of the table of targets.

    Attributes:
        text: what is compared. reach: the number to reach.
        at_most: whether the number is one not to exceed.
        judged: "all": every cell's interval must be on the right side; "median": the median of
            the cells; "reported": no target, the range is shown.
        cells: name and (value, low, high) of each cell.
    """

    text: str
    reach: float
    at_most: bool = False
    judged: str = "all"
    cells: list[tuple[str, Ratio]] = field(default_factory=list)

    def add(self, name: str, value: Ratio | float) -> None:
        """Count a cell; a number alone is exact."""
        found = value if isinstance(value, Ratio) else Ratio(value, value, value)
        self.cells.append((name, found))

    def line(self) -> str:
        """Return the verdict: the worst cell, or the median, against the target."""
        sign = "<=" if self.at_most else ">="
        goal = "reported" if self.judged == "reported" else f"{sign} {self.reach:g}"
        head = f"  {self.text:<66} {goal:<9}"
        if not self.cells:
            return f"{head} no cell in this run"
        if self.judged == "reported":
            found = sorted(one.value for _, one in self.cells)
            return f"{head} {found[0]:.3g} to {found[-1]:.3g} in {len(found)}"
        if self.judged == "median":
            middle = float(np.median([found.value for _, found in self.cells]))
            return f"{head} {self._word(middle)}: {middle:.3g} in the median of {len(self.cells)}"
        if self.at_most:
            name, worst = max(self.cells, key=lambda cell: cell[1].high)
            edge = worst.high
        else:
            name, worst = min(self.cells, key=lambda cell: cell[1].low)
            edge = worst.low
        shown = digits(worst.value)
        if worst.low < worst.high:
            shown += f" ({digits(worst.low)}-{digits(worst.high)})"
        good = sum(self._holds(c.high if self.at_most else c.low) for _, c in self.cells)
        return f"{head} {self._word(edge)}: {good} of {len(self.cells)}, worst {shown}, {name}"

    def kept(self) -> float | None:
        """Return the worst cell as a ratio that falls when we get worse, or None without one."""
        values = [found.value for _, found in self.cells]
        worst = (1 / max(values) if self.at_most else min(values)) if all(values) and values else 0
        return worst if 0 < worst < math.inf else None

    def _holds(self, edge: float) -> bool:
        return edge <= self.reach if self.at_most else edge >= self.reach

    def _word(self, edge: float) -> str:
        return "reached" if self._holds(edge) else "NOT reached"


class Targets:
    """The table of targets, in order; cells are counted as they are found.

    Args:
        part: the name under which the ratios are kept. exact: whether no cell has an interval.
    """

    def __init__(self, part: str = "Accuracy", *, exact: bool = False) -> None:
        self._part, self._exact = part, exact
        self._rows: dict[str, Target] = {}

    def row(self, text: str, reach: float, *, at_most: bool = False, judged: str = "all") -> Target:
        """Return the row of this text, made when it is first asked for."""
        return self._rows.setdefault(text, Target(text, reach, at_most, judged))

    def show(self) -> None:
        """Print the table."""
        what = (
            "every cell" if self._exact else "95% intervals must be on the right side in every cell"
        )
        print(f"\nTargets ({what} of this run)")
        for target in self._rows.values():
            print(target.line())
            if (kept := target.kept()) is not None:
                MEASURED.add(self._part, target.text, kept)
