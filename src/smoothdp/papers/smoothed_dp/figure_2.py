"""Figure 2 (left) of paper 1, recomputed: smoothed DP of the election of 2020."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

from smoothdp.claims.model.model import DataModel
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction
from smoothdp.mechanisms import SamplingHistogram
from smoothdp.papers.reproduction import Progress
from smoothdp.papers.runner import run_cells
from smoothdp.papers.smoothed_dp.decay import ORDINARY_DP, ExponentialFit, exponential_fit
from smoothdp.papers.smoothed_dp.elections import elections, units_2020
from smoothdp.plots.canvas import save
from smoothdp.plots.panels import Look, Panel, plot_panels
from smoothdp.smoothed import smoothed_delta
from smoothdp.text import table, upper_text

_LN10 = math.log(10)
_FITTED = tuple(range(100_000, 1_000_001, 100_000))
_SIZES = (500, 1000, 2000, 5000, 10_000, 20_000, 50_000, *_FITTED, 10**7, 155_507_476)
_MORE_SIZES = (*range(150_000, 1_000_000, 100_000), 2 * 10**6, 5 * 10**6, 2 * 10**7, 5 * 10**7)
_DRAWN = 10**6
"""The largest n of the picture, which has a linear scale: the paper names no range."""
EPSILONS = ("0.5", "1", "2", "7")


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
    sizes: tuple[SmoothedRow, ...]

    @classmethod
    def compute(
        cls,
        *,
        full: bool = False,
        store: Path | None = None,
        progress: Progress | None = None,
        lost: Parameter = "0.002",
    ) -> SmoothedElectionFigure:
        """Compute smoothed delta for each number of voters and each epsilon.

        The model holds the shares of the two leading candidates in every unit; each voter
        votes by any of them. A share ``lost`` of the votes is lost: T = ceil((1 - lost) n).
        The full size has more numbers of voters.
        """
        share = exact_fraction(lost, name="lost")
        sizes = sorted(_SIZES + _MORE_SIZES) if full else _SIZES
        computed = run_cells(
            "smoothed-dp/2",
            [("units", n, str(share)) for n in sizes],
            smoothed_row,
            store=store,
            progress=progress,
            workers=None if full else 1,
        )
        rows = tuple(SmoothedRow(n, lost, tuple(up), tuple(low)) for n, lost, up, low in computed)
        return cls(share, EPSILONS, len(units_2020()), rows)

    def setting(self) -> str:
        """Return the setting in one line."""
        return (
            f"{float(100 * self.lost):g}% of the votes lost at random; votes by the shares of "
            f"{self.n_units} units of 2020"
        )

    def fits(self) -> dict[str, ExponentialFit]:
        """Return the exponential fit of each epsilon, from 100,000 to 1,000,000 voters."""
        rows = [row for row in self.sizes if _FITTED[0] <= row.n_records <= _FITTED[-1]]
        sizes = [row.n_records for row in rows]
        return {
            epsilon: exponential_fit(sizes, [row.log_deltas[position] for row in rows])
            for position, epsilon in enumerate(self.epsilons)
        }

    def panel(self) -> Panel:
        """Return the picture: log delta against n, on which an exponential is a straight line."""
        rows = [row for row in self.sizes if row.n_records <= _DRAWN]
        sizes = [row.n_records for row in rows]
        curves = {
            f"epsilon = {epsilon}": [row.log_deltas[position] / _LN10 for row in rows]
            for position, epsilon in enumerate(self.epsilons)
        }
        curves["1/n"] = [-math.log10(n) for n in sizes]
        fits = {}
        for epsilon, fit in self.fits().items():
            label = f"fit exp({fit.slope:.3g} n)"
            fits[label] = f"epsilon = {epsilon}"
            curves[label] = [fit.log_delta(n) / _LN10 for n in sizes]
        curves[ORDINARY_DP] = [math.log10(1 - row.n_lost / row.n_records) for row in rows]
        look = Look(fits=fits, reference=ORDINARY_DP, powers=True)
        return Panel(
            self.setting(), "voters n", "log10 of smoothed delta", sizes, curves, look=look
        )

    def text(self) -> str:
        """Return the table and its findings as text."""
        header = ("voters", "lost", *(f"epsilon {e}" for e in self.epsilons), "1/n", "ordinary DP")
        rows = [
            (
                str(row.n_records),
                str(row.n_lost),
                *(upper_text(log_delta) for log_delta in row.log_deltas),
                f"{1 / row.n_records:.1e}",
                f"{1 - row.n_lost / row.n_records:.3f}",
            )
            for row in self.sizes
        ]
        gap = max(
            upper - lower
            for row in self.sizes
            for upper, lower in zip(row.log_deltas, row.log_lowers, strict=True)
        )
        fits = [
            (
                e,
                f"{fit.slope:.4g}",
                f"{fit.slope / float(self.lost):.4f}",
                f"{fit.worst_factor:.4g}",
            )
            for e, fit in self.fits().items()
        ]
        fits_header = ("epsilon", "slope of ln delta", "per lost vote", "off by a factor of")
        return (
            f"Figure 2 (left) of paper 1: {self.title}\n{self.setting()}\n\n"
            f"{table(rows, header=header)}\n\n"
            "Upper bounds; lower bounds are within a factor of "
            f"1 + {math.expm1(gap):.1e}.\n"
            "Smoothed delta falls exponentially in the number of lost votes: at a large "
            "epsilon it is\nthe chance that none of the lost votes, in a unit like the most "
            "one-sided one, was of the\nlesser candidate. With few voters it stays large.\n\n"
            f"Exponential fits (dotted), {_FITTED[0]} to {_FITTED[-1]} voters, by least squares of "
            f"ln delta:\n\n{table(fits, header=fits_header)}\n\n"
            "The picture has a linear scale of n and a logarithmic one of delta: an exponential "
            "is a straight line\nthere. The last column is how far a fit is off in its range, "
            "beyond which it is no bound."
        )

    def to_dict(self) -> dict[str, object]:
        """Return everything for JSON; logarithms are natural."""
        return {
            "figure": "smoothed-dp/2",
            "setting": self.setting(),
            "epsilons": self.epsilons,
            "rows": [asdict(row) for row in self.sizes],
            "fits": {epsilon: fit._asdict() for epsilon, fit in self.fits().items()},
        }

    def rows(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """Return one row for each number of voters and epsilon; logarithms are natural."""
        header = ("n_records", "n_lost", "epsilon", "log_delta", "log_lower")
        return header, [
            (row.n_records, row.n_lost, *values)
            for row in self.sizes
            for values in zip(self.epsilons, row.log_deltas, row.log_lowers, strict=True)
        ]

    def draw(self, path: str | Path) -> Path:
        """Write the picture, in the arrangement of the paper, and return its path."""
        return save(plot_panels([self.panel()], columns=1, width=7.0), path)


def smoothed_row(cell: tuple[str, int, str]) -> tuple[int, int, list[float], list[float]]:
    """Return n, records lost, and bounds of ln smoothed delta at every epsilon.

    The cell is (the model: "units" of 2020 or "history" since 1920, n, the share lost).
    """
    name, n, lost = cell
    votes = [e.votes for e in (units_2020() if name == "units" else elections())]
    mechanism = SamplingHistogram(n, sampling_rate=1 - Fraction(lost))
    model = DataModel.from_counts(votes)
    deltas = [smoothed_delta(mechanism, model, epsilon=e) for e in EPSILONS]
    return (
        n,
        n - mechanism.n_draws,
        [delta.log_delta for delta in deltas],
        [delta.log_lower for delta in deltas],
    )
