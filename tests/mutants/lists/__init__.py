"""The list of mutants, a file a room; see `docs/how-to/add-a-mutant.md`."""

from __future__ import annotations

from tests.mutants.lists import (
    balls,
    brackets,
    calibration,
    composition,
    contours,
    design,
    flips,
    keys,
    ledger,
    logarithms,
    noise,
    pairs,
    private_size,
    probabilities,
    quantiles,
    queries,
    release,
    shuffle,
    smoothed,
    splits,
    sums,
    tables,
    training,
    walk,
)
from tests.mutants.mutant import Mutant

ALL: tuple[Mutant, ...] = (
    *logarithms.MUTANTS,
    *balls.MUTANTS,
    *probabilities.MUTANTS,
    *flips.MUTANTS,
    *composition.MUTANTS,
    *contours.MUTANTS,
    *calibration.MUTANTS,
    *noise.MUTANTS,
    *pairs.MUTANTS,
    *ledger.MUTANTS,
    *release.MUTANTS,
    *queries.MUTANTS,
    *quantiles.MUTANTS,
    *shuffle.MUTANTS,
    *smoothed.MUTANTS,
    *splits.MUTANTS,
    *brackets.MUTANTS,
    *walk.MUTANTS,
    *design.MUTANTS,
    *keys.MUTANTS,
    *sums.MUTANTS,
    *private_size.MUTANTS,
    *tables.MUTANTS,
    *training.MUTANTS,
)
"""Every mutant."""
