"""mechanisms/histogram/walk/: the walk along the boundary."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_PROOF = ("tests/theorems/test_boundary_walk_proof.py",)
_BOTH = ("tests/theorems/test_boundary_walk_proof.py", "tests/oracles/test_boundary_walk.py")
_CHORDS = ("tests/oracles/test_chords.py",)
_WALK = "mechanisms/histogram/walk"

MUTANTS = (
    Mutant(
        f"{_WALK}/walked.py",
        "part[part == 0.0] = 1.0",
        "part[part == 0.0] = 0.0",
        "a boundary on a whole number leaves 0 of a step, not 1",
        _BOTH,
    ),
    Mutant(
        f"{_WALK}/walked.py",
        "losses * 1.01 / ONE,",
        "0.0,",
        "the rounding of the boundary is forgotten",
        _BOTH,
    ),
    Mutant(
        f"{_WALK}/walked.py",
        "grown *= falls",
        "grown *= 1.0",
        "the tail grows where the boundary did not pass a number",
        _PROOF,
    ),
    Mutant(
        f"{_WALK}/divergence.py",
        "high += math.exp(beside)",
        "high += 0.0",
        "rows that are not walked count for nothing",
        _BOTH,
    ),
    Mutant(
        f"{_WALK}/boundary.py",
        "count_a * (whole - (count_b + 1) * scale),",
        "count_a * (whole - count_b * scale),",
        "the boundary of what is kept begins too late",
        _PROOF,
    ),
    Mutant(
        f"{_WALK}/hypergeometric_rows.py",
        "return max(0, self.drawn - self.others + 1), min(self.beside, self.drawn)",
        "return max(0, self.drawn - self.others), min(self.beside, self.drawn)",
        "a step to the row where everything is drawn: 0 by 0",
        _PROOF,
    ),
    Mutant(
        f"{_WALK}/remainder.py",
        "math.log(-math.expm1(fall)) + law.log_tail(gap) + _MARGIN",
        "math.log(-math.expm1(fall)) + _MARGIN",
        "one row bounded by its first term",
        _PROOF,
    ),
    Mutant(
        f"{_WALK}/mirrored_rows.py",
        "mid = np.where(falls, fallen / (total + 1), 1 / (total + 1))",
        "mid = np.where(falls, 1 / (total + 1), 1 / (total + 1))",
        "a step with replacement that forgets how the weight shrinks",
        _PROOF,
    ),
    Mutant(
        "claims/curves/chords.py",
        "_scaled(near.logs.lower, 1.0 + least, -1), _scaled(far.logs.upper, most, 1)",
        "_scaled(near.logs.upper, 1.0 + least, -1), _scaled(far.logs.lower, most, 1)",
        "a chord led on from the wrong ends",
        _CHORDS,
    ),
)
