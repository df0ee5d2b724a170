"""Figure 2 (right) of paper 1, recomputed: one step of SGD with 8-bit gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import ClassVar

from smoothdp.papers.reproduction import Progress
from smoothdp.papers.smoothed_dp.decay import (
    ORDINARY_DP,
    ExponentialFit,
    exponential_fit,
    exponentials_through,
    powers_through,
)
from smoothdp.papers.smoothed_dp.gradients import EPSILON, LEVELS, GradientRow, gradient_rows
from smoothdp.plots.canvas import save
from smoothdp.plots.panels import Look, Panel, plot_panels
from smoothdp.text import number_down, number_up, table

_LN10 = math.log(10)
_SIZES = (25, 49, 100, 225, 400)
_FULL_SIZES = (25, 49, 100, 169, 225, 324, 400, 625, 900)
_LAWS = (("normal", "0", "0.12"), ("normal", "0.2", "0.12"))
_DATABASES, _FULL_DATABASES = 125, 2000
ESTIMATE = "estimate"
PROVED, USUAL = "99% interval, proved", "99% interval, usual"


@dataclass(frozen=True, slots=True)
class GradientFigure:
    """Figure 2 (right) of paper 1: smoothed delta of a batch's average gradient against n."""

    title: ClassVar[str] = "smoothed DP of one step of SGD with 8-bit gradients"
    n_databases: int
    sizes: tuple[GradientRow, ...]

    @classmethod
    def compute(
        cls, *, full: bool = False, store: Path | None = None, progress: Progress | None = None
    ) -> GradientFigure:
        """Estimate smoothed delta for each number of records, batches of sqrt(n).

        The average of a batch is over a grid of 256 values, so delta at each database is
        exact; its mean is over databases with all gradients from N(0, .12^2), or all from
        N(.2, .12^2), quantised to 8 bits, by a seeded generator: 125 databases of each up to
        n = 400, or 2000 up to 900. The paper does not state epsilon; 2 is used.
        """
        (rows,) = gradient_rows(
            "smoothed-dp/2-right",
            [_LAWS],
            _FULL_SIZES if full else _SIZES,
            n_databases=_FULL_DATABASES if full else _DATABASES,
            store=store,
            progress=progress,
        )
        return cls(rows[0].n_databases, tuple(rows))

    def setting(self) -> str:
        """Return the setting in one line."""
        return (
            f"batches of sqrt(n), epsilon = {EPSILON}, gradients N(0, .12^2) or N(.2, .12^2) in "
            f"{LEVELS} levels"
        )

    def text(self) -> str:
        """Return the table and its findings as text."""
        fit = fit_of(self.sizes)
        header = (
            "records", "batch", "estimate", PROVED, USUAL, "exponential fit", "ln / sqrt(n)",
            "ordinary DP",
        )  # fmt: skip
        rows = [
            (
                str(row.n_records),
                str(row.n_draws),
                f"{math.exp(row.log_estimate):.3e}",
                _between(row.log_lower, row.log_upper),
                _between(row.log_usual_lower, row.log_usual_upper),
                f"{math.exp(fit.log_delta(row.n_records)):.1e}",
                f"{row.log_estimate / math.sqrt(row.n_records):.3f}",
                f"{row.ordinary_dp:.3f}",
            )
            for row in self.sizes
        ]
        return (
            f"Figure 2 (right) of paper 1: {self.title}\n{self.setting()}\n\n"
            f"{table(rows, header=header)}\n\n"
            f"Means of the exact delta(x) of {self.n_databases} seeded databases of each "
            "distribution, of the one with the larger\nmean; mixtures are not looked at.\n"
            f"{INTERVALS}\n\n"
            f"The exponential fit (dotted), slope {fit.slope:.3g} of ln delta for each record, is "
            f"off by a factor of up to {fit.worst_factor:.2g}: where\nthe picture has an "
            f"exponential as a straight line, the estimates bend.\n{decay_words(self.sizes)}\n"
            f"{IN_THE_END}"
        )

    def to_dict(self) -> dict[str, object]:
        """Return everything for JSON; logarithms are natural."""
        rows = [asdict(row) for row in self.sizes]
        return {
            "figure": "smoothed-dp/2-right",
            "setting": self.setting(),
            "n_databases": self.n_databases,
            "rows": [
                {key: None if value == -math.inf else value for key, value in row.items()}
                for row in rows
            ],
            "fit": fit_of(self.sizes)._asdict(),
        }

    def rows(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """Return one row for each number of records; logarithms are natural."""
        return tuple(GradientRow.__dataclass_fields__), [astuple(row) for row in self.sizes]

    def panel(self) -> Panel:
        """Return the picture: log delta against n, on which an exponential is a straight line."""
        return gradient_panel(self.setting(), self.sizes)

    def draw(self, path: str | Path) -> Path:
        """Write the picture, in the arrangement of the paper, and return its path."""
        return save(plot_panels([self.panel()], columns=1, width=7.0), path)


INTERVALS = (
    "The proved interval holds with probability 99% for each n, however delta(x) is spread; the "
    "usual one\ntakes the mean as normal, as the paper's must."
)
IN_THE_END = (
    "So in the plotted range ln delta falls about like -sqrt(n), the batch; in the end it falls "
    "like -n, as\nthe paper has it: once n is so large that the rarest of the 256 values is drawn "
    "more often than a batch,\ndelta(x) is 0. The paper does not state epsilon; 2 is used."
)


def fit_of(rows: Sequence[GradientRow]) -> ExponentialFit:
    """Return the exponential fit of the estimates."""
    return exponential_fit([row.n_records for row in rows], [row.log_estimate for row in rows])


def decay_words(rows: Sequence[GradientRow]) -> str:
    """Return which laws pass through all intervals of the rows."""
    sizes = [row.n_records for row in rows]
    proved = ([row.log_lower for row in rows], [row.log_upper for row in rows])
    usual = ([row.log_usual_lower for row in rows], [row.log_usual_upper for row in rows])
    powers = powers_through(sizes, *proved)
    words = (
        f"exp(-c n^p) passes through all proved intervals for p from {powers.least:.2f} to "
        f"{powers.largest:.2f}"
        if powers
        else "No exp(-c n^p) passes through all proved intervals"
    )
    if not exponentials_through(sizes, *proved):
        return f"{words}, a exp(-b n) for no b."
    if not exponentials_through(sizes, *usual):
        return f"{words}, a exp(-b n) for some b\n(through all usual ones for none)."
    return f"{words}, a exp(-b n) for some b."


def gradient_panel(title: str, rows: Sequence[GradientRow]) -> Panel:
    """Return a panel as those of Figure 2 (right) and Figure 5."""
    fit, sizes = fit_of(rows), [row.n_records for row in rows]
    fit_label = f"fit exp({fit.slope:.3g} n)"
    curves = {
        ESTIMATE: [row.log_estimate / _LN10 for row in rows],
        "lower end, proved": [row.log_lower / _LN10 for row in rows],
        "upper end, proved": [row.log_upper / _LN10 for row in rows],
        "lower end, usual": [row.log_usual_lower / _LN10 for row in rows],
        "upper end, usual": [row.log_usual_upper / _LN10 for row in rows],
        fit_label: [fit.log_delta(n) / _LN10 for n in sizes],
        ORDINARY_DP: [math.log10(row.ordinary_dp) for row in rows],
    }
    look = Look(
        regions={
            PROVED: ("lower end, proved", "upper end, proved"),
            USUAL: ("lower end, usual", "upper end, usual"),
        },
        fits={fit_label: ESTIMATE},
        reference=ORDINARY_DP,
        powers=True,
    )
    return Panel(title, "records n", "log10 of smoothed delta", sizes, curves, look=look)


def _between(log_lower: float, log_upper: float) -> str:
    """Return an interval with two digits, rounded outwards."""
    return f"{number_down(math.exp(log_lower), 2)} .. {number_up(math.exp(log_upper), 2)}"
