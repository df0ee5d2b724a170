"""training_runs/: the bounds of each sampling, and the sums around random allocation."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_SAMPLINGS = ("tests/oracles/test_training_samplings.py", "tests/references/test_training.py")
_SUMS = ("tests/theorems/test_doubled_sums_proof.py",)
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
        "training_runs/doubled_sums.py",
        "masses += np.bincount(cells + 1, products * share, points.size)",
        "masses += np.bincount(cells, products * share, points.size)",
        "sums above rounded down",
        _SUMS,
    ),
    Mutant(
        "training_runs/doubled_sums.py",
        "return Sums(means / masses, masses,",
        "return Sums(1.01 * means / masses, masses,",
        "sums below beyond their mean",
        _SUMS,
    ),
    Mutant(
        "training_runs/doubled_sums.py",
        "mean = first.lost_mean + second.lost_mean + grown * beyond.mean",
        "mean = first.lost_mean + second.lost_mean",
        "sums beyond the last point left out above",
        _SUMS,
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
