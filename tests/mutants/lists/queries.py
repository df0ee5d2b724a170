"""queries/: which pairs may be the largest, and smooth sensitivities rounded up."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_ROUNDING = "tests/rounding/test_queries.py"
_OLD = "tests/oracles/test_queries_kernel.py"
_DECAYS = (_ROUNDING, f"{_OLD}::test_decays_are_rounded_up")
_ROWS = (_ROUNDING, f"{_OLD}::test_every_pair_near_the_maximum_is_found")
_PAIRS = (_ROUNDING, f"{_OLD}::test_nearly_tied_differences_are_told_apart")

MUTANTS = (
    Mutant(
        "queries/sensitivity/near_maxima.py",
        "return 4 * table.error(best) if best > -np.inf else 0.0",
        "return 0.0",
        "pairs that floats put just below the largest left out",
        _ROWS,
    ),
    Mutant(
        "queries/sensitivity/row_maxima.py",
        "near = table.score(row, column) >= best - 4 * error",
        "near = table.score(row, column) >= best",
        "pairs of a long row that floats put just below the largest left out",
        _ROWS,
    ),
    Mutant(
        "queries/sensitivity/row_maxima.py",
        "hot = np.flatnonzero(maxima >= best - (2 * levels + 4) * error)",
        "hot = np.flatnonzero(maxima >= best)",
        "rows that floats put just below the largest left out",
        _ROWS,
    ),
    Mutant(
        "queries/sensitivity/candidates.py",
        "decayed = round_up(ball(d) * (-ball(rate * k)).exp())",
        "decayed = -round_up(-ball(d) * (-ball(rate * k)).exp())",
        "a smooth sensitivity rounded down",
        _DECAYS,
    ),
    Mutant(
        "queries/sensitivity/candidates.py",
        "undecayed = float_bounds(d)[1]",
        "undecayed = float_bounds(d)[0]",
        "a local sensitivity rounded down",
        _DECAYS,
    ),
    Mutant(
        "queries/sensitivity/candidates.py",
        "        return SMALLEST_FLOAT\n    with",
        "        return 0.0\n    with",
        "a positive sensitivity below floats taken as 0",
        _DECAYS,
    ),
    Mutant(
        "queries/sensitivity/candidates.py",
        "return LogBounds(-round_up(-log), round_up(log))",
        "return LogBounds(round_up(log), -round_up(-log))",
        "the logarithm of a sensitivity rounded inwards",
        _DECAYS,
    ),
    Mutant(
        "queries/sensitivity/candidates.py",
        "near = gains >= gains.max() * (1 - 3 * GAIN_ERROR)",
        "near = gains >= gains.max()",
        "differences that floats put just below the largest left out",
        _PAIRS,
    ),
    Mutant(
        "queries/windows/sides.py",
        "return Clamp(bounds, float_bounds(lower)[1], float_bounds(upper)[0])",
        "return Clamp(bounds, float_bounds(lower)[0], float_bounds(upper)[1])",
        "values just outside the bounds taken as inside",
        _DECAYS,
    ),
)
