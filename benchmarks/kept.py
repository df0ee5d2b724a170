"""Ratios of this run beside those that were kept: what fell by a third is reported.

A ratio is a yardstick's time over ours (numpy.sort, a peer, the naive algorithm, the disk), or a
peer's error over ours: it falls when we get slower or less accurate. `ratios.json` holds the last
ones that `make bench-keep` wrote.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

FILE = Path(__file__).with_name("ratios.json")
FALL = 1 / 3
"""The share of a ratio whose loss is reported."""


@dataclass(frozen=True)
class Ratios:
    """The ratios of one run.

    Attributes:
        machine: what ran, in words: another processor or numpy has other ratios.
        values: a ratio by "table: row", positive and finite.
    """

    machine: str
    values: dict[str, float] = field(default_factory=dict)

    def add(self, table: str, row: str, ratio: float) -> None:
        """Take a ratio; of two in one row the lower counts. Raises ValueError for no ratio."""
        if not (ratio > 0 and math.isfinite(ratio)):
            raise ValueError(f"{table}: {row}: expected a positive ratio; got {ratio}")
        name = f"{table}: {row}"
        self.values[name] = min(ratio, self.values.get(name, math.inf))

    def to_json(self) -> str:
        """Return the ratios as JSON, sorted, with three digits."""
        values = {name: float(f"{ratio:.3g}") for name, ratio in sorted(self.values.items())}
        return json.dumps({"machine": self.machine, "ratios": values}, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Ratios:
        """Return the ratios that `to_json` wrote."""
        fields = json.loads(text)
        return cls(str(fields["machine"]), {k: float(v) for k, v in fields["ratios"].items()})


def this_machine() -> str:
    """Return what runs, in words."""
    python = platform.python_version()
    return f"{platform.machine()}, Python {python}, numpy {version('numpy')}"


MEASURED = Ratios(this_machine())
"""The ratios of this process."""


def fallen(kept: Mapping[str, float], now: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """Return (kept, now) of the ratios that fell by a third or more, the deepest fall first."""
    both = {name: (kept[name], now[name]) for name in kept.keys() & now.keys()}
    falls = {name: pair for name, pair in both.items() if pair[1] <= pair[0] * (1 - FALL)}
    return dict(sorted(falls.items(), key=lambda item: (item[1][1] / item[1][0], item[0])))


def compare(kept: Ratios, now: Ratios, *, is_whole: bool = True) -> str:
    """Return what became of the ratios, as lines.

    Args:
        kept: those of the last run that was kept.
        now: those of this run.
        is_whole: True if every benchmark ran, so that a ratio that is missing is one that went.
    """
    falls = fallen(kept.values, now.values)
    common, new = kept.values.keys() & now.values.keys(), now.values.keys() - kept.values.keys()
    gone = sorted(kept.values.keys() - now.values.keys()) if is_whole else []
    lines = [
        f"{len(common)} ratios beside those that were kept: {len(falls) or 'none'} fell by a third"
    ]
    lines += [
        f"  {before:>9.3g} -> {after:<9.3g} x{after / before:<6.2g} {name}"
        for name, (before, after) in falls.items()
    ]
    lines += [f"  no longer measured: {name}" for name in gone]
    if new:
        lines.append(f"  {len(new)} new; make bench-keep keeps them")
    if falls and kept.machine != now.machine:
        lines.append(f"  kept with {kept.machine}; this is {now.machine}: compare with care")
    return "\n".join(lines)
