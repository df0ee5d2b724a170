"""Figure 2 (right) of paper 1, recomputed: one step of SGD with 8-bit gradients."""

from __future__ import annotations

import functools
import math
import operator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from smoothdp.claims.model.model import DataModel
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.mechanisms import SamplingAverage
from smoothdp.papers.reproduction import Progress
from smoothdp.papers.runner import run_cells
from smoothdp.plots.canvas import save
from smoothdp.plots.smoothed import plot_smoothed
from smoothdp.smoothed import smoothed_delta_interval
from smoothdp.text import table

_LN10 = math.log(10)
_SIZES = (25, 49, 100, 225, 400)
_FULL_SIZES = (*_SIZES, 625, 900)
_EPSILON = 2
_LEVELS = 256


@dataclass(frozen=True, slots=True)
class GradientRow:
    """One number of records: the batch, the estimate, and the ends of its interval."""

    n_records: int
    n_draws: int
    log_estimate: float
    log_lower: float
    log_upper: float
    vertex_counts: tuple[int, ...]


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
        N(.2, .12^2), quantised to 8 bits, by a seeded generator: 100 databases of each up to
        n = 400, or 1000 up to 900. The paper does not state epsilon; 2 is used.
        """
        n_databases = 1000 if full else 100
        laws = [("normal", mean, "0.12") for mean in ("0", "0.2")]
        computed = run_cells(
            "smoothed-dp/2-right",
            [(laws, n, n_databases) for n in (_FULL_SIZES if full else _SIZES)],
            gradient_row,
            store=store,
            progress=progress,
        )
        return cls(n_databases, tuple(read_gradient_row(row) for row in computed))

    def setting(self) -> str:
        """Return the setting in one line."""
        return (
            f"batches of sqrt(n), epsilon = {_EPSILON}, gradients N(0, .12^2) or N(.2, .12^2) in "
            f"{_LEVELS} levels"
        )

    def text(self) -> str:
        """Return the table and its findings as text."""
        header = ("records", "batch", "estimate", "99% interval", "ln / sqrt(n)", "ordinary DP")
        rows = [
            (
                str(row.n_records),
                str(row.n_draws),
                f"{math.exp(row.log_estimate):.3e}",
                f"{math.exp(row.log_lower):.1e} .. {math.exp(row.log_upper):.1e}",
                f"{row.log_estimate / math.sqrt(row.n_records):.3f}",
                f"{row.n_draws / row.n_records:.3f}",
            )
            for row in self.sizes
        ]
        return (
            f"Figure 2 (right) of paper 1: {self.title}\n{self.setting()}\n\n"
            f"{table(rows, header=header)}\n\n"
            f"Means of the exact delta(x) of {self.n_databases} databases of each distribution, "
            "by a seeded\ngenerator; the interval holds at any number of databases and is wide. "
            "ln delta falls about\nlike -sqrt(n), the batch, in this range, and like -n, as the "
            "paper has it, once n is so large that\nthe rarest of the 256 values is drawn more "
            "often than a batch. The paper does not state epsilon; 2\nis used."
        )

    def to_dict(self) -> dict[str, object]:
        """Return everything for JSON; logarithms are natural."""
        return {
            "figure": "smoothed-dp/2-right",
            "setting": self.setting(),
            "n_databases": self.n_databases,
            "rows": [
                {**asdict(row), "log_lower": None if row.log_lower == -math.inf else row.log_lower}
                for row in self.sizes
            ],
        }

    def rows(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """Return one row for each number of records; logarithms are natural."""
        header = ("n_records", "n_draws", "log_estimate", "log_lower", "log_upper")
        return header, [
            (row.n_records, row.n_draws, row.log_estimate, row.log_lower, row.log_upper)
            for row in self.sizes
        ]

    def draw(self, path: str | Path) -> Path:
        """Write the picture, in the arrangement of the paper, and return its path."""
        axes = plot_smoothed(
            [row.n_records for row in self.sizes],
            {
                "estimate": [row.log_estimate / _LN10 for row in self.sizes],
                "99% upper end": [row.log_upper / _LN10 for row in self.sizes],
                "ordinary DP, T/n": [math.log10(row.n_draws / row.n_records) for row in self.sizes],
            },
            title=self.setting(),
        )
        return save(axes, path)


def gradient_row(cell: tuple[list[tuple[str, str, str]], int, int]) -> dict[str, object]:
    """Return the `GradientRow` of (laws, n, databases), as a dictionary.

    A law is ("normal" or "laplace", its mean, its standard deviation).
    """
    laws, n, n_databases = cell
    models = [
        (DataModel.quantized_normal if family == "normal" else DataModel.quantized_laplace)(
            [mean], std=std, bits=8
        )
        for family, mean, std in laws
    ]
    mechanism = SamplingAverage(n, n_draws=math.isqrt(n), universe=range(_LEVELS))
    interval = smoothed_delta_interval(
        mechanism,
        functools.reduce(operator.or_, models),
        epsilon=_EPSILON,
        n_databases=n_databases,
        rng=SeededRandom(n),
    )
    row = GradientRow(
        n_records=n,
        n_draws=mechanism.n_draws,
        log_estimate=interval.log_estimate,
        log_lower=interval.log_lower,
        log_upper=interval.log_upper,
        vertex_counts=interval.vertex_counts,
    )
    return asdict(row)


def read_gradient_row(row: dict[str, Any]) -> GradientRow:
    """Return the row that `gradient_row` wrote."""
    return GradientRow(**{**row, "vertex_counts": tuple(row["vertex_counts"])})
