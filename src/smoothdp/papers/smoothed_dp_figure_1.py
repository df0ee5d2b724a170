"""Figures of paper 1 (Liu, Wang, Xia), recomputed exactly."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

from smoothdp.exact.parameters import Parameter, exact_fraction
from smoothdp.mechanisms import SamplingHistogram
from smoothdp.mechanisms.histogram.utility import odds
from smoothdp.papers.elections import Election, elections
from smoothdp.plots.canvas import save
from smoothdp.plots.elections import plot_elections
from smoothdp.text import table, upper_text

_LN10 = math.log(10)


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
        """True if delta(x) < 1/n, the paper's mark of a private release."""
        return self.log_delta < -math.log(self.n_votes)


@dataclass(frozen=True, slots=True)
class ElectionFigure:
    """Figure 1 of paper 1, recomputed: how private were the elections since 1920?"""

    title: ClassVar[str] = "privacy of US presidential elections with 0.2% of votes lost"
    lost: Fraction
    threshold: Fraction
    rows: tuple[ElectionRow, ...]

    @classmethod
    def compute(
        cls,
        *,
        lost: Parameter = "0.002",
        threshold: Parameter = "0.51",
        progress: Callable[[int, int], None] | None = None,
    ) -> ElectionFigure:
        """Compute delta(x) and the adversary's utility, election by election.

        A share ``lost`` of the votes of the two leading candidates is lost at random,
        T = ceil((1 - lost) n); epsilon = ln(threshold / (1 - threshold)). The utility is
        the larger of the two, over which candidate's vote the adversary is after.
        """
        share = exact_fraction(lost, name="lost")
        accuracy = exact_fraction(threshold, name="threshold")
        every = elections()
        rows = []
        for done, election in enumerate(every, 1):
            rows.append(_row(election, share, accuracy))
            if progress is not None:
                progress(done, len(every))
        return cls(share, accuracy, tuple(rows))

    def setting(self) -> str:
        """Return the setting in one line."""
        ratio = self.threshold / (1 - self.threshold)
        return (
            f"{float(100 * self.lost):g}% of the votes lost at random, epsilon = ln({ratio}) = "
            f"{float(odds(self.threshold)):.4f} (threshold {float(self.threshold):g})"
        )

    def text(self) -> str:
        """Return the table and what it says."""
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
                f"{row.log_delta / _LN10:.3f}",
                upper_text(row.log_utility),
                f"{row.log_utility / _LN10:.3f}",
                f"{1 / row.n_votes:.2e}",
                "yes" if row.below_one_over_n else "NO",
                f"{row.ordinary_dp:.6f}",
            )
            for row in self.rows
        ]
        private = sum(row.below_one_over_n for row in self.rows)
        return (
            f"Figure 1 of paper 1: {self.title}\n{self.setting()}\n\n"
            f"{table(rows, header=header)}\n\n"
            f"delta(x) is below 1/n, the paper's mark of a private release, in {private} of "
            f"{len(rows)} elections.\nThese are statements about published counts. Ordinary DP "
            "covers every conceivable count at\nonce, one with a single dissenting vote among "
            "them, and so sees no privacy at all."
        )

    def to_dict(self) -> dict[str, object]:
        """Return everything for JSON; logarithms are natural, upper bounds."""
        return {
            "figure": "smoothed-dp/1",
            "setting": self.setting(),
            "rows": [
                {**asdict(row), "below_one_over_n": row.below_one_over_n} for row in self.rows
            ],
        }

    def draw(self, path: str | Path) -> Path:
        """Write the picture, in the arrangement of the paper, and return its path."""
        axes = plot_elections(self.rows, title=self.setting())
        return save(axes, path)


def _row(election: Election, lost: Fraction, threshold: Fraction) -> ElectionRow:
    first, second = election.votes
    n = first + second
    mechanism = SamplingHistogram(n, sampling_rate=1 - lost)
    epsilon = odds(threshold)
    log_utility = max(
        mechanism.log_adversary_utility(known, threshold=threshold).upper
        for known in ((first - 1, second), (first, second - 1))
    )
    return ElectionRow(
        year=election.year,
        n_votes=n,
        n_lost=n - mechanism.n_draws,
        log_delta=mechanism.log_delta(election.votes, epsilon=epsilon),
        log_utility=log_utility,
        ordinary_dp=mechanism.worst_case_delta(epsilon=epsilon),
    )
