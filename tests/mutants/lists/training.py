"""training_runs/: the bounds of each sampling, and the lattices around random allocation."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_SAMPLINGS = ("tests/oracles/test_training_samplings.py", "tests/references/test_training.py")
_RUNS = ("tests/conformance/test_training.py", *_SAMPLINGS)

MUTANTS = (
    Mutant(
        "training_runs/schemes.py",
        "moves = 2 if settings.neighbours is Neighbours.REPLACE_ONE else 1",
        "moves = 1",
        "replacing moves a clipped sum by one norm",
        _RUNS,
    ),
    Mutant(
        "training_runs/truncated_poisson.py",
        "term(rate * Fraction(most, s + 1), 2 * mu)",
        "term(rate * Fraction(most, s + 1), mu)",
        "a record in the place of another moves a sum by one norm",
        _SAMPLINGS,
    ),
    Mutant(
        "training_runs/lattice.py",
        "+ (-max(before, after)) // 4",
        "",
        "chords of a lattice below said to stay below",
        _SAMPLINGS,
    ),
    Mutant(
        "training_runs/allocation.py",
        "return LogBounds(min(upper, log_difference_lower(lower, lost)), upper)",
        "return LogBounds(upper, upper)",
        "random allocation from above said to be exact",
        _SAMPLINGS,
    ),
    Mutant(
        "training_runs/sampled_atoms.py",
        "log_rest = float(ball(1 - rate).log().mid()) if rate < 1 else -math.inf",
        "log_rest = -math.inf",
        "a record that is always sampled with less mass",
        _SAMPLINGS,
    ),
    Mutant(
        "training_runs/subsampled.py",
        "second = ball(rate) * ball(rate) / larger",
        "second = 0 * ball(rate)",
        "Poisson samples under replace_one without the replaced record",
        _SAMPLINGS,
    ),
)
