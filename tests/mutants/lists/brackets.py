"""smoothed/brackets/: brackets of smoothed delta by the two smallest counts."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_CELLS = ("tests/theorems/test_mixtures_proof.py",)
_MIXED = (
    "tests/oracles/test_mixtures.py::test_the_bound_of_a_single_composition",
    "tests/oracles/test_mixtures.py::test_the_worst_cell_counts",
)
_LAWS = ("tests/oracles/test_smoothed_brackets.py",)
_BRACKETS = "smoothed/brackets"

MUTANTS = (
    Mutant(
        f"{_BRACKETS}/mixtures.py",
        "return min(rough - inside + _ROUNDING",
        "return min(rough + inside + _ROUNDING",
        "a mean multiplied by the probability that it is to be divided by",
        _MIXED,
    ),
    Mutant(
        f"{_BRACKETS}/composition_cells.py",
        "step = -(-self.size // len(self.least))",
        "step = -(-self.size // len(self.least)) + 1 if self.size > 2 else self.size",
        "cells that leave compositions between them out",
        _CELLS,
    ),
    Mutant(
        f"{_BRACKETS}/composition_cells.py",
        "left, given = n - start - 1, share / (1 - beside)",
        "left, given = n - end, share",
        "the second choice forgets the first",
        _CELLS,
    ),
    Mutant(
        f"{_BRACKETS}/composition_cells.py",
        "rest * min(chances)",
        "rest * max(chances)",
        "records that chose nothing count as the largest share",
        _CELLS,
    ),
    Mutant(
        f"{_BRACKETS}/mixtures.py",
        "        return -self._leaves[0].negative",
        "        return -self._leaves[-1].negative",
        "the bound of a cell that is not the worst",
        _MIXED,
    ),
    Mutant(
        f"{_BRACKETS}/pair_hulls.py",
        "        if hull and b >= hull[-1][1]:",
        "        if hull:",
        "one corner of a hull alone",
        (*_CELLS, *_MIXED),
    ),
    Mutant(
        f"{_BRACKETS}/pair_grid.py",
        "self._node = self._high[:-1, :-1] + grid.above",
        "self._node = self._high[1:, 1:] + grid.above",
        "the upper corner of a cell for the lower one",
        _LAWS,
    ),
    Mutant(
        f"{_BRACKETS}/binomial_cells.py",
        "lower = np.where(some, ends[0], -np.inf)",
        "lower = np.where(some, ends[1] + bend, -np.inf)",
        "the upper end of a chord for the lower one",
        _LAWS,
    ),
)
