"""smoothed/: the interval by sampled databases, and the bounds in closed form."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_INTERVAL = ("tests/rounding/test_smoothed.py",)
_BOUNDS = ("tests/rounding/test_bounds_of_smoothed_delta.py",)

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
    Mutant(
        "smoothed/many_values/closed_bound.py",
        "return _Term(round_up(offset), max(0.0, round_down(rate)))",
        "return _Term(round_up(offset), max(0.0, float(rate.mid()) * (1 + 1e-8)))",
        "a rate that is rounded up, by as little as floats would lose",
        _BOUNDS,
    ),
    Mutant(
        "smoothed/many_values/closed_bound.py",
        "_BITS = 512",
        "_BITS = 64",
        "too few digits: where the rate cancels nothing is left, and the bound is 1",
        _BOUNDS,
    ),
    Mutant(
        "smoothed/many_values/closed_bound.py",
        "                _term(under, mean * fall + under),",
        "                _term(under, mean * fall + over),",
        "the offset of the other term, with replacement",
        _BOUNDS,
    ),
    Mutant(
        "smoothed/many_values/many_values.py",
        "kept = ball(Fraction(draws, n)) - ball(Fraction(n - draws, n)) * (draws * absent).expm1()",
        "kept = 1 - ball(Fraction(n - draws, n)) * (ball(1) + (draws * absent).expm1() + 1e-12)",
        "a difference of two numbers near 1, with the error of floats",
        _BOUNDS,
    ),
    Mutant(
        "smoothed/many_values/many_values.py",
        "return min(0.0, round_down((n - draws) * absent + kept.log()))",
        "return min(0.0, float((n * absent + kept.log() - draws * absent).mid()) * (1 - 1e-12))",
        "a lower bound that is rounded up",
        _BOUNDS,
    ),
)
