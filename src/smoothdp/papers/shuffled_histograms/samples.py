"""The sample complexities of paper 3 (section 3.3), exactly: how many users are enough."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.papers.reproduction import Progress
from smoothdp.papers.runner import run_cells
from smoothdp.papers.table import PaperTable
from smoothdp.shuffle.applications.pointers import MultiPartyPointerJumping, PointerChasing
from smoothdp.shuffle.applications.support import samples_needed

_TARGETS = (("1", "1e-6"), ("1", "1e-3"), ("0.5", "1e-6"))
_SUPPORTS, _FULL_SUPPORTS = (1, 2, 3, 4, 8), (1, 2, 3, 4, 6, 8, 12, 16)
_LENGTHS, _FULL_LENGTHS = (3, 7, 20), tuple(range(3, 21))
_TREES = ((2, 2), (2, 3), (3, 3))

Cell = tuple[int, str, str, str]
"""Support size, epsilon, delta, method."""


class SamplesTable(PaperTable):
    """Claim 3.4 and Theorem 1.2 of paper 3: samples that identify a support of h values."""

    name: ClassVar[str] = "shuffled-histograms/samples"
    title: ClassVar[str] = (
        "Claim 3.4 and Theorem 1.2 of paper 3: users needed to succeed with probability .99"
    )
    missing: ClassVar[str] = "any universe"
    note: ClassVar[str] = (
        "Exact success of returning every bin that is not 0, at the calibration named. The number "
        "of users does\nnot depend on the universe: pointer chasing needs as many at any length, "
        "where non-interactive local\nprotocols need at least order of the length (cited by the "
        "paper)."
    )

    @classmethod
    def compute(
        cls, *, full: bool = False, store: Path | None = None, progress: Progress | None = None
    ) -> SamplesTable:
        """Compute supports up to 8 (16 at the full size) and the problems built on them."""
        supports = _FULL_SUPPORTS if full else _SUPPORTS
        support_cells: list[Cell] = [
            (size, *target, "exact") for target in _TARGETS for size in supports
        ]
        paper_cells: list[Cell] = [(size, *_TARGETS[0], "paper") for size in (1, 2)]
        problems: list[tuple[str, PointerChasing | MultiPartyPointerJumping]] = [
            (f"pointer chasing, length {length}", PointerChasing(2, length=length))
            for length in (_FULL_LENGTHS if full else _LENGTHS)
        ]
        problems += [
            (f"pointer jumping, {s} children, height {h}", MultiPartyPointerJumping(s, height=h))
            for s, h in _TREES
        ]
        problem_cells: list[Cell] = [
            (problem.support_size, *_TARGETS[0], "exact") for _, problem in problems
        ]
        cells = support_cells + paper_cells + problem_cells
        computed = run_cells(
            cls.name,
            cells,
            users_needed,
            store=store,
            progress=progress,
            workers=None if full else 1,
        )
        named: list[tuple[str, int | None]] = [("support identification", None)] * len(
            support_cells + paper_cells
        )
        named += [(label, problem.universe_size) for label, problem in problems]
        header = ("problem", "universe", "support", "epsilon", "delta", "calibration", "users")
        return cls(
            header,
            tuple(
                (label, universe, *cell, users)
                for (label, universe), cell, users in zip(named, cells, computed, strict=True)
            ),
        )


def users_needed(cell: Cell) -> int:
    """Return the least number of users for one support size, guarantee and calibration."""
    size, epsilon, delta, method = cell
    return samples_needed(
        support_size=size,
        guarantee=ApproxDP(epsilon, delta=delta),
        method="paper" if method == "paper" else "exact",
    )
