"""Figure 5 of paper 1 (appendix G.2), recomputed: SGD with other laws of the gradients."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from smoothdp.papers.panel_figure import PanelFigure
from smoothdp.papers.reproduction import Progress
from smoothdp.papers.smoothed_dp.figure_2_right import (
    IN_THE_END,
    INTERVALS,
    decay_words,
    gradient_panel,
)
from smoothdp.papers.smoothed_dp.gradients import GradientRow, Law, gradient_rows

_SETTINGS: tuple[tuple[Law, Law], ...] = (
    (("normal", "0", "0.15"), ("normal", "0.2", "0.15")),
    (("normal", "0", "0.1"), ("normal", "0.2", "0.1")),
    (("normal", "0", "0.12"), ("laplace", "0", "0.12")),
    (("laplace", "0", "0.12"), ("laplace", "0.2", "0.12")),
)
_SIZES = (25, 49, 100, 225)
_FULL_SIZES = (25, 49, 100, 169, 225, 324, 400, 625)
_DATABASES, _FULL_DATABASES = 75, 1000


@dataclass(frozen=True, slots=True)
class GradientSettingsFigure(PanelFigure):
    """Figure 5 of paper 1: smoothed delta of one step of SGD against n, in four settings.

    Attributes:
        settings: the rows of each panel, by n.
    """

    name: ClassVar[str] = "smoothed-dp/5"
    title: ClassVar[str] = "Figure 5 of paper 1: one step of SGD, four settings"
    note: ClassVar[str] = (
        f"Means of the exact delta(x) of seeded databases, all records from one law.\n{INTERVALS}\n"
        f"{IN_THE_END}\n.12^2 is read as the variance of Laplace's law too."
    )
    settings: tuple[tuple[GradientRow, ...], ...] = ()

    @classmethod
    def compute(
        cls, *, full: bool = False, store: Path | None = None, progress: Progress | None = None
    ) -> GradientSettingsFigure:
        """Estimate the four panels: 75 databases of each law up to n = 225, or 1000 to 625."""
        settings = gradient_rows(
            cls.name,
            _SETTINGS,
            _FULL_SIZES if full else _SIZES,
            n_databases=_FULL_DATABASES if full else _DATABASES,
            store=store,
            progress=progress,
        )
        panels = tuple(
            gradient_panel(f"({number}) {' or '.join(map(_described, laws))}", rows)
            for number, (laws, rows) in enumerate(zip(_SETTINGS, settings, strict=True), 1)
        )
        return cls(panels, tuple(map(tuple, settings)))

    def findings(self) -> list[str]:
        """Return what the four panels say, and the note."""
        words = [f"({number}) {decay_words(rows)}" for number, rows in enumerate(self.settings, 1)]
        return ["\n".join(words), self.note]


def _described(law: Law) -> str:
    family, mean, std = law
    return f"{'N' if family == 'normal' else 'L'}({mean}, {std}^2)"
