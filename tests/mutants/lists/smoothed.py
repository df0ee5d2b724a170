"""smoothed/: the interval by sampled databases."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_INTERVAL = ("tests/rounding/test_smoothed.py",)

MUTANTS = (
    Mutant(
        "smoothed/interval.py",
        "alpha = float(1 - level) / len(chosen)",
        "alpha = float(1 - level)",
        "alpha is not divided among the compositions",
        _INTERVAL,
    ),
    Mutant(
        "smoothed/interval.py",
        "level = math.log(4 / alpha)",
        "level = math.log(2 / alpha)",
        "two-sided bounds with the level of one side",
        _INTERVAL,
    ),
    Mutant(
        "smoothed/interval.py",
        "+ 7 * level / (3 * (n - 1))",
        "",
        "the variance that was seen for the true one",
        _INTERVAL,
    ),
    Mutant(
        "smoothed/interval.py",
        "highest = max(highest, means.log_upper)",
        "highest = means.log_upper",
        "the end of the last composition for the largest of all",
        _INTERVAL,
    ),
)
