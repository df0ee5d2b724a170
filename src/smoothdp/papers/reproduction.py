"""What every figure and table of a paper offers, however it is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, Protocol, Self

Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all)."""


class Reproduction(Protocol):
    """A figure or table of a paper, recomputed.

    ``full=False`` takes at most about 30 seconds on one core. ``store`` is a folder which keeps
    finished cells, so that an interrupted run resumes; see `smoothdp.papers.runner.run_cells`.
    """

    title: ClassVar[str]

    @classmethod
    def compute(
        cls, *, full: bool = False, store: Path | None = None, progress: Progress | None = None
    ) -> Self:
        """Recompute the figure or table."""
        ...

    def text(self) -> str:
        """Return the figure or table as plain text for a terminal."""
        ...

    def to_dict(self) -> dict[str, object]:
        """Return everything for JSON."""
        ...

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[object]]]:
        """Return the header and the rows of one table, for CSV."""
        ...


class Figure(Reproduction, Protocol):
    """A figure, which also draws itself in the arrangement of the paper."""

    def draw(self, path: str | Path) -> Path:
        """Write the picture and return its path."""
        ...
