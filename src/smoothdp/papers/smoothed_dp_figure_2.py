"""Figure 2 (left) of paper 1, recomputed: smoothed DP of the election of 2020."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

from smoothdp.exact.parameters import Parameter, exact_fraction
from smoothdp.mechanisms import SamplingHistogram
from smoothdp.papers.elections import units_2020
from smoothdp.plots.canvas import save
from smoothdp.plots.smoothed import plot_smoothed
from smoothdp.privacy.model import DataModel
from smoothdp.smoothed import smoothed_delta
from smoothdp.text import table, upper_text

_LN10 = math.log(10)
_SIZES = (500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 10**6, 10**7, 155_507_476)
_EPSILONS = ("0.5", "1", "2", "7")


@dataclass(frozen=True, slots=True)
class SmoothedRow:
    """One number of voters; natural logarithms, upper bounds."""

    n_records: int
    n_lost: int
    log_deltas: tuple[float, ...]
    log_lowers: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SmoothedElectionFigure:
    """Figure 2 (left) of paper 1: smoothed delta against n, over the 2020 units."""

    title: ClassVar[str] = "smoothed DP of the 2020 election, 0.2% of votes lost"
    lost: Fraction
    epsilons: tuple[str, ...]
    n_units: int
    rows: tuple[SmoothedRow, ...]

    @classmethod
    def compute(
        cls,
        *,
        lost: Parameter = "0.002",
        progress: Callable[[int, int], None] | None = None,
    ) -> SmoothedElectionFigure:
        """Compute smoothed delta for each number of voters and each epsilon.

        The model holds the shares of the two leading candidates in every unit; each voter
        votes by any of them. A share ``lost`` of the votes is lost: T = ceil((1 - lost) n).
        """
        share = exact_fraction(lost, name="lost")
        units = units_2020()
        model = DataModel.from_counts(unit.votes for unit in units)
        rows = []
        for done, n in enumerate(_SIZES, 1):
            mechanism = SamplingHistogram(n, sampling_rate=1 - share)
            results = [smoothed_delta(mechanism, model, epsilon=e) for e in _EPSILONS]
            rows.append(
                SmoothedRow(
                    n_records=n,
                    n_lost=n - mechanism.n_draws,
                    log_deltas=tuple(result.log_delta for result in results),
                    log_lowers=tuple(result.log_lower for result in results),
                )
            )
            if progress is not None:
                progress(done, len(_SIZES))
        return cls(share, _EPSILONS, len(units), tuple(rows))

    def setting(self) -> str:
        """Return the setting in one line."""
        return (
            f"{float(100 * self.lost):g}% of the votes lost at random; votes by the shares of "
            f"{self.n_units} units of 2020"
        )

    def text(self) -> str:
        """Return the table and what it says."""
        header = ("voters", "lost", *(f"epsilon {e}" for e in self.epsilons), "1/n", "ordinary DP")
        rows = [
            (
                str(row.n_records),
                str(row.n_lost),
                *(upper_text(log_delta) for log_delta in row.log_deltas),
                f"{1 / row.n_records:.1e}",
                f"{1 - row.n_lost / row.n_records:.3f}",
            )
            for row in self.rows
        ]
        gap = max(
            upper - lower
            for row in self.rows
            for upper, lower in zip(row.log_deltas, row.log_lowers, strict=True)
        )
        return (
            f"Figure 2 (left) of paper 1: {self.title}\n{self.setting()}\n\n"
            f"{table(rows, header=header)}\n\n"
            "Upper bounds; lower bounds are within a factor of "
            f"1 + {math.expm1(gap):.1e}.\n"
            "Smoothed delta falls exponentially in the number of lost votes: at a large "
            "epsilon it is\nthe chance that none of the lost votes, in a unit like the most "
            "one-sided one, was of the\nlesser candidate. With few voters it stays large."
        )

    def to_dict(self) -> dict[str, object]:
        """Return everything for JSON; logarithms are natural."""
        return {
            "figure": "smoothed-dp/2",
            "setting": self.setting(),
            "epsilons": self.epsilons,
            "rows": [asdict(row) for row in self.rows],
        }

    def draw(self, path: str | Path) -> Path:
        """Write the picture, in the arrangement of the paper, and return its path."""
        axes = plot_smoothed(
            [row.n_records for row in self.rows],
            {
                f"epsilon = {e}": [row.log_deltas[place] / _LN10 for row in self.rows]
                for place, e in enumerate(self.epsilons)
            },
            title=self.setting(),
        )
        return save(axes, path)
