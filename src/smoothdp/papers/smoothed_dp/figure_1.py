"""Figure 1 of paper 1 (Liu, Wang, Xia), recomputed: elections since 1920."""

from __future__ import annotations

import math
from dataclasses import asdict, astuple, dataclass
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

from smoothdp.exact.parameters.numbers import Parameter, exact_fraction
from smoothdp.mechanisms import SamplingHistogram
from smoothdp.mechanisms.histogram.accounting.utility import odds
from smoothdp.papers.reproduction import Progress
from smoothdp.papers.runner import run_cells
from smoothdp.papers.smoothed_dp.elections import elections
from smoothdp.plots.canvas import save
from smoothdp.plots.elections import plot_elections
from smoothdp.text import log10_up, table, upper_text


@dataclass(frozen=True, slots=True)
class ElectionRow:
    """One election of Figure 1; natural logarithms, upper bounds."""

    year: int
    n_votes: int
    n_lost: int
    log_delta: float
    log_utility: float
    ordinary_dp: float

    @property
    def below_one_over_n(self) -> bool:
        """True if delta(x) < 1/n: what the paper asks for, and no pass mark."""
        return self.log_delta < -math.log(self.n_votes)


@dataclass(frozen=True, slots=True)
class ElectionFigure:
    """Figure 1 of paper 1, recomputed: how private the elections since 1920 were."""

    title: ClassVar[str] = "privacy of US presidential elections with 0.2% of votes lost"
    lost: Fraction
    threshold: Fraction
    elections: tuple[ElectionRow, ...]

    @classmethod
    def compute(
        cls,
        *,
        full: bool = False,
        store: Path | None = None,
        progress: Progress | None = None,
        lost: Parameter = "0.002",
        threshold: Parameter = "0.51",
    ) -> ElectionFigure:
        """Compute delta(x) and the adversary's utility, election by election.

        A share ``lost`` of the votes of the two leading candidates is lost at random,
        T = ceil((1 - lost) n); epsilon = ln(threshold / (1 - threshold)). The utility is
        the larger of the two, over which candidate's vote the adversary is after. Both sizes
        are the same: all elections.
        """
        share = exact_fraction(lost, name="lost")
        accuracy = exact_fraction(threshold, name="threshold")
        cells = [(election.year, str(share), str(accuracy)) for election in elections()]
        computed = run_cells(
            "smoothed-dp/1",
            cells,
            election_row,
            store=store,
            progress=progress,
            workers=None if full else 1,
        )
        return cls(share, accuracy, tuple(ElectionRow(**row) for row in computed))

    def setting(self) -> str:
        """Return the setting in one line."""
        ratio = self.threshold / (1 - self.threshold)
        return (
            f"{float(100 * self.lost):g}% of the votes lost at random, epsilon = ln({ratio}) = "
            f"{float(odds(self.threshold)):.4f} (threshold {float(self.threshold):g})"
        )

    def text(self) -> str:
        """Return the table and its findings as text."""
        header = (
            "year",
            "votes",
            "lost",
            "delta(x)",
            "log10",
            "utility",
            "log10",
            "1/n",
            "delta<1/n",
            "ordinary DP",
        )
        rows = [
            (
                str(row.year),
                str(row.n_votes),
                str(row.n_lost),
                upper_text(row.log_delta),
                log10_up(row.log_delta),
                upper_text(row.log_utility),
                log10_up(row.log_utility),
                f"{1 / row.n_votes:.2e}",
                "yes" if row.below_one_over_n else "NO",
                f"{row.ordinary_dp:.6f}",
            )
            for row in self.elections
        ]
        private = sum(row.below_one_over_n for row in self.elections)
        return (
            f"Figure 1 of paper 1: {self.title}\n{self.setting()}\n\n"
            f"{table(rows, header=header)}\n\n"
            "delta(x) is below 1/n, which the paper asks for and which is no pass mark, in "
            f"{private} of {len(rows)} elections.\nThese are statements about published counts. "
            "Ordinary DP covers every conceivable count at\nonce, one with a single dissenting "
            "vote among them, and so sees no privacy at all."
        )

    def to_dict(self) -> dict[str, object]:
        """Return everything for JSON; logarithms are natural, upper bounds."""
        return {
            "figure": "smoothed-dp/1",
            "setting": self.setting(),
            "rows": [
                {**asdict(row), "below_one_over_n": row.below_one_over_n} for row in self.elections
            ],
        }

    def rows(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """Return one row for each election; logarithms are natural."""
        header = tuple(ElectionRow.__dataclass_fields__)
        return header, [astuple(row) for row in self.elections]

    def draw(self, path: str | Path) -> Path:
        """Write the picture, in the arrangement of the paper, and return its path."""
        axes = plot_elections(self.elections, title=self.setting())
        return save(axes, path)


def election_row(cell: tuple[int, str, str]) -> dict[str, float]:
    """Return the `ElectionRow` of (year, share lost, threshold), as a dictionary."""
    year, lost, text = cell
    first, second = next(e.votes for e in elections() if e.year == year)
    n, threshold = first + second, Fraction(text)
    mechanism = SamplingHistogram(n, sampling_rate=1 - Fraction(lost))
    epsilon = odds(threshold)
    log_utility = max(
        mechanism.log_adversary_utility(known, threshold=threshold).upper
        for known in ((first - 1, second), (first, second - 1))
    )
    row = ElectionRow(
        year=year,
        n_votes=n,
        n_lost=n - mechanism.n_draws,
        log_delta=mechanism.log_delta((first, second), epsilon=epsilon),
        log_utility=log_utility,
        ordinary_dp=mechanism.worst_case_delta(epsilon=epsilon),
    )
    return asdict(row)
