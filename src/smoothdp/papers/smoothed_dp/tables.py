"""Tables 1 to 3 of paper 1: the first with exact numbers, the others in its words."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Self

from smoothdp.paper_bounds import liu_table_1, liu_table_1_as_printed
from smoothdp.papers.reproduction import Progress
from smoothdp.papers.runner import run_cells
from smoothdp.papers.smoothed_dp.figure_2 import EPSILONS, smoothed_row
from smoothdp.papers.table import PaperTable
from smoothdp.text import number_up, upper_text

_RATE, _LOST = "0.998", "0.002"
_SIZES, _FULL_SIZES = (10_000, 100_000, 1_000_000), (10_000, 100_000, 1_000_000, 155_507_476)
_NOISE = ("0.1", "0.5", "1", "2", "6")


class NotionsTable(PaperTable):
    """Table 1 of paper 1: what DP and smoothed DP say of an election."""

    name: ClassVar[str] = "smoothed-dp/1"
    title: ClassVar[str] = (
        "Table 1 of paper 1: DP and smoothed DP of an election with 0.2% of the votes lost"
    )
    missing: ClassVar[str] = "the last column is about noise"
    note: ClassVar[str] = (
        "Without noise: DP is delta = T/n exactly, at every finite epsilon; smoothed DP over "
        "the 56 units of\n2020, upper bounds. The paper's exp(-Theta(n)) holds where every value "
        "has positive probability in every\ndistribution. With noise of level 1/epsilon the "
        "paper's (eta epsilon, 0) needs a small\nepsilon (2.5 on the integers; last row: T = 1 of "
        "n = 4). On the integers ln(1 + eta (e^(epsilon/2) - 1)) is exact; for\ncounts that are "
        "never negative, as equation (4) has them, the last column is proved."
    )

    @classmethod
    def compute(
        cls, *, full: bool = False, store: Path | None = None, progress: Progress | None = None
    ) -> NotionsTable:
        """Compute both halves of the table; the full size has the votes of 2020."""
        sizes = _FULL_SIZES if full else _SIZES
        computed = run_cells(
            cls.name,
            [("units", n, _LOST) for n in sizes],
            smoothed_row,
            store=store,
            progress=progress,
            workers=None if full else 1,
        )
        rows: list[tuple[object, ...]] = []
        for n, lost, uppers, _ in computed:
            for epsilon, upper in zip(EPSILONS, uppers, strict=True):
                rows.append(
                    ("smoothed DP", "none", n, n - lost, epsilon, "delta = exp(-Theta(n))",
                     f"delta <= {upper_text(upper)}", None)
                )  # fmt: skip
            rows.append(
                ("DP", "none", n, n - lost, "0", "delta = eta", f"delta = {1 - lost / n:g}", None)
            )
        n = sizes[-1]
        draws = n - computed[-1][1]
        settings = [(n, draws, level) for level in _NOISE] + [(4, 1, "6")]
        rows += [_with_noise(*setting) for setting in settings]
        header = (
            "notion", "noise", "n", "T", "epsilon", "paper", "exact", "proved, counts >= 0",
        )  # fmt: skip
        return cls(header, tuple(rows))


def _with_noise(n: int, draws: int, level: str) -> tuple[object, ...]:
    printed = liu_table_1_as_printed(n_records=n, n_draws=draws, noise_epsilon=level)
    exact, proved = (
        liu_table_1(n_records=n, n_draws=draws, noise_epsilon=level, support=support)
        for support in ("integers", "nonnegative")
    )
    return (
        "DP", f"level 1/{level}", n, draws, number_up(printed, 6), "(eta epsilon, 0)",
        f"({number_up(exact, 6)}, 0)", f"({number_up(proved, 6)}, 0)",
    )  # fmt: skip


class _Words(PaperTable):
    """A table of words, as printed."""

    words: ClassVar[tuple[tuple[str, ...], ...]]

    @classmethod
    def compute(
        cls,
        *,
        full: bool = False,  # noqa: ARG003
        store: Path | None = None,  # noqa: ARG003
        progress: Progress | None = None,  # noqa: ARG003
    ) -> Self:
        """Return the table; there is nothing to compute."""
        return cls(cls.words[0], cls.words[1:])


class ComparisonTable(_Words):
    """Table 2 of paper 1: smoothed DP and other notions."""

    name: ClassVar[str] = "smoothed-dp/2"
    title: ClassVar[str] = "Table 2 of paper 1: how notions of privacy treat their arguments"
    note: ClassVar[str] = (
        "As printed, cells that the paper merges repeated as they are read here. Consistent "
        "with Definitions 1,\n3 and 4."
    )
    words = (
        ("notion", "database x", "output S", "adjacent database x'"),
        ("smoothed DP (Definition 3)", "smoothed analysis", "worst case", "worst case"),
        ("DP (Definition 1)", "worst case", "worst case", "worst case"),
        ("Gaussian DP, f-DP", "worst case", "average case, by a divergence", "worst case"),
        ("Renyi DP", "worst case", "average case, by a divergence", "worst case"),
        ("concentrated DP", "worst case", "average case, by a divergence", "worst case"),
        ("Bayesian DP", "worst case", "average case, by a divergence", "less informed adversary"),
        ("random DP", "less informed adversary", "worst case", "less informed adversary"),
        ("distributional DP", "less informed adversary", "worst case", "worst case"),
    )


class ThreatsTable(_Words):
    """Table 3 of paper 1: threat models."""

    name: ClassVar[str] = "smoothed-dp/3"
    title: ClassVar[str] = "Table 3 of paper 1: threat models"
    note: ClassVar[str] = (
        'As printed. "Chooses" means that the worst case is taken, not that the adversary '
        "knows. In distributional\nDP a simulator stands for x', and it may not depend on the "
        "record's distribution (Proposition 9)."
    )
    words = (
        ("notion", "prior knowledge", "database x", "difference of x and x'", "output S"),
        ("DP", "all records but one", "chooses the worst", "chooses the worst",
         "chooses the worst"),
        ("smoothed DP", "all records but one", "chooses distributions from Pi",
         "chooses the worst", "chooses the worst"),
        ("distributional DP", "the distribution of all records but one",
         "chooses distributions from Pi", "chooses the worst", "chooses the worst"),
    )  # fmt: skip
